// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/started_requests.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status.h"
#include "heft/files.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft::service {
namespace {

// IsOurs: whether StartedRequests made the file, judged by its name.
bool IsOurs(const std::filesystem::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return name.size() == 2 * sizeof(Hash) &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Removes files whose requests have expired, and returns the number of the others.
size_t Sweep(const std::string& folder) {
  const uint64_t now = UnixTime();
  size_t left = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    struct stat file {};
    if (!IsOurs(entry) || lstat(entry.path().c_str(), &file) != 0 || !S_ISREG(file.st_mode)) {
      continue;
    }
    const bool old = static_cast<uint64_t>(file.st_mtime) + kLongestRequest + 2 * kClockSkew < now;
    if (!old || unlink(entry.path().c_str()) != 0) ++left;
  }
  return left;
}

}  // namespace

std::string StartedRequests::Path(const Hash& what) const {
  return absl::StrCat(folder_, "/", HexString(what));
}

bool StartedRequests::Has(const Hash& what) const { return FileExists(Path(what)); }

absl::Status StartedRequests::Begin(const Hash& what) const {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder_));
  if (Sweep(folder_) >= kMax) return absl::OkStatus();
  return WriteFileAtomic(Path(what), "", 0600);
}

void StartedRequests::End(const Hash& what) const { unlink(Path(what).c_str()); }

}  // namespace heft::service
