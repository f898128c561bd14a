// SPDX-License-Identifier: Apache-2.0
// Many fused dimensions through the public classes: all that happens to a template, with scores as
// in the clear. The cheap tests of other files run with 16 dimensions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <ostream>
#include <string>

#include "fusion/errors.h"
#include "fusion/rings.h"
#include "gallery/change.h"
#include "gallery/removal.h"
#include "heft/audit.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using testing::Dot;
using Vectors = experiment::Vectors;

// kDeviations: of a predicted root mean square. A score's error is Laplace's over keys and noise:
// twenty are exceeded with a probability of exp(-28).
constexpr double kDeviations = 20;

struct DimensionsCase {
  const char* name;
  Model (*model)();
};
void PrintTo(const DimensionsCase& c, std::ostream* out) { *out << c.name; }

// One modality of more dimensions than are fused, and both of fewer; no row is zero.
Model Random512() { return experiment::OrthonormalModel({520, 24}, 512, 3); }
Model Random1024() { return experiment::OrthonormalModel({96, 40}, 1024, 3); }
// The concatenation: rows beyond 320, or 640, are zero.
Model Padded512() { return experiment::ConcatenationModel({192, 128}, {0.8, 0.6}); }
Model Padded1024() { return experiment::ConcatenationModel({512, 128}, {0.8, 0.6}); }

class DimensionsTest : public ::testing::TestWithParam<DimensionsCase> {
 protected:
  static constexpr auto kEnrol = SampleUse::kEnrolment, kIdentify = SampleUse::kIdentification;

