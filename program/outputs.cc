// SPDX-License-Identifier: Apache-2.0
#include "program/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "heft/base.h"
#include "heft/files.h"
#include "program/common.h"

namespace heft::cli {
namespace {

bool g_stdout_is_output = false;

// Whether `path` leads to the same file as stdout.
bool IsStdout(const std::string& path) {
  struct stat file, out;
  return stat(path.c_str(), &file) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
         file.st_dev == out.st_dev && file.st_ino == out.st_ino;
}

// The path behind links, also of a file that does not exist yet.
std::string Place(const std::string& path) {
  std::error_code error;
  const auto place =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : place.string();
}

}  // namespace

absl::Status CheckOutputsDiffer(const Command& command) {
  std::map<std::string, std::string> seen;  // place -> option
  for (const char* option : {"--out", "--report", "--scores"}) {
    const std::string path = command.Given(option);
    std::error_code ignored;
    if (path.empty() || std::filesystem::is_other(path, ignored)) continue;  // such as /dev/null
    const auto [known, is_new] = seen.emplace(Place(path), option);
    if (is_new) continue;
    return WrongUsage(absl::StrCat(known->second, " and ", option, " name the same file, ", path));
  }
  return absl::OkStatus();
}

absl::Status CheckFilePlace(const std::string& path, std::string_view what) {
  std::error_code ignored;
  if (path.empty()) return absl::OkStatus();
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is a folder; give a file for the ", std::string(what)));
  }
  const std::filesystem::path folder = std::filesystem::absolute(path, ignored).parent_path();
  if (std::filesystem::is_directory(folder, ignored)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(folder.string(), ": no such folder for the ", std::string(what)));
}

absl::Status CheckFolderPlace(const std::string& path, std::string_view what) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored) ||
      std::filesystem::is_directory(path, ignored)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is a file; give a folder for the ", std::string(what)));
}

absl::Status CheckNewFolderPlace(const std::string& path, std::string_view what) {
  HEFT_RETURN_IF_ERROR(CheckFolderPlace(path, what));
  std::string place = path;
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  std::error_code ignored;
  if (std::filesystem::is_directory(place, ignored)) return absl::OkStatus();
  return CheckFilePlace(place, what);
}

absl::Status WriteResult(const std::string& path, std::span<const uint8_t> bytes) {
  if (IsStdout(path)) g_stdout_is_output = true;
  return WriteFile(path, bytes);
}

absl::Status WriteResult(const std::string& path, std::string_view text) {
  return WriteResult(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

absl::Status WritePictures(const std::string& folder,
                           const std::vector<std::pair<std::string, std::string>>& files) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  for (const auto& [name, content] : files) {
    HEFT_RETURN_IF_ERROR(WriteResult(absl::StrCat(folder, "/", name), content));
  }
  return absl::OkStatus();
}

absl::Status WriteNewFiles(const std::string& folder, const NamedFiles& files) {
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  std::error_code ignored;
  for (const auto& [name, bytes] : files) {
    if (std::filesystem::exists(folder + "/" + name, ignored)) {
      return absl::AlreadyExistsError(
          absl::StrCat(folder, "/", name, " exists: choose another folder"));
    }
  }
  absl::Status status;
  std::vector<std::string> written;
  for (const auto& [name, bytes] : files) {
    written.push_back(folder + "/" + name);
    status = WriteResult(written.back(), bytes);
    if (!status.ok()) break;
  }
  if (!status.ok()) {
    for (const std::string& path : written) unlink(path.c_str());
  }
  return status;
}

bool StdoutIsOutput() { return g_stdout_is_output; }

}  // namespace heft::cli
