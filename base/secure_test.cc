// SPDX-License-Identifier: Apache-2.0
// Secrets in memory, observed from outside: the kernel's view of the mapping, the core file of a
// crashed process, and a system that refuses to lock.
#include "base/secure.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "base/files.h"
#include "base/sanitizers.h"
#include "base/testing.h"
#include "heft/base.h"

namespace heft {
namespace {

// The line "VmFlags: ..." of the mapping that holds `p`.
std::string KernelFlags(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t start = 0, end = 0;
    char dash = 0;
    std::istringstream fields(line);
    if (fields >> std::hex >> start >> dash >> end && dash == '-') {
      found = start <= address && address < end;
    }
    if (found && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

// Runs `body` in a child process, in `folder`; returns waitpid's status.
template <typename Body>
int InChild(const std::string& folder, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(folder.c_str()) != 0) _exit(9);
    rlimit cores = {};
    getrlimit(RLIMIT_CORE, &cores);
    cores.rlim_cur = cores.rlim_max;
    setrlimit(RLIMIT_CORE, &cores);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// All core files of a folder, concatenated.
std::string Cores(const std::string& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    all += *ReadTextFile(entry.path().string());
  }
  return all;
}

// A long text. Tests search for a piece from its middle, because the last moved bytes may still be
// in a register, and core files contain registers.
std::string Text(char first) {
  std::string text(4096, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(first + (i * i) % 23);
  return text;
}
std::string Needle(char first) { return Text(first).substr(1000, 64); }

TEST(SecureTest, MovesAndIsZeroed) {
  auto v = SecureVector<uint32_t>::Create(100);
  ASSERT_TRUE(v.ok());
  EXPECT_EQ(std::accumulate(v->span().begin(), v->span().end(), 0u), 0u);
  (*v)[5] = 9;
  SecureVector<uint32_t> w = std::move(*v);
  EXPECT_EQ(w[5], 9u);
  static_assert(!std::is_copy_constructible_v<SecureVector<uint32_t>>);
}

TEST(SecureTest, TheKernelLocksItAndLeavesItOutOfDumps) {
  auto v = SecureVector<uint8_t>::Create(10000);
  ASSERT_TRUE(v.ok());
  const std::string flags = KernelFlags(v->data());
  ASSERT_NE(flags, "") << "no mapping of the secret in /proc/self/smaps";
  EXPECT_NE(flags.find(" dd "), std::string::npos) << "not left out of core dumps: " << flags;
  if (!SecureMemoryStatus().ok()) GTEST_SKIP() << SecureMemoryStatus();
  if (kLocksIgnored) GTEST_SKIP() << "sanitizers answer mlock themselves and lock nothing";
  EXPECT_NE(flags.find(" lo "), std::string::npos) << "not locked: " << flags;
}

TEST(SecureTest, ACoreFileHoldsOrdinaryMemoryAndNoSecret) {
  const testing::TemporaryFolder folder;
  auto crash = [] {
    std::string hidden = Text('A');
    const std::string shown = Text('a');
    auto secret = SecureVector<char>::Create(hidden.size());
    std::copy(hidden.begin(), hidden.end(), secret->data());
    SecureWipe(hidden.data(), hidden.size());
    abort();
  };
  const int status = InChild(folder.path(), crash);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::string core = Cores(folder.path());
  if (!WCOREDUMP(status) || core.empty()) GTEST_SKIP() << "this system writes no core files here";
  EXPECT_NE(core.find(Needle('a')), std::string::npos) << "the search finds nothing at all";
  EXPECT_EQ(core.find(Needle('A')), std::string::npos) << "a secret in a core file";
}

TEST(SecureTest, AProgramThatTurnsCoreDumpsOffLeavesNone) {
  const testing::TemporaryFolder folder;
  const int status = InChild(folder.path(), [] {
    if (!DisableCoreDumps().ok()) _exit(8);
    // Not dumpable is sufficient alone: if cores go to a pipe, the limit has no effect.
    if (prctl(PR_GET_DUMPABLE) != 0) _exit(7);
    abort();
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_FALSE(WCOREDUMP(status));
  EXPECT_EQ(Cores(folder.path()), "");
}

TEST(SecureTest, ARefusedLockIsReported) {
  if (kLocksIgnored) GTEST_SKIP() << "sanitizers answer mlock themselves and refuse nothing";
  const testing::TemporaryFolder folder;
  const int status = InChild(folder.path(), [] {
    if (!SecureMemoryStatus().ok()) _exit(1);
    const rlimit none = {0, 0};
    // A process that may lock without limits must give up that right first.
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) _exit(2);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
    auto v = SecureVector<uint8_t>::Create(100);
    if (!v.ok()) _exit(4);
    (*v)[99] = 1;  // it works all the same
    const absl::Status refused = SecureMemoryStatus();
    if (refused.code() != absl::StatusCode::kUnavailable) _exit(5);
    if (refused.message().find("128 bytes") == std::string::npos) _exit(6);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SecureTest, SecretFilesOfOthersAreNoticed) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "secret";
  for (mode_t mode : {0600, 0400, 0640, 0604, 0620, 0666}) {
    ASSERT_TRUE(WriteFileAtomic(path, std::string_view("secret"), mode).ok());
    auto file = ReadSecretFile(path, 100);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(std::string(file->bytes.span().begin(), file->bytes.span().end()), "secret");
    EXPECT_EQ(file->permissions.code(),
              (mode & 077) == 0 ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition);
  }
  // A file of another user, who can change it whatever its mode is. Only root can give a file away.
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("secret"), 0600).ok());
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
    const auto file = ReadSecretFile(path, 100);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->permissions.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(file->permissions.message().find("12345"), std::string::npos);
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
    EXPECT_TRUE(ReadSecretFile(path, 100)->permissions.ok());
  }
  EXPECT_EQ(ReadSecretFile(path, 5).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadSecretFile(path + ".none", 100).status().code(), absl::StatusCode::kNotFound);
}

TEST(SecureTest, LinksToSecretFilesAreRefused) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "secret", link = folder / "link", dangling = folder / "gone";
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("secret"), 0600).ok());
  ASSERT_EQ(symlink("secret", link.c_str()), 0);
  ASSERT_EQ(symlink("nowhere", dangling.c_str()), 0);
  for (const std::string& name : {link, dangling}) {
    const auto file = ReadSecretFile(name, 100);
    EXPECT_EQ(file.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(file.status().message().find("symbolic link"), std::string::npos);
  }
  // A shell passes a kernel link to an open descriptor.
  const int fd = open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  for (const char* where : {"/dev/fd/", "/proc/self/fd/"}) {
    const auto file = ReadSecretFile(where + std::to_string(fd), 100);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->bytes.size(), 6u);
    EXPECT_TRUE(file->permissions.ok());
  }
  close(fd);
}

}  // namespace
}  // namespace heft
