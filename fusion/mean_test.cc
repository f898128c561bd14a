// SPDX-License-Identifier: Apache-2.0
#include "fusion/mean.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "ckks/noise.h"
#include "fusion/errors.h"
#include "fusion/owner/testing.h"
#include "fusion/rings.h"

namespace heft {
namespace {

TEST(MeanFactorTest, BringsTheMeanToTheLengthOfOneSample) {
  Model model;
  model.sample_agreement = 0.5;
  EXPECT_EQ(MeanFactor(model, 1), 1);
  // z_i = sqrt(1/2) common + sqrt(1/2) own: of two, |sum|^2 = 4/2 + 2/2 = 3 |z|^2.
  EXPECT_NEAR(MeanFactor(model, 2), 1 / std::sqrt(3.0), 1e-12);
  // Of four: 16/2 + 4/2 = 10.
  EXPECT_NEAR(MeanFactor(model, 4), 1 / std::sqrt(10.0), 1e-12);
  model.sample_agreement = 1;
  EXPECT_NEAR(MeanFactor(model, 8), 1.0 / 8, 1e-12);
}

TEST(CheckMeanTest, RefusesWhatHasNoKnownLength) {
  Model model;
  EXPECT_TRUE(CheckMean(model, 1).ok());
  const absl::Status unknown = CheckMean(model, 2);
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(unknown.message().find("heft train"), std::string::npos) << unknown;
  model.sample_agreement = 0.6;
  EXPECT_TRUE(CheckMean(model, kMaxSamples).ok());
  EXPECT_EQ(CheckMean(model, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CheckMean(model, kMaxSamples + 1).code(), absl::StatusCode::kInvalidArgument);
}

TEST(GroupByLabelTest, RowsOfOneLabelStandTogether) {
  const std::vector<std::string> labels = {"b", "a", "b"};
  const auto groups = GroupByLabel(labels, 3);
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].label, "b");
  EXPECT_EQ((*groups)[0].rows, (std::vector<size_t>{0, 2}));
  EXPECT_EQ((*groups)[1].rows, (std::vector<size_t>{1}));
  const auto all = GroupByLabel({}, 4);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ((*all)[0].rows.size(), 4u);
  const std::vector<std::string> some = {"b", ""};
  EXPECT_EQ(GroupByLabel(some, 2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(GroupByLabel(some, 3).ok());
}

// For each profile: the fuser of n samples turns their sum into the normalised mean.
class MeanTest : public testing::FusionTest {
 protected:
  void SetUp() override {
    Prepare(GetParam(), "compact");
    model_.sample_agreement = 0.5;
    const auto sample = RandomSample();
    for (size_t i = 0; i < kMaxSamples; ++i) {
      samples_.push_back(RandomSample());
      for (size_t m = 0; m < sample.size(); ++m) {
        double norm = 0;
        for (size_t d = 0; d < sample[m].size(); ++d) {
          double& x = samples_[i][m][d];
          x = sample[m][d] + 0.8 * x;
          norm += x * x;
        }
        for (double& x : samples_[i][m]) x /= std::sqrt(norm);
      }
    }
  }

  // The mean of the first n, as a plain sum and encrypted.
  std::vector<std::vector<double>> Mean(size_t n) const {
    std::vector<std::vector<double>> mean = samples_[0];
    for (size_t m = 0; m < mean.size(); ++m) {
      for (size_t d = 0; d < mean[m].size(); ++d) {
        for (size_t i = 1; i < n; ++i) mean[m][d] += samples_[i][m][d];
        mean[m][d] *= MeanFactor(model_, n);
      }
    }
    return mean;
  }
  std::vector<ckks::Ciphertext> Sum(size_t n) {
    std::vector<ckks::Ciphertext> sums(model_.modalities.size());
    for (size_t i = 0; i < n; ++i) {
      const auto encrypted = EncryptSample(samples_[i]);
      for (size_t m = 0; m < sums.size(); ++m) {
        EXPECT_TRUE(AddSample(context(), encrypted[m], &sums[m]).ok());
      }
    }
    return sums;
  }

  std::vector<std::vector<std::vector<double>>> samples_;
};

TEST_P(MeanTest, ASumIsFusedAsItsMeanAndErrsNoMoreThanItSays) {
  for (const size_t n : {size_t{2}, size_t{4}, kMaxSamples}) {
    const auto fuser = Fuser::Create(instance_, model_, &keys_, n);
    ASSERT_TRUE(fuser.ok()) << fuser.status();
    const auto sums = Sum(n);
    std::vector<const ckks::Ciphertext*> pointers;
    for (const ckks::Ciphertext& c : sums) pointers.push_back(&c);
    const auto z = fuser->Project(pointers);
    ASSERT_TRUE(z.ok()) << z.status();
    double norm = 0;
    std::vector<double> expected = testing::FusePlain(model_, Mean(n), &norm);
    for (double& x : expected) x /= model_.approximation(norm);
    const auto slots = Open(*z);
    double squares = 0;
    for (size_t t = 0; t < slots.size(); ++t) {
      squares += std::norm(slots[t] - expected[t % model_.gamma]);
    }
    const double error = std::sqrt(squares / static_cast<double>(slots.size()));
    const double said = z->noise.error / z->scale;
    EXPECT_LE(error, 1.5 * said) << n << " samples";
    EXPECT_GE(error, said / 20) << n << " samples";
  }
}

// Flooding depends on the plan's predicted error (fusion/errors.h): a mean must stay within it. In
// the other profiles the factors' rounding acts on a sum instead of one sample and dominates.
TEST(MeanErrorTest, TheFuserOfAMeanErrsAsPredicted) {
  const std::map<std::string, double> most = {{"compact", 6e-4}, {"standard", 4.6e-4}};
  for (const char* profile : {"compact", "standard", "flooded"}) {
    Model model = testing::RandomModel({512, 512}, 32, 3, profile);
    for (const double agreement : {0.2, 0.6, 1.0}) {
      model.sample_agreement = agreement;
      const Rings rings = *MakeRings(model);
      for (const Instance* ring : {&rings.enrolment, &rings.matching}) {
        const double one = ring->plan.projection.z_error;
        for (size_t n = 1; n <= kMaxSamples; ++n) {
          const double error = ProjectedError(ring->params(), ring->plan, model, n);
          EXPECT_LE(error, most.contains(profile) ? most.at(profile) : one) << profile << " " << n;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MeanTest,
                         ::testing::Values(testing::FusionCase{"two", {48, 40}, 16, 3},
                                           testing::FusionCase{"one", {64}, 32, 2}),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace heft
