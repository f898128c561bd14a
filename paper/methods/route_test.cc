// SPDX-License-Identifier: Apache-2.0
// The paper's pipeline end to end: every projection method with every kind of normalisation,
// matched in the gallery of its encoding, against plain scores; and its operations, counted against
// the formulae.
#include "paper/methods/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ckks/encryptor.h"
#include "ckks/operation_counts.h"
#include "fusion/matching.h"
#include "fusion/testing.h"
#include "inverse_sqrt/composite.h"
#include "paper/methods/operation_formulae.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;

constexpr uint32_t kRouteGamma = 8;
constexpr double kScale = 0x1p28;

NormalisationSpec Minimax(int degree) {
  return NormalisationSpec::Polynomials(*FitMinimax(degree, kPaperInterval));
}

std::vector<NormalisationSpec> Normalisations() {
  const std::vector<int> cubics = {3, 3};
  return {
      Minimax(2), Minimax(7),
      NormalisationSpec::Polynomials(*FitComposite(cubics, kPaperInterval, FitKind::kLeastSquares)),
      NormalisationSpec::Iteration(*FitGoldschmidt(2, kPaperInterval)),
      NormalisationSpec::Deferred(kPaperInterval)};
}

// A small ring: 1024 slots hold 8 windows of two copies of delta = 64 values.
class PaperRouteTest : public ::testing::Test {
 protected:
  PaperRouteTest() {
    ckks::ParamsSpec spec;
    spec.n = 2048;
    spec.data_bits = std::vector<int>(13, 29);
    spec.data_bits[0] = 30;
    spec.allow_insecure = true;
    context_ = std::make_shared<ckks::Context>(*ckks::Params::Create(spec));
    encoder_.emplace(context_);
    secret_.emplace(*ckks::SecretKey::Generate(*context_, rng_));
    public_key_ = ckks::MakePublicKey(*context_, *secret_, rng_);
  }

  // Sets up route_ with keys for no more than its plan.
  void Build(ProjectionMethod method, const NormalisationSpec& normalisation) {
    const auto plan = PlanPaperRoute(context_->params(), kScale, model_, {method, normalisation});
    ASSERT_TRUE(plan.ok()) << plan.status();
    keys_ = testing::MakeKeys(*context_, plan->keys, *secret_, rng_);
    auto route = PaperRoute::Create(context_, *encoder_, *plan, model_, &keys_);
    ASSERT_TRUE(route.ok()) << route.status();
    route_.emplace(std::move(*route));
  }

  using Sample = std::vector<std::vector<double>>;
  Sample RandomSample() {
    Sample sample;
    for (const ModalitySpec& m : model_.modalities) {
      sample.push_back(testing::RandomUnit(m.dimension, random_));
    }
    return sample;
  }

  std::vector<std::vector<Ciphertext>> Encrypt(std::span<const Sample> samples) {
    std::vector<std::vector<Ciphertext>> out(model_.modalities.size());
    for (size_t m = 0; m < out.size(); ++m) {
      std::vector<std::vector<double>> vectors;
      for (const Sample& sample : samples) vectors.push_back(sample[m]);
      const auto plain =
          EncodeForProjection(*encoder_, route_->plan().projection, model_, m, vectors);
      EXPECT_TRUE(plain.ok()) << plain.status();
      for (const ckks::Plaintext& p : *plain) {
        out[m].push_back(ckks::Encrypt(*context_, p, public_key_, rng_));
      }
    }
    return out;
  }

  Fused Fuse(std::span<const Sample> samples) {
    auto fused = route_->Fuse(Encrypt(samples));
    EXPECT_TRUE(fused.ok()) << fused.status();
    return std::move(*fused);
  }

  std::vector<ckks::Complex> Open(const Ciphertext& c) {
    return encoder_->Decode(ckks::Decrypt(*context_, c, *secret_));
  }

  // z f(|z|^2) in plain numbers.
  std::vector<double> FusePlain(const Sample& sample, double* squared_norm = nullptr) {
    Model linear = model_;
    linear.approximation.stages = {Polynomial{{1}}};
    double s;
    std::vector<double> z = testing::FusePlain(linear, sample, &s);
    for (double& v : z) v *= route_->plan().normalisation.spec(s);
    if (squared_norm != nullptr) *squared_norm = s;
    return z;
  }

