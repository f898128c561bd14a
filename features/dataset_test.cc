// SPDX-License-Identifier: Apache-2.0
#include "features/dataset.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "base/testing.h"
#include "features/random.h"
#include "features/readers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

class DatasetTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    const std::filesystem::path path = directory_ + "/" + name;
    ASSERT_TRUE(MakeDirectories(path.parent_path().string()).ok());
    ASSERT_TRUE(WriteFileAtomic(path.string(), text).ok());
  }

  const testing::TemporaryFolder temporary_;
  const std::string directory_ = temporary_ / "data";
};

SyntheticOptions Small() {
  SyntheticOptions options;
  options.identities = 10;
  options.samples_per_identity = 3;
  options.dimensions = {8, 6, 4};
  return options;
}

// A data set's rows handed over in memory make the data set that its files make.
TEST_F(DatasetTest, FromRowsIsAsFromFiles) {
  const auto data = TrainingData::Synthesise(Small());
  ASSERT_TRUE(data.ok());
  std::vector<std::vector<float>> values(data->modalities().size());
  std::vector<ModalityRows> rows;
  for (size_t m = 0; m < values.size(); ++m) {
    for (size_t i = 0; i < data->size(); ++i) {
      const std::vector<float> row = data->Vector(m, i);
      values[m].insert(values[m].end(), row.begin(), row.end());
    }
    rows.push_back({data->modalities()[m], static_cast<size_t>(data->dimensions()[m]), values[m]});
  }
  ASSERT_TRUE(data->Write(directory_).ok());
  const auto split = ReadLabels(directory_ + "/split.txt");
  ASSERT_TRUE(split.ok());
  const auto copy = TrainingData::FromRows(rows, data->labels(), *split);
  ASSERT_TRUE(copy.ok()) << copy.status();
  ASSERT_TRUE(copy->Write(directory_ + "/copy").ok());
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    if (!file.is_regular_file()) continue;
    const std::string name = file.path().filename().string();
    EXPECT_EQ(*ReadFile(directory_ + "/copy/" + name), *ReadFile(file.path().string())) << name;
  }
  // Without a split one is dealt: every identity is in one part.
  EXPECT_TRUE(TrainingData::FromRows(rows, data->labels(), {}, 7).ok());
}

TEST_F(DatasetTest, FromRowsSaysWhatIsWrong) {
  const std::vector<float> values = {1, 2, 3, 4};
  auto message = [](std::vector<ModalityRows> rows, std::vector<std::string> labels,
                    std::vector<std::string> split = {}) {
    const auto data = TrainingData::FromRows(rows, std::move(labels), split);
    EXPECT_EQ(data.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(data.status().message());
  };
  EXPECT_THAT(message({{"face", 3, values}}, {"a"}), HasSubstr("4 values are not rows of 3"));
  EXPECT_THAT(message({{"face", 0, values}}, {"a"}), HasSubstr("not rows of 0"));
  EXPECT_THAT(message({{"a face", 2, values}}, {"a", "b"}), HasSubstr("not usable"));
  EXPECT_THAT(message({{"face", 2, values}}, {"a"}), HasSubstr("2 rows, 1 labels"));
  EXPECT_THAT(message({{"face", 2, values}}, {"a", "\n"}), HasSubstr("row 1"));
  EXPECT_THAT(message({{"face", 2, values}}, {"a", "b"}, {"train"}), HasSubstr("split"));
  EXPECT_THAT(message({{"face", 2, values}}, {"a", "b"}, {"train", "rest"}), HasSubstr("rest"));
  EXPECT_THAT(message({{"face", 2, values}}, {"a", "a"}, {"train", "val"}), HasSubstr("a"));
  EXPECT_THAT(message({{"face", 2, values}, {"face", 2, values}}, {"a", "b"}),
              HasSubstr("two modalities"));
  EXPECT_THAT(message({{"face", 2, {}}}, {}), HasSubstr("no rows"));
  EXPECT_THAT(message({}, {"a"}), HasSubstr("no modality"));
}

TEST_F(DatasetTest, WrittenAndReadBack) {
  Dataset dataset = *SynthesiseDataset(Small());
  dataset.unpaired.push_back({{"voice", dataset.modalities[1].features.topRows(4)},
                              {dataset.labels.begin(), dataset.labels.begin() + 4}});
  ASSERT_TRUE(WriteDataset(directory_, dataset).ok());
  const auto read = LoadDataset(directory_);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->modalities.size(), 3u);
  EXPECT_EQ(read->modalities[0].name, "face");
  EXPECT_EQ(read->modalities[1].name, "modality3");  // Alphabetical.
  EXPECT_EQ(read->modalities[2].name, "voice");
  EXPECT_EQ(read->Dimensions(), (std::vector<int>{8, 4, 6}));
  EXPECT_EQ(read->TotalDimension(), 18);
  EXPECT_EQ(read->labels, dataset.labels);
  EXPECT_EQ(read->split, dataset.split);
  EXPECT_FALSE(read->split_was_derived);
  ASSERT_EQ(read->unpaired.size(), 1u);
  EXPECT_EQ(read->unpaired[0].labels.size(), 4u);
  EXPECT_LT((read->modalities[0].features - dataset.modalities[0].features).cwiseAbs().maxCoeff(),
            1e-5);
}

