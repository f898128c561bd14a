// SPDX-License-Identifier: Apache-2.0
// The key owner's openings and decisions, and their publication.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/inside.h"
#include "fusion/errors.h"
#include "fusion/norm_proof.h"
#include "fusion/recovery_figures.h"
#include "heft/openings.h"
#include "owner/key_owner_impl.h"
#include "owner/testing.h"

namespace heft {
namespace {

using testing::Code;
using testing::EnrolDirectly;

class KeyOwnerTest : public testing::GalleryTest {};

TEST_F(KeyOwnerTest, ScoresOfAnotherFormAreRefused) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const EncryptedScores good = *server_->Identify(gallery, Set({1}, {"x"}), {});
  EXPECT_TRUE(Owner().Open(SerializeScores(context, good), "scores").ok());
  // A smaller scale would make the rounding of published scores finer.
  EncryptedScores bad = good;
  bad.replies[0].scores.scale *= 1e-3;
  EXPECT_EQ(Code(Owner().Open(SerializeScores(context, bad), "scores")),
            absl::StatusCode::kDataLoss);
  bad = good;
  bad.identities[0] = "\x1b[2Jann";
  EXPECT_FALSE(Owner().Open(SerializeScores(context, bad), "scores").ok());
  // A reply of degree 2 is a form that servers make.
  ProbeOptions options;
  options.relinearise = false;
  const EncryptedScores degree_two = *server_->Identify(gallery, Set({1}, {"x"}), options);
  auto opened = Owner().Open(SerializeScores(context, degree_two), "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_NEAR(opened->candidates[0].score, Expected(1, 1), 3e-3);
}

// The set of modalities decides which table applies, so it must be one of the model's.
TEST_F(KeyOwnerTest, SetsThatTheModelLacksAreRefused) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  EncryptedScores scores = *server_->Identify(gallery, Set({1}, {"x"}), {});
  EXPECT_EQ(scores.modalities, 3u);
  for (const uint32_t set : {0u, 4u, 7u, 0x80u}) {
    scores.modalities = set;
    const auto bytes = SerializeScores(context, scores);
    const auto opened = Owner().Open(bytes, "scores");
    EXPECT_EQ(Code(opened), absl::StatusCode::kDataLoss) << set;
    EXPECT_THAT(std::string(opened.status().message()), ::testing::HasSubstr("modalit"));
    EXPECT_EQ(Code(Owner().Decide(bytes, "scores", 0.5)), absl::StatusCode::kDataLoss) << set;
  }
}

// A probe is judged by the table of its modalities; without one its scores are all that there is.
TEST_F(KeyOwnerTest, AProbeIsJudgedByTheTableOfItsModalities) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const auto claim = [&](uint32_t set) {
    EncryptedScores scores = *server_->Verify(gallery, Set({1}, {"x"}), "ann", {});
    scores.modalities = set;  // as if its server had said so
    return SerializeScores(*instance_->context, scores);
  };
  Model model = *model_;
  model.tables = {{3, {{0.1, 2.0, 0.5, 4000}, {0.01, 2.5, 0.5, 4000}}},
                  {1, {{0.1, 0.25, 0.5, 4000}, {0.01, 0.5, 0.5, 4000}}}};
  model.tables[1].calibration = {{.slope = 0, .intercept = 7}};
  const KeyOwner owner = OwnerOf(model);
  const auto whole = owner.Decide(claim(3), "whole", {.fmr = 0.1});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_FALSE(whole->accepted);
  EXPECT_EQ(whole->threshold.score, 2.0);
  EXPECT_THAT(whole->modalities, ::testing::ElementsAre("m0", "m1"));
  const auto face = owner.Decide(claim(1), "face", {.fmr = 0.1, .likelihood = true});
  ASSERT_TRUE(face.ok()) << face.status();
  EXPECT_TRUE(face->accepted);
  EXPECT_EQ(face->threshold.score, 0.25);
  EXPECT_THAT(face->modalities, ::testing::ElementsAre("m0"));
  EXPECT_EQ(LikelihoodName(face->likelihood), "moderate") << "by the table of faces";
  EXPECT_EQ(Code(owner.Decide(claim(3), "whole", {.fmr = 0.1, .likelihood = true})),
            absl::StatusCode::kFailedPrecondition);
  const auto voice = owner.Decide(claim(2), "voice", {.fmr = 0.1});
  EXPECT_EQ(Code(voice), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(voice.status().message()),
              ::testing::AllOf(::testing::HasSubstr("probes with m1"),
                               ::testing::HasSubstr("heft calibrate --data DATA")));
  const auto opened = OwnerOf(model).Open(claim(2), "voice");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->modalities, ::testing::ElementsAre("m1"));
  EXPECT_FALSE(opened->candidates[0].log_likelihood_ratio.has_value());
  EXPECT_TRUE(OwnerOf(model).Decide(claim(2), "voice", 0.1)->accepted) << "the caller's own score";
}

