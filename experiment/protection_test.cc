// SPDX-License-Identifier: Apache-2.0
// The linkage functions find what can be found: an attacker's try that sees nothing proves nothing
// unless it would have seen something.
#include <gtest/gtest.h>

#include <random>

#include "evaluation/unlinkability.h"
#include "experiment/linkage_functions.h"
#include "experiment/sample_draws.h"
#include "experiment/two_keys.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

class ProtectionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(RandomModel({24, 16}, 16, 3, "standard"));
    std::mt19937_64 random(3);
    samples_ = new std::vector<Vectors>;
    for (int i = 0; i < 40; ++i) samples_->push_back(RandomSample(*model_, random));
    first_ = new UnderKey(*EnrolUnderKey({}, *model_, *samples_));
  }
  static void TearDownTestSuite() {
    delete first_;
    delete samples_;
    delete model_;
  }
  static const ckks::Context& context() { return first_->roles->context(); }
  static double DSys(const FeatureMatrix& scores) {
    const auto found = MeasureLinkage(
        scores, [](int a, int b) { return a == b ? PairKind::kMated : PairKind::kNonMated; }, 20,
        1);
    EXPECT_TRUE(found.ok()) << found.status();
    return found->found.d_sys;
  }

  inline static Model* model_ = nullptr;
  inline static std::vector<Vectors>* samples_ = nullptr;
  inline static UnderKey* first_ = nullptr;
};

TEST_F(ProtectionTest, EachFunctionKnowsACopy) {
  const std::vector<Ciphertext>& t = first_->templates;
  for (const Form form : {Form::kCoefficients, Form::kEvaluations, Form::kMagnitudes}) {
    const FeatureMatrix numbers = Numbers(context(), t, 0, 0, form);
    const FeatureMatrix all = Correlations(numbers, numbers);
    EXPECT_NEAR(all.diagonal().minCoeff(), 1, 1e-9);
    EXPECT_NEAR(DSys(all), 1, 1e-9);
  }
  EXPECT_EQ(EqualResidues(t, t).diagonal().minCoeff(), 2.0 * context().n());
  EXPECT_NEAR(DSys(EqualResidues(t, t)), 1, 1e-9);
  EXPECT_EQ(EqualHashBits(context(), t, t).diagonal().minCoeff(), 256);
  EXPECT_NEAR(DSys(EqualHashBits(context(), t, t)), 1, 1e-9);
  // The fields of a ciphertext in the clear: the same for all, unless a program lets them differ.
  EXPECT_EQ(DSys(Outside(context(), t, t)), 0);
  std::vector<Ciphertext> marked = t;
  for (size_t i = 0; i < marked.size(); ++i) marked[i].noise.message += static_cast<double>(i);
  EXPECT_GT(DSys(Outside(context(), marked, marked)), 0.3) << "in four bins";
}

// A first part that is not masked by a key shows its template.
TEST_F(ProtectionTest, AnUnencryptedTemplateIsSeen) {
  const FeatureMatrix opened = Opened(*first_->roles, first_->templates);
  const auto plain = Encoded(*first_->roles, opened, first_->templates[0]);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const FeatureMatrix numbers = Numbers(context(), *plain, 0, 0, Form::kCoefficients);
  EXPECT_GT(DSys(Correlations(numbers, numbers)), 0.9);
  const FeatureMatrix encrypted = Numbers(context(), first_->templates, 0, 0, Form::kCoefficients);
  EXPECT_LT(Correlations(numbers, encrypted).cwiseAbs().maxCoeff(), 0.2);
}

TEST_F(ProtectionTest, OpenedTemplatesAreTheTemplates) {
  const FeatureMatrix opened = Opened(*first_->roles, first_->templates);
  for (size_t i = 0; i < samples_->size(); ++i) {
    const std::vector<double> expected = FusePlain(*model_, (*samples_)[i]);
    for (size_t d = 0; d < expected.size(); ++d) {
      EXPECT_NEAR(opened(static_cast<int>(i), static_cast<int>(d)), expected[d], 2e-3);
    }
  }
}

