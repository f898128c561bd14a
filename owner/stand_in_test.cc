// SPDX-License-Identifier: Apache-2.0
// Verification of an identity that is not enrolled: the reply looks like any other, and no
// threshold accepts its score.
#include "matcher/stand_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "base/threads.h"
#include "fusion/stand_in.h"
#include "gallery/change.h"
#include "owner/testing.h"

namespace heft {
namespace {

using testing::Code;
using testing::EnrolDirectly;

class StandInTest : public testing::GalleryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        EnrolDirectly(*server_, directory_, Set({1, 2, 3, 4}, {"ann", "bob", "ann", "cyd"})).ok());
  }
  EncryptedScores Verify(const std::string& identity, uint64_t seed = 2) const {
    const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
    auto reply = server_->Verify(gallery, Set({seed}, {"probe"}), identity, {});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return *std::move(reply);
  }
  std::vector<uint8_t> Bytes(const EncryptedScores& reply) const {
    return SerializeScores(*instance_->context, reply);
  }
  double Score(const std::string& identity, uint64_t seed) const {
    auto opened = Owner().Open(Bytes(Verify(identity, seed)), "scores");
    EXPECT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->candidates.size(), 1u);
    return opened->candidates[0].score;
  }
};

// Where a reply's answers stand.
std::set<std::pair<uint32_t, uint32_t>> Places(const EncryptedScores& reply) {
  std::set<std::pair<uint32_t, uint32_t>> places;
  for (const ScoreReply& part : reply.replies) {
    for (const ScoreReply::Answer& answer : part.answers) places.insert({answer.slot, answer.lane});
  }
  return places;
}

TEST_F(StandInTest, ARepliesFormIsThatOfSomebodyEnrolled) {
  std::set<std::set<std::pair<uint32_t, uint32_t>>> enrolled;
  std::set<size_t> sizes;
  for (const char* identity : {"ann", "bob", "cyd"}) {
    const EncryptedScores reply = Verify(identity);
    enrolled.insert(Places(reply));
    sizes.insert(Bytes(reply).size());
  }
  std::set<std::set<std::pair<uint32_t, uint32_t>>> borrowed;
  for (int i = 10; i < 40; ++i) {
    const EncryptedScores reply = Verify("u" + std::to_string(i));
    EXPECT_TRUE(enrolled.contains(Places(reply)));
    EXPECT_TRUE(sizes.contains(Bytes(reply).size()));
    EXPECT_EQ(Places(reply), Places(Verify("u" + std::to_string(i)))) << "the same each time";
    borrowed.insert(Places(reply));
    for (const ScoreReply& part : reply.replies) {
      ASSERT_EQ(part.scores.size(), 2u);
      // No part is what a ciphertext of nothing has: zero, or alike in two replies.
      for (const ring::RnsPoly& poly : part.scores.parts) {
        const auto values = poly.values();
        EXPECT_GT(std::set<uint32_t>(values.begin(), values.end()).size(), values.size() * 9 / 10);
      }
    }
  }
  EXPECT_EQ(borrowed.size(), enrolled.size());
}

TEST_F(StandInTest, ScoresAreNoiseBelowAnyThreshold) {
  double squares = 0;
  std::set<double> distinct;
  constexpr int kProbes = 24;
  for (int i = 0; i < kProbes; ++i) {
    const double score = Score("eve", 100 + i);
    EXPECT_LT(std::abs(score), kStandInLength + 2e-3);
    squares += score * score;
    distinct.insert(score);
  }
  // As of a random direction: rms 0.25 / sqrt(16), within a factor of two and a bit.
  EXPECT_GT(std::sqrt(squares / kProbes), 0.028);
  EXPECT_LT(std::sqrt(squares / kProbes), 0.125);
  EXPECT_GT(distinct.size(), kProbes / 2u);
  // As of a template: the same probe has the same score again, another identity another one.
  EXPECT_NEAR(Score("eve", 7), Score("eve", 7), 3e-3);
  std::set<double> others;
  for (const char* name : {"eve", "mal", "joe", "kim", "lea", "zoe"}) others.insert(Score(name, 7));
  EXPECT_GT(others.size(), 3u);
  auto decision = Owner().Decide(Bytes(Verify("eve")), "scores", 0.26);
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->accepted);
}