  // Dense results for all samples, batch by batch.
  std::vector<Ciphertext> FuseGallery(std::span<const Sample> samples) {
    std::vector<Ciphertext> results;
    const size_t batch = route_->plan().projection.vectors;
    for (size_t i = 0; i < samples.size(); i += batch) {
      results.push_back(Fuse(samples.subspan(i, std::min(batch, samples.size() - i))).z[0]);
    }
    return results;
  }

  Model model_ = testing::RandomModel({30, 34}, kRouteGamma, 2);
  std::shared_ptr<const ckks::Context> context_;
  std::optional<ckks::Encoder> encoder_;
  Csprng rng_;
  std::mt19937_64 random_{11};
  std::optional<ckks::SecretKey> secret_;
  ckks::PublicKey public_key_;
  ckks::EvaluationKeys keys_;
  std::optional<PaperRoute> route_;
};

TEST_F(PaperRouteTest, DenseMethodsMatchInAPackedGallery) {
  std::vector<Sample> gallery;
  for (int i = 0; i < 130; ++i) gallery.push_back(RandomSample());  // 2 gallery ciphertexts
  const Sample probe = RandomSample();
  for (const ProjectionMethod method : kAllProjectionMethods) {
    if (!IsDense(method) || method == ProjectionMethod::kDiagonalSquare) continue;
    for (const NormalisationSpec& normalisation : Normalisations()) {
      // The projection does not care what follows it: one method sees all normalisations.
      if (method != ProjectionMethod::kHybrid && normalisation.Levels() != 3) continue;
      SCOPED_TRACE(ProjectionMethodName(method));
      Build(method, normalisation);
      const PackedPlan& packing = *route_->plan().packing;
      EXPECT_EQ(packing.templates, 128u);
      const auto packed = route_->matcher().Pack(FuseGallery(gallery));
      ASSERT_TRUE(packed.ok()) << packed.status();
      ASSERT_EQ(packed->size(), 2u);
      const auto scores = route_->matcher().Match(Fuse({&probe, 1}).z[0], *packed);
      ASSERT_TRUE(scores.ok()) << scores.status();
      const double bound =
          ckks::SlotErrorBound(context_->params(), (*scores)[0].noise, (*scores)[0].scale);
      EXPECT_LT(bound, 0.03);
      const std::vector<double> z = FusePlain(probe);
      std::vector<ckks::Complex> slots[2] = {Open((*scores)[0]), Open((*scores)[1])};
      for (uint32_t i = 0; i < gallery.size(); ++i) {
        const double score = slots[i / packing.templates][packing.Slot(i)].real();
        ASSERT_NEAR(score, testing::Dot(z, FusePlain(gallery[i])), std::min(bound, 5e-3)) << i;
      }
    }
  }
}

TEST_F(PaperRouteTest, DeferredNormalisationIsExact) {
  std::vector<Sample> gallery;
  for (int i = 0; i < 12; ++i) gallery.push_back(RandomSample());
  const Sample probe = RandomSample();
  Build(ProjectionMethod::kHybrid, NormalisationSpec::Deferred(kPaperInterval));
  const auto packed = route_->matcher().Pack(FuseGallery(gallery));
  ASSERT_TRUE(packed.ok()) << packed.status();
  const Fused fused = Fuse({&probe, 1});
  const auto scores = route_->matcher().Match(fused.z[0], *packed);
  const auto norms = route_->matcher().SquaredNorms(*packed);
  ASSERT_TRUE(scores.ok() && norms.ok());
  const auto dots = Open((*scores)[0]), squares = Open((*norms)[0]);
  const double probe_norm = Open(fused.squared_norm)[0].real();
  double s;
  const std::vector<double> z = FusePlain(probe, &s);
  EXPECT_NEAR(probe_norm, s, 1e-4);
  for (uint32_t i = 0; i < gallery.size(); ++i) {
    const uint32_t slot = route_->plan().packing->Slot(i);
    double t;
    const std::vector<double> g = FusePlain(gallery[i], &t);
    EXPECT_NEAR(DeferredCosine(dots[slot].real(), probe_norm, squares[slot].real()),
                testing::Dot(z, g) / std::sqrt(s * t), 2e-4);
  }
}

