// SPDX-License-Identifier: Apache-2.0
// The store when connections are lost, the server is killed, and several processes write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "postgres/sql_testing.h"

namespace heft {
namespace {

using namespace store_testing;
using postgres_testing::SharedServer;
using postgres_testing::SqlStoreTest;
using ::testing::HasSubstr;

// A commit that waits for this standby waits for ever; its transaction is on the disk.
constexpr char kNobody[] = "ALTER SYSTEM SET synchronous_standby_names = 'nobody'";
constexpr char kWaiting[] =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
    "wait_event = 'SyncRep'";
constexpr char kSleeping[] =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
    "wait_event = 'PgSleep'";
constexpr char kEndAll[] =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid()";

constexpr char kCancelAll[] =
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid()";

class SqlFaultsTest : public SqlStoreTest {
 protected:
  // Set: a setting of the server, for all commits that begin from here on.
  void Set(const std::string& statement) {
    ASSERT_TRUE(Sql(statement));
    ASSERT_TRUE(Sql("SELECT pg_reload_conf()"));
  }
  // CommitsWait: makes all later commits wait for a standby that never comes. SHOW has the setting
  // before the checkpointer tells the sessions to wait.
  void CommitsWait() {
    Set(kNobody);
    std::atomic<bool> seen = false;
    std::thread trial([&] {
      while (!seen) Sql("SELECT pg_logical_emit_message(true, 'trial', '')");
    });
    const bool waits = Until(kWaiting, "1");
    seen = true;
    const bool cancelled = Sql(kCancelAll);
    trial.join();
    ASSERT_TRUE(waits && cancelled);
    ASSERT_TRUE(Until(kWaiting, "0"));
  }
  void TearDown() override {
    if (store_ != nullptr) Set("ALTER SYSTEM RESET ALL");
  }
  // BeforeCommits: a commit stops before any of it is decided.
  void BeforeCommits() {
    ASSERT_TRUE(
        Sql("CREATE FUNCTION wait_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "
            "pg_catalog.pg_sleep(1000); RETURN NULL; END $$; CREATE CONSTRAINT TRIGGER wait_long "
            "AFTER INSERT ON heft.commits DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE "
            "FUNCTION wait_long()"));
  }
  absl::Status PutOne(std::string_view key = "key") {
    return Put(*store_, Table::kHead, key, AsBytes("value"));
  }
};

TEST_F(SqlFaultsTest, OfACommitThatWasMadeTheOutcomeIsFound) {
  CommitsWait();
  absl::Status status;
  std::thread writer([&] { status = PutOne(); });
  EXPECT_TRUE(Until(kWaiting, "1"));
  Set("ALTER SYSTEM RESET synchronous_standby_names");
  EXPECT_TRUE(Sql(kEndAll));
  writer.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "value");
}

// A server that is told to stop waiting for its standby says that it has committed, and warns.
TEST_F(SqlFaultsTest, ACommitThatNoStandbyHasIsNotMade) {
  for (const bool comes : {true, false}) {
    store_ = *Open(StoreMode::kWrite, comes ? absl::Seconds(60) : absl::Milliseconds(500));
    CommitsWait();
    absl::Status status;
    std::thread writer([&] { status = PutOne(comes ? "key" : "another"); });
    EXPECT_TRUE(Until(kWaiting, "1"));
    EXPECT_TRUE(Sql(kCancelAll));
    if (comes) {
      EXPECT_TRUE(Until(kWaiting, "1")) << "it waits again";
      Set("ALTER SYSTEM RESET synchronous_standby_names");
    }
    writer.join();
    EXPECT_EQ(status.code(), comes ? absl::StatusCode::kOk : absl::StatusCode::kUnknown) << status;
    Set("ALTER SYSTEM RESET synchronous_standby_names");
    ASSERT_TRUE(Until("SHOW synchronous_standby_names", ""));
  }
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "value");
  EXPECT_TRUE(PutOne().ok());
}

// The data that it wrote before it was killed exists, and nowhere else.
TEST_F(SqlFaultsTest, AServerThatComesBackWithoutItsStandbyIsNotBelieved) {
  store_ = *Open(StoreMode::kWrite, absl::Seconds(3));
  CommitsWait();
  absl::Status status;
  std::thread writer([&] { status = PutOne(); });
  EXPECT_TRUE(Until(kWaiting, "1"));
  SharedServer().Kill();
  SharedServer().Start();
  writer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown) << status;
  Set("ALTER SYSTEM RESET synchronous_standby_names");
}