  DimensionsTest()
      : model_(GetParam().model()),
        owner_(*KeyOwner::Generate(model_)),
        client_(*Client::Create(model_, owner_.EncryptionKey())),
        server_(*Server::Create(model_, *owner_.EvaluationKeys(), "keys", *owner_.EnrolmentKeys(),
                                "keys")),
        rings_(*MakeRings(model_)) {}
  void SetUp() override {
    ASSERT_TRUE(owner_.SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    ASSERT_TRUE(trust_.Add(Role::kKeyOwner, "owner", owner_.Signer()->public_key()).ok());
    ASSERT_TRUE(trust_.Add(Role::kServer, "server", signer_.public_key()).ok());
  }

  // Person `person`'s vectors; captures are alike but for noise.
  Vectors Capture(uint64_t person, uint64_t capture) const {
    std::mt19937_64 one(person), other(1000 * person + capture);
    Vectors out;
    for (const ModalitySpec& m : model_.modalities) {
      std::vector<double> v = testing::RandomUnit(m.dimension, one);
      const std::vector<double> noise = testing::RandomUnit(m.dimension, other);
      // As floats, as they are encrypted.
      for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(v[i] + 0.5 * noise[i]);
      const double length = std::sqrt(Dot(v, v));
      for (double& x : v) x /= length;
      out.push_back(std::move(v));
    }
    return out;
  }
  // Of this capture; `modalities`: how many of them.
  std::vector<SampleFile> Files(uint64_t person, uint64_t capture, SampleUse use,
                                const std::string& label = "", size_t modalities = 2) const {
    std::vector<SampleFile> files;
    const Vectors vectors = Capture(person, capture);
    for (size_t m = 0; m < modalities; ++m) {
      const std::vector<float> v(vectors[m].begin(), vectors[m].end());
      files.push_back({*client_.Encrypt(model_.modalities[m].name, v, label, use), "sample"});
    }
    return files;
  }
  static std::string Name(uint64_t person) { return "p" + std::to_string(person); }
  void Enrol(uint64_t person) {
    const auto done =
        testing::EnrolNow(server_, owner_, folder_, Files(person, 0, kEnrol, Name(person)));
    ASSERT_TRUE(done.ok()) << done.status();
  }
  // The cosine of a probe with a template, as the server's polynomial leaves that.
  double Expected(uint64_t probe, uint64_t person, size_t modalities = 2) const {
    Vectors vectors = Capture(probe, 1);
    for (size_t m = modalities; m < 2; ++m) vectors[m].clear();
    const auto z = testing::FusePlain(model_, vectors);
    return Dot(z, testing::FusePlain(model_, Capture(person, 0))) / std::sqrt(Dot(z, z));
  }
  double Tolerance(bool verification) const {
    const Instance& ring = rings_.matching;
    return kDeviations * ScoreError(ring.params(), ring.plan, verification) + kScoreStep / 2;
  }
  void ExpectScores(const absl::StatusOr<std::vector<uint8_t>>& reply, uint64_t probe,
                    const std::vector<uint64_t>& people, bool verification = false,
                    size_t modalities = 2) const {
    ASSERT_TRUE(reply.ok()) << reply.status();
    const auto opened = owner_.Open(*reply, "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->refusal, "");
    EXPECT_EQ(opened->candidates.size(), people.size());
    for (const uint64_t person : people) {
      const auto is = [&](const Candidate& c) { return c.identity == Name(person); };
      const auto found = std::ranges::find_if(opened->candidates, is);
      ASSERT_NE(found, opened->candidates.end()) << Name(person);
      // A shorter probe's error counts for more.
      EXPECT_NEAR(found->score, Expected(probe, person, modalities),
                  Tolerance(verification) * (modalities < 2 ? 2 : 1));
    }
  }
  void Identify(uint64_t probe, const std::vector<uint64_t>& people, size_t modalities = 2) const {
    ExpectScores(
        server_.Identify(*Gallery::Open(folder_), Files(probe, 1, kIdentify, "", modalities)),
        probe, people, false, modalities);
  }
  void Verify(uint64_t person) const {
    ExpectScores(server_.Verify(*Gallery::Open(folder_), Files(person, 1, kEnrol), Name(person)),
                 person, {person}, true);
  }
  void Audit() const {
    ASSERT_TRUE(MakeAuditKey(folder_).ok());
    ASSERT_TRUE(
        testing::ActivateAll(server_, owner_, folder_).ok());  // signs what folding has made
    const Gallery gallery = *Gallery::Open(folder_);
    const auto files = Files(1, 1, kIdentify);
    const auto reply = server_.Identify(gallery, files);
    ASSERT_TRUE(reply.ok()) << reply.status();
    const auto signed_reply =
        SignReply(signer_, gallery, *ReadRequest(files, nullptr, {}), 0, {}, *reply);
    ASSERT_TRUE(signed_reply.ok()) << signed_reply.status();
    const auto seed = RevealSeed(folder_, signer_.public_key(), *signed_reply, "reply");
    ASSERT_TRUE(seed.ok()) << seed.status();
    const auto finding = AuditReply(server_, gallery, trust_, {*signed_reply, *seed, {files}});
    ASSERT_TRUE(finding.ok()) << finding.status();
    EXPECT_TRUE(finding->right) << finding->reason;
    const auto state =
        AuditGallery(server_, gallery, *ReadFile(folder_ + "/state.heft"), trust_, "state");
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_TRUE(state->right) << state->reason;
  }
  void Remove(uint64_t person, size_t erased) {
    const auto removed = heft::Remove(server_, folder_, {Name(person)});
    ASSERT_TRUE(removed.ok()) << removed.status();
    EXPECT_EQ(removed->erased, erased);
    EXPECT_EQ(removed->leaving, 1 - erased);
  }
  // What stands in blocks alone leaves by an exchange with the key owner.
  void RemoveByExchange(uint64_t person) {
    {
      GalleryChange change = *GalleryChange::Begin(*Gallery::Impl::Open(folder_), /*start=*/false);
      change.head().retention = {0, 0};
      ASSERT_TRUE(change.Commit().ok());
    }
    Remove(person, 0);
    const auto request = AskRenewal(server_, folder_);
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_LT(request->size(), size_t{256} << 20);
    const auto answer = owner_.Renew(*request, "request");
    ASSERT_TRUE(answer.ok()) << answer.status();
    const auto renewed =
        Renew(server_, folder_, answer->signed_renewal, "answer", owner_.Signer()->public_key());
    ASSERT_TRUE(renewed.ok()) << renewed.status();
    EXPECT_EQ(renewed->erased, 1u);
    EXPECT_EQ(renewed->receipts.size(), 1u);
  }

  const Model model_;
  KeyOwner owner_;
  const Client client_;
  const Server server_;
  const Rings rings_;
  const SigningKey signer_ = *SigningKey::Generate();
  Trust trust_;
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "gallery";
};

TEST_P(DimensionsTest, ATemplatesWholeLife) {
  for (const uint64_t person : {1, 2, 3}) Enrol(person);
  Identify(1, {1, 2, 3});
  Identify(2, {1, 2, 3}, /*modalities=*/1);
  Verify(2);
  Audit();
  Remove(3, /*erased=*/1);
  Identify(3, {1, 2});
  RemoveByExchange(2);
  Identify(1, {1});
  Verify(1);
}

INSTANTIATE_TEST_SUITE_P(Models, DimensionsTest,
                         ::testing::Values(DimensionsCase{"random512", Random512},
                                           DimensionsCase{"random1024", Random1024},
                                           DimensionsCase{"padded512", Padded512},
                                           DimensionsCase{"padded1024", Padded1024}),
                         [](const auto& made) { return std::string(made.param.name); });

TEST(DimensionsLimitsTest, BlocksOfAnExchangeTakeAQuarterOfAGigabyte) {
  const auto most = [](uint32_t gamma) {
    return MostRenewedAtOnce(
        MakeRings(testing::RandomModel({40, 24}, gamma, 3, "standard"))->matching);
  };
  EXPECT_EQ(most(32), 64u);
  EXPECT_EQ(most(128), 25u);
  EXPECT_EQ(most(1024), 3u);
}

TEST(DimensionsLimitsTest, ProfilesWithoutRoomSayWhatToDo) {
  const auto made = [](uint32_t gamma, const char* profile) {
    return MakeRings(testing::RandomModel({40, 24}, gamma, 3, profile)).status();
  };
  EXPECT_TRUE(made(1024, "standard").ok());
  const absl::Status refused = made(128, "flooded");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("use fewer (--gamma)"));
}

}  // namespace
}  // namespace heft
