// SPDX-License-Identifier: Apache-2.0
#include "gallery/folder_key.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "base/files.h"

namespace heft {
namespace {

constexpr uint32_t kFolderKeyVersion = 1;

}  // namespace

absl::StatusOr<Seed> ReadFolderKey(const std::string& path, std::string_view kind) {
  HEFT_ASSIGN_OR_RETURN(const SecretFile file, ReadSecretFile(path, 1 << 10));
  if (file.bytes.size() == 0) return absl::NotFoundError("not made yet");
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(file.bytes.span(), kind, kFolderKeyVersion, path));
  // An auditor may have a copy of the stand-ins' key, with any mode.
  if (kind == kAuditKeyKind) HEFT_RETURN_IF_ERROR(file.permissions);
  ByteReader reader(payload, path);
  Seed key{};
  const ByteSpan raw = reader.Raw(key.size());
  HEFT_RETURN_IF_ERROR(reader.Finish());
  std::ranges::copy(raw, key.begin());
  return key;
}

absl::StatusOr<Seed> FolderKey(const std::string& path, std::string_view kind,
                               std::string_view who) {
  auto key = ReadFolderKey(path, kind);
  if (!absl::IsNotFound(key.status())) return key;
  // The locked file is empty until the first process that waits for the lock has written it.
  const absl::StatusOr<FileLock> lock = FileLock::Take(path, 0600);
  if (!lock.ok()) {
    return absl::UnavailableError(
        absl::StrCat(std::string(lock.status().message()), ": ", std::string(who),
                     " makes this key: run that once as the user who owns the gallery's folder"));
  }
  key = ReadFolderKey(path, kind);
  if (!absl::IsNotFound(key.status())) return key;
  Seed fresh;
  Csprng().Fill(fresh);
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(path, SealEnvelope(kind, kFolderKeyVersion, fresh), 0600));
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
       {"server.key", "server.pub", "state.heft", "audit.key", "stand-in.key", "requests.heft"}) {
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
  std::optional<FileLock> requests;
  if (FileExists(folder + "/requests.lock")) {
    auto taken = FileLock::Take(folder + "/requests.lock", 0600);
    if (!taken.ok()) return;
    requests.emplace(*std::move(taken));
  }
  for (const std::string& name : found) {
    if (std::filesystem::file_size(folder + "/" + LeftoverOf(name), ignored) == 0 || ignored) {
      continue;
    }
    std::filesystem::remove(folder + "/" + name, ignored);
  }
}

}  // namespace heft
