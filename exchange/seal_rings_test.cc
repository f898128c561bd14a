// SPDX-License-Identifier: Apache-2.0
// The exchange with SEAL's objects, for a model with two rings and for one with one: the ring of
// each object, and refusal of objects of the other ring. With SEAL itself: tests/seal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/files.h"
#include "base/inside.h"
#include "base/testing.h"
#include "fusion/norm_proof.h"
#include "fusion/samples.h"
#include "fusion/testing.h"
#include "gallery/scores.h"
#include "heft/seal_key_owner.h"
#include "heft/server.h"
#include "owner/activate_all.h"
#include "owner/key_owner_impl.h"
#include "seal/objects.h"
#include "seal/owner/secret_key.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

constexpr SealCompression kNone = SealCompression::kNone;
constexpr SealRing kBothRings[] = {SealRing::kMatching, SealRing::kEnrolment};

class SealRingsTest : public ::testing::Test {
 protected:
  // One key owner for all tests: its evaluation keys take most of the time.
  static void SetUpTestSuite() {
    model_ = new Model(testing::RandomModel({300, 20}, 16, 2, "standard"));
    owner_ = new KeyOwner(*KeyOwner::Generate(*model_));
    ASSERT_TRUE(owner_->SetBudget({1000000, 1000000, 1000000000}).ok());
  }
  static void TearDownTestSuite() {
    delete owner_;
    delete model_;
  }
  const Rings& rings() const { return Inside::Of(*owner_).rings(); }
  const Instance& instance(SealRing ring) const {
    return ring == SealRing::kMatching ? rings().matching : rings().enrolment;
  }
  const ckks::SecretKey& key(SealRing ring) const {
    const SecretKeys& keys = Inside::Of(*owner_).keys();
    return ring == SealRing::kMatching ? keys.matching() : keys.enrolment;
  }
  std::vector<double> Vector(size_t modality, uint64_t seed) const {
    std::mt19937_64 random(2 * seed + modality);
    return testing::RandomUnit(model_->modalities[modality].dimension, random);
  }
  std::vector<uint8_t> Encrypted(size_t modality, uint64_t seed, SampleUse use) const {
    const std::vector<double> row = Vector(modality, seed);
    const std::vector<float> values(row.begin(), row.end());
    const std::vector<std::string> labels = {"ann"};
    return *owner_->Encrypt(
        {model_->modalities[modality].name, values, labels, SampleEncoding::kCompact, use});
  }
  // SEAL's file for this: an export, imported again.
  absl::StatusOr<std::vector<uint8_t>> ThroughSeal(size_t modality, uint64_t seed,
                                                   SampleUse use) const {
    HEFT_ASSIGN_OR_RETURN(
        SealSamples samples,
        ExportSealSamples(*model_, {Encrypted(modality, seed, use), "sample"}, kNone));
    const std::vector<SampleFile> files = {{samples.ciphertexts[0], "sample.seal"}};
    return ImportSealSamples(*model_, model_->modalities[modality].name, owner_->key_id(), files,
                             samples.labels);
  }
  std::vector<SampleFile> ProbeThroughSeal(uint64_t seed, SampleUse use) const {
    std::vector<SampleFile> files;
    for (size_t m : {0, 1}) files.push_back({*ThroughSeal(m, seed, use), "sample"});
    return files;
  }
  std::string Path(const std::string& name) const { return temporary_ / name; }

  inline static Model* model_ = nullptr;
  inline static KeyOwner* owner_ = nullptr;
  const testing::TemporaryFolder temporary_;
};

TEST_F(SealRingsTest, ParametersOfEachRing) {
  for (SealRing ring : kBothRings) {
    const auto exported = ExportSealParameters(*model_, kNone, ring);
    ASSERT_TRUE(exported.ok()) << exported.status();
    const auto params = seal::ReadParams(exported->parameters, "parameters");
    ASSERT_TRUE(params.ok()) << params.status();
    EXPECT_EQ(params->id(), instance(ring).params().id());
    EXPECT_EQ(exported->scale, instance(ring).plan.projection.input_scale);
    EXPECT_EQ(exported->runs[0], instance(ring).plan.projection.pairs[0].run);
  }
  const auto matching = *ExportSealParameters(*model_, kNone);
  const auto enrolment = *ExportSealParameters(*model_, kNone, SealRing::kEnrolment);
  EXPECT_EQ(matching.degree, 4096u);
  EXPECT_EQ(matching.ring, "matching");
  EXPECT_FALSE(matching.rotation_steps.empty());
  EXPECT_EQ(enrolment.degree, 8192u);
  EXPECT_EQ(enrolment.ring, "enrolment");
  EXPECT_NE(matching.runs[0], enrolment.runs[0]);
  // SEAL cannot make the keys that lead from this ring to the other.
  EXPECT_TRUE(enrolment.rotation_steps.empty());
}

