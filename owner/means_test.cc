// SPDX-License-Identifier: Apache-2.0
// Several samples of one person as one template or probe, through the public classes: what the
// server averages under encryption, the client's own averages, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "base/envelope.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/testing.h"
#include "fusion/mean.h"
#include "fusion/testing.h"
#include "gallery/gallery_impl.h"
#include "heft/audit.h"
#include "heft/client.h"
#include "owner/activate_all.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using Rows = std::vector<std::pair<uint64_t, uint64_t>>;  // (person, capture)
using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

constexpr double kMeansTolerance = 2e-3 + kScoreStep / 2;

class MeansTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Of one profile, for all tests: keys take most of the time.
  struct World {
    Model model;
    std::unique_ptr<KeyOwner> owner;
    std::unique_ptr<Client> client;
    std::unique_ptr<Server> server;
  };
  static World MakeWorld(const char* profile) {
    World out;
    out.model = testing::RandomModel({40, 24}, 16, 3, profile);
    out.model.approximation = *FitMinimax(3, {0.45, 2.2});  // as learned models have it
    // Of unit vectors that share 1 / 1.09 of their square.
    out.model.sample_agreement = 1 / (1 + kNoise * kNoise);
    out.owner = std::make_unique<KeyOwner>(*KeyOwner::Generate(out.model));
    EXPECT_TRUE(out.owner->SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    out.client = std::make_unique<Client>(*Client::Create(out.model, out.owner->EncryptionKey()));
    out.server = std::make_unique<Server>(*Server::Create(
        out.model, *out.owner->EvaluationKeys(), "keys", *out.owner->EnrolmentKeys(), "keys"));
    return out;
  }
  void SetUp() override {
    auto& world = worlds_[GetParam()];
    if (world == nullptr) world = std::make_unique<World>(MakeWorld(GetParam()));
    model_ = world->model;
    owner_ = world->owner.get();
    client_ = world->client.get();
    server_ = world->server.get();
    average_.average = true;
  }
  static void TearDownTestSuite() { worlds_.clear(); }

  std::vector<double> Unit(size_t modality, uint64_t person, uint64_t capture) const {
    std::mt19937_64 of(person * 2 + modality), noise(person * 1000 + capture * 2 + modality + 7);
    auto v = testing::RandomUnit(model_.modalities[modality].dimension, of);
    const auto other = testing::RandomUnit(model_.modalities[modality].dimension, noise);
    for (size_t d = 0; d < v.size(); ++d) v[d] += kNoise * other[d];
    const double norm = std::sqrt(testing::Dot(v, v));
    for (double& x : v) x /= norm;
    return v;
  }
  // The mean of these captures as it should come out, normalised by the polynomial or exactly.
  std::vector<double> Template(const Rows& rows, bool exact = false) const {
    experiment::Vectors mean(2);
    for (size_t m = 0; m < 2; ++m) {
      mean[m].assign(model_.modalities[m].dimension, 0.0);
      for (const auto& [person, capture] : rows) {
        const auto v = Unit(m, person, capture);
        for (size_t d = 0; d < v.size(); ++d) mean[m][d] += MeanFactor(model_, rows.size()) * v[d];
      }
    }
    std::vector<double> z = testing::FusePlain(model_, mean);
    const double norm = exact ? std::sqrt(testing::Dot(z, z)) : 1;
    for (double& x : z) x /= norm;
    return z;
  }
  double Expected(const Rows& probe, const Rows& enrolled) const {
    return testing::Dot(Template(probe, true), Template(enrolled));
  }

  // A file of each modality, labelled "person N" where `labelled`.
  std::vector<SampleFile> Files(const Rows& rows, bool labelled = true,
                                SampleUse use = SampleUse::kEnrolment, bool average = false,
                                SampleEncoding encoding = SampleEncoding::kCompact) const {
    std::vector<std::string> labels;
    for (const auto& row : rows) {
      if (labelled) labels.push_back(Name(row.first));
    }
    std::vector<std::vector<float>> values(2);
    std::vector<Samples> samples;
    for (size_t m = 0; m < 2; ++m) {
      for (const auto& [person, capture] : rows) {
        for (double x : Unit(m, person, capture)) values[m].push_back(static_cast<float>(x));
      }
      samples.push_back({model_.modalities[m].name, values[m], labels, encoding, use, average});
    }
    std::vector<SampleFile> files;
    if (encoding == SampleEncoding::kFused) {
      for (Samples& s : samples) s.encoding = SampleEncoding::kCompact;
      files.push_back({*client_->EncryptFused(samples), "fused"});
      return files;
    }
    for (const Samples& s : samples) {
      auto bytes = client_->Encrypt(s);
      EXPECT_TRUE(bytes.ok()) << bytes.status();
      files.push_back({*std::move(bytes), "samples"});
    }
    return files;
  }
  static std::string Name(uint64_t person) { return "person " + std::to_string(person); }
  // Scores by identity.
  std::map<std::string, double> Open(const absl::StatusOr<Bytes>& reply) const {
    std::map<std::string, double> scores;
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return scores;
    const auto opened = owner_->Open(*reply, "reply");
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (!opened.ok()) return scores;
    EXPECT_EQ(opened->refusal, "");
    for (const Candidate& c : opened->candidates) scores[c.identity] = c.score;
    return scores;
  }
  Gallery OpenGallery() const { return *Gallery::Open(folder_); }
  void Enrol(const Rows& rows) const {
    const auto done = testing::EnrolNow(*server_, *owner_, folder_, Files(rows), average_);
    ASSERT_TRUE(done.ok()) << done.status();
  }
  StatusCode Bring(std::vector<SampleFile> files, const EnrolOptions& options) const {
    return server_->Enrol(folder_, std::move(files), options).status().code();
  }

  static constexpr double kNoise = 0.3;
  inline static std::map<std::string, std::unique_ptr<World>> worlds_;
  Model model_;
  const KeyOwner* owner_ = nullptr;
  const Client* client_ = nullptr;
  const Server* server_ = nullptr;
  EnrolOptions average_;
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "gallery";
};