TEST_F(KeyOwnerTest, OnlyAnswersAreOpened) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const EncryptedScores ranked = *server_->Identify(gallery, Set({1}, {"x"}), {});
  const EncryptedScores claim = *server_->Verify(gallery, Set({1}, {"x"}), "bob", {});
  for (const EncryptedScores* scores : {&ranked, &claim}) {
    const std::vector<ckks::Complex> all =
        instance_->encoder->Decode(ckks::Decrypt(context, scores->replies[0].scores, *secret_));
    auto opened =
        Inside::Of(Owner()).OpenRawSlotsUnsafe(SerializeScores(context, *scores), "scores");
    ASSERT_TRUE(opened.ok()) << opened.status();
    ASSERT_EQ(opened->size(), 1u);
    const std::vector<ckks::Complex>& slots = (*opened)[0];
    ASSERT_EQ(slots.size(), all.size());
    double hidden = 0;
    for (size_t j = 0; j < slots.size(); ++j) {
      const bool answers = scores == &ranked ? j < 2 : j == 1;
      EXPECT_EQ(slots[j], answers ? ckks::Complex(all[j].real(), 0) : ckks::Complex(0)) << j;
      hidden += answers ? 0 : std::norm(all[j]);
    }
    EXPECT_GT(hidden, 0) << "there was nothing to mask";
  }
}

