// SPDX-License-Identifier: Apache-2.0
// Identifications that not every place of the gallery answers: what the file says, and what the
// key owner makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/envelope.h"
#include "base/inside.h"
#include "ckks/arithmetic.h"
#include "owner/testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using testing::Code;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RestrictedTest : public testing::GalleryTest {
 protected:
  // Places 0 to 4.
  const std::vector<std::string> kNames = {"ann", "bob", "cyd", "bob", "dan"};

  void SetUp() override {
    ASSERT_TRUE(testing::EnrolDirectly(*server_, directory_, Set({1, 2, 3, 4, 5}, kNames)).ok());
  }
  const ckks::Context& context() const { return *instance_->context; }
  EncryptedScores Identify(uint64_t probe, const ProbeOptions& options = {}) const {
    return *server_->Identify(*server_->OpenGallery(directory_, false), Set({probe}, {"x"}),
                              options);
  }
  static Restriction Only(uint64_t places, const std::vector<uint64_t>& answering) {
    Restriction out;
    out.answering = PlaceSet::None(places);
    for (const uint64_t place : answering) out.answering.Add(place);
    out.time = 1800000000;
    return out;
  }
  // An identification that these places alone answer.
  EncryptedScores Restricted(uint64_t probe, const std::vector<uint64_t>& answering,
                             const std::vector<Condition>& where = {}) const {
    EncryptedScores scores = Identify(probe);
    Restriction restriction = Only(scores.templates, answering);
    restriction.where = where;
    Restrict(context(), std::move(restriction), &scores);
    return scores;
  }
  Bytes Write(const EncryptedScores& scores) const { return SerializeScores(context(), scores); }
  std::string Refusal(const EncryptedScores& scores) const { return Refusal(Write(scores)); }
  std::string Refusal(const Bytes& bytes) const {
    const auto parsed = ParseScores(context(), bytes, "reply");
    return std::string(parsed.status().message());
  }
  static Bytes Resealed(const Bytes& bytes, uint32_t version) {
    return SealEnvelope(
        "SCOR", version,
        ByteSpan(bytes).subspan(kEnvelopeHeaderSize, bytes.size() - kEnvelopeOverhead));
  }
  static std::vector<std::string> Named(const OpenedScores& opened) {
    std::vector<std::string> names;
    for (const Candidate& c : opened.candidates) names.push_back(c.identity);
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(RestrictedTest, PlacesThatDoNotAnswerNeverAppear) {
  const std::vector<Condition> where = {{"site", {"berlin"}}};
  const Bytes reply = Write(Restricted(2, {0, 3}, where));
  const auto opened = Owner().Open(reply, "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->refusal, "");
  EXPECT_THAT(Named(*opened), ElementsAre("ann", "bob"));
  EXPECT_EQ(opened->searched, 2u);
  EXPECT_EQ(opened->where, where);
  for (const Candidate& c : opened->candidates) {
    EXPECT_EQ(c.templates, 1u) << "of bob's two, one answers";
    EXPECT_NEAR(c.score, c.identity == "ann" ? Expected(2, 1) : Expected(2, 4), 3e-3);
  }
  // The person of the probe does not answer, so the result names no one.
  const auto decision = Owner().Decide(reply, "reply", 0.9);
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->accepted);
  EXPECT_EQ(decision->where, where);
  const auto all = Owner().Decide(Write(Identify(2)), "reply", 0.9);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->identity, "bob");
  // Nor do their slots leave the key owner.
  const auto slots = Inside::Of(Owner()).OpenRawSlotsUnsafe(reply, "reply");
  ASSERT_TRUE(slots.ok()) << slots.status();
  for (size_t j = 0; j < (*slots)[0].size(); ++j) {
    EXPECT_EQ((*slots)[0][j] != ckks::Complex(0), j == 0 || j == 3) << j;
  }
}

