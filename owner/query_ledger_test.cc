// SPDX-License-Identifier: Apache-2.0
#include "owner/query_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fusion/testing.h"
#include "owner/budget_use.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

constexpr ModelId kLedgerModel = {4};
constexpr ClientId kNobody = {}, kShop = {1}, kBank = {2}, kDoor = {3};
constexpr IdentityTag kAnn = {7}, kBob = {8};
constexpr uint64_t kLedgerDay = 86400;

class QueryLedgerTest : public ::testing::Test {
 protected:
  QueryLedgerTest() { Limit({.scores = 10, .decisions = 8, .client_bits = 200}); }
  void Limit(const BudgetLimits& limits) {
    Entry entry = At(0);
    entry.act = Entry::Act::kLimits;
    entry.limits = limits;
    EXPECT_TRUE(ledger_.Apply(entry, "limits").ok());
  }
  static Entry At(uint64_t time) {
    Entry entry;
    entry.time = time;
    entry.model = kLedgerModel;
    return entry;
  }
  Entry Verification(const ClientId& client, const IdentityTag& claimed, bool decision,
                     uint64_t time = 0) {
    Entry entry = At(time);
    entry.client = client;
    entry.verification = true;
    entry.decision = decision;
    entry.slots = 1;
    entry.identities = {claimed};
    entry.reply = {static_cast<uint8_t>(++replies_), static_cast<uint8_t>(replies_ >> 8)};
    return entry;
  }
  // How many of them are granted before the first refusal, which is kept. A decision accepts.
  int Granted(const ClientId& client, const IdentityTag& claimed, bool decision,
              uint64_t time = 0) {
    for (int granted = 0;; ++granted) {
      const Entry entry = Verification(client, claimed, decision, time);
      refusal_ = ledger_.Check(entry, "ann");
      if (!refusal_.ok()) return granted;
      EXPECT_TRUE(ledger_.Apply(entry, "entry").ok());
      if (decision) Accept(entry);
    }
  }
  void Accept(Entry opening) {
    opening.act = Entry::Act::kPublished;
    opening.claimed = true;
    EXPECT_TRUE(ledger_.Apply(opening, "entry").ok());
  }
  // How many claims are granted that are all rejected.
  int Rejected(const ClientId& client, const IdentityTag& claimed, uint64_t time = 0) {
    for (int granted = 0;; ++granted) {
      const Entry entry = Verification(client, claimed, true, time);
      refusal_ = ledger_.Check(entry, "ann");
      if (!refusal_.ok()) return granted;
      EXPECT_TRUE(ledger_.Apply(entry, "entry").ok());
    }
  }
  std::string Refusal() const {
    EXPECT_EQ(refusal_.code(), absl::StatusCode::kResourceExhausted);
    return std::string(refusal_.message());
  }

  QueryLedger ledger_;
  int replies_ = 0;
  absl::Status refusal_;
};

TEST(BucketTest, FillsUpWithinADayAndNotBackwards) {
  Bucket bucket;
  EXPECT_EQ(bucket.ReadyAt(1000, 10, 10), 1000u);
  EXPECT_EQ(bucket.ReadyAt(1000, 10, 11), std::nullopt) << "more than it holds";
  bucket.Take(1000, 10, 10);
  EXPECT_EQ(bucket.Spent(1000, 10), 10000u);
  EXPECT_EQ(bucket.ReadyAt(1000, 10, 1), 1000 + kLedgerDay / 10);
  EXPECT_EQ(bucket.ReadyAt(1000, 10, 10), 1000 + kLedgerDay);
  EXPECT_EQ(bucket.Spent(1000 + kLedgerDay / 2, 10), 5000u);
  EXPECT_EQ(bucket.Spent(0, 10), 10000u) << "a clock that is set back fills nothing";
  bucket.Take(0, 10, 0);
  EXPECT_EQ(bucket.time, 1000u) << "nor afterwards";
  EXPECT_EQ(bucket.Spent(1000 + 100 * kLedgerDay, 10), 0u) << "no more than it holds";
  // The time that it gives is right to the second.
  for (const uint64_t size : {1, 3, 7, 32, 4001}) {
    Bucket b;
    b.Take(5, size, size);
    for (uint64_t tokens = 1; tokens <= size; tokens += 1 + size / 5) {
      const uint64_t at = *b.ReadyAt(5, size, tokens);
      EXPECT_EQ(b.ReadyAt(at, size, tokens), at) << size << " " << tokens;
      EXPECT_GT(*b.ReadyAt(at - 1, size, tokens), at - 1) << size << " " << tokens;
    }
  }
  EXPECT_EQ(bucket.ReadyAt(0, 0, 1), std::nullopt);
}

