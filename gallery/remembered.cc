// SPDX-License-Identifier: Apache-2.0
#include "gallery/remembered.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/state_folder.h"
#include "base/status.h"

namespace heft {
namespace {

std::string Folder() { return StateFolder() + "/galleries"; }
std::string PathOf(const GalleryId& id) {
  return absl::StrCat(Folder(), "/", HexString(id), ".generation");
}

// The remembered generations that this process knows, by the file's path (tests have other
// folders).
struct Known {
  uint64_t generation = 0, since = 0;
};
std::mutex mutex;
std::map<std::string, Known>& KnownGalleries() {
  static auto* const known = new std::map<std::string, Known>;
  return *known;
}

}  // namespace

absl::StatusOr<std::optional<uint64_t>> RememberedGeneration(const GalleryId& id) {
  const std::string path = PathOf(id);
  const auto bytes = ReadFile(path, 64);
  if (absl::IsNotFound(bytes.status())) return std::optional<uint64_t>();
  HEFT_RETURN_IF_ERROR(bytes.status());
  uint64_t generation = 0;
  if (!absl::SimpleAtoi(std::string(bytes->begin(), bytes->end()), &generation)) {
    return OfStore(absl::DataLossError(
        absl::StrCat(path,
                     ": damaged, so the last generation of a gallery is unknown: remove the file "
                     "only if you know that generation")));
  }
  return std::optional<uint64_t>(generation);
}

absl::Status RememberGeneration(const GalleryId& id, uint64_t generation) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(Folder()));
  // The later of two concurrent calls must not write a lower number.
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(Folder() + "/lock", 0600));
  HEFT_ASSIGN_OR_RETURN(const auto before, RememberedGeneration(id));
  if (!before || *before < generation) {
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(PathOf(id), absl::StrCat(generation, "\n"), 0600));
  }
  const std::lock_guard<std::mutex> guard(mutex);
  KnownGalleries()[PathOf(id)] = {std::max(before.value_or(0), generation), UnixTime()};
  return absl::OkStatus();
}

void RememberNowAndThen(const GalleryId& id, uint64_t generation) {
  const std::string path = PathOf(id);
  Known known;
  bool first = false;
  {
    const std::lock_guard<std::mutex> guard(mutex);
    const auto it = KnownGalleries().find(path);
    first = it == KnownGalleries().end();
    if (!first) known = it->second;
  }
  if (first) {
    const auto before = RememberedGeneration(id);
    struct stat info;
    if (before.ok() && *before && stat(path.c_str(), &info) == 0) {
      known = {**before, static_cast<uint64_t>(info.st_mtime)};
    }
  }
  if (generation <= known.generation) return;
  const bool due = known.generation == 0 || generation - known.generation >= kRememberedEvery ||
                   UnixTime() >= known.since + kRememberedSeconds;
  if (due) {
    RememberGeneration(id, generation).IgnoreError();
  } else if (first) {
    const std::lock_guard<std::mutex> guard(mutex);
    KnownGalleries().emplace(path, known);
  }
}

}  // namespace heft
