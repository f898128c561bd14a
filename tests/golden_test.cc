// SPDX-License-Identifier: Apache-2.0
// Files of every format, written once (tests/golden/README.md), must stay readable for ever, and
// mean what they meant.
#include "tests/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/signing.h"
#include "base/testing.h"
#include "ckks/arithmetic.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "fusion/compact.h"
#include "fusion/key_files.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/rekey.h"
#include "fusion/testing.h"
#include "gallery/admission.h"
#include "gallery/import.h"
#include "gallery/legacy_gallery.h"
#include "gallery/owner/journal_keys.h"
#include "gallery/owner/key_owner_impl.h"
#include "gallery/owner/legacy_budget.h"
#include "gallery/server_impl.h"
#include "heft/audit.h"
#include "heft/server.h"
#include "learning/train.h"

namespace heft::golden {
namespace {

constexpr double kTolerance = 2e-3;

std::vector<uint8_t> Golden(const std::string& name) {
  auto bytes = ReadFile(HEFT_SOURCE_DIR "/tests/golden/" + name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *std::move(bytes);
}

template <typename T>
T Ok(absl::StatusOr<T> value) {
  EXPECT_TRUE(value.ok()) << value.status();
  return *std::move(value);
}

class GoldenTest : public ::testing::Test {
 protected:
  GoldenTest()
      : model_(Ok(Model::Parse(Golden("model.heft"), "model.heft"))),
        instance_(Ok(MakeInstance(model_))),
        secret_(Ok(ParseSecretKey(context(), Golden("secret.key"), {}, "secret.key"))) {}

  const ckks::Context& context() const { return *instance_.context; }
  std::vector<ckks::Complex> Decrypt(const ckks::Ciphertext& ciphertext) const {
    return instance_.encoder->Decode(ckks::Decrypt(context(), ciphertext, secret_));
  }
  std::vector<double> Fused(size_t person, double* squared_norm = nullptr) const {
    std::vector<std::vector<double>> vectors;
    for (size_t m = 0; m < 2; ++m) {
      vectors.push_back(*NormalisedVector(Vector(m, person), model_.modalities[m]));
    }
    return testing::FusePlain(model_, vectors, squared_norm);
  }
  KeyOwner Owner() const { return Owner(secret_); }
  KeyOwner Owner(const ckks::SecretKey& secret) const {
    return Ok(KeyOwner::Impl::Own(model_, Ok(ckks::SecretKey::FromCoefficients(
                                              context(), secret.key_id(), secret.coefficients()))));
  }
  // A gallery of version 0.1, brought into a store of its own.
  std::string Imported(const std::string& from) const {
    static int count = 0;
    const std::string to = folder_ / ("imported-" + std::to_string(++count));
    const absl::Status status = ImportLegacyGallery(from, to, model_);
    EXPECT_TRUE(status.ok()) << status;
    return to;
  }
  // Person 0 against a gallery folder under `secret`.
  void ExpectGallery(const std::string& folder, const ckks::SecretKey& secret) const {
    Csprng rng;
    const auto server = Ok(Server::Impl::Create(
        model_, testing::MakeKeys(context(), instance_.plan.keys, secret, rng)));
    const Gallery::Impl gallery = Ok(server->OpenGallery(folder, /*create=*/false));
    std::vector<SampleReader> files;
    for (size_t m = 0; m < 2; ++m) {
      const std::vector<std::vector<double>> row = {Vector(m, 0)};
      files.push_back(Ok(SampleReader::Parse(
          instance_.context, Ok(EncryptSamplesSymmetric(instance_, model_, m, secret, row, {})),
          "sample")));
    }
    const auto set = Ok(SampleSet::Create(instance_, model_, std::move(files)));
    const auto scores = Ok(server->Identify(gallery, set, {}));
    ExpectScores(Ok(Owner(secret).Open(SerializeScores(context(), scores), "scores")),
                 {"ann", "bob"});
  }
  // Best score of each identity against person 0.
  void ExpectScores(const OpenedScores& opened, const std::vector<std::string>& identities) const {
    ASSERT_EQ(opened.candidates.size(), identities.size());
    for (const Candidate& c : opened.candidates) {
      EXPECT_NE(std::find(identities.begin(), identities.end(), c.identity), identities.end());
      double best = -10;
      uint32_t templates = 0;
      for (size_t p = 0; p < kIdentities.size(); ++p) {
        if (kIdentities[p] != c.identity) continue;
        best = std::max(best, testing::Dot(Fused(0), Fused(p)));
        ++templates;
      }
      EXPECT_NEAR(c.score, best, kTolerance + kScoreStep / 2) << c.identity;
      EXPECT_EQ(c.templates, templates);
    }
  }

  const testing::TemporaryFolder folder_;
  Model model_;
  Instance instance_;
  ckks::SecretKey secret_;
};

TEST_F(GoldenTest, Model) {
  const Model expected = ModelWithoutApproximation();
  EXPECT_EQ(model_.modalities, expected.modalities);
  EXPECT_EQ(model_.gamma, expected.gamma);
  EXPECT_EQ(model_.projection, expected.projection);
  EXPECT_EQ(model_.profile, expected.profile);
  EXPECT_EQ(model_.thresholds, expected.thresholds);
  EXPECT_EQ(model_.training_summary, expected.training_summary);
  EXPECT_EQ(model_.approximation.interval.lo, 0.2);
  EXPECT_EQ(model_.approximation.interval.hi, 2.2);
  EXPECT_NEAR(model_.approximation(1.0), 1.0, 0.1);
  EXPECT_EQ(model_.Serialize(), Golden("model.heft"));
  Model calibrated = model_;
  calibrated.calibration = kCalibration;
  EXPECT_EQ(calibrated.Serialize(), Golden("model-2.heft"));
  EXPECT_EQ(Ok(Model::Parse(Golden("model-2.heft"), "model-2.heft")).calibration, kCalibration);
  const Model decided = DecidedModel(model_);
  EXPECT_EQ(decided.Serialize(), Golden("model-3.heft"));
  const Model back = Ok(Model::Parse(Golden("model-3.heft"), "model-3.heft"));
  EXPECT_EQ(back.sample_agreement, decided.sample_agreement);
  EXPECT_EQ(back.thresholds, decided.thresholds);
  EXPECT_EQ(back.searches, decided.searches);
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
  EXPECT_EQ(checkpoint.adam.step, 2);
  EXPECT_EQ(checkpoint.projection, (FeatureMatrix(1, 2) << 0.5, -1).finished());
  EXPECT_EQ(checkpoint.modality_weights, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(FormatCheckpoint(checkpoint), text);
}

TEST_F(GoldenTest, Galleries) {
  const std::string old = HEFT_SOURCE_DIR "/tests/golden/gallery";
  const LegacyGallery read = Ok(LegacyGallery::Read(old));
  EXPECT_EQ(read.identities, kIdentities);
  EXPECT_EQ(read.generation, 1u);
  EXPECT_EQ(read.generations.size(), 1u);
  // Nobody answers from it as it is.
  const absl::Status unread = Gallery::Impl::Open(old).status();
  EXPECT_EQ(unread.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unread.message()), ::testing::HasSubstr("gallery import"));
  const std::string folder = Imported(old);
  EXPECT_EQ(ImportLegacyGallery(old, folder, model_).code(), absl::StatusCode::kAlreadyExists);
  Csprng rng;
  const auto server = Ok(Server::Impl::Create(
      model_, testing::MakeKeys(context(), instance_.plan.keys, secret_, rng)));
  const Gallery::Impl gallery = Ok(server->OpenGallery(folder, /*create=*/false));
  EXPECT_EQ(gallery.identities(), kIdentities);
  EXPECT_EQ(gallery.id(), read.id);
  EXPECT_GT(gallery.generation(), read.generation) << "its root is another";
  EXPECT_EQ(gallery.blocks(), 1u);
  EXPECT_EQ(Ok(gallery.ReadBlock(instance_, 0)), Ok(read.ReadBlock(instance_, 0)));
  EXPECT_TRUE(gallery.CheckIntact(&instance_).ok()) << gallery.CheckIntact(&instance_);
  // Both modalities of person 0, the face from its file.
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
  const std::string renewed = HEFT_SOURCE_DIR "/tests/golden/renewed";
  const auto next =
      Ok(ParseSecretKey(context(), Golden("renewed/secret.key"), {}, "renewed/secret.key"));
  const auto key = Ok(ParseRekeyingKey(context(), Golden("renewed/rekeying.key"), "rekeying.key"));
  EXPECT_EQ(key.from, secret_.key_id());
  EXPECT_EQ(key.to, next.key_id());
  // The gallery that was moved then, and the old one, moved now.
  const std::string then = Imported(renewed + "/gallery");
  EXPECT_EQ(Ok(Gallery::Impl::Open(then)).revoked_keys(),
            std::vector<ckks::KeyId>{secret_.key_id()});
  ExpectGallery(then, next);
  const std::string moved = Imported(HEFT_SOURCE_DIR "/tests/golden/gallery");
  Gallery::Impl gallery = Ok(Gallery::Impl::Open(moved));
  const absl::Status status = RekeyGallery(&gallery, instance_, key);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(gallery.revoked_keys(), std::vector<ckks::KeyId>{secret_.key_id()});
  ExpectGallery(moved, next);
}

TEST_F(GoldenTest, QueryBudgets) {
  for (const char* name : {"secret.key.budget", "renewed/secret.key.budget"}) {
    const auto record = Ok(LegacyBudget::Parse(Golden(name), name));
    ASSERT_EQ(record.galleries.size(), 1u);
    const LegacyBudget::GalleryUse& use = record.galleries.at(model_.Id());
    EXPECT_EQ(use.limit, kBudget);
    EXPECT_EQ(use.identifications, 1u);
    EXPECT_EQ(use.verifications,
              (std::map<std::array<uint8_t, 16>, uint64_t>{{NameHash(kClaimed), 1}}));
    EXPECT_EQ(record.key_id == secret_.key_id(), record.successor != ckks::KeyId{}) << name;
    EXPECT_EQ(record.Serialize(), Golden(name));
  }
}

TEST_F(GoldenTest, Journal) {
  const testing::TemporaryFolder copy;
  const std::string golden = HEFT_SOURCE_DIR "/tests/golden/";
  std::filesystem::copy(golden + "journal", copy.path());
  std::filesystem::copy(golden + "secret.key", copy / "secret.key");
  std::filesystem::permissions(copy / "secret.key", std::filesystem::perms(0600));
  const std::string state = std::getenv("HEFT_STATE_DIR");
  setenv("HEFT_STATE_DIR", copy.path().c_str(), 1);
  const auto owner = KeyOwner::Load(model_, copy / "secret.key");
  setenv("HEFT_STATE_DIR", state.c_str(), 1);
  ASSERT_TRUE(owner.ok()) << owner.status();
  const BudgetUse use = Ok(owner->Budget());
  EXPECT_EQ(use.limits.scores, kBudget);
  EXPECT_EQ(use.scores, 1u);
  EXPECT_EQ(use.decisions, 1u);
  EXPECT_EQ(use.identities, 2u);
  EXPECT_EQ(use.clients.size(), 2u);
  EXPECT_EQ(use.entries, 5u);
  EXPECT_GE(use.last_entry, kJournalTime);
}

// A key of version 0.1 goes on where its record stood, and a revoked one stays revoked.
TEST_F(GoldenTest, QueryBudgetsAreTakenIntoAJournal) {
  for (const std::string folder : {"", "renewed/"}) {
    const testing::TemporaryFolder copy;
    for (const char* name : {"secret.key", "secret.key.budget"}) {
      std::filesystem::copy(HEFT_SOURCE_DIR "/tests/golden/" + folder + name, copy / name);
    }
    std::filesystem::permissions(copy / "secret.key", std::filesystem::perms(0600));
    const auto owner = Ok(KeyOwner::Load(model_, copy / "secret.key"));
    const BudgetUse use = Ok(owner.Budget());
    EXPECT_EQ(use.limits.scores, kBudget);
    EXPECT_EQ(use.scores, 2u);
    EXPECT_EQ(use.identifications, 1u);
    EXPECT_EQ(use.successor.has_value(), folder.empty());
    EXPECT_TRUE(FileExists(copy / "secret.key.journal"));
    const auto opened = owner.Open(Golden("proved/identification.ct"), "identification.ct");
    if (folder.empty()) {
      EXPECT_THAT(std::string(opened.status().message()), ::testing::HasSubstr("revoked"));
    }
    std::filesystem::remove(copy / "secret.key.journal");
    EXPECT_FALSE(owner.Budget().ok()) << "once";
  }
}

TEST_F(GoldenTest, Scores) {
  const auto ranked = Ok(Owner().Open(Golden("proved/identification.ct"), "identification.ct"));
  EXPECT_EQ(ranked.kind, ScoreKind::kIdentification);
  EXPECT_EQ(ranked.probe, kIdentities[0]);
  EXPECT_EQ(ranked.refusal, "");
  ExpectScores(ranked, {"ann", "bob"});
  const auto claim = Ok(Owner().Open(Golden("proved/verification.ct"), "verification.ct"));
  EXPECT_EQ(claim.kind, ScoreKind::kVerification);
  EXPECT_EQ(claim.claimed, kClaimed);
  ExpectScores(claim, {kClaimed});
  for (const char* name : {"proved/identification.ct", "proved/verification.ct"}) {
    EXPECT_EQ(SerializeScores(context(), Ok(ParseScores(context(), Golden(name), name))),
              Golden(name));
  }
}

// What was signed is believed, for whoever is in the trust file, and opens.
TEST_F(GoldenTest, Signed) {
  const std::vector<uint8_t> text = Golden("signed/trust.heft");
  const Trust trust =
      Ok(Trust::Parse({reinterpret_cast<const char*>(text.data()), text.size()}, "trust.heft"));
  EXPECT_EQ(AsBytes(trust.Serialize()).size(), text.size());
  const auto key = Ok(SigningKey::Impl::Parse(Golden("signed/server.key"), {}, "server.key"));
  EXPECT_EQ(trust.keys(Role::kServer).at(0).key, key->public_key());
  EXPECT_TRUE(trust.IsRevoked({1}));
  const std::vector<uint8_t> bytes = Golden("signed/identification.ct");
  const SignedFile file =
      Ok(OpenSigned(bytes, trust, {.roles = {Role::kServer}, .kind = "SCOR"}, "reply"));
  EXPECT_TRUE(std::ranges::equal(file.file, Golden("identification.ct")));
  const std::vector<uint8_t> sample = Golden("face.ct");
  const std::vector<std::span<const uint8_t>> asked = {sample};
  EXPECT_EQ(file.statement.request, RequestDigest(FilesDigest(asked), kRow));
  KeyOwner owner = Owner();
  ASSERT_TRUE(owner.RequireSigned(trust).ok());
  EXPECT_THAT(std::string(owner.Open(bytes, "identification.ct").status().message()),
              ::testing::HasSubstr("no proof"))
      << "the signature is taken, what it signs is of 0.1";
  // The manifest that the server had then.
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "manifest.heft", Golden("signed/manifest.heft")).ok());
  const LegacyGallery gallery = Ok(LegacyGallery::Read(folder.path()));
  EXPECT_EQ(gallery.id, file.statement.gallery);
  EXPECT_EQ(gallery.generation, file.statement.generation);
  EXPECT_EQ(gallery.identities.size(), kIdentities.size() + 1);
  EXPECT_TRUE(gallery.CheckRoot(instance_).ok()) << "it has none yet";
  // The one from which it came had no id of its own yet, and the same by the rule for such; a store
  // keeps it.
  const std::string renewed = HEFT_SOURCE_DIR "/tests/golden/renewed/gallery";
  EXPECT_EQ(Ok(LegacyGallery::Read(renewed)).id, gallery.id);
  EXPECT_EQ(Ok(Gallery::Open(Imported(renewed))).id(), gallery.id);
}

// What checks a server: roots, seeds and commitments are what they were.
TEST_F(GoldenTest, Audited) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(WriteFileAtomic(folder / "manifest.heft", Golden("audited/manifest.heft")).ok());
  const LegacyGallery gallery = Ok(LegacyGallery::Read(folder.path()));
  ASSERT_TRUE(gallery.root.has_value());
  EXPECT_TRUE(gallery.CheckRoot(instance_).ok()) << gallery.CheckRoot(instance_);
  LegacyGallery other = gallery;
  other.identities[0] = "eve";
  EXPECT_EQ(other.CheckRoot(instance_).code(), absl::StatusCode::kDataLoss);
  const std::vector<uint8_t> reply = Golden("audited/verification.ct");
  const SignedFile file = Ok(ReadSigned(reply, "reply"));
  const ReplyOrigin origin = Ok(OriginOf(reply, "reply"));
  EXPECT_EQ(origin.gallery, gallery.id);
  EXPECT_EQ(origin.generation, gallery.generation);
  EXPECT_EQ(origin.root, *gallery.root);
  EXPECT_EQ(Ok(ParseScores(context(), reply, "reply")).origin, origin);
  const std::string key = folder / "audit.key";
  ASSERT_TRUE(WriteFileAtomic(key, Golden("audited/audit.key"), 0600).ok());
  EXPECT_EQ(Ok(RevealSeed(folder.path(), file.signer, reply, "reply")),
            Golden("audited/verification.seed"));
  const KeyOwner owner = Owner();
  const std::vector<uint8_t> state = Golden("audited/state.heft");
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "owner", owner.Signer()->public_key()).ok());
  const SignedFile state_file =
      Ok(OpenSigned(state, trust, {.now = ReadSigned(state, "state")->statement.issued}, "state"));
  EXPECT_EQ(Ok(ParseAdmission(state_file.file, "state")).root, *gallery.root);
  EXPECT_TRUE(owner.Admit(Golden("audited/pending.ct"), "pending").ok());
  ExpectScores(Ok(owner.Open(reply, "reply")), {"ann"});
  KeyOwner careful = Owner();
  EXPECT_TRUE(careful.RequireCanaries(Golden("audited/canaries.heft"), "canaries").ok());
}

