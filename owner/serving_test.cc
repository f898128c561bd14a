// SPDX-License-Identifier: Apache-2.0
// The rules that every program that answers requests relies on: whose keys it uses, which clients
// may ask, and that each request is answered once.
#include "heft/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "heft/answering.h"
#include "heft/gallery_admin.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

class ServingTest : public testing::RolesTest {
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

  Bytes evaluation_, enrolment_;
  Trust trust_;
  const SigningKey camera_ = *SigningKey::Generate();
};

TEST_P(ServingTest, KeysAreOneTrustedKeyOwners) {
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

TEST_P(ServingTest, AModelIsATrainersWhereOneIsListed) {
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
TEST_P(ServingTest, ARequestIsAnsweredOnce) {
  const TrustedServer server = Serve();
  EXPECT_EQ(*FindSigner(folder_), nullptr) << "there is no gallery yet";
  const auto first = Asking(1, "ann", SampleUse::kEnrolment);
  const auto starting = IncomingRequest::Read(server, nullptr, first, kAllRows);
  ASSERT_TRUE(starting.ok()) << starting.status();
  ASSERT_TRUE(EnrolOnce(server, folder_, *starting, first, {}).ok());
  const auto key = std::make_shared<const SigningKey>(*EquipGallery(folder_));
  EXPECT_EQ((*FindSigner(folder_))->public_key(), key->public_key());

  const auto files = Asking(2, "bob", SampleUse::kEnrolment);
  const auto asked = IncomingRequest::Read(server, key, files, kAllRows);
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_EQ(asked->request.client, camera_.public_key());
  EnrolOptions options;
  options.idempotency_key = "once";
  EXPECT_EQ(EnrolOnce(server, folder_, *asked, files, options)->waiting, 2u);
  // Told again to who has the key; to everybody else the request is spent.
  const auto again = EnrolOnce(server, folder_, *asked, files, options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->repeated);
  EXPECT_THAT(EnrolOnce(server, folder_, *asked, files, {}).status().message(),
              HasSubstr("this request was taken before"));

  ASSERT_TRUE(Admit(folder_).ok());
  const Gallery gallery = *Gallery::Open(folder_);
  const auto probe = Asking(1, "", SampleUse::kIdentification);
  const auto question = IncomingRequest::Read(server, key, probe, RowOf({}));
  ASSERT_TRUE(question.ok()) << question.status();
  ASSERT_TRUE(question->Take(folder_).ok());
  EXPECT_EQ(question->Take(folder_).code(), StatusCode::kFailedPrecondition);
  const auto reply = question->Sign(gallery, *server.server.Identify(gallery, probe));
  ASSERT_TRUE(reply.ok()) << reply.status();
  const SignedFile opened = *ReadSigned(*reply, "reply");
  EXPECT_EQ(opened.signer, key->public_key());
  EXPECT_EQ(opened.statement.audience, owner_->Signer()->public_key());
  EXPECT_EQ(opened.statement.subject, camera_.public_key());
}

// What `take` refuses has not happened.
TEST_P(ServingTest, NothingIsEnrolledUntilItIsTaken) {
  const TrustedServer server = Serve();
  ASSERT_TRUE(CreateGallery(server.server, folder_).ok());
  const auto key = std::make_shared<const SigningKey>(*EquipGallery(folder_));
  const auto files = Asking(1, "ann", SampleUse::kEnrolment);
  const auto asked = IncomingRequest::Read(server, key, files, kAllRows);
  ASSERT_TRUE(asked.ok()) << asked.status();
  const auto refuse = [] { return absl::UnavailableError("not now"); };
  EXPECT_EQ(EnrolOnce(server, folder_, *asked, files, {}, {}, refuse).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(DescribeGallery(folder_)->waiting, 0u);
  EXPECT_TRUE(EnrolOnce(server, folder_, *asked, files, {}).ok());
}

// Where clients are listed.
TEST_P(ServingTest, WhoIsNotListedAsksNothing) {
  const TrustedServer server = Serve();
  const auto plain = Files(1, "", SampleUse::kIdentification);
  EXPECT_THAT(IncomingRequest::Read(server, nullptr, plain, 0).status().message(),
              HasSubstr("not signed"));
  const TrustedServer open = *TrustedServer::Create(model_, std::nullopt, *Check(nullptr));
  EXPECT_TRUE(IncomingRequest::Read(open, nullptr, plain, 0).ok()) << "nobody is asked";
}

TEST_P(ServingTest, AQuestionIsLookedAtBeforeItIsTaken) {
  const TrustedServer server = Serve();
  size_t taken = 0;
  const auto why = [&](Question question) {
    question.gallery = folder_ + "/nowhere";
    const auto answered = AnswerProbe(server, std::move(question),
                                      [&](size_t, std::span<const uint8_t>) -> absl::Status {
                                        ++taken;
                                        return absl::OkStatus();
                                      });
    return std::string(answered.status().message());
  };
  Question question;
  question.probe.where = {*ParseCondition("site=berlin")};
  EXPECT_THAT(why(question), HasSubstr("nowhere")) << "sound: the gallery is looked for";
  question.claimed = "ann";
  EXPECT_THAT(why(question), HasSubstr("a verification has none"));
  question.all = true;
  EXPECT_THAT(why(question), HasSubstr("a verification has none"));
  question.claimed.reset();
  question.probe.average = true;
  EXPECT_THAT(why(question), HasSubstr("not both"));
  EXPECT_EQ(taken, 0u);
}
INSTANTIATE_TEST_SUITE_P(Profiles, ServingTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
