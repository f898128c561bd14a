// SPDX-License-Identifier: Apache-2.0
#include "tests/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "base/files.h"

extern char** environ;

namespace heft::e2e {
namespace {

// The hash of a file. It is kept while inode, size and the time of the last change (which programs
// cannot set) are the same, so large files are hashed once.
std::string FileHash(const std::string& path) {
  static auto& known = *new std::map<std::string, std::string>();
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  std::string key = path;
  for (const int64_t field : {int64_t(info.st_ino), int64_t(info.st_size),
                              int64_t(info.st_ctim.tv_sec), int64_t(info.st_ctim.tv_nsec)}) {
    key += "/" + std::to_string(field);
  }
  std::string& hash = known[key];
  if (hash.empty()) hash = HexString(HashBytes(AsBytes(Slurp(path))));
  return hash;
}

}  // namespace

Process::Process(const std::string& program, const Args& args) {
  Spill(out_path_, "");
  Spill(err_path_, "");
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_path_.c_str(), O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_path_.c_str(), O_WRONLY, 0);
  const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    ADD_FAILURE() << "cannot start " << program << ": " << error;
    reaped_ = true;
  }
}

Process::~Process() {
  if (!reaped_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
  }
}

void Process::Signal(int signal) const {
  if (!reaped_) kill(pid_, signal);
}

bool Process::Running() {
  if (!reaped_ && waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  return !reaped_;
}

std::string Process::Err() const { return Slurp(err_path_); }

Finished Process::Wait() {
  if (!reaped_) waitpid(pid_, &status_, 0);
  reaped_ = true;
  Finished finished;
  if (WIFEXITED(status_)) finished.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) finished.signal = WTERMSIG(status_);
  finished.out = Slurp(out_path_);
  finished.err = Slurp(err_path_);
  return finished;
}

Args Join(Args args, const Args& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

Finished RunProgram(const std::string& program, const Args& args) {
  return Process(program, args).Wait();
}

size_t Lines(const std::string& text) {
  const size_t ends = std::count(text.begin(), text.end(), '\n');
  return ends + (!text.empty() && text.back() != '\n');
}

std::map<std::string, std::string> Snapshot(const std::string& root) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const auto status = entry.symlink_status();
    std::string what = std::to_string(static_cast<int>(status.type())) + " " +
                       std::to_string(static_cast<int>(status.permissions()));
    // The index of a log of SQLite is written by readers.
    if (entry.path().filename().string().ends_with(".sqlite-shm")) continue;
    if (entry.is_regular_file()) {
      what += " " + FileHash(entry.path().string());
    }
    entries[entry.path().string()] = what;
  }
  return entries;
}

std::string Slurp(const std::string& path) {
  const auto content = ReadTextFile(path);
  EXPECT_TRUE(content.ok()) << content.status();
  return content.ok() ? *content : "";
}

std::string SlurpStore(const std::string& gallery) {
  return Slurp(gallery + "/store.sqlite") + Slurp(gallery + "/store.sqlite-wal") +
         Slurp(gallery + "/store.blocks");
}

void Spill(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  EXPECT_TRUE(out.flush()) << "cannot write " << path;
}

}  // namespace heft::e2e