TEST_F(ProtectionTest, AMovedGalleryScoresAlike) {
  const UnderKey second = *EnrolUnderKey({}, *model_, {(*samples_)[0]});
  const auto moved = Rekeyed(*first_->roles, *second.roles, first_->block);
  ASSERT_TRUE(moved.ok()) << moved.status();
  const std::vector<Vectors> probes(samples_->begin(), samples_->begin() + 3);
  const auto before = BlockScores({}, *first_->roles, probes, first_->block, samples_->size());
  const auto after = BlockScores({}, *second.roles, probes, *moved, samples_->size());
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_LT((*before - *after).cwiseAbs().maxCoeff(), 4e-3);
  EXPECT_NEAR((*before)(1, 1), 1, 6e-2) << "but for what the polynomial leaves";
  // Under the old key it is nothing any more.
  const auto old = BlockScores({}, *first_->roles, probes, *moved, samples_->size());
  ASSERT_TRUE(old.ok());
  EXPECT_GT((*before - *old).cwiseAbs().maxCoeff(), 1);
}

TEST(SampleDrawsTest, PeopleWithTooFewSamplesAreLeftOut) {
  Dataset data;
  data.labels = {"a", "b", "a", "a", "b", "c", "a"};
  const std::vector<int> rows = {0, 1, 2, 3, 4, 5, 6};
  const DrawnPeople drawn = DrawSamples(data, rows, 1, 1, 5);
  EXPECT_EQ(drawn.left_out, 1);  // c
  ASSERT_EQ(drawn.people.size(), 2u);
  for (const SampleDraw& person : drawn.people) {
    EXPECT_EQ(person.enrolled.size(), 1u);
    EXPECT_EQ(person.probes.size(), 1u);
    EXPECT_NE(person.enrolled[0], person.probes[0]);
    EXPECT_EQ(data.labels[person.enrolled[0]], data.labels[person.probes[0]]);
  }
  EXPECT_EQ(DrawSamples(data, rows, 2, 2, 5).left_out, 2);
}

TEST(SampleDrawsTest, EachWayFindsItsScores) {
  DrawnPeople draw;
  draw.people = {{{10, 11, 12}, {20, 21}}, {{30, 31, 32}, {40, 41}}};
  const SampleWay one{1, 1, false}, mean{3, 1, false}, asked{1, 2, false}, best{3, 1, true};
  const DrawLists lists(draw, {one, mean, asked, best});
  EXPECT_EQ(lists.references(),
            (RowLists{{10}, {10, 11, 12}, {11}, {12}, {30}, {30, 31, 32}, {31}, {32}}));
  EXPECT_EQ(lists.probes(), (RowLists{{20}, {21}, {20, 21}, {40}, {41}, {40, 41}}));
  FeatureMatrix scores(6, 8);  // of probe p and reference r: 10 p + r
  for (int p = 0; p < 6; ++p) {
    for (int r = 0; r < 8; ++r) scores(p, r) = 10 * p + r;
  }
  const auto compared = [&](const SampleWay& way) {
    Comparisons out;
    lists.Compare(scores, way, &out);
    return out;
  };
  EXPECT_EQ(compared(one).scores, (std::vector<double>{0, 4, 10, 14, 30, 34, 40, 44}));
  EXPECT_EQ(compared(one).probe, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(compared(one).enrolled, (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(compared(mean).scores, (std::vector<double>{1, 5, 11, 15, 31, 35, 41, 45}));
  EXPECT_EQ(compared(asked).scores, (std::vector<double>{20, 24, 50, 54}));
  EXPECT_EQ(compared(best).scores, (std::vector<double>{3, 7, 13, 17, 33, 37, 43, 47}));
}

}  // namespace
}  // namespace heft::experiment