TEST_F(SealRingsTest, EncryptionKeysOfBothRings) {
  const std::vector<uint8_t> original = owner_->EncryptionKey();
  const auto matching = *ExportSealEncryptionKey(*model_, original, "key", kNone);
  const auto enrolment =
      *ExportSealEncryptionKey(*model_, original, "key", kNone, SealRing::kEnrolment);
  const KeyId id = owner_->key_id();
  const auto imported =
      ImportSealEncryptionKey(*model_, id, matching, "matching", {enrolment, "enrolment"});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const auto client = Client::Create(*model_, *imported);
  ASSERT_TRUE(client.ok()) << client.status();
  for (SealRing ring : kBothRings) {
    EXPECT_EQ(*ExportSealEncryptionKey(*model_, *imported, "key", kNone, ring),
              ring == SealRing::kMatching ? matching : enrolment);
  }
  const auto alone = ImportSealEncryptionKey(*model_, id, matching, "matching");
  EXPECT_EQ(alone.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(alone.status().message()), HasSubstr("--enrolment-in"));
  const auto swapped =
      ImportSealEncryptionKey(*model_, id, enrolment, "enrolment", {matching, "matching"});
  EXPECT_EQ(swapped.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(swapped.status().message()),
              HasSubstr("needed: one of the matching ring, N = 4096"));
}

TEST_F(SealRingsTest, SecretKeysOfBothRings) {
  ASSERT_TRUE(ExportSealSecretKey(*owner_, Path("matching")).ok());
  ASSERT_TRUE(ExportSealSecretKey(*owner_, Path("enrolment"), {}, SealRing::kEnrolment).ok());
  const auto import = [&](const std::string& in, const std::string& enrolment_in) {
    return ImportSealSecretKey(*model_, owner_->key_id(), Path(in), Path("secret.key"), {}, {},
                               enrolment_in.empty() ? "" : Path(enrolment_in));
  };
  const absl::Status alone = import("matching", "");
  EXPECT_EQ(alone.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(alone.message()), HasSubstr("give the secret key of the matching ring"));
  EXPECT_THAT(std::string(import("enrolment", "matching").message()),
              HasSubstr("needed: one of the matching ring"));
  EXPECT_THAT(std::string(import("matching", "matching").message()),
              HasSubstr("needed: one of the enrolment ring"));
  EXPECT_FALSE(FileExists(Path("secret.key")));
  const absl::Status both = import("matching", "enrolment");
  ASSERT_TRUE(both.ok()) << both;
  const auto loaded = KeyOwner::Load(*model_, Path("secret.key"));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const SecretKeys& ours = Inside::Of(*owner_).keys();
  const SecretKeys& theirs = Inside::Of(*loaded).keys();
  EXPECT_TRUE(std::ranges::equal(ours.enrolment.coefficients(), theirs.enrolment.coefficients()));
  EXPECT_TRUE(std::ranges::equal(ours.matching().coefficients(), theirs.matching().coefficients()));
  EXPECT_EQ(theirs.matching().key_id(), owner_->key_id());
}

TEST_F(SealRingsTest, SamplesKeepTheirRing) {
  for (SealRing ring : kBothRings) {
    const SampleUse use =
        ring == SealRing::kMatching ? SampleUse::kIdentification : SampleUse::kEnrolment;
    const auto imported = ThroughSeal(0, 1, use);
    ASSERT_TRUE(imported.ok()) << imported.status();
    const auto reader = SampleReader::Parse(instance(ring).context, *imported, "sample");
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(reader->header().run, instance(ring).plan.projection.pairs[0].run);
    const auto sealed = *ExportSealSamples(*model_, {*imported, "sample"}, kNone);
    EXPECT_TRUE(
        seal::ReadCiphertext(*instance(ring).context, sealed.ciphertexts[0], "sealed").ok());
  }
  const auto thin =
      *ExportSealSamples(*model_, {Encrypted(0, 1, SampleUse::kIdentification), "s"}, kNone);
  const auto large =
      *ExportSealSamples(*model_, {Encrypted(0, 1, SampleUse::kEnrolment), "s"}, kNone);
  const std::string& name = model_->modalities[0].name;
  for (const bool thin_first : {true, false}) {
    std::vector<SampleFile> files = {{thin.ciphertexts[0], "standard"},
                                     {large.ciphertexts[0], "large"}};
    if (!thin_first) std::swap(files[0], files[1]);
    const auto mixed = ImportSealSamples(*model_, name, owner_->key_id(), files, {});
    EXPECT_EQ(mixed.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(mixed.status().message()),
                HasSubstr(thin_first ? "of the matching ring" : "of the enrolment ring"));
  }
}

