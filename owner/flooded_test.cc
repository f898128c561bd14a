// SPDX-License-Identifier: Apache-2.0
// Profile flooded through the public classes: all that profile standard does, with openings that
// are flooded, as much as the formula says and as long as its number of openings lasts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/inside.h"
#include "base/testing.h"
#include "ckks/encryptor.h"
#include "fusion/block_internal.h"
#include "fusion/errors.h"
#include "fusion/key_files.h"
#include "fusion/projected.h"
#include "fusion/rekey.h"
#include "fusion/samples.h"
#include "fusion/testing.h"
#include "gallery/gallery_impl.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "owner/activate_all.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

// The promised error of the worst score, and half of the step to which scores are rounded.
constexpr double kTolerance = 2e-3 + kScoreStep / 2;
constexpr uint32_t kFused = 64;  // templates that clients have fused

// Keys of this profile are large, so all tests share them.
class FloodedTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(testing::RandomModel({40, 24}, 16, 3, "flooded"));
    owner_ = new KeyOwner(*KeyOwner::Generate(*model_));
    ASSERT_TRUE(owner_->SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    client_ = new Client(*Client::Create(*model_, owner_->EncryptionKey()));
    server_ = new Server(*Server::Create(*model_, *owner_->EvaluationKeys(), "evaluation",
                                         *owner_->EnrolmentKeys(), "enrolment"));
  }
  static void TearDownTestSuite() {
    delete server_;
    delete client_;
    delete owner_;
    delete model_;
  }

  static std::vector<float> Vector(size_t modality, uint64_t person) {
    std::mt19937_64 random(person * 2 + modality);
    const auto unit = testing::RandomUnit(model_->modalities[modality].dimension, random);
    return {unit.begin(), unit.end()};
  }
  static std::string Name(uint64_t person) { return "p" + std::to_string(person); }
  static std::vector<SampleFile> Files(uint64_t person, SampleUse use) {
    std::vector<SampleFile> files;
    for (size_t m = 0; m < 2; ++m) {
      files.push_back(
          {*client_->Encrypt(model_->modalities[m].name, Vector(m, person), Name(person), use),
           "sample"});
    }
    return files;
  }
  // Samples of people 0 ... count - 1 in one encoding.
  static std::vector<SampleFile> Many(uint32_t count, SampleEncoding encoding) {
    std::vector<std::string> labels;
    std::vector<std::vector<float>> rows(2);
    for (uint32_t p = 0; p < count; ++p) {
      labels.push_back(Name(p));
      for (size_t m = 0; m < 2; ++m) {
        const auto v = Vector(m, p);
        rows[m].insert(rows[m].end(), v.begin(), v.end());
      }
    }
    std::vector<Samples> samples;
    for (size_t m = 0; m < 2; ++m) {
      samples.push_back({model_->modalities[m].name, rows[m], labels,
                         encoding == SampleEncoding::kFused ? SampleEncoding::kCompact : encoding});
    }
    if (encoding == SampleEncoding::kFused) return {{*client_->EncryptFused(samples), "fused"}};
    return {{*client_->Encrypt(samples[0]), "m0"}, {*client_->Encrypt(samples[1]), "m1"}};
  }
  // Samples that the client has projected, one of each modality.
  static std::vector<SampleFile> Partial(uint64_t person, SampleUse use) {
    std::vector<SampleFile> files;
    for (size_t m = 0; m < 2; ++m) {
      const std::vector<float> vector = Vector(m, person);
      files.push_back({*client_->Encrypt(
                           {model_->modalities[m].name, vector, {}, SampleEncoding::kPartial, use}),
                       "partial"});
    }
    return files;
  }
  // The cosine that probe a should have with template b, normalised by the server's polynomial or
  // by the client, exactly.
  static double Expected(uint64_t a, uint64_t b, bool exact = false) {
    auto fused = [](uint64_t person) {
      std::vector<std::vector<double>> sample;
      for (size_t m = 0; m < 2; ++m) {
        const auto v = Vector(m, person);
        sample.emplace_back(v.begin(), v.end());
      }
      return testing::FusePlain(*model_, sample);
    };
    const std::vector<double> probe = fused(a), other = fused(b);
    const double length = exact ? std::sqrt(testing::Dot(other, other)) : 1;
    return testing::Dot(probe, other) / std::sqrt(testing::Dot(probe, probe)) / length;
  }
  void Enrol(std::vector<SampleFile> files) const {
    const auto approved = testing::EnrolNow(*server_, *owner_, folder_, std::move(files));
    ASSERT_TRUE(approved.ok()) << approved.status();
  }
  std::vector<uint8_t> Identify(uint64_t person, const ProbeOptions& options = {}) const {
    return *server_->Identify(*Gallery::Open(folder_), Files(person, SampleUse::kIdentification),
                              options);
  }
  static EncryptedScores Parsed(const std::vector<uint8_t>& reply) {
    return *ParseScores(*Inside::Of(*owner_).instance().context, reply, "reply");
  }
  // The noise that hides one slot's error in a reply of one block and its norm.
  static double SlotNoise(const EncryptedScores& scores, const Flooding& flooding) {
    const Instance& ring = Inside::Of(*owner_).instance();
    const double error =
        std::max(scores.replies[0].scores.noise.error / ring.plan.matching.score_scale,
                 ScoreError(ring.params(), ring.plan, /*masked=*/false));
    return std::sqrt(ring.params().n()) *
           ckks::FloodingDeviation(ring.params(), error,
                                   {flooding.security_bits, 4 * uint64_t{flooding.openings}});
  }

  inline static Model* model_ = nullptr;
  inline static KeyOwner* owner_ = nullptr;
  inline static Client* client_ = nullptr;
  inline static Server* server_ = nullptr;
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "gallery";
};

