// SPDX-License-Identifier: Apache-2.0
// The predicted errors (fusion/errors.h, ckks/noise.h) against the measured ones, at each station
// of a template and a probe and in every kind of score. A prediction is within a factor of eight,
// and never less than the measured error. Root mean squares over thousands of slots, which keys
// move by a few per cent, meet these bounds by far.
#include "ckks/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "experiment/random_model.h"
#include "experiment/roles.h"
#include "fusion/bulk.h"
#include "fusion/errors.h"
#include "fusion/norm_proof.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;

constexpr int kSamples = 4;  // of each measurement

struct Case {
  const char* name;
  const char* profile;
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
  int degree;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// Measured: the mean square of errors, in slot units.
class Measured {
 public:
  void Add(double square) { squares_ += square, ++count_; }
  double Error() const { return std::sqrt(squares_ / count_); }

 private:
  double squares_ = 0, count_ = 0;
};

double Predicted(const Ciphertext& c) { return c.noise.error / c.scale; }

constexpr double kMax = 8;
void ExpectCovers(double predicted, const Measured& measured, const char* what,
                  double most = kMax) {
  EXPECT_GE(predicted, measured.Error()) << what;
  EXPECT_LE(predicted, most * measured.Error()) << what;
}

// ExpectNear: for an estimate of the expected value, without a bound in it.
void ExpectNear(double predicted, const Measured& measured, const char* what) {
  EXPECT_NEAR(predicted / measured.Error(), 1, 0.4) << what;
}

class NoiseTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    model_ = RandomModel(c.dimensions, c.gamma, c.degree, c.profile);
    // Keys are the slow part, and no test changes them.
    static std::map<std::string, std::unique_ptr<Roles>> all;
    std::unique_ptr<Roles>& roles = all[c.name];
    if (roles == nullptr) {
      auto made = Roles::Create(model_);
      ASSERT_TRUE(made.ok()) << made.status();
      roles = std::move(*made);
    }
    roles_ = roles.get();
  }

  bool thin() const { return roles_->rings().thin(); }
  const FusionPlan::Matching& matching() const { return roles_->instance().plan.matching; }
  uint32_t slots() const { return roles_->params().slots(); }
  Vectors Sample() { return RandomSample(model_, random_); }

  // z: projected and not normalised.
  std::vector<double> Projected(const Vectors& sample) const {
    double s = 0;
    std::vector<double> z = FusePlain(model_, sample, &s);
    for (double& v : z) v /= model_.approximation(s);
    return z;
  }
  // What the scores of a probe are products with: a thin one is not normalised.
  std::vector<double> ProbeOf(const Vectors& sample) const {
    return thin() ? Projected(sample) : FusePlain(model_, sample);
  }
  Ciphertext Template(const Vectors& sample) const {
    return *roles_->FuseTemplate(Pointers(*roles_->EncryptSample(sample)));
  }
  ProvenProbe Probe(const Vectors& sample) const {
    return *roles_->prober().Fuse(Pointers(*roles_->EncryptProbe(sample)));
  }

  // All slots of `c`, which repeat `expected`.
  static void AddSlots(const KeyedContext& ring, const Ciphertext& c,
                       std::span<const double> expected, Measured* out) {
    const auto opened = ring.Open(c);
    for (size_t t = 0; t < opened.size(); ++t) {
      out->Add(std::norm(opened[t] - expected[t % expected.size()]));
    }
  }

  // All slots of the proof of a squared norm s, sigma taken from them.
  static void AddProof(const KeyedContext& ring, const Ciphertext& c, double s, Measured* out) {
    const auto opened = ring.Open(c);
    double sigma = 0;
    for (size_t t = 0; t < opened.size(); ++t) {
      sigma += (t % 2 == 0 ? 1 : -1) * opened[t].imag() / static_cast<double>(opened.size());
    }
    for (size_t t = 0; t < opened.size(); ++t) {
      const ckks::Complex expected((1 - sigma * sigma) * s,
                                   2 * sigma * s + (t % 2 == 0 ? sigma : -sigma));
      out->Add(std::norm(opened[t] - expected));
    }
  }

  // The scores of `block`, whose position i < fill holds templates[i % count], with new probes: as
  // they are computed and as they are sent.
  void ExpectScoresCovered(const TiledCiphertexts& block, const Vectors& templates, uint32_t fill,
                           double most = kMax) {
    Measured computed, sent;
    Ciphertext scores, reply;
    for (int i = 0; i < kSamples; ++i) {
      const Vectors sample = Sample();
      scores = *roles_->Match(block, Probe(sample).z);
      reply = *roles_->Sent(scores);
      const std::vector<double> probe = ProbeOf(sample);
      std::vector<double> expected;
      for (const auto& t : templates) expected.push_back(Dot(probe, t));
      const auto a = roles_->OpenScores(scores), b = roles_->OpenScores(reply);
      for (uint32_t j = 0; j < fill; ++j) {
        const double e = expected[j % expected.size()];
        // Two scores share the error of a complex slot.
        computed.Add(2 * (a[j] - e) * (a[j] - e));
        sent.Add(2 * (b[j] - e) * (b[j] - e));
      }
    }
    ExpectCovers(Predicted(scores), computed, "scores", most);
    ExpectCovers(Predicted(reply), sent, "scores as they are sent", most);
  }

  std::mt19937_64 random_{7};
  Model model_;
  Roles* roles_ = nullptr;
};

