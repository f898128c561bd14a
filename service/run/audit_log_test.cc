// SPDX-License-Identifier: Apache-2.0
#include "service/run/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "base/files.h"
#include "base/testing.h"
#include "service/json.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;

class AuditLogTest : public ::testing::Test {
 protected:
  std::string Text() const { return *ReadTextFile(path_); }
  void Put(const std::string& text) const { ASSERT_TRUE(WriteFileAtomic(path_, text).ok()); }
  void Write(int lines) const {
    auto log = AuditLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    for (int i = 0; i < lines; ++i) ASSERT_TRUE((*log)->Append({{"i", i}, {"seq", 99}}).ok());
  }
  std::string Why(const AuditHead* expected = nullptr) const {
    const auto head = VerifyAuditLog(path_, expected);
    return head.ok() ? "good" : Message(head.status());
  }
  const heft::testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "audit.log";
};

TEST_F(AuditLogTest, LinesHoldTogether) {
  Write(3);
  Write(2);
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::vector<Json> lines;
  const auto head =
      VerifyAuditLog(path_, nullptr, [&](uint64_t, const Json& line) { lines.push_back(line); });
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->lines, 5u);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0]["prev"], std::string(64, '0'));
  EXPECT_EQ(lines[4]["seq"], 5);  // the caller's value is replaced
  EXPECT_EQ(lines[4]["i"], 1);
  const auto log = *AuditLog::Open(path_);
  EXPECT_EQ(log->head().hash, head->hash);
  EXPECT_EQ(AuditLog::Open(path_).status().code(), absl::StatusCode::kUnavailable);
}

// A long file is rotated, and the chain continues.
TEST_F(AuditLogTest, RotatedFilesAreOneChain) {
  constexpr uint64_t kLongest = 2000;
  const auto open = [&] { return AuditLog::Open(path_, 16 << 20, kLongest); };
  AuditHead noted;
  {
    auto log = *open();
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(log->Append({{"i", i}, {"text", std::string(100, 'x')}}).ok());
      if (i == 10) noted = log->head();
    }
    for (uint64_t from = 1; from <= 40;) {
      const auto lines = log->Read(from, 1000);
      ASSERT_TRUE(lines.ok()) << lines.status();
      ASSERT_FALSE(lines->empty());
      for (const auto& line : *lines) EXPECT_EQ(line["seq"], from++);
    }
  }
  std::map<uint64_t, std::string> by_number;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = file.path().string();
    if (!name.starts_with(path_) || name == path_ || name.ends_with(".lock")) continue;
    by_number[std::stoul(name.substr(path_.size() + 1))] = name;
    EXPECT_LT(std::filesystem::file_size(file.path()), kLongest + 500);
  }
  ASSERT_GE(by_number.size(), 3u);
  std::vector<std::string> files;
  for (const auto& [number, name] : by_number) files.push_back(name);
  files.push_back(path_);
  const auto head = VerifyAuditLogs(files);
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->lines, 40u);
  EXPECT_TRUE(VerifyAuditLogs(files, &noted).ok());
  const AuditHead other = {noted.lines, std::string(64, 'a')};
  EXPECT_THAT(Message(VerifyAuditLogs(files, &other).status()), HasSubstr("was noted"));
  const AuditHead beyond = {41, std::string(64, 'a')};
  EXPECT_THAT(Message(VerifyAuditLogs(files, &beyond).status()), HasSubstr("cut off"));
  // A missing file is detected; the last file alone is accepted only with the head before it.
  std::vector<std::string> gap = files;
  gap.erase(gap.begin() + 1);
  EXPECT_FALSE(VerifyAuditLogs(gap).ok());
  EXPECT_FALSE(VerifyAuditLog(path_).ok());
  const AuditHead before = *VerifyAuditLogs({files.begin(), files.end() - 1});
  EXPECT_EQ(before.lines, by_number.rbegin()->first);
  // A head from before these files cannot be checked, which is an error.
  EXPECT_EQ(VerifyAuditLogs({path_}, &noted, &before).status().code(),
            absl::StatusCode::kInvalidArgument);
  const AuditHead none = {0, std::string(64, 'a')};
  EXPECT_EQ(VerifyAuditLogs(files, &none).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(VerifyAuditLogs({}, &noted).status().code(), absl::StatusCode::kInvalidArgument);
  const AuditHead beginning;
  EXPECT_TRUE(VerifyAuditLogs(files, &beginning, &beginning).ok());
  EXPECT_TRUE(VerifyAuditLog(path_, nullptr, {}, &before).ok());
  // A restart continues the chain without a file, as after a crash between two files.
  std::filesystem::remove(path_);
  {
    auto log = *open();
    EXPECT_EQ(log->head().hash, before.hash);
    ASSERT_TRUE(log->Append({{"i", 41}}).ok());
  }
  EXPECT_EQ(VerifyAuditLogs(files)->lines, before.lines + 1);
  // Files that were moved away cannot be read here; the chain continues while the newest remains.
  while (by_number.size() > 1) {
    std::filesystem::remove(by_number.begin()->second);
    by_number.erase(by_number.begin());
  }
  {
    auto log = *open();
    EXPECT_EQ(log->Read(1, 10).status().code(), absl::StatusCode::kNotFound);
    ASSERT_TRUE(log->Append({{"i", 42}}).ok());
    EXPECT_EQ(log->head().lines, before.lines + 2);
    EXPECT_EQ(log->Read(before.lines + 1, 10)->size(), 2u);
  }
  std::filesystem::remove(by_number.begin()->second);
  EXPECT_EQ(open().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(open().status()), HasSubstr(absl::StrCat("put ", by_number.begin()->second)));
}

