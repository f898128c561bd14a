// SPDX-License-Identifier: Apache-2.0
#include "heft/trust.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/identity.h"
#include "base/status.h"
#include "heft/files.h"

namespace heft {
namespace {

constexpr int kTrustVersion = 1;
constexpr uint64_t kMaxTrustSize = 1 << 22;
constexpr std::string_view kRoles[] = {"key-owner", "server", "client", "registrar", "trainer"};

size_t IndexOf(Role role) { return static_cast<size_t>(role) - 1; }

// Exactly the hexadecimal digits of a value of `size` bytes.
bool ParseHex(std::string_view text, std::span<uint8_t> out) {
  if (text.size() != 2 * out.size() ||
      !std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isxdigit(c); })) {
    return false;
  }
  const std::string bytes = absl::HexStringToBytes(std::string(text));
  std::ranges::copy(bytes, reinterpret_cast<char*>(out.data()));
  return true;
}

absl::Status BadTrust(std::string_view what, std::string_view why) {
  return absl::DataLossError(
      absl::StrCat(std::string(what), ": no trust file: ", std::string(why)));
}

// Passes each {"name", "key"} of a list to `take`.
template <typename Take>
absl::Status ReadKeys(const Json& list, std::string_view what, const Take& take) {
  if (!list.is_array()) return BadTrust(what, "a role is not a list");
  for (const Json& entry : list) {
    SignerKey key;
    if (!ParseHex(entry["key"].get<std::string>(), key)) {
      return BadTrust(what, "a key is not 64 hexadecimal digits");
    }
    const absl::Status taken = take(entry["name"].get<std::string>(), key);
    if (!taken.ok()) return BadTrust(what, std::string(taken.message()));
  }
  return absl::OkStatus();
}

Json KeysJson(const std::vector<Trust::Key>& keys) {
  Json list = Json::array();
  for (const Trust::Key& key : keys) {
    list.push_back({{"name", key.name}, {"key", HexString(key.key)}});
  }
  return list;
}

}  // namespace

std::string_view RoleName(Role role) { return kRoles[IndexOf(role)]; }

absl::StatusOr<Role> ParseRole(std::string_view name) {
  for (uint8_t i = 0; i < std::size(kRoles); ++i) {
    if (name == kRoles[i]) return static_cast<Role>(i + 1);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no role \"", std::string(name),
                   "\": there are key-owner, server, client, registrar and trainer"));
}

absl::StatusOr<SignerKey> ParseSignerKey(std::string_view text) {
  const size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
  SignerKey key;
  if (ParseHex(text.substr(0, end), key)) return key;
  return absl::InvalidArgumentError("a public key is 64 hexadecimal digits, as in server.pub");
}

absl::StatusOr<GalleryId> ParseGalleryId(std::string_view text) {
  GalleryId id;
  if (ParseHex(text, id)) return id;
  return absl::InvalidArgumentError(
      "a gallery's id is 32 hexadecimal digits, as heft inspect shows it");
}

absl::StatusOr<Trust> Trust::Parse(std::string_view text, std::string_view what) {
  const auto json = Json::Parse(text, /*max_depth=*/8);
  if (!json.ok() || !json->is_object()) return BadTrust(what, "not a JSON object");
  if ((*json)["heft_trust"] != Json(kTrustVersion))
    return BadTrust(what, "of another version, or none");
  Trust trust;
  for (const auto& [name, value] : json->members()) {
    if (name == "heft_trust") continue;
    if (name == "revoked") {
      HEFT_RETURN_IF_ERROR(ReadKeys(value, what, [&](std::string who, const SignerKey& key) {
        if (!who.empty()) HEFT_RETURN_IF_ERROR(CheckIdentity(who));
        trust.revoked_.push_back({std::move(who), key});
        return absl::OkStatus();
      }));
    } else if (name == "galleries") {
      if (!value.is_array()) return BadTrust(what, "galleries are not a list");
      for (const Json& entry : value) {
        GalleryId id;
        const Json& generation = entry["generation"];
        if (!ParseHex(entry["id"].get<std::string>(), id) || !generation.is_number_unsigned()) {
          return BadTrust(what, "a gallery is not an id and a generation");
        }
        trust.Pin(id, generation.get<uint64_t>());
      }
    } else {
      // An unknown member could contain a prohibition.
      const auto role = ParseRole(name);
      if (!role.ok()) return BadTrust(what, std::string(role.status().message()));
      HEFT_RETURN_IF_ERROR(ReadKeys(value, what, [&](const std::string& who, const SignerKey& key) {
        // Revoked keys may come later in the file; the check of a signature refuses them.
        return trust.Add(*role, who, key);
      }));
    }
  }
  return trust;
}

absl::StatusOr<Trust> Trust::Load(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxTrustSize));
  return Parse(text, path);
}

absl::StatusOr<Trust> Trust::LoadGuarded(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(Trust trust, Load(path));
  struct stat file;
  if (stat(path.c_str(), &file) == 0 && (file.st_mode & S_IWOTH) == 0) return trust;
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": other users may change this trust file: chmod o-w ", path));
}

std::string Trust::Serialize() const {
  Json json = {{"heft_trust", kTrustVersion}};
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!keys_[i].empty()) json[kRoles[i]] = KeysJson(keys_[i]);
  }
  if (!revoked_.empty()) json["revoked"] = KeysJson(revoked_);
  for (const PinnedGallery& gallery : galleries_) {
    json["galleries"].push_back(
        {{"id", HexString(gallery.id)}, {"generation", gallery.generation}});
  }
  return json.dump(2) + "\n";
}

absl::Status Trust::Save(const std::string& path) const {
  return WriteFileAtomic(path, Serialize());
}

const std::vector<Trust::Key>& Trust::keys(Role role) const { return keys_[IndexOf(role)]; }

bool Trust::IsRevoked(const SignerKey& key) const {
  return std::ranges::count(revoked_, key, &Key::key) > 0;
}

absl::Status Trust::Add(Role role, const std::string& given, const SignerKey& key) {
  HEFT_ASSIGN_OR_RETURN(const std::string name, NormalIdentity(given));
  if (key == SignerKey{}) return absl::InvalidArgumentError("zeros are not a public key");
  if (IsRevoked(key)) {
    return absl::FailedPreconditionError(
        absl::StrCat("key ", HexString(key), " was revoked: use another key"));
  }
  for (const Key& known : keys(role)) {
    if (known.key != key && known.name != name) continue;
    return absl::AlreadyExistsError(absl::StrCat("there is a ", std::string(RoleName(role)), " \"",
                                                 known.name, "\" with key ", HexString(known.key),
                                                 " already"));
  }
  keys_[IndexOf(role)].push_back({name, key});
  return absl::OkStatus();
}

absl::Status Trust::Revoke(const SignerKey& key) {
  std::string name;
  bool found = false;
  for (std::vector<Key>& role : keys_) {
    for (const Key& known : role) {
      if (known.key != key) continue;
      name = known.name;
      found = true;
    }
    std::erase_if(role, [&](const Key& known) { return known.key == key; });
  }
  if (!found) return absl::NotFoundError(absl::StrCat("no role has key ", HexString(key)));
  if (!IsRevoked(key)) revoked_.push_back({name, key});
  return absl::OkStatus();
}

void Trust::Pin(const GalleryId& gallery, uint64_t generation) {
  const auto pinned = std::ranges::find(galleries_, gallery, &PinnedGallery::id);
  if (pinned != galleries_.end()) {
    pinned->generation = generation;
  } else {
    galleries_.push_back({gallery, generation});
  }
}

}  // namespace heft
