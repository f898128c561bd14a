// SPDX-License-Identifier: Apache-2.0
#include "owner/journal_anchor.h"

#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/state_folder.h"
#include "ckks/serialization.h"

namespace heft {
namespace {

constexpr uint32_t kAnchorVersion = 1;

}  // namespace

std::vector<uint8_t> Anchor::Serialize(const JournalKeys& keys) const {
  ByteWriter writer;
  writer.Raw(keys.fingerprint());
  writer.Raw(keys.key_id());
  writer.U64(link.sequence);
  writer.Raw(link.mac);
  writer.U64(restarts);
  writer.Raw(successor);
  writer.Raw(keys.Mac({AsBytes(kAnchorKind), writer.bytes()}));
  return SealEnvelope(kAnchorKind, kAnchorVersion, writer.bytes());
}

absl::StatusOr<Anchor> Anchor::Parse(ByteSpan bytes, const JournalKeys* keys,
                                     std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kAnchorKind, kAnchorVersion, what));
  ByteReader reader(payload, what);
  const auto take = [&](auto* out) {
    const ByteSpan raw = reader.Raw(out->size());
    std::copy(raw.begin(), raw.end(), out->begin());
  };
  Anchor anchor;
  KeyFingerprint fingerprint{};
  KeyId key_id{};
  Hash mac{};
  take(&fingerprint);
  take(&key_id);
  anchor.link.sequence = reader.U64();
  take(&anchor.link.mac);
  anchor.restarts = reader.U64();
  take(&anchor.successor);
  take(&mac);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  if (keys == nullptr) return anchor;
  const Hash right =
      keys->Mac({AsBytes(kAnchorKind), payload.first(payload.size() - sizeof(Hash))});
  if (fingerprint != keys->fingerprint() || sodium_memcmp(mac.data(), right.data(), 32) != 0) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": changed by somebody who has not the key"));
  }
  return anchor;
}

std::string AnchorPath(const JournalKeys& keys) {
  return absl::StrCat(StateFolder(), "/", HexString(keys.fingerprint()), ".anchor");
}

absl::StatusOr<std::optional<Anchor>> ReadAnchor(const std::string& path, const JournalKeys& keys) {
  const auto bytes = ReadFile(path, 1 << 16);
  if (absl::IsNotFound(bytes.status())) return std::optional<Anchor>();
  HEFT_RETURN_IF_ERROR(bytes.status());
  HEFT_ASSIGN_OR_RETURN(const Anchor anchor, Anchor::Parse(*bytes, &keys, path));
  return std::optional<Anchor>(anchor);
}

absl::Status WriteAnchor(const std::string& path, const JournalKeys& keys, const Anchor& anchor) {
  return WriteFileAtomic(path, anchor.Serialize(keys), 0600);
}

absl::Status MakeAnchorFolder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (FileExists(folder)) return absl::OkStatus();
  if (const absl::Status made = MakeDirectories(folder); !made.ok()) {
    return absl::UnavailableError(
        absl::StrCat(std::string(made.message()),
                     ": that is where the ends of keys' journals are kept; set HEFT_STATE_DIR to a "
                     "folder that lasts"));
  }
  chmod(folder.c_str(), 0700);  // best effort: names and ends of journals are no secret
  return absl::OkStatus();
}

}  // namespace heft