TEST_F(SealRingsTest, IdentifiesUnderSealsKeysAndTheScoresOpenAfterDivision) {
  const auto seal_keys = ExportSealEvaluationKeys(*owner_, kNone);
  ASSERT_TRUE(seal_keys.ok()) << seal_keys.status();
  const auto keys =
      ImportSealEvaluationKeys(*model_, owner_->key_id(), {seal_keys->galois, "galois"},
                               {seal_keys->relinearisation, "relin"});
  ASSERT_TRUE(keys.ok()) << keys.status();
  const auto enrolment_keys = *owner_->EnrolmentKeys();
  const auto server =
      Server::Create(*model_, keys->bytes, "evaluation keys", enrolment_keys, "enrolment keys");
  ASSERT_TRUE(server.ok()) << server.status();
  const auto enrolled = testing::EnrolNow(*server, *owner_, Path("gallery"),
                                          ProbeThroughSeal(1, SampleUse::kEnrolment));
  ASSERT_TRUE(enrolled.ok()) << enrolled.status();
  // A server without enrolment keys can identify.
  const auto prober = Server::Create(*model_, keys->bytes);
  ASSERT_TRUE(prober.ok()) << prober.status();
  const auto reply = prober->Identify(*Gallery::Open(Path("gallery")),
                                      ProbeThroughSeal(2, SampleUse::kIdentification));
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto scores = ExportSealScores(*model_, *reply, "reply", kNone);
  ASSERT_TRUE(scores.ok()) << scores.status();
  const auto open_all = [&](const std::vector<uint8_t>& bytes) {
    const Instance& matching = rings().matching;
    const auto ciphertext = *seal::ReadCiphertext(*matching.context, bytes, "scores");
    return matching.encoder->Decode(
        ckks::Decrypt(*matching.context, ciphertext, key(SealRing::kMatching)));
  };
  const auto open = [&](const std::vector<uint8_t>& bytes) { return open_all(bytes)[0].real(); };
  const auto norm = ReadNorm(open_all(scores->squared_norm), ProofOf::kProbe, model_->gamma);
  ASSERT_TRUE(norm.ok()) << norm.status();
  double factor = 0;
  const auto turned = open_all(scores->squared_norm_turned);
  for (const ckks::Complex& slot : turned) {
    factor -= slot.real() / static_cast<double>(turned.size());
  }
  EXPECT_NEAR(*norm, open(scores->squared_norm) / (1 - factor * factor), 0.01);
  ASSERT_EQ(scores->factors.size(), rings().matching.params().n());
  const double cosine = scores->factors[0] * open(scores->replies[0].ciphertext) / std::sqrt(*norm);
  const auto plain = [&](uint64_t seed) {
    return testing::FusePlain(*model_, {Vector(0, seed), Vector(1, seed)});
  };
  const std::vector<double> probe = plain(2);
  EXPECT_NEAR(cosine, testing::Dot(plain(1), probe) / std::sqrt(testing::Dot(probe, probe)), 2e-3);
  const auto opened = owner_->Open(*reply, "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_NEAR(cosine, opened->candidates[0].score, kScoreStep);

  // Without the norm, scores cannot be divided by it.
  const ckks::Context& context = *rings().matching.context;
  EncryptedScores bare = *ParseScores(context, *reply, "reply");
  bare.norm_form = NormForm::kNone;
  const auto refused =
      ExportSealScores(*model_, SerializeScores(context, bare), "reply", kNone).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("norm is missing"));
}

TEST_F(SealRingsTest, EvaluationKeysOfTheEnrolmentRingAreRefused) {
  const ckks::Context& large = *rings().enrolment.context;
  Csprng rng;
  const auto relin = seal::WriteRelinearisationKey(
      large, seal::MakeSeededRelinearisationKey(large, key(SealRing::kEnrolment), rng),
      seal::Compression::kNone);
  const auto galois = seal::WriteGaloisKeys(
      large, {{5, seal::MakeSeededGaloisKey(large, key(SealRing::kEnrolment), 5, rng)}},
      seal::Compression::kNone);
  const auto refused =
      ImportSealEvaluationKeys(*model_, owner_->key_id(), {galois, "galois"}, {relin, "relin"});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("of the matching ring"));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("heft keygen --secret-key"));
}

}  // namespace
}  // namespace heft
