// SPDX-License-Identifier: Apache-2.0
// All pairs of a class: the same templates as Fuser::Fuse, with each sample projected once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckks/encryptor.h"
#include "ckks/operation_counts.h"
#include "fusion/compact.h"
#include "fusion/fuser.h"
#include "fusion/testing.h"

namespace heft {
namespace {

using ckks::Ciphertext;

TEST(AllPairs, FuseEveryCombinationWithOneProjectionASample) {
  const Model model = testing::RandomModel({48, 64, 20}, 16, 2);
  const Instance instance = *MakeInstance(model);
  const ckks::Context& context = *instance.context;
  Csprng rng;
  const ckks::SecretKey secret = *ckks::SecretKey::Generate(context, rng);
  const ckks::PublicKey public_key = ckks::MakePublicKey(context, secret, rng);
  const ckks::EvaluationKeys keys = testing::MakeKeys(context, instance.plan.keys, secret, rng);
  const Fuser fuser = *Fuser::Create(instance, model, &keys);

  const size_t sizes[] = {2, 3, 1};
  std::mt19937_64 random(3);
  std::vector<std::vector<std::vector<double>>> plain(3);
  std::vector<std::vector<Ciphertext>> sets(3);
  for (size_t m = 0; m < 3; ++m) {
    for (size_t i = 0; i < sizes[m]; ++i) {
      plain[m].push_back(testing::RandomUnit(model.modalities[m].dimension, random));
      sets[m].push_back(ckks::Encrypt(context, *EncodeCompact(instance, model, m, plain[m].back()),
                                      public_key, rng));
    }
  }
  std::vector<std::vector<size_t>> seen;
  const auto check = [&](std::span<const size_t> indices, Normalised fused) {
    seen.emplace_back(indices.begin(), indices.end());
    EXPECT_EQ(fused.z.limbs(), TemplateLimbs(fuser.context().params()));
    const std::vector<double> expected = testing::FusePlain(
        model, {plain[0][indices[0]], plain[1][indices[1]], plain[2][indices[2]]});
    const auto slots = instance.encoder->Decode(ckks::Decrypt(context, fused.z, secret));
    for (uint32_t r = 0; r < model.gamma; ++r) {
      EXPECT_NEAR(slots[r].real(), expected[r], 2e-3);
    }
    return absl::OkStatus();
  };
  const ckks::OperationCounts before = ckks::TotalOperations();
  const absl::Status status = FuseAllPairs(fuser, sets, check);
  const ckks::OperationCounts counts = ckks::TotalOperations() - before;
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(seen, ::testing::ElementsAre(
                        ::testing::ElementsAre(0, 0, 0), ::testing::ElementsAre(0, 1, 0),
                        ::testing::ElementsAre(0, 2, 0), ::testing::ElementsAre(1, 0, 0),
                        ::testing::ElementsAre(1, 1, 0), ::testing::ElementsAre(1, 2, 0)));
  // Plaintext products are of the projection: each of the six samples once, not six triples.
  const size_t run[] = {instance.plan.projection.pairs[0].run,
                        instance.plan.projection.pairs[1].run};
  EXPECT_EQ(counts.plain_products, 5 * run[0] + run[1]);
  EXPECT_EQ(counts.ciphertext_products, 6 * instance.plan.ciphertext_products);

  const auto stop = [](std::span<const size_t>, Normalised) {
    return absl::CancelledError("enough");
  };
  EXPECT_EQ(FuseAllPairs(fuser, sets, stop).code(), absl::StatusCode::kCancelled);
  sets[1].clear();
  EXPECT_THAT(std::string(FuseAllPairs(fuser, sets, check).message()),
              ::testing::HasSubstr("no sample of modality 1"));
  EXPECT_FALSE(ProjectAlone(fuser, 3, sets[0][0]).ok());
  EXPECT_FALSE(FuseProjected(fuser, {}).ok());
}

}  // namespace
}  // namespace heft
