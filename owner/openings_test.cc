// SPDX-License-Identifier: Apache-2.0
#include "heft/openings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "owner/roles_testing.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

OpenedScores Found() {
  OpenedScores opened;
  opened.probe = "door";
  opened.candidates = {{"ann", 0.9, 2, 12.5, 3}, {"bob", 0.1, 1, {}}};
  opened.gallery_id[15] = 7;
  opened.withheld = 1;
  opened.where = {*ParseCondition("site=berlin")};
  opened.searched = 7;
  opened.modalities = {"face"};
  return opened;
}

TEST(OpeningsTest, ScoresAsTheToolsShowThem) {
  const Described out = DescribeScores(Found());
  EXPECT_EQ(
      out.json.dump(),
      R"({"kind":"identification","gallery_id":"00000000000000000000000000000007","probe":"door",)"
      R"("modalities":["face"],"claimed":"","candidates":[{"identity":"ann","score":0.9,)"
      R"("templates":2,"log_likelihood_ratio":12.5,"scores_left":3},{"identity":"bob","score":0.1,)"
      R"("templates":1,"log_likelihood_ratio":null,"scores_left":0}],"withheld":1,"refusal":"",)"
      R"("where":["site=berlin"],"searched":7,"key_warning":""})");
  EXPECT_EQ(
      out.text,
      "searched 7 templates, of those with site=berlin\n"
      "   1   0.900  LLR  +12.50  ann  (scores left: 3)\n   2   0.100  bob  (scores left: 0)\n"
      "1 more are not shown: their scores are spent (see heft budget)\n");
  EXPECT_TRUE(out.warnings.empty());
}

TEST(OpeningsTest, AThresholdDecidesAndWarns) {
  ChosenThreshold at{0.5};
  at.rate = 1e-3, at.of = RateOf::kSearches, at.warning = "too few people";
  at.interval = {1e-4, 1e-2};
  const Described out = DescribeScores(Found(), at);
  EXPECT_TRUE(out.json["accepted"].get<bool>());
  EXPECT_EQ(out.json["threshold"].dump(),
            R"({"score":0.5,"of":"searches","rate":0.001,"interval":[0.0001,0.01],)"
            R"("warning":"too few people"})");
  EXPECT_THAT(out.text,
              HasSubstr("accept (search of gallery 00000000000000000000000000000007, FPIR "
                        "0.001, threshold 0.500 for probes with face)\n"));
  EXPECT_THAT(out.warnings, ElementsAre("too few people"));
  const Described decision = DescribeDecision(Found().Decide(at));
  EXPECT_EQ(decision.text,
            "accept ann, of those with site=berlin (search of gallery "
            "00000000000000000000000000000007, FPIR 0.001, threshold 0.500 for probes with face)");
  EXPECT_FALSE(decision.json.contains("candidates")) << "no score";
  EXPECT_THAT(decision.warnings, ElementsAre("too few people"));
}

TEST(OpeningsTest, ARefusalIsSaid) {
  OpenedScores refused;
  refused.kind = ScoreKind::kVerification;
  refused.claimed = "ann";
  refused.refusal = "its norm is 3";
  refused.modalities = {"face"};
  EXPECT_EQ(
      DescribeScores(refused).json.dump(),
      R"({"kind":"verification","gallery_id":"","probe":"","modalities":["face"],"claimed":"ann",)"
      R"("candidates":[],"withheld":0,"refusal":"its norm is 3","where":[],"searched":0,)"
      R"("key_warning":""})");
  EXPECT_EQ(DescribeScores(refused).text, "refused: its norm is 3\n");
  EXPECT_EQ(DescribeDecision(refused.Decide(0.5)).text,
            "reject: its norm is 3 (claim of ann in gallery 00000000000000000000000000000000, no "
            "rate, threshold 0.500 for probes with face)");
}

class AnswersTest : public testing::RolesTest {
 protected:
  AnswersTest() : RolesTest() {}
};