TEST_P(MeansTest, SamplesOfAnIdentityBecomeOneTemplate) {
  const Rows ann = {{1, 0}, {1, 1}, {1, 2}}, bob = {{2, 0}};
  Enrol({{1, 0}, {2, 0}, {1, 1}, {1, 2}});  // three of one, one of another
  ASSERT_EQ(OpenGallery().size(), 2u);
  const Rows probe = {{1, 9}};
  const auto found =
      Open(server_->Identify(OpenGallery(), Files(probe, false, SampleUse::kIdentification)));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found.at(Name(1)), Expected(probe, ann), kMeansTolerance);
  EXPECT_NEAR(found.at(Name(2)), Expected(probe, bob), kMeansTolerance);
  const auto verified = Open(server_->Verify(OpenGallery(), Files(probe, false), Name(1)));
  EXPECT_NEAR(verified.at(Name(1)), Expected(probe, ann), kMeansTolerance);
}

TEST_P(MeansTest, SamplesOfAProbeAreOneProbe) {
  Enrol({{1, 0}, {1, 1}, {2, 0}, {2, 1}});
  const Rows probe = {{1, 6}, {1, 7}, {1, 8}, {1, 9}};
  ProbeOptions options;
  options.average = true;
  const auto found = Open(
      server_->Identify(OpenGallery(), Files(probe, true, SampleUse::kIdentification), options));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found.at(Name(1)), Expected(probe, {{1, 0}, {1, 1}}), kMeansTolerance);
  EXPECT_NEAR(found.at(Name(2)), Expected(probe, {{2, 0}, {2, 1}}), kMeansTolerance);
  const auto verified = Open(server_->Verify(OpenGallery(), Files(probe, false), Name(1), options));
  EXPECT_NEAR(verified.at(Name(1)), Expected(probe, {{1, 0}, {1, 1}}), kMeansTolerance);
  // One is itself.
  const Rows one = {{1, 6}};
  const auto alone =
      Open(server_->Identify(OpenGallery(), Files(one, true, SampleUse::kIdentification), options));
  EXPECT_NEAR(alone.at(Name(1)), Expected(one, {{1, 0}, {1, 1}}), kMeansTolerance);
}

