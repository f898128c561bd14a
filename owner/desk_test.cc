// SPDX-License-Identifier: Apache-2.0
// The rules that every program that answers requests relies on: whose keys it uses, which clients
// may ask, and that each request is answered once.
#include "heft/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "heft/gallery_admin.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

class DeskTest : public testing::RolesTest {
 protected:
  void SetUp() override {
    evaluation_ = SignedBy(*owner_->Signer(), *roles_.owner.EvaluationKeys());
    enrolment_ = SignedBy(*owner_->Signer(), *roles_.owner.EnrolmentKeys());
    ASSERT_TRUE(trust_.Add(Role::kKeyOwner, "owner", owner_->Signer()->public_key()).ok());
    ASSERT_TRUE(trust_.Add(Role::kClient, "camera", camera_.public_key()).ok());
  }
  static Bytes SignedBy(const SigningKey& key, const Bytes& file) {
    return file.empty() ? file : *key.Sign({.role = Role::kKeyOwner}, file);
  }
  absl::StatusOr<CheckedKeys> Check(const Trust* trust) const {
    return CheckKeys(trust, {evaluation_, "evaluation.keys"}, {enrolment_, "enrolment.keys"});
  }
  TrustedServer Serve() const { return *TrustedServer::Create(model_, trust_, *Check(&trust_)); }
  // As the camera signs them, to be answered within the hour.
  std::vector<SampleFile> Asking(uint64_t person, const std::string& label, SampleUse use) const {
    std::vector<SampleFile> files = Files(person, label, use);
    for (SampleFile& file : files) {
      file.bytes =
          *camera_.Sign({.role = Role::kClient, .expires = UnixTime() + kLife}, file.bytes);
    }
    return files;
  }

  // A file of two samples.
  std::vector<SampleFile> Two() const {
    std::vector<float> values = Vector(0, 1);
    const std::vector<float> more = Vector(0, 2);
    values.insert(values.end(), more.begin(), more.end());
    const Samples samples = {.modality = model_.modalities[0].name,
                             .values = values,
                             .labels = {},
                             .use = SampleUse::kIdentification};
    return {{*client_->Encrypt(samples), "sample"}};
  }

  Bytes evaluation_, enrolment_;
  Trust trust_;
  const SigningKey camera_ = *SigningKey::Generate();
};

TEST_P(DeskTest, KeysAreOneTrustedKeyOwners) {
  const auto good = Check(&trust_);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->key_owner, owner_->Signer()->public_key());
  const SigningKey second = *SigningKey::Generate();
  evaluation_ = SignedBy(second, *roles_.owner.EvaluationKeys());
  EXPECT_EQ(Check(&trust_).status().code(), StatusCode::kFailedPrecondition) << "not listed";
  ASSERT_TRUE(trust_.Add(Role::kKeyOwner, "second", second.public_key()).ok());
  if (enrolment_.empty()) {
    EXPECT_EQ(Check(&trust_)->key_owner, second.public_key());
  } else {
    EXPECT_THAT(Check(&trust_).status().message(),
                HasSubstr("enrolment.keys: signed by another key owner than evaluation.keys"));
  }
  evaluation_ = *roles_.owner.EvaluationKeys();
  EXPECT_THAT(Check(&trust_).status().message(), HasSubstr("evaluation.keys: not signed"));
  EXPECT_EQ(Check(nullptr)->key_owner, SignerKey{}) << "nobody was asked";
}

TEST_P(DeskTest, AModelIsATrainersWhereOneIsListed) {
  const Bytes model = model_.Serialize();
  EXPECT_TRUE(ReadTrustedModel(&trust_, model, "model").ok());
  const SigningKey trainer = *SigningKey::Generate();
  ASSERT_TRUE(trust_.Add(Role::kTrainer, "lab", trainer.public_key()).ok());
  EXPECT_THAT(ReadTrustedModel(&trust_, model, "model").status().message(),
              HasSubstr("model: not signed"));
  EXPECT_TRUE(ReadTrustedModel(nullptr, model, "model").ok()) << "nobody was asked";
  const Bytes by_trainer = *trainer.Sign({.role = Role::kTrainer}, model);
  EXPECT_EQ(ReadTrustedModel(&trust_, by_trainer, "model")->Id(), model_.Id());
}

