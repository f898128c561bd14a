// SPDX-License-Identifier: Apache-2.0
#include "gallery/owner/query_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "base/files.h"
#include "base/testing.h"
#include "fusion/testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

constexpr ckks::ParamsId kParams = {1};
constexpr ckks::KeyId kKey = {2}, kNext = {3};
constexpr ModelId kModel = {4}, kOther = {5};

class QueryBudgetTest : public ::testing::Test {
 protected:
  std::unique_ptr<QueryBudget> Open() const {
    auto budget = QueryBudget::Open(path_, kParams, kKey);
    EXPECT_TRUE(budget.ok()) << budget.status();
    return std::move(*budget);
  }
  // How many queries are granted before the first refusal.
  static int Granted(QueryBudget& budget, const ModelId& model, const std::string& claimed) {
    int granted = 0;
    absl::Status status;
    while ((status = budget.Charge(model, claimed)).ok()) ++granted;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("heft budget --set"));
    return granted;
  }
  const testing::TemporaryFolder temporary_;
  const std::string path_ = temporary_ / "key.budget";
};

TEST_F(QueryBudgetTest, TheDefaultStaysBelowWhatRecoversATemplate) {
  EXPECT_LT(kDefaultQueryBudget, 50u);
  QueryBudget budget;
  EXPECT_EQ(Granted(budget, kModel, ""), 49);
  EXPECT_EQ(Granted(budget, kModel, "ann"), 0);
  EXPECT_EQ(Granted(budget, kOther, "ann"), 49) << "another gallery has a budget of its own";
}

// The attack of Bassit et al. in its plainest form, without noise: the guess that has the scores
// seen and is shortest otherwise. Their 50 to 192 scores of 512 dimensions stand for cosines of
// 0.31 to 0.61.
TEST_F(QueryBudgetTest, WhatScoresGiveAwayOfATemplate) {
  EXPECT_NEAR(ReconstructionCosine(50, 512), 0.31, 0.005);
  EXPECT_NEAR(ReconstructionCosine(192, 512), 0.61, 0.005);
  EXPECT_EQ(ReconstructionCosine(49, 32), 1);
  constexpr uint32_t kGamma = 32;
  std::mt19937_64 rng(5);
  for (const size_t scores : {3, 8, 20, 32}) {
    double mean_square = 0;
    constexpr int kTrials = 200;
    for (int trial = 0; trial < kTrials; ++trial) {
      const std::vector<double> target = testing::RandomUnit(kGamma, rng);
      // The probes, made orthogonal: each keeps the part of the target that it shows.
      std::vector<std::vector<double>> basis;
      double shown = 0;
      while (basis.size() < scores) {
        std::vector<double> probe = testing::RandomUnit(kGamma, rng);
        for (const std::vector<double>& b : basis) {
          const double along = testing::Dot(probe, b);
          for (size_t i = 0; i < kGamma; ++i) probe[i] -= along * b[i];
        }
        const double length = std::sqrt(testing::Dot(probe, probe));
        for (double& v : probe) v /= length;
        shown += std::pow(testing::Dot(target, probe), 2);
        basis.push_back(std::move(probe));
      }
      mean_square += shown / kTrials;
    }
    EXPECT_NEAR(std::sqrt(mean_square), ReconstructionCosine(scores, kGamma), 0.03) << scores;
  }
}

TEST_F(QueryBudgetTest, CountsTheScoresOfOneIdentity) {
  QueryBudget budget(10);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(budget.Charge(kModel, "").ok());
  EXPECT_EQ(Granted(budget, kModel, "ann"), 7);
  EXPECT_EQ(Granted(budget, kModel, "bob"), 7);
  // An identification would be an eleventh score of both.
  EXPECT_EQ(Granted(budget, kModel, ""), 0);
  EXPECT_EQ(budget.Read()->galleries.at(kModel).Used(), 10u);
}

TEST_F(QueryBudgetTest, TheRecordOutlivesTheProcess) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Open()->Charge(kModel, "").ok());
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(Granted(*Open(), kModel, ""), 44);
  EXPECT_EQ(Granted(*Open(), kModel, ""), 0) << "a refusal stays one";
  ASSERT_TRUE(Open()->SetLimit(kModel, 60).ok());
  EXPECT_EQ(Granted(*Open(), kModel, ""), 11);
}

TEST_F(QueryBudgetTest, ProcessesShareOneBudget) {
  constexpr int kProcesses = 4;
  int granted = 0;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(Granted(*Open(), kModel, "ann"));
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    granted += WEXITSTATUS(status);
  }
  EXPECT_EQ(granted, 49);
}

TEST_F(QueryBudgetTest, NothingIsGrantedThatCannotBeRecorded) {
  auto budget = Open();
  EXPECT_FALSE(FileExists(path_)) << "no change, no file";
  ASSERT_TRUE(budget->Charge(kModel, "").ok());
  std::filesystem::remove(path_);
  EXPECT_EQ(budget->Charge(kModel, "").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Open()->Charge(kModel, "").ok());
  std::string bytes = *ReadTextFile(path_);
  bytes[30] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(path_, bytes, 0600).ok());
  EXPECT_EQ(budget->Charge(kModel, "").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(QueryBudget::Open(path_, kParams, kKey).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(QueryBudgetTest, AnotherKeysRecordIsRefused) {
  ASSERT_TRUE(Open()->Charge(kModel, "").ok());
  EXPECT_EQ(QueryBudget::Open(path_, kParams, kNext).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(QueryBudgetTest, ARenewedKeyTakesTheCountsAndTheOldOneIsRevoked) {
  auto old = Open();
  ASSERT_TRUE(old->SetLimit(kModel, 20).ok());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(old->Charge(kModel, "ann").ok());
  ASSERT_TRUE(old->PassOn(path_ + ".next", kNext).ok());
  EXPECT_EQ(old->Charge(kModel, "ann").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Open()->Charge(kOther, "").message()), HasSubstr("revoked"));
  EXPECT_EQ(old->SetLimit(kModel, 99).code(), absl::StatusCode::kFailedPrecondition);
  auto next = QueryBudget::Open(path_ + ".next", kParams, kNext);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Granted(**next, kModel, "ann"), 14);
  // Once only, and never over a record that is there.
  EXPECT_FALSE(old->PassOn(path_ + ".other", kNext).ok());
  EXPECT_EQ((*next)->PassOn(path_, kKey).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE((*next)->Charge(kOther, "").ok()) << "a failed hand-over changes nothing";
}

TEST_F(QueryBudgetTest, RecordsRoundTripAndNoticeDamage) {
  BudgetRecord record;
  record.params_id = kParams;
  record.key_id = kKey;
  record.successor = kNext;
  record.galleries[kModel].limit = 7;
  record.galleries[kModel].identifications = 3;
  record.galleries[kModel].verifications[{9}] = 2;
  record.galleries[kOther];
  const std::vector<uint8_t> bytes = record.Serialize();
  auto back = BudgetRecord::Parse(bytes, "budget");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->Serialize(), bytes);
  EXPECT_EQ(back->galleries.at(kModel).Used(), 5u);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[i] ^= 0x20;
    EXPECT_FALSE(BudgetRecord::Parse(damaged, "budget").ok()) << i;
    damaged.resize(i);
    EXPECT_FALSE(BudgetRecord::Parse(damaged, "budget").ok()) << i;
  }
}

}  // namespace
}  // namespace heft
