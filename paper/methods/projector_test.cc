// SPDX-License-Identifier: Apache-2.0
// Every projection method against a plain matrix product, within the noise that was predicted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "ckks/encryptor.h"
#include "ckks/operation_counts.h"
#include "fusion/testing.h"
#include "paper/methods/projection.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;

// A degree just large enough for the method: the real ones take the same code minutes.
uint32_t Degree(ProjectionMethod method, uint32_t delta, uint32_t windows) {
  return IsDense(method) ? 4 * delta * windows : 4096;
}

struct ProjectorWorld {
  ProjectorWorld(ProjectionMethod method, const Model& m, uint32_t windows) : model(m) {
    ckks::ParamsSpec spec;
    spec.n = Degree(method, std::bit_ceil(model.TotalDimension()), windows);
    // The compact plan asks for as many primes as its normalisation takes.
    spec.data_bits = std::vector<int>(method == ProjectionMethod::kCompact ? 7 : 4, 29);
    spec.data_bits[0] = 30;
    spec.allow_insecure = true;
    context = std::make_shared<ckks::Context>(*ckks::Params::Create(spec));
    encoder = std::make_shared<ckks::Encoder>(context);
    secret.emplace(*ckks::SecretKey::Generate(*context, rng));
    public_key = ckks::MakePublicKey(*context, *secret, rng);
  }

  std::vector<std::vector<Ciphertext>> Encrypt(
      const ProjectionPlan& plan, const std::vector<std::vector<std::vector<double>>>& modalities) {
    std::vector<std::vector<Ciphertext>> out;
    for (size_t m = 0; m < modalities.size(); ++m) {
      out.emplace_back();
      if (modalities[m].empty()) continue;
      const auto plain = EncodeForProjection(*encoder, plan, model, m, modalities[m]);
      EXPECT_TRUE(plain.ok()) << plain.status();
      for (const ckks::Plaintext& p : *plain) {
        out.back().push_back(ckks::Encrypt(*context, p, public_key, rng));
      }
    }
    return out;
  }

  // Largest difference from `expected`, as a multiple of the bound predicted for it.
  double ErrorOverBound(const ProjectionPlan& plan, const std::vector<Ciphertext>& z,
                        const std::vector<std::vector<double>>& expected) {
    std::vector<std::vector<ckks::Complex>> slots;
    double bound = 0, error = 0;
    for (const Ciphertext& c : z) {
      EXPECT_EQ(c.limbs(), plan.output_limbs);
      EXPECT_NEAR(c.scale / plan.output_scale, 1, 1e-9);
      slots.push_back(encoder->Decode(ckks::Decrypt(*context, c, *secret)));
      bound = std::max(bound, ckks::SlotErrorBound(context->params(), c.noise, c.scale));
    }
    const auto rows = ReadProjection(plan, slots, static_cast<uint32_t>(expected.size()));
    for (size_t j = 0; j < expected.size(); ++j) {
      for (uint32_t r = 0; r < plan.gamma; ++r) {
        error = std::max(error, std::abs(rows[j][r] - expected[j][r]));
      }
    }
    EXPECT_LT(bound, 0.05);  // a coordinate is about 0.2
    EXPECT_GT(error, bound / 400);
    return error / bound;
  }

  Model model;
  std::shared_ptr<const ckks::Context> context;
  std::shared_ptr<const ckks::Encoder> encoder;
  Csprng rng;
  std::optional<ckks::SecretKey> secret;
  ckks::PublicKey public_key;
};

// P times the concatenation of the given modalities.
std::vector<double> Product(const Model& model,
                            const std::vector<std::vector<double>>& modalities) {
  Model linear = model;
  linear.approximation.stages = {Polynomial{{1}}};
  return testing::FusePlain(linear, modalities);
}

struct Case {
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
  uint32_t windows = 1;
};

std::string CaseName(const Case& c) {
  std::string name;
  for (uint32_t d : c.dimensions) name += std::to_string(d) + "_";
  return name + "gamma" + std::to_string(c.gamma) + "_windows" + std::to_string(c.windows);
}

