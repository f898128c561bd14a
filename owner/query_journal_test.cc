// SPDX-License-Identifier: Apache-2.0
// What a journal counts, how it begins, goes on under another key, and begins anew.
#include "owner/query_journal.h"

#include <sys/wait.h>

#include <filesystem>

#include "owner/testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kModel;

constexpr ModelId kOther = {5};
constexpr uint64_t kDay = 86400;

class QueryJournalTest : public testing::JournalTest {};

TEST_F(QueryJournalTest, TheRecordOutlivesTheProcess) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  struct stat info;
  for (const std::string& file : {path_, AnchorFile()}) {
    ASSERT_EQ(stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600u) << file;
  }
  EXPECT_EQ(Granted(*Open(), "ann"), 5) << "ten of twenty for one client";
  EXPECT_EQ(Granted(*Open(), "ann"), 0) << "a refusal stays one";
  EXPECT_EQ(Granted(*Open(), "bob"), 10);
  ASSERT_TRUE(
      Open()->SetLimits(kModel, {.scores = 30, .decisions = 8, .client_bits = 9999}, 20).ok());
  EXPECT_EQ(Granted(*Open(), "ann"), 5);
}

// A model is calibrated again while its key is in use: fewer scores hold at once, for processes
// with an older model file too, and more only when they are set by hand. Counts stay.
TEST_F(QueryJournalTest, AMeasurementMakesTheLimitSmallerAtOnceAndLargerByHandAlone) {
  const auto charge = [&](const std::string& who, uint64_t measured) {
    Opening opening = Of(who);
    opening.defaults.scores = measured;
    opening.no_scores = "none";
    return Open()->Charge(opening);
  };
  const auto limit = [&] { return Open()->Read()->ledger.models.at(kModel).limits->scores; };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(charge("ann", 20).ok());
  ASSERT_TRUE(charge("bob", 6).ok());
  EXPECT_EQ(limit(), 6u) << "and the journal says so";
  EXPECT_FALSE(charge("ann", 6).ok()) << "three of six, for one client";
  EXPECT_FALSE(charge("ann", 20).ok()) << "also with the model file of before";
  EXPECT_EQ(limit(), 6u);
  ASSERT_TRUE(Open()->SetLimits(kModel, {.scores = 10}, 20).ok());
  EXPECT_TRUE(charge("ann", 20).ok());
  EXPECT_FALSE(charge("ann", 6).ok()) << "set by hand, but for another measurement";
  EXPECT_EQ(charge("eve", 0).message(), "none") << "none at all is measured";
  ASSERT_TRUE(Open()->SetLimits(kModel, {.scores = 10}, 0).ok());
  EXPECT_TRUE(charge("ann", 0).ok()) << "on purpose, as heft budget --set does";
  EXPECT_EQ(Open()->Read()->ledger.models.at(kModel).verifications, 6u);
  // A checkpoint keeps the measurement that the limits were set against.
  entries_per_file_ = 1;
  ASSERT_TRUE(Open()->SetLimits(kModel, {.scores = 30}, 20).ok());
  EXPECT_EQ(Open()->Read()->ledger.models.at(kModel).measured, 20u);
  EXPECT_FALSE(charge("ann", 8).ok());
  EXPECT_TRUE(charge("eve", 8).ok());
  EXPECT_EQ(limit(), 8u);
}

TEST_F(QueryJournalTest, ProcessesShareOneBudget) {
  constexpr int kProcesses = 4;
  int granted = 0;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(Granted(*Open(), "ann"));
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    granted += WEXITSTATUS(status);
  }
  EXPECT_EQ(granted, 10);
}

// Two that stay open follow each other's entries, and a file that was replaced.
TEST_F(QueryJournalTest, OpenJournalsFollowEachOther) {
  entries_per_file_ = 5;
  const auto one = Open(), two = Open();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(one->Charge(Of("ann")).ok()) << i;
    ASSERT_TRUE(two->Charge(Of("ann")).ok()) << i;
  }
  EXPECT_FALSE(one->Charge(Of("ann")).ok());
  EXPECT_FALSE(two->Charge(Of("ann")).ok());
  EXPECT_EQ(two->Read()->ledger.models.at(kModel).verifications, 10u);
}

