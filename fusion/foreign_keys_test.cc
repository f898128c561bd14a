// SPDX-License-Identifier: Apache-2.0
// Keys of other programs: files with both halves of a key, and plans without the key of a rotation
// followed by conjugation.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing.h"
#include "ckks/encryptor.h"
#include "fusion/compact.h"
#include "fusion/fuser.h"
#include "fusion/key_files.h"
#include "fusion/testing.h"

namespace heft {
namespace {

class ForeignKeysTest : public ::testing::Test {
 protected:
  ForeignKeysTest()
      : model_(testing::RandomModel({20, 12}, 16, 2)),
        instance_(*MakeInstance(model_)),
        secret_(*ckks::SecretKey::Generate(context(), rng_)) {}
  const ckks::Context& context() const { return *instance_.context; }

  // The same key with a in full.
  ckks::FullSwitchKey Full(const ckks::SeededSwitchKey& seeded) const {
    ckks::FullSwitchKey full;
    full.b = seeded.b;
    for (size_t digit = 0; digit < seeded.limbs; ++digit) {
      full.a.emplace_back(context().n(), seeded.limbs + 1);
      for (size_t l = 0; l <= seeded.limbs; ++l) {
        const size_t prime = l < seeded.limbs ? l : context().special_index();
        ckks::ExpandUniform(context(), full.a.back().limb(l), seeded.seed, digit, prime);
      }
    }
    return full;
  }

  TestCsprng rng_{Seed{7}};
  Model model_;
  Instance instance_;
  ckks::SecretKey secret_;
};

TEST_F(ForeignKeysTest, FullKeyFilesHoldTheSameKeys) {
  const ckks::SeededSwitchKey relin = MakeRelinearisationKey(context(), secret_, 2, rng_);
  const ckks::SeededSwitchKey rotation = MakeGaloisKey(context(), secret_, 3, 1, rng_);
  EvaluationKeysWriter writer(context(), secret_.key_id(), 2);
  writer.Add(1, relin);
  writer.Add(3, rotation);
  const auto seeded = ParseEvaluationKeys(context(), writer.Finish(), "seeded");
  const std::vector<uint8_t> bytes = SerializeFullEvaluationKeys(
      context(), secret_.key_id(), {{1, Full(relin)}, {3, Full(rotation)}});
  const auto full = ParseEvaluationKeys(context(), bytes, "full");
  ASSERT_TRUE(seeded.ok() && full.ok()) << full.status();
  EXPECT_EQ(full->key_id, secret_.key_id());
  const auto same = [&](const ckks::SwitchKey& a, const ckks::SwitchKey& b) {
    return a.bytes() == b.bytes() &&
           std::equal(a.limb(0), a.limb(0) + a.bytes() / sizeof(uint32_t), b.limb(0));
  };
  EXPECT_TRUE(same(full->relinearisation, seeded->relinearisation));
  EXPECT_TRUE(same(full->galois.at(3), seeded->galois.at(3)));
  for (size_t size : {bytes.size() - 1, bytes.size() / 2, size_t{40}}) {
    EXPECT_FALSE(ParseEvaluationKeys(context(), ByteSpan(bytes).first(size), "cut").ok());
  }
}

TEST_F(ForeignKeysTest, FullEncryptionKeysRoundTrip) {
  ckks::PublicKey key = MakePublicKey(context(), secret_, rng_);
  key.seeded = false;
  const auto read = ParseEncryptionKey(context(), SerializeEncryptionKey(context(), key), "key");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->seeded);
  EXPECT_TRUE(std::equal(key.a.values().begin(), key.a.values().end(), read->a.values().begin()));
  EXPECT_TRUE(std::equal(key.b.values().begin(), key.b.values().end(), read->b.values().begin()));
}

TEST_F(ForeignKeysTest, FusesWithoutTheKeyOfARotationAndConjugation) {
  ckks::EvaluationKeys keys = testing::MakeKeys(context(), instance_.plan.keys, secret_, rng_);
  const ckks::PublicKey public_key = MakePublicKey(context(), secret_, rng_);
  std::mt19937_64 random(3);
  std::vector<std::vector<double>> vectors;
  std::vector<ckks::Ciphertext> inputs;
  for (size_t m = 0; m < 2; ++m) {
    vectors.push_back(testing::RandomUnit(model_.modalities[m].dimension, random));
    inputs.push_back(
        Encrypt(context(), *EncodeCompact(instance_, model_, m, vectors[m]), public_key, rng_));
  }
  const ckks::Ciphertext* const pointers[] = {&inputs[0], &inputs[1]};
  const std::vector<double> expected = testing::FusePlain(model_, vectors);

  const size_t all = keys.galois.size();
  std::erase_if(keys.galois, [&](const auto& entry) {
    return IsRotationAndConjugation(instance_.params(), entry.first);
  });
  ASSERT_EQ(keys.galois.size(), all - 1);
  const auto fuser = Fuser::Create(instance_, model_, &keys);
  ASSERT_TRUE(fuser.ok()) << fuser.status();
  EXPECT_EQ(fuser->plan().projection.folds.size(), instance_.plan.projection.folds.size() + 1);
  EXPECT_EQ(fuser->plan().key_switches, instance_.plan.key_switches - 1);
  const auto fused = fuser->Fuse(pointers);
  ASSERT_TRUE(fused.ok()) << fused.status();
  const auto slots = instance_.encoder->Decode(Decrypt(context(), fused->z, secret_));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(slots[i].real(), expected[i], 3e-3);

  keys.galois.erase(ckks::RotationElement(instance_.params(), 1));
  EXPECT_FALSE(Fuser::Create(instance_, model_, &keys).ok()) << "a plain rotation is needed";
}

}  // namespace
}  // namespace heft
