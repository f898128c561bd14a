// SPDX-License-Identifier: Apache-2.0
// Golden files of scores and their openings: their values, their signers, and the charges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <filesystem>

#include "base/signing.h"
#include "base/testing.h"
#include "gallery/admission.h"
#include "heft/audit.h"
#include "heft/server.h"
#include "owner/journal_keys.h"
#include "tests/golden_testing.h"

namespace heft::golden {
namespace {

class GoldenScoresTest : public GoldenTest {};

TEST_F(GoldenScoresTest, Journal) {
  const testing::TemporaryFolder copy;
  const std::string golden = testing::SourcePath("tests/golden/");
  std::filesystem::copy(golden + "journal", copy.path());
  std::filesystem::copy(golden + "secret.key", copy / "secret.key");
  std::filesystem::permissions(copy / "secret.key", std::filesystem::perms(0600));
  const std::string state = std::getenv("HEFT_STATE_DIR");
  setenv("HEFT_STATE_DIR", copy.path().c_str(), 1);
  const auto owner = KeyOwner::Load(model_, copy / "secret.key");
  setenv("HEFT_STATE_DIR", state.c_str(), 1);
  ASSERT_TRUE(owner.ok()) << owner.status();
  const BudgetUse use = Ok(owner->Budget());
  // The journal began with kBudget scores; the model allows none, and the smaller limit holds.
  EXPECT_EQ(use.limits.scores, 0u);
  EXPECT_EQ(use.scores, 1u);
  EXPECT_EQ(use.decisions, 1u);
  EXPECT_EQ(use.identities, 2u);
  EXPECT_EQ(use.clients.size(), 2u);
  EXPECT_EQ(use.entries, 6u);
  EXPECT_EQ(use.limits.rejections, 16u);
  EXPECT_EQ(use.clients[0].rejections_left, 16u);
  EXPECT_GE(use.last_entry, kJournalTime);
}

TEST_F(GoldenScoresTest, Scores) {
  const auto ranked = Ok(Owner().Open(Golden("identification.ct"), "identification.ct"));
  EXPECT_EQ(ranked.kind, ScoreKind::kIdentification);
  EXPECT_EQ(ranked.probe, kIdentities[0]);
  EXPECT_THAT(ranked.modalities, ::testing::ElementsAre("face", "voice"));
  EXPECT_EQ(ranked.refusal, "");
  ExpectScores(ranked, {"ann", "bob"});
  const auto claim = Ok(Owner().Open(Golden("verification.ct"), "verification.ct"));
  EXPECT_EQ(claim.kind, ScoreKind::kVerification);
  EXPECT_EQ(claim.claimed, kClaimed);
  ExpectScores(claim, {kClaimed});
  for (const char* name : {"identification.ct", "verification.ct"}) {
    EXPECT_EQ(SerializeScores(context(), Ok(ParseScores(context(), Golden(name), name))),
              Golden(name));
  }
}

// A signed reply is accepted if the trust file lists its signer, and it can be opened.
TEST_F(GoldenScoresTest, Signed) {
  const std::vector<uint8_t> text = Golden("signed/trust.heft");
  const Trust trust =
      Ok(Trust::Parse({reinterpret_cast<const char*>(text.data()), text.size()}, "trust.heft"));
  EXPECT_EQ(AsBytes(trust.Serialize()).size(), text.size());
  const auto key = Ok(SigningKey::Impl::Parse(Golden("signed/server.key"), {}, "server.key"));
  EXPECT_EQ(trust.keys(Role::kServer).at(0).key, key->public_key());
  EXPECT_TRUE(trust.IsRevoked({1}));
  const std::vector<uint8_t> bytes = Golden("signed/identification.ct");
  const SignedFile file =
      Ok(OpenSigned(bytes, trust, {.roles = {Role::kServer}, .kind = "SCOR"}, "reply"));
  EXPECT_TRUE(std::ranges::equal(file.file, Golden("identification.ct")));
  const std::vector<uint8_t> sample = Golden("face.ct");
  const std::vector<std::span<const uint8_t>> asked = {sample};
  EXPECT_EQ(file.statement.request, RequestDigest(FilesDigest(asked), kRow));
  KeyOwner owner = Owner();
  ASSERT_TRUE(owner.RequireSigned(trust).ok());
  EXPECT_THAT(std::string(owner.Open(bytes, "identification.ct").status().message()),
              ::testing::HasSubstr("than it is signed for"))
      << "the signature is taken, but it is that of another gallery";
  // It is of the gallery that the trust file pins.
  ASSERT_EQ(trust.galleries().size(), 1u);
  EXPECT_EQ(trust.galleries()[0].id, file.statement.gallery);
  EXPECT_EQ(trust.galleries()[0].generation, file.statement.generation);
}

// The files that check a server: roots, seeds and commitments have not changed.
TEST_F(GoldenScoresTest, Audited) {
  const testing::TemporaryFolder folder;
  const std::vector<uint8_t> reply = Golden("audited/verification.ct");
  const SignedFile file = Ok(ReadSigned(reply, "reply"));
  const ReplyOrigin origin = Ok(OriginOf(reply, "reply"));
  EXPECT_EQ(Ok(ParseScores(context(), reply, "reply")).origin, origin);
  const std::string key = folder / "audit.key";
  ASSERT_TRUE(WriteFileAtomic(key, Golden("audited/audit.key"), 0600).ok());
  EXPECT_EQ(Ok(RevealSeed(folder.path(), file.signer, reply, "reply")),
            Golden("audited/verification.seed"));
  const KeyOwner owner = Owner();
  const std::vector<uint8_t> state = Golden("audited/state.heft");
  Trust trust;
  ASSERT_TRUE(trust.Add(Role::kKeyOwner, "owner", owner.Signer()->public_key()).ok());
  const SignedFile state_file =
      Ok(OpenSigned(state, trust, {.now = ReadSigned(state, "state")->statement.issued}, "state"));
  const Admission admission = Ok(ParseAdmission(state_file.file, "state"));
  EXPECT_EQ(admission.gallery, origin.gallery);
  EXPECT_EQ(admission.generation, origin.generation);
  EXPECT_EQ(admission.root, origin.root);
  EXPECT_TRUE(owner.Approve(Golden("audited/pending.ct"), "pending").ok());
  const SignedJournalHead head = Ok(OpenHead(
      Golden("audited/journal.head"), owner.Signer()->public_key(), owner.key_id(), "the head"));
  EXPECT_EQ(head.head, (JournalHead{owner.key_id(), 5, {9}, kJournalTime}));
  ExpectScores(Ok(owner.Open(reply, "reply")), {"ann"});
  KeyOwner careful = Owner();
  EXPECT_TRUE(careful.RequireCanaries(Golden("audited/canaries.heft"), "canaries").ok());
}

// A short reply of two rings: its form, signs and both secrets keep their meaning.
TEST(GoldenThinTest, ShortReply) {
  const Model model = Ok(Model::Parse(Golden("standard/model.heft"), "model.heft"));
  const Rings rings = Ok(MakeRings(model));
  auto new_owner = [&] {
    SecretKeys secrets =
        Ok(ParseSecretKeys(rings, Golden("standard/secret.key"), {}, "secret.key"));
    return testing::AllowScores(Ok(KeyOwner::Impl::Own(model, std::move(secrets))));
  };
  const KeyOwner owner = new_owner();
  const std::vector<uint8_t> bytes = Golden("standard/identification.ct");
  const auto opened = Ok(owner.Open(bytes, "identification.ct"));
  auto fused = [&](size_t person) {
    std::vector<std::vector<double>> vectors;
    for (size_t m = 0; m < 2; ++m) {
      vectors.push_back(*NormalisedVector(Vector(m, person), model.modalities[m]));
    }
    return testing::FusePlain(model, vectors);
  };
  std::vector<double> probe = fused(0);
  const double length = std::sqrt(testing::Dot(probe, probe));
  double ann = -2;
  for (size_t p : {0, 2}) ann = std::max(ann, testing::Dot(probe, fused(p)) / length);
  const double bob = testing::Dot(probe, fused(1)) / length;
  ASSERT_EQ(opened.candidates.size(), 2u);
  for (const Candidate& c : opened.candidates) {
    EXPECT_NEAR(c.score, c.identity == "ann" ? ann : bob, kTolerance + kScoreStep / 2);
  }
  const ckks::Context& context = *rings.matching.context;
  EXPECT_EQ(SerializeScores(context, Ok(ParseScores(context, bytes, "identification.ct"))), bytes);
  // The same reply, where one of ann's templates does not answer.
  const std::vector<uint8_t> restricted = Golden("standard/restricted.ct");
  const EncryptedScores read = Ok(ParseScores(context, restricted, "restricted.ct"));
  EXPECT_EQ(read.restriction, GoldenRestriction());
  EXPECT_EQ(read.identities, (std::vector<std::string>{"", "bob", "ann"}));
  EXPECT_EQ(SerializeScores(context, read), restricted);
  const auto others = Ok(new_owner().Open(restricted, "restricted.ct"));
  EXPECT_EQ(others.where, GoldenRestriction().where);
  ASSERT_EQ(others.candidates.size(), 2u);
  for (const Candidate& c : others.candidates) {
    const double other_ann = testing::Dot(probe, fused(2)) / length;
    EXPECT_NEAR(c.score, c.identity == "ann" ? other_ann : bob, kTolerance + kScoreStep / 2);
  }
}

}  // namespace
}  // namespace heft::golden
