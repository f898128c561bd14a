// SPDX-License-Identifier: Apache-2.0
// Two rings: thin probes, templates that were switched, verification and bulk enrolment, against
// plain arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "experiment/random_model.h"
#include "experiment/roles.h"
#include "fusion/bulk.h"
#include "fusion/norm_proof.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

// The promised bound of the worst score.
constexpr double kTolerance = 2e-3;

struct TwoRingsCase {
  const char* name;
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
  int degree;
};
void PrintTo(const TwoRingsCase& c, std::ostream* out) { *out << c.name; }

class ThinTest : public ::testing::TestWithParam<TwoRingsCase> {
 protected:
  void SetUp() override {
    model_ = RandomModel(GetParam().dimensions, GetParam().gamma, GetParam().degree, "standard");
    auto roles = Roles::Create(model_);
    ASSERT_TRUE(roles.ok()) << roles.status();
    roles_ = std::move(*roles);
  }
  Vectors Sample() { return RandomSample(model_, random_); }
  // What a thin probe's scores are cosines with: exactly normalised.
  std::vector<double> Exact(const Vectors& sample) const {
    double norm = 0;
    std::vector<double> z = FusePlain(model_, sample, &norm);
    const double length = std::sqrt(Dot(z, z));
    for (double& v : z) v /= length;
    return z;
  }
  Ciphertext Template(const Vectors& sample) {
    auto encrypted = roles_->EncryptSample(sample);
    EXPECT_TRUE(encrypted.ok()) << encrypted.status();
    auto z = roles_->FuseTemplate(Pointers(*encrypted));
    EXPECT_TRUE(z.ok()) << z.status();
    return *z;
  }
  ProvenProbe Probe(const Vectors& sample) {
    auto encrypted = roles_->EncryptProbe(sample);
    EXPECT_TRUE(encrypted.ok()) << encrypted.status();
    auto fused = roles_->prober().Fuse(Pointers(*encrypted));
    EXPECT_TRUE(fused.ok()) << fused.status();
    return *fused;
  }
  uint32_t slots() const { return roles_->params().slots(); }

  std::mt19937_64 random_{7};
  Model model_;
  std::unique_ptr<Roles> roles_;
};

TEST_P(ThinTest, ScoresAreCosines) {
  // Neighbours in one lane, the same slot in the other, and the last position.
  const std::vector<uint32_t> positions = {0, 1, 7, slots(), slots() + 1, 2 * slots() - 1};
  std::vector<Ciphertext> templates;
  std::vector<NewTemplate> added;
  Vectors plain;
  templates.reserve(positions.size());
  for (uint32_t at : positions) {
    const Vectors sample = Sample();
    plain.push_back(FusePlain(model_, sample));
    templates.push_back(Template(sample));
    added.push_back({&templates.back(), PositionOf(at, slots())});
  }
  TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
  ASSERT_TRUE(roles_->Enrol(&block, added).ok());
  Vectors sample = Sample();
  for (const bool whole : {true, false}) {
    if (!whole) sample[0].clear();  // a missing modality: normalised exactly all the same
    if (!whole && sample.size() == 1) break;
    const std::vector<double> probe = Exact(sample);
    const ProvenProbe fused = Probe(sample);
    const auto scores = roles_->Match(block, fused.z);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_EQ(scores->limbs(), ScoreLimbs(roles_->params()));
    const auto sent = roles_->Sent(*scores);
    ASSERT_TRUE(sent.ok()) << sent.status();
    const std::vector<double> opened = roles_->OpenScores(*sent, &fused.norm);
    double worst = 0;
    for (size_t i = 0; i < opened.size(); ++i) {
      const auto at = std::find(positions.begin(), positions.end(), i);
      const double expected = at == positions.end() ? 0 : Dot(probe, plain[at - positions.begin()]);
      worst = std::max(worst, std::abs(opened[i] - expected));
    }
    EXPECT_LE(worst, kTolerance) << (whole ? "whole" : "one missing");
    // Scores have no factor in them, so they prove nothing: the probe is refused as a whole.
    bool refused = false;
    for (double score : roles_->OpenScores(*sent, &*sent, &refused)) {
      ASSERT_EQ(score, Roles::kRefusedScore);
    }
    EXPECT_TRUE(refused);
    roles_->OpenScores(*sent, &fused.norm, &refused);
    EXPECT_FALSE(refused);
  }
}