TEST_F(QueryJournalTest, AClockThatIsSetBackFillsNoBucket) {
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
  now_ -= 500000;
  EXPECT_EQ(Granted(*Open(), "ann", true), 0);
  ASSERT_TRUE(Open()->SetLimits(kOther, {}, 0).ok()) << "an entry at that time";
  EXPECT_EQ(Granted(*Open(), "ann", true), 0);
  now_ += 500000;
  EXPECT_EQ(Granted(*Open(), "ann", true), 0) << "nor forward again";
  now_ += kDay / 4;
  EXPECT_EQ(Granted(*Open(), "ann", true), 1);
  now_ += kDay;
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
}

TEST_F(QueryJournalTest, AReplyIsOpenedOnce) {
  Opening opening = Of("ann", /*decision=*/true);
  ASSERT_TRUE(Open()->Charge(opening).ok());
  opening.decision = false;  // for its scores now
  const absl::Status again = Open()->Charge(opening);
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.message()), HasSubstr("opened before, at 1970-01-12T13:46:40Z"));
}

// Unknown names are charged like any other, so a refusal does not show which names are known.
// Replies of several galleries that answer one search are one opening. Each is opened once, also
// when the journal is read later, or its sum.
TEST_F(QueryJournalTest, RepliesToOneSearchAreOneOpening) {
  const Hash first = {1}, second = {2}, third = {3}, fourth = {4};
  Opening whole = Of("");
  whole.replies = {first, second, third};
  ASSERT_TRUE(Open()->Charge(whole).ok());
  const auto status = Open()->Read();
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->ledger.Openings(), 1u);
  EXPECT_EQ(status->ledger.models.at(kModel).clients.at({}).openings, 1u);
  EXPECT_EQ(status->ledger.models.at(kModel).clients.at({}).bucket.spent, 1000 * kScoreBits);
  const auto refused = [&](const std::vector<Hash>& replies) {
    Opening again = Of("");
    again.replies = replies;
    const absl::Status charged = Open()->Charge(again);
    EXPECT_THAT(charged.message(), HasSubstr("opened before"));
    return !charged.ok();
  };
  for (const Hash& reply : whole.replies) EXPECT_TRUE(refused({reply}));
  EXPECT_TRUE(refused({fourth, third}));
  entries_per_file_ = 1;  // the next one begins a new file with the sum
  Opening other = Of("");
  other.replies = {fourth};
  EXPECT_TRUE(Open()->Charge(other).ok()) << "nothing was added with the one that was refused";
  EXPECT_TRUE(refused({third}));
  EXPECT_EQ(Open()->Read()->ledger.Openings(), 2u);
}

// A claim takes a rejection before it is opened, and an acceptance gives it back with another one.
// What a process that dies between the two has charged is a rejection.
TEST_F(QueryJournalTest, AClaimIsARejectionUntilItIsAccepted) {
  const auto left = [&] { return Open()->Read()->ledger.models.at(kModel); };
  const Opening first = Of("ann", true), second = Of("ann", true), third = Of("ann", true);
  const auto spent = [&] {
    const auto use = left();
    EXPECT_EQ(use.shares.size(), 1u);
    return use.shares.begin()->second.rejections.spent;
  };
  ASSERT_TRUE(Open()->Charge(first).ok());
  ASSERT_TRUE(Open()->Charge(second).ok());
  ASSERT_TRUE(Open()->Charge(third).ok());
  EXPECT_EQ(spent(), 3000u);
  EXPECT_TRUE(left().identities.empty()) << "nothing is charged to the person";
  ASSERT_TRUE(Open()->PublishDecision(first, "ann", false).ok());
  EXPECT_EQ(spent(), 3000u);
  ASSERT_TRUE(Open()->PublishDecision(second, "ann", true).ok());
  EXPECT_EQ(spent(), 1000u);
  ASSERT_TRUE(Open()->PublishDecision(third, "ann", true).ok());
  EXPECT_EQ(spent(), 0u) << "never more than all of them";
  EXPECT_EQ(left().identities.begin()->second.decisions, 2u);
}

