// SPDX-License-Identifier: Apache-2.0
#include "cli/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/files.h"

namespace heft::cli {
namespace {

// Files that this command has read or written, none of which may become its output.
class UsedFiles {
 public:
  void Add(const FileId& id) {
    std::lock_guard<std::mutex> lock(mutex_);
    ids_.insert(id);
  }
  bool Has(const FileId& id) {
    std::lock_guard<std::mutex> lock(mutex_);
    return ids_.count(id) != 0;
  }

 private:
  std::mutex mutex_;
  std::set<FileId> ids_;
};

UsedFiles& Used() {
  static auto& used = *new UsedFiles;
  return used;
}

bool g_stdout_is_output = false;

// Whether `path` leads to what stdout is.
bool IsStdout(const std::string& path) {
  struct stat file, out;
  return stat(path.c_str(), &file) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
         file.st_dev == out.st_dev && file.st_ino == out.st_ino;
}

// The path behind links, also of what is yet to be made.
std::string Place(const std::string& path) {
  std::error_code error;
  const auto place =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : place.string();
}

}  // namespace

void WatchInputs() {
  SetReadObserver([](const FileId& id) { Used().Add(id); });
}

absl::Status CheckOutputsDiffer(const Command& command) {
  std::map<std::string, std::string> seen;  // place -> option
  for (const char* option : {"--out", "--report", "--curve", "--checkpoint"}) {
    const std::string path = command.Given(option);
    std::error_code ignored;
    if (path.empty() || std::filesystem::is_other(path, ignored)) continue;  // such as /dev/null
    const auto [known, is_new] = seen.emplace(Place(path), option);
    if (is_new) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(known->second, " and ", option, " name the same file, ", path));
  }
  return absl::OkStatus();
}

absl::Status CheckOutput(const std::string& path) {
  const std::optional<FileId> id = IdOf(path);
  if (!id || !Used().Has(*id)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot write ", path,
                   ": this command has that file already, choose another for its output"));
}

absl::Status WriteResult(const std::string& path, ByteSpan bytes, mode_t mode) {
  HEFT_RETURN_IF_ERROR(CheckNotInterrupted());
  if (IsStdout(path)) {
    g_stdout_is_output = true;
  } else {
    HEFT_RETURN_IF_ERROR(CheckOutput(path));
  }
  HEFT_RETURN_IF_ERROR(WriteOutput(path, bytes, mode));
  if (const std::optional<FileId> id = IdOf(path)) Used().Add(*id);
  return absl::OkStatus();
}

absl::Status WriteResult(const std::string& path, std::string_view text) {
  return WriteResult(path, AsBytes(text));
}

bool StdoutIsOutput() { return g_stdout_is_output; }

}  // namespace heft::cli