TEST_F(DatasetTest, DerivesAMissingSplit) {
  ASSERT_TRUE(WriteDataset(directory_, *SynthesiseDataset(Small())).ok());
  std::filesystem::remove(directory_ + "/split.txt");
  const auto a = LoadDataset(directory_, 5), b = LoadDataset(directory_, 5),
             c = LoadDataset(directory_, 6);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_TRUE(a->split_was_derived);
  EXPECT_EQ(a->split, b->split);
  EXPECT_NE(a->split, c->split);
  EXPECT_EQ(RowsOf(a->split, Split::kTrain).size(), 18u);
  EXPECT_EQ(RowsOf(a->split, Split::kValidation).size(), 6u);
}

TEST_F(DatasetTest, SaysWhatIsWrong) {
  EXPECT_EQ(LoadDataset(directory_).status().code(), absl::StatusCode::kNotFound);
  Write("labels.txt", "a\na\nb\n");
  EXPECT_EQ(LoadDataset(directory_).status().code(), absl::StatusCode::kNotFound);
  Write("face.txt", "1 2\n3 4\n");
  EXPECT_THAT(std::string(LoadDataset(directory_).status().message()), HasSubstr("2 rows"));
  Write("face.txt", "1 2\n3 4\n5 6\n");
  EXPECT_TRUE(LoadDataset(directory_).ok());
  Write("split.txt", "train\ntest\nval\n");
  EXPECT_THAT(std::string(LoadDataset(directory_).status().message()),
              HasSubstr("both in train and in test"));
  Write("split.txt", "train\ntrain\n");
  EXPECT_FALSE(LoadDataset(directory_).ok());
  Write("split.txt", "train\ntrain\nvalid\n");
  EXPECT_THAT(std::string(LoadDataset(directory_).status().message()), HasSubstr("valid"));
}

TEST_F(DatasetTest, LeavesOutTextThatHoldsNoRows) {
  Write("labels.txt", "a\nb\nc\n");
  Write("face.txt", "# three faces\n\n1 2\n3 4\n5 6\n");
  Write("voice.txt", "[[1 2]\n [3 4]\n [5 6]]\n");
  Write("iris.txt", "\xef\xbb\xbf-1,2\n3,4\n5,6\n");
  Write("notes.txt", "Recorded in 2023 with\n");
  Write("README.txt", "# a comment, then\nwords\n");
  Write("columns.txt", "x1,x2\n1,2\n3,4\n5,6\n");
  Write("LICENSE", "1 2 3\n");
  Write("names.txt",
        "001/1\n002/1\n003/1\n");  // for protocols, not a modality though it has numbers
  Write("unpaired/face.txt", "1 2\n");
  Write("unpaired/face_labels.txt", "z\n");
  Write("unpaired/about.txt", "words\n");
  const auto data = LoadDataset(directory_);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(data->modalities.size(), 3u);
  EXPECT_EQ(data->modalities[0].name, "face");
  EXPECT_EQ(data->modalities[1].name, "iris");
  EXPECT_EQ(data->modalities[2].name, "voice");
  EXPECT_EQ(data->unpaired.size(), 1u);
  EXPECT_EQ(data->left_out, (std::vector<std::string>{"README.txt", "columns.txt", "notes.txt",
                                                      "unpaired/about.txt"}));
  // What begins with a number, or with nothing at all, is meant to be a modality.
  for (const char* text : {"1 2\nx 4\n5 6\n", "2023 recorded\n", "", "# nothing\n"}) {
    Write("gait.txt", text);
    const auto wrong = LoadDataset(directory_);
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("gait.txt")) << text;
  }
}

TEST(Folds, EveryIdentityIsTestedOnce) {
  const Dataset dataset = *SynthesiseDataset(Small());
  const auto folds = IdentityFolds(dataset.labels, 5, 3);
  ASSERT_TRUE(folds.ok());
  std::map<std::string, int> tested;
  for (const auto& split : *folds) {
    EXPECT_TRUE(CheckIdentitySplit(dataset.labels, split).ok());
    std::set<std::string> test;
    for (int row : RowsOf(split, Split::kTest)) test.insert(dataset.labels[row]);
    for (const std::string& label : test) ++tested[label];
    EXPECT_EQ(RowsOf(split, Split::kTrain).size(), 18u);
  }
  EXPECT_EQ(tested.size(), 10u);
  for (const auto& [label, times] : tested) EXPECT_EQ(times, 1) << label;
  EXPECT_FALSE(IdentityFolds(dataset.labels, 2, 3).ok());
  EXPECT_FALSE(IdentityFolds(dataset.labels, 11, 3).ok());
}

