// SPDX-License-Identifier: Apache-2.0
// Every normalisation under encryption against the same one in plain numbers, over its whole
// interval, within the noise that was predicted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "ckks/arithmetic.h"
#include "ckks/encoder.h"
#include "ckks/encryptor.h"
#include "ckks/owner/secret_key.h"
#include "fusion/profile.h"
#include "fusion/testing.h"
#include "heft/train.h"
#include "inverse_sqrt/composite.h"
#include "paper/methods/normalisation.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;

constexpr uint32_t kGamma = 4;
const Interval kDataInterval{0.45, 1.7};  // of lfw-speech: docs/design.md, "Fits"

// A profile's parameters with keys for all limbs.
struct World {
  explicit World(const ckks::ParamsSpec& spec) {
    context = std::make_shared<ckks::Context>(*ckks::Params::Create(spec));
    encoder.emplace(context);
    secret.emplace(*ckks::SecretKey::Generate(*context, rng));
    public_key = ckks::MakePublicKey(*context, *secret, rng);
    KeyNeeds needs;
    needs.Relinearisation(context->params().limbs());
    for (uint32_t k = 1; k < kGamma; k *= 2) {
      needs.Rotation(context->params(), k, context->params().limbs() - 1);
    }
    keys = testing::MakeKeys(*context, needs, *secret, rng);
  }
  const ckks::Params& params() const { return context->params(); }

  std::shared_ptr<const ckks::Context> context;
  std::optional<ckks::Encoder> encoder;
  Csprng rng;
  std::optional<ckks::SecretKey> secret;
  ckks::PublicKey public_key;
  ckks::EvaluationKeys keys;
};

World& Deep() {
  static World world(FindProfile("deep")->spec);
  return world;
}
World& Deepest() {
  static World world(FindProfile("deepest")->spec);
  return world;
}

// |z|^2 of sample w of `count`, evenly over the interval with both ends.
double SquaredNorm(const Interval& interval, uint32_t w, uint32_t count) {
  return interval.lo + (interval.hi - interval.lo) * w / (count - 1);
}

// Samples side by side, each twice: z repeats with period gamma in its window. All coordinates of a
// sample have the same length, so that what falls between two windows stays in the interval.
std::vector<double> Windows(const Interval& interval, uint32_t slots) {
  const uint32_t window = 2 * kGamma, count = slots / window;
  std::vector<double> z(slots);
  for (uint32_t t = 0; t < slots; ++t) {
    const double sign = t % kGamma == 1 ? -1 : 1;
    z[t] = sign * std::sqrt(SquaredNorm(interval, t / window, count) / kGamma);
  }
  return z;
}

void Check(World& world, const NormalisationSpec& spec) {
  const double scale = 0x1p28;
  const size_t limbs = spec.Levels() + 2;
  const auto plan = PlanNormalisation(world.params(), spec, kGamma, limbs, scale);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto normaliser = Normaliser::Create(world.context, *plan, &world.keys);
  ASSERT_TRUE(normaliser.ok()) << normaliser.status();
  const std::vector<double> z = Windows(spec.Range(), world.params().slots());
  const Ciphertext encrypted = ckks::Encrypt(
      *world.context, *world.encoder->Encode(std::span<const double>(z), plan->input_scale, limbs),
      world.public_key, world.rng);
  const auto out = normaliser->Apply(encrypted);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->z.limbs(), plan->output_limbs);
  EXPECT_EQ(out->squared_norm.limbs(), limbs - 1);
  EXPECT_NEAR(out->z.scale / scale, 1, 1e-6);
  const double bound = ckks::SlotErrorBound(world.params(), out->z.noise, out->z.scale);
  EXPECT_LT(bound, 0.04);
  const Ciphertext& norm = out->squared_norm;
  const double norm_bound = ckks::SlotErrorBound(world.params(), norm.noise, norm.scale);
  EXPECT_LT(norm_bound, 0.01);
  const auto slots = world.encoder->Decode(ckks::Decrypt(*world.context, out->z, *world.secret));
  const auto norms =
      world.encoder->Decode(ckks::Decrypt(*world.context, out->squared_norm, *world.secret));
  const uint32_t count = world.params().slots() / (2 * kGamma);
  double error = 0;
  for (uint32_t w = 0; w < count; ++w) {
    const double s = SquaredNorm(spec.Range(), w, count);
    ASSERT_NEAR(norms[w * 2 * kGamma].real(), s, norm_bound);
    for (uint32_t r = 0; r < kGamma; ++r) {
      const uint32_t t = w * 2 * kGamma + r;
      error = std::max(error, std::abs(slots[t].real() - z[t] * spec(s)));
    }
  }
  EXPECT_LT(error, bound);
  EXPECT_GT(error, bound / 400);
}

NormalisationSpec Minimax(int degree, const Interval& interval) {
  return NormalisationSpec::Polynomials(*FitMinimax(degree, interval));
}
NormalisationSpec Composite(const std::vector<int>& degrees, const Interval& interval,
                            FitKind kind = FitKind::kLeastSquares) {
  return NormalisationSpec::Polynomials(*FitComposite(degrees, interval, kind));
}

class DeepPolynomials : public ::testing::TestWithParam<int> {};

TEST_P(DeepPolynomials, MatchPlain) {
  for (const Interval& interval : {kPaperInterval, kDataInterval}) {
    SCOPED_TRACE(interval.lo);
    Check(Deep(), Minimax(GetParam(), interval));
  }
}

INSTANTIATE_TEST_SUITE_P(Degrees, DeepPolynomials, ::testing::Values(1, 2, 3, 4, 7, 15, 31));