void CheckMethod(ProjectionMethod method, const Case& c) {
  SCOPED_TRACE(ProjectionMethodName(method) + " " + CaseName(c));
  ProjectorWorld world(method, testing::RandomModel(c.dimensions, c.gamma, 2), c.windows);
  const auto plan = PlanProjection(world.context->params(), method, world.model, 0, 0x1p28, 0x1p27);
  ASSERT_TRUE(plan.ok()) << plan.status();
  if (IsDense(method)) {
    EXPECT_EQ(plan->vectors, c.windows);
  }
  const ckks::EvaluationKeys keys =
      testing::MakeKeys(*world.context, plan->keys, *world.secret, world.rng);
  const auto projector =
      Projector::Create(world.context, *world.encoder, *plan, world.model, &keys);
  ASSERT_TRUE(projector.ok()) << projector.status();

  const uint32_t count = method == ProjectionMethod::kSimd ? 3 : plan->vectors;
  std::mt19937_64 random(7);
  std::vector<std::vector<std::vector<double>>> modalities(c.dimensions.size());
  std::vector<std::vector<double>> expected;
  for (uint32_t j = 0; j < count; ++j) {
    std::vector<std::vector<double>> sample;
    for (size_t m = 0; m < c.dimensions.size(); ++m) {
      sample.push_back(testing::RandomUnit(c.dimensions[m], random));
      modalities[m].push_back(sample.back());
    }
    expected.push_back(Product(world.model, sample));
  }
  const auto encrypted = world.Encrypt(*plan, modalities);
  const auto concatenated = projector->Concatenate(encrypted);
  ASSERT_TRUE(concatenated.ok()) << concatenated.status();
  const auto z = projector->Project(*concatenated);
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->size(), method == ProjectionMethod::kSimd ? world.model.gamma : 1);
  EXPECT_LT(world.ErrorOverBound(*plan, *z, expected), 1);
}

TEST(ProjectionMethods, AgreeWithAMatrixProductAtThePapersSizes) {
  const std::vector<std::vector<uint32_t>> sizes = {{192, 512}, {512, 512}, {128, 128}};
  for (const ProjectionMethod method : kAllProjectionMethods) {
    for (const auto& dimensions : sizes) {
      for (const uint32_t gamma : {16u, 32u, 64u}) {
        if (method == ProjectionMethod::kDiagonalSquare) continue;  // below
        CheckMethod(method, {dimensions, gamma});
      }
    }
  }
}

TEST(ProjectionMethods, SquareDiagonalsKeepTheDimension) {
  CheckMethod(ProjectionMethod::kDiagonalSquare, {{128, 128}, 256});
  CheckMethod(ProjectionMethod::kDiagonalSquare, {{192, 512}, 1024});
  CheckMethod(ProjectionMethod::kDiagonalSquare, {{512, 512}, 1024});
  CheckMethod(ProjectionMethod::kDiagonalSquare, {{24, 40}, 64, 2});
}

TEST(ProjectionMethods, PackSeveralVectors) {
  for (const ProjectionMethod method : kAllProjectionMethods) {
    if (!IsDense(method) || method == ProjectionMethod::kDiagonalSquare) continue;
    CheckMethod(method, {{40, 50}, 16, 4});
  }
}

TEST(ProjectionMethods, TakeThreeModalities) {
  for (const ProjectionMethod method : kAllProjectionMethods) {
    if (method == ProjectionMethod::kDiagonalSquare) continue;
    CheckMethod(method, {{64, 30, 20}, 16, 1});
  }
}

// One vector in all windows: z repeats over all slots, as a probe's must.
TEST(ProjectionMethods, ProbesRepeatOverAllSlots) {
  const Model model = testing::RandomModel({30, 34}, 8, 2);
  std::mt19937_64 random(8);
  const std::vector<std::vector<double>> sample = {testing::RandomUnit(30, random),
                                                   testing::RandomUnit(34, random)};
  const std::vector<double> expected = Product(model, sample);
  for (const ProjectionMethod method : kAllProjectionMethods) {
    if (!IsDense(method) || method == ProjectionMethod::kDiagonalSquare) continue;
    ProjectorWorld world(method, model, 4);
    const auto plan = PlanProjection(world.context->params(), method, model, 0, 0x1p28);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto keys = testing::MakeKeys(*world.context, plan->keys, *world.secret, world.rng);
    const auto projector = Projector::Create(world.context, *world.encoder, *plan, model, &keys);
    ASSERT_TRUE(projector.ok()) << projector.status();
    const auto x = projector->Concatenate(world.Encrypt(*plan, {{sample[0]}, {sample[1]}}));
    ASSERT_TRUE(x.ok()) << x.status();
    const auto z = projector->Project(*x);
    ASSERT_TRUE(z.ok()) << z.status();
    const auto slots = world.encoder->Decode(ckks::Decrypt(*world.context, (*z)[0], *world.secret));
    for (size_t t = 0; t < slots.size(); ++t) {
      ASSERT_NEAR(slots[t].real(), expected[t % 8], 2e-3) << ProjectionMethodName(method) << t;
    }
  }
}