TEST_F(FloodedTest, EnrolsAdmitsIdentifiesAndVerifies) {
  for (uint64_t p = 0; p < 3; ++p) Enrol(Files(p, SampleUse::kEnrolment));
  for (uint64_t p = 0; p < 3; ++p) {
    const auto opened = owner_->Open(Identify(p), "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->refusal, "");
    ASSERT_EQ(opened->candidates.size(), 3u);
    EXPECT_EQ(opened->candidates[0].identity, Name(p));
    for (const Candidate& c : opened->candidates) {
      EXPECT_NEAR(c.score, Expected(p, std::stoul(c.identity.substr(1))), kTolerance);
    }
  }
  const Gallery gallery = *Gallery::Open(folder_);
  for (uint64_t p = 0; p < 2; ++p) {
    const auto reply = server_->Verify(gallery, Files(0, SampleUse::kEnrolment), Name(p));
    ASSERT_TRUE(reply.ok()) << reply.status();
    const auto opened = owner_->Open(*reply, "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->refusal, "");
    ASSERT_EQ(opened->candidates.size(), 1u);
    EXPECT_NEAR(opened->candidates[0].score, Expected(0, p), kTolerance);
    EXPECT_EQ(opened->Decide(0.9).accepted, p == 0);
  }
}

TEST_F(FloodedTest, EnrolsInBulk) {
  constexpr uint32_t kPeople = 5;
  Enrol(Many(kPeople, SampleEncoding::kBulk));
  const auto opened = owner_->Open(Identify(3), "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->refusal, "");
  ASSERT_EQ(opened->candidates.size(), kPeople);
  for (const Candidate& c : opened->candidates) {
    EXPECT_NEAR(c.score, Expected(3, std::stoul(c.identity.substr(1))), kTolerance);
  }
}

// Vectors as networks give them, and as many dimensions as the profile takes.
TEST(FloodedLongVectorsTest, AreAdmittedOneByOneFusedAndInBulk) {
  const Model model = testing::RandomModel({512, 512}, 64, 3, "flooded");
  const auto owner = KeyOwner::Generate(model);
  ASSERT_TRUE(owner.ok()) << owner.status();
  const auto server = Server::Create(model, *owner->EvaluationKeys(), "evaluation",
                                     *owner->EnrolmentKeys(), "enrolment");
  ASSERT_TRUE(server.ok()) << server.status();
  const testing::TemporaryFolder folder;
  std::mt19937_64 random(3);
  std::vector<std::vector<float>> rows;
  std::vector<Samples> samples;
  const std::vector<std::string> labels = {"ann"};
  for (const ModalitySpec& modality : model.modalities) {
    const auto unit = testing::RandomUnit(modality.dimension, random);
    rows.emplace_back(unit.begin(), unit.end());
    samples.push_back({modality.name, rows.back(), labels});
  }
  std::vector<SampleFile> files, bulk;
  for (Samples& one : samples) {
    files.push_back({*owner->Encrypt(one), "sample"});
    one.encoding = SampleEncoding::kBulk;
    bulk.push_back({*owner->Encrypt(one), "bulk"});
    one.encoding = SampleEncoding::kCompact;
  }
  const std::vector<SampleFile> fused = {{*owner->EncryptFused(samples), "fused"}};
  const std::string gallery = folder.path() + "/gallery";
  EnrolOptions options;
  for (const auto& [name, brought] : {std::pair{"ann", files}, {"bea", fused}, {"cleo", bulk}}) {
    options.identity = name;
    const auto done = testing::EnrolNow(*server, *owner, gallery, brought, options);
    ASSERT_TRUE(done.ok()) << done.status();
    EXPECT_EQ(done->activated, 1u);
  }
}

TEST_F(FloodedTest, TakesWhatTheClientHasProjected) {
  constexpr uint32_t kPeople = 2;
  Enrol(Many(kPeople, SampleEncoding::kPartial));
  const Gallery gallery = *Gallery::Open(folder_);
  ASSERT_EQ(gallery.size(), kPeople);
  auto expect = [&](const absl::StatusOr<std::vector<uint8_t>>& reply, size_t candidates) {
    ASSERT_TRUE(reply.ok()) << reply.status();
    const auto opened = owner_->Open(*reply, "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->refusal, "");
    ASSERT_EQ(opened->candidates.size(), candidates);
    EXPECT_EQ(opened->candidates[0].identity, Name(1));
    for (const Candidate& c : opened->candidates) {
      EXPECT_NEAR(c.score, Expected(1, std::stoul(c.identity.substr(1))), kTolerance);
    }
  };
  expect(server_->Identify(gallery, Partial(1, SampleUse::kIdentification)), kPeople);
  expect(Identify(1), kPeople);
  expect(server_->Verify(gallery, Partial(1, SampleUse::kEnrolment), Name(1)), 1);
}

// A template that is too long is rejected in spite of the noise.
TEST_F(FloodedTest, LongTemplatesAreRejected) {
  const Rings& rings = Inside::Of(*owner_).rings();
  const Instance& ring = rings.matching;
  std::mt19937_64 random(9);
  const std::vector<double> unit = testing::RandomUnit(model_->gamma, random);
  const auto keys = ParseEncryptionKeys(rings, owner_->EncryptionKey(), "key");
  Csprng rng;
  for (const double length : {1.0, 1.5, 2.0, 0.5}) {
    std::vector<double> z = unit;
    for (double& v : z) v *= length;
    const SampleHeader header = MakeSampleHeader(ring, *model_, 0, owner_->key_id(), false,
                                                 {SampleEncoding::kFused, SampleUse::kEnrolment});
    const std::string name = "length " + std::to_string(length);
    SampleWriter writer(*ring.context, header, std::vector<std::string>{name});
    const auto plain = EncodeProjected(ring, SampleUse::kEnrolment, z);
    writer.Add(ckks::Encrypt(*ring.context, *plain, keys->matching(), rng));
    ASSERT_TRUE(server_->Enrol(folder_, {{writer.Finish(), "fused"}}).ok()) << name;
    const auto approved = testing::ActivateAll(*server_, *owner_, folder_);
    ASSERT_TRUE(approved.ok()) << approved.status();
    EXPECT_EQ(approved->activated, length == 1 ? 1u : 0u) << name;
    EXPECT_EQ(approved->rejected, length == 1 ? 0u : 1u) << name;
  }
}

// Without being asked, and as much as the formula says: as much as can be hidden below 1e-3, so
// that it is seen above the rounding of published scores.
TEST_F(FloodedTest, OpeningsAreFlooded) {
  Enrol(Many(kFused, SampleEncoding::kFused));
  const std::vector<uint8_t> reply = Identify(1);
  const EncryptedScores scores = Parsed(reply);
  Flooding most;
  while (SlotNoise(scores, {30, most.openings * 2}) <= 1e-3) most.openings *= 2;
  EXPECT_GE(most.openings, Flooding().openings);
  // No room for more, and then nothing is charged: the reply can still be opened.
  const auto refused = owner_->Open(reply, "reply", Flooding{30, most.openings * 2});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("no room for noise flooding"));
  const auto opened = owner_->Open(reply, "reply", most, kFused);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->candidates.size(), kFused);
  double squares = 0, length = 0;
  for (const Candidate& c : opened->candidates) {
    const double error = c.score - Expected(1, std::stoul(c.identity.substr(1)), /*exact=*/true);
    squares += error * error / kFused;
  }
  std::vector<std::vector<double>> sample;
  for (size_t m = 0; m < 2; ++m) {
    const auto v = Vector(m, 1);
    sample.emplace_back(v.begin(), v.end());
  }
  testing::FusePlain(*model_, sample, &length);
  // A slot has two scores, and each is divided by the probe's length.
  const double noise = std::pow(SlotNoise(scores, most), 2) / 2 / length;
  const double rounding = kScoreStep * kScoreStep / 12;
  EXPECT_GT(squares, (noise + rounding) / 2);
  EXPECT_LT(squares, (noise + rounding) * 2);
  EXPECT_GT(noise, rounding) << "it would not be seen";
}

TEST_F(FloodedTest, WhatAnHonestReplyErrsIsWhatIsHidden) {
  Enrol(Many(2, SampleEncoding::kFused));
  const Instance& ring = Inside::Of(*owner_).instance();
  EncryptedScores scores = Parsed(Identify(0));
  const auto stated = [](const ckks::Ciphertext& c) { return c.noise.error / c.scale; };
  const double error = ScoreError(ring.params(), ring.plan, false);
  const double norm = NormProofError(ring.params(), ring.plan);
  EXPECT_NEAR(stated(scores.replies[0].scores) / error, 1, 0.1);
  EXPECT_LE(stated(scores.norm), norm);
  EXPECT_GE(stated(scores.norm), norm / 4);
  const auto verified =
      server_->Verify(*Gallery::Open(folder_), Files(0, SampleUse::kEnrolment), Name(0));
  scores = Parsed(*verified);
  EXPECT_NEAR(stated(scores.replies[0].scores) / ScoreError(ring.params(), ring.plan, true), 1,
              0.1);
  EXPECT_LE(stated(scores.norm), norm);
}

// A renewal adds far less to a block than what its openings hide.
TEST_F(FloodedTest, BlocksMoveToAnotherKey) {
  Enrol(Many(2, SampleEncoding::kFused));
  const KeyOwner::Impl& owner = Inside::Of(*owner_);
  const Instance& ring = owner.instance();
  const ckks::Context& context = *ring.context;
  ASSERT_TRUE(server_->Fold(folder_).ok());
  TiledCiphertexts block = *Gallery::Impl::Open(folder_)->ReadBlock(ring, 0);
  const auto open = [&](const ckks::SecretKey& secret) {
    ckks::Ciphertext c;
    c.scale = ring.plan.matching.block_scale;
    c.parts = internal::LoadTiled(context, ring.plan.gamma, 3, block);
    return ring.encoder->Decode(ckks::Decrypt(context, c, secret));
  };
  Csprng rng;
  const auto next = *ckks::SecretKey::Generate(context, rng);
  const size_t limbs = MatchLimbs(ring.params());
  const ckks::SwitchKey key(context, ckks::MakeRekeyingKey(context, owner.key(), next, limbs, rng),
                            1);
  const std::vector<ckks::Complex> before = open(owner.key());
  ASSERT_TRUE(RekeyBlock(ring, &block, key).ok());
  const std::vector<ckks::Complex> after = open(next);
  double squares = 0;
  for (size_t j = 0; j < after.size(); ++j) {
    squares += std::norm(after[j] - before[j]) / static_cast<double>(after.size());
  }
  // Of a complex slot, whose parts are two scores.
  const double predicted = std::sqrt(2.0) * RekeyScoreError(ring);
  EXPECT_NEAR(std::sqrt(squares) / predicted, 1, 0.5);
  EXPECT_LT(predicted, ScoreError(ring.params(), ring.plan, /*masked=*/false) / 10);
}

TEST_F(FloodedTest, RepliesOfDegreeTwoAreRefused) {
  Enrol(Many(2, SampleEncoding::kFused));
  ProbeOptions options;
  options.relinearise = false;
  const auto refused = owner_->Open(Identify(0, options), "reply");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("degree"));
}

}  // namespace
}  // namespace heft
