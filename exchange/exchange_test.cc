// SPDX-License-Identifier: Apache-2.0
// Converts HEFT's files to SEAL's objects and back, and checks that the results work the same.
// (SEAL's own use of them is in tests/seal.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"
#include "fusion/rings.h"
#include "fusion/testing.h"
#include "gallery/scores.h"
#include "heft/inspect.h"
#include "heft/seal_key_owner.h"
#include "owner/activate_all.h"
#include "owner/allow_scores.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr SealCompression kAll[] = {SealCompression::kNone, SealCompression::kZlib,
                                    SealCompression::kZstd};
constexpr SealCompression kZstd = SealCompression::kZstd;

// A model, its key owner, a client, and one sample a modality, made once.
class ExchangeTest : public ::testing::Test {
 protected:
  struct World {
    Model model = testing::RandomModel({24, 16}, 16, 3, "standard");
    Model other = testing::RandomModel({24, 16}, 16, 3, "paper");
    KeyOwner owner = testing::AllowScores(*KeyOwner::Generate(model));
    std::vector<uint8_t> encryption = owner.EncryptionKey();
    Client client = *Client::Create(model, encryption);
    std::vector<uint8_t> face = *client.Encrypt("m0", Row(24, 1), "ann");
    std::vector<uint8_t> voice = *client.Encrypt("m1", Row(16, 2), "ann");
  };
  static std::vector<float> Row(size_t dimension, int seed) {
    std::vector<float> row(dimension);
    for (size_t i = 0; i < dimension; ++i) row[i] = static_cast<float>((i * 7 + seed) % 11) - 5;
    return row;
  }
  static void SetUpTestSuite() { world_ = new World; }
  static void TearDownTestSuite() { delete world_; }

  // The one SEAL ciphertext of a file of one sample, taken back into a file.
  static absl::StatusOr<std::vector<uint8_t>> Again(const std::vector<uint8_t>& file,
                                                    const std::string& modality,
                                                    SealCompression compression) {
    auto seal = ExportSealSamples(world_->model, {file, "file"}, compression);
    if (!seal.ok()) return seal.status();
    EXPECT_THAT(seal->ciphertexts, SizeIs(1));
    EXPECT_THAT(seal->labels, ElementsAre("ann"));
    const std::vector<SampleFile> ciphertexts = {{seal->ciphertexts[0], "0.seal"}};
    return ImportSealSamples(world_->model, modality, world_->owner.key_id(), ciphertexts,
                             seal->labels);
  }
  static std::vector<uint8_t> Truncated(std::vector<uint8_t> bytes) {
    bytes.resize(bytes.size() / 2);
    return bytes;
  }

  inline static World* world_ = nullptr;
  const testing::TemporaryFolder folder_;
};

TEST_F(ExchangeTest, ParametersSayWhatToDo) {
  for (const SealCompression compression : kAll) {
    const auto made = ExportSealParameters(world_->model, compression);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->degree, 4096u);
    EXPECT_EQ(made->primes.size(), 4u);
    EXPECT_GT(made->scale, 0);
    EXPECT_THAT(made->runs, SizeIs(2));
    EXPECT_FALSE(made->rotation_steps.empty());
    EXPECT_FALSE(made->parameters.empty());
  }
}

TEST_F(ExchangeTest, SamplesComeBackToTheByte) {
  for (const SealCompression compression : kAll) {
    for (const auto& [file, modality] :
         {std::pair{&world_->face, "m0"}, std::pair{&world_->voice, "m1"}}) {
      const auto again = Again(*file, modality, compression);
      ASSERT_TRUE(again.ok()) << again.status();
      // From there on nothing changes: SEAL's form holds the whole ciphertext.
      EXPECT_EQ(*Again(*again, modality, compression), *again);
    }
  }
}