TEST_F(PaperRouteTest, SimdMatchesCoordinates) {
  std::vector<Sample> gallery;
  for (int i = 0; i < 20; ++i) gallery.push_back(RandomSample());
  const Sample probe = RandomSample();
  for (const NormalisationSpec& normalisation : Normalisations()) {
    Build(ProjectionMethod::kSimd, normalisation);
    const auto score = MatchCoordinates(*context_, Fuse({&probe, 1}).z, Fuse(gallery).z, keys_);
    ASSERT_TRUE(score.ok()) << score.status();
    const double bound = ckks::SlotErrorBound(context_->params(), score->noise, score->scale);
    EXPECT_LT(bound, 0.03);
    const auto slots = Open(*score);
    const std::vector<double> z = FusePlain(probe);
    for (uint32_t i = 0; i < gallery.size(); ++i) {
      ASSERT_NEAR(slots[i].real(), testing::Dot(z, FusePlain(gallery[i])), std::min(bound, 5e-3))
          << i;
    }
  }
}

TEST_F(PaperRouteTest, CompactMatchesDiagonalBlocks) {
  const Sample enrolled = RandomSample(), probe = RandomSample();
  for (const NormalisationSpec& normalisation : Normalisations()) {
    Build(ProjectionMethod::kCompact, normalisation);
    const Instance& instance = route_->instance();
    const Ciphertext fused = Fuse({&enrolled, 1}).z[0];
    TiledCiphertexts block = EmptyBlock(*context_, kRouteGamma);
    const NewTemplate added[] = {{&fused, {5, 1}}};
    absl::Status status = AddToBlock(instance, &block, added, keys_);
    ASSERT_TRUE(status.ok()) << status;
    const auto prepared = PrepareProbe(instance, Fuse({&probe, 1}).z[0], keys_);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const auto scores = MatchBlock(instance, block, *prepared, keys_);
    ASSERT_TRUE(scores.ok()) << scores.status();
    EXPECT_NEAR(Open(*scores)[5].imag(), testing::Dot(FusePlain(enrolled), FusePlain(probe)), 2e-3);
  }
}

// One stage's operations.
template <typename Stage>
ckks::OperationCounts Count(const Stage& stage) {
  const ckks::OperationCounts before = ckks::TotalOperations();
  stage();
  return ckks::TotalOperations() - before;
}

std::string Describe(const StageCost& c) {
  return absl::StrCat(c.additions, " additions, ", c.plain_products, " plain, ",
                      c.ciphertext_products, " ciphertext products, depth ", c.depth, ", ",
                      c.rotations, " rotations, ", c.ciphertexts, " ciphertexts, ", c.plaintexts,
                      " plaintexts");
}

void ExpectCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                const NormalisationSpec& spec, const StageCost& counted) {
  const StageCost engine = EngineCost(encoding, stage, shape, spec);
  EXPECT_TRUE(counted == engine) << PipelineStageName(stage) << ": counted " << Describe(counted)
                                 << "; formula " << Describe(engine);
  if (spec.method != NormalisationMethod::kPolynomial) return;
  const StageCost paper = PaperCost(encoding, stage, shape, spec.approximation.Degree());
  EXPECT_EQ(counted == paper, WhyCostsDiffer(encoding, stage, spec).empty())
      << PipelineStageName(stage) << ": counted " << Describe(counted) << "; paper "
      << Describe(paper);
}

