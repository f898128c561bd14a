// SPDX-License-Identifier: Apache-2.0
#include "fusion/key_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckks/owner/secret_key.h"
#include "fusion/plan.h"
#include "fusion/testing.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(KeyNeeds, KeepTheMostLimbsAndNoIdentity) {
  KeyNeeds needs;
  needs.Galois(5, 2);
  needs.Galois(5, 4);
  needs.Galois(5, 3);
  needs.Galois(1, 7);
  needs.Galois(std::vector<uint32_t>{25, 1, 5}, 1);
  needs.Relinearisation(3);
  needs.Relinearisation(2);
  EXPECT_THAT(needs.galois_keys, ElementsAre(Pair(5, 4), Pair(25, 1)));
  EXPECT_EQ(needs.relinearisation_limbs, 3u);

  KeyNeeds other;
  other.Galois(25, 6);
  other.Galois(125, 1);
  other.Relinearisation(5);
  needs.Merge(other);
  EXPECT_THAT(needs.galois_keys, ElementsAre(Pair(5, 4), Pair(25, 6), Pair(125, 1)));
  EXPECT_EQ(needs.relinearisation_limbs, 5u);
}

TEST(KeyNeeds, RotationsAreTheParametersElements) {
  const Instance instance = *MakeInstance(testing::RandomModel({24, 16}, 16, 3));
  KeyNeeds needs;
  needs.Rotation(instance.params(), 0, 2);  // the identity
  EXPECT_THAT(needs.galois_keys, IsEmpty());
  needs.Rotation(instance.params(), 1, 2);
  needs.Rotation(instance.params(), 1 - static_cast<int64_t>(instance.params().slots()), 3);
  EXPECT_EQ(needs.galois_keys.size(), 1u) << "rotations go round";
}

TEST(KeyNeeds, LackingIsWhatKeysDoNotHaveOrHaveTooShort) {
  const Instance instance = *MakeInstance(testing::RandomModel({24, 16}, 16, 3));
  Csprng rng;
  const ckks::SecretKey secret = *ckks::SecretKey::Generate(*instance.context, rng);
  KeyNeeds have;
  have.Galois(5, 3);
  have.Galois(25, 2);
  have.Relinearisation(2);
  const ckks::EvaluationKeys keys = testing::MakeKeys(*instance.context, have, secret, rng);

  KeyNeeds none = have.Lacking(keys);
  EXPECT_THAT(none.galois_keys, IsEmpty());
  EXPECT_EQ(none.relinearisation_limbs, 0u);
  EXPECT_TRUE(CheckKeys(have, keys).ok());

  KeyNeeds more;
  more.Galois(5, 2);    // fewer limbs than are there
  more.Galois(25, 3);   // one more
  more.Galois(125, 1);  // no key at all
  more.Relinearisation(3);
  const KeyNeeds lacking = more.Lacking(keys);
  EXPECT_THAT(lacking.galois_keys, ElementsAre(Pair(25, 3), Pair(125, 1)));
  EXPECT_EQ(lacking.relinearisation_limbs, 3u);
  EXPECT_EQ(CheckKeys(more, keys).code(), absl::StatusCode::kFailedPrecondition);
  // With keys for the missing needs, no need is left.
  const ckks::EvaluationKeys rest = testing::MakeKeys(*instance.context, lacking, secret, rng);
  EXPECT_TRUE(CheckKeys(lacking, rest).ok());
}

}  // namespace
}  // namespace heft
