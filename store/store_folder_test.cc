// SPDX-License-Identifier: Apache-2.0
// The store in a folder: tests that apply only to it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "store/testing.h"

namespace heft {
namespace {

using namespace store_testing;
namespace fs = std::filesystem;

TEST_F(FolderStoreTest, IsThereWhenOpenedAgain) {
  EXPECT_FALSE(StoreExists(Folder()));
  EXPECT_EQ(OpenStore(Folder(), StoreMode::kRead).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(OpenStore(Folder(), StoreMode::kWrite).status().code(), absl::StatusCode::kNotFound);
  {
    const auto store = OpenStore(folder_ / "store/below/both", StoreMode::kCreate);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE(Put(**store, Table::kBlocks, "a", Long(9000, 1)).ok());
  }
  EXPECT_TRUE(StoreExists(folder_ / "store/below/both"));
  for (const StoreMode mode : {StoreMode::kRead, StoreMode::kWrite, StoreMode::kCreate}) {
    const auto store = OpenStore(folder_ / "store/below/both", mode);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(Get(**store, Table::kBlocks, "a"), Text(Long(9000, 1)));
  }
  struct stat info;
  for (const char* const name :
       {"store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.blocks", "lock"}) {
    ASSERT_EQ(stat((folder_ / "store/below/both" + ("/" + std::string(name))).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600) << name;
  }
}

TEST_F(FolderStoreTest, IsSharedByAllWhoHaveItOpen) {
  const auto store = Make();
  const auto reading = *OpenStore(Folder(), StoreMode::kRead);
  EXPECT_EQ(reading->Lock(kLong).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto writing = *OpenStore(Folder() + "/../store", StoreMode::kWrite);
  ASSERT_TRUE(Put(*writing, Table::kHead, "a", AsBytes("1")).ok());
  EXPECT_EQ(Get(*reading, Table::kHead, "a"), "1");
  const auto lock = *store->Lock(kLong);
  EXPECT_TRUE(writing->Write(*lock).ok());
}

TEST_F(FolderStoreTest, OpensAndClosesInManyThreads) {
  ASSERT_TRUE(Put(*Make(), Table::kHead, "a", AsBytes("1")).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto store = OpenStore(Folder(), StoreMode::kRead);
        ASSERT_TRUE(store.ok()) << store.status();
        EXPECT_EQ(Get(**store, Table::kHead, "a"), "1");
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(FolderStoreTest, AReaderOutlivesItsStore) {
  auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kBlocks, "a", Long(9000, 1)).ok());
  const auto reader = *store->Read();
  store = nullptr;
  ASSERT_TRUE(Put(*Make(), Table::kBlocks, "a", Long(9000, 2)).ok());
  EXPECT_EQ(Get(*reader, Table::kBlocks, "a"), Text(Long(9000, 1)));
}

// The next process would read all of it.
TEST_F(FolderStoreTest, ALongLogIsCutOff) {
  const auto log = [&] { return fs::file_size(Folder() + "/store.sqlite-wal"); };
  const auto fill = [](Store& store, uint8_t with, int entries) {
    return Change(store, [&](StoreWriter& writer) -> absl::Status {
      for (int i = 0; i < entries; ++i) {
        HEFT_RETURN_IF_ERROR(
            writer.Put(Table::kHead, AsBytes(absl::StrCat("k", i)), Long(600, with)));
      }
      return absl::OkStatus();
    });
  };
  auto store = Make();
  auto older = *store->Read();
  ASSERT_TRUE(fill(*store, 1, 60000).ok());
  EXPECT_GT(log(), uint64_t{32} << 20);
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok()) << "a reader stops no writer";
  EXPECT_GT(log(), uint64_t{32} << 20);
  EXPECT_EQ(Get(*older, Table::kHead, "k9"), "none");
  older = nullptr;
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("2")).ok());
  EXPECT_LT(log(), uint64_t{2} << 20) << "before a transaction";
  ASSERT_TRUE(fill(*store, 2, 4000).ok());
  EXPECT_GT(log(), uint64_t{1} << 20);
  store = nullptr;
  EXPECT_EQ(log(), 0u) << "by its last user";
  EXPECT_EQ(Get(*Make(), Table::kHead, "k3999"), Text(Long(600, 2)));
  EXPECT_EQ(Get(*Make(), Table::kHead, "a"), "2");
}

// Eight processes. Each adds one to a number ten times.
TEST_F(FolderStoreTest, ManyProcesses) {
  const auto store = Make();
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool ok = true;
    for (int i = 0; i < 10; ++i) {
      auto own = OpenStore(Folder(), StoreMode::kWrite);
      ok = ok && own.ok() &&
           Change(**own, [](StoreWriter& w) {
             const std::string n = Get(w, Table::kHead, "n");
             return w.Put(Table::kHead, AsBytes("n"),
                          AsBytes(absl::StrCat(n == "none" ? 1 : std::stoi(n) + 1)));
           }).ok();
    }
    _exit(ok ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Get(*store, Table::kHead, "n"), "80");
}

// Each of twenty processes adds one to a number, in a namespace of process numbers of its own, as
// in a container: all have the same number.
TEST_F(FolderStoreTest, ProcessesWithTheSameNumber) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "n", AsBytes("0")).ok());
  const int allowed = InChild([] { return unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0; });
  if (allowed != 0) GTEST_SKIP() << "this system does not let users make namespaces";
  std::vector<pid_t> children;
  for (int p = 0; p < 20; ++p) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(2);
    _exit(InChild([&] {
      if (getpid() != 1) return false;
      const auto own = OpenStore(Folder(), StoreMode::kWrite);
      if (!own.ok()) return false;
      bool ok = true;
      for (int i = 0; i < 5; ++i) {
        const auto reader = (*own)->Read();
        const std::string before = Get(**reader, Table::kHead, "n");
        ok = ok && Change(**own, [](StoreWriter& w) {
                     const std::string next =
                         absl::StrCat(std::stoi(Get(w, Table::kHead, "n")) + 1);
                     return w.Put(Table::kHead, AsBytes("n"), AsBytes(next));
                   }).ok();
        ok = ok && Get(**reader, Table::kHead, "n") == before;
      }
      return ok;
    }));
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Get(*store, Table::kHead, "n"), "100");
  EXPECT_TRUE(store->Check().ok());
  EXPECT_EQ(store->Statistics()->readers, 0);
}

