// SPDX-License-Identifier: Apache-2.0
// profile standard through the public classes: where modalities are fused, one gallery serves all;
// what does not belong together is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/files.h"
#include "base/testing.h"
#include "ckks/encryptor.h"
#include "fusion/testing.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/key_owner.h"
#include "heft/key_set.h"
#include "heft/server.h"
#include "heft/trust.h"
#include "owner/activate_all.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using testing::EnrolNow;

class ThinGalleryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(testing::RandomModel({40, 24}, 16, 3, "standard"));
    owner_ = new KeyOwner(*KeyOwner::Generate(*model_));
    ASSERT_TRUE(owner_->SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    client_ = new Client(*Client::Create(*model_, owner_->EncryptionKey()));
    evaluation_ = new Bytes(*owner_->EvaluationKeys());
    server_ = new Server(*Server::Create(*model_, *evaluation_, "evaluation",
                                         *owner_->EnrolmentKeys(), "enrolment"));
  }
  static void TearDownTestSuite() {
    delete server_;
    delete evaluation_;
    delete client_;
    delete owner_;
    delete model_;
  }

  // Person `seed`'s vectors; both captures of a person are alike but for noise.
  std::vector<float> Vector(size_t modality, uint64_t seed, uint64_t capture) const {
    std::mt19937_64 person(seed * 2 + modality), noise(seed * 1000 + capture * 2 + modality);
    const auto unit = testing::RandomUnit(model_->modalities[modality].dimension, person);
    const auto other = testing::RandomUnit(model_->modalities[modality].dimension, noise);
    std::vector<float> out;
    for (size_t i = 0; i < unit.size(); ++i) {
      out.push_back(static_cast<float>(unit[i] + 0.3 * other[i]));
    }
    return out;
  }

  enum class Fuse { kServer, kPartial, kClient };
  // The files of one capture.
  std::vector<SampleFile> Files(Fuse fuse, SampleUse use, uint64_t seed, uint64_t capture,
                                const std::string& label = "") const {
    const std::vector<std::string> labels(label.empty() ? 0 : 1, label);
    std::vector<std::vector<float>> vectors;
    std::vector<Samples> samples;
    for (size_t m = 0; m < 2; ++m) vectors.push_back(Vector(m, seed, capture));
    for (size_t m = 0; m < 2; ++m) {
      samples.push_back(
          {model_->modalities[m].name, vectors[m], labels,
           fuse == Fuse::kPartial ? SampleEncoding::kPartial : SampleEncoding::kCompact, use});
    }
    std::vector<SampleFile> files;
    auto add = [&](const absl::StatusOr<Bytes>& bytes) {
      EXPECT_TRUE(bytes.ok()) << bytes.status();
      if (bytes.ok()) files.push_back({*bytes, "file"});
    };
    if (fuse == Fuse::kClient) {
      add(client_->EncryptFused(samples));
    } else {
      add(client_->Encrypt(samples[0]));
      add(owner_->Encrypt(samples[1]));  // either kind of encryption
    }
    return files;
  }
  // A server of any key owner, and the files of one capture that it encrypts itself.
  static Server Serve(const KeyOwner& owner) {
    return *Server::Create(*model_, *owner.EvaluationKeys(), "evaluation", *owner.EnrolmentKeys(),
                           "enrolment");
  }
  std::vector<SampleFile> OwnFiles(const KeyOwner& owner, SampleUse use, uint64_t seed,
                                   uint64_t capture, const std::string& label = "") const {
    std::vector<SampleFile> out;
    const std::vector<std::string> labels(label.empty() ? 0 : 1, label);
    for (size_t m = 0; m < 2; ++m) {
      const std::vector<float> vector = Vector(m, seed, capture);
      out.push_back({*owner.Encrypt({model_->modalities[m].name, vector, labels,
                                     SampleEncoding::kCompact, use}),
                     "file"});
    }
    return out;
  }
  // The cosine that probe a should have with capture b, enrolled in that way: all is exactly
  // normalised, but what the server's polynomial does.
  double Expected(uint64_t a, uint64_t a_capture, uint64_t b, uint64_t b_capture, Fuse way) const {
    auto fused = [&](uint64_t seed, uint64_t capture, bool exact) {
      std::vector<std::vector<double>> sample;
      for (size_t m = 0; m < 2; ++m) {
        const auto v = Vector(m, seed, capture);
        std::vector<double> unit(v.begin(), v.end());
        const double length = std::sqrt(testing::Dot(unit, unit));
        for (double& x : unit) x /= length;
        sample.push_back(unit);
      }
      std::vector<double> z = testing::FusePlain(*model_, sample);
      const double length = exact ? std::sqrt(testing::Dot(z, z)) : 1;
      for (double& x : z) x /= length;
      return z;
    };
    return testing::Dot(fused(a, a_capture, true), fused(b, b_capture, way == Fuse::kClient));
  }
  double Score(const OpenedScores& opened, const std::string& identity) const {
    for (const Candidate& c : opened.candidates) {
      if (c.identity == identity) return c.score;
    }
    ADD_FAILURE() << identity << " is no candidate";
    return -9;
  }

  inline static Model* model_ = nullptr;
  inline static KeyOwner* owner_ = nullptr;
  inline static Client* client_ = nullptr;
  inline static Bytes* evaluation_ = nullptr;
  inline static Server* server_ = nullptr;
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "gallery";
};