// Two claims at once may both be opened, and the second finds the day's acceptances spent: it is
// told so whether it was accepted or not.
TEST_F(QueryJournalTest, AnAcceptanceBeyondTheLimitIsNotTold) {
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
  now_ += kDay / 4;  // one came back
  const Opening one = Of("ann", true), two = Of("ann", true);
  ASSERT_TRUE(Open()->Charge(one).ok());
  ASSERT_TRUE(Open()->Charge(two).ok());
  ASSERT_TRUE(Open()->PublishDecision(one, "ann", true).ok());
  for (const bool accepted : {true, false}) {
    EXPECT_EQ(Open()->PublishDecision(two, "ann", accepted).code(),
              absl::StatusCode::kResourceExhausted);
  }
}

// An owner that gives its part of a claim does not learn the decision: it counts claims.
TEST_F(QueryJournalTest, AGivenPartCountsAClaimAndNoRejection) {
  ASSERT_TRUE(Open()->SetLimits(kModel, {.scores = 5, .decisions = 8, .rejections = 2}, 0).ok());
  const auto given = [&](const std::string& who, ClientId client = {}) {
    Opening opening = Of(who, true);
    opening.given = true;
    opening.client = client;
    return Open()->Charge(opening);
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(given("ann").ok()) << i;
  const absl::Status refused = given("ann");
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("given its part of 4 claims of \"ann\""));
  EXPECT_TRUE(given("ann", {7}).ok()) << "another client goes on";
  EXPECT_TRUE(given("bob").ok());
  now_ += kDay / 4;
  EXPECT_TRUE(given("ann").ok());
  EXPECT_FALSE(given("ann").ok());
  // A person of few who answer a search counts as claimed.
  Opening few = Of("", true);
  few.given = true;
  few.few = {"ann", "eve"};
  EXPECT_EQ(Open()->Charge(few).code(), absl::StatusCode::kResourceExhausted);
  few.few = {"eve"};
  EXPECT_TRUE(Open()->Charge(few).ok());
  // What this owner combines itself is judged by its own rejections.
  EXPECT_TRUE(Open()->Charge(Of("eve", true)).ok());
  EXPECT_TRUE(Open()->Charge(Of("eve", true)).ok());
  EXPECT_FALSE(Open()->Charge(Of("eve", true)).ok());
  EXPECT_EQ(Open()->Read()->ledger.models.at(kModel).verifications, 9u);
}

// A search of few people is a claim of each of them, so that conditions are no way round.
TEST_F(QueryJournalTest, AFewWhoAnswerAreClaimed) {
  const auto search = [&](const std::string& best, bool accepted) {
    Opening opening = Of("", true);
    opening.few = {"ann", "bob"};
    HEFT_RETURN_IF_ERROR(Open()->Charge(opening));
    return Open()->PublishDecision(opening, best, accepted);
  };
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(search("ann", false).ok()) << i;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(search("ann", true).ok()) << i;
  const auto rejected = [&](const std::string& name) {
    for (int i = 0;; ++i) {
      if (const absl::Status charged = Open()->Charge(Of(name, true)); !charged.ok()) return i;
    }
  };
  EXPECT_EQ(rejected("ann"), 9) << "16 - 10 + 3";
  EXPECT_EQ(rejected("bob"), 3) << "16 - 13";
  const absl::Status refused = search("ann", true);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("one of the few people who answer"));
  const Opening all = Of("", true);
  EXPECT_TRUE(Open()->Charge(all).ok()) << "a search of everybody goes on";
}

TEST_F(QueryJournalTest, UnknownNamesAreChargedAlike) {
  for (const char* name : {"nobody of that name", "ann"}) {
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(Open()->Charge(Of(name, true)).ok()) << name << i;
    EXPECT_FALSE(Open()->Charge(Of(name, true)).ok()) << name;
  }
  EXPECT_EQ(Granted(*Open(), "nobody of that name"), Granted(*Open(), "ann"));
}

TEST_F(QueryJournalTest, NamesCannotBeLookedUp) {
  ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const std::string bytes = Slurp();
  EXPECT_EQ(bytes.find("ann"), std::string::npos);
  const auto hash = NameHash("ann");
  EXPECT_EQ(bytes.find(std::string(hash.begin(), hash.begin() + 8)), std::string::npos);
  EXPECT_EQ(bytes.find(std::string(reinterpret_cast<const char*>(master_.data()), 8)),
            std::string::npos);
}

