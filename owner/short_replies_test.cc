// SPDX-License-Identifier: Apache-2.0
// Short replies of profile standard: which are sent, which are opened, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/envelope.h"
#include "base/testing.h"
#include "fusion/rings.h"
#include "fusion/testing.h"
#include "gallery/scores.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "owner/activate_all.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;

class ShortRepliesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(testing::RandomModel({40}, 16, 2, "standard"));
    rings_ = new Rings(*MakeRings(*model_));
    owner_ = new KeyOwner(*KeyOwner::Generate(*model_));
    ASSERT_TRUE(owner_->SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    evaluation_ = new Bytes(*owner_->EvaluationKeys());
    server_ = new Server(*Server::Create(*model_, *evaluation_, "evaluation",
                                         *owner_->EnrolmentKeys(), "enrolment"));
  }
  static void TearDownTestSuite() {
    delete server_;
    delete evaluation_;
    delete owner_;
    delete rings_;
    delete model_;
  }
  void SetUp() override {
    for (const auto& [seed, name] : {std::pair(11, "ann"), std::pair(12, "bob")}) {
      ASSERT_TRUE(
          testing::EnrolNow(*server_, *owner_, folder_, {File(seed, SampleUse::kEnrolment, name)})
              .ok());
    }
  }
  std::vector<double> Vector(uint64_t seed) const {
    std::mt19937_64 random(seed);
    return testing::RandomUnit(model_->modalities[0].dimension, random);
  }
  // Of person 11's probe with a template: the probe is normalised exactly.
  double Expected(uint64_t seed) const {
    const std::vector<double> probe = testing::FusePlain(*model_, {Vector(11)});
    return testing::Dot(probe, testing::FusePlain(*model_, {Vector(seed)})) /
           std::sqrt(testing::Dot(probe, probe));
  }
  SampleFile File(uint64_t seed, SampleUse use, const std::string& label = "") const {
    const std::vector<double> unit = Vector(seed);
    const std::vector<float> values(unit.begin(), unit.end());
    const std::vector<std::string> labels(label.empty() ? 0 : 1, label);
    const Samples samples = {model_->modalities[0].name, values, labels, SampleEncoding::kCompact,
                             use};
    return {*owner_->Encrypt(samples), "sample"};
  }
  Bytes Identify(const ProbeOptions& options = {}) const {
    return *server_->Identify(*Gallery::Open(folder_), {File(11, SampleUse::kIdentification)},
                              options);
  }
  const ckks::Context& context() const { return *rings_->matching.context; }
  EncryptedScores Parse(ByteSpan bytes) const { return *ParseScores(context(), bytes, "scores"); }
  absl::StatusCode Refused(const EncryptedScores& scores) const {
    return owner_->Open(SerializeScores(context(), scores), "scores").status().code();
  }

  inline static Model* model_ = nullptr;
  inline static Rings* rings_ = nullptr;
  inline static KeyOwner* owner_ = nullptr;
  inline static Bytes* evaluation_ = nullptr;
  inline static Server* server_ = nullptr;
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "gallery";
};

TEST_F(ShortRepliesTest, AnIdentificationsAreShort) {
  const Bytes brief = Identify();
  const EncryptedScores scores = Parse(brief);
  ASSERT_TRUE(scores.replies[0].brief.has_value());
  EXPECT_EQ(scores.replies[0].brief->form, rings_->matching.plan.matching.reply_form);
  // The documented size: five bytes per score.
  EXPECT_LE(scores.replies[0].brief->packed.size() + 32, 5 * context().n());
  EXPECT_EQ(SerializeScores(context(), scores), brief);
  ProbeOptions options;
  options.relinearise = false;
  const Bytes degree_two = Identify(options);
  EXPECT_FALSE(Parse(degree_two).replies[0].brief.has_value());
  const Bytes verified =
      *server_->Verify(*Gallery::Open(folder_), {File(11, SampleUse::kEnrolment)}, "ann");
  EXPECT_FALSE(Parse(verified).replies[0].brief.has_value());
  const auto opened = owner_->Open(brief, "scores"), full = owner_->Open(degree_two, "scores"),
             claim = owner_->Open(verified, "scores");
  for (const auto* one : {&opened, &full, &claim}) {
    ASSERT_TRUE(one->ok()) << one->status();
    EXPECT_EQ((*one)->candidates[0].identity, "ann");
    EXPECT_NEAR((*one)->candidates[0].score, Expected(11), 2e-3 + kScoreStep / 2);
  }
  EXPECT_NEAR(opened->candidates[1].score, Expected(12), 2e-3 + kScoreStep / 2);
}

