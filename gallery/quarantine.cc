// SPDX-License-Identifier: Apache-2.0
// The quarantine of a gallery: enrolments that nobody has admitted yet, a file each in a folder of
// its own. No reader of the gallery looks there.
#include <algorithm>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "gallery/gallery_impl.h"

namespace heft {
namespace {

constexpr char kFolder[] = "/quarantine";
constexpr char kEnding[] = ".heft";

std::string PathOf(const std::string& directory, const Hash& digest) {
  const absl::string_view raw(reinterpret_cast<const char*>(digest.data()), digest.size());
  return absl::StrCat(directory, kFolder, "/", absl::BytesToHexString(raw), kEnding);
}

// What writers that were killed have left. To be called under the gallery's lock, which a writer
// holds.
void ClearAway(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory + kFolder, error)) {
    if (entry.path().extension() != kEnding) std::filesystem::remove(entry.path(), error);
  }
}

}  // namespace

absl::Status Gallery::Impl::Quarantine(ByteSpan enrolment,
                                       const std::function<absl::Status()>& check) {
  const bool fresh = !Exists(directory_);
  HEFT_RETURN_IF_ERROR(MakeDirectories(directory_));
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, TakeLock());
  HEFT_RETURN_IF_ERROR(fresh ? CheckVacant(directory_) : CheckCurrent());
  HEFT_RETURN_IF_ERROR(check());
  if (fresh) HEFT_RETURN_IF_ERROR(WriteManifest());
  HEFT_RETURN_IF_ERROR(MakeDirectories(directory_ + kFolder));
  ClearAway(directory_);
  return WriteFileAtomic(PathOf(directory_, HashBytes(enrolment)), enrolment);
}

absl::StatusOr<std::vector<std::string>> Gallery::Impl::QuarantinedFiles() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + kFolder, error)) {
    // What a writer that was killed leaves ends otherwise.
    if (entry.path().extension() == kEnding) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  if (!error || error == std::errc::no_such_file_or_directory) return paths;
  return absl::UnavailableError(
      absl::StrCat("cannot read ", directory_, kFolder, ": ", error.message()));
}

absl::Status Gallery::Impl::Release(std::span<const Hash> decided) const {
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, TakeLock());
  for (const Hash& digest : decided) {
    std::error_code error;
    std::filesystem::remove(PathOf(directory_, digest), error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat("cannot remove ", PathOf(directory_, digest), ": ", error.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace heft