// The promised bound of the worst score, and half of the step to which scores are rounded.
constexpr double kTolerance = 2e-3 + kScoreStep / 2;

TEST_F(ThinGalleryTest, OneGalleryServesAllPlacesOfFusion) {
  const Fuse all[] = {Fuse::kServer, Fuse::kPartial, Fuse::kClient};
  for (uint64_t i = 0; i < 3; ++i) {
    const auto done = EnrolNow(*server_, *owner_, folder_,
                               Files(all[i], SampleUse::kEnrolment, i, 0, "p" + std::to_string(i)));
    ASSERT_TRUE(done.ok()) << done.status();
  }
  const Gallery gallery = *Gallery::Open(folder_);
  for (const Fuse fuse : all) {
    for (uint64_t i = 0; i < 3; ++i) {
      const std::string name = "p" + std::to_string(i);
      const auto reply = server_->Identify(gallery, Files(fuse, SampleUse::kIdentification, i, 1));
      ASSERT_TRUE(reply.ok()) << reply.status();
      const auto opened = owner_->Open(*reply, "reply");
      ASSERT_TRUE(opened.ok()) << opened.status();
      EXPECT_EQ(opened->candidates[0].identity, name);
      EXPECT_EQ(opened->refusal, "");
      for (uint64_t j = 0; j < 3; ++j) {
        EXPECT_NEAR(Score(*opened, "p" + std::to_string(j)), Expected(i, 1, j, 0, all[j]),
                    kTolerance);
      }
      const auto verified =
          server_->Verify(gallery, Files(fuse, SampleUse::kEnrolment, i, 1), name);
      ASSERT_TRUE(verified.ok()) << verified.status();
      const auto claimed = owner_->Open(*verified, "reply");
      ASSERT_TRUE(claimed.ok()) << claimed.status();
      ASSERT_EQ(claimed->candidates.size(), 1u);
      EXPECT_NEAR(claimed->candidates[0].score, Expected(i, 1, i, 0, all[i]), kTolerance);
      EXPECT_TRUE(claimed->Decide(0.7).accepted);
    }
  }
}

