// SPDX-License-Identifier: Apache-2.0
#include "experiment/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"
#include "experiment/mean_scores.h"
#include "experiment/protocol_run.h"
#include "experiment/random_model.h"
#include "features/random.h"

namespace heft::experiment {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ProtocolTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(WriteFileAtomic(path.string(), text).ok());
  }
  absl::StatusOr<Protocol> Read() const { return ReadProtocol(folder_.path(), names_); }
  std::string Message() const { return std::string(Read().status().message()); }

  const heft::testing::TemporaryFolder folder_;
  const RowNames names_ = {{"a/1", 0}, {"a/2", 1}, {"b/1.x", 2}, {"b/2", 3}, {"c/1", 4}};
};

// The example of bob.bio.base's documentation, with a subject of two references.
TEST_F(ProtocolTest, ReadsTheFormWithHeaders) {
  Write("dev/for_enrolling.csv",
        "path,age,subject_id,template_id\na/1.png,20,a,a_1\na/2.png,20,a,a_1\r\nb/2,30,b,b_1\n");
  Write("dev/for_probing.csv", "path,template_id,subject_id\nb/1.x,p,b\nc/1,q,c\n");
  auto protocol = Read();
  ASSERT_TRUE(protocol.ok()) << protocol.status();
  EXPECT_FALSE(protocol->eval.has_value());
  const ProtocolGroup& dev = protocol->dev;
  ASSERT_EQ(dev.references.size(), 2u);
  EXPECT_THAT(dev.references[0].rows, ElementsAre(0, 1));
  EXPECT_EQ(dev.references[0].subject, "a");
  EXPECT_THAT(dev.probes[0].rows, ElementsAre(2)) << "a dot that belongs to the name";
  EXPECT_TRUE(dev.all);
  EXPECT_EQ(dev.comparisons.size(), 4u);
  Write("dev/for_matching.csv", "enroll_template_id,probe_template_id\nb_1,p\na_1,q\n");
  Write("test/for_enrolling.csv", "path,template_id\nc/1,c\n");
  Write("test/for_probing.csv", "path,template_id\nc/1,c\n");
  protocol = Read();
  ASSERT_TRUE(protocol.ok()) << protocol.status();
  EXPECT_FALSE(protocol->dev.all);
  EXPECT_THAT(protocol->dev.comparisons, ElementsAre(Pair(0, 1), Pair(1, 0)));
  ASSERT_TRUE(protocol->eval.has_value());
  EXPECT_EQ(protocol->eval->name, "test");
  EXPECT_EQ(protocol->eval->probes[0].subject, "c") << "without subject_id";
}

TEST_F(ProtocolTest, PassesOverAByteOrderMark) {
  Write("dev/for_enrolling.csv", "\xEF\xBB\xBFpath,template_id\r\na/1,a\r\n");
  Write("dev/for_probing.csv", "path,template_id\nb/2,b\n");
  EXPECT_TRUE(Read().ok()) << Read().status();
}

TEST_F(ProtocolTest, ReadsTheFormOfLists) {
  Write("dev/for_models.lst", "a/1 m1 a\na/2 m1 a\nb/2 m2 b\n");
  Write("dev/for_probes.lst", "b/1.x b\nc/1 c\nc/1 c\n");
  auto protocol = Read();
  ASSERT_TRUE(protocol.ok()) << protocol.status();
  EXPECT_EQ(protocol->dev.references.size(), 2u);
  EXPECT_EQ(protocol->dev.probes.size(), 3u) << "each line is a probe";
  EXPECT_EQ(protocol->dev.comparisons.size(), 6u);
  std::filesystem::rename(folder_ / "dev/for_probes.lst", folder_ / "dev/away.lst");
  Write("dev/for_scores.lst", "b/1.x m2 b b\nb/1.x m1 a b\nc/1 m1 a c\n");
  protocol = Read();
  ASSERT_TRUE(protocol.ok()) << protocol.status();
  EXPECT_EQ(protocol->dev.probes.size(), 2u) << "a path that is compared twice is one probe";
  EXPECT_THAT(protocol->dev.comparisons, ElementsAre(Pair(0, 1), Pair(0, 0), Pair(1, 0)));
  EXPECT_EQ(protocol->dev.probes[0].subject, "b");
}

TEST_F(ProtocolTest, SaysWhichLineIsWrong) {
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kNotFound);
  Write("dev/for_enrolling.csv", "path,template_id\na/1,a\nnobody/1,a\n");
  Write("dev/for_probing.csv", "path,template_id\na/2,a\n");
  EXPECT_THAT(Message(), HasSubstr("for_enrolling.csv, line 3: \"nobody/1\""));
  Write("dev/for_enrolling.csv", "path,subject\na/1,a\n");
  EXPECT_THAT(Message(), HasSubstr("no column \"template_id\""));
  Write("dev/for_enrolling.csv", "path,template_id,subject_id\na/1,t,a\na/2,t,b\n");
  EXPECT_THAT(Message(), HasSubstr("line 3: \"t\" is of \"a\" already"));
  Write("dev/for_enrolling.csv", "path,template_id\na/1,a\na/1.png,a\n");
  EXPECT_THAT(Message(), HasSubstr("line 3: \"a\" has this sample already"));
  Write("dev/for_enrolling.csv", "path,template_id\na/1\n");
  EXPECT_THAT(Message(), HasSubstr("different numbers of fields"));
  Write("dev/for_enrolling.csv", "path,template_id\n\"a/1\",t\n");
  EXPECT_THAT(Message(), HasSubstr("quoted"));
  Write("dev/for_enrolling.csv", "path,template_id\n");
  EXPECT_THAT(Message(), HasSubstr("no references or no probes"));
  Write("dev/for_enrolling.csv", "path,template_id\na/1,a\n");
  Write("dev/for_matching.csv", "enroll_template_id,probe_template_id\na,z\n");
  EXPECT_THAT(Message(), HasSubstr("there is no entry with id \"z\""));
}

