// SPDX-License-Identifier: Apache-2.0
// The paper's dense route against plain arithmetic: packed vectors, and one vector in all windows.
#include "fusion/dense.h"

#include <gtest/gtest.h>

#include "ckks/encryptor.h"
#include "fusion/profile.h"
#include "fusion/testing.h"

namespace heft {
namespace {

struct Case {
  const char* name;
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
  int degree;
};

class DenseTest : public ::testing::TestWithParam<Case> {};

TEST_P(DenseTest, FusesPackedVectorsAndAProbe) {
  const Case& c = GetParam();
  const Model model = testing::RandomModel(c.dimensions, c.gamma, c.degree, "paper");
  const Profile profile = *FindProfile("paper");
  auto context = std::make_shared<ckks::Context>(*ckks::Params::Create(profile.spec));
  const ckks::Encoder encoder(context);
  auto plan = PlanDense(context->params(), profile, model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  if (model.TotalDimension() == 1024 && c.gamma == 32) {
    EXPECT_EQ(plan->rotations, 37u);  // as the published code does
    EXPECT_EQ(plan->vectors, 4u);
  }
  Csprng rng;
  const ckks::SecretKey secret = *ckks::SecretKey::Generate(*context, rng);
  const ckks::PublicKey public_key = ckks::MakePublicKey(*context, secret, rng);
  const ckks::EvaluationKeys keys = testing::MakeKeys(*context, *plan, secret, rng);
  auto fuser = DenseFuser::Create(context, encoder, *plan, model, &keys);
  ASSERT_TRUE(fuser.ok()) << fuser.status();
  std::mt19937_64 random(5);
  for (uint32_t count : {plan->vectors, 1u}) {
    std::vector<std::vector<std::vector<double>>> modalities(c.dimensions.size());
    for (size_t m = 0; m < c.dimensions.size(); ++m) {
      for (uint32_t w = 0; w < count; ++w) {
        modalities[m].push_back(testing::RandomUnit(c.dimensions[m], random));
      }
    }
    std::vector<ckks::Ciphertext> encrypted;
    for (size_t m = 0; m < c.dimensions.size(); ++m) {
      auto plain = EncodeDense(encoder, *plan, model, m, modalities[m]);
      ASSERT_TRUE(plain.ok()) << plain.status();
      encrypted.push_back(ckks::Encrypt(*context, *plain, public_key, rng));
    }
    auto fused = fuser->Fuse(encrypted);
    ASSERT_TRUE(fused.ok()) << fused.status();
    const auto slots = encoder.Decode(ckks::Decrypt(*context, fused->z, secret));
    for (uint32_t w = 0; w < plan->vectors; ++w) {
      std::vector<std::vector<double>> sample;
      for (const auto& m : modalities) sample.push_back(count == 1 ? m[0] : m[w]);
      const std::vector<double> expected = testing::FusePlain(model, sample);
      for (uint32_t r = 0; r < c.gamma; ++r) {
        EXPECT_NEAR(slots[w * 2 * plan->delta + r].real(), expected[r], 2e-3) << w << " " << r;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DenseTest,
                         ::testing::Values(Case{"pair_512_g32", {512, 512}, 32, 2},
                                           Case{"pair_192_512_g16_cubic", {192, 512}, 16, 3},
                                           Case{"three_g64", {64, 128, 32}, 64, 2}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace heft