TEST_F(StandInTest, StaysWhenOthersAreEnrolled) {
  std::vector<std::set<std::pair<uint32_t, uint32_t>>> before;
  for (int i = 0; i < 20; ++i) before.push_back(Places(Verify("u" + std::to_string(i))));
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({5}, {"dan"})).ok());
  int moved = 0;
  for (int i = 0; i < 20; ++i)
    moved += Places(Verify("u" + std::to_string(i))) != before[i] ? 1 : 0;
  EXPECT_LE(moved, 14) << "4 are expected of 20";
}

// A verification reads the run of the person and the one whose places a stand-in would borrow. An
// unknown identity is refused where it would borrow damaged records, as a known one is by its own,
// and gets no other places: an audit would find them wrong.
TEST_F(StandInTest, ADamagedRunStopsNoVerificationOfOthers) {
  std::vector<uint64_t> seeds(2 * kRunPlaces - 4);
  std::iota(seeds.begin(), seeds.end(), 100);
  std::vector<std::string> names;
  for (const uint64_t seed : seeds) names.push_back("p" + std::to_string(seed));
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set(seeds, names)).ok());
  // As after a fold, which leaves no entry that its block would look for in the roster.
  {
    auto change = GalleryChange::Begin(*server_->OpenGallery(directory_, false), /*start=*/false);
    ASSERT_TRUE(change.ok()) << change.status();
    ASSERT_TRUE(change->Fold(server_->instance(), server_->keys()).ok());
    ASSERT_TRUE(change->Commit().ok());
  }
  const auto unknown = [](int i) { return "u" + std::to_string(i); };
  constexpr int kUnknown = 20;
  std::vector<std::set<std::pair<uint32_t, uint32_t>>> before;
  for (int i = 0; i < kUnknown; ++i) before.push_back(Places(Verify(unknown(i))));

  const uint32_t number = (*server_->OpenGallery(directory_, false)).number();
  const auto store = *OpenStore(directory_, StoreMode::kWrite);
  const auto lock = *store->Lock(absl::Seconds(1));
  const auto writer = *store->Write(*lock);
  for (const bool copy : {false, true}) {
    StoreKey key = RunKey(number, 0);
    if (copy) key.insert(key.begin(), 0xFF);
    const auto value = *writer->Get(Table::kRoster, key);
    ASSERT_TRUE(value);
    ASSERT_TRUE(writer->Put(Table::kRoster, key, value->first(value->size() - 1)).ok());
  }
  ASSERT_TRUE(writer->Commit().ok());

  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const SampleSet probe = Set({2}, {"probe"});
  const absl::Status ann = server_->Verify(gallery, probe, "ann", {}).status();
  EXPECT_EQ(ann.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(IsOfStore(ann)) << "it is not the caller's error";
  EXPECT_TRUE(server_->Verify(gallery, probe, names.back(), {}).ok());
  int refused = 0;
  for (int i = 0; i < kUnknown; ++i) {
    const auto reply = server_->Verify(gallery, probe, unknown(i), {});
    if (reply.ok()) {
      EXPECT_EQ(Places(*reply), before[i]);
    } else {
      EXPECT_EQ(reply.status(), ann);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0) << "half of the places are damaged";
  EXPECT_LT(refused, kUnknown);
}

TEST_F(StandInTest, TheKeyIsMadeOnceAndIsTheServersOwn) {
  std::vector<Seed> keys(8);
  ParallelFor(keys.size(), [&](size_t i) { keys[i] = *StandInKey(directory_); });
  for (const Seed& key : keys) EXPECT_EQ(key, keys[0]);
  const std::string path = directory_ + "/stand-in.key";
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // It survives what changes a gallery, and damage is noticed.
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({5}, {"dan"})).ok());
  EXPECT_EQ(*StandInKey(directory_), keys[0]);
  std::vector<uint8_t> bytes = *ReadFile(path);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomic(path, bytes, 0600).ok());
  EXPECT_EQ(Code(StandInKey(directory_)), absl::StatusCode::kDataLoss);
}

TEST_F(StandInTest, WhatNobodyCanBeCalledIsRefused) {
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string(256, 'x')}) {
    EXPECT_EQ(Code(server_->Verify(gallery, Set({2}, {"probe"}), name, {})),
              absl::StatusCode::kInvalidArgument);
  }
  const Gallery::Impl empty = Gallery::Impl::New(directory_ + "2", server_->binding());
  EXPECT_EQ(Code(server_->Verify(empty, Set({2}, {"probe"}), "ann", {})),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft
