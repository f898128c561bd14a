// SPDX-License-Identifier: Apache-2.0
#include "experiment/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"

namespace heft::experiment {
namespace {

constexpr char kScript[] = "plots.gp";
constexpr char kMessages[] = "messages.txt";

// A folder that goes when this object does.
class TemporaryFolder {
 public:
  static absl::StatusOr<TemporaryFolder> Create() {
    std::error_code error;
    const std::filesystem::path base = std::filesystem::temp_directory_path(error);
    if (error) return absl::UnavailableError("no folder for temporary files: set TMPDIR");
    std::string path = (base / "heft-plots-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
    }
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string File(const std::string& name) const { return absl::StrCat(path_, "/", name); }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs gnuplot with one argument in `folder`, its output in `messages` there; returns its exit
// status.
absl::StatusOr<int> Spawn(const char* argument, const std::string& folder, const char* messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::string name = "gnuplot", copy = argument;
  char* const arguments[] = {name.data(), copy.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    return absl::UnavailableError(
        "gnuplot, which draws the report's plots, is not installed: run "
        "scripts/install-dependencies, or leave --report out");
  }
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot run gnuplot: ", std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("cannot run gnuplot: ", std::strerror(errno)));
    }
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

absl::Status CheckGnuplot() {
  HEFT_ASSIGN_OR_RETURN(const int status, Spawn("--version", "/", "/dev/null"));
  if (status == 0) return absl::OkStatus();
  return absl::UnavailableError("gnuplot does not run: try \"gnuplot --version\"");
}

absl::StatusOr<std::vector<std::string>> RunGnuplot(const GnuplotJob& job) {
  HEFT_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create());
  for (const auto& [name, content] : job.inputs) {
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder.File(name), std::string_view(content)));
  }
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder.File(kScript), std::string_view(job.script)));
  HEFT_ASSIGN_OR_RETURN(const int status, Spawn(kScript, folder.path(), kMessages));
  if (status != 0) {
    const auto messages = ReadTextFile(folder.File(kMessages), 1 << 20);
    return absl::InternalError(absl::StrCat(
        "gnuplot failed: ", messages.ok() ? absl::StripAsciiWhitespace(*messages) : "no message"));
  }
  std::vector<std::string> outputs;
  for (const std::string& name : job.outputs) {
    HEFT_ASSIGN_OR_RETURN(std::string content, ReadTextFile(folder.File(name)));
    outputs.push_back(std::move(content));
  }
  return outputs;
}

std::string GnuplotQuote(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) continue;  // a line break would end the command
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

}  // namespace heft::experiment