TEST_F(KeyOwnerTest, PublishedScoresAreRounded) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, {"ann", "bob", "cyd"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const EncryptedScores scores = *server_->Identify(gallery, Set({1}, {"x"}), {});
  const std::vector<uint8_t> bytes = SerializeScores(*instance_->context, scores);
  const auto opened = Owner().Open(bytes, "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto raw = Inside::Of(Owner()).OpenRawSlotsUnsafe(bytes, "scores");
  ASSERT_TRUE(raw.ok()) << raw.status();
  for (const Candidate& c : opened->candidates) {
    const double steps = c.score / kScoreStep;
    EXPECT_NEAR(steps, std::round(steps), 1e-9) << c.identity;
  }
  EXPECT_NE((*raw)[0][0].real(), opened->candidates[0].score);
  EXPECT_NEAR((*raw)[0][0].real(), opened->candidates[0].score, kScoreStep / 2);
  // A decision holds no score at all, and is made on a blurred one.
  constexpr double kDistance = 10 * kDecisionBlur;
  const auto yes = Owner().Decide(bytes, "scores", opened->candidates[0].score - kDistance);
  ASSERT_TRUE(yes.ok()) << yes.status();
  EXPECT_TRUE(yes->accepted);
  EXPECT_EQ(yes->identity, "ann");
  const auto no = Owner().Decide(bytes, "scores", opened->candidates[0].score + kDistance);
  ASSERT_TRUE(no.ok()) << no.status();
  EXPECT_FALSE(no->accepted);
  EXPECT_EQ(no->identity, "");
}

// A rate is of one comparison or of a search, and the reply says which was made.
TEST_F(KeyOwnerTest, RatesAreOfTheQuestionThatWasAsked) {
  ASSERT_TRUE(
      EnrolDirectly(*server_, directory_, Set({1, 2, 3, 4}, {"ann", "bob", "cyd", "bob"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const auto bytes = [&](const EncryptedScores& scores) {
    return SerializeScores(*instance_->context, scores);
  };
  const EncryptedScores search = *server_->Identify(gallery, Set({1}, {"x"}), {});
  const EncryptedScores claim = *server_->Verify(gallery, Set({1}, {"x"}), "ann", {});
  Model model = *model_;
  const ImpostorTail one = {0.4, 0.05, 0.08, -0.2, 4}, two = {0.5, 0.05, 0.08, -0.2, 4};
  const uint32_t all = model.AllModalities();
  model.tables = {{all,
                   {{0.1, 0.3, 0.05, 4000, {}}, {0.01, 0.5, 0.1, 4000, {}}},
                   {{1, 100, 9900, one, {one}}, {2, 100, 9900, two, {two}}}}};
  const KeyOwner owner = OwnerOf(model);
  EXPECT_EQ(owner.ThresholdFor(bytes(claim), "claim", {.fmr = 0.05})->score,
            model.ThresholdFor(0.05, all)->score);
  EXPECT_EQ(owner.ThresholdFor(bytes(claim), "claim", {.fmr = 0.05, .fpir = 0.1})->of,
            RateOf::kComparisons);
  EXPECT_EQ(owner.ThresholdFor(bytes(search), "search", {.fmr = 0.05, .fpir = 0.1})->of,
            RateOf::kSearches);
  EXPECT_EQ(Code(owner.ThresholdFor(bytes(claim), "claim", {.fpir = 0.1})),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code(owner.Decide(bytes(search), "search", {.fmr = 0.05})),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(owner.ThresholdFor(bytes(search), "search", {.fpir = 0.1})->score,
            model.ThresholdForSearch(0.1, 3, 2, all)->score)
      << "three people, one of them twice";
  // Without names each template counts as a person.
  EncryptedScores nameless = search;
  nameless.identities.clear();
  EXPECT_EQ(owner.ThresholdFor(bytes(nameless), "search", {.fpir = 0.1})->score,
            model.ThresholdForSearch(0.1, 4, 1, all)->score);
  for (const DecisionRule& rule :
       {DecisionRule{}, DecisionRule{0.5, 0.1, {}}, DecisionRule{0.5, {}, 0.1}}) {
    EXPECT_EQ(Code(owner.Decide(bytes(claim), "claim", rule)), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(owner.Budget()->entries, 0u) << "nothing was opened";
  // Nor by way of the scores, if all candidates reach it.
  const auto opened = OwnerOf(model).Open(bytes(search), "search");
  ASSERT_TRUE(opened.ok()) << opened.status();
  ChosenThreshold low = *model.ThresholdFor(0.05, all);
  low.score = -1;
  EXPECT_FALSE(opened->Decide(low).accepted);
  EXPECT_NE(opened->Decide(low).refusal, "");
  EXPECT_TRUE(opened->Decide(-1.0).accepted) << "a score from elsewhere is the caller's own";
  const auto decided = owner.Decide(bytes(search), "search", {.fpir = 0.1});
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_EQ(decided->threshold.rate, 0.1);
  EXPECT_EQ(decided->accepted, Expected(1, 1) >= decided->threshold.score);
  EXPECT_EQ(decided->likelihood, Likelihood::kUnsaid) << "nobody asked";
}

// Without decision tables nothing is decided by a rate, nothing is charged, and scores are there.
TEST_F(KeyOwnerTest, WithoutDecisionTablesThereAreScoresAlone) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2}, {"ann", "bob"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const auto search =
      SerializeScores(*instance_->context, *server_->Identify(gallery, Set({1}, {"x"}), {}));
  const auto claim =
      SerializeScores(*instance_->context, *server_->Verify(gallery, Set({1}, {"x"}), "ann", {}));
  Model model = *model_;
  model.tables.clear();
  const KeyOwner owner = OwnerOf(model);
  for (const auto& refused : {owner.ThresholdFor(claim, "claim", {.fmr = 0.05}).status(),
                              owner.Decide(claim, "claim", {.fmr = 0.05}).status(),
                              owner.ThresholdFor(search, "search", {.fpir = 0.05}).status(),
                              owner.Decide(search, "search", {.fpir = 0.05}).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("heft calibrate"));
  }
  EXPECT_EQ(owner.Budget()->entries, 0u);
  EXPECT_TRUE(owner.Decide(claim, "claim", {.score = -1})->accepted);
  const auto opened = owner.Open(search, "search");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->candidates.size(), 2u);
}

// Four answers instead of two are two bits, and one acceptance.
TEST_F(KeyOwnerTest, ALikelihoodIsCoarseAndTwoBits) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, {"ann", "bob", "cyd"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const auto search = [&] {
    return SerializeScores(*instance_->context, *server_->Identify(gallery, Set({1}, {"x"}), {}));
  };
  const auto claim = [&] {
    return SerializeScores(*instance_->context,
                           *server_->Verify(gallery, Set({1}, {"x"}), "ann", {}));
  };
  const DecisionRule rule = {.score = 0.9, .likelihood = true};
  EXPECT_EQ(Code(Owner().Decide(claim(), "claim", rule)), absl::StatusCode::kFailedPrecondition)
      << "the model has no calibration";
  // The same ratio for every score; a search of three divides it by three.
  const auto with_ratio = [&](double ratio) {
    Model model = *model_;
    model.tables = {{model.AllModalities()}};
    model.tables[0].calibration = {{.slope = 0, .intercept = std::log(ratio)}};
    return OwnerOf(model, BudgetLimits{.scores = 4, .decisions = 6, .client_bits = 1000});
  };
  const auto likelihood = [&](double ratio, const std::vector<uint8_t>& reply) {
    const auto decided = with_ratio(ratio).Decide(reply, "reply", rule);
    return decided.ok() && decided->accepted ? LikelihoodName(decided->likelihood) : "nothing";
  };
  EXPECT_EQ(likelihood(50, claim()), "weak");
  EXPECT_EQ(likelihood(200, claim()), "moderate");
  EXPECT_EQ(likelihood(20000, claim()), "strong");
  EXPECT_EQ(likelihood(200, search()), "weak");
  EXPECT_EQ(likelihood(15000, search()), "moderate");
  EXPECT_EQ(likelihood(60000, search()), "strong");

  for (const auto& reply : {std::function(claim), std::function(search)}) {
    const KeyOwner owner = with_ratio(200);
    ASSERT_TRUE(owner.Decide(reply(), "reply", rule).ok());
    EXPECT_EQ(owner.Budget()->decisions, 1u);
    EXPECT_EQ(owner.Budget()->clients[0].bits_left, 98u)
        << "of the tenth that unlisted clients get";
    ASSERT_TRUE(owner.Decide(reply(), "reply", DecisionRule{.score = 0.9}).ok());
    EXPECT_EQ(owner.Budget()->decisions, 2u);
    EXPECT_EQ(owner.Budget()->clients[0].bits_left, 97u);
    // A reject is one of the four answers as well.
    const KeyOwner strict = with_ratio(200);
    const auto no = strict.Decide(reply(), "reply", {.score = 1.5, .likelihood = true});
    ASSERT_TRUE(no.ok()) << no.status();
    EXPECT_FALSE(no->accepted);
    EXPECT_EQ(no->likelihood, Likelihood::kUnsaid);
    EXPECT_EQ(strict.Budget()->decisions, 0u) << "who is rejected is not charged";
    EXPECT_EQ(strict.Budget()->clients[0].bits_left, 98u);
  }
}

TEST_F(KeyOwnerTest, EveryOpeningIsChargedFirst) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const EncryptedScores good = *server_->Identify(gallery, Set({1}, {"x"}), {});
  const std::vector<uint8_t> bytes = SerializeScores(context, good);
  const KeyOwner owner = Owner(BudgetLimits{.scores = 6});  // three of them for one client
  // A refusal for another reason costs nothing.
  EncryptedScores bad = good;
  bad.replies[0].scores.scale *= 2;
  EXPECT_EQ(Code(owner.Open(SerializeScores(context, bad), "scores")), absl::StatusCode::kDataLoss);
  const auto another = [&] {
    return SerializeScores(context, *server_->Identify(gallery, Set({1}, {"x"}), {}));
  };
  EXPECT_TRUE(owner.Open(bytes, "scores").ok());
  EXPECT_TRUE(owner.Open(another(), "scores").ok());
  EXPECT_TRUE(owner.Open(another(), "scores").ok());
  EXPECT_EQ(Code(owner.Open(another(), "scores")), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(owner.Decide(another(), "scores", 0.5).ok()) << "decisions go on";
  // Every reply once, whatever for.
  EXPECT_EQ(Code(owner.Open(bytes, "scores")), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Code(owner.Decide(bytes, "scores", 0.5)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Code(Inside::Of(owner).OpenRawSlotsUnsafe(bytes, "scores")),
            absl::StatusCode::kFailedPrecondition);
  // No room for flooding, whatever the server says its noise is, rescaled or not; nothing charged.
  ProbeOptions raw;
  raw.relinearise = false;
  const Flooding flooded;
  for (EncryptedScores scores : {good, *server_->Identify(gallery, Set({1}, {"x"}), raw)}) {
    scores.replies[0].scores.noise.error = 0;
    const KeyOwner fresh = Owner();
    EXPECT_EQ(Code(fresh.Open(SerializeScores(context, scores), "scores", flooded)),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(fresh.Budget()->entries, 0u);
  }
  // A verification is charged to the identity that it is of.
  EncryptedScores claim = *server_->Verify(gallery, Set({1}, {"x"}), "ann", {});
  claim.claimed = "eve";
  EXPECT_EQ(Code(Owner().Open(SerializeScores(context, claim), "scores")),
            absl::StatusCode::kDataLoss);
}

// A claim that is rejected or refused is charged to its client alone.
TEST_F(KeyOwnerTest, ARejectedClaimIsChargedToItsClient) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, {"ann", "bob", "cyd"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const auto claim = [&](const std::string& who, bool sound = true) {
    EncryptedScores scores = *server_->Verify(gallery, Set({1}, {"x"}), who, {});
    // The proof of another norm than the scores are of.
    if (!sound) scores.norm = scores.replies[0].scores;
    if (!sound) scores.norm.scale = NormProofScale(instance_->params(), instance_->plan);
    return SerializeScores(context, scores);
  };
  const KeyOwner owner = Owner(BudgetLimits{.rejections = 3});
  EXPECT_FALSE(owner.Decide(claim("bob"), "reply", 0.9)->accepted);
  const auto refused = owner.Decide(claim("bob", false), "reply", 0.9);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_NE(refused->refusal, "");
  EXPECT_EQ(owner.Budget()->clients[0].rejections_left, 1u);
  EXPECT_TRUE(owner.Decide(claim("bob"), "reply", -1)->accepted);
  EXPECT_EQ(owner.Budget()->clients[0].rejections_left, 2u) << "an acceptance gives one back";
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(owner.Decide(claim("bob"), "reply", 0.9)->accepted);
  const auto spent = owner.Decide(claim("bob"), "reply", -1);
  EXPECT_EQ(Code(spent), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(spent.status().message()),
              ::testing::AllOf(::testing::HasSubstr("was rejected 3 times about \"bob\""),
                               ::testing::HasSubstr("Other clients are not affected")));
  EXPECT_TRUE(owner.Decide(claim("ann"), "reply", 0.9)->accepted) << "others are asked about";
  EXPECT_EQ(owner.Budget()->decisions, 1u);
  const auto search = SerializeScores(context, *server_->Identify(gallery, Set({2}, {"x"}), {}));
  EXPECT_TRUE(owner.Decide(search, "reply", 0.9)->accepted) << "and the person is still found";
}

// An attack: identifications by anybody, and everybody is locked out.
TEST_F(KeyOwnerTest, IdentificationsLockNobodyOut) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, {"ann", "bob", "cyd"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const auto reply = [&](const Gallery::Impl& from, uint64_t who) {
    return SerializeScores(context, *server_->Identify(from, Set({who}, {"x"}), {}));
  };
  const KeyOwner owner = Owner();
  int answered = 0;
  for (int i = 0; i < 49; ++i) answered += owner.Open(reply(gallery, 1 + i % 3), "reply").ok();
  EXPECT_EQ(answered, 1) << "one client's half of two scores";
  const auto decision = owner.Decide(reply(gallery, 1), "reply", 0.5);
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_TRUE(decision->accepted);
  // Enrolled a minute ago: charged for nothing.
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({4}, {"dan"})).ok());
  const Gallery::Impl larger = *server_->OpenGallery(directory_, false);
  const auto opened = owner.Open(reply(larger, 4), "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->candidates.size(), 1u);
  EXPECT_EQ(opened->candidates[0].identity, "dan");
  EXPECT_EQ(opened->withheld, 3u);
}

// The default budget of scores is what the model's training measured, 0 without a measurement. A
// refusal by it spends no reply, and decisions go on.
TEST_F(KeyOwnerTest, TheDefaultBudgetOfScoresIsWhatWasMeasured) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const auto reply = [&] {
    return SerializeScores(*instance_->context, *server_->Identify(gallery, Set({1}, {"x"}), {}));
  };
  const auto measured = [&](std::vector<RecoveryFigures::Point> scores) {
    Model model = *model_;
    const RecoveryFigures figures = {.people = 1000, .scores = std::move(scores), .decisions = {}};
    model.training_summary = Json::object({{"recovery", figures.ToJson()}}).dump();
    return OwnerOf(model, std::nullopt);
  };
  const KeyOwner few = measured({{0, 0}, {1, 0}, {2, 0.005}, {4, 0.02}, {8, 0}});
  EXPECT_EQ(few.Budget()->limits.scores, 2u);
  EXPECT_TRUE(few.Open(reply(), "reply").ok());
  EXPECT_EQ(Code(few.Open(reply(), "reply")), absl::StatusCode::kResourceExhausted)
      << "one client gets half";
  for (const bool unmeasured : {false, true}) {
    KeyOwner none = unmeasured ? OwnerOf(*model_, std::nullopt) : measured({{0, 0.02}, {1, 0.03}});
    EXPECT_EQ(none.Budget()->limits.scores, 0u);
    const std::vector<uint8_t> once = reply();
    const auto refused = none.Open(once, "reply");
    EXPECT_EQ(Code(refused), absl::StatusCode::kResourceExhausted);
    const std::string why(refused.status().message());
    EXPECT_THAT(why,
                ::testing::HasSubstr(unmeasured ? "holds no measurement" : "measured that no"));
    EXPECT_THAT(why, ::testing::HasSubstr("heft budget --set scores=N"));
    EXPECT_THAT(DescribeBudget(none, *none.Budget()).text, ::testing::HasSubstr(why));
    EXPECT_EQ(none.Budget()->entries, 0u);
    EXPECT_EQ(Code(Inside::Of(none).OpenRawSlotsUnsafe(once, "reply")),
              absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(none.Decide(once, "reply", 0.5)->accepted);
    ASSERT_TRUE(none.SetBudget({.scores = 2}).ok());
    EXPECT_TRUE(none.Open(reply(), "reply").ok());
    ASSERT_TRUE(none.SetBudget({.scores = 0}).ok());
    EXPECT_EQ(Code(none.Open(reply(), "reply")), absl::StatusCode::kResourceExhausted);
  }
}

// The model is calibrated again, which measures anew, and the key stays in use.
TEST_F(KeyOwnerTest, AModelThatAllowsFewerScoresLimitsAKeyInUse) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const auto open = [&](const KeyOwner& owner) {
    const auto reply =
        SerializeScores(*instance_->context, *server_->Verify(gallery, Set({1}, {"x"}), "ann", {}));
    return owner.Open(reply, "reply").status().code();
  };
  const auto measured = [&](uint64_t scores) {
    Model model = *model_;
    RecoveryFigures figures = {.people = 1000, .scores = {{0, 0}}, .decisions = {}};
    if (scores > 0) figures.scores.push_back({scores, 0});
    model.training_summary = Json::object({{"recovery", figures.ToJson()}}).dump();
    EXPECT_EQ(model.Id(), model_->Id());
    SecretKeys keys = *ckks::SecretKey::FromCoefficients(*instance_->context, secret_->key_id(),
                                                         secret_->coefficients());
    auto journal = QueryJournal::OnDisk(temporary_ / "journal", *JournalKeys::Derive(keys));
    const absl::Status begun = journal->Start("for a test");
    EXPECT_TRUE(begun.ok() || absl::IsAlreadyExists(begun)) << begun;
    return *KeyOwner::Impl::Own(model, std::move(keys), std::move(journal));
  };
  constexpr auto kOk = absl::StatusCode::kOk, kSpent = absl::StatusCode::kResourceExhausted;
  EXPECT_EQ(open(measured(8)), kOk);
  EXPECT_EQ(measured(4).Budget()->limits.scores, 4u);
  EXPECT_EQ(open(measured(4)), kOk) << "the second of four, half of which one client gets";
  EXPECT_EQ(open(measured(4)), kSpent);
  EXPECT_EQ(open(measured(8)), kSpent) << "more only by hand";
  EXPECT_EQ(measured(8).Budget()->limits.scores, 4u);
  EXPECT_EQ(open(measured(0)), kSpent);
  ASSERT_TRUE(measured(8).SetBudget({.scores = 6}).ok());
  EXPECT_EQ(open(measured(8)), kOk);
  EXPECT_EQ(measured(8).Budget()->scores, 3u) << "what was opened stays counted";
  EXPECT_EQ(measured(0).Budget()->limits.scores, 0u);
}

TEST_F(KeyOwnerTest, NoMoreIsPublishedThanAskedFor) {
  std::vector<uint64_t> people(12);
  std::vector<std::string> names;
  for (uint64_t& person : people) {
    person = names.size() + 1;
    names.push_back("p" + std::to_string(person));
  }
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set(people, names)).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const auto reply = [&] {
    return SerializeScores(*instance_->context, *server_->Identify(gallery, Set({1}, {"x"}), {}));
  };
  const KeyOwner owner = Owner(BudgetLimits{.scores = 100, .client_bits = 100000});
  EXPECT_EQ(owner.Open(reply(), "reply")->candidates.size(), kPublishedCandidates);
  EXPECT_EQ(owner.Budget()->identities, kPublishedCandidates);
  EXPECT_EQ(owner.Open(reply(), "reply", {}, 3)->candidates.size(), 3u);
  EXPECT_EQ(owner.Open(reply(), "reply", {}, 100)->candidates.size(), 12u);
}

// What SECURITY.md says of profile standard, whose scores are of 4096 coefficients.
TEST(KeyUnitsTest, AScoreTellsABitAndADecisionNearlyNothing) {
  EXPECT_EQ(MostKeyUnits(4096), 6492 * kKeyUnits);
  EXPECT_EQ(KeyUnits(/*decision=*/false, 2e-4), kKeyUnits);
  EXPECT_EQ(KeyUnits(/*decision=*/true, 2e-4), 1u);
  EXPECT_GT(KeyUnits(/*decision=*/false, 1e-3), 2 * kKeyUnits) << "of a larger error, more";
  EXPECT_GT(KeyUnits(/*decision=*/true, 1e-3), 10u);
  for (const uint32_t gamma : {32, 256}) {
    const Rings rings = *MakeRings(testing::RandomModel({gamma, 96}, gamma, 3, "standard"));
    for (const bool verification : {false, true}) {
      const double error = ScoreError(rings.matching.params(), rings.matching.plan, verification);
      EXPECT_NEAR(KeyUnits(/*decision=*/true, error), verification ? 9 : 13, 1) << error;
      EXPECT_NEAR(KeyUnits(/*decision=*/false, error), verification ? 169 : 214, 1) << error;
    }
  }
}

}  // namespace
}  // namespace heft
