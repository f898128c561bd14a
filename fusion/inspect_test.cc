// SPDX-License-Identifier: Apache-2.0
#include "heft/inspect.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/envelope.h"
#include "fusion/testing.h"

namespace heft {
namespace {

TEST(InspectTest, APlanOfTwoRingsShowsBothInTheSameParts) {
  const Model model = testing::RandomModel({512, 512}, 32, 3, "standard");
  const auto plan = DescribePlan(model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->rings.size(), 2u);
  const PlanInfo::Ring &enrolment = plan->rings[0], &matching = plan->rings[1];
  EXPECT_EQ(enrolment.serves, "enrolment");
  EXPECT_EQ(matching.serves, "matching");
  EXPECT_EQ(enrolment.ring_degree, 8192u);
  EXPECT_EQ(matching.ring_degree, 4096u);
  // Both project all modalities and compute a norm; the small ring has half as many slots.
  EXPECT_EQ(enrolment.projection.input_limbs, 7u);
  EXPECT_EQ(matching.projection.input_limbs, 3u);
  ASSERT_EQ(enrolment.projection.pairs.size(), 1u);
  ASSERT_EQ(matching.projection.pairs.size(), 1u);
  EXPECT_EQ(enrolment.projection.pairs[0].run, 4u);
  EXPECT_EQ(matching.projection.pairs[0].run, 8u);
  EXPECT_EQ(matching.projection.pairs[0].second, 1);
  for (const PlanInfo::Ring& ring : plan->rings) {
    EXPECT_EQ(ring.projection.z_limbs, ring.projection.input_limbs - 1);
    EXPECT_GT(ring.projection.z_scale, 0);
    EXPECT_EQ(ring.projection.folds_before_rescale, ring.projection.folds.size());
    EXPECT_EQ(ring.normalisation.folds.size(), 3u);  // 32 slots: 2, then 4 and 4
    EXPECT_EQ(ring.normalisation.interval_hi, model.approximation.interval.hi);
    EXPECT_EQ(ring.matching.template_limbs, 3u);
    EXPECT_FALSE(ring.galois_keys.empty());
  }
  // Templates are normalised in the large ring and matched in the small one.
  EXPECT_EQ(enrolment.normalisation.degree, 3);
  EXPECT_EQ(matching.normalisation.degree, 0);
  EXPECT_EQ(enrolment.matching.rotations, 0u);
  EXPECT_EQ(matching.matching.rotations, 32u);
  EXPECT_EQ(enrolment.matching.template_scale, matching.matching.template_scale);
  EXPECT_EQ(enrolment.matching.reply_bits, 0);
  EXPECT_GT(matching.matching.reply_bits, 0);
  EXPECT_EQ(matching.ciphertext_products, 1u);
  EXPECT_EQ(enrolment.ciphertext_products, 4u);
}

TEST(InspectTest, OneRingServesAll) {
  const auto plan = DescribePlan(testing::RandomModel({512, 512}, 32, 2, "compact"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->rings.size(), 1u);
  const PlanInfo::Ring& ring = plan->rings[0];
  EXPECT_EQ(ring.serves, "enrolment and matching");
  EXPECT_EQ(ring.normalisation.degree, 2);
  EXPECT_EQ(ring.matching.rotations, 32u);
  EXPECT_EQ(ring.matching.block_scale, ring.matching.template_scale);
  EXPECT_EQ(ring.matching.reply_bits, 0);
}

TEST(InspectTest, NoSecretIsShownAsAnId) {
  const std::vector<uint8_t> secret(32, 7);
  for (const char* kind : {"AUDK", "STND", "SIGK", "SEED"}) {
    const auto info = InspectFile(SealEnvelope(kind, 1, secret), kind);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_FALSE(info->params_id) << kind;
    EXPECT_FALSE(info->key_id) << kind;
  }
}

}  // namespace
}  // namespace heft