TEST_P(AnswersTest, AreToWhatWasAskedOfThatGallery) {
  const std::string gallery = folder_ + ":one";
  ASSERT_TRUE(server_->Enrol(gallery, Files(1, "ann")).ok());
  ASSERT_TRUE(testing::ActivateAll(*server_, roles_.NewOwner(), gallery).ok());
  const SigningKey key = *SigningKey::Generate();
  const Gallery opened = *Gallery::Open(gallery);
  const std::vector<SampleFile> probe = Files(1, "door", SampleUse::kIdentification);
  const auto scores = server_->Identify(opened, probe);
  ASSERT_TRUE(scores.ok()) << scores.status();
  const auto reply = SignReply(key, opened, *ReadRequest(probe, nullptr, {}), 0, {}, *scores);
  ASSERT_TRUE(reply.ok()) << reply.status();
  const ReplyFile file = {*reply, "scores.ct"};
  const Replies replies = {{&file, 1}};
  EXPECT_TRUE(CheckAnswer(replies, {}).ok());
  EXPECT_TRUE(CheckAnswer(replies, {opened.id(), probe, 0}).ok());
  const auto why = [&](const ExpectedAnswer& expected) {
    const absl::Status status = CheckAnswer(replies, expected);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(why({GalleryId{1}}), HasSubstr("scores.ct: of another gallery, "));
  EXPECT_THAT(why({GalleryId{}}), HasSubstr("of another gallery, ")) << "zeros are no wildcard";
  EXPECT_EQ(CheckAnswer(replies, {std::nullopt, std::vector<SampleFile>()}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(why({std::nullopt, probe, 1}), HasSubstr("answers another request than row 1 of "));
  EXPECT_THAT(why({std::nullopt, probe, kAllRows}), HasSubstr("than the mean of "));
  EXPECT_THAT(why({std::nullopt, Files(2, "door", SampleUse::kIdentification), 0}),
              HasSubstr("another request"));
  const ReplyFile bare = {*scores, "bare.ct"};
  EXPECT_FALSE(CheckAnswer({{&bare, 1}}, {opened.id()}).ok()) << "it says nothing of itself";
}
INSTANTIATE_TEST_SUITE_P(Profiles, AnswersTest, ::testing::Values("standard"));

TEST_P(AnswersTest, SeveralRepliesAreThoseOfBuckets) {
  const ReplyFile files[2] = {};
  const auto opened = owner_->Open(Replies{files});
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("one reply at a time"));
  EXPECT_FALSE(owner_->Decide(Replies{}, {.score = 0.5}).ok());
}

TEST_P(AnswersTest, ABudgetHasKeyModelAndTimes) {
  BudgetUse use;
  use.limits = {4, 32, 10000, 16};
  use.last_entry = 1'800'000'000;
  use.clients = {{{}, 1, 10, 5, 0, 7}};
  use.restarts = {{86400, "moved"}};
  use.restart_count = 2;
  use.successor = KeyId{1};
  const Described out = DescribeBudget(*owner_, use);
  EXPECT_EQ(out.json["last_entry"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(out.json["clients"][0]["client"].get<std::string>(), "");
  EXPECT_EQ(out.json["clients"][0]["rejections_left"], 7);
  EXPECT_EQ(out.json["limits"]["rejections"], 16);
  EXPECT_THAT(out.text, HasSubstr("may be told 5 bits now, all of 1000 from"));
  EXPECT_EQ(out.json["key_id"].get<std::string>().size(), 32u);
  EXPECT_THAT(out.text, HasSubstr("\nrestarted 1970-01-02T00:00:00Z: moved\nrestarted 2 times"));
  EXPECT_THAT(out.text, HasSubstr(" is revoked: 01"));
  EXPECT_THAT(out.text, Not(HasSubstr("proofs of enrolments"))) << "without a limit";
  use.proofs = 7;
  use.most_proofs = 500000;
  EXPECT_THAT(DescribeBudget(*owner_, use).text,
              HasSubstr("\nproofs of enrolments: 7 of 500000 opened"));
}

}  // namespace
}  // namespace heft
