// SPDX-License-Identifier: Apache-2.0
#include "fusion/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckks/owner/flooding.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

TEST(ProfileTest, EveryProfileIsSecureByThe2024Table) {
  for (const Profile& profile : AllProfiles()) {
    auto params = ckks::Params::Create(profile.spec);
    ASSERT_TRUE(params.ok()) << profile.name << ": " << params.status();
    EXPECT_TRUE(params->security().secure_2024_classical()) << profile.name;
    EXPECT_EQ(params->limbs(), profile.spec.data_bits.size());
    for (size_t i = 0; i < params->limbs(); ++i) {
      EXPECT_EQ(params->modulus(i).bits(), profile.spec.data_bits[i]);
    }
  }
  const Profile pq = *FindProfile("compact-pq");
  EXPECT_TRUE(ckks::Params::Create(pq.spec)->security().secure_2024_quantum());
}

TEST(ProfileTest, AnUnknownNameIsToldThoseThatExist) {
  EXPECT_THAT(std::string(FindProfile("huge").status().message()), HasSubstr("compact"));
}

TEST(ProfileTest, ModelsAreTrainedForThree) {
  EXPECT_TRUE(FindModelProfile("compact").ok());
  EXPECT_TRUE(FindModelProfile("compact-pq").ok());
  for (const char* name : {"paper", "deep", "deepest", ""}) {
    EXPECT_EQ(FindModelProfile(name).status().message(),
              absl::StrCat("no profile \"", name, "\": there are compact, compact-pq, thin"));
  }
}

TEST(ProfileTest, NoneHasRoomForFloodingInItsScores) {
  // The rescale before a score leaves at least its rounding behind.
  Csprng rng;
  for (const Profile& profile : AllProfiles()) {
    const ckks::Context context(*ckks::Params::Create(profile.spec));
    const ckks::SecretKey secret = *ckks::SecretKey::Generate(context, rng);
    ckks::Ciphertext score;
    score.scale = profile.scale;
    score.noise = {1, ckks::RoundingError(context.params())};
    for (int part = 0; part < 2; ++part) score.parts.emplace_back(context.n(), 1);
    const auto refused = ckks::DecryptFlooded(context, score, secret, {});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << profile.name;
  }
}

}  // namespace
}  // namespace heft