TEST_P(MeansTest, TheClientTakesTheSameMean) {
  const Rows ann = {{1, 0}, {1, 1}, {1, 2}};
  auto files = Files(ann, true, SampleUse::kEnrolment, /*average=*/true);
  ASSERT_TRUE(testing::EnrolNow(*server_, *owner_, folder_, files).ok());
  Rows many = {{2, 0}, {2, 1}, {3, 0}};
  files = Files(many, true, SampleUse::kEnrolment, true, SampleEncoding::kBulk);
  ASSERT_TRUE(testing::EnrolNow(*server_, *owner_, folder_, files).ok());
  ASSERT_EQ(OpenGallery().size(), 3u);
  const Rows probe = {{1, 8}, {1, 9}};
  const auto found = Open(server_->Identify(
      OpenGallery(), Files(probe, false, SampleUse::kIdentification, /*average=*/true)));
  EXPECT_NEAR(found.at(Name(1)), Expected(probe, ann), kMeansTolerance);
  EXPECT_NEAR(found.at(Name(2)), Expected(probe, {{2, 0}, {2, 1}}), kMeansTolerance);
  EXPECT_NEAR(found.at(Name(3)), Expected(probe, {{3, 0}}), kMeansTolerance);
  // What the client has projected, or fused: of length 1 exactly.
  for (const SampleEncoding encoding : {SampleEncoding::kPartial, SampleEncoding::kFused}) {
    const uint64_t person = encoding == SampleEncoding::kFused ? 5 : 4;
    const Rows rows = {{person, 0}, {person, 1}};
    files = Files(rows, true, SampleUse::kEnrolment, true, encoding);
    ASSERT_TRUE(testing::EnrolNow(*server_, *owner_, folder_, files).ok());
    const Rows asked = {{person, 8}, {person, 9}};
    const auto scores = Open(server_->Identify(
        OpenGallery(), Files(asked, false, SampleUse::kIdentification, true, encoding)));
    const auto z = Template(rows, encoding == SampleEncoding::kFused);
    EXPECT_NEAR(scores.at(Name(person)), testing::Dot(Template(asked, true), z), kMeansTolerance);
  }
}

TEST_P(MeansTest, EachSampleInAMeanIsKnownWhenItComesAgain) {
  const auto files = Files({{1, 0}, {1, 1}, {1, 2}});
  ASSERT_TRUE(server_->Enrol(folder_, files, average_).ok());
  auto again = [&](const std::string& when) {
    EXPECT_EQ(Bring(files, average_), StatusCode::kAlreadyExists) << when;
    EnrolOptions mallory;  // each row by itself, under another name
    mallory.identity = "mallory";
    EXPECT_EQ(Bring(files, mallory), StatusCode::kAlreadyExists) << when;
  };
  again("pending");
  {
    const Gallery gallery = OpenGallery();
    const Gallery::Impl& inside = Inside::Of(gallery);
    ASSERT_EQ(inside.PendingEnrolments()->size(), 1u);
    EXPECT_EQ(EnvelopeVersion(*inside.PendingFile(inside.PendingEnrolments()->at(0).digest)), 2u);
    EXPECT_EQ(inside.places(), 0u) << "no mean is in it yet";
  }
  ASSERT_TRUE(testing::ActivateAll(*server_, *owner_, folder_).ok());
  EXPECT_EQ(Inside::Of(OpenGallery()).At(0)->parts.size(), 3u);
  again("in the gallery");
  // A sample that was enrolled alone joins no mean, and a mean is of different samples.
  const auto single = Files({{3, 0}, {3, 1}});
  ASSERT_TRUE(server_->Enrol(folder_, single).ok());
  EnrolOptions other = average_;
  other.identity = "other";
  EXPECT_EQ(Bring(single, other), StatusCode::kAlreadyExists);
}

TEST_P(MeansTest, AModelThatDoesNotKnowHowLongAMeanIsRefuses) {
  Model model = model_;
  model.sample_agreement.reset();
  const auto owner = *KeyOwner::Generate(model);
  const auto server =
      *Server::Create(model, *owner.EvaluationKeys(), "keys", *owner.EnrolmentKeys(), "keys");
  const auto client = *Client::Create(model, owner.EncryptionKey());
  std::vector<float> rows;
  for (uint64_t capture : {0, 1}) {
    for (double x : Unit(0, 1, capture)) rows.push_back(static_cast<float>(x));
  }
  const std::vector<std::string> labels = {"ann", "ann"};
  Samples samples = {"m0", rows, labels};
  const auto refused = server.Enrol(folder_, {{*client.Encrypt(samples), "file"}}, average_);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("heft train"));
  samples.average = true;
  EXPECT_EQ(client.Encrypt(samples).status().code(), StatusCode::kFailedPrecondition);
}