// What stands in a place that is free need not be a cosine.
TEST_F(RestrictedTest, WhatStandsThereDoesNotCount) {
  EncryptedScores scores = Restricted(1, {0, 1, 3, 4});
  ckks::Ciphertext& reply = scores.replies[0].scores;
  std::vector<double> junk(context().slots());
  junk[2] = 5;
  const auto plain = *instance_->encoder->Encode(junk, reply.scale, reply.limbs());
  ASSERT_TRUE(ckks::AddPlain(context(), &reply, reply, plain).ok());
  const auto opened = Owner().Open(Write(scores), "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->refusal, "");
  EXPECT_NEAR(opened->candidates[0].score, Expected(1, 1), 3e-3);
  scores.restriction.reset();
  scores.identities = kNames;
  const auto refused = Owner().Open(Write(scores), "reply");
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_THAT(refused->refusal, HasSubstr("no cosine"));
}

TEST_F(RestrictedTest, WithoutNames) {
  EncryptedScores scores = Identify(5, {.with_identities = false});
  Restrict(context(), Only(5, {1, 4}), &scores);
  const auto opened = Owner().Open(Write(scores), "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(Named(*opened), ElementsAre("#1", "#4"));
  EXPECT_EQ(opened->candidates[0].identity, "#4");
}

// A threshold for searches is for as many people as answer.
TEST_F(RestrictedTest, ThresholdsAreForThoseWhoAnswer) {
  Model model = *model_;
  const ImpostorTail one = {0.4, 0.05, 0.08, -0.2, 4}, two = {0.5, 0.05, 0.08, -0.2, 4};
  // A false match rate that asks for less than any search.
  model.tables = {{model.AllModalities(),
                   {{0.5, 0.1, 0, 1 << 20, {}}},
                   {{1, 100, 9900, one, {one}}, {2, 100, 9900, two, {two}}}}};
  const KeyOwner owner = OwnerOf(model);
  auto threshold = [&](const EncryptedScores& scores) {
    const auto at = owner.ThresholdFor(Write(scores), "reply", {.fmr = 0.5, .fpir = 0.1});
    EXPECT_TRUE(at.ok()) << at.status();
    return at->score;
  };
  auto expected = [&](uint64_t people, uint32_t templates) {
    return model.ThresholdForSearch(0.1, people, templates, model.AllModalities())->score;
  };
  EXPECT_EQ(threshold(Identify(1)), expected(4, 2));
  EXPECT_EQ(threshold(Restricted(1, {0, 1, 3})), expected(2, 2));
  EXPECT_EQ(threshold(Restricted(1, {0, 1, 2})), expected(3, 1));
  EncryptedScores nameless = Restricted(1, {0, 1, 3});
  nameless.identities.clear();
  EXPECT_EQ(threshold(nameless), expected(3, 1));
  // No one answers: the decision is a rejection.
  const EncryptedScores nobody = Restricted(1, {});
  EXPECT_EQ(threshold(nobody), expected(1, 1));
  const auto decision = owner.Decide(Write(nobody), "reply", {.fmr = 0.5, .fpir = 0.1});
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_FALSE(decision->accepted);
  EXPECT_EQ(decision->refusal, "");
}

// If the conditions leave one person, the stricter threshold decides, as for a claim.
TEST_F(RestrictedTest, FewPeopleAreAsGoodAsClaimed) {
  Model model = *model_;
  const ImpostorTail tail = {0.4, 0.05, 0.08, -0.2, 4};
  model.tables = {{model.AllModalities(),
                   {{0.001, 0.9, 0, 1 << 20, {}}, {0.1, 0.2, 0, 1 << 20, {}}},
                   {{1, 100, 9900, tail, {tail}}, {2, 100, 9900, tail, {tail}}}}};
  const KeyOwner owner = OwnerOf(model);
  const std::vector<Condition> where = {{"site", {"berlin"}}};
  const Bytes all = Write(Identify(1)), few = Write(Restricted(1, {0, 1, 3}, where)),
              removed = Write(Restricted(1, {0, 1, 3}));
  const auto at = [&](const std::vector<uint8_t>& reply, const DecisionRule& rule) {
    return owner.ThresholdFor(reply, "reply", rule);
  };
  const auto refused = at(few, {.fpir = 0.1});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              ::testing::HasSubstr("fewer than 10 people"));
  EXPECT_EQ(Code(owner.Decide(few, "reply", {.fpir = 0.1})), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(owner.Budget()->identifications, 0u) << "nothing was opened";
  const double search = model.ThresholdForSearch(0.1, 2, 2, model.AllModalities())->score;
  EXPECT_EQ(at(few, {.fmr = 0.001, .fpir = 0.1})->score, 0.9);
  EXPECT_EQ(at(few, {.fmr = 0.001, .fpir = 0.1})->of, RateOf::kSearches);
  EXPECT_EQ(at(few, {.fmr = 0.1, .fpir = 0.1})->score, std::max(search, 0.2));
  EXPECT_LT(at(all, {.fmr = 0.001, .fpir = 0.1})->score, 0.9) << "a search of all is no claim";
  EXPECT_EQ(at(removed, {.fpir = 0.1})->score, search) << "nobody chose who was removed";
}

// Of a search that its client has restricted to few people each is charged like a claim.
TEST_F(RestrictedTest, FewPeopleAreChargedAsClaimed) {
  const KeyOwner owner = Owner(BudgetLimits{.rejections = 2});
  const std::vector<Condition> where = {{"site", {"berlin"}}};
  const auto decide = [&](const EncryptedScores& scores, double score) {
    return owner.Decide(Write(scores), "reply", score);
  };
  for (int i = 0; i < 2; ++i) {
    const auto rejected = decide(Restricted(1, {0, 1}, where), 2);
    ASSERT_TRUE(rejected.ok()) << rejected.status();
    EXPECT_FALSE(rejected->accepted);
  }
  EXPECT_EQ(owner.Budget()->clients[0].rejections_left, 0u);
  const auto spent = decide(Restricted(1, {0, 1}, where), -1);
  EXPECT_EQ(Code(spent), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(spent.status().message()), HasSubstr("one of the few people who answer"));
  EXPECT_EQ(Code(decide(Restricted(1, {1, 2}, where), -1)), absl::StatusCode::kResourceExhausted)
      << "one of them was asked about";
  const auto others = decide(Restricted(1, {2}, where), -1);
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_TRUE(others->accepted);
  EXPECT_TRUE(decide(Restricted(1, {0, 1}), -1)->accepted) << "a search that nobody restricted";
  EXPECT_EQ(owner.Budget()->decisions, 1u);
}

// Only published results are charged. A search that names no one costs its client one bit.
TEST_F(RestrictedTest, NobodyIsChargedWhoDoesNotAnswer) {
  const KeyOwner owner = Owner(BudgetLimits{.scores = 4});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(owner.Open(Write(Restricted(1, {0})), "reply").ok());
  }
  EXPECT_EQ(owner.Budget()->identities, 1u);
  EXPECT_EQ(owner.Budget()->scores, 2u);
  EXPECT_EQ(Code(owner.Open(Write(Restricted(1, {0, 1})), "reply")),
            absl::StatusCode::kResourceExhausted)
      << "ann's are spent, and she is the best";
  const auto others = owner.Open(Write(Restricted(1, {1, 2, 3, 4})), "reply");
  ASSERT_TRUE(others.ok()) << others.status();
  EXPECT_THAT(Named(*others), ElementsAre("bob", "cyd", "dan"));
  const uint64_t bits = owner.Budget()->clients[0].bits_left;
  const auto nobody = owner.Open(Write(Restricted(1, {})), "reply");
  ASSERT_TRUE(nobody.ok()) << nobody.status();
  EXPECT_EQ(nobody->refusal, "");
  EXPECT_TRUE(nobody->candidates.empty());
  EXPECT_EQ(nobody->searched, 0u);
  EXPECT_EQ(bits - owner.Budget()->clients[0].bits_left, 1u);
}

// In a gallery of three blocks, no template of the middle one answers.
TEST_F(RestrictedTest, BlocksOfNobodyAreLeftOut) {
  const uint64_t per_block = 2 * context().slots();
  EncryptedScores scores = Identify(1);
  const ScoreReply first = scores.replies[0];
  scores.replies = {first, Identify(2).replies[0], Identify(5).replies[0]};
  scores.templates = 2 * per_block + 5;
  scores.identities.assign(scores.templates, "somebody else");
  scores.identities[1] = "bob";
  scores.identities[2 * per_block + 4] = "dan";
  EXPECT_EQ(Owner().Open(Write(scores), "reply")->searched, scores.templates);
  Restrict(context(), Only(scores.templates, {1, 2 * per_block + 4}), &scores);
  EXPECT_THAT(ReplyBlocks(context(), scores), ElementsAre(0, 2));
  ASSERT_EQ(scores.replies.size(), 2u);
  const Bytes bytes = Write(scores);
  const auto read = ParseScores(context(), bytes, "reply");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(SerializeScores(context(), *read), bytes);
  ASSERT_EQ(read->replies[1].answers.size(), 1u);
  EXPECT_EQ(read->replies[1].answers[0].slot, 4u);
  EXPECT_EQ(read->replies[1].answers[0].lane, 0u);
  const auto opened = Owner().Open(bytes, "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(Named(*opened), ElementsAre("bob", "dan"));
  for (const Candidate& c : opened->candidates) {
    EXPECT_NEAR(c.score, c.identity == "bob" ? Expected(1, 2) : Expected(5, 5), 3e-3);
  }
  // As many replies as blocks that answer: no more, no fewer.
  EncryptedScores more = scores;
  more.replies.push_back(first);
  EXPECT_THAT(Refusal(more), HasSubstr("do not agree"));
  scores.replies.pop_back();
  EXPECT_THAT(Refusal(scores), HasSubstr("do not agree"));
}

TEST_F(RestrictedTest, ARestrictionIsWrittenWhereSomebodyDoesNotAnswer) {
  EncryptedScores all = Identify(1);
  const Bytes before = Write(all);
  Restrict(context(), Only(5, {0, 1, 2, 3, 4}), &all);
  EXPECT_EQ(Write(all), before) << "all answer";
  EXPECT_FALSE(ParseScores(context(), before, "reply")->restriction.has_value());
  const Bytes bytes = Write(Restricted(1, {0}, {{"age", {}, 18, 30}}));
  const auto read = ParseScores(context(), bytes, "reply");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(SerializeScores(context(), *read), bytes);
  EXPECT_EQ(read->restriction->time, 1800000000u);
  EXPECT_EQ(*OriginOf(bytes, "reply"), read->origin);
  for (const uint32_t version : {6u, 8u}) {
    EXPECT_NE(Refusal(Resealed(bytes, version)), "");
    EXPECT_FALSE(OriginOf(Resealed(bytes, version), "reply").ok());
  }
}

TEST_F(RestrictedTest, NamesAreThoseOfWhoAnswers) {
  EncryptedScores scores = Restricted(1, {0, 3});
  scores.identities[1] = "bob";
  EXPECT_THAT(Refusal(scores), HasSubstr("place 1 is not matched, but has a name"));
  scores = Restricted(1, {0, 3});
  scores.identities[3].clear();
  EXPECT_THAT(Refusal(scores), HasSubstr("row 3 (from 0): an identity is empty"));
  scores = Identify(1);
  scores.identities[2].clear();
  EXPECT_THAT(Refusal(scores), HasSubstr("empty"));
  scores = Restricted(1, {0, 3});
  scores.restriction->answering = PlaceSet::All(5);
  scores.identities = kNames;
  EXPECT_THAT(Refusal(scores), HasSubstr("leaves places out, and all answer"));
  scores = Restricted(1, {0, 3});
  scores.restriction->answering = PlaceSet::None(6);
  scores.restriction->answering.Add(5);
  EXPECT_THAT(Refusal(scores), HasSubstr("a place that is not there"));
  scores = Restricted(1, {0, 3}, {{"age", {}, 30, 18}});
  EXPECT_THAT(Refusal(scores), HasSubstr("nothing lies within"));
  EncryptedScores claim =
      *server_->Verify(*server_->OpenGallery(directory_, false), Set({1}, {"x"}), "ann", {});
  claim.restriction = Only(0, {});
  EXPECT_THAT(Refusal(claim), HasSubstr("a verification that leaves places out"));
}

}  // namespace
}  // namespace heft