TEST_F(PaperRouteTest, DenseCountsEqualTheFormulae) {
  std::vector<Sample> gallery;
  for (int i = 0; i < 20; ++i) gallery.push_back(RandomSample());
  const Sample probe = RandomSample();
  const TableShape shape{gallery.size(), context_->slots(), 64, kRouteGamma};
  for (const NormalisationSpec& spec : Normalisations()) {
    Build(ProjectionMethod::kHybrid, spec);
    const size_t input_limbs = route_->plan().input_limbs();
    std::vector<Ciphertext> results;
    StageCost concatenation, projection, normalisation;
    ckks::OperationCounts counts[3];
    size_t limbs[3] = {0, 0, 0};
    const size_t batch = route_->plan().projection.vectors;
    for (size_t i = 0; i < gallery.size(); i += batch) {
      const auto inputs =
          Encrypt(std::span(gallery).subspan(i, std::min(batch, gallery.size() - i)));
      std::vector<Ciphertext> x, z;
      counts[0] = counts[0] + Count([&] { x = *route_->projector().Concatenate(inputs); });
      counts[1] = counts[1] + Count([&] { z = *route_->projector().Project(x); });
      counts[2] = counts[2] + Count([&] { results.push_back(route_->Normalise(z)->z[0]); });
      limbs[0] = x[0].limbs();
      limbs[1] = z[0].limbs();
      limbs[2] = results.back().limbs();
    }
    ExpectCost(TableEncoding::kDense, PipelineStage::kConcatenation, shape, spec,
               CountedCost(counts[0], input_limbs, limbs[0], results.size(), 0));
    const uint64_t diagonals =
        route_->projector().PlaintextBytes() / PlaintextBytes(context_->params(), input_limbs);
    ExpectCost(TableEncoding::kDense, PipelineStage::kProjection, shape, spec,
               CountedCost(counts[1], limbs[0], limbs[1], results.size(), diagonals));
    ExpectCost(TableEncoding::kDense, PipelineStage::kNormalisation, shape, spec,
               CountedCost(counts[2], limbs[1], limbs[2], results.size(), 0));
    std::vector<Ciphertext> packed, scores;
    const auto packing = Count([&] { packed = *route_->matcher().Pack(results); });
    ExpectCost(TableEncoding::kDense, PipelineStage::kPreprocessing, shape, spec,
               CountedCost(packing, limbs[2], packed[0].limbs(), packed.size(), 1));
    const Ciphertext z = Fuse({&probe, 1}).z[0];
    const auto matching = Count([&] { scores = *route_->matcher().Match(z, packed); });
    ExpectCost(TableEncoding::kDense, PipelineStage::kMatching, shape, spec,
               CountedCost(matching, packed[0].limbs(), scores[0].limbs(), scores.size(), 0));
  }
}

TEST_F(PaperRouteTest, SimdCountsEqualTheFormulae) {
  std::vector<Sample> gallery;
  for (int i = 0; i < 20; ++i) gallery.push_back(RandomSample());
  const TableShape shape{gallery.size(), context_->slots(), 64, kRouteGamma};
  for (const NormalisationSpec& spec : Normalisations()) {
    Build(ProjectionMethod::kSimd, spec);
    const auto inputs = Encrypt(gallery);
    const size_t input_limbs = route_->plan().input_limbs();
    std::vector<Ciphertext> x, z, fused;
    const auto concatenation = Count([&] { x = *route_->projector().Concatenate(inputs); });
    ExpectCost(TableEncoding::kSimd, PipelineStage::kConcatenation, shape, spec,
               CountedCost(concatenation, input_limbs, x[0].limbs(), x.size(), 0));
    const auto projection = Count([&] { z = *route_->projector().Project(x); });
    EXPECT_EQ(route_->projector().PlaintextBytes(), 0u);
    ExpectCost(TableEncoding::kSimd, PipelineStage::kProjection, shape, spec,
               CountedCost(projection, x[0].limbs(), z[0].limbs(), z.size(), 0));
    const auto normalisation = Count([&] { fused = route_->Normalise(z)->z; });
    ExpectCost(TableEncoding::kSimd, PipelineStage::kNormalisation, shape, spec,
               CountedCost(normalisation, z[0].limbs(), fused[0].limbs(), fused.size(), 0));
    Ciphertext score;
    const auto matching = Count([&] { score = *MatchCoordinates(*context_, fused, fused, keys_); });
    ExpectCost(TableEncoding::kSimd, PipelineStage::kMatching, shape, spec,
               CountedCost(matching, fused[0].limbs(), score.limbs(), 1, 0));
  }
}

TEST_F(PaperRouteTest, RefusesTooFewLevels) {
  const auto plan =
      PlanPaperRoute(context_->params(), kScale, model_,
                     {ProjectionMethod::kHybrid,
                      NormalisationSpec::Iteration(*FitGoldschmidt(8, kPaperInterval))});
  EXPECT_THAT(std::string(plan.status().message()), ::testing::HasSubstr("23 data primes"));
  ProjectionPlan simd;
  simd.method = ProjectionMethod::kSimd;
  EXPECT_FALSE(PlanPackedGallery(context_->params(), simd, 3, kScale).ok());
}

}  // namespace
}  // namespace heft::paper