TEST_P(MeansTest, WhatHasNoMeanIsRefused) {
  Rows many;
  for (uint64_t capture = 0; capture <= kMaxSamples; ++capture) many.push_back({1, capture});
  EXPECT_EQ(Bring(Files(many), average_), StatusCode::kInvalidArgument);
  const auto bulk =
      Files({{1, 0}, {1, 1}}, true, SampleUse::kEnrolment, false, SampleEncoding::kBulk);
  EXPECT_EQ(Bring(bulk, average_), StatusCode::kInvalidArgument);
  EnrolOptions both = average_;
  both.all_pairs = true;
  EXPECT_EQ(Bring(Files({{1, 0}, {1, 1}}), both), StatusCode::kInvalidArgument);
  const auto fused =
      Files({{1, 0}, {1, 1}}, true, SampleUse::kEnrolment, false, SampleEncoding::kFused);
  EXPECT_EQ(Bring(fused, average_), StatusCode::kInvalidArgument);
  Enrol({{1, 0}, {1, 1}});
  ProbeOptions options;
  options.average = true;
  const auto mixed = Files({{1, 5}, {2, 5}}, true, SampleUse::kIdentification);
  EXPECT_EQ(server_->Identify(OpenGallery(), mixed, options).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(server_->Identify(OpenGallery(), Files(many, true, SampleUse::kIdentification), options)
                .status()
                .code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(server_
                ->IdentifyAll(OpenGallery(), mixed, options,
                              [](size_t, std::span<const uint8_t>) { return absl::OkStatus(); })
                .code(),
            StatusCode::kInvalidArgument);
}

// Samples of many people are too short together: no template of them is approved.
TEST_P(MeansTest, ManyPeopleInOneTemplateAreNotApproved) {
  Rows strangers;
  for (uint64_t person = 0; person < kMaxSamples; ++person) strangers.push_back({person, 0});
  const auto z = Template(strangers);
  ASSERT_LT(testing::Dot(z, z), 0.8) << "the polynomial's own way with them";
  EnrolOptions options = average_;
  options.identity = "everybody";
  // Without labels the server cannot notice.
  ASSERT_TRUE(server_->Enrol(folder_, Files(strangers, false), options).ok());
  const auto approved = testing::ActivateAll(*server_, *owner_, folder_);
  ASSERT_TRUE(approved.ok()) << approved.status();
  EXPECT_EQ(approved->activated, 0u);
  EXPECT_EQ(approved->rejected, 1u);
}

TEST_P(MeansTest, AReplyToAMeanIsMadeAgainBitForBit) {
  Enrol({{1, 0}, {1, 1}});
  ASSERT_TRUE(MakeAuditKey(folder_).ok());
  const SigningKey signer = *SigningKey::Generate();
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kServer, "server", signer.public_key()).ok());
  ProbeOptions options;
  options.average = true;
  for (const bool identify : {true, false}) {
    const auto files = Files({{1, 5}, {1, 6}}, true,
                             identify ? SampleUse::kIdentification : SampleUse::kEnrolment);
    const auto scores = identify ? server_->Identify(OpenGallery(), files, options)
                                 : server_->Verify(OpenGallery(), files, Name(1), options);
    ASSERT_TRUE(scores.ok()) << scores.status();
    const Request request = *ReadRequest(files, nullptr, {});
    for (const uint64_t row : {kAllRows, uint64_t{0}}) {
      const Bytes reply = *SignReply(signer, OpenGallery(), request, row, {}, *scores);
      const Bytes seed = *RevealSeed(folder_, signer.public_key(), reply, "reply");
      const auto finding = AuditReply(*server_, OpenGallery(), trust, {reply, seed, {files}});
      ASSERT_TRUE(finding.ok()) << finding.status();
      // The signed answer to one row is not that of the mean.
      EXPECT_EQ(finding->right, row == kAllRows) << finding->reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, MeansTest, ::testing::Values("standard", "flooded"),
                         [](const auto& profile) { return std::string(profile.param); });

}  // namespace
}  // namespace heft
