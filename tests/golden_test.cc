// SPDX-License-Identifier: Apache-2.0
// Files of every format, written once (tests/golden/README.md), must stay readable for ever and
// keep their meaning: models, keys and samples. Openings and scores are in
// golden_scores_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <filesystem>

#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "fusion/rekey.h"
#include "heft/server.h"
#include "learning/train.h"
#include "tests/golden_testing.h"

namespace heft::golden {
namespace {

TEST_F(GoldenTest, Model) {
  const Model expected = ModelWithoutApproximation();
  EXPECT_EQ(model_.modalities, expected.modalities);
  EXPECT_EQ(model_.gamma, expected.gamma);
  EXPECT_EQ(model_.projection, expected.projection);
  EXPECT_EQ(model_.profile, expected.profile);
  EXPECT_EQ(model_.tables, expected.tables);
  EXPECT_EQ(model_.training_summary, expected.training_summary);
  EXPECT_EQ(model_.approximation.interval.lo, 0.2);
  EXPECT_EQ(model_.approximation.interval.hi, 2.2);
  EXPECT_NEAR(model_.approximation(1.0), 1.0, 0.1);
  EXPECT_EQ(model_.Serialize(), Golden("model.heft"));
  const Model decided = DecidedModel(model_);
  EXPECT_EQ(decided.Serialize(), Golden("model-2.heft"));
  const Model back = Ok(Model::Parse(Golden("model-2.heft"), "model-2.heft"));
  EXPECT_EQ(back.sample_agreement, decided.sample_agreement);
  EXPECT_EQ(back.tables, decided.tables);
  EXPECT_NE(back.Id(), model_.Id()) << "the agreement is part of the id";
}

TEST_F(GoldenTest, SecretKeys) {
  const auto sealed =
      Ok(ParseSecretKey(context(), Golden("sealed.key"), std::string(kPassphrase), "sealed.key"));
  EXPECT_EQ(sealed.key_id(), secret_.key_id());
  EXPECT_TRUE(std::ranges::equal(sealed.coefficients(), secret_.coefficients()));
  EXPECT_FALSE(ParseSecretKey(context(), Golden("sealed.key"), std::string("wrong"), "x").ok());
  EXPECT_EQ(Ok(SerializeSecretKey(context(), secret_, {})), Golden("secret.key"));
}

TEST_F(GoldenTest, EncryptionKeysOfBothVersions) {
  for (const char* name : {"encryption.key", "encryption-2.key"}) {
    const auto key = Ok(ParseEncryptionKey(context(), Golden(name), name));
    EXPECT_EQ(key.key_id, secret_.key_id());
    Csprng rng;
    const auto plain = Ok(EncodeCompact(instance_, model_, 1, Vector(1, 1)));
    const auto slots = Decrypt(ckks::Encrypt(context(), plain, key, rng));
    EXPECT_NEAR(slots[0].real(), 0.5 / std::sqrt(10.25), kTolerance);
    EXPECT_EQ(SerializeEncryptionKey(context(), key), Golden(name));
  }
}

TEST_F(GoldenTest, EvaluationKeysOfBothVersions) {
  for (const char* name : {"evaluation.keys", "evaluation-2.keys"}) {
    const auto keys = Ok(ParseEvaluationKeys(context(), Golden(name), name));
    EXPECT_EQ(keys.key_id, secret_.key_id());
    EXPECT_TRUE(keys.galois.empty());
    ASSERT_EQ(keys.relinearisation.limbs(), 2u);
    Csprng rng;
    const double scale = std::ldexp(1.0, 24);
    const auto plain =
        Ok(instance_.encoder->Encode(std::vector<double>{0.5, -0.75, 0.25}, scale, 2));
    ckks::Ciphertext square =
        ckks::Expand(context(), ckks::EncryptSymmetric(context(), plain, secret_, rng));
    ASSERT_TRUE(ckks::Square(context(), &square, square).ok());
    ASSERT_TRUE(ckks::Relinearise(context(), &square, square, keys).ok());
    ASSERT_EQ(square.size(), 2u);
    const auto slots = Decrypt(square);
    EXPECT_NEAR(slots[0].real(), 0.25, kTolerance);
    EXPECT_NEAR(slots[1].real(), 0.5625, kTolerance);
    EXPECT_NEAR(slots[3].real(), 0, kTolerance);
  }
}

TEST_F(GoldenTest, Samples) {
  const auto samples = Ok(SampleReader::Parse(instance_.context, Golden("face.ct"), "face.ct"));
  EXPECT_EQ(samples.header().modality, "face");
  EXPECT_EQ(samples.header().key_id, secret_.key_id());
  EXPECT_TRUE(samples.header().seeded);
  ASSERT_EQ(samples.labels(), std::vector<std::string>{kIdentities[0]});
  const auto slots = Decrypt(Ok(samples.Sample(0)));
  const auto unit = *NormalisedVector(Vector(0, 0), model_.modalities[0]);
  const auto expected =
      CompactSlots(unit, samples.header().run, samples.header().gamma, instance_.params().slots());
  for (size_t j = 0; j < slots.size(); ++j) {
    ASSERT_NEAR(std::abs(slots[j] - ckks::Complex(expected[j])), 0, kTolerance) << j;
  }
}

TEST_F(GoldenTest, BulkSamples) {
  const auto samples =
      Ok(SampleReader::Parse(instance_.context, Golden("finger-bulk.ct"), "finger-bulk.ct"));
  EXPECT_TRUE(samples.bulk());
  EXPECT_EQ(samples.header().modality, "finger");
  EXPECT_EQ(samples.header().dimension, 1u);
  EXPECT_EQ(samples.header().key_id, secret_.key_id());
  EXPECT_TRUE(samples.header().seeded);
  EXPECT_EQ(samples.labels(), kIdentities);
  EXPECT_FALSE(samples.Sample(0).ok());
  const auto slots = Decrypt(Ok(samples.Coordinate(0)));
  for (size_t j = 0; j < kBulkRows.size(); ++j) {
    EXPECT_NEAR(slots[j].real(), kBulkRows[j][0] > 0 ? 1 : -1, kTolerance) << j;
  }
}

TEST(GoldenCheckpointTest, ComesBack) {
  const std::vector<uint8_t> bytes = Golden("checkpoint.json");
  const std::string text(bytes.begin(), bytes.end());
  const TrainCheckpoint checkpoint = Ok(ParseCheckpoint(text));
  EXPECT_EQ(checkpoint.epoch, 2);
  EXPECT_EQ(checkpoint.best_epoch, 1);
  EXPECT_EQ(checkpoint.best_auroc, 0.75);
  EXPECT_EQ(checkpoint.best_fnmr, 0.5);
  EXPECT_EQ(checkpoint.adam.step, 2);
  EXPECT_EQ(checkpoint.projection, (FeatureMatrix(1, 2) << 0.5, -1).finished());
  EXPECT_EQ(checkpoint.modality_weights, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(FormatCheckpoint(checkpoint), text);
}

// A sample file of then is matched with a gallery of now.
TEST_F(GoldenTest, AnOldSampleIsIdentified) {
  const auto server = ServerOf(secret_);
  const Gallery::Impl gallery = Ok(server->OpenGallery(Enrolled(), /*create=*/false));
  EXPECT_EQ(gallery.identities(), kIdentities);
  EXPECT_TRUE(gallery.CheckIntact(&instance_).ok()) << gallery.CheckIntact(&instance_);
  // Both modalities of person 0; the face comes from its file.
  std::vector<SampleReader> files;
  files.push_back(Ok(SampleReader::Parse(instance_.context, Golden("face.ct"), "face.ct")));
  const std::vector<std::vector<double>> voice = {Vector(1, 0)};
  files.push_back(Ok(SampleReader::Parse(
      instance_.context, Ok(EncryptSamplesSymmetric(instance_, model_, 1, secret_, voice, {})),
      "voice")));
  const auto set = Ok(SampleSet::Create(instance_, model_, std::move(files)));
  const auto scores = Ok(server->Identify(gallery, set, {}));
  ExpectScores(Ok(Owner().Open(SerializeScores(context(), scores), "scores")), {"ann", "bob"});
}

TEST_F(GoldenTest, Renewal) {
  const auto next =
      Ok(ParseSecretKey(context(), Golden("renewed/secret.key"), {}, "renewed/secret.key"));
  const auto key = Ok(ParseRekeyingKey(context(), Golden("renewed/rekeying.key"), "rekeying.key"));
  EXPECT_EQ(key.from, secret_.key_id());
  EXPECT_EQ(key.to, next.key_id());
  // A gallery of now moves with the key of then.
  const std::string moved = Enrolled();
  Gallery::Impl gallery = Ok(Gallery::Impl::Open(moved));
  const absl::Status status = RekeyGallery(&gallery, instance_, key);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(gallery.revoked_keys(), std::vector<ckks::KeyId>{secret_.key_id()});
  ExpectGallery(moved, next);
}

}  // namespace
}  // namespace heft::golden
