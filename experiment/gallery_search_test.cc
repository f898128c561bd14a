// SPDX-License-Identifier: Apache-2.0
#include "experiment/gallery_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "heft/train.h"

namespace heft::experiment {
namespace {

using ::testing::HasSubstr;

// One law of people; the first 60 have several samples.
struct Parts {
  Dataset data, distractors, strangers;
};

Dataset Take(const Dataset& all, int first, int people, int samples, const char* prefix) {
  std::vector<int> rows;
  for (int p = first; p < first + people; ++p) {
    for (int s = 0; s < samples; ++s) rows.push_back(4 * p + s);
  }
  Dataset taken = SelectRows(all, rows);
  for (std::string& label : taken.labels) label = absl::StrCat(prefix, label);
  taken.split = DeriveIdentitySplit(taken.labels, 1);
  taken.unpaired.clear();
  taken.folder = prefix;
  return taken;
}

Parts People() {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = 200;
  options.samples_per_identity = 4;
  options.dimensions = {32, 24};
  options.factors->jitter = {0.2, 0.2};
  options.factors->within = {0.3, 0.3};
  options.factors->noise = {0.3, 0.3};
  const Dataset all = *SynthesiseDataset(options);
  return {Take(all, 0, 60, 4, "known"), Take(all, 60, 100, 1, "other"),
          Take(all, 160, 40, 2, "new")};
}

Model Trained(const Dataset& data) {
  std::vector<ModalityRows> modalities;
  std::vector<std::vector<float>> values;
  for (const Modality& m : data.modalities) {
    values.emplace_back(m.features.data(), m.features.data() + m.features.size());
  }
  for (size_t m = 0; m < values.size(); ++m) {
    const auto width = static_cast<size_t>(data.modalities[m].features.cols());
    modalities.push_back({data.modalities[m].name, width, values[m]});
  }
  std::vector<std::string> split;
  for (Split s : data.split) split.push_back(SplitName(s));
  const auto rows = TrainingData::FromRows(modalities, data.labels, split);
  EXPECT_TRUE(rows.ok()) << rows.status();
  const auto model = Learn(*rows, {.gamma = 8, .epochs = 2});
  EXPECT_TRUE(model.ok()) << model.status();
  return *model;
}

TEST(GallerySearchTest, DistractorsAndStrangersOfTheirOwn) {
  const Parts parts = People();
  const Model model = Trained(parts.data);
  GalleryOptions options;
  options.encrypted = false;
  const auto found =
      SearchLargeGallery({}, parts.data, model, parts.distractors, &parts.strangers, options);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->people, 12u + 100);
  EXPECT_EQ(found->mated, 12u * 3);
  EXPECT_EQ(found->strangers, 40u * 2);
  EXPECT_FALSE(found->left_out);
  ASSERT_EQ(found->rows.size(), 5u) << "model, two modalities, concatenation, weighted sum";
  EXPECT_EQ(found->rows[0].system.id, "fhe_aware_plain");
  EXPECT_EQ(found->rows[3].system.id, "concatenation");
  for (const GalleryRow& row : found->rows) {
    ASSERT_EQ(row.judgement.searches.size(), 2u) << row.system.id;
    EXPECT_EQ(row.judgement.searches[0].people, 112u);
    EXPECT_EQ(row.judgement.curves[0].errors.strangers, 80u);
  }
  EXPECT_GT(found->rows[0].judgement.curves[0].errors.match_rates[0], 0.7);
  EXPECT_THAT(found->rows[1].calibrated_on, HasSubstr("48 people"));
  const Json json = ToJson(*found);
  EXPECT_EQ(json["systems"].size(), 5u);
  EXPECT_TRUE(json["systems"][0].contains("found_first"));
  EXPECT_THAT(ToText(*found), HasSubstr("112 people are enrolled"));
  EXPECT_THAT(MakeGalleryReport(*found), HasSubstr("Face alone"));
}

TEST(GallerySearchTest, WithoutStrangersTheDistractorsSearchForOthers) {
  const Parts parts = People();
  const Model model = Trained(parts.data);
  GalleryOptions options;
  options.encrypted = true;
  const auto found = SearchLargeGallery({}, parts.data, model, parts.distractors, nullptr, options);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->left_out);
  EXPECT_EQ(found->strangers, 100u);
  ASSERT_EQ(found->rows[0].system.id, "fhe_aware_encrypted");
  EXPECT_LT(found->largest_gap, 0.01);
  // No search finds the person's own template, which would score 1.
  for (const GalleryRow& row : found->rows) {
    EXPECT_LT(row.judgement.searches[0].rate.measured.value, 0.9) << row.system.id;
    EXPECT_EQ(row.judgement.curves[0].errors.mated, 36u);
  }
}

TEST(GallerySearchTest, RefusesWhatIsNotTheSameForAll) {
  Parts parts = People();
  const Model model = Trained(parts.data);
  const GalleryOptions options;
  const auto why = [&](const Dataset& distractors) {
    const auto found = SearchLargeGallery({}, parts.data, model, distractors, nullptr, options);
    EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(found.status().message());
  };
  Dataset same = parts.distractors;
  same.labels[3] = parts.data.labels[0];
  EXPECT_THAT(why(same), HasSubstr("is also a person of another folder"));
  Dataset face = parts.distractors;
  face.modalities.pop_back();
  EXPECT_THAT(why(face), HasSubstr("no modality \"voice\""));
  EXPECT_THAT(why(face), HasSubstr("use a model that was trained on"));
}

// Without training people raw cosines have no thresholds, and say so.
TEST(GallerySearchTest, OfTestPeopleAlone) {
  const Parts parts = People();
  const Model model = Trained(parts.data);
  GalleryOptions options;
  options.split = "all";
  options.encrypted = false;
  const auto found = SearchLargeGallery({}, parts.data, model, parts.distractors, nullptr, options);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->people, 60u + 100);
  EXPECT_EQ(found->rows[0].judgement.searches[0].rate.refused, "");
  EXPECT_NE(found->rows[1].judgement.searches[0].rate.refused, "");
}

}  // namespace
}  // namespace heft::experiment