TEST_F(AuditLogTest, EveryChangeShows) {
  Write(20);
  const AuditHead head = *VerifyAuditLog(path_);
  const std::string good = Text();
  std::vector<std::string> lines;
  for (const std::string_view line : Split(good, '\n')) {
    if (!line.empty()) lines.emplace_back(line);
  }
  const auto join = [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& line : all) text += line + "\n";
    return text;
  };
  // Any byte of any line except the last, for which a noted head is needed.
  for (size_t at = 0; at < good.size() - lines.back().size() - 1; at += 13) {
    std::string changed = good;
    changed[at] = changed[at] == '1' ? '2' : '1';
    if (changed == good) continue;
    Put(changed);
    EXPECT_NE(Why(), "good") << at;
  }
  auto some = lines;
  some.erase(some.begin() + 7);
  Put(join(some));
  EXPECT_THAT(Why(), HasSubstr(":8 is not number 8"));
  some = lines;
  std::swap(some[3], some[4]);
  Put(join(some));
  EXPECT_THAT(Why(), HasSubstr(":4 "));
  some = lines;
  some.pop_back();
  Put(join(some));
  EXPECT_EQ(Why(), "good");
  EXPECT_THAT(Why(&head), HasSubstr("cut off"));
  // Written anew from some line on: the chain is consistent, but does not match the noted head.
  Put("");
  Write(21);
  EXPECT_EQ(Why(), "good");
  EXPECT_THAT(Why(&head), HasSubstr("been rewritten"));
  Put(good);
  EXPECT_EQ(Why(&head), "good");
  Write(3);
  EXPECT_EQ(Why(&head), "good");  // it has grown since
  Put("nothing\n");
  EXPECT_THAT(Why(), HasSubstr(":1 is no JSON"));
  EXPECT_EQ(VerifyAuditLog(folder_ / "nowhere").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(AuditLog::Open(path_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(AuditLogTest, AHalfLineIsDroppedAndSaid) {
  Write(3);
  const std::string good = Text();
  Put(good + R"({"seq":4,"ti)");
  EXPECT_EQ(Why(), "good");  // one that is just being written
  Write(1);
  std::vector<Json> lines;
  ASSERT_TRUE(VerifyAuditLog(path_, nullptr, [&](uint64_t, const Json& line) {
                lines.push_back(line);
              }).ok());
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[3]["event"], "half line dropped");
  EXPECT_EQ(lines[3]["bytes"], 12);
  EXPECT_EQ(Text().substr(0, good.size()), good);
}

TEST_F(AuditLogTest, PagesOfIt) {
  Write(1000);
  const auto log = *AuditLog::Open(path_);
  ASSERT_TRUE(log->Append({{"i", 1000}}).ok());
  for (const uint64_t from : {1, 2, 255, 256, 257, 258, 512, 513, 999, 1001}) {
    const auto lines = log->Read(from, 3);
    ASSERT_TRUE(lines.ok());
    ASSERT_EQ(lines->size(), std::min<uint64_t>(3, 1002 - from)) << from;
    for (size_t i = 0; i < lines->size(); ++i) EXPECT_EQ((*lines)[i]["seq"], from + i);
  }
  EXPECT_TRUE(log->Read(1002, 3)->empty());
  EXPECT_TRUE(log->Read(0, 3)->empty());
  EXPECT_EQ(log->Read(5, UINT64_MAX)->size(), 997u);
}

TEST_F(AuditLogTest, ThreadsShareFlushesAndKeepTheirOrder) {
  {
    const auto log = *AuditLog::Open(path_);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) EXPECT_TRUE(log->Append({{"t", t}, {"i", i}}).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(log->head().lines, 800u);
  }
  std::vector<int> next(8);
  ASSERT_TRUE(VerifyAuditLog(path_, nullptr, [&](uint64_t, const Json& line) {
                EXPECT_EQ(line["i"], next[line["t"].get<int>()]++);
              }).ok());
}

// With a full disk no unwritten line is reported as written, and the next start continues.
TEST_F(AuditLogTest, AFullDisk) {
  Write(3);
  const uint64_t room = Text().size() + 400;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{room, room};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto log = AuditLog::Open(path_);
    if (!log.ok()) _exit(1);
    int good = 0;
    while (good < 100 && (*log)->Append({{"child", good}}).ok()) ++good;
    if (good == 100 || (*log)->Append({{"more", 1}}).code() != absl::StatusCode::kUnavailable) {
      _exit(2);
    }
    _exit(10 + good);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_GE(WEXITSTATUS(status), 10);
  EXPECT_EQ(VerifyAuditLog(path_)->lines, 3u + WEXITSTATUS(status) - 10);
  Write(1);
  EXPECT_EQ(Why(), "good");
}

// Once there is room again, lines are written without a restart.
TEST_F(AuditLogTest, RoomAgain) {
  Write(3);
  const uint64_t room = Text().size() + 400;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{room, RLIM_INFINITY};
    auto log = AuditLog::Open(path_);
    if (!log.ok() || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    std::atomic<int> good{0}, bad{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) ++((*log)->Append({{"child", i}}).ok() ? good : bad);
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (bad == 0 || (*log)->head().lines != 3u + good) _exit(2);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!(*log)->Append({{"again", 1}}).ok() || (*log)->Read(4 + good, 1)->size() != 1) _exit(3);
    _exit(10 + good);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_GE(WEXITSTATUS(status), 10);
  EXPECT_EQ(Why(), "good");
  EXPECT_EQ(VerifyAuditLog(path_)->lines, 3u + WEXITSTATUS(status) - 10 + 1);
  EXPECT_THAT(Text(), HasSubstr("\"again\":1"));
}

// A start reads only the end of a long log.
TEST_F(AuditLogTest, AStartLooksAtTheEndAlone) {
  Write(1000);
  const std::string good = Text();
  std::string changed = good;
  changed[good.find("\"i\":2}") + 4] = '7';
  Put(changed);
  EXPECT_THAT(Why(), HasSubstr(":4 does not follow"));
  {
    const auto log = AuditLog::Open(path_, 4096);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_EQ((*log)->head().lines, 1000u);
    ASSERT_TRUE((*log)->Append({{"i", 1000}}).ok());
    EXPECT_EQ((*(*log)->Read(1001, 1))[0]["i"], 1000);
    EXPECT_EQ((*(*log)->Read(5, 1))[0]["seq"], 5);
  }
  EXPECT_EQ(AuditLog::Open(path_).status().code(), absl::StatusCode::kDataLoss);
  changed = good;
  changed[good.size() - 1000] = '!';
  Put(changed);
  EXPECT_EQ(AuditLog::Open(path_, 4096).status().code(), absl::StatusCode::kDataLoss);
  Put(good + "{\"seq\":10");
  const auto log = AuditLog::Open(path_, 4096);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ((*log)->head().lines, 1001u);
}

// After a kill at any moment, all lines of returned calls of Append are there.
TEST_F(AuditLogTest, AKillLosesNothingThatWasSaid) {
  for (int round = 0; round < 10; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto log = AuditLog::Open(path_);
      if (!log.ok()) _exit(1);
      for (int i = 0;; ++i) {
        if (!(*log)->Append({{"round", round}, {"i", i}}).ok()) _exit(2);
        const char said = 1;
        if (write(pipe_ends[1], &said, 1) != 1) _exit(3);
      }
    }
    close(pipe_ends[1]);
    char said = 0;
    uint64_t count = 0;
    for (; count < 5u + round * 3 && read(pipe_ends[0], &said, 1) == 1; ++count) {
    }
    kill(child, SIGKILL);
    while (read(pipe_ends[0], &said, 1) == 1) ++count;
    close(pipe_ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    uint64_t found = 0;
    ASSERT_TRUE(VerifyAuditLog(path_, nullptr, [&](uint64_t, const Json& line) {
                  found += line.contains("round") && line["round"] == round ? 1 : 0;
                }).ok());
    EXPECT_GE(found, count);
  }
}

TEST(ParseAuditHeadTest, IsWhatVerifyPrints) {
  const std::string hash(64, 'a');
  const auto head = ParseAuditHead("812:" + hash, "--head");
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->lines, 812u);
  EXPECT_EQ(head->hash, hash);
  for (const std::string& bad :
       {hash, ":" + hash, "x:" + hash, "1:" + hash + "a", "1:" + hash.substr(1) + "G"}) {
    EXPECT_THAT(Message(ParseAuditHead(bad, "--head").status()), HasSubstr("--head is \"")) << bad;
  }
}

}  // namespace
}  // namespace heft::service