// From nothing to a reply, each request once.
TEST_P(DeskTest, ARequestIsAnsweredOnce) {
  const TrustedServer server = Serve();
  const Desk desk(server);
  const auto first = Asking(1, "ann", SampleUse::kEnrolment);
  ASSERT_TRUE(desk.Enrol({.gallery = folder_, .files = first}).ok());
  EXPECT_THAT(desk.Enrol({.gallery = folder_, .files = first}).status().message(),
              HasSubstr("this request was taken before"))
      << "recorded, although there was no gallery";
  EXPECT_TRUE(FileExists(folder_ + "/audit.key")) << "the gallery is equipped";

  EnrolRequest second = {.gallery = folder_, .files = Asking(2, "bob", SampleUse::kEnrolment)};
  second.options.idempotency_key = "once";
  EXPECT_EQ(desk.Enrol(second)->pending, 2u);
  EXPECT_EQ(PendingEnrolments(folder_)->back().client, camera_.public_key());
  // Told again to who has the key; to everybody else the request is spent.
  const auto again = desk.Enrol(second);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->repeated);
  second.options.idempotency_key.clear();
  EXPECT_THAT(desk.Enrol(second).status().message(), HasSubstr("this request was taken before"));

  ASSERT_TRUE(Approve(folder_).ok());
  const MatchRequest question = {.gallery = folder_,
                                 .files = Asking(1, "", SampleUse::kIdentification)};
  SignedReply reply;
  const auto keep = [&](SignedReply given) {
    reply = std::move(given);
    return absl::OkStatus();
  };
  const auto answered = desk.Identify(question, keep);
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(answered->templates, 2u);
  EXPECT_EQ(desk.Identify(question, keep).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(reply.generation, Gallery::Open(folder_)->generation());
  const SignedFile opened = *ReadSigned(reply.bytes, "reply");
  EXPECT_EQ(opened.signer, GallerySigner(folder_)->public_key());
  EXPECT_EQ(opened.statement.audience, owner_->Signer()->public_key());
  EXPECT_EQ(opened.statement.subject, camera_.public_key());
}

TEST_P(DeskTest, ARequestNamesItsGalleryAndAnEnrolmentItsEnd) {
  const TrustedServer server = Serve();
  const Desk desk(server);
  ASSERT_TRUE(desk.Create(folder_).ok());
  const auto named = [&](const GalleryId& id) {
    std::vector<SampleFile> files = Files(1, "ann", SampleUse::kEnrolment);
    for (SampleFile& file : files) {
      const Statement statement = {
          .role = Role::kClient, .gallery = id, .expires = UnixTime() + kLife};
      file.bytes = *camera_.Sign(statement, file.bytes);
    }
    return files;
  };
  const GalleryId own = Gallery::Open(folder_)->id(), other = {1};
  EXPECT_THAT(desk.Enrol({.gallery = folder_, .files = named(other)}).status().message(),
              HasSubstr("signed for another gallery"));
  EnrolRequest request = {.gallery = folder_, .files = named(own)};
  request.options.expires = UnixTime();
  EXPECT_THAT(desk.Enrol(request).status().message(), HasSubstr("has passed"));
  request.options.expires += 1000;
  EXPECT_TRUE(desk.Enrol(request).ok());
  ASSERT_TRUE(Approve(folder_).ok());
  const auto drop = [](const SignedReply&) { return absl::OkStatus(); };
  const auto claim = [&](const GalleryId& id) {
    return desk.Verify({.gallery = folder_, .files = named(id), .claimed = "ann"}, drop).status();
  };
  EXPECT_THAT(claim(other).message(), HasSubstr("signed for another gallery"));
  EXPECT_TRUE(claim(own).ok());
}

