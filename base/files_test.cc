// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "base/testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  void TearDown() override { SetInterruptedCheck(nullptr); }
  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Fifo(const std::string& name) const {
    EXPECT_EQ(mkfifo(Path(name).c_str(), 0600), 0);
    return Path(name);
  }
  // A device as in /dev (1, `minor`). Root creates its own, because a failing test must not replace
  // the system's.
  std::string Device(const std::string& name, int minor) const {
    const std::string path = Path(name);
    if (geteuid() != 0 || mknod(path.c_str(), S_IFCHR | 0666, makedev(1, minor)) != 0) {
      fs::create_symlink("/dev/" + name, path);
    }
    return path;
  }
  size_t Entries() const { return std::distance(fs::directory_iterator(folder_.path()), {}); }

  const testing::TemporaryFolder folder_;
};

absl::Status Write(const std::string& path, std::string_view text) {
  return WriteOutput(path, AsBytes(text));
}

TEST_F(FilesTest, AtomicWriteKeepsModeAndReplaces) {
  const std::string folder = Path("made/as/needed");
  ASSERT_TRUE(MakeDirectories(folder).ok());
  const std::string path = folder + "/secret";
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("one"), 0600).ok());
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("two"), 0600).ok());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  EXPECT_EQ(*ReadTextFile(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  EXPECT_EQ(ReadFile(folder + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(ReadFile(path, 2).ok());
  EXPECT_FALSE(WriteFileAtomic(folder + "/no/such/dir", std::string_view("x")).ok());
}

TEST_F(FilesTest, OutputsReplaceFiles) {
  ASSERT_TRUE(Write(Path("a"), "one").ok());
  ASSERT_TRUE(Write(Path("a"), "two").ok());
  EXPECT_EQ(*ReadTextFile(Path("a")), "two");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FilesTest, OutputsKeepLinks) {
  ASSERT_TRUE(MakeDirectories(Path("far")).ok());
  ASSERT_TRUE(Write(Path("far/file"), "one").ok());
  fs::create_symlink("far/file", Path("link"));
  fs::create_symlink(Path("link"), Path("link-to-link"));
  ASSERT_TRUE(Write(Path("link-to-link"), "two").ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_TRUE(fs::is_symlink(Path("link-to-link")));
  EXPECT_EQ(*ReadTextFile(Path("far/file")), "two");
  // A link to a file that does not exist yet, and one to a folder that does not exist.
  fs::create_symlink("far/new", Path("dangling"));
  ASSERT_TRUE(Write(Path("dangling"), "three").ok());
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
  EXPECT_EQ(*ReadTextFile(Path("far/new")), "three");
  fs::create_symlink("nowhere/new", Path("lost"));
  EXPECT_EQ(Write(Path("lost"), "four").code(), absl::StatusCode::kNotFound);
  fs::create_symlink("loop", Path("loop"));
  EXPECT_FALSE(Write(Path("loop"), "five").ok());
  EXPECT_TRUE(fs::is_symlink(Path("loop")));
}

TEST_F(FilesTest, OutputsWriteThroughPipesAndDevices) {
  const std::string fifo = Fifo("fifo");
  const std::string large(1 << 20, 'x');  // more than a pipe holds
  absl::StatusOr<std::string> read;
  std::thread reader([&] { read = ReadTextFile(fifo); });
  EXPECT_TRUE(Write(fifo, large).ok());
  reader.join();
  EXPECT_EQ(*read, large);
  EXPECT_TRUE(fs::is_fifo(fifo));
  const std::string null = Device("null", 3), full = Device("full", 7);
  fs::create_symlink(null, Path("link"));
  EXPECT_TRUE(Write(null, "gone").ok());
  EXPECT_TRUE(Write(Path("link"), "gone").ok());
  EXPECT_EQ(Write(full, "x").code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_TRUE(fs::is_character_file(null) && fs::is_character_file(full));
  EXPECT_EQ(Entries(), 4u);
}

TEST_F(FilesTest, OutputsToDescriptorsFollowWhatIsThere) {
  // As /dev/stdout after ">file": both writers share one position.
  ASSERT_TRUE(Write(Path("file"), "").ok());
  const int fd = open(Path("file").c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "a", 1), 1);
  EXPECT_TRUE(Write("/dev/fd/" + std::to_string(fd), "b").ok());
  EXPECT_TRUE(Write("/proc/self/fd/" + std::to_string(fd), "c").ok());
  ASSERT_EQ(write(fd, "d", 1), 1);
  close(fd);
  EXPECT_EQ(*ReadTextFile(Path("file")), "abcd");
  EXPECT_FALSE(Write("/dev/fd/" + std::to_string(fd), "closed").ok());
}

TEST_F(FilesTest, OutputsRefuseSocketsAndFolders) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = Path("socket");
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(Write(path, "x").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(fs::is_socket(path));
  close(fd);
  EXPECT_FALSE(Write(folder_.path(), "x").ok());
  EXPECT_EQ(Entries(), 1u);
}

std::atomic<bool> g_give_up{false};
bool GiveUp() { return g_give_up; }

// Calls `wait` in a thread, and sends signals to the thread until it returns or `enough` is true.
void Disturb(const std::function<void()>& wait, const std::function<bool()>& enough) {
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {};  // and no SA_RESTART
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> done{false};
  std::thread waiter([&] {
    wait();
    done = true;
  });
  for (int i = 0; !done && !enough(); ++i) {
    ASSERT_LT(i, 10000) << "the wait does not end";
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pthread_kill(waiter.native_handle(), SIGUSR1);
  }
  waiter.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(FilesTest, InterruptedWaitsForPipesEnd) {
  const std::string fifo = Fifo("fifo");
  SetInterruptedCheck(GiveUp);
  g_give_up = true;
  const auto never = [] { return false; };
  absl::Status status;
  Disturb([&] { status = ReadFile(fifo).status(); }, never);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  Disturb([&] { status = Write(fifo, "x"); }, never);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  // Open at both ends, but without data and without a reader.
  const int both = open(fifo.c_str(), O_RDWR);
  Disturb([&] { status = ReadFile(fifo).status(); }, never);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  Disturb([&] { status = Write(fifo, std::string(1 << 20, 'x')); }, never);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  close(both);
}

// In a program with threads, the thread that waits need not be the one that a signal interrupts.
TEST_F(FilesTest, WaitsEndWithoutASignal) {
  const std::string fifo = Fifo("fifo"), path = Path("lock");
  const FileLock held = *FileLock::Take(path, 0600);
  SetInterruptedCheck(GiveUp);
  const auto ended = [](auto&& wait) {
    g_give_up = false;
    std::thread interrupts([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      g_give_up = true;
    });
    const absl::StatusCode code = wait().code();
    interrupts.join();
    return code;
  };
  constexpr absl::StatusCode kCancelled = absl::StatusCode::kCancelled;
  EXPECT_EQ(ended([&] { return FileLock::Take(path, 0600).status(); }), kCancelled);
  EXPECT_EQ(ended([&] { return ReadFile(fifo).status(); }), kCancelled);
  EXPECT_EQ(ended([&] { return Write(fifo, "x"); }), kCancelled);
  const int both = open(fifo.c_str(), O_RDWR);
  EXPECT_EQ(ended([&] { return Write(fifo, std::string(1 << 20, 'x')); }), kCancelled);
  EXPECT_EQ(ended([&] { return ReadFile(fifo).status(); }), kCancelled);
  close(both);
}

TEST_F(FilesTest, OtherSignalsLeaveWaitsAlone) {
  const std::string fifo = Fifo("fifo");
  SetInterruptedCheck(GiveUp);
  g_give_up = false;
  absl::StatusOr<std::string> read;
  int signals = 0;
  Disturb([&] { read = ReadTextFile(fifo); },
          [&] {
            if (++signals < 20) return false;
            EXPECT_TRUE(Write(fifo, "late").ok());
            return true;
          });
  EXPECT_EQ(*read, "late");
}

TEST_F(FilesTest, FoldersBehindDanglingLinksAreNamed) {
  fs::create_symlink("nowhere", Path("gallery"));
  const absl::Status status = MakeDirectories(Path("gallery"));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("it is a link to nowhere, which does not exist"),
            std::string_view::npos)
      << status;
  ASSERT_TRUE(MakeDirectories(Path("nowhere")).ok());
  EXPECT_TRUE(MakeDirectories(Path("gallery")).ok());
}

TEST_F(FilesTest, GuardedInputsAndOutputsAreNotReplaced) {
  ASSERT_TRUE(WriteFile(Path("before"), std::string_view("x")).ok());
  ASSERT_TRUE(ReadFile(Path("before")).ok());
  GuardInputs();  // of this process, for good: files of other tests have other names
  EXPECT_TRUE(CheckOutput(Path("before")).ok()) << "what was read before does not count";
  ASSERT_TRUE(WriteFileAtomic(Path("in"), std::string_view("in")).ok());
  ASSERT_TRUE(ReadFile(Path("in")).ok());
  fs::create_symlink("in", Path("link"));
  fs::create_hard_link(Path("in"), Path("name"));
  for (const char* name : {"in", "link", "name"}) {
    EXPECT_EQ(CheckOutput(Path(name)).code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(WriteFile(Path(name), std::string_view("out")).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(*ReadTextFile(Path("in")), "in");
  }
  ASSERT_TRUE(WriteFile(Path("out"), std::string_view("1")).ok());
  EXPECT_FALSE(WriteFile(Path("out"), std::string_view("2")).ok()) << "this process wrote it";
  EXPECT_TRUE(CheckOutput(Path("none")).ok());
  ASSERT_TRUE(ReadFile("/dev/null").ok());
  EXPECT_TRUE(WriteFile("/dev/null", std::string_view("3")).ok()) << "no file";
}

TEST_F(FilesTest, AnOutputIsCheckedWithoutWritingIt) {
  fs::create_symlink("nowhere/out", Path("dangling"));
  for (const std::string name : {"nowhere/out", "dangling", ""}) {
    const absl::Status status = CheckOutput(Path(name));
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_EQ(status, WriteFile(Path(name), std::string_view("x"))) << name;
  }
  EXPECT_TRUE(CheckOutput(Path("fresh")).ok());
  EXPECT_FALSE(FileExists(Path("fresh")));
  if (geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  fs::create_directory(Path("read-only"));
  fs::permissions(Path("read-only"), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(CheckOutput(Path("read-only/out")).code(), absl::StatusCode::kUnavailable);
}

TEST_F(FilesTest, InterruptedWritesNothing) {
  SetInterruptedCheck([] { return true; });
  EXPECT_EQ(WriteFile(Path("a"), std::string_view("a")).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(FilesTest, NewFoldersComeWholeOrNotAtAll) {
  const auto bytes = AsBytes("content");
  {
    auto folder = NewFolder::Create(Path("made/"));
    ASSERT_TRUE(folder.ok()) << folder.status();
    ASSERT_TRUE(folder->Write("a", bytes).ok());
    NewFolder moved = *std::move(folder);
    ASSERT_TRUE(moved.Write("b", bytes).ok());
    EXPECT_FALSE(fs::exists(Path("made")));
    EXPECT_EQ(Entries(), 1u);
    ASSERT_TRUE(moved.Commit().ok());
  }
  EXPECT_EQ(*ReadTextFile(Path("made/a")), "content");
  EXPECT_EQ(*ReadTextFile(Path("made/b")), "content");
  EXPECT_EQ(fs::status(Path("made")).permissions(), fs::perms(0755));
  {
    auto dropped = NewFolder::Create(Path("dropped"));
    ASSERT_TRUE(dropped.ok());
    ASSERT_TRUE(dropped->Write("a", bytes).ok());
    EXPECT_FALSE(dropped->Write("no/such/folder", bytes).ok());
    EXPECT_EQ(Entries(), 2u);
  }
  EXPECT_EQ(Entries(), 1u) << "what was not committed is gone";
  try {
    auto thrown = NewFolder::Create(Path("thrown"));
    ASSERT_TRUE(thrown->Write("a", bytes).ok());
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FilesTest, NewFoldersNeedAPlaceOfTheirOwn) {
  ASSERT_TRUE(Write(Path("file"), "x").ok());
  fs::create_symlink("nowhere", Path("dangling"));
  for (const char* taken : {"file", "dangling", "."}) {
    EXPECT_EQ(NewFolder::Create(Path(taken)).status().code(), absl::StatusCode::kInvalidArgument)
        << taken;
  }
  EXPECT_EQ(NewFolder::Create(Path("no/such/folder")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(NewFolder::Create(Path("file/x")).status().code(), absl::StatusCode::kUnavailable);
  // Another folder has taken the name in the meantime.
  auto folder = NewFolder::Create(Path("late"));
  ASSERT_TRUE(folder.ok());
  fs::create_directories(Path("late/full"));
  EXPECT_EQ(folder->Commit().code(), absl::StatusCode::kUnavailable);
}

// If a waiter's file has been replaced under its name, the waiter waits for the new file's lock.
TEST_F(FilesTest, LocksAreOfWhatHasTheName) {
  const std::string path = folder_ / "lock";
  std::optional<FileLock> before = *FileLock::Take(path, 0600);
  std::atomic<bool> released = false;
  std::thread waiting([&] {
    const auto lock = FileLock::Take(path, 0600);
    EXPECT_TRUE(lock.ok()) << lock.status();
    EXPECT_TRUE(released) << "somebody else has it";
  });
  // It is waiting now, or starts later and waits for the new file from the start.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(WriteFileAtomic(folder_ / "other", std::string(), 0600).ok());
  std::filesystem::rename(folder_ / "other", path);
  std::optional<FileLock> after = *FileLock::Take(path, 0600);
  before.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  released = true;
  after.reset();
  waiting.join();
}

}  // namespace
}  // namespace heft