TEST_F(QueryLedgerTest, ScoresAreForGoodAndOneClientGetsHalf) {
  EXPECT_EQ(Granted(kShop, kAnn, false), 5);
  EXPECT_THAT(Refusal(), HasSubstr("one client may get 5"));
  EXPECT_THAT(Refusal(), HasSubstr("without --scores"));
  EXPECT_EQ(Granted(kBank, kAnn, false), 5) << "the shop has not used up the bank's";
  EXPECT_EQ(Granted(kDoor, kAnn, false), 0);
  EXPECT_THAT(Refusal(), HasSubstr("\"ann\" has given 10 scores"));
  EXPECT_EQ(Granted(kShop, kBob, false), 5) << "of everybody else as before";
  EXPECT_EQ(Granted(kDoor, kAnn, false, 1000 * kLedgerDay), 0) << "what is known is not forgotten";
  EXPECT_GT(Granted(kDoor, kAnn, true), 0) << "decisions go on";
}

TEST_F(QueryLedgerTest, DecisionsComeBackAndOneClientGetsHalf) {
  EXPECT_EQ(Granted(kShop, kAnn, true), 4);
  EXPECT_THAT(Refusal(), HasSubstr("again from 1970-01-01T06:00:00Z"));
  EXPECT_EQ(Granted(kBank, kAnn, true), 4);
  EXPECT_EQ(Granted(kDoor, kAnn, true), 0);
  EXPECT_EQ(Granted(kShop, kBob, true), 4);
  EXPECT_EQ(Granted(kShop, kAnn, true, kLedgerDay / 4), 1);
  EXPECT_EQ(Granted(kShop, kAnn, true, kLedgerDay / 4 - 1), 0) << "the clock set back";
  EXPECT_EQ(Granted(kShop, kAnn, true, 2 * kLedgerDay), 4);
  EXPECT_EQ(ledger_.models.at(kLedgerModel).identities.at(kAnn).decisions, 13u);
}

TEST_F(QueryLedgerTest, AClientHasABucketOfItsOwn) {
  Limit({.scores = 1000, .decisions = 10000, .client_bits = 2000});
  EXPECT_EQ(Granted(kNobody, kAnn, false), 20) << "ten bits a score, of a tenth of all";
  EXPECT_THAT(Refusal(), HasSubstr("this client (not listed) has been told what it may"));
  EXPECT_EQ(Granted(kNobody, kBob, true), 0) << "of nobody";
  EXPECT_EQ(Granted(kShop, kBob, true), 2000) << "one bit a decision";
  EXPECT_THAT(Refusal(), HasSubstr("this client (0100000000000000) has been told"));
  EXPECT_EQ(Granted(kNobody, kBob, false, kLedgerDay / 2), 10);
  // An identification reserves the slots that it may publish.
  Entry search = At(2 * kLedgerDay);
  search.slots = 21;
  EXPECT_EQ(ledger_.Check(search, "").code(), absl::StatusCode::kResourceExhausted);
  search.slots = 20;
  ASSERT_TRUE(ledger_.Check(search, "").ok());
  ASSERT_TRUE(ledger_.Apply(search, "entry").ok());
  EXPECT_EQ(Granted(kNobody, kBob, true, 2 * kLedgerDay), 0);
  search.act = Entry::Act::kPublished;
  search.identities = {kAnn, kBob};
  ASSERT_TRUE(ledger_.Apply(search, "entry").ok());
  EXPECT_EQ(ledger_.models.at(kLedgerModel).clients.at(kNobody).slots, 32u) << "two of them were";
  EXPECT_EQ(Granted(kNobody, kAnn, true, 2 * kLedgerDay), 180);
}

TEST_F(QueryLedgerTest, RejectionsAreOfOneClientAndOnePerson) {
  Limit({.scores = 10, .decisions = 8, .client_bits = 1000, .rejections = 3});
  EXPECT_EQ(Rejected(kShop, kAnn), 3);
  EXPECT_EQ(Refusal(),
            "this client (0100000000000000) was rejected 3 times about \"ann\"; it may ask again "
            "from 1970-01-06T08:00:00Z. Other clients are not affected (heft budget "
            "--set rejections=N)");
  EXPECT_EQ(Granted(kShop, kAnn, true), 0) << "and is not accepted either";
  EXPECT_EQ(Rejected(kShop, kBob), 3);
  EXPECT_EQ(Rejected(kBank, kAnn), 3);
  EXPECT_EQ(Granted(kDoor, kAnn, true), 4) << "what others do costs the person nothing";
  EXPECT_TRUE(ledger_.models.at(kLedgerModel).identities.contains(kAnn));
  EXPECT_FALSE(ledger_.models.at(kLedgerModel).identities.contains(kBob))
      << "who was never accepted";
  // In sixteen days all of them come back.
  EXPECT_EQ(Rejected(kShop, kAnn, 16 * kLedgerDay / 3 - 1), 0);
  for (int day = 1; day <= 16; ++day) {
    ledger_.reckoning = ledger_.reckoning.At(16 * kLedgerDay / 3 + day * kLedgerDay);
  }
  EXPECT_EQ(Rejected(kShop, kAnn, 16 * kLedgerDay / 3 + 16 * kLedgerDay), 3);
  Limit({.scores = 10, .decisions = 8, .client_bits = 1000, .rejections = 0});
  EXPECT_EQ(Rejected(kDoor, kBob, 30 * kLedgerDay), 0);
  EXPECT_THAT(Refusal(), HasSubstr("may never ask as it is set"));
}

