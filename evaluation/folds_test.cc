// SPDX-License-Identifier: Apache-2.0
#include "evaluation/folds.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "features/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

// 30 identities of 4 samples in one modality.
Dataset Plain() {
  Random random(3);
  Dataset data;
  FeatureMatrix features(120, 6);
  double centre[6];
  for (int row = 0; row < 120; ++row) {
    if (row % 4 == 0) {
      for (double& value : centre) value = random.Normal();
    }
    for (int i = 0; i < 6; ++i) features(row, i) = centre[i] + 0.6 * random.Normal();
    data.labels.push_back(absl::StrCat("person", row / 4));
  }
  data.modalities.push_back({"face", features});
  data.split.assign(120, Split::kTrain);
  return data;
}

LabelledScores TestScores(const Dataset& data, double noise) {
  const Dataset test = SelectRows(data, RowsOf(data.split, Split::kTest));
  Random random(7);
  FeatureMatrix x = test.modalities[0].features;
  for (Eigen::Index i = 0; i < x.size(); ++i) x.data()[i] += noise * random.Normal();
  x.rowwise().normalize();
  return {x * x.transpose(), IdentityNumbers(test.labels)};
}

TEST(Folds, TestEveryIdentityOnce) {
  const Dataset data = Plain();
  std::multiset<std::string> tested;
  int next = 0;
  ASSERT_TRUE(ForEachFold(data, 5, 2, [&](int fold, const Dataset& of_fold) {
                EXPECT_EQ(fold, next++);
                EXPECT_TRUE(CheckDataset(of_fold).ok());
                for (int row : RowsOf(of_fold.split, Split::kTest)) {
                  tested.insert(of_fold.labels[row]);
                }
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(next, 5);
  EXPECT_EQ(tested, std::multiset<std::string>(data.labels.begin(), data.labels.end()));
  EXPECT_FALSE(ForEachFold(data, 2, 1, [](int, const Dataset&) { return absl::OkStatus(); }).ok());
  next = 0;
  const absl::Status stopped = ForEachFold(data, 5, 1, [&](int, const Dataset&) {
    return ++next == 2 ? absl::CancelledError("enough") : absl::OkStatus();
  });
  EXPECT_EQ(stopped.message(), "enough");
  EXPECT_EQ(next, 2);
}

TEST(Folds, TableAgreesWithTheBootstrapOfEachSystem) {
  FoldTable table;
  std::vector<LabelledScores> good, bad;
  ASSERT_TRUE(ForEachFold(Plain(), 5, 1, [&](int, const Dataset& data) {
                good.push_back(TestScores(data, 0));
                bad.push_back(TestScores(data, 0.5));
                table.Add({"good", "Good", 6}, good.back());
                table.Add({"bad", "Bad", 6}, bad.back());
                return absl::OkStatus();
              }).ok());
  const auto compared = table.Compare();
  ASSERT_TRUE(compared.ok()) << compared.status();
  ASSERT_EQ(compared->rows.size(), 2u);
  EXPECT_EQ(compared->Find("bad"), 1);
  EXPECT_EQ(compared->Find("ugly"), -1);
  const VerificationEstimate& first = compared->rows[0].estimate;
  EXPECT_EQ(first.auroc_by_set.size(), 5u);
  SystemComparison apart;
  const auto alone = apart.Add(good);
  ASSERT_TRUE(alone.ok() && apart.Add(bad).ok());
  EXPECT_EQ(first.auroc.lo, alone->auroc.lo);
  EXPECT_GT(first.auroc_spread, 0);

  const Estimate gain = compared->differences[0][1];
  EXPECT_EQ(gain.value, apart.Difference(0, 1).value);
  EXPECT_EQ(gain.lo, apart.Difference(0, 1).lo);
  EXPECT_EQ(gain.hi, apart.Difference(0, 1).hi);
  EXPECT_GT(gain.lo, 0) << "much noise is worse, whoever is sampled";
  EXPECT_DOUBLE_EQ(compared->differences[1][0].value, -gain.value);
  EXPECT_EQ(compared->fnmr_differences[1][0].hi, apart.FnmrDifference(1, 0).hi);
  EXPECT_EQ(compared->differences[1][1].hi, 0);
}

TEST(Folds, TableRefusesWhatCannotBeCompared) {
  const Dataset data = Plain();
  FoldTable table, other;
  int stop = 0;
  ASSERT_TRUE(ForEachFold(data, 5, 1, [&](int fold, const Dataset& of_fold) {
                table.Add({"one", "One", 6}, TestScores(of_fold, 0));
                if (fold > 0) table.Add({"late", "Late", 6}, TestScores(of_fold, 0));
                other.Add({"one", "One", 6}, TestScores(of_fold, 0));
                LabelledScores relabelled = TestScores(of_fold, 0);
                for (int& identity : relabelled.identities) identity /= 2;
                other.Add({"relabelled", "Relabelled", 6}, relabelled);
                return absl::OkStatus();
              }).ok());
  EXPECT_THAT(std::string(table.Compare().status().message()), HasSubstr("in 4 folds"));
  EXPECT_THAT(std::string(other.Compare().status().message()), HasSubstr("same sets"));
  EXPECT_EQ(table.Compare({}, [&](std::size_t, std::size_t) { return ++stop < 1; }).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace heft