// Batches give the residues of one at a time, also where a block has several giants.
TEST_P(ThinTest, BatchesGiveTheSameResidues) {
  const Instance& matching = roles_->prober().instance();
  const ckks::EvaluationKeys& keys = roles_->prober().keys();
  const Ciphertext z = Template(Sample());
  std::vector<TiledCiphertexts> blocks(3, EmptyBlock(roles_->context(), model_.gamma));
  ASSERT_TRUE(roles_->Enrol(&blocks[1], std::vector<NewTemplate>{{&z, {3, 1}}}).ok());
  std::vector<TiledCiphertexts> probes;
  for (int i = 0; i < 2; ++i) {
    auto probe = PrepareProbe(matching, Probe(Sample()).z, keys);
    ASSERT_TRUE(probe.ok()) << probe.status();
    probes.push_back(std::move(*probe));
  }
  const auto packed = PackProbes(matching, probes);
  ASSERT_TRUE(packed.ok()) << packed.status();
  for (const bool relinearise : {true, false}) {
    const auto batch = MatchBlocks(matching, Views(blocks), *packed, keys, relinearise);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(batch->size(), blocks.size() * probes.size());
    for (size_t p = 0; p < probes.size(); ++p) {
      const auto alone = MatchBlocks(matching, Views(blocks), probes[p], keys, relinearise);
      ASSERT_TRUE(alone.ok()) << alone.status();
      for (size_t b = 0; b < blocks.size(); ++b) {
        const Ciphertext& one = (*alone)[b];
        const Ciphertext& other = (*batch)[b * probes.size() + p];
        // A sum of degree two cannot be rotated.
        const bool three = !relinearise && matching.plan.matching.giants == 1;
        ASSERT_EQ(one.size(), three ? 3u : 2u);
        ASSERT_EQ(other.size(), one.size());
        for (size_t part = 0; part < one.size(); ++part) {
          EXPECT_TRUE(std::ranges::equal(one.parts[part].values(), other.parts[part].values()));
        }
      }
    }
  }
}

// Verification: the claimed slot's score and no other.
TEST_P(ThinTest, VerificationHidesTheOthers) {
  const Vectors enrolled = Sample(), other = Sample(), sample = Sample();
  const Ciphertext templates[] = {Template(enrolled), Template(other)};
  const Rings& rings = roles_->rings();
  for (const uint32_t lane : {0u, 1u}) {
    TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
    ASSERT_TRUE(roles_
                    ->Enrol(&block, std::vector<NewTemplate>{{&templates[0], {5, lane}},
                                                             {&templates[1], {6, lane}},
                                                             {&templates[1], {5, 1 - lane}}})
                    .ok());
    const auto encrypted = roles_->EncryptSample(sample);
    const auto projected = roles_->fuser().Project(Pointers(*encrypted));
    ASSERT_TRUE(projected.ok()) << projected.status();
    const auto z = ToMatchingRing(rings, roles_->ring_switch(), *projected);
    ASSERT_TRUE(z.ok()) << z.status();
    const uint32_t claimed[] = {5};
    const auto probe = PrepareMaskedProbe(rings.matching, *z, claimed, lane, roles_->keys());
    ASSERT_TRUE(probe.ok()) << probe.status();
    const auto scores = VerifyBlock(rings.matching, block, *probe, claimed, lane, roles_->keys());
    ASSERT_TRUE(scores.ok()) << scores.status();
    const auto norm = ProveTemplateNorm(rings.matching, *z, roles_->keys());
    ASSERT_TRUE(norm.ok()) << norm.status();
    const std::vector<double> opened = roles_->OpenScores(*scores, &*norm);
    const double expected = Dot(Exact(sample), FusePlain(model_, enrolled));
    EXPECT_NEAR(opened[5], expected, kTolerance);
    // Everything else is noise that fills the base prime.
    double squares = 0;
    for (size_t i = 0; i < opened.size(); ++i)
      squares += i % slots() == 5 ? 0 : opened[i] * opened[i];
    EXPECT_GE(std::sqrt(squares / static_cast<double>(opened.size())), 1);
  }
}

