// SPDX-License-Identifier: Apache-2.0
#include "owner/rejections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "heft/openings.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Answer: what the key owner says of templates with these findings, of person 0, 1, ...
Admissions Answer(const std::vector<Finding>& findings, const Model& model = {}) {
  Admissions out;
  for (const Finding& finding : findings) {
    out.verdicts.push_back({absl::StrCat("person ", out.verdicts.size()), finding.sound(),
                            finding.rejection, finding.reason});
  }
  out.groups = GroupRejections(model, out.verdicts, findings);
  return out;
}

Finding Outside(double squared_norm) {
  return {Rejection::kUnsound,
          "outside [0.862, 1.100]",
          absl::StrCat("squared norm ", squared_norm, ", outside [0.862, 1.100]"),
          squared_norm,
          {}};
}

Model TrainedOn(int people) {
  Model model;
  model.training_summary = absl::StrCat("{\"train_identities\":", people, "}");
  return model;
}

TEST(RejectionsTest, MostTemplatesOutsideAreTheModelsFault) {
  std::vector<Finding> findings(2);
  for (int i = 0; i < 38; ++i) findings.push_back(Outside(0.31 + 0.001 * i));
  const Admissions answer = Answer(findings, TrainedOn(24));
  ASSERT_EQ(answer.groups.size(), 1u);
  EXPECT_EQ(answer.groups[0].cause, "squared norm 0.310 to 0.347, outside [0.862, 1.100]");
  EXPECT_EQ(answer.groups[0].identities.size(), 38u);
  EXPECT_THAT(answer.groups[0].remedy, HasSubstr("the model is at fault, not these people"));
  EXPECT_THAT(answer.groups[0].remedy, HasSubstr("trained on 24 people, too few"));
  const Described told = DescribeAdmissions(answer);
  EXPECT_EQ(told.text.find("the model is at fault"), told.text.rfind("the model is at fault"));
  EXPECT_THAT(told.text, HasSubstr("38 of 40 templates rejected: squared norm 0.310 to 0.347"));
  EXPECT_THAT(told.text, HasSubstr("person 2, person 3, person 4, person 5, person 6 and 33 more"));
  EXPECT_THAT(told.text, HasSubstr("approved 2 templates"));
  EXPECT_EQ(told.json["approved"], 2);
  EXPECT_EQ(told.json["rejected"].size(), 38u);
  EXPECT_EQ(told.json["rejected"][0]["rejection"], "UNSOUND");
  EXPECT_EQ(told.json["groups"][0]["identities"].size(), 38u);
}

// Two of three templates are too few to judge a model by, and so are three of six.
TEST(RejectionsTest, AFewTemplatesOutsideAreNot) {
  for (const std::vector<Finding>& findings :
       {std::vector<Finding>{{}, Outside(0.5), Outside(0.5)},
        std::vector<Finding>{{}, {}, {}, Outside(0.5), Outside(0.5), Outside(0.5)}}) {
    const Admissions answer = Answer(findings, TrainedOn(24));
    ASSERT_EQ(answer.groups.size(), 1u);
    EXPECT_EQ(answer.groups[0].cause, "squared norm 0.500, outside [0.862, 1.100]");
    EXPECT_THAT(answer.groups[0].remedy, HasSubstr("Take another sample"));
    EXPECT_THAT(answer.groups[0].remedy, Not(HasSubstr("at fault")));
  }
}

TEST(RejectionsTest, AnUnknownOrLargeNumberOfPeopleIsNotCalledTooFew) {
  const std::vector<Finding> findings(3, Outside(1.5));
  EXPECT_THAT(Answer(findings).groups[0].remedy, HasSubstr("too few people, or on samples unlike"));
  EXPECT_THAT(Answer(findings, TrainedOn(5000)).groups[0].remedy,
              HasSubstr("trained on 5000 people, with samples unlike these"));
}

TEST(RejectionsTest, CausesAreTheLargestFirst) {
  const Finding wrapped = Finding::Of(Rejection::kUnsound, "it wraps around");
  const Finding named = Finding::Of(Rejection::kPolicy, "rejected by name");
  const Finding known = Finding::Of(Rejection::kEnrolled, "enrolled", "Ask the registrar.");
  const Admissions answer = Answer({named, known, {}, known, wrapped, {}, {}, {}});
  std::vector<std::string> causes;
  for (const Admissions::Group& group : answer.groups) causes.push_back(group.cause);
  EXPECT_THAT(causes, ElementsAre("enrolled", "rejected by name", "it wraps around"));
  EXPECT_THAT(answer.groups[0].identities, ElementsAre("person 1", "person 3"));
  EXPECT_EQ(answer.groups[0].remedy, "Ask the registrar.");
  EXPECT_EQ(answer.groups[1].remedy, "");
  EXPECT_THAT(answer.groups[2].remedy, HasSubstr("ask who sent it"));
  EXPECT_TRUE(Answer({{}, {}}).groups.empty());
}

TEST(RejectionsTest, HaveNames) {
  EXPECT_EQ(RejectionName(Rejection::kNone), "");
  EXPECT_EQ(RejectionName(Rejection::kPolicy), "REJECTED");
  EXPECT_EQ(RejectionName(Rejection::kEnrolled), "ENROLLED");
  EXPECT_EQ(RejectionName(Rejection::kNotAuthorised), "NOT_AUTHORISED");
  EXPECT_EQ(RejectionName(Rejection::kMisplaced), "MISPLACED");
  EXPECT_EQ(RejectionName(Rejection::kUnsound), "UNSOUND");
}

}  // namespace
}  // namespace heft