// z, its norm, the template and what the small ring makes of it. The plan predicts what the
// operations propagate.
TEST_P(NoiseTest, OfATemplate) {
  Measured of_z, of_norm, of_template, of_switched;
  Ciphertext z, switched;
  Normalised fused;
  for (int i = 0; i < kSamples; ++i) {
    const Vectors sample = Sample();
    z = *roles_->fuser().Project(Pointers(*roles_->EncryptSample(sample)));
    fused = *roles_->fuser().Normalise(z);
    switched = *ToMatchingRing(roles_->rings(), roles_->ring_switch(), fused.z);
    double s = 0;
    const std::vector<double> expected = FusePlain(model_, sample, &s);
    AddSlots(roles_->enrolment(), z, Projected(sample), &of_z);
    AddSlots(roles_->enrolment(), fused.squared_norm, std::span(&s, 1), &of_norm);
    AddSlots(roles_->enrolment(), fused.z, expected, &of_template);
    AddSlots(*roles_, switched, expected, &of_switched);
  }
  ExpectNear(Predicted(z), of_z, "z");
  ExpectCovers(Predicted(fused.squared_norm), of_norm, "norm");
  ExpectCovers(Predicted(fused.z), of_template, "template");
  ExpectCovers(Predicted(switched), of_switched, "template in the matching ring");
  EXPECT_NEAR(roles_->rings().enrolment.plan.projection.z_error / Predicted(z), 1, 0.01);
  EXPECT_NEAR(matching().template_error / Predicted(switched), 1, 0.01);
}

TEST_P(NoiseTest, OfAProbe) {
  if (!thin()) {
    // A template, but for larger digits.
    const double predicted = Predicted(Probe(Sample()).z);
    EXPECT_LE(predicted, roles_->prober().instance().plan.matching.probe_error);
    EXPECT_GE(predicted, matching().probe_error / 1.1);
    return;
  }
  Measured of_z, of_norm;
  ProvenProbe probe;
  for (int i = 0; i < kSamples; ++i) {
    const Vectors sample = Sample();
    double s = 0;
    FusePlain(model_, sample, &s);
    probe = Probe(sample);
    AddSlots(*roles_, probe.z, ProbeOf(sample), &of_z);
    AddProof(*roles_, probe.norm, s, &of_norm);
  }
  ExpectNear(Predicted(probe.z), of_z, "z");
  ExpectCovers(Predicted(probe.norm), of_norm, "norm");
  // The plan counts one projection; the fuser folds its halves with those of the norm's proof.
  EXPECT_NEAR(matching().probe_error / Predicted(probe.z), 1, 0.4);
}

TEST_P(NoiseTest, OfScoresOfAFewTemplates) {
  Vectors plain;
  std::vector<Ciphertext> templates;
  std::vector<NewTemplate> added;
  constexpr uint32_t kCount = 16, kFill = 256;
  for (uint32_t i = 0; i < kCount; ++i) {
    const Vectors sample = Sample();
    plain.push_back(FusePlain(model_, sample));
    templates.push_back(Template(sample));
  }
  TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
  for (uint32_t i = 0; i < kFill; ++i) {
    added.push_back({&templates[i % kCount], PositionOf(i, slots())});
  }
  ASSERT_TRUE(roles_->Enrol(&block, added).ok());
  // Two primes a level leave little beside the roundings of a block that was filled one by one,
  // which are predicted and not there; SingleEnrolmentTest has them.
  const bool little = roles_->params().level_primes() == 2;
  ExpectScoresCovered(block, plain, kFill, little ? 2 * kMax : kMax);
}