TEST_F(ProtocolTest, NamesAreOneEach) {
  Write("names.txt", "a\nb\n\n");
  const std::string path = folder_ / "names.txt";
  EXPECT_EQ((*ReadRowNames(path, 2))["b"], 1);
  EXPECT_FALSE(ReadRowNames(path, 3).ok());
  Write("names.txt", "a\na\n");
  EXPECT_THAT(std::string(ReadRowNames(path, 2).status().message()),
              HasSubstr("needs its own name"));
  EXPECT_THAT(std::string(ReadRowNames(folder_ / "none", 2).status().message()),
              HasSubstr("write the path of each row"));
}

// Synthetic people, `samples` each, and a protocol over them: two thirds are enrolled with their
// first `enrolled` samples.
struct World {
  Dataset data;
  Protocol protocol;
};
World MakeWorld(int samples, int enrolled) {
  SyntheticOptions options;
  options.factors.emplace();
  options.identities = 24;
  options.samples_per_identity = samples;
  options.dimensions = {16, 12};
  options.factors->jitter = {0.3};
  options.factors->within = {0.3};
  World world{*SynthesiseDataset(options), {}};
  world.protocol.eval.emplace();
  for (int person = 0; person < options.identities; ++person) {
    ProtocolGroup& group = person % 2 == 0 ? world.protocol.dev : *world.protocol.eval;
    const std::string subject = std::to_string(person);
    const bool stranger = person % 3 == 0;
    if (!stranger) group.references.push_back({subject, subject, {}});
    for (int s = 0; s < samples; ++s) {
      const int row = person * samples + s;
      if (!stranger && s < enrolled) {
        group.references.back().rows.push_back(row);
      } else {
        group.probes.push_back({std::to_string(row), subject, {row}});
      }
    }
  }
  for (ProtocolGroup* group : {&world.protocol.dev, &*world.protocol.eval}) {
    for (size_t p = 0; p < group->probes.size(); ++p) {
      for (size_t r = 0; r < group->references.size(); ++r) group->comparisons.emplace_back(p, r);
    }
  }
  return world;
}

Model ModelFor(const Dataset& data, const std::string& profile) {
  std::vector<uint32_t> dimensions;
  for (int d : data.Dimensions()) dimensions.push_back(static_cast<uint32_t>(d));
  Model model = RandomModel(dimensions, 16, 3, profile);
  for (size_t m = 0; m < data.modalities.size(); ++m) {
    model.modalities[m].name = data.modalities[m].name;
  }
  model.sample_agreement = 0.6;
  return model;
}

// The same scores in the clear and under encryption, references being means of two.
TEST(ProtocolRun, EncryptedScoresArePlainOnes) {
  const World world = MakeWorld(4, 2);
  const Model model = ModelFor(world.data, "standard");
  ProtocolOptions options;
  options.replicates = 20;
  const auto result = RunProtocol({}, world.data, model, world.protocol, options);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->groups.size(), 2u);
  for (const GroupResult& group : result->groups) {
    EXPECT_GT(group.largest_gap, 0);
    EXPECT_LT(group.largest_gap, 4e-3);
    EXPECT_EQ(group.most_samples, 2u);
    EXPECT_EQ(group.subjects, 8u);
    EXPECT_EQ(group.strangers, 16u);
    EXPECT_EQ(group.genuine, 16);
    EXPECT_EQ(group.impostor, 32 * 8 - 16);
    EXPECT_EQ(group.by_model.curves.size(), 1u);
  }
  EXPECT_FALSE(result->groups[0].by_dev.has_value());
  ASSERT_TRUE(result->groups[1].by_dev.has_value());
  EXPECT_EQ(result->groups[1].by_dev->comparisons[0].refused, "");
  EXPECT_TRUE(result->groups[1].by_dev->evidence.has_value());
  EXPECT_EQ(ToJson(*result)["groups"].size(), 2u);
  EXPECT_THAT(ToText(*result), HasSubstr("half total error rate"));
}

// The same people or samples on both sides: figures promise too much, and it is said.
TEST(ProtocolRun, WarnsOfPeopleWhoJudgeThemselves) {
  World world = MakeWorld(3, 1);
  const Model model = ModelFor(world.data, "standard");
  ProtocolOptions options;
  options.encrypted = false;
  options.replicates = 20;
  const auto warnings = [&] {
    return RunProtocol({}, world.data, model, world.protocol, options)->warnings;
  };
  world.data.split_was_derived = true;
  EXPECT_THAT(warnings(), ElementsAre());
  world.data.split_was_derived = false;
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("for training or validation"),
                                      HasSubstr("for training or validation")));
  world.data.split_was_derived = true;
  world.protocol.eval->probes[0].rows = world.protocol.eval->references[0].rows;
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("1 comparisons are of a sample with itself")));
  world.protocol.eval->references[0].subject = world.protocol.dev.references[0].subject;
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("1 subjects of dev are in"), HasSubstr("itself")));
}

TEST(ProtocolRun, MeansNeedAnAgreementAndPairsHaveNoSearches) {
  World world = MakeWorld(3, 2);
  Model model = ModelFor(world.data, "standard");
  ProtocolOptions options;
  options.encrypted = false;
  options.replicates = 20;
  world.protocol.dev.all = false;
  const auto result = RunProtocol({}, world.data, model, world.protocol, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->groups[0].by_model.no_searches, HasSubstr("select pairs"));
  model.sample_agreement.reset();
  EXPECT_EQ(RunProtocol({}, world.data, model, world.protocol, options).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft::experiment