// What `begin` refuses has not happened, and may happen later.
TEST_P(DeskTest, NothingIsEnrolledBeforeTheCallback) {
  const TrustedServer server = Serve();
  const Desk desk(server);
  ASSERT_TRUE(desk.Create(folder_).ok());
  EnrolRequest request = {.gallery = folder_, .files = Asking(1, "ann", SampleUse::kEnrolment)};
  request.begin = [] { return absl::UnavailableError("not now"); };
  EXPECT_EQ(desk.Enrol(request).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(DescribeGallery(folder_)->pending, 0u);
  request.begin = {};
  EXPECT_EQ(desk.Enrol(request).status().code(), StatusCode::kFailedPrecondition);
  request.recorded = true;
  EXPECT_TRUE(desk.Enrol(request).ok());
}

// A queue that is full leaves the request as it was.
TEST_P(DeskTest, WithoutRoomNothingIsRecorded) {
  const TrustedServer server = Serve();
  const Desk desk(server);
  ASSERT_TRUE(desk.Create(folder_).ok());
  MatchRequest request = {.gallery = folder_, .files = Asking(1, "", SampleUse::kIdentification)};
  request.room = [] { return absl::ResourceExhaustedError("full"); };
  EXPECT_EQ(desk.Accept(request).status().code(), StatusCode::kResourceExhausted);
  request.room = {};
  EXPECT_TRUE(desk.Accept(request).ok());
  EXPECT_EQ(desk.Accept(request).status().code(), StatusCode::kFailedPrecondition);
}

// Where clients are listed.
TEST_P(DeskTest, WhoIsNotListedAsksNothing) {
  const TrustedServer server = Serve();
  ASSERT_TRUE(Desk(server).Create(folder_).ok());
  const MatchRequest plain = {.gallery = folder_,
                              .files = Files(1, "", SampleUse::kIdentification)};
  EXPECT_THAT(Desk(server).Accept(plain).status().message(), HasSubstr("not signed"));
  const TrustedServer open = *TrustedServer::Create(model_, std::nullopt, *Check(nullptr));
  EXPECT_TRUE(Desk(open).Accept(plain).ok()) << "nobody is asked";
  EXPECT_THAT(Desk(open).Activate(folder_, {}, "the answer").status().message(),
              HasSubstr("which key owner to believe"));
}

TEST_P(DeskTest, AQuestionIsLookedAtBeforeItIsTaken) {
  const TrustedServer server = Serve();
  size_t taken = 0;
  const Desk desk(server);
  const auto why = [&](MatchRequest request) {
    request.gallery = folder_ + "/nowhere";
    const auto take = [&](const SignedReply&) {
      ++taken;
      return absl::OkStatus();
    };
    return std::string((request.claimed ? desk.Verify(request, take) : desk.Identify(request, take))
                           .status()
                           .message());
  };
  MatchRequest question;
  question.probe.where = {*ParseCondition("site=berlin")};
  EXPECT_THAT(why(question), HasSubstr("nowhere")) << "sound: the gallery is looked for";
  question.claimed = "ann";
  EXPECT_THAT(why(question), HasSubstr("a verification has none"));
  question.all = true;
  EXPECT_THAT(why(question), HasSubstr("a verification has none"));
  question.claimed.reset();
  question.probe.average = true;
  EXPECT_THAT(why(question), HasSubstr("not both"));
  question = {.gallery = "", .files = Two()};
  EXPECT_THAT(why(question), HasSubstr("holds 2 samples: give the row of the probe"));
  question.row = 2;
  EXPECT_THAT(why(question), HasSubstr("sample 2 asked for, the file has 2"));
  question.row = 1;
  EXPECT_THAT(why(question), HasSubstr("nowhere")) << "sound: the gallery is looked for";
  EXPECT_EQ(taken, 0u);
}
INSTANTIATE_TEST_SUITE_P(Profiles, DeskTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
