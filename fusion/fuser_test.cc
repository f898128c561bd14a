// SPDX-License-Identifier: Apache-2.0
// The compact route compared with plain arithmetic: every error is within the noise estimate.
#include "fusion/fuser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "fusion/owner/testing.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using testing::FusePlain;
using testing::kScoreTolerance;

class FuserTest : public testing::FusionTest {};

TEST_P(FuserTest, FusedTemplateIsThePlainOneInEverySlot) {
  const auto sample = RandomSample();
  double s = 0;
  const std::vector<double> expected = FusePlain(model_, sample, &s);
  auto fused = FuseSample(sample);
  ASSERT_TRUE(fused.ok()) << fused.status();
  EXPECT_EQ(fused->z.limbs(), TemplateLimbs(instance_.params()));
  EXPECT_NEAR(fused->z.scale / instance_.plan.matching.template_scale, 1, 1e-9);
  const auto slots = Open(fused->z);
  double worst = 0;
  for (size_t t = 0; t < slots.size(); ++t) {
    worst = std::max(worst, std::abs(slots[t] - expected[t % model_.gamma]));
  }
  const double bound = ckks::SlotErrorBound(instance_.params(), fused->z.noise, fused->z.scale);
  EXPECT_LE(worst, bound);
  EXPECT_LT(worst, kScoreTolerance);
  const double norm_bound = ckks::SlotErrorBound(instance_.params(), fused->squared_norm.noise,
                                                 fused->squared_norm.scale);
  EXPECT_LT(norm_bound, 3e-2);
  for (const auto& slot : Open(fused->squared_norm)) EXPECT_NEAR(slot.real(), s, norm_bound);
}

TEST_P(FuserTest, MissingModalityIsTheZeroVector) {
  if (model_.modalities.size() < 2) GTEST_SKIP() << "one modality only";
  for (size_t missing = 0; missing < model_.modalities.size(); ++missing) {
    const auto sample = RandomSample(static_cast<int>(missing));
    const std::vector<double> expected = FusePlain(model_, sample);
    auto fused = FuseSample(sample);
    ASSERT_TRUE(fused.ok()) << fused.status();
    const auto slots = Open(fused->z);
    for (size_t r = 0; r < model_.gamma; ++r) {
      EXPECT_NEAR(slots[r].real(), expected[r], kScoreTolerance);
    }
  }
}

TEST_P(FuserTest, TheNumberOfThreadsChangesNothing) {
  const auto encrypted = EncryptSample(RandomSample());
  std::vector<const Ciphertext*> pointers;
  for (const Ciphertext& c : encrypted) pointers.push_back(&c);
  std::vector<TiledCiphertexts> blocks, probes;
  for (int threads : {1, 3}) {
    SetThreadCount(threads);
    const Normalised fused = *fuser_->Fuse(pointers);
    blocks.push_back(EmptyBlock(context(), model_.gamma));
    const NewTemplate added[] = {{&fused.z, {3, 1}}, {&fused.z, {4, 0}}};
    ASSERT_TRUE(AddToBlock(instance_, &blocks.back(), added, keys_).ok());
    probes.push_back(*PrepareProbe(instance_, fused.z, keys_));
  }
  SetThreadCount(0);
  EXPECT_EQ(blocks[0], blocks[1]);
  EXPECT_EQ(probes[0], probes[1]);
}

TEST_P(FuserTest, WrongInputsAreRefused) {
  auto sample = RandomSample();
  EXPECT_FALSE(EncodeCompact(instance_, model_, 0, std::vector<double>(3, 1.0)).ok());
  std::vector<double> bad = sample[0];
  bad[1] = std::nan("");
  EXPECT_FALSE(EncodeCompact(instance_, model_, 0, bad).ok());
  bad.assign(bad.size(), 0);
  EXPECT_FALSE(EncodeCompact(instance_, model_, 0, bad).ok());
  auto encrypted = EncryptSample(sample);
  Ciphertext low;
  ASSERT_TRUE(ckks::DropLimbs(context(), &low, encrypted[0], 3).ok());
  std::vector<const Ciphertext*> pointers(sample.size(), &low);
  EXPECT_FALSE(fuser_->Fuse(pointers).ok());
  pointers.assign(sample.size(), nullptr);
  EXPECT_FALSE(fuser_->Fuse(pointers).ok());
  EXPECT_FALSE(fuser_->Fuse({}).ok());
  ckks::EvaluationKeys lacking = keys_;
  lacking.galois.erase(lacking.galois.begin());
  EXPECT_EQ(Fuser::Create(instance_, model_, &lacking).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(All, FuserTest, ::testing::ValuesIn(testing::FusionCases()),
                         testing::FusionCaseName);

}  // namespace
}  // namespace heft