// The projection is linear: single modalities, projected alone, add up.
TEST(ProjectionMethods, ProjectSingleModalities) {
  const Model model = testing::RandomModel({30, 34}, 8, 2);
  std::mt19937_64 random(9);
  const auto vector = testing::RandomUnit(34, random);
  for (const ProjectionMethod method : kAllProjectionMethods) {
    if (method == ProjectionMethod::kDiagonalSquare) continue;
    ProjectorWorld world(method, model, 1);
    const auto plan = PlanProjection(world.context->params(), method, model, 0, 0x1p28);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const auto keys = testing::MakeKeys(*world.context, plan->keys, *world.secret, world.rng);
    const auto projector = Projector::Create(world.context, *world.encoder, *plan, model, &keys);
    ASSERT_TRUE(projector.ok()) << projector.status();
    const auto x = projector->Concatenate(world.Encrypt(*plan, {{}, {vector}}));
    ASSERT_TRUE(x.ok()) << x.status();
    const auto z = projector->Project(*x);
    ASSERT_TRUE(z.ok()) << z.status();
    EXPECT_LT(world.ErrorOverBound(*plan, *z, {Product(model, {{}, vector})}), 1)
        << ProjectionMethodName(method);
  }
}

// Rotations are what the methods differ in.
TEST(ProjectionMethods, CountTheirRotations) {
  const Model model = testing::RandomModel({128, 128}, 32, 2);
  std::mt19937_64 random(10);
  const auto x0 = testing::RandomUnit(128, random);
  const struct {
    ProjectionMethod method;
    uint64_t rotations, plain_products;
  } cases[] = {{ProjectionMethod::kNaive, 32 * 8, 2 * 32},
               {ProjectionMethod::kDiagonalPadded, 255 + 3, 256},
               {ProjectionMethod::kHybrid, 31 + 3, 32},
               {ProjectionMethod::kHybridBabyGiant, 7 + 3 + 3, 32},
               {ProjectionMethod::kSimd, 0, 32 * 256}};
  for (const auto& c : cases) {
    ProjectorWorld world(c.method, model, 1);
    const auto plan = PlanProjection(world.context->params(), c.method, model, 0, 0x1p28);
    const auto keys = testing::MakeKeys(*world.context, plan->keys, *world.secret, world.rng);
    const auto projector = Projector::Create(world.context, *world.encoder, *plan, model, &keys);
    const auto x = projector->Concatenate(world.Encrypt(*plan, {{x0}, {x0}}));
    const ckks::OperationCounts before = ckks::TotalOperations();
    ASSERT_TRUE(projector->Project(*x).ok());
    const ckks::OperationCounts counts = ckks::TotalOperations() - before;
    EXPECT_EQ(counts.rotations, c.rotations) << ProjectionMethodName(c.method);
    EXPECT_EQ(counts.plain_products, c.plain_products) << ProjectionMethodName(c.method);
    EXPECT_EQ(counts.ciphertext_products, 0u);
  }
}

TEST(ProjectionMethods, RefuseWhatDoesNotFit) {
  const Model model = testing::RandomModel({128, 128}, 32, 2);
  ProjectorWorld world(ProjectionMethod::kHybrid, model, 1);
  const ckks::Params& params = world.context->params();
  const auto square = PlanProjection(params, ProjectionMethod::kDiagonalSquare, model, 0, 0x1p28);
  EXPECT_THAT(std::string(square.status().message()), ::testing::HasSubstr("gamma = delta = 256"));
  const Model large = testing::RandomModel({512, 512}, 32, 2);
  EXPECT_FALSE(PlanProjection(params, ProjectionMethod::kHybrid, large, 0, 0x1p28).ok());
  EXPECT_FALSE(PlanProjection(params, ProjectionMethod::kNaive, model, 2, 0x1p28).ok());
  EXPECT_FALSE(PlanProjection(params, ProjectionMethod::kHybrid, model, 5, 0x1p28).ok());
  const auto plan = PlanProjection(params, ProjectionMethod::kHybrid, model, 0, 0x1p28);
  const ckks::EvaluationKeys none;
  EXPECT_EQ(Projector::Create(world.context, *world.encoder, *plan, model, &none).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft::paper
