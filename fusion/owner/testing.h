// SPDX-License-Identifier: Apache-2.0
// Fixtures that hold a secret key, for the tests of fusion and matching.
#ifndef HEFT_FUSION_OWNER_TESTING_H_
#define HEFT_FUSION_OWNER_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fusion/compact.h"
#include "fusion/fuser.h"
#include "fusion/matching.h"
#include "fusion/testing.h"

namespace heft::testing {

// kScoreTolerance: the promised accuracy of scores for the compact profile.
constexpr double kScoreTolerance = 2e-3;

// FusionCase: the shape of a model.
struct FusionCase {
  const char* name;
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
  int degree;
};

// FusionTest: a random model, its keys, and samples fused under them.
class FusionTest : public ::testing::TestWithParam<FusionCase> {
 protected:
  void SetUp() override { Prepare(GetParam(), "compact"); }
  void Prepare(const FusionCase& c, const std::string& profile) {
    model_ = RandomModel(c.dimensions, c.gamma, c.degree, profile);
    auto instance = MakeInstance(model_);
    ASSERT_TRUE(instance.ok()) << instance.status();
    instance_ = *instance;
    secret_ =
        std::make_unique<ckks::SecretKey>(std::move(*ckks::SecretKey::Generate(context(), rng_)));
    keys_ = MakeKeys(context(), instance_.plan.keys, *secret_, rng_);
    auto fuser = Fuser::Create(instance_, model_, &keys_);
    ASSERT_TRUE(fuser.ok()) << fuser.status();
    fuser_ = std::make_unique<Fuser>(std::move(*fuser));
  }
  const ckks::Context& context() const { return *instance_.context; }

  // Random unit vectors, without modality `missing`.
  std::vector<std::vector<double>> RandomSample(int missing = -1) {
    std::vector<std::vector<double>> sample;
    for (const ModalitySpec& m : model_.modalities) {
      sample.push_back(RandomUnit(m.dimension, random_));
    }
    if (missing >= 0) sample[missing].clear();
    return sample;
  }
  std::vector<ckks::Ciphertext> EncryptSample(const std::vector<std::vector<double>>& sample) {
    std::vector<ckks::Ciphertext> out;
    for (size_t i = 0; i < sample.size(); ++i) {
      out.emplace_back();
      if (sample[i].empty()) continue;
      auto plain = EncodeCompact(instance_, model_, i, sample[i]);
      EXPECT_TRUE(plain.ok()) << plain.status();
      out.back() =
          ckks::Expand(context(), ckks::EncryptSymmetric(context(), *plain, *secret_, rng_));
    }
    return out;
  }
  absl::StatusOr<Normalised> FuseSample(const std::vector<std::vector<double>>& sample) {
    const std::vector<ckks::Ciphertext> encrypted = EncryptSample(sample);
    std::vector<const ckks::Ciphertext*> pointers;
    for (const ckks::Ciphertext& c : encrypted) pointers.push_back(c.parts.empty() ? nullptr : &c);
    return fuser_->Fuse(pointers);
  }
  std::vector<ckks::Complex> Open(const ckks::Ciphertext& c) {
    return instance_.encoder->Decode(ckks::Decrypt(context(), c, *secret_));
  }

  Csprng rng_;
  std::mt19937_64 random_{11};
  Model model_;
  Instance instance_;
  std::unique_ptr<ckks::SecretKey> secret_;
  ckks::EvaluationKeys keys_;
  std::unique_ptr<Fuser> fuser_;
};

// MatchingTest: templates in both lanes of a block, and a probe.
class MatchingTest : public FusionTest {
 protected:
  void SetUp() override {
    FusionTest::SetUp();
    const uint32_t slots = context().slots();
    // Neighbours in one lane, the same slot in the other, and the last position.
    positions_ = {0, 1, 7, slots + 0, slots + 1, 2 * slots - 1};
    block_ = EmptyBlock(context(), model_.gamma);
    std::vector<std::vector<double>> plain;
    for (size_t i = 0; i < positions_.size(); ++i) {
      const auto sample = RandomSample();
      plain.push_back(FusePlain(model_, sample));
      fused_.push_back(*FuseSample(sample));
    }
    std::vector<NewTemplate> added;
    for (size_t i = 0; i < positions_.size(); ++i) {
      added.push_back({&fused_[i].z, PositionOf(positions_[i], slots)});
    }
    // In two steps: a block grows.
    ASSERT_TRUE(AddToBlock(instance_, &block_, std::span(added).first(2), keys_).ok());
    ASSERT_TRUE(AddToBlock(instance_, &block_, std::span(added).subspan(2), keys_).ok());
    probe_sample_ = RandomSample();
    const std::vector<double> probe = FusePlain(model_, probe_sample_);
    expected_.assign(2 * slots, 0);
    for (size_t i = 0; i < positions_.size(); ++i) expected_[positions_[i]] = Dot(probe, plain[i]);
    auto encrypted = FuseSample(probe_sample_);
    ASSERT_TRUE(encrypted.ok()) << encrypted.status();
    probe_ = std::move(encrypted->z);
    auto prepared = PrepareProbe(instance_, probe_, keys_);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    prepared_ = std::move(*prepared);
  }
  // The largest error of a reply's scores; positions without a template score zero.
  double WorstError(const ckks::Ciphertext& scores) {
    const auto opened = Open(scores);
    double worst = 0;
    for (size_t j = 0; j < opened.size(); ++j) {
      const ckks::Complex expected(expected_[j], expected_[opened.size() + j]);
      worst = std::max(worst, std::abs(opened[j] - expected));
    }
    return worst;
  }

  std::vector<uint32_t> positions_;
  std::vector<Normalised> fused_;
  TiledCiphertexts block_;
  std::vector<std::vector<double>> probe_sample_;
  ckks::Ciphertext probe_;
  TiledCiphertexts prepared_;
  std::vector<double> expected_;  // by position
};

// FusionCases: pairs of modalities and one and three of them, at each gamma and degree.
inline std::vector<FusionCase> FusionCases() {
  return {{"face_voice_128_g32_cubic", {128, 128}, 32, 3},
          {"pair_512_g32_quadratic", {512, 512}, 32, 2},
          {"pair_192_512_g64_cubic", {192, 512}, 64, 3},
          {"one_512_g16_cubic", {512}, 16, 3},
          {"three_g32_cubic", {128, 192, 64}, 32, 3},
          {"odd_dimensions_g16_quadratic", {100, 37}, 16, 2}};
}

inline std::string FusionCaseName(const ::testing::TestParamInfo<FusionCase>& test) {
  return test.param.name;
}

}  // namespace heft::testing

#endif  // HEFT_FUSION_OWNER_TESTING_H_
