// SPDX-License-Identifier: Apache-2.0
// Golden files of the published forms: made by hand, small, with the separators, line ends and
// brackets of the originals.
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/testing.h"
#include "features/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Files = std::map<std::string, std::string>;

class Published : public ::testing::Test {
 protected:
  // A folder with these files.
  std::string Folder(const std::string& name, const Files& files) const {
    const std::string path = temporary_ / name;
    std::filesystem::create_directories(path);
    for (const auto& [file, text] : files) {
      EXPECT_TRUE(WriteFileAtomic(path + "/" + file, std::string_view(text)).ok());
    }
    return path;
  }

  const testing::TemporaryFolder temporary_;
};

// Five identities, voices not in order of their labels; a face file with rows to spare.
Files Extracted() {
  std::string faces;
  for (int i = 0; i < 12; ++i) faces += std::to_string(i) + " 1.000000000 \n";
  return {{"VGGFace_vgg_cplfw.txt", faces},
          {"deep_speaker.txt", "60 1 2\n10 1 2\n20 1 2\n30 1 2\n40 1 2\n50 1 2\n11 1 2\n"},
          {"deep_speaker_labels.txt", "e5\na1\nb2\nc3\nd4\nd4\na1\n"}};
}

TEST_F(Published, PairsExtractedFeaturesAsThePaperDoes) {
  const std::string folder = Folder("extracted", Extracted());
  ASSERT_TRUE(HoldsPublishedFiles(folder));
  const auto dataset = LoadDataset(folder);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_EQ(dataset->Rows(), 14);  // seven voices with two faces each
  EXPECT_EQ(dataset->modalities[0].name, "VGGFace_vgg_cplfw");
  EXPECT_THAT(dataset->Dimensions(), ElementsAre(2, 3));
  // a1 is the first label: its voices 10 and 11, each with faces 0 and 1.
  EXPECT_THAT(std::vector<std::string>(dataset->labels.begin(), dataset->labels.begin() + 5),
              ElementsAre("a1", "a1", "a1", "a1", "b2"));
  const auto face = [&](int row) { return dataset->modalities[0].features(row, 0); };
  const auto voice = [&](int row) { return dataset->modalities[1].features(row, 0); };
  EXPECT_EQ(voice(0), 10);
  EXPECT_EQ(voice(2), 11);
  EXPECT_EQ(face(2), 0);
  EXPECT_EQ(face(3), 1);
  EXPECT_EQ(face(4), 2);
  EXPECT_EQ(face(13), 9);
  EXPECT_EQ(voice(13), 60);
  // A fifth of the identities each.
  EXPECT_EQ(dataset->split[0], Split::kValidation);
  EXPECT_EQ(dataset->split[4], Split::kTest);
  EXPECT_EQ(dataset->split[6], Split::kTrain);
  ASSERT_EQ(dataset->unpaired.size(), 2u);
  EXPECT_EQ(dataset->unpaired[0].modality.features.rows(), 10);
  EXPECT_EQ(dataset->unpaired[1].labels[0], "e5");
}

TEST_F(Published, OtherTextInTheFolderIsNoModality) {
  const std::string folder = Folder("noted", Extracted());
  EXPECT_TRUE(
      WriteFileAtomic(folder + "/README.txt", std::string_view("Features as extracted.\n")).ok());
  ASSERT_TRUE(HoldsPublishedFiles(folder));
  const auto dataset = LoadDataset(folder);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->Dimensions(), ElementsAre(2, 3));
}

TEST_F(Published, ReadsPairedFilesWithAndWithoutBrackets) {
  const std::string folder = Folder(
      "paired", {{"A_values_val.txt", "[0.100000000 0.200000000 ]\n[0.300000000 0.400000000 ]\n"},
                 {"B_values_val.txt", "[1.000000000 ]\n[2.000000000 ]\n"},
                 {"L_values_val.txt", "[1, 2]"},
                 {"A_values_test.txt", "0.5 0.6 \n0.7 0.8 \n0.9 1.0 \n"},
                 {"B_values_test.txt", "3 \n4 \n5 \n"},
                 {"L_values_test.txt", "[2, 3, 3]\n"}});
  const auto dataset = LoadDataset(folder);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  // Identity 2 was cut in two; it stays in the first file.
  EXPECT_THAT(dataset->labels, ElementsAre("1", "2", "3", "3"));
  EXPECT_THAT(dataset->split,
              ElementsAre(Split::kValidation, Split::kValidation, Split::kTest, Split::kTest));
  EXPECT_EQ(dataset->modalities[0].features(2, 0), 0.7);
  EXPECT_EQ(dataset->modalities[1].features(3, 0), 5);
}

TEST_F(Published, ReadsProjectionsEitherWay) {
  const std::string folder =
      Folder("matrix", {{"exact_best_P_value_transpose_lambda=0.25_margin=0.5_gamma=2_reg=0.txt",
                         "[[0.5, -0.25, 1e-05], [1.0, 2.0, 3.0]]"},
                        {"P.txt", "0.5 1\n-0.25 2\n1e-05 3\n"}});
  const auto wide = ReadPublishedProjection(
      folder + "/exact_best_P_value_transpose_lambda=0.25_margin=0.5_gamma=2_reg=0.txt", 3);
  ASSERT_TRUE(wide.ok()) << wide.status();
  ASSERT_EQ(wide->rows(), 2);
  EXPECT_EQ((*wide)(0, 1), -0.25);
  EXPECT_EQ(*ReadPublishedProjection(folder + "/P.txt", 3), *wide);
  EXPECT_THAT(std::string(ReadPublishedProjection(folder + "/P.txt", 7).status().message()),
              HasSubstr("7 dimensions"));
}

TEST_F(Published, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(HoldsPublishedFiles(Folder("ours", {{"face.txt", "1\n"}, {"labels.txt", "a\n"}})));
  EXPECT_FALSE(HoldsPublishedFiles(Folder("one", {{"face.txt", "1\n"}})));
  Files files = Extracted();
  files["VGGFace_vgg_cplfw.txt"] = "1 2\n3 4\n";
  EXPECT_THAT(std::string(LoadDataset(Folder("few", files)).status().message()),
              HasSubstr("need 2 for each of the 5"));
  files = Extracted();
  files["deep_speaker_labels.txt"] = "a\nb\n";
  EXPECT_THAT(std::string(LoadDataset(Folder("labels", files)).status().message()),
              HasSubstr("2 labels"));
  for (const char* list : {"[1, 2", "[1, , 2]", "[]", "[1] [2]"}) {
    const std::string folder = Folder("list", {{"A_values_test.txt", "1\n2\n"},
                                               {"B_values_test.txt", "1\n2\n"},
                                               {"L_values_test.txt", list}});
    EXPECT_FALSE(LoadDataset(folder).ok()) << list;
  }
}

}  // namespace
}  // namespace heft
