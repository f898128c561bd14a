// SPDX-License-Identifier: Apache-2.0
#include "fusion/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
}

TEST(ProfileTest, AnUnknownNameIsToldThoseThatExist) {
  EXPECT_THAT(std::string(FindProfile("huge").status().message()), HasSubstr("standard"));
}

TEST(ProfileTest, ModelsAreTrainedForTwo) {
  for (const char* name : {"standard", "flooded"}) {
    EXPECT_TRUE(FindModelProfile(name).ok()) << name;
  }
  for (const char* name : {"compact", "paper", "deep", "deepest", ""}) {
    EXPECT_EQ(FindModelProfile(name).status().message(),
              absl::StrCat("unknown profile \"", name, "\": choose standard, flooded"));
  }
}

// The small ring has fewer coefficients for its primes, and so does the secret of a ring switch.
TEST(ProfileTest, SmallRingsAreSecureToo) {
  size_t two = 0;
  for (const Profile& profile : AllProfiles()) {
    if (!profile.thin()) continue;
    ++two;
    const ckks::Params enrolment = *ckks::Params::Create(profile.spec);
    const auto matching = MatchingParams(enrolment);
    ASSERT_TRUE(matching.ok()) << profile.name << ": " << matching.status();
    EXPECT_EQ(matching->n(), enrolment.n() / 2);
    EXPECT_EQ(matching->level_primes(), enrolment.level_primes());
    EXPECT_TRUE(matching->security().secure_2024_classical()) << profile.name;
    EXPECT_EQ(SwitchingParams(enrolment)->primes(), matching->primes()) << profile.name;
  }
  EXPECT_EQ(two, 2u);
}

TEST(ProfileTest, OnlyFloodedHasRoomForFloodingInItsScores) {
  // The rescale before a score adds at least its rounding.
  Csprng rng;
  for (const Profile& profile : AllProfiles()) {
    const ckks::Context context(*ckks::Params::Create(profile.spec));
    const ckks::SecretKey secret = *ckks::SecretKey::Generate(context, rng);
    ckks::Ciphertext score;
    score.scale = profile.scale;
    score.noise = {1, ckks::RoundingError(context.params())};
    const size_t limbs = context.params().level_primes();
    for (int part = 0; part < 2; ++part) {
      std::ranges::fill(score.parts.emplace_back(context.n(), limbs).values(), 0u);
    }
    const auto opened = ckks::DecryptFlooded(context, score, secret, {});
    EXPECT_EQ(opened.status().code(),
              profile.flooded ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition)
        << profile.name;
  }
}

}  // namespace
}  // namespace heft