// Bulk: both halves of the large ring's slots, in both lanes, beside templates fused one by one.
TEST_P(ThinTest, BulkEnrolment) {
  const Rings& rings = roles_->rings();
  const uint32_t count = slots() + 40, first = 9;  // over the end of a lane, into the second half
  std::vector<Vectors> samples(count);
  for (Vectors& sample : samples) sample = Sample();
  auto fuser = BulkFuser::Create(rings.enrolment, model_, &roles_->enrolment().keys());
  ASSERT_TRUE(fuser.ok()) << fuser.status();
  for (size_t m = 0; m < model_.modalities.size(); ++m) {
    Vectors rows;
    for (const Vectors& sample : samples) rows.push_back(sample[m]);
    const auto columns = SimdColumns::Create(rings.enrolment, model_, m, rows);
    ASSERT_TRUE(columns.ok()) << columns.status();
    for (uint32_t d = 0; d < columns->dimension(); ++d) {
      const Ciphertext column = roles_->enrolment().Encrypt(*columns->Encode(rings.enrolment, d));
      ASSERT_TRUE(fuser->Add(m, d, {&column, 1}).ok());
    }
  }
  auto batch = fuser->Finish(count);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_TRUE(MoveBatch(rings.enrolment, &*batch, first, roles_->enrolment().keys()).ok());
  ASSERT_TRUE(SplitBatch(rings, roles_->ring_switch(), &*batch).ok());
  TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
  const uint32_t in_lane = slots() - first;
  const Instance& matching = rings.matching;
  // A range goes over neither half's end.
  EXPECT_FALSE(AddBatchToBlock(matching, &block, *batch, first, count, 0, roles_->keys()).ok());
  ASSERT_TRUE(AddBatchToBlock(matching, &block, *batch, first, in_lane, 0, roles_->keys()).ok());
  ASSERT_TRUE(
      AddBatchToBlock(matching, &block, *batch, slots(), count - in_lane, 1, roles_->keys()).ok());
  const Vectors alone = Sample();
  const Ciphertext single = Template(alone);
  ASSERT_TRUE(roles_->Enrol(&block, std::vector<NewTemplate>{{&single, {3, 0}}}).ok());
  const Vectors sample = Sample();
  const ProvenProbe probe = Probe(sample);
  const auto scores = roles_->Match(block, probe.z);
  ASSERT_TRUE(scores.ok()) << scores.status();
  const std::vector<double> opened = roles_->OpenScores(*scores, &probe.norm);
  std::vector<double> expected(opened.size(), 0);
  const std::vector<double> exact = Exact(sample);
  for (uint32_t i = 0; i < count; ++i)
    expected[first + i] = Dot(exact, FusePlain(model_, samples[i]));
  expected[3] = Dot(exact, FusePlain(model_, alone));
  double worst = 0;
  for (size_t i = 0; i < opened.size(); ++i) {
    worst = std::max(worst, std::abs(opened[i] - expected[i]));
  }
  EXPECT_LE(worst, kTolerance);
}

// A block full of one person, and a probe of the same: the mean of the scores, which would be one
// coefficient, is near 1, and a short reply has room for an eighth.
class ManyAlikeTest : public ThinTest {};

TEST_P(ManyAlikeTest, FitAShortReply) {
  const Vectors sample = Sample();
  const Ciphertext z = Template(sample);
  TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
  std::vector<NewTemplate> added;
  for (uint32_t i = 0; i < 2 * slots(); ++i) added.push_back({&z, PositionOf(i, slots())});
  ASSERT_TRUE(roles_->Enrol(&block, added).ok());
  const ProvenProbe probe = Probe(sample);
  const auto scores = roles_->Match(block, probe.z);
  ASSERT_TRUE(scores.ok()) << scores.status();
  const auto sent = roles_->Sent(*scores);
  ASSERT_TRUE(sent.ok()) << sent.status();
  const double expected = Dot(Exact(sample), FusePlain(model_, sample));
  double worst = 0;
  for (double score : roles_->OpenScores(*sent, &probe.norm)) {
    worst = std::max(worst, std::abs(score - expected));
  }
  EXPECT_LE(worst, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Models, ThinTest,
                         ::testing::Values(TwoRingsCase{"pair_512_g32", {512, 512}, 32, 3},
                                           TwoRingsCase{"three_g16_quadratic", {60, 100, 64}, 16, 2},
                                           TwoRingsCase{"one_g64", {192}, 64, 3},
                                           TwoRingsCase{"pair_g128_two_giants", {96, 80}, 128, 3},
                                           TwoRingsCase{"one_g256_four_giants", {256}, 256, 2}),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Models, ManyAlikeTest,
                         ::testing::Values(TwoRingsCase{"three_g16_quadratic", {60, 100, 64}, 16, 2}));

}  // namespace
}  // namespace heft::experiment