TEST_F(SqlFaultsTest, WhoeverInterruptsACommitIsNotToldThatItWasNotMade) {
  CommitsWait();
  static std::atomic<bool> interrupted = false;
  SetInterruptedCheck([] { return interrupted.load(); });
  absl::Status status;
  std::thread writer([&] { status = PutOne(); });
  EXPECT_TRUE(Until(kWaiting, "1"));
  interrupted = true;
  writer.join();
  SetInterruptedCheck(nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown) << status;
  EXPECT_EQ(Ask(kWaiting), "1") << "it was not cancelled";
  Set("ALTER SYSTEM RESET synchronous_standby_names");
  EXPECT_TRUE(PutOne().ok());
}

// Like a primary that hangs and is replaced: its connections stay open.
TEST_F(SqlFaultsTest, WhoeverWaitsForAServerThatHangsAsksForAnother) {
  postgres_testing::ThrowAwayServer first;
  const std::string two = first.NewServiceBefore(service_);
  const auto session = *ConnectByService(two, absl::Seconds(1));
  const auto one = session->Execute("SELECT 1");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_TRUE(session->Execute("SELECT pg_sleep(2)").ok()) << "it works, and may take its time";
  first.Signal(SIGSTOP);
  const auto rows = session->Execute("SELECT 2");
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(rows.status().ToString(), HasSubstr("another server"));
  EXPECT_TRUE(session->Lost());
  first.Signal(SIGCONT);
}

TEST_F(SqlFaultsTest, TheServerIsKilledAfterACommitWasMade) {
  // Under one lock, later transactions continue.
  const auto lock = *store_->Lock(kLong);
  CommitsWait();
  absl::Status status;
  std::thread writer([&] {
    const auto w = *store_->Write(*lock);
    status = w->Put(Table::kHead, AsBytes("key"), AsBytes("value"));
    if (status.ok()) status = w->Commit();
  });
  EXPECT_TRUE(Until(kWaiting, "1"));
  SharedServer().Kill();
  SharedServer().Start();
  Set("ALTER SYSTEM RESET synchronous_standby_names");
  writer.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "value");
  const auto next = store_->Write(*lock);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE((*next)->Put(Table::kHead, AsBytes("another"), AsBytes("one")).ok());
  EXPECT_TRUE((*next)->Commit().ok());
  EXPECT_EQ(Get(*store_, Table::kHead, "another"), "one");
}

TEST_F(SqlFaultsTest, TheServerIsKilledBeforeACommitIsMade) {
  ASSERT_TRUE(PutOne("before").ok());
  BeforeCommits();
  absl::Status status;
  std::thread writer([&] { status = PutOne(); });
  EXPECT_TRUE(Until(kSleeping, "1"));
  SharedServer().Kill();
  SharedServer().Start();
  writer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("nothing was changed"));
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "none");
  EXPECT_EQ(Get(*store_, Table::kHead, "before"), "value");
  ASSERT_TRUE(Sql("DROP TRIGGER wait_long ON heft.commits"));
  EXPECT_TRUE(PutOne().ok());
  EXPECT_TRUE(store_->Check().ok());
}

TEST_F(SqlFaultsTest, OfAServerThatStaysAwayNobodyKnows) {
  store_ = *Open(StoreMode::kWrite, absl::Milliseconds(200));
  BeforeCommits();
  absl::Status status;
  std::thread writer([&] { status = PutOne(); });
  EXPECT_TRUE(Until(kSleeping, "1"));
  SharedServer().Kill();
  writer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("check for the change"));
  EXPECT_EQ(store_->Read().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_->Lock(kLong).status().code(), absl::StatusCode::kUnavailable);
  SharedServer().Start();
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "none");
}