// The first user of the log's index empties it, so each user is known by a lock: also one that had
// to wait for the first. Without it a process that came next emptied the index under the others.
TEST_F(FolderStoreTest, AUserOfTheIndexHasItsLockAfterAWaitToo) {
  ASSERT_TRUE(Put(*Make(), Table::kHead, "a", AsBytes("1")).ok());
  constexpr off_t kIndexAlive = 128;  // store/vfs.cc
  const int index = open((Folder() + "/store.sqlite-shm").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(index, 0);
  struct flock first = {};
  first.l_type = F_WRLCK;
  first.l_whence = SEEK_SET;
  first.l_start = kIndexAlive;
  first.l_len = 1;
  struct flock end = first;
  end.l_type = F_UNLCK;
  ASSERT_EQ(fcntl(index, F_OFD_SETLK, &first), 0);
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(200));
    EXPECT_EQ(fcntl(index, F_OFD_SETLK, &end), 0);
  });
  const auto store = OpenStore(Folder(), StoreMode::kRead);
  later.join();
  ASSERT_TRUE(store.ok()) << store.status();
  // Before another connection of this process takes one.
  ASSERT_EQ(fcntl(index, F_OFD_GETLK, &first), 0);
  EXPECT_EQ(first.l_type, F_RDLCK) << "no user of the index is known";
  EXPECT_EQ(Get(**store, Table::kHead, "a"), "1");
  close(index);
}

// A store on a read-only file system, as an archive, can be read and copied. What would change it
// is refused, and the error says why.
TEST_F(FolderStoreTest, InAReadOnlyFileSystem) {
  const std::vector<uint8_t> value = Long(9000, 1);
  {
    const auto store = Make();
    ASSERT_TRUE(Put(*store, Table::kBlocks, "a", value).ok());
    ASSERT_TRUE(Put(*store, Table::kHead, "n", AsBytes("1")).ok());
    ASSERT_TRUE(store->Copy(folder_ / "copy", nullptr).ok());
  }
  // One whose log has entries, one that was just copied, and one without the index of its log.
  fs::copy(Folder(), folder_ / "no-index");
  fs::remove(folder_ / "no-index/store.sqlite-shm");
  const auto frozen = [](const std::string& path) {
    const bool own = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    return own && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
           mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
  };
  if (InChild([&] { return frozen(Folder()); }) != 0) {
    GTEST_SKIP() << "this system does not let this user make a mount read-only";
  }
  for (const std::string& path : {Folder(), folder_ / "copy", folder_ / "no-index"}) {
    const std::string out = path + "-out";
    const auto look = [&] {
      EXPECT_TRUE(frozen(path));
      const auto store = OpenStore(path, StoreMode::kRead);
      EXPECT_TRUE(store.ok()) << store.status();
      if (!store.ok()) return false;
      const auto reader = (*store)->Read();
      EXPECT_EQ(Get(**store, Table::kBlocks, "a"), Text(value));
      EXPECT_EQ(Get(**store, Table::kHead, "n"), "1");
      EXPECT_EQ(Keys(**reader, Table::kHead).size(), 1u);
      EXPECT_TRUE((*store)->Check().ok()) << (*store)->Check();
      EXPECT_TRUE((*store)->Copy(out, nullptr).ok());
      for (const StoreMode mode : {StoreMode::kWrite, StoreMode::kCreate}) {
        const absl::Status refused = OpenStore(path, mode).status();
        EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
        EXPECT_TRUE(absl::StrContains(refused.message(), path + " is on a read-only file system"))
            << refused;
      }
      return !HasFailure();
    };
    const int looked = InChild(look);
    EXPECT_EQ(looked, 0) << path;
    EXPECT_EQ(Get(**OpenStore(out, StoreMode::kRead), Table::kBlocks, "a"), Text(value));
  }
}