TEST_F(ExchangeTest, KeysAndSamplesThatWereSealsDoTheSameWork) {
  const KeyId& id = world_->owner.key_id();
  const auto public_key = ExportSealEncryptionKey(world_->model, world_->encryption, "key", kZstd);
  ASSERT_TRUE(public_key.ok()) << public_key.status();
  const auto large = *ExportSealEncryptionKey(world_->model, world_->encryption, "key", kZstd,
                                              SealRing::kEnrolment);
  const auto encryption = ImportSealEncryptionKey(world_->model, id, *public_key, "public.seal",
                                                  {large, "enrolment.seal"});
  ASSERT_TRUE(encryption.ok()) << encryption.status();
  const auto made = ExportSealEvaluationKeys(world_->owner, kZstd);
  ASSERT_TRUE(made.ok()) << made.status();
  const auto keys = ImportSealEvaluationKeys(world_->model, id, {made->galois, "galois.seal"},
                                             {made->relinearisation, "relin.seal"});
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(keys->galois_keys, made->galois_keys);
  EXPECT_EQ(InspectFile(keys->bytes, "keys")->key_id, id);

  const auto client = Client::Create(world_->model, *encryption);
  const auto server = Server::Create(world_->model, keys->bytes, "keys",
                                     *world_->owner.EnrolmentKeys(), "enrolment keys");
  ASSERT_TRUE(client.ok() && server.ok()) << client.status() << server.status();
  const std::vector<SampleFile> ann = {{*Again(world_->face, "m0", kZstd), "m0"},
                                       {*Again(world_->voice, "m1", kZstd), "m1"}};
  ASSERT_TRUE(testing::EnrolNow(*server, world_->owner, folder_ / "gallery", ann).ok());
  const auto sample = [&](SampleUse use) {
    return std::vector<SampleFile>{{*client->Encrypt("m0", Row(24, 1), "", use), "m0"},
                                   {*client->Encrypt("m1", Row(16, 2), "", use), "m1"}};
  };
  const Gallery gallery = *Gallery::Open(folder_ / "gallery");
  const auto reply = server->Identify(gallery, sample(SampleUse::kIdentification));
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto opened = world_->owner.Open(*reply, "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->candidates.at(0).identity, "ann");

  const auto scores = ExportSealScores(world_->model, *reply, "reply", kZstd);
  ASSERT_TRUE(scores.ok()) << scores.status();
  EXPECT_EQ(scores->kind, ScoreKind::kIdentification);
  EXPECT_EQ(scores->templates, 1u);
  EXPECT_THAT(scores->identities, ElementsAre("ann"));
  EXPECT_THAT(scores->replies, SizeIs(1));
  EXPECT_FALSE(scores->squared_norm.empty());
  const auto claim = server->Verify(gallery, sample(SampleUse::kEnrolment), "ann");
  const auto verified = ExportSealScores(world_->model, *claim, "claim", kZstd);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->claimed, "ann");
  EXPECT_THAT(verified->replies.at(0).answers, SizeIs(1)) << "no more is told than is answered";

  // The first of two blocks has no template that answers.
  const Rings rings = *MakeRings(world_->model);
  const ckks::Context& context = *rings.matching.context;
  EncryptedScores two = *ParseScores(context, *reply, "reply");
  two.templates = 2 * context.slots() + 3;
  two.identities.assign(two.templates, "ann");
  two.replies.push_back(two.replies[0]);
  Restriction restriction = {PlaceSet::None(two.templates), 1, {}};
  restriction.answering.Add(two.templates - 1);
  Restrict(context, restriction, &two);
  const auto restricted =
      ExportSealScores(world_->model, SerializeScores(context, two), "reply", kZstd);
  ASSERT_TRUE(restricted.ok()) << restricted.status();
  ASSERT_THAT(restricted->replies, SizeIs(1));
  EXPECT_EQ(restricted->replies[0].block, 1u);
  ASSERT_THAT(restricted->replies[0].answers, SizeIs(1));
  EXPECT_EQ(restricted->replies[0].answers[0].slot, 2u);
  EXPECT_EQ(restricted->identities.front(), "");
  EXPECT_EQ(restricted->identities.back(), "ann");
}