TEST(Composites, MatchPlain) {
  Check(Deep(), NormalisationSpec::Polynomials(PaperDegree2()));
  Check(Deep(), Composite({3, 3}, kPaperInterval));  // the paper's "degree 6"
  Check(Deep(), Composite({3, 3}, kPaperInterval, FitKind::kMinimax));
  Check(Deep(), Composite({1, 2}, kPaperInterval));
  Check(Deep(), Composite({2, 1}, kPaperInterval));
  Check(Deep(), Composite({2, 5}, kDataInterval));
  Check(Deep(), Composite({2, 2, 2}, kPaperInterval));
}

TEST(GoldschmidtIteration, MatchesPlain) {
  for (int iterations : {1, 2, 4}) {
    SCOPED_TRACE(iterations);
    Check(Deep(), NormalisationSpec::Iteration(*FitGoldschmidt(iterations, kPaperInterval)));
  }
  Check(Deepest(), NormalisationSpec::Iteration(*FitGoldschmidt(8, kPaperInterval)));
  Check(Deepest(), Minimax(15, kPaperInterval));
}

TEST(Deferred, LeavesZAndItsNorm) {
  World& world = Deep();
  const NormalisationSpec spec = NormalisationSpec::Deferred(kPaperInterval);
  EXPECT_EQ(spec.Levels(), 0u);
  Check(world, spec);
  EXPECT_DOUBLE_EQ(DeferredCosine(1, 4, 0.25), 1);
  EXPECT_EQ(DeferredCosine(1, -1e-9, 1), 0);
}

// One ciphertext a coordinate: the same numbers, with one relinearised norm.
TEST(Coordinates, MatchPlain) {
  World& world = Deep();
  const NormalisationSpec specs[] = {
      Minimax(2, kPaperInterval), Minimax(7, kPaperInterval),
      NormalisationSpec::Iteration(*FitGoldschmidt(3, kPaperInterval))};
  for (const NormalisationSpec& spec : specs) {
    const size_t limbs = spec.Levels() + 2;
    const auto plan =
        PlanNormalisation(world.params(), spec, kGamma, limbs, 0x1p28, /*folds=*/false);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(plan->keys.galois_keys.empty());
    const auto normaliser = Normaliser::Create(world.context, *plan, &world.keys);
    ASSERT_TRUE(normaliser.ok()) << normaliser.status();
    const uint32_t slots = world.params().slots();
    std::vector<Ciphertext> z;
    std::vector<std::vector<double>> plain(kGamma, std::vector<double>(slots));
    for (uint32_t r = 0; r < kGamma; ++r) {
      for (uint32_t j = 0; j < slots; ++j) {
        const double s = SquaredNorm(spec.Range(), j, slots);
        plain[r][j] = (r == j % kGamma ? -1 : 1) * std::sqrt(s / kGamma);
      }
      z.push_back(ckks::Encrypt(
          *world.context,
          *world.encoder->Encode(std::span<const double>(plain[r]), plan->input_scale, limbs),
          world.public_key, world.rng));
    }
    const auto out = normaliser->ApplyToCoordinates(z);
    ASSERT_TRUE(out.ok()) << out.status();
    for (uint32_t r = 0; r < kGamma; ++r) {
      const Ciphertext& c = out->z[r];
      const double bound = ckks::SlotErrorBound(world.params(), c.noise, c.scale);
      EXPECT_LT(bound, 0.02);
      const auto slot = world.encoder->Decode(ckks::Decrypt(*world.context, c, *world.secret));
      for (uint32_t j = 0; j < slots; ++j) {
        const double s = SquaredNorm(spec.Range(), j, slots);
        ASSERT_NEAR(slot[j].real(), plain[r][j] * spec(s), bound) << r << " " << j;
      }
    }
  }
}

TEST(Levels, AreWhatTheMethodsTake) {
  EXPECT_EQ(Minimax(2, kPaperInterval).Levels(), 3u);
  EXPECT_EQ(Minimax(3, kPaperInterval).Levels(), 3u);
  EXPECT_EQ(Minimax(7, kPaperInterval).Levels(), 5u);
  EXPECT_EQ(Minimax(15, kPaperInterval).Levels(), 6u);
  EXPECT_EQ(Composite({3, 3}, kPaperInterval).Levels(), 5u);
  EXPECT_EQ(NormalisationSpec::Iteration(*FitGoldschmidt(8, kPaperInterval)).Levels(), 19u);
}

TEST(Refusals, SayWhatToDo) {
  World& world = Deep();
  const NormalisationSpec many = NormalisationSpec::Iteration(*FitGoldschmidt(8, kPaperInterval));
  const auto shallow = PlanNormalisation(world.params(), many, kGamma, 12, 0x1p28);
  EXPECT_THAT(std::string(shallow.status().message()), ::testing::HasSubstr("19 levels"));
  EXPECT_FALSE(PlanNormalisation(world.params(), NormalisationSpec{}, kGamma, 12, 0x1p28).ok());
  EXPECT_FALSE(FitGoldschmidt(0, kPaperInterval).ok());
  EXPECT_FALSE(FitGoldschmidt(5, Interval{1e-6, 100}).ok());
  const auto plan =
      PlanNormalisation(world.params(), Minimax(2, kPaperInterval), kGamma, 6, 0x1p28);
  const ckks::EvaluationKeys none;
  EXPECT_EQ(Normaliser::Create(world.context, *plan, &none).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const auto normaliser = Normaliser::Create(world.context, *plan, &world.keys);
  Ciphertext wrong = ckks::Encrypt(*world.context, *world.encoder->EncodeConstant(1, 0x1p20, 6),
                                   world.public_key, world.rng);
  EXPECT_FALSE(normaliser->Apply(wrong).ok());
}

}  // namespace
}  // namespace heft::paper