TEST_F(SqlFaultsTest, ReadersFailClearlyAndTheNextSucceed) {
  ASSERT_TRUE(Put(*store_, Table::kBlocks, "block", Long(100'000, 1)).ok());
  ASSERT_TRUE(PutOne().ok());
  const auto reader = *store_->Read();
  const ByteSpan block = **reader->Get(Table::kBlocks, AsBytes("block"));
  SharedServer().Kill();
  SharedServer().Start();
  EXPECT_EQ(reader->Get(Table::kHead, AsBytes("key")).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(reader->Scan(Table::kHead, {}, [](ByteSpan, ByteSpan) { return true; }).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(Text(block), Text(Long(100'000, 1)));
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "value");
}

TEST_F(SqlFaultsTest, ALostTransactionIsNotCommittedInPart) {
  const auto lock = *store_->Lock(kLong);
  auto writer = *store_->Write(*lock);
  ASSERT_TRUE(writer->Put(Table::kHead, AsBytes("a"), AsBytes("1")).ok());
  EXPECT_EQ(Keys(*writer, Table::kHead).size(), 1);  // it is in the database now
  ASSERT_TRUE(Sql(kEndAll));
  EXPECT_FALSE(writer->Get(Table::kHead, AsBytes("b")).ok());
  EXPECT_EQ(writer->Put(Table::kHead, AsBytes("b"), AsBytes("2")).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(writer->Commit().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Get(*store_, Table::kHead, "a"), "none");
  // No other writer has written meanwhile, so the lock is taken again.
  writer = *store_->Write(*lock);
  EXPECT_TRUE(writer->Put(Table::kHead, AsBytes("c"), AsBytes("3")).ok());
  EXPECT_TRUE(writer->Commit().ok());
}

// A process that has lost the lock does not overwrite another's changes under it.
TEST_F(SqlFaultsTest, ALostLockIsNotTakenForOnesOwn) {
  const auto lock = *store_->Lock(kLong);
  ASSERT_TRUE(Sql(kEndAll));
  const auto another = *Open(StoreMode::kWrite);
  {
    const auto theirs = another->Lock(kLong);
    ASSERT_TRUE(theirs.ok());
    const auto held = *store_->Write(*lock);
    EXPECT_EQ(held->Get(Table::kHead, AsBytes("key")).status().code(),
              absl::StatusCode::kUnavailable);
  }
  ASSERT_TRUE(Put(*another, Table::kHead, "key", AsBytes("theirs")).ok());
  const auto writer = *store_->Write(*lock);
  ASSERT_TRUE(writer->Put(Table::kHead, AsBytes("key"), AsBytes("ours")).ok());
  const absl::Status status = writer->Commit();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), HasSubstr("other processes have written"));
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "theirs");
  EXPECT_TRUE(Put(*store_, Table::kHead, "key", AsBytes("ours")).ok()) << "under a new lock";
}

TEST_F(SqlFaultsTest, TwoProcessesWriteInTurn) {
  constexpr int kTimes = 40;
  std::vector<pid_t> children;
  for (int c = 0; c < 2; ++c) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const auto own = Open(StoreMode::kWrite);
    bool good = own.ok();
    for (int i = 0; good && i < kTimes; ++i) {
      good = Change(**own, [](StoreWriter& w) -> absl::Status {
               const std::string n = Get(w, Table::kHead, "n");
               const std::string next = absl::StrCat(n == "none" ? 1 : std::stoi(n) + 1);
               HEFT_RETURN_IF_ERROR(w.Put(Table::kHead, AsBytes("n"), AsBytes(next)));
               return w.Put(Table::kBlocks, AsBytes("b"), Long(100'000, std::stoi(next)));
             }).ok();
    }
    _exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Get(*store_, Table::kHead, "n"), absl::StrCat(2 * kTimes));
  EXPECT_EQ(Get(*store_, Table::kBlocks, "b"), Text(Long(100'000, 2 * kTimes)));
  EXPECT_TRUE(store_->Check().ok()) << store_->Check();
  EXPECT_EQ(Ask("SELECT count(*) FROM heft.blobs"), "1") << "blobs of nobody are gone";
}

TEST_F(SqlFaultsTest, AProcessThatIsKilledHoldsNothing) {
  const pid_t child = fork();
  if (child == 0) {
    const auto own = *Open(StoreMode::kWrite);
    const auto lock = *own->Lock(kLong);
    const auto writer = *own->Write(*lock);
    writer->Put(Table::kHead, AsBytes("key"), AsBytes("value")).IgnoreError();
    Keys(*writer, Table::kHead);
    pause();
  }
  ASSERT_TRUE(
      Until("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
            "state = 'idle in transaction'",
            "1"));
  const absl::Status busy = store_->Lock(absl::Milliseconds(30)).status();
  EXPECT_EQ(busy.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(busy.ToString(), HasSubstr("wait longer"));
  EXPECT_FALSE(store_->Lock(absl::ZeroDuration()).ok());
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  const auto lock = store_->Lock(kLong);
  EXPECT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(Get(*store_, Table::kHead, "key"), "none");
}

TEST_F(SqlFaultsTest, AChildOfAForkLeavesTheParentsSessionsAlone) {
  ASSERT_TRUE(PutOne().ok());
  const auto reader = *store_->Read();
  EXPECT_EQ(InChild([&] {
              const bool refused =
                  store_->Read().status().code() == absl::StatusCode::kFailedPrecondition &&
                  reader->Get(Table::kHead, AsBytes("key")).status().code() ==
                      absl::StatusCode::kFailedPrecondition;
              store_ = nullptr;
              return refused;
            }),
            0);
  EXPECT_EQ(Get(*reader, Table::kHead, "key"), "value");
}

}  // namespace
}  // namespace heft