TEST_F(ExchangeTest, SecretKeysComeBackAndAreNotOverwritten) {
  const std::string seal = folder_ / "secret.seal", large = folder_ / "enrolment.seal",
                    heft = folder_ / "secret.key";
  const KeyId id = world_->owner.key_id();
  ASSERT_TRUE(ExportSealSecretKey(world_->owner, seal).ok());
  EXPECT_EQ(fs::status(seal).permissions(), fs::perms(0600));
  EXPECT_EQ(ExportSealSecretKey(world_->owner, seal).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(ExportSealSecretKey(world_->owner, large, {}, SealRing::kEnrolment).ok());
  const auto import = [&](const Model& model, const std::string& out) {
    return ImportSealSecretKey(model, id, seal, out, {}, {}, large);
  };
  ASSERT_TRUE(import(world_->model, heft).ok());
  EXPECT_EQ(fs::status(heft).permissions(), fs::perms(0600));
  EXPECT_EQ(import(world_->model, heft).code(), absl::StatusCode::kAlreadyExists);
  auto loaded = KeyOwner::Load(world_->model, heft);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const KeyOwner owner = testing::AllowScores(*std::move(loaded));
  // It opens what the first one's keys have made.
  const auto server = Server::Create(world_->model, *world_->owner.EvaluationKeys(), "keys",
                                     *world_->owner.EnrolmentKeys(), "enrolment keys");
  ASSERT_TRUE(
      testing::EnrolNow(*server, world_->owner, folder_ / "gallery", {{world_->face, "m0"}}).ok());
  const auto probe = *world_->client.Encrypt("m0", Row(24, 1), "", SampleUse::kIdentification);
  const auto reply = server->Identify(*Gallery::Open(folder_ / "gallery"), {{probe, "m0"}});
  EXPECT_EQ(owner.Open(*reply, "reply")->candidates.at(0).identity, "ann");
  // For a profile that has no keys, of others' reading, damaged.
  EXPECT_EQ(import(world_->other, folder_ / "new").code(), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(chmod(seal.c_str(), 0644), 0);
  EXPECT_EQ(import(world_->model, folder_ / "new").code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(WriteFileAtomic(seal, Truncated(*ReadFile(seal)), 0600).ok());
  EXPECT_EQ(import(world_->model, folder_ / "new").code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(ExchangeTest, WrongInputIsNamed) {
  const KeyId& id = world_->owner.key_id();
  const auto refused = [](const absl::Status& status, absl::StatusCode code,
                          const std::string& what) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  };
  using absl::StatusCode;
  const Model &model = world_->model, &other = world_->other;
  const auto seal = *ExportSealSamples(model, {world_->face, "m0"}, kZstd);
  const auto import = [&](const Model& of, const std::string& modality,
                          const std::vector<uint8_t>& bytes, std::vector<std::string> labels) {
    const std::vector<SampleFile> files = {{bytes, "0.seal"}};
    return ImportSealSamples(of, modality, id, files, labels).status();
  };
  refused(import(model, "m0", Truncated(seal.ciphertexts[0]), {}), StatusCode::kDataLoss, "0.seal");
  refused(import(model, "m0", {}, {}), StatusCode::kDataLoss, "0.seal");
  refused(import(other, "m0", seal.ciphertexts[0], {}), StatusCode::kInvalidArgument, "paper");
  refused(import(model, "iris", seal.ciphertexts[0], {}), StatusCode::kInvalidArgument, "iris");
  refused(import(model, "m0", seal.ciphertexts[0], {"ann", "bob"}), StatusCode::kInvalidArgument,
          "2 labels for 1 samples");
  refused(import(model, "m0", seal.ciphertexts[0], {"a\nb"}), StatusCode::kInvalidArgument,
          "identity");

  refused(ExportSealSamples(model, {Truncated(world_->face), "face.ct"}, kZstd).status(),
          StatusCode::kDataLoss, "face.ct");
  refused(ExportSealSamples(model, {world_->encryption, "key"}, kZstd).status(),
          StatusCode::kDataLoss, "key");
  refused(ExportSealScores(model, world_->face, "scores", kZstd).status(), StatusCode::kDataLoss,
          "scores");

  const auto key = *ExportSealEncryptionKey(model, world_->encryption, "key", kZstd);
  refused(ImportSealEncryptionKey(model, id, Truncated(key), "key.seal", {key, "large"}).status(),
          StatusCode::kDataLoss, "key.seal");
}

TEST_F(ExchangeTest, MissingRotationsAreNamed) {
  // A model of more dimensions needs more rotations.
  const Model larger = testing::RandomModel({300}, 64, 3, "standard");
  const KeyId& id = world_->owner.key_id();
  const auto keys = *ExportSealEvaluationKeys(world_->owner, kZstd);
  const auto lacking = ImportSealEvaluationKeys(larger, id, {keys.galois, "galois.seal"},
                                                {keys.relinearisation, "relin.seal"});
  EXPECT_EQ(lacking.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(lacking.status().message()), HasSubstr("galois.seal: lacks"));
  // The two files in each other's place.
  EXPECT_FALSE(ImportSealEvaluationKeys(world_->model, id, {keys.relinearisation, "relin.seal"},
                                        {keys.galois, "galois.seal"})
                   .ok());
}

TEST_F(ExchangeTest, MonitorsEndIt) {
  const Monitor stop = [](const ProgressEvent&) { return false; };
  const absl::StatusCode cancelled = absl::StatusCode::kCancelled;
  EXPECT_EQ(ExportSealSamples(world_->model, {world_->face, "m0"}, kZstd, stop).status().code(),
            cancelled);
  EXPECT_EQ(ExportSealEvaluationKeys(world_->owner, kZstd, stop).status().code(), cancelled);
  EXPECT_EQ(ExportSealSecretKey(world_->owner, folder_ / "secret.seal", stop).code(), cancelled);
  EXPECT_FALSE(fs::exists(folder_ / "secret.seal"));
}

TEST(SealNamesTest, OfCompressionsAndRings) {
  EXPECT_EQ(*ParseSealCompression("none"), SealCompression::kNone);
  EXPECT_EQ(*ParseSealCompression("zlib"), SealCompression::kZlib);
  EXPECT_EQ(*ParseSealCompression("zstd"), SealCompression::kZstd);
  EXPECT_EQ(*ParseSealRing("matching"), SealRing::kMatching);
  EXPECT_EQ(*ParseSealRing("enrolment"), SealRing::kEnrolment);
  EXPECT_EQ(ParseSealCompression("gzip").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseSealRing("").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace heft