// Form, scale and room are the plan's, whatever the file says.
TEST_F(ShortRepliesTest, OtherFormsAreRefused) {
  const EncryptedScores good = Parse(Identify());
  ASSERT_TRUE(owner_->Open(SerializeScores(context(), good), "scores").ok());
  EncryptedScores bad = good;
  bad.replies[0].brief->scale *= 1e-3;
  EXPECT_EQ(Refused(bad), absl::StatusCode::kDataLoss);
  // One bit less of each, and the room of one more.
  const ckks::Ciphertext full = good.replies[0].Full(context());
  bad = good;
  bad.replies[0].brief = *ckks::Shorten(context(), full, {22, 7, 0});
  EXPECT_EQ(Refused(bad), absl::StatusCode::kDataLoss);
  bad.replies[0].brief = *ckks::Shorten(context(), full, {23, 6, 0});
  EXPECT_EQ(Refused(bad), absl::StatusCode::kDataLoss);
  // Bits without meaning: their coefficients fill the modulus.
  bad = good;
  std::mt19937_64 random(3);
  for (uint8_t& byte : bad.replies[0].brief->packed) byte = static_cast<uint8_t>(random());
  const auto opened = owner_->Open(SerializeScores(context(), bad), "scores");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_THAT(opened->refusal, ::testing::HasSubstr("too large for a short reply"));
  EXPECT_FALSE(opened->Decide(-1).accepted);
  // Nor has a verification a short form.
  bad = good;
  bad.kind = ScoreKind::kVerification;
  bad.claimed = "ann";
  bad.identities = {"ann"};
  bad.templates = 0;
  EXPECT_EQ(Refused(bad), absl::StatusCode::kDataLoss);
  bad = good;
  bad.replies.clear();
  bad.templates = 0;
  bad.identities.clear();
  Bytes none = SerializeScores(context(), bad);
  const ByteSpan payload =
      ByteSpan(none).subspan(kEnvelopeHeaderSize, none.size() - kEnvelopeOverhead);
  EXPECT_TRUE(ParseScores(context(), none, "scores").ok());
  EXPECT_FALSE(ParseScores(context(), SealEnvelope("SCOR", 2, payload), "scores").ok());
}

// The signs are part of the file formats: these never change.
TEST_F(ShortRepliesTest, SignsAreThoseOfTheFormat) {
  const FusionPlan& plan = rings_->matching.plan;
  std::string first;
  for (uint32_t slot = 0; slot < 16; ++slot) {
    for (uint32_t lane : {0u, 1u}) first += SlotSign(plan, slot, lane) < 0 ? '-' : '+';
  }
  EXPECT_EQ(first, "-++-+++-+-+-----+-+----+--++---+");
  double sum = 0;
  for (uint32_t i = 0; i < context().n(); ++i) {
    sum += SlotSign(plan, i % context().slots(), i / context().slots());
  }
  EXPECT_LE(std::abs(sum), 4 * std::sqrt(context().n()));
  EXPECT_EQ(SlotSign(rings_->enrolment.plan, 1, 0), 1) << "none where replies are full";
}

}  // namespace
}  // namespace heft