TEST_F(ThinGalleryTest, AMissingModalityIsNormalisedExactly) {
  ASSERT_TRUE(
      EnrolNow(*server_, *owner_, folder_, Files(Fuse::kServer, SampleUse::kEnrolment, 1, 0, "ann"))
          .ok());
  auto files = Files(Fuse::kServer, SampleUse::kIdentification, 1, 0);
  files.pop_back();
  const auto reply = server_->Identify(*Gallery::Open(folder_), std::move(files));
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto opened = owner_->Open(*reply, "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->refusal, "");
  EXPECT_GT(opened->candidates[0].score, 0.3);
  EXPECT_EQ(opened->modalities.size(), 1u);
}

// A client that projects its vectors itself could claim the set with the lowest threshold.
TEST_F(ThinGalleryTest, AProjectedProbeIsJudgedAsWhole) {
  ASSERT_TRUE(
      EnrolNow(*server_, *owner_, folder_, Files(Fuse::kServer, SampleUse::kEnrolment, 1, 0, "ann"))
          .ok());
  const Gallery gallery = *Gallery::Open(folder_);
  for (const Fuse fuse : {Fuse::kServer, Fuse::kPartial, Fuse::kClient}) {
    const auto whole = server_->Identify(gallery, Files(fuse, SampleUse::kIdentification, 1, 0));
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ(owner_->Open(*whole, "reply")->modalities, model_->NamesOf(3));
  }
  const std::vector<float> vector = Vector(1, 1, 0);
  const Samples voice = {
      model_->modalities[1].name, vector, {}, SampleEncoding::kCompact, SampleUse::kIdentification};
  Samples partial = voice;
  partial.encoding = SampleEncoding::kPartial;
  const std::vector<uint8_t> fused = *client_->EncryptFused({&voice, 1}),
                             projected = *client_->Encrypt(partial),
                             plain = *client_->Encrypt(voice);
  for (const auto& [file, set] :
       {std::pair(&fused, 3u), std::pair(&projected, 3u), std::pair(&plain, 2u)}) {
    const auto reply = server_->Identify(gallery, {{*file, "voice alone"}});
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(owner_->Open(*reply, "reply")->modalities, model_->NamesOf(set));
  }
  // Sets that the model does not have.
  const Rings rings = *MakeRings(*model_);
  for (const uint32_t set : {1u, 2u, 3u, 4u, 0xffu}) {
    SampleForm form = {SampleEncoding::kFused, SampleUse::kIdentification};
    form.modalities = set;
    const SampleHeader header =
        MakeSampleHeader(rings.matching, *model_, 0, owner_->key_id(), false, form);
    EXPECT_EQ(CheckSamples(rings.matching, *model_, 0, header, "probe").ok(), set <= 3) << set;
  }
}

// Renewal: a gallery of the small ring moves, and enrolment, probes and verification go on with the
// new keys of both rings.
TEST_F(ThinGalleryTest, ARenewedKeyTakesOverBothRings) {
  const std::string old_folder = temporary_ / "old", new_folder = temporary_ / "new";
  const auto made = MakeKeySet(*model_, old_folder);
  ASSERT_TRUE(made.ok()) << made.status();
  KeyOwner old = *KeyOwner::Load(*model_, made->secret_key);
  ASSERT_TRUE(old.SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
  const auto enrol = SampleUse::kEnrolment, identify = SampleUse::kIdentification;
  const Server old_server = Serve(old);
  ASSERT_TRUE(EnrolNow(old_server, old, folder_, OwnFiles(old, enrol, 1, 0, "ann")).ok());
  const auto before = old_server.Identify(*Gallery::Open(folder_), OwnFiles(old, identify, 1, 1));
  ASSERT_TRUE(before.ok()) << before.status();

  const auto renewed = RenewKey(old, new_folder);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  const KeyOwner next = *KeyOwner::Load(*model_, renewed->secret_key);
  const Bytes signed_key = *ReadFile(renewed->rekeying_key);
  const auto key = ReadSigned(signed_key, "rekeying.key");
  ASSERT_TRUE(key.ok()) << key.status();
  Gallery gallery = *Gallery::Open(folder_);
  // What stands in the journal alone could not be added under another key.
  EXPECT_EQ(gallery.Rekey(*model_, key->file, "rekeying.key").status().code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(old_server.Fold(folder_).ok());
  gallery = *gallery.Newest();
  const auto moved = gallery.Rekey(*model_, key->file, "rekeying.key");
  ASSERT_TRUE(moved.ok()) << moved.status();
  const Server server = Serve(next);
  ASSERT_TRUE(EnrolNow(server, next, folder_, OwnFiles(next, enrol, 2, 0, "bob")).ok());
  gallery = *Gallery::Open(folder_);
  for (uint64_t i = 1; i <= 2; ++i) {
    const auto reply = server.Identify(gallery, OwnFiles(next, identify, i, 1));
    ASSERT_TRUE(reply.ok()) << reply.status();
    const auto opened = next.Open(*reply, "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    for (uint64_t j = 1; j <= 2; ++j) {
      EXPECT_NEAR(Score(*opened, j == 1 ? "ann" : "bob"), Expected(i, 1, j, 0, Fuse::kServer),
                  kTolerance);
    }
  }
  const auto verified = server.Verify(gallery, OwnFiles(next, enrol, 1, 1), "ann");
  ASSERT_TRUE(verified.ok()) << verified.status();
  const auto claimed = next.Open(*verified, "reply");
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  EXPECT_NEAR(claimed->candidates[0].score, Expected(1, 1, 1, 0, Fuse::kServer), kTolerance);

  // The old key: at the key owner, at an old server, in samples, and half of the keys.
  using Code = absl::StatusCode;
  EXPECT_EQ(old.Open(*before, "reply").status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(next.Open(*before, "reply").status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(old_server.Identify(gallery, OwnFiles(old, identify, 1, 1)).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(old_server.Enrol(folder_, OwnFiles(old, enrol, 3, 0, "cat")).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(server.Identify(gallery, OwnFiles(old, identify, 1, 1)).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(server.Verify(gallery, OwnFiles(old, enrol, 1, 1), "ann").status().code(),
            Code::kFailedPrecondition);
  EXPECT_FALSE(Server::Create(*model_, *next.EvaluationKeys(), "evaluation", *old.EnrolmentKeys(),
                              "enrolment")
                   .ok());
}

TEST_F(ThinGalleryTest, WhatDoesNotBelongTogetherIsRefused) {
  using Code = absl::StatusCode;
  const auto ann = [&](Fuse fuse, SampleUse use) { return Files(fuse, use, 1, 0, "ann"); };
  const auto enrol = SampleUse::kEnrolment, identify = SampleUse::kIdentification;
  for (const Fuse fuse : {Fuse::kServer, Fuse::kPartial, Fuse::kClient}) {
    EXPECT_EQ(server_->Enrol(folder_, ann(fuse, identify)).status().code(),
              Code::kFailedPrecondition);
  }
  EnrolOptions pairs;
  pairs.all_pairs = true;
  EXPECT_FALSE(server_->Enrol(folder_, ann(Fuse::kPartial, enrol), pairs).ok());
  EXPECT_FALSE(Gallery::Open(folder_).ok());  // nothing was made
  ASSERT_TRUE(EnrolNow(*server_, *owner_, folder_, ann(Fuse::kServer, enrol)).ok());
  const Gallery gallery = *Gallery::Open(folder_);
  for (const Fuse fuse : {Fuse::kServer, Fuse::kPartial, Fuse::kClient}) {
    EXPECT_EQ(server_->Identify(gallery, ann(fuse, enrol)).status().code(),
              Code::kFailedPrecondition);
    EXPECT_EQ(server_->Verify(gallery, ann(fuse, identify), "ann").status().code(),
              Code::kFailedPrecondition);
  }
  // One modality in one way, one in another.
  auto mixed = ann(Fuse::kServer, identify);
  mixed[1] = ann(Fuse::kPartial, identify)[1];
  EXPECT_FALSE(server_->Identify(gallery, std::move(mixed)).ok());
  auto twice = ann(Fuse::kClient, identify);
  twice.push_back(twice[0]);
  EXPECT_FALSE(server_->Identify(gallery, std::move(twice)).ok());
  // A server without the keys for enrolment identifies, and does nothing else.
  const auto searcher = Server::Create(*model_, *evaluation_);
  ASSERT_TRUE(searcher.ok()) << searcher.status();
  EXPECT_TRUE(searcher->Identify(gallery, ann(Fuse::kServer, identify)).ok());
  EXPECT_EQ(searcher->Verify(gallery, ann(Fuse::kServer, enrol), "ann").status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(searcher->Enrol(folder_, ann(Fuse::kServer, enrol)).status().code(),
            Code::kFailedPrecondition);
  // A vector that another model projected does not fit this model.
  Model other = *model_;
  other.projection[0] += 0.01;
  const auto stranger = Client::Create(other, owner_->EncryptionKey());
  ASSERT_TRUE(stranger.ok()) << stranger.status();
  const std::vector<float> vector = Vector(0, 1, 0);
  const Samples partial = {
      model_->modalities[0].name, vector, {}, SampleEncoding::kPartial, identify};
  EXPECT_EQ(server_->Identify(gallery, {{*stranger->Encrypt(partial), "file"}}).status().code(),
            Code::kFailedPrecondition);
}

// Attack: one ciphertext that holds another vector in each group of slots, fused by the client. Its
// norm is right on average; in no slot alone is it.
TEST_F(ThinGalleryTest, ManyProbesInOneAreNotAccepted) {
  ASSERT_TRUE(
      EnrolNow(*server_, *owner_, folder_, Files(Fuse::kServer, SampleUse::kEnrolment, 1, 0, "ann"))
          .ok());
  const Rings rings = *MakeRings(*model_);
  const Instance& ring = rings.matching;
  std::mt19937_64 random(3);
  std::vector<double> slots(ring.params().slots());
  for (size_t start = 0; start < slots.size(); start += model_->gamma) {
    const auto unit = testing::RandomUnit(model_->gamma, random);
    std::copy(unit.begin(), unit.end(), slots.begin() + static_cast<std::ptrdiff_t>(start));
  }
  const auto plain =
      ring.encoder->Encode(std::span<const double>(slots),
                           ProjectedScale(ring, SampleUse::kIdentification), ring.params().limbs());
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto keys = ParseEncryptionKeys(rings, owner_->EncryptionKey(), "key");
  ASSERT_TRUE(keys.ok()) << keys.status();
  Csprng rng;
  const SampleHeader header =
      MakeSampleHeader(ring, *model_, 0, owner_->key_id(), false,
                       {SampleEncoding::kFused, SampleUse::kIdentification});
  SampleWriter writer(*ring.context, header, std::vector<std::string>{""});
  writer.Add(ckks::Encrypt(*ring.context, *plain, keys->matching(), rng));
  const auto reply = server_->Identify(*Gallery::Open(folder_), {{writer.Finish(), "hostile"}});
  ASSERT_TRUE(reply.ok()) << reply.status();
  const auto opened = owner_->Open(*reply, "reply");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->refusal, ::testing::HasSubstr("many vectors in one"));
  EXPECT_FALSE(opened->Decide(-1).accepted);
}

}  // namespace
}  // namespace heft