TEST(Synthetic, ReproducibleAndChecked) {
  const Dataset a = *SynthesiseDataset(Small()), b = *SynthesiseDataset(Small());
  EXPECT_EQ(a.modalities[2].features, b.modalities[2].features);
  EXPECT_TRUE(CheckDataset(a).ok());
  SyntheticOptions bad = Small();
  bad.identities = 2;
  EXPECT_FALSE(SynthesiseDataset(bad).ok());
  bad = Small();
  bad.factors.emplace();
  EXPECT_TRUE(SynthesiseDataset(bad).ok());
  bad.factors->noise = {NAN};
  EXPECT_FALSE(SynthesiseDataset(bad).ok());
}

double EqualErrorOfCosines(const FeatureMatrix& features, const std::vector<std::string>& labels) {
  const FeatureMatrix unit = features.rowwise().normalized();
  std::vector<double> genuine, impostor;
  for (Eigen::Index i = 0; i < unit.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      (labels[i] == labels[j] ? genuine : impostor).push_back(unit.row(i).dot(unit.row(j)));
    }
  }
  std::sort(genuine.begin(), genuine.end());
  std::sort(impostor.begin(), impostor.end());
  double missed = 0;
  for (size_t i = 0; i < genuine.size(); ++i) {
    missed = static_cast<double>(i) / genuine.size();
    const auto above =
        impostor.end() - std::lower_bound(impostor.begin(), impostor.end(), genuine[i]);
    if (static_cast<double>(above) / impostor.size() <= missed) break;
  }
  return missed;
}

// What synthetic people are fitted to, on real ones (lfw-speechocean, all 190): equal error rates
// of 0.0125 of faces, 0.042 of voices, 0.0031 of both; norms of 3.6 and 0.88 on average.
TEST(Synthetic, IsAsHardAsRealEmbeddings) {
  double face = 0, voice = 0, both = 0;
  const int draws = 3;
  for (int seed = 1; seed <= draws; ++seed) {
    SyntheticOptions options;
    options.seed = seed;
    const Dataset data = *SynthesiseDataset(options);
    ASSERT_EQ(data.Dimensions(), (std::vector<int>{512, 128}));
    const FeatureMatrix& faces = data.modalities[0].features;
    const FeatureMatrix& voices = data.modalities[1].features;
    EXPECT_NEAR(faces.rowwise().norm().mean(), 3.6, 0.1);
    EXPECT_NEAR(voices.rowwise().norm().mean(), 0.9, 0.06);
    FeatureMatrix joined(faces.rows(), 640);
    joined << faces.rowwise().normalized(), voices.rowwise().normalized();
    face += EqualErrorOfCosines(faces, data.labels) / draws;
    voice += EqualErrorOfCosines(voices, data.labels) / draws;
    both += EqualErrorOfCosines(joined, data.labels) / draws;
  }
  EXPECT_GT(face, 0.005);
  EXPECT_LT(face, 0.02);
  EXPECT_GT(voice, 0.025);
  EXPECT_LT(voice, 0.06);
  EXPECT_GT(both, 0.001);
  EXPECT_LT(both, 0.006);
}

TEST(Synthetic, PairsAllSamplesOfAnIdentity) {
  SyntheticOptions options = Small();
  options.dimensions = {6, 4};
  options.all_pairs_of = {2 * options.identities, 3 * options.identities + 1};
  const auto dataset = SynthesiseDataset(options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_TRUE(CheckDataset(*dataset).ok()) << CheckDataset(*dataset);
  EXPECT_EQ(dataset->Rows(), 2 * (3 * options.identities + 1));
  ASSERT_EQ(dataset->unpaired.size(), 2u);
  EXPECT_EQ(dataset->unpaired[0].modality.features.rows(), 2 * options.identities);
  EXPECT_EQ(dataset->modalities[0].features.row(0), dataset->unpaired[0].modality.features.row(0));
  EXPECT_EQ(dataset->modalities[1].features.row(1), dataset->unpaired[1].modality.features.row(1));
  options.all_pairs_of = {options.identities};
  EXPECT_FALSE(SynthesiseDataset(options).ok());
  // The paper's numbers.
  EXPECT_EQ(SynthesiseDataset(PaperSize())->Rows(), 10760);
}

TEST(SelectRowsTest, KeepsOrder) {
  const Dataset dataset = *SynthesiseDataset(Small());
  const int rows[] = {5, 0};
  const Dataset selected = SelectRows(dataset, rows);
  EXPECT_EQ(selected.labels[0], dataset.labels[5]);
  EXPECT_EQ(selected.modalities[1].features.row(1), dataset.modalities[1].features.row(0));
}

// SplitMix64 seeded so that the first outputs differ by stream and repeat by seed.
TEST(RandomTest, StreamsAndRanges) {
  Random a(1, 0), b(1, 0), c(1, 1);
  const uint64_t first = a.Next();
  EXPECT_EQ(first, b.Next());
  EXPECT_NE(first, c.Next());
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = a.Normal();
    sum += x;
    squares += x * x;
    ASSERT_LT(b.Below(7), 7u);
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

}  // namespace
}  // namespace heft