// Who is not published is not charged; people enrolled later least of all.
TEST_F(QueryLedgerTest, WhatIsPublishedIsCounted) {
  Limit({.scores = 10, .decisions = 8, .client_bits = 1 << 20});
  for (int i = 0; i < 49; ++i) {
    Entry search = At(0);
    search.slots = 10;
    search.reply = {0, 0, static_cast<uint8_t>(i + 1)};
    ASSERT_TRUE(ledger_.Check(search, "").ok()) << i;
    ASSERT_TRUE(ledger_.Apply(search, "entry").ok());
    search.act = Entry::Act::kPublished;
    if (!ledger_.CheckIdentity(search, kAnn, "").ok()) continue;
    search.identities = {kAnn};
    ASSERT_TRUE(ledger_.Apply(search, "entry").ok());
  }
  EXPECT_EQ(ledger_.models.at(kLedgerModel).identities.at(kAnn).scores, 5u) << "one client's half";
  EXPECT_EQ(Granted(kNobody, kBob, false), 5);
  EXPECT_EQ(Granted(kNobody, kAnn, true), 4);
  EXPECT_EQ(Granted(kShop, kAnn, false), 5);
}

TEST_F(QueryLedgerTest, AReplyIsOpenedOnce) {
  Entry entry = Verification(kShop, kAnn, true, 1000000000);
  ASSERT_TRUE(ledger_.Apply(entry, "entry").ok());
  entry.decision = false;  // for its scores, and by somebody else
  entry.client = kBank;
  const absl::Status again = ledger_.Check(entry, "ann");
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.message()), HasSubstr("opened before, at 2001-09-09T01:46:40Z"));
}

TEST_F(QueryLedgerTest, ARevokedKeyIsAskedForNothing) {
  Entry entry = At(5);
  entry.act = Entry::Act::kRevocation;
  entry.successor = {9};
  ASSERT_TRUE(ledger_.Apply(entry, "entry").ok());
  EXPECT_EQ(ledger_.Check(Verification(kShop, kAnn, true), "ann").code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(QueryLedgerTest, ProofsOfNormsEndWithTheKey) {
  Entry entry = At(5);
  entry.act = Entry::Act::kProofs;
  entry.proofs = 7;
  ASSERT_TRUE(ledger_.Apply(*Entry::Parse(entry.Serialize(), "entry"), "entry").ok());
  EXPECT_TRUE(ledger_.CheckProofs(3, 10).ok());
  EXPECT_TRUE(ledger_.CheckProofs(~uint64_t{0}, 0).ok()) << "without a limit";
  for (const uint64_t count : {uint64_t{4}, uint64_t{11}, ~uint64_t{0}}) {
    const absl::Status refused = ledger_.CheckProofs(count, 10);
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << count;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("heft rekey"));
  }
  EXPECT_EQ(QueryLedger::Parse(ledger_.Serialize(), "ledger")->proofs, 7u);
  EXPECT_EQ(ledger_.ForSuccessor().proofs, 0u) << "the next key has noise of its own";
}

TEST_F(QueryLedgerTest, LedgersAndEntriesRoundTrip) {
  Granted(kShop, kAnn, false);
  Granted(kBank, kBob, true, kLedgerDay);
  Rejected(kDoor, kBob, kLedgerDay);
  ledger_.restarts.push_back({77, "disk lost"});
  ledger_.successor = {3};
  ledger_.reckoning.skips = {{7, 8}};
  ledger_.states[{4}] = {{4}, 5, {6}};
  ledger_.told = 9;
  ledger_.proofs = 10;
  const std::vector<uint8_t> bytes = ledger_.Serialize();
  const auto back = QueryLedger::Parse(bytes, "ledger");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->Serialize(), bytes);
  EXPECT_EQ(back->restarts.at(0).reason, "disk lost");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(QueryLedger::Parse(ByteSpan(bytes).first(size), "ledger").ok()) << size;
  }
  Entry entry = Verification(kShop, kAnn, true, 5);
  entry.claimed = true;
  entry.text = "why";
  entry.state = bytes;
  const std::vector<uint8_t> line = entry.Serialize();
  const auto read = Entry::Parse(line, "entry");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Serialize(), line);
  for (size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(Entry::Parse(ByteSpan(line).first(size), "entry").ok()) << size;
  }
}

TEST_F(QueryLedgerTest, RepliesAreRememberedUpToANumber) {
  Entry entry = At(0);
  for (uint32_t i = 0; i < kMaxReplies + kMaxReplies / 4; ++i) {
    std::copy_n(reinterpret_cast<const uint8_t*>(&i), 4, entry.reply.begin());
    ASSERT_TRUE(ledger_.Apply(entry, "entry").ok());
  }
  EXPECT_LE(ledger_.replies.size(), kMaxReplies + kMaxReplies / 8);
  EXPECT_FALSE(ledger_.Check(entry, "").ok()) << "the last one";
  const auto back = QueryLedger::Parse(ledger_.Serialize(), "ledger");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->replies.size(), kMaxReplies);
  EXPECT_FALSE(back->Check(entry, "").ok());
}

}  // namespace
}  // namespace heft