// A block full of templates that were enrolled in bulk.
TEST_P(NoiseTest, OfScoresAfterBulkEnrolment) {
  const Rings& rings = roles_->rings();
  const uint32_t count = rings.enrolment.params().slots(), distinct = 8;
  std::vector<Vectors> people(distinct);
  for (Vectors& sample : people) sample = Sample();
  auto fuser = *BulkFuser::Create(rings.enrolment, model_, &roles_->enrolment().keys());
  for (size_t m = 0; m < model_.modalities.size(); ++m) {
    Vectors rows;
    for (uint32_t i = 0; i < count; ++i) rows.push_back(people[i % distinct][m]);
    const auto columns = *SimdColumns::Create(rings.enrolment, model_, m, rows);
    for (uint32_t d = 0; d < columns.dimension(); ++d) {
      const Ciphertext column = roles_->enrolment().Encrypt(*columns.Encode(rings.enrolment, d));
      ASSERT_TRUE(fuser.Add(m, d, {&column, 1}).ok());
    }
  }
  TemplateBatch batch = *fuser.Finish(count);
  Vectors plain;
  for (const Vectors& sample : people) plain.push_back(FusePlain(model_, sample));
  Measured of_coordinates;
  for (uint32_t r = 0; r < model_.gamma; ++r) {
    std::vector<double> expected;
    for (const auto& t : plain) expected.push_back(t[r]);
    AddSlots(roles_->enrolment(), batch.coordinates[r], expected, &of_coordinates);
  }
  ExpectCovers(Predicted(batch.coordinates[0]), of_coordinates, "coordinates");
  // What the plan predicts of a template that was fused alone covers these.
  EXPECT_LE(Predicted(batch.coordinates[0]), matching().template_error);
  ASSERT_TRUE(SplitBatch(rings, roles_->ring_switch(), &batch).ok());
  TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
  const uint32_t lanes = thin() ? 2 : 1;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    ASSERT_TRUE(AddBatchToBlock(rings.matching, &block, batch, lane * slots(), slots(), lane,
                                roles_->keys())
                    .ok());
  }
  ExpectScoresCovered(block, plain, lanes * slots());
}

// Verification of every slot of a lane at once, as many scores as there are.
TEST_P(NoiseTest, OfVerifiedScores) {
  const Vectors enrolled = Sample();
  const std::vector<double> plain = FusePlain(model_, enrolled);
  const Ciphertext z = Template(enrolled);
  std::vector<NewTemplate> added;
  std::vector<uint32_t> claimed;
  constexpr uint32_t kCount = 64;
  for (uint32_t i = 0; i < kCount; ++i) {
    claimed.push_back(17 * i);
    added.push_back({&z, {17 * i, 0}});
    added.push_back({&z, {17 * i, 1}});
  }
  TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
  ASSERT_TRUE(roles_->Enrol(&block, added).ok());
  Measured of_scores, of_norm;
  Ciphertext scores, norm;
  for (int i = 0; i < kSamples; ++i) {
    const Vectors sample = Sample();
    const std::vector<Ciphertext> encrypted = *roles_->EncryptSample(sample);
    const Ciphertext fused = thin() ? *roles_->fuser().Project(Pointers(encrypted))
                                    : roles_->fuser().Fuse(Pointers(encrypted))->z;
    const Ciphertext probe = *ToMatchingRing(roles_->rings(), roles_->ring_switch(), fused);
    const Instance& instance = roles_->instance();
    const double expected = Dot(ProbeOf(sample), plain);
    for (const uint32_t lane : {0u, 1u}) {
      const auto masked = *PrepareMaskedProbe(instance, probe, claimed, lane, roles_->keys());
      scores = *VerifyBlock(instance, block, masked, claimed, lane, roles_->keys());
      const auto opened = roles_->Open(scores);
      for (uint32_t slot : claimed) {
        const double error = SlotSign(instance.plan, slot, 0) * opened[slot].real() - expected;
        of_scores.Add(error * error);
      }
    }
    if (!thin()) continue;
    double s = 0;
    FusePlain(model_, sample, &s);
    norm = *ProveTemplateNorm(instance, probe, roles_->keys());
    AddProof(*roles_, norm, s, &of_norm);
  }
  ExpectCovers(Predicted(scores), of_scores, "verified scores");
  if (thin()) ExpectCovers(Predicted(norm), of_norm, "norm");
}

INSTANTIATE_TEST_SUITE_P(
    Models, NoiseTest,
    ::testing::Values(Case{"standard_512_g32", "standard", {512, 512}, 32, 3},
                      Case{"standard_three_g16_quadratic", "standard", {60, 100, 64}, 16, 2},
                      Case{"standard_one_g64", "standard", {192}, 64, 3},
                      Case{"flooded_two_g32", "flooded", {128, 64}, 32, 3}),
    [](const auto& test) { return std::string(test.param.name); });

// Thousands of enrolments, each by itself: every call rounds the whole block once more.
class SingleEnrolmentTest : public NoiseTest {};

TEST_P(SingleEnrolmentTest, EachRoundsTheBlock) {
  constexpr uint32_t kEnrolments = 4096;
  const Vectors person = Sample();
  const Ciphertext z = Template(person);
  TiledCiphertexts block = EmptyBlock(roles_->context(), model_.gamma);
  for (uint32_t i = 0; i < kEnrolments; ++i) {
    const NewTemplate added[] = {{&z, PositionOf(i, slots())}};
    ASSERT_TRUE(roles_->Enrol(&block, added).ok());
  }
  ExpectScoresCovered(block, {FusePlain(model_, person)}, kEnrolments);
}

INSTANTIATE_TEST_SUITE_P(Models, SingleEnrolmentTest,
                         ::testing::Values(Case{"standard_g2", "standard", {6, 6}, 2, 3},
                                           Case{"flooded_g2", "flooded", {6, 6}, 2, 3}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heft::experiment
