// SPDX-License-Identifier: Apache-2.0
#include "matcher/folder_key.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/status.h"
#include "gallery/gallery_copies.h"

namespace heft {
namespace {

constexpr uint32_t kFolderKeyVersion = 1;

std::string MadePath(const std::string& folder) { return absl::StrCat(folder, "/", kKeysMade); }

// The names in it; none if it does not exist.
absl::StatusOr<std::vector<std::string>> MadeKeys(const std::string& folder) {
  const auto text = ReadTextFile(MadePath(folder), 4096);
  std::vector<std::string> names;
  if (absl::IsNotFound(text.status())) return names;
  HEFT_RETURN_IF_ERROR(text.status());
  names = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  return names;
}

}  // namespace

absl::Status LostKey(const std::string& path, std::string_view what) {
  const std::filesystem::path file(path);
  return OfStore(absl::DataLossError(
      absl::StrCat(path, ": this key of the server ", std::string(what),
                   ": restore it from a copy (`heft-server gallery snapshot --with-keys`). To make "
                   "a new key, which others must trust, remove this file",
                   file.filename() == kServerKey ? ", server.pub and " : " and ",
                   MadePath(file.parent_path().string()))));
}

void RecordKey(const std::string& folder, std::string_view name) {
  // A record that cannot be read is not replaced.
  const auto is_done = [&] {
    const auto made = MadeKeys(folder);
    return !made.ok() || std::ranges::count(*made, name) > 0;
  };
  if (is_done()) return;
  const auto lock = FileLock::Take(folder + "/server.lock", 0644);
  if (!lock.ok() || is_done()) return;
  auto names = MadeKeys(folder);
  if (!names.ok()) return;
  names->emplace_back(name);
  // A folder that cannot be written has its keys, which is what counts.
  WriteFileAtomic(MadePath(folder), absl::StrJoin(*names, "\n") + "\n").IgnoreError();
}

absl::Status CheckKeyNew(const std::string& folder, std::string_view name) {
  const std::string path = absl::StrCat(folder, "/", std::string(name));
  // Read before the key. Another process that makes the key now writes these after it.
  const auto made = MadeKeys(folder);
  const bool shown = name == kServerKey && FileExists(folder + "/server.pub");
  std::error_code none;
  if (std::filesystem::file_size(path, none) == 0 && !none) return LostKey(path, "is empty");
  if (FileExists(path)) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(made.status());
  if (std::ranges::count(*made, name) == 0 && !shown) return absl::OkStatus();
  return LostKey(path, "is missing");
}

absl::StatusOr<Seed> ReadFolderKey(const std::string& path, std::string_view kind) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, 1 << 10));
  if (file.bytes.size() == 0) return LostKey(path, "is empty");
  const auto payload = OpenEnvelope(file.bytes.span(), kind, kFolderKeyVersion, path);
  Seed key{};
  if (!payload.ok() || payload->size() != key.size()) return LostKey(path, "is damaged");
  // An auditor may have a copy of the stand-ins' key, with any mode.
  if (kind == kAuditKeyKind) HEFT_RETURN_IF_ERROR(file.permissions);
  std::ranges::copy(*payload, key.begin());
  return key;
}

absl::StatusOr<Seed> FolderKey(const std::string& path, std::string_view kind,
                               std::string_view who) {
  const std::filesystem::path file(path);
  const std::string folder = file.parent_path().string(), name = file.filename().string();
  auto key = ReadFolderKey(path, kind);
  if (key.ok()) RecordKey(folder, name);
  if (!absl::IsNotFound(key.status())) return key;
  HEFT_RETURN_IF_ERROR(CheckKeyNew(folder, name));
  auto lock = FileLock::Take(folder + "/server.lock", 0644);
  if (!lock.ok()) {
    return absl::UnavailableError(
        absl::StrCat(std::string(lock.status().message()), ": ", std::string(who),
                     " makes this key: run that once as the user who owns the gallery's folder"));
  }
  std::optional<FileLock> held(*std::move(lock));
  key = ReadFolderKey(path, kind);
  if (!absl::IsNotFound(key.status())) return key;
  Seed fresh;
  Csprng().Fill(fresh);
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(path, SealEnvelope(kind, kFolderKeyVersion, fresh), 0600));
  held.reset();
  RecordKey(folder, name);
  return fresh;
}

namespace {

// The file that this is a temporary file of (its name, '.' and six more characters); empty if it is
// none.
std::string LeftoverOf(const std::string& name) {
  constexpr size_t kSuffix = 7;
  if (name.size() <= kSuffix || name[name.size() - kSuffix] != '.') return {};
  const std::string of = name.substr(0, name.size() - kSuffix);
  for (const char* known :
       {"server.key", "server.pub", "state.heft", "audit.key", "stand-in.key", kKeysMade}) {
    if (of == known) return of;
  }
  return {};
}

}  // namespace

void RemoveLeftovers(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!LeftoverOf(name).empty()) found.push_back(name);
  }
  if (found.empty()) return;
  // A writer of one of these keys now holds one of these locks, or writes a key that does not exist
  // yet.
  const auto lock = FileLock::Take(folder + "/server.lock", 0644);
  if (!lock.ok()) return;
  for (const std::string& name : found) {
    if (std::filesystem::file_size(folder + "/" + LeftoverOf(name), ignored) == 0 || ignored) {
      continue;
    }
    std::filesystem::remove(folder + "/" + name, ignored);
  }
}

}  // namespace heft