TEST_F(QueryJournalTest, AnIdentificationIsChargedToThoseItPublishes) {
  const std::vector<std::string> ranked = {"ann", "bob"};
  for (int i = 0; i < 10; ++i) {
    Opening search = Of("");
    search.slots = 2;
    ASSERT_TRUE(Open()->Charge(search).ok());
    EXPECT_EQ(*Open()->Publish(search, ranked), std::vector<bool>({true, true}));
  }
  const auto search = [&](const std::vector<std::string>& names) {
    Opening opening = Of("");
    EXPECT_TRUE(Open()->Charge(opening).ok());
    return Open()->Publish(opening, names);
  };
  EXPECT_EQ(*search({"new", "bob"}), std::vector<bool>({true, false}));
  EXPECT_EQ(search(ranked).status().code(), absl::StatusCode::kResourceExhausted);
  const Opening decision = Of("", true);
  ASSERT_TRUE(Open()->Charge(decision).ok());
  EXPECT_TRUE(Open()->PublishDecision(decision, "ann", true).ok()) << "decisions go on";
  EXPECT_EQ(Granted(*Open(), "new"), 9);
  EXPECT_EQ(Granted(*Open(), "bob"), 0);
}

TEST_F(QueryJournalTest, RestartingIsRecordedAndKeepsWhatCanBeRead) {
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(Open()->Charge(Of("ann")).ok());
  const uint64_t sequence = Open()->Read()->sequence;
  State("moved");
  EXPECT_EQ(Open()->Restart("").code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Open()->Restart("moved to the new machine").ok());
  auto read = Open()->Read();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->sequence, sequence + 1);
  ASSERT_EQ(read->ledger.restarts.size(), 1u);
  EXPECT_EQ(read->ledger.restarts[0].reason, "moved to the new machine");
  EXPECT_EQ(Granted(*Open(), "ann"), 4) << "moving is no new budget";
  // Lost for good: the counts are gone, and the journal still says that there were some.
  fs::remove(path_);
  ASSERT_TRUE(Open()->Restart("the disk died").ok());
  read = Open()->Read();
  EXPECT_EQ(read->restarts, 2u);
  EXPECT_GT(read->sequence, sequence + 4);
  EXPECT_EQ(Granted(*Open(), "ann"), 10);
  // Damaged: up to there.
  const std::string whole = Slurp();
  Spill(whole.substr(0, whole.size() - 300));
  ASSERT_TRUE(Open()->Restart("cut").ok());
  EXPECT_EQ(Granted(*Open(), "ann"), 2);
  size_t kept = 0;
  for (const auto& file : fs::directory_iterator(temporary_.path())) {
    kept += file.path().filename().string().starts_with("key.journal.before-");
  }
  EXPECT_EQ(kept, 2u) << "the old ones are still there to be looked at";
}

// A clock that was wrong by years for a while: buckets are filled once, and stop for a day.
TEST_F(QueryJournalTest, AClockThatJumpsStopsLimitsForADayAtMost) {
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
  now_ += 40000 * kDay;
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
  now_ -= 40000 * kDay;
  now_ += kDay;
  EXPECT_EQ(Granted(*Open(), "ann", true), 0);
  const absl::Status refused = Open()->Charge(Of("ann", true));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("again from 1970-01-13T19:46:40Z"));
  now_ += kDay / 4;
  EXPECT_EQ(Granted(*Open(), "ann", true), 1);
  now_ += kDay;
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
}

// Turned to and fro, it fills no more than the farthest that it says, and stops as long.
TEST_F(QueryJournalTest, AClockThatIsTurnedToAndFroFillsBucketsOnce) {
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
  int granted = 0;
  for (int i = 0; i < 20; ++i) {
    now_ += (1 + i % 3) * kDay;
    granted += Granted(*Open(), "ann", true);
    now_ -= (1 + i % 3) * kDay;
    granted += Granted(*Open(), "ann", true);
  }
  EXPECT_EQ(granted, 3 * 4);
  now_ += 3 * kDay;
  EXPECT_EQ(Granted(*Open(), "ann", true), 0);
  now_ += kDay;
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
}

TEST_F(QueryJournalTest, RestartingTakesTheClockAsItIs) {
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
  ASSERT_TRUE(Open()->Restart("the disk died").ok());
  EXPECT_EQ(Granted(*Open(), "ann", true), 0) << "which fills nothing by itself";
  now_ += kDay;
  EXPECT_EQ(Granted(*Open(), "ann", true), 4);
}