// Replies of 0.1 say nothing that one could believe of their probe's norm: they are read, what they
// say is what it was, and nothing is decided by it.
TEST_F(GoldenTest, ScoresWithoutAProof) {
  for (const char* name : {"identification.ct", "verification.ct"}) {
    const auto refused = Owner().Open(Golden(name), name).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("no proof"));
    const EncryptedScores scores = Ok(ParseScores(context(), Golden(name), name));
    EXPECT_EQ(scores.norm_form, NormForm::kNone);
    ASSERT_EQ(scores.replies.size(), 1u);
    const auto slots =
        instance_.encoder->Decode(ckks::Decrypt(context(), scores.replies[0].scores, secret_));
    for (const ScoreReply::Answer& answer : scores.replies[0].answers) {
      EXPECT_NEAR(slots[answer.slot].real(), testing::Dot(Fused(0), Fused(answer.slot)),
                  kTolerance);
    }
  }
}

// A short reply of two rings: form, signs and both secrets mean what they meant.
TEST(GoldenThinTest, ShortReply) {
  const Model model = Ok(Model::Parse(Golden("thin/model.heft"), "model.heft"));
  const Rings rings = Ok(MakeRings(model));
  auto new_owner = [&] {
    SecretKeys secrets = Ok(ParseSecretKeys(rings, Golden("thin/secret.key"), {}, "secret.key"));
    return Ok(KeyOwner::Impl::Own(model, std::move(secrets)));
  };
  const KeyOwner owner = new_owner();
  EXPECT_EQ(owner.Open(Golden("thin/identification.ct"), "without a proof").status().code(),
            absl::StatusCode::kFailedPrecondition);
  const std::vector<uint8_t> bytes = Golden("thin/proved.ct");
  const auto opened = Ok(owner.Open(bytes, "identification.ct"));
  auto fused = [&](size_t person) {
    std::vector<std::vector<double>> vectors;
    for (size_t m = 0; m < 2; ++m) {
      vectors.push_back(*NormalisedVector(Vector(m, person), model.modalities[m]));
    }
    return testing::FusePlain(model, vectors);
  };
  std::vector<double> probe = fused(0);
  const double length = std::sqrt(testing::Dot(probe, probe));
  double ann = -2;
  for (size_t p : {0, 2}) ann = std::max(ann, testing::Dot(probe, fused(p)) / length);
  const double bob = testing::Dot(probe, fused(1)) / length;
  ASSERT_EQ(opened.candidates.size(), 2u);
  for (const Candidate& c : opened.candidates) {
    EXPECT_NEAR(c.score, c.identity == "ann" ? ann : bob, kTolerance + kScoreStep / 2);
  }
  const ckks::Context& context = *rings.matching.context;
  EXPECT_EQ(SerializeScores(context, Ok(ParseScores(context, bytes, "identification.ct"))), bytes);
  // The same where one of ann's templates does not answer.
  const std::vector<uint8_t> restricted = Golden("thin/restricted.ct");
  const EncryptedScores read = Ok(ParseScores(context, restricted, "restricted.ct"));
  EXPECT_EQ(read.restriction, GoldenRestriction());
  EXPECT_EQ(read.identities, (std::vector<std::string>{"", "bob", "ann"}));
  EXPECT_EQ(SerializeScores(context, read), restricted);
  const auto others = Ok(new_owner().Open(restricted, "restricted.ct"));
  EXPECT_EQ(others.where, GoldenRestriction().where);
  ASSERT_EQ(others.candidates.size(), 2u);
  for (const Candidate& c : others.candidates) {
    const double other_ann = testing::Dot(probe, fused(2)) / length;
    EXPECT_NEAR(c.score, c.identity == "ann" ? other_ann : bob, kTolerance + kScoreStep / 2);
  }
}

}  // namespace
}  // namespace heft::golden