TEST_F(FolderStoreTest, AChildOpensItAnew) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  std::shared_ptr<StoreReader> reader = *store->Read();
  EXPECT_EQ(InChild([&] {
              reader = nullptr;  // the parent's, which still holds it
              return store->Read().status().code() == absl::StatusCode::kFailedPrecondition &&
                     Put(*Make(), Table::kHead, "a", AsBytes("2")).ok();
            }),
            0);
  EXPECT_EQ(store->Statistics()->readers, 1);
  EXPECT_EQ(Get(*reader, Table::kHead, "a"), "1");
  EXPECT_EQ(Get(*store, Table::kHead, "a"), "2");
}

// Readers and writers that are killed leave nothing that others would wait for.
TEST_F(FolderStoreTest, KilledProcesses) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  for (int i = 0; i < 3; ++i) {
    InChild([&] {
      const auto own = *OpenStore(Folder(), StoreMode::kWrite);
      const auto reader = *own->Read();
      const auto lock = *own->Lock(kLong);
      const auto writer = *own->Write(*lock);
      (void)writer->Put(Table::kHead, AsBytes("a"), AsBytes("2"));
      kill(getpid(), SIGKILL);
      return true;
    });
  }
  EXPECT_EQ(Get(*store, Table::kHead, "a"), "1");
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("3")).ok());
  EXPECT_EQ(Get(*store, Table::kHead, "a"), "3");
  EXPECT_EQ(store->Statistics()->readers, 0);
}

TEST_F(FolderStoreTest, CopiesOneState) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kBlocks, "a", Long(2'000'000, 1)).ok());
  ASSERT_TRUE(Put(*store, Table::kBlocks, "b", Long(2'000'000, 2)).ok());
  ASSERT_TRUE(Put(*store, Table::kHead, "c", AsBytes("1")).ok());
  ASSERT_TRUE(
      Change(*store, [](StoreWriter& w) { return w.Delete(Table::kBlocks, AsBytes("a")); }).ok());
  uint64_t done = 0, all = 0;
  const auto progress = [&](uint64_t d, uint64_t a) { return done = d, all = a, true; };
  const absl::Status status = store->Copy(folder_ / "copy", progress);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GE(done, 2'000'000);
  EXPECT_GE(all, done);
  EXPECT_EQ(store->Copy(folder_ / "copy", progress).code(), absl::StatusCode::kAlreadyExists);
  const auto copy = *OpenStore(folder_ / "copy", StoreMode::kWrite);
  EXPECT_EQ(Get(*copy, Table::kBlocks, "b"), Text(Long(2'000'000, 2)));
  EXPECT_EQ(Get(*copy, Table::kHead, "c"), "1");
  EXPECT_LE(copy->Statistics()->bytes, 2'400'000) << "nothing of what was deleted";
  ASSERT_TRUE(Put(*copy, Table::kHead, "c", AsBytes("2")).ok());
  EXPECT_EQ(Get(*store, Table::kHead, "c"), "1");
}

TEST_F(FolderStoreTest, ACopyThatIsEndedIsGone) {
  const auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  const auto never = [](uint64_t, uint64_t) { return false; };
  EXPECT_EQ(store->Copy(folder_ / "copy", never).code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(FileExists(folder_ / "copy"));
  ASSERT_TRUE(MakeDirectories(folder_ / "empty").ok());
  EXPECT_EQ(store->Copy(folder_ / "empty", never).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "empty"));
}

// Another store replaces an open one: no writer writes to the old file, and no reader of the new
// one uses the old table of readers.
TEST_F(FolderStoreTest, AnotherStoreInItsPlace) {
  auto store = Make();
  ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("1")).ok());
  ASSERT_TRUE(store->Copy(folder_ / "copy", nullptr).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Put(*store, Table::kHead, "a", AsBytes("2")).ok());
  const auto replaced = [](const absl::Status& status) {
    return absl::IsFailedPrecondition(status) &&
           status.ToString().find("was replaced") != std::string::npos;
  };
  for (const std::string name : {"/store.sqlite-wal", "/store.blocks", "/store.sqlite"}) {
    std::filesystem::rename(folder_ / "copy" + name, Folder() + name);
  }
  EXPECT_TRUE(replaced(store->Read().status()));
  EXPECT_TRUE(replaced(store->Lock(kLong).status()));
  EXPECT_TRUE(replaced(OpenStore(Folder(), StoreMode::kRead).status()));
  EXPECT_EQ(InChild([&] { return replaced(OpenStore(Folder(), StoreMode::kRead).status()); }), 0);
  store = nullptr;
  EXPECT_EQ(Get(*Make(), Table::kHead, "a"), "1");
  ASSERT_TRUE(Put(*Make(), Table::kHead, "a", AsBytes("3")).ok());
}

}  // namespace
}  // namespace heft
