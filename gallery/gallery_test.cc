// SPDX-License-Identifier: Apache-2.0
// Roles end to end through their file formats: keys, samples, gallery, scores; and what each of
// them says to wrong input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/operation_counts.h"
#include "fusion/key_files.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/profile.h"
#include "fusion/testing.h"
#include "gallery/gallery_impl.h"
#include "gallery/owner/key_owner_impl.h"
#include "gallery/server_impl.h"
#include "gallery/testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

absl::StatusCode Code(const absl::Status& status) { return status.code(); }
template <typename T>
absl::StatusCode Code(const absl::StatusOr<T>& value) {
  return value.status().code();
}

// One key set and server for all tests: making them takes most of the time.
class GalleryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(testing::RandomModel({128, 96}, 16, 3));
    instance_ = new Instance(*MakeInstance(*model_));
    Csprng rng;
    secret_ = new ckks::SecretKey(*ckks::SecretKey::Generate(*instance_->context, rng));
    public_key_ = new ckks::PublicKey(ckks::MakePublicKey(*instance_->context, *secret_, rng));
    evaluation_ = new std::vector<uint8_t>(*MakeEvaluationKeys(*instance_, *secret_));
    server_ = Server::Impl::Create(*model_, *evaluation_, "evaluation keys")->release();
  }
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/heft_gallery_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
  }

  std::vector<double> Vector(size_t modality, uint64_t seed) const {
    std::mt19937_64 rng(seed * 2 + modality);
    return testing::RandomUnit(model_->modalities[modality].dimension, rng);
  }
  // Samples seeds[i] of one modality, labelled.
  SampleReader Samples(size_t modality, const std::vector<uint64_t>& seeds,
                       const std::vector<std::string>& labels, bool symmetric = false,
                       SampleEncoding encoding = SampleEncoding::kCompact) const {
    std::vector<std::vector<double>> rows;
    for (uint64_t s : seeds) rows.push_back(Vector(modality, s));
    auto bytes = symmetric ? EncryptSamplesSymmetric(*instance_, *model_, modality, *secret_, rows,
                                                     labels, encoding)
                           : EncryptSamples(*instance_, *model_, modality, *public_key_, rows,
                                            labels, encoding);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return *SampleReader::Parse(instance_->context, *bytes, "samples");
  }
  SampleSet Set(const std::vector<uint64_t>& seeds, const std::vector<std::string>& labels,
                SampleEncoding encoding = SampleEncoding::kCompact) const {
    std::vector<SampleReader> files;
    // In any order, either kind of encryption.
    files.push_back(Samples(1, seeds, labels, true, encoding));
    files.push_back(Samples(0, seeds, labels, false, encoding));
    auto set = SampleSet::Create(*instance_, *model_, std::move(files));
    EXPECT_TRUE(set.ok()) << set.status();
    return std::move(*set);
  }
  KeyOwner Owner() const {
    return *KeyOwner::Impl::Own(
        *model_, *ckks::SecretKey::FromCoefficients(*instance_->context, secret_->key_id(),
                                                    secret_->coefficients()));
  }
  double Expected(uint64_t a, uint64_t b) const {
    return testing::Dot(testing::FusePlain(*model_, {Vector(0, a), Vector(1, a)}),
                        testing::FusePlain(*model_, {Vector(0, b), Vector(1, b)}));
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& e : std::filesystem::directory_iterator(directory_)) {
      names.push_back(e.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  static Model* model_;
  static Instance* instance_;
  static ckks::SecretKey* secret_;
  static ckks::PublicKey* public_key_;
  static std::vector<uint8_t>* evaluation_;
  static Server::Impl* server_;
  std::string directory_;
};

Model* GalleryTest::model_;
Instance* GalleryTest::instance_;
ckks::SecretKey* GalleryTest::secret_;
ckks::PublicKey* GalleryTest::public_key_;
std::vector<uint8_t>* GalleryTest::evaluation_;
Server::Impl* GalleryTest::server_;

TEST_F(GalleryTest, EnrolIdentifyVerifyDecide) {
  ASSERT_EQ(server_->Enrol(directory_, Set({1, 2, 3}, {"ann", "bob", "ann"}), {})->added, 3u);
  ASSERT_EQ(server_->Enrol(directory_, Set({4}, {"cyd"}), {})->added, 1u);
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  EXPECT_EQ(gallery.size(), 4u);
  const SampleSet probe = Set({2}, {"probe"});
  ProbeOptions options;
  options.with_squared_norm = true;
  auto scores = server_->Identify(gallery, probe, options);
  ASSERT_TRUE(scores.ok()) << scores.status();
  auto opened = Owner().Open(SerializeScores(*instance_->context, *scores), "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->candidates.size(), 3u);
  EXPECT_EQ(opened->candidates[0].identity, "bob");
  EXPECT_EQ(opened->probe, "probe");
  EXPECT_TRUE(*opened->in_interval);
  for (const Candidate& c : opened->candidates) {
    const double expected = c.identity == "bob"   ? Expected(2, 2)
                            : c.identity == "cyd" ? Expected(2, 4)
                                                  : std::max(Expected(2, 1), Expected(2, 3));
    EXPECT_NEAR(c.score, expected, 2e-3 + kScoreStep);
    EXPECT_EQ(c.templates, c.identity == "ann" ? 2u : 1u);
  }
  auto claim = server_->Verify(gallery, probe, "ann", {});
  ASSERT_TRUE(claim.ok()) << claim.status();
  auto decision = Owner().Open(SerializeScores(*instance_->context, *claim), "scores");
  ASSERT_TRUE(decision.ok()) << decision.status();
  ASSERT_EQ(decision->candidates.size(), 1u);
  EXPECT_NEAR(decision->candidates[0].score, std::max(Expected(2, 1), Expected(2, 3)), 3e-3);
  EXPECT_EQ(Code(server_->Verify(gallery, probe, "eve", {})), absl::StatusCode::kNotFound);
}

TEST_F(GalleryTest, AllPairsOfAClass) {
  std::vector<SampleReader> files;
  files.push_back(Samples(0, {1, 2, 3}, {"ann", "ann", "bob"}));
  files.push_back(Samples(1, {1, 5, 6, 7}, {"ann", "bob", "bob", "bob"}));
  auto set = SampleSet::Create(*instance_, *model_, std::move(files));
  EnrolOptions options;
  options.all_pairs = true;
  EXPECT_EQ(server_->Enrol(directory_, *set, options)->added, 2u * 1 + 1 * 3);
}

// More pairs than are fused at a time, of one class after another.
TEST_F(GalleryTest, AllPairsProjectEachSampleOnce) {
  const std::vector<uint64_t> faces = {1, 2, 3, 4, 5}, voices = {6, 7, 8, 9, 10};
  const std::vector<std::string> labels = {"ann", "ann", "ann", "ann", "bob"};
  std::vector<SampleReader> files;
  files.push_back(Samples(0, faces, labels));
  files.push_back(Samples(1, voices, labels));
  auto set = SampleSet::Create(*instance_, *model_, std::move(files));
  EnrolOptions options;
  options.all_pairs = true;
  const ckks::OperationCounts before = ckks::TotalOperations();
  const auto pairs = server_->FuseAll(*set, options);
  const ckks::OperationCounts counts = ckks::TotalOperations() - before;
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  ASSERT_EQ(pairs->size(), 4u * 4 + 1);
  // Plaintext products are the projection's: ten samples, not seventeen pairs.
  EXPECT_EQ(counts.plain_products, 10 * instance_->plan.pairs[0].run);
  for (size_t i = 0; i < pairs->size(); ++i) {
    const size_t face = i < 16 ? i / 4 : 4, voice = i < 16 ? i % 4 : 4;
    EXPECT_EQ((*pairs)[i].identity, i < 16 ? "ann" : "bob");
    const std::vector<double> expected =
        testing::FusePlain(*model_, {Vector(0, faces[face]), Vector(1, voices[voice])});
    const auto slots =
        instance_->encoder->Decode(ckks::Decrypt(*instance_->context, (*pairs)[i].z, *secret_));
    for (uint32_t r = 0; r < model_->gamma; ++r) {
      ASSERT_NEAR(slots[r].real(), expected[r], 2e-3) << i;
    }
  }
}

TEST_F(GalleryTest, OneBlockHoldsBothLanes) {
  const uint32_t per_block = 2 * instance_->params().slots();
  auto templates = server_->FuseAll(Set({1, 2}, {"ann", "bob"}), {});
  std::vector<Enrolment> many(2, (*templates)[0]);
  many[1] = (*templates)[1];
  Gallery::Impl gallery = Gallery::Impl::New(directory_, server_->binding());
  ASSERT_TRUE(gallery.Enrol(*instance_, many, server_->keys()).ok());
  EXPECT_EQ(gallery.blocks(), 1u);
  EXPECT_EQ(PositionOf(per_block - 1, instance_->params().slots()).lane, 1u);
}

TEST_F(GalleryTest, BulkEnrolmentAmongSingleOnes) {
  // One by itself; a batch that goes over into the second lane; one by itself; a batch that goes
  // over into the second block.
  const uint32_t slots = instance_->params().slots();
  std::vector<uint64_t> seeds;
  auto enrol = [&](uint32_t count, SampleEncoding encoding) {
    std::vector<uint64_t> added;
    std::vector<std::string> labels;
    for (uint32_t i = 0; i < count; ++i) {
      added.push_back(100 + seeds.size() + i);
      labels.push_back("p" + std::to_string(added.back()));
    }
    auto enrolled = server_->Enrol(directory_, Set(added, labels, encoding), {});
    ASSERT_TRUE(enrolled.ok()) << enrolled.status();
    EXPECT_EQ(enrolled->added, count);
    seeds.insert(seeds.end(), added.begin(), added.end());
  };
  enrol(1, SampleEncoding::kCompact);
  enrol(slots, SampleEncoding::kBulk);
  enrol(1, SampleEncoding::kCompact);
  enrol(slots, SampleEncoding::kBulk);
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  EXPECT_EQ(gallery.size(), 2 * slots + 2);
  EXPECT_EQ(gallery.blocks(), 2u);

  const uint64_t probed = seeds[slots + 1];  // the first of the second batch
  const SampleSet probe = Set({probed}, {"probe"});
  auto scores = server_->Identify(gallery, probe, {});
  ASSERT_TRUE(scores.ok()) << scores.status();
  // The same residues however many threads match, and however many blocks each takes.
  for (int threads : {1, 2, 5}) {
    SetThreadCount(threads);
    const auto again = server_->Identify(gallery, probe, {});
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->replies.size(), 2u);
    for (size_t b = 0; b < 2; ++b) {
      for (size_t part = 0; part < 2; ++part) {
        EXPECT_TRUE(std::ranges::equal(again->replies[b].scores.parts[part].values(),
                                       scores->replies[b].scores.parts[part].values()));
      }
    }
  }
  SetThreadCount(0);
  auto opened = Owner().Open(SerializeScores(*instance_->context, *scores), "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->candidates.size(), seeds.size());
  for (const Candidate& c : opened->candidates) {
    const uint64_t seed = std::stoul(c.identity.substr(1));
    double s = 0;
    testing::FusePlain(*model_, {Vector(0, seed), Vector(1, seed)}, &s);
    if (!model_->approximation.interval.Contains(s)) continue;  // errors grow outside
    EXPECT_NEAR(c.score, Expected(probed, seed), 2e-3 + kScoreStep) << c.identity;
  }
  auto claim = server_->Verify(gallery, Set({probed}, {"probe"}), "p" + std::to_string(probed), {});
  ASSERT_TRUE(claim.ok()) << claim.status();
  auto decision = Owner().Open(SerializeScores(*instance_->context, *claim), "scores");
  EXPECT_NEAR(decision->candidates[0].score, Expected(probed, probed), 3e-3);
}

TEST_F(GalleryTest, BulkSamplesWhereTheyDoNotBelong) {
  const SampleSet bulk = Set({1, 2}, {"ann", "bob"}, SampleEncoding::kBulk);
  EXPECT_TRUE(bulk.bulk());
  EXPECT_FALSE(server_->FuseAll(bulk, {}).ok());
  EXPECT_FALSE(server_->FuseProbe(bulk, 0).ok());
  EnrolOptions all_pairs;
  all_pairs.all_pairs = true;
  EXPECT_THAT(std::string(server_->Enrol(directory_, bulk, all_pairs).status().message()),
              HasSubstr("without --bulk"));
  EXPECT_FALSE(FileExists(directory_));
  std::vector<SampleReader> mixed;
  mixed.push_back(Samples(0, {1}, {"ann"}));
  mixed.push_back(Samples(1, {1}, {"ann"}, false, SampleEncoding::kBulk));
  EXPECT_THAT(
      std::string(SampleSet::Create(*instance_, *model_, std::move(mixed)).status().message()),
      HasSubstr("alike"));
  // One modality alone, named on enrolment; a batch that does not fit its identities.
  std::vector<SampleReader> one;
  one.push_back(Samples(0, {1, 2}, {}, true, SampleEncoding::kBulk));
  EXPECT_FALSE(one[0].Coordinate(model_->modalities[0].dimension).ok());
  auto unlabelled = SampleSet::Create(*instance_, *model_, std::move(one));
  EXPECT_FALSE(server_->Enrol(directory_, *unlabelled, {}).ok());
  EnrolOptions options;
  options.identity = "dan";
  EXPECT_EQ(server_->Enrol(directory_, *unlabelled, options)->added, 2u);
  auto fused = server_->FuseBulk(bulk, {});
  ASSERT_TRUE(fused.ok()) << fused.status();
  Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  fused->identities.pop_back();
  EXPECT_FALSE(
      gallery.EnrolBatch(*instance_, fused->identities, fused->batch, server_->keys()).ok());
  EXPECT_EQ(gallery.size(), 2u);
}

TEST_F(GalleryTest, FailedEnrolmentLeavesTheGalleryAsItWas) {
  ASSERT_TRUE(server_->Enrol(directory_, Set({1}, {"ann"}), {}).ok());
  const std::vector<std::string> before = Files();
  const std::vector<uint8_t> manifest = *ReadFile(directory_ + "/manifest.heft");
  auto templates = *server_->FuseAll(Set({2}, {"bob"}), {});
  // A template of another level, and an identity with a control character.
  Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  std::vector<Enrolment> bad = templates;
  ASSERT_TRUE(ckks::DropLimbs(*instance_->context, &bad[0].z, bad[0].z, 2).ok());
  EXPECT_FALSE(gallery.Enrol(*instance_, bad, server_->keys()).ok());
  bad = templates;
  bad[0].identity = "b\nb";
  EXPECT_FALSE(gallery.Enrol(*instance_, bad, server_->keys()).ok());
  EXPECT_EQ(Files(), before);
  EXPECT_EQ(*ReadFile(directory_ + "/manifest.heft"), manifest);
  EXPECT_TRUE(gallery.Enrol(*instance_, templates, server_->keys()).ok());
  // A stale view of the gallery must not overwrite what another writer added.
  Gallery::Impl stale = *server_->OpenGallery(directory_, false);
  ASSERT_TRUE(gallery.Enrol(*instance_, templates, server_->keys()).ok());
  EXPECT_EQ(Code(stale.Enrol(*instance_, templates, server_->keys())),
            absl::StatusCode::kUnavailable);
}

TEST_F(GalleryTest, FailedFirstEnrolmentLeavesNoFolder) {
  Gallery::Impl gallery = Gallery::Impl::New(directory_, server_->binding());
  auto templates = *server_->FuseAll(Set({2}, {"bob"}), {});
  ASSERT_TRUE(ckks::DropLimbs(*instance_->context, &templates[0].z, templates[0].z, 2).ok());
  EXPECT_FALSE(gallery.Enrol(*instance_, templates, server_->keys()).ok());
  EXPECT_FALSE(FileExists(directory_));
}

TEST_F(GalleryTest, AFailedFlushLeavesTheOldGalleryOrTheNewOne) {
  auto templates = *server_->FuseAll(Set({2}, {"bob"}), {});
  // A block and the manifest are two flushes each: of the file, and of the folder after the rename.
  for (int failing = 1; failing <= 4; ++failing) {
    std::filesystem::remove_all(directory_);
    g_failing_flush = 0;
    ASSERT_TRUE(server_->Enrol(directory_, Set({1}, {"ann"}), {}).ok());
    Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
    g_flushes = 0;
    g_failing_flush = failing;
    EXPECT_EQ(Code(gallery.Enrol(*instance_, templates, server_->keys())),
              absl::StatusCode::kUnavailable);
    g_failing_flush = 0;
    // Only the last flush comes after the manifest's rename.
    auto reopened = server_->OpenGallery(directory_, false);
    ASSERT_TRUE(reopened.ok()) << reopened.status();
    EXPECT_EQ(reopened->size(), failing == 4 ? 2u : 1u) << failing;
    EXPECT_EQ(gallery.size(), reopened->size());
    EXPECT_TRUE(reopened->ReadBlock(*instance_, 0).ok()) << failing;
    EXPECT_TRUE(gallery.Enrol(*instance_, templates, server_->keys()).ok()) << failing;
  }
}

TEST_F(GalleryTest, DamagedBlocksAreNoticed) {
  ASSERT_TRUE(server_->Enrol(directory_, Set({1}, {"ann"}), {}).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const std::string path = directory_ + "/block-0-1.heft";
  std::vector<uint8_t> bytes = *ReadFile(path);
  bytes[5000] ^= 4;
  ASSERT_TRUE(WriteFileAtomic(path, bytes).ok());
  EXPECT_EQ(Code(gallery.ReadBlock(*instance_, 0)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Code(server_->Identify(gallery, Set({1}, {"x"}), {})), absl::StatusCode::kDataLoss);
  std::filesystem::resize_file(path, 1000);
  EXPECT_EQ(Code(gallery.ReadBlock(*instance_, 0)), absl::StatusCode::kDataLoss);
}

TEST_F(GalleryTest, OtherModelKeyOrParametersAreRefused) {
  ASSERT_TRUE(server_->Enrol(directory_, Set({1}, {"ann"}), {}).ok());
  GalleryBinding other = server_->binding();
  other.model_id[0] ^= 1;
  const Gallery::Impl gallery = *Gallery::Impl::Open(directory_);
  EXPECT_THAT(std::string(gallery.CheckBinding(other).message()), HasSubstr("another model"));
  other = server_->binding();
  other.key_id[0] ^= 1;
  EXPECT_THAT(std::string(gallery.CheckBinding(other).message()), HasSubstr("another key"));

  Csprng rng;
  const ckks::SecretKey foreign = *ckks::SecretKey::Generate(*instance_->context, rng);
  const std::vector<std::vector<double>> rows = {Vector(0, 1)};
  const std::vector<std::string> labels = {"x"};
  auto bytes = EncryptSamplesSymmetric(*instance_, *model_, 0, foreign, rows, labels);
  std::vector<SampleReader> files;
  files.push_back(*SampleReader::Parse(instance_->context, *bytes, "samples"));
  auto set = SampleSet::Create(*instance_, *model_, std::move(files));
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(Code(server_->Identify(gallery, *set, {})), absl::StatusCode::kFailedPrecondition);

  auto scores = server_->Identify(gallery, Set({1}, {"x"}), {});
  const KeyOwner wrong =
      *KeyOwner::Impl::Own(*model_, *ckks::SecretKey::Generate(*instance_->context, rng));
  EXPECT_EQ(Code(wrong.Open(SerializeScores(*instance_->context, *scores), "scores")),
            absl::StatusCode::kFailedPrecondition);

  const ckks::Params pq = *ckks::Params::Create(FindProfile("compact-pq")->spec);
  const auto pq_context = std::make_shared<ckks::Context>(pq);
  EXPECT_EQ(Code(ParseEvaluationKeys(*pq_context, *evaluation_, "keys")),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(GalleryTest, ScoresOfAnotherFormAreRefused) {
  ASSERT_TRUE(server_->Enrol(directory_, Set({1}, {"ann"}), {}).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const EncryptedScores good = *server_->Identify(gallery, Set({1}, {"x"}), {});
  EXPECT_TRUE(Owner().Open(SerializeScores(context, good), "scores").ok());
  // A smaller scale would make the rounding of published scores finer.
  EncryptedScores bad = good;
  bad.replies[0].scores.scale *= 1e-3;
  EXPECT_EQ(Code(Owner().Open(SerializeScores(context, bad), "scores")),
            absl::StatusCode::kDataLoss);
  bad = good;
  bad.identities[0] = "\x1b[2Jann";
  EXPECT_FALSE(Owner().Open(SerializeScores(context, bad), "scores").ok());
  // A reply of degree 2 is a form that servers make.
  ProbeOptions options;
  options.relinearise = false;
  const EncryptedScores degree_two = *server_->Identify(gallery, Set({1}, {"x"}), options);
  auto opened = Owner().Open(SerializeScores(context, degree_two), "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_NEAR(opened->candidates[0].score, Expected(1, 1), 3e-3);
}

TEST_F(GalleryTest, OnlyAnswersAreOpened) {
  ASSERT_TRUE(server_->Enrol(directory_, Set({1, 2}, {"ann", "bob"}), {}).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const EncryptedScores ranked = *server_->Identify(gallery, Set({1}, {"x"}), {});
  const EncryptedScores claim = *server_->Verify(gallery, Set({1}, {"x"}), "bob", {});
  for (const EncryptedScores* scores : {&ranked, &claim}) {
    const std::vector<ckks::Complex> all =
        instance_->encoder->Decode(ckks::Decrypt(context, scores->replies[0].scores, *secret_));
    auto opened = Owner().impl().OpenRawSlotsUnsafe(SerializeScores(context, *scores), "scores");
    ASSERT_TRUE(opened.ok()) << opened.status();
    ASSERT_EQ(opened->size(), 1u);
    const std::vector<ckks::Complex>& slots = (*opened)[0];
    ASSERT_EQ(slots.size(), all.size());
    double hidden = 0;
    for (size_t j = 0; j < slots.size(); ++j) {
      const bool answers = scores == &ranked ? j < 2 : j == 1;
      EXPECT_EQ(slots[j], answers ? ckks::Complex(all[j].real(), 0) : ckks::Complex(0)) << j;
      hidden += answers ? 0 : std::norm(all[j]);
    }
    EXPECT_GT(hidden, 0) << "there was nothing to mask";
  }
}

TEST_F(GalleryTest, PublishedScoresAreRounded) {
  ASSERT_TRUE(server_->Enrol(directory_, Set({1, 2, 3}, {"ann", "bob", "cyd"}), {}).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const EncryptedScores scores = *server_->Identify(gallery, Set({1}, {"x"}), {});
  const std::vector<uint8_t> bytes = SerializeScores(*instance_->context, scores);
  const auto opened = Owner().Open(bytes, "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto raw = Owner().impl().OpenRawSlotsUnsafe(bytes, "scores");
  ASSERT_TRUE(raw.ok()) << raw.status();
  for (const Candidate& c : opened->candidates) {
    const double steps = c.score / kScoreStep;
    EXPECT_NEAR(steps, std::round(steps), 1e-9) << c.identity;
  }
  EXPECT_NE((*raw)[0][0].real(), opened->candidates[0].score);
  EXPECT_NEAR((*raw)[0][0].real(), opened->candidates[0].score, kScoreStep / 2);
  // Nothing bit by bit from a wrong gallery either.
  EXPECT_EQ(RoundScore(1e9), 2);
  EXPECT_EQ(RoundScore(-1e9), -2);
  EXPECT_EQ(RoundScore(std::nan("")), -2);
  // A decision holds no score at all.
  const auto yes = Owner().Decide(bytes, "scores", opened->candidates[0].score);
  ASSERT_TRUE(yes.ok()) << yes.status();
  EXPECT_TRUE(yes->accepted);
  EXPECT_EQ(yes->identity, "ann");
  const auto no = Owner().Decide(bytes, "scores", opened->candidates[0].score + kScoreStep);
  ASSERT_TRUE(no.ok()) << no.status();
  EXPECT_FALSE(no->accepted);
  EXPECT_EQ(no->identity, "");
}

TEST_F(GalleryTest, EveryOpeningIsChargedFirst) {
  ASSERT_TRUE(server_->Enrol(directory_, Set({1}, {"ann"}), {}).ok());
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  const ckks::Context& context = *instance_->context;
  const EncryptedScores good = *server_->Identify(gallery, Set({1}, {"x"}), {});
  const std::vector<uint8_t> bytes = SerializeScores(context, good);
  const KeyOwner owner = *KeyOwner::Impl::Own(
      *model_,
      *ckks::SecretKey::FromCoefficients(context, secret_->key_id(), secret_->coefficients()),
      std::make_unique<QueryBudget>(3));
  // What is refused for another reason costs nothing.
  EncryptedScores bad = good;
  bad.replies[0].scores.scale *= 2;
  EXPECT_EQ(Code(owner.Open(SerializeScores(context, bad), "scores")), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(owner.Open(bytes, "scores").ok());
  EXPECT_TRUE(owner.Decide(bytes, "scores", 0.5).ok());
  EXPECT_TRUE(owner.impl().OpenRawSlotsUnsafe(bytes, "scores").ok());
  EXPECT_EQ(Code(owner.Open(bytes, "scores")), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Code(owner.Decide(bytes, "scores", 0.5)), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Code(owner.impl().OpenRawSlotsUnsafe(bytes, "scores")),
            absl::StatusCode::kResourceExhausted);
  // No room for flooding, whatever the server says its noise is, rescaled or not; nothing charged.
  ProbeOptions raw;
  raw.relinearise = false;
  const Flooding flooded;
  for (EncryptedScores scores : {good, *server_->Identify(gallery, Set({1}, {"x"}), raw)}) {
    scores.replies[0].scores.noise.error = 0;
    const KeyOwner fresh = Owner();
    EXPECT_EQ(Code(fresh.Open(SerializeScores(context, scores), "scores", flooded)),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(fresh.impl().budget().Read()->galleries.empty());
  }
  // A verification is charged to the identity that it is of.
  EncryptedScores claim = *server_->Verify(gallery, Set({1}, {"x"}), "ann", {});
  claim.claimed = "eve";
  EXPECT_EQ(Code(Owner().Open(SerializeScores(context, claim), "scores")),
            absl::StatusCode::kDataLoss);
}

TEST_F(GalleryTest, WrongSamplesAreRefused) {
  std::vector<SampleReader> twice;
  twice.push_back(Samples(0, {1}, {"a"}));
  twice.push_back(Samples(0, {1}, {"a"}));
  EXPECT_FALSE(SampleSet::Create(*instance_, *model_, std::move(twice)).ok());
  std::vector<SampleReader> uneven;
  uneven.push_back(Samples(0, {1, 2}, {"a", "b"}));
  uneven.push_back(Samples(1, {1}, {"a"}));
  auto set = SampleSet::Create(*instance_, *model_, std::move(uneven));
  EXPECT_FALSE(server_->FuseAll(*set, {}).ok());
  EXPECT_FALSE(server_->FuseProbe(*set, 1).ok());
  std::vector<SampleReader> unlabelled;
  unlabelled.push_back(Samples(0, {1}, {}));
  auto no_labels = SampleSet::Create(*instance_, *model_, std::move(unlabelled));
  EXPECT_FALSE(server_->FuseAll(*no_labels, {}).ok());
  EnrolOptions options;
  options.identity = "dan";  // one modality alone, named on enrolment
  EXPECT_EQ(server_->Enrol(directory_, *no_labels, options)->added, 1u);
}

TEST_F(GalleryTest, SampleFilesNoticeDamage) {
  const std::vector<std::vector<double>> rows = {Vector(0, 1)};
  const std::vector<std::string> labels = {"x"};
  for (SampleEncoding encoding : {SampleEncoding::kCompact, SampleEncoding::kBulk}) {
    const std::vector<uint8_t> good =
        *EncryptSamples(*instance_, *model_, 0, *public_key_, rows, labels, encoding);
    for (size_t size : {size_t{0}, size_t{10}, good.size() / 2, good.size() - 1}) {
      std::vector<uint8_t> cut(good.begin(), good.begin() + size);
      EXPECT_EQ(Code(SampleReader::Parse(instance_->context, cut, "cut")),
                absl::StatusCode::kDataLoss);
    }
    std::vector<uint8_t> flipped = good;
    flipped[flipped.size() / 3] ^= 0x10;
    EXPECT_EQ(Code(SampleReader::Parse(instance_->context, flipped, "flipped")),
              absl::StatusCode::kDataLoss);
  }
}

TEST_F(GalleryTest, SecretKeyFilesWithAndWithoutPassphrase) {
  const ckks::Context& context = *instance_->context;
  const std::vector<uint8_t> clear = *SerializeSecretKey(context, *secret_, {});
  EXPECT_FALSE(*SecretKeyIsSealed(clear, "key"));
  auto back = ParseSecretKey(context, clear, {}, "key");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(std::equal(back->coefficients().begin(), back->coefficients().end(),
                         secret_->coefficients().begin()));
  const std::string passphrase = "correct horse battery staple", wrong = "Tr0ub4dor&3";
  const std::vector<uint8_t> sealed = *SerializeSecretKey(context, *secret_, passphrase);
  EXPECT_TRUE(*SecretKeyIsSealed(sealed, "key"));
  EXPECT_TRUE(ParseSecretKey(context, sealed, passphrase, "key").ok());
  EXPECT_EQ(Code(ParseSecretKey(context, sealed, wrong, "key")),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Code(ParseSecretKey(context, sealed, {}, "key")),
            absl::StatusCode::kFailedPrecondition);
  // The sealed file holds no run of the clear coefficients.
  const std::string needle(reinterpret_cast<const char*>(secret_->coefficients().data()), 32);
  const std::string haystack(sealed.begin(), sealed.end());
  EXPECT_EQ(haystack.find(needle), std::string::npos);
}

TEST_F(GalleryTest, EvaluationKeysLackingARotation) {
  EvaluationKeysWriter writer(*instance_->context, secret_->key_id(), 1);
  Csprng rng;
  writer.Add(1, ckks::MakeRelinearisationKey(*instance_->context, *secret_,
                                             instance_->plan.relinearisation_limbs, rng));
  const std::vector<uint8_t> bytes = writer.Finish();
  auto server = Server::Impl::Create(*model_, bytes, "keys");
  EXPECT_EQ(server.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("lack the rotation"));
}

}  // namespace
}  // namespace heft