TEST_F(QueryJournalTest, ARenewedKeyTakesTheCountsAndTheOldOneIsRevoked) {
  const auto old = Open();
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(old->Charge(Of("ann")).ok());
  const std::string before = Slurp(), copy = temporary_ / "copy.journal";
  fs::copy(path_, copy);
  const auto heir_master = *NewTagKey();
  const auto heir = [&] { return *JournalKeys::FromMaster({3}, heir_master); };
  const std::string next = temporary_ / "next.journal";
  ASSERT_TRUE(old->PassOn(next, heir()).ok());
  ExpectRefused(*old, "revoked");
  ExpectRefused(*Open(), "revoked");
  EXPECT_FALSE(old->SetLimits(kModel, {}, 0).ok());
  // Whatever is put back, and wherever the key lies: the anchor knows.
  EXPECT_FALSE(Open(copy)->Charge(Of("ann")).ok());
  Spill(before);
  EXPECT_FALSE(Open()->Charge(Of("ann")).ok());
  EXPECT_THAT(std::string(Open()->Restart("please").message()), HasSubstr("revoked"));
  EXPECT_THAT(std::string(Open(copy)->Restart("please").message()), HasSubstr("revoked"));
  fs::remove(path_);
  EXPECT_THAT(std::string(Open()->Restart("please").message()), HasSubstr("revoked"));

  const auto renewed = QueryJournal::OnDisk(next, heir(), {[this] { return now_; }});
  EXPECT_EQ(Granted(*renewed, "ann"), 4) << "of the ten, under another key";
  EXPECT_EQ(renewed->PassOn(next, Keys()).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(renewed->Charge(Of("bob")).ok()) << "a failed hand-over changes nothing";
}

// Noise that hides a key is for so many openings of anything; a new key begins with none.
TEST_F(QueryJournalTest, OpeningsUnderAKeyHaveAnEnd) {
  entries_per_file_ = 3;  // across a checkpoint
  const auto charge = [](QueryJournal& journal, const std::string& who, uint64_t most) {
    Opening opening = Of(who, /*decision=*/true);
    opening.most = most;
    return journal.Charge(opening);
  };
  for (const char* who : {"ann", "bob", "cyd", "dan"}) ASSERT_TRUE(charge(*Open(), who, 4).ok());
  const absl::Status refused = charge(*Open(), "eve", 4);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("heft rekey"));
  EXPECT_TRUE(charge(*Open(), "eve", 5).ok()) << "what is refused is not counted";
  EXPECT_TRUE(charge(*Open(), "fay", 0).ok()) << "without flooding there is no such end";
  const auto heir_master = *NewTagKey();
  const auto heir = [&] { return *JournalKeys::FromMaster({3}, heir_master); };
  const std::string next = temporary_ / "next.journal";
  ASSERT_TRUE(Open()->PassOn(next, heir()).ok());
  const auto renewed = [&] {
    return QueryJournal::OnDisk(next, heir(), {[this] { return now_; }, 3});
  };
  for (const char* who : {"gus", "hal", "ida", "joe"}) {
    ASSERT_TRUE(charge(*renewed(), who, 4).ok()) << who;
  }
  EXPECT_EQ(charge(*renewed(), "kay", 4).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(QueryJournalTest, InMemoryAsOnDisk) {
  const auto journal = *QueryJournal::InMemory(BudgetLimits{.scores = 6});
  EXPECT_EQ(Granted(*journal, "ann"), 3);
  const Opening once = Of("bob");
  ASSERT_TRUE(journal->Charge(once).ok());
  EXPECT_FALSE(journal->Charge(once).ok());
  EXPECT_FALSE(journal->Restart("why").ok());
}

TEST(JournalKeysTest, AreOfOneSecret) {
  const auto one = JournalKeys::Random({1}), two = JournalKeys::Random({1});
  const uint8_t text[] = {1, 2, 3};
  EXPECT_NE(one->Mac({text}), two->Mac({text}));
  EXPECT_NE(one->fingerprint(), two->fingerprint());
  const auto secret = *NewTagKey();
  const auto sealed = one->Seal(secret);
  EXPECT_TRUE(one->Open(sealed).ok());
  EXPECT_FALSE(two->Open(sealed).ok());
}

}  // namespace
}  // namespace heft
