// SPDX-License-Identifier: Apache-2.0
// The server through its file formats: keys, samples, gallery, scores; and its errors for wrong
// input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "base/threads.h"
#include "ckks/operation_counts.h"
#include "fusion/key_files.h"
#include "fusion/profile.h"
#include "matcher/server_impl.h"
#include "owner/testing.h"

namespace heft {
namespace {

using testing::Code;
using testing::EnrolDirectly;
using ::testing::HasSubstr;

class ServerTest : public testing::GalleryTest {};

TEST_F(ServerTest, EnrolIdentifyVerifyDecide) {
  ASSERT_EQ(EnrolDirectly(*server_, directory_, Set({1, 2, 3}, {"ann", "bob", "ann"}))->brought,
            3u);
  ASSERT_EQ(EnrolDirectly(*server_, directory_, Set({4}, {"cyd"}))->brought, 1u);
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  EXPECT_EQ(gallery.size(), 4u);
  const SampleSet probe = Set({2}, {"probe"});
  auto scores = server_->Identify(gallery, probe, {});
  ASSERT_TRUE(scores.ok()) << scores.status();
  auto opened = Owner().Open(SerializeScores(*instance_->context, *scores), "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->candidates.size(), 3u);
  EXPECT_EQ(opened->candidates[0].identity, "bob");
  EXPECT_EQ(opened->probe, "probe");
  EXPECT_EQ(opened->refusal, "");
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
}

TEST_F(ServerTest, AllPairsOfAClass) {
  std::vector<SampleReader> files;
  files.push_back(Samples(0, {1, 2, 3}, {"ann", "ann", "bob"}));
  files.push_back(Samples(1, {1, 5, 6, 7}, {"ann", "bob", "bob", "bob"}));
  auto set = SampleSet::Create(*instance_, *model_, std::move(files));
  EnrolOptions options;
  options.all_pairs = true;
  EXPECT_EQ(EnrolDirectly(*server_, directory_, *set, options)->brought, 2u * 1 + 1 * 3);
}

// More pairs than are fused at a time, of one class after another.
TEST_F(ServerTest, AllPairsProjectEachSampleOnce) {
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
  EXPECT_EQ(counts.plain_products, 10 * instance_->plan.projection.pairs[0].run);
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

TEST_F(ServerTest, BulkEnrolmentAmongSingleOnes) {
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
    auto enrolled = EnrolDirectly(*server_, directory_, Set(added, labels, encoding));
    ASSERT_TRUE(enrolled.ok()) << enrolled.status();
    EXPECT_EQ(enrolled->brought, count);
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
  const BudgetLimits plenty = {.scores = 100, .decisions = 100, .client_bits = 1000000};
  constexpr uint32_t kPublished = 5000;  // all would tell more of the key than it has
  auto opened =
      Owner(plenty).Open(SerializeScores(*instance_->context, *scores), "scores", {}, kPublished);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->candidates.size(), kPublished);
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

TEST_F(ServerTest, BulkSamplesWhereTheyDoNotBelong) {
  const SampleSet bulk = Set({1, 2}, {"ann", "bob"}, SampleEncoding::kBulk);
  EXPECT_TRUE(bulk.bulk());
  EXPECT_FALSE(server_->FuseAll(bulk, {}).ok());
  EXPECT_FALSE(server_->FuseProbe(bulk, {}).ok());
  EnrolOptions all_pairs;
  all_pairs.all_pairs = true;
  EXPECT_THAT(std::string(EnrolDirectly(*server_, directory_, bulk, all_pairs).status().message()),
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
  EXPECT_FALSE(EnrolDirectly(*server_, directory_, *unlabelled).ok());
  EnrolOptions options;
  options.identity = "dan";
  EXPECT_EQ(EnrolDirectly(*server_, directory_, *unlabelled, options)->brought, 2u);
  auto fused = server_->FuseBulk(bulk, {});
  ASSERT_TRUE(fused.ok()) << fused.status();
  const Gallery::Impl gallery = *server_->OpenGallery(directory_, false);
  GalleryChange change = *GalleryChange::Begin(gallery, /*start=*/false);
  const std::vector<Enrolment> one_too_few(1);
  EXPECT_FALSE(
      change.AddBatch(server_->rings(), one_too_few, fused->batch, server_->ring_keys()).ok());
  EXPECT_EQ(gallery.size(), 2u);
}

TEST_F(ServerTest, OtherModelKeyOrParametersAreRefused) {
  ASSERT_TRUE(EnrolDirectly(*server_, directory_, Set({1}, {"ann"})).ok());
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
  const KeyOwner wrong = *KeyOwner::Impl::Own(
      *model_, SecretKeys(*ckks::SecretKey::Generate(*instance_->context, rng)));
  EXPECT_EQ(Code(wrong.Open(SerializeScores(*instance_->context, *scores), "scores")),
            absl::StatusCode::kFailedPrecondition);

  const ckks::Context thin(*ckks::Params::Create(FindProfile("standard")->spec));
  EXPECT_EQ(Code(ParseEvaluationKeys(thin, *evaluation_, "keys")),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(ServerTest, WrongSamplesAreRefused) {
  std::vector<SampleReader> twice;
  twice.push_back(Samples(0, {1}, {"a"}));
  twice.push_back(Samples(0, {1}, {"a"}));
  EXPECT_FALSE(SampleSet::Create(*instance_, *model_, std::move(twice)).ok());
  std::vector<SampleReader> uneven;
  uneven.push_back(Samples(0, {1, 2}, {"a", "b"}));
  uneven.push_back(Samples(1, {1}, {"a"}));
  auto set = SampleSet::Create(*instance_, *model_, std::move(uneven));
  EXPECT_FALSE(server_->FuseAll(*set, {}).ok());
  EXPECT_FALSE(server_->FuseProbe(*set, {.row = 1}).ok());
  std::vector<SampleReader> unlabelled;
  unlabelled.push_back(Samples(0, {1}, {}));
  auto no_labels = SampleSet::Create(*instance_, *model_, std::move(unlabelled));
  EXPECT_FALSE(server_->FuseAll(*no_labels, {}).ok());
  EnrolOptions options;
  options.identity = "dan";  // one modality alone, named on enrolment
  EXPECT_EQ(EnrolDirectly(*server_, directory_, *no_labels, options)->brought, 1u);
}

TEST_F(ServerTest, EvaluationKeysLackingARotation) {
  EvaluationKeysWriter writer(*instance_->context, secret_->key_id(), 1);
  Csprng rng;
  writer.Add(1, ckks::MakeRelinearisationKey(*instance_->context, *secret_,
                                             instance_->plan.keys.relinearisation_limbs, rng));
  const std::vector<uint8_t> bytes = writer.Finish();
  auto server = Server::Impl::Create(*model_, bytes, "keys");
  EXPECT_EQ(server.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("lack the rotation"));
}

}  // namespace
}  // namespace heft
