// SPDX-License-Identifier: Apache-2.0
// Joint keys through the public classes: a ceremony without a dealer, openings with its shares, and
// attacks on its messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/testing.h"
#include "fusion/owner/joint_keys.h"
#include "fusion/testing.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/key_set.h"
#include "heft/server.h"
#include "owner/join_message.h"
#include "owner/join_state.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace joint_key {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

constexpr double kAccept = 0.9;
constexpr uint32_t kRounds = 5;

Model TestModel() { return testing::RandomModel({40, 24}, 16, 3, "flooded"); }

// Owners of one ceremony, each with a folder.
class Parties {
 public:
  Parties(const Model& model, uint32_t owners) : model_(model), owners_(owners) {}
  std::string Folder(uint32_t i) const { return folder_ / ("party-" + std::to_string(i)); }
  std::string Message(uint32_t i, uint32_t round) const {
    return absl::StrCat(Folder(i), "/round-", round, ".msg");
  }
  std::vector<std::string> Messages(uint32_t round) const {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < owners_; ++i) out.push_back(Message(i, round));
    return out;
  }
  absl::StatusOr<JoinStep> Begin(uint32_t i) const {
    return JoinKeySet(model_, Folder(i), owners_, {});
  }
  absl::StatusOr<JoinStep> Step(uint32_t i, const std::vector<std::string>& messages) const {
    return JoinKeySet(model_, Folder(i), 0, messages);
  }
  // Until all have given their messages of `round`; kRounds + 1: to the end.
  void RunTo(uint32_t round) {
    for (; done_ < round; ++done_) {
      for (uint32_t i = 0; i < owners_; ++i) {
        const auto step = done_ == 0 ? Begin(i) : Step(i, Messages(done_));
        ASSERT_TRUE(step.ok()) << "party " << i << ", round " << done_ + 1 << ": " << step.status();
        EXPECT_EQ(step->round, done_ + 1);
      }
    }
  }
  SigningKey Signer(uint32_t i) const {
    const Rings rings = *MakeRings(model_);
    return *OwnerSigner(JoinState::Load(rings, model_.Id(), Folder(i) + "/joining.key", "")->own);
  }
  // A message of party `i`, changed and signed again with its own key.
  std::string Changed(uint32_t i, uint32_t round,
                      const std::function<void(JoinMessage&, std::vector<uint8_t>&)>& change) {
    const std::vector<uint8_t> bytes = *ReadFile(Message(i, round));
    JoinMessage message = *JoinMessage::Open(bytes, "message");
    std::vector<uint8_t> body(message.body.begin(), message.body.end());
    change(message, body);
    message.body = body;
    return Kept(*message.Sign(Signer(i)));
  }
  std::string Kept(const std::vector<uint8_t>& bytes) {
    const std::string path = folder_ / ("kept-" + std::to_string(kept_++));
    EXPECT_TRUE(WriteFileAtomic(path, bytes).ok());
    return path;
  }

 private:
  const Model& model_;
  const uint32_t owners_;
  const testing::TemporaryFolder folder_;
  uint32_t done_ = 0;
  int kept_ = 0;
};

std::string Why(const absl::Status& status, StatusCode code = StatusCode::kFailedPrecondition) {
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

// Of a ceremony that is complete: its `n` owners open as those of a dealt key do.
void TheyOpen(const Model& model, const Parties& parties, uint32_t n) {
  std::vector<KeyOwner> owners;
  std::vector<uint32_t> party(n + 1);  // of an owner
  const std::string first = parties.Folder(0);
  for (uint32_t i = 0; i < n; ++i) {
    // All have the same files, and nothing is left of the ceremony but its messages.
    for (const char* name : {"encryption.key", "evaluation.keys", "enrolment.keys", "trust.heft"}) {
      EXPECT_EQ(*ReadFile(first + "/" + name), *ReadFile(parties.Folder(i) + "/" + name)) << name;
    }
    for (const auto& file : std::filesystem::directory_iterator(parties.Folder(i))) {
      EXPECT_EQ(file.path().filename().string().rfind("joining", 0), std::string::npos) << file;
    }
    auto owner = KeyOwner::Load(model, parties.Folder(i) + "/share.key");
    ASSERT_TRUE(owner.ok()) << owner.status();
    party[owner->shared()->owner] = i;
    EXPECT_EQ(owner->shared()->threshold, n);
    const auto check = CheckCeremony(*owner, first);
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_TRUE(check->joint);
    EXPECT_EQ(check->digest,
              CheckCeremony(*KeyOwner::Load(model, first + "/share.key"), first)->digest);
    ASSERT_TRUE(owner->SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
  }
  OwnerSet set;
  for (uint32_t number = 1; number <= n; ++number) {
    set.push_back(number);
    owners.push_back(*KeyOwner::Load(model, parties.Folder(party[number]) + "/share.key"));
    ASSERT_TRUE(owners.back().RequireSigned(*Trust::Load(first + "/trust.heft")).ok());
  }
  // Another public key file is refused.
  const testing::TemporaryFolder other;
  for (const char* name : {"encryption.key", "evaluation.keys", "enrolment.keys"}) {
    std::filesystem::copy_file(first + "/" + name, other / name);
  }
  std::vector<uint8_t> damaged = *ReadFile(other / "encryption.key");
  damaged[damaged.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(other / "encryption.key", damaged).ok());
  EXPECT_EQ(CheckCeremony(owners[0], other.path()).status().code(), StatusCode::kDataLoss);

  const auto read = [&](const char* name) { return *ReadFile(first + "/" + name); };
  const auto client = Client::Create(model, read("encryption.key"));
  ASSERT_TRUE(client.ok()) << client.status();
  const auto server = Server::Create(model, read("evaluation.keys"), "evaluation",
                                     read("enrolment.keys"), "enrolment");
  ASSERT_TRUE(server.ok()) << server.status();
  const auto vector = [&](uint64_t person, size_t m) {
    std::mt19937_64 random(person * 2 + m);
    return testing::RandomUnit(model.modalities[m].dimension, random);
  };
  const auto samples = [&](uint64_t person, SampleUse use) {
    std::vector<SampleFile> files;
    for (size_t m = 0; m < 2; ++m) {
      const auto unit = vector(person, m);
      const std::vector<float> values(unit.begin(), unit.end());
      files.push_back(
          {*client->Encrypt(model.modalities[m].name, values, "p" + std::to_string(person), use),
           "sample"});
    }
    return files;
  };
  const std::string folder = other / "gallery";
  for (uint64_t p = 0; p < 3; ++p) {
    ASSERT_TRUE(server->Enrol(folder, samples(p, SampleUse::kEnrolment)).ok());
  }
  const Trust trust = *Trust::Load(first + "/trust.heft");
  const SigningKey signer = *GallerySigner(folder);
  Trust believed = trust;
  ASSERT_TRUE(believed.Add(Role::kServer, "server", signer.public_key()).ok());
  for (const KeyOwner& owner : owners) {
    ASSERT_TRUE(const_cast<KeyOwner&>(owner).RequireSigned(believed).ok());
  }
  // All but the last one give parts; the last one combines.
  const auto parts = [&](const auto& part_of) {
    std::vector<std::vector<uint8_t>> out;
    for (uint32_t i = 0; i + 1 < n; ++i) {
      auto part = part_of(owners[i]);
      EXPECT_TRUE(part.ok()) << part.status();
      if (part.ok()) out.push_back(*std::move(part));
    }
    return out;
  };
  const auto files = [](const std::vector<std::vector<uint8_t>>& bytes) {
    std::vector<ReplyFile> out;
    for (const auto& b : bytes) out.push_back({b, "part"});
    return out;
  };
  const auto pending =
      *SignReply(signer, *Gallery::Open(folder), {}, 0, CheckCeremony(owners[0], first)->dealer,
                 *server->Pending(*Gallery::Open(folder)));
  const auto approving =
      parts([&](const KeyOwner& owner) { return owner.ApprovePart(pending, "pending", set); });
  const auto approved = owners[n - 1].Approve(pending, "pending", {}, files(approving));
  ASSERT_TRUE(approved.ok()) << approved.status();
  ASSERT_EQ(approved->verdicts.size(), 3u);
  for (const auto& verdict : approved->verdicts) EXPECT_TRUE(verdict.approved) << verdict.reason;
  ASSERT_TRUE(server->Activate(folder, approved->signed_admission, "admission", trust).ok());

  const auto identify = [&](uint64_t p) {
    return *SignReply(
        signer, *Gallery::Open(folder), {}, 0, CheckCeremony(owners[0], first)->dealer,
        *server->Identify(*Gallery::Open(folder), samples(p, SampleUse::kIdentification)));
  };
  const DecisionRule rule = {.score = kAccept};
  for (uint64_t p = 0; p < 4; ++p) {  // 3 is a stranger
    const auto bytes = identify(p);
    const ReplyFile reply = {bytes, "reply"};
    const auto deciding = parts([&](const KeyOwner& owner) {
      return owner.OpenPart({{&reply, 1}}, set, rule);
    });
    const std::vector<ReplyFile> given = files(deciding);
    const auto decided = owners[n - 1].Decide({{&reply, 1}, nullptr, given}, rule);
    ASSERT_TRUE(decided.ok()) << decided.status();
    EXPECT_EQ(decided->refusal, "");
    EXPECT_EQ(decided->accepted, p < 3);
    EXPECT_EQ(decided->identity, p < 3 ? "p" + std::to_string(p) : "");
  }
  // Score errors are within the bound of the product. The server has a normalised template; the key
  // owners divide by the probe's length.
  const auto fused = [&](uint64_t p) {
    std::vector<std::vector<double>> sample;
    for (size_t m = 0; m < 2; ++m) {
      const auto v = vector(p, m);
      const std::vector<float> values(v.begin(), v.end());
      sample.emplace_back(values.begin(), values.end());
    }
    return testing::FusePlain(model, sample);
  };
  double largest = 0;
  for (uint64_t p = 0; p < 4; ++p) {
    const auto bytes = identify(p);
    const ReplyFile reply = {bytes, "reply"};
    const auto opening = parts([&](const KeyOwner& owner) {
      return owner.OpenPart({{&reply, 1}}, set, 3u);
    });
    const std::vector<ReplyFile> given = files(opening);
    const auto opened = owners[n - 1].Open({{&reply, 1}, nullptr, given}, {}, 3);
    ASSERT_TRUE(opened.ok()) << opened.status();
    ASSERT_EQ(opened->candidates.size(), 3u);
    const auto own = fused(p);
    for (const Candidate& candidate : opened->candidates) {
      const auto fused_other = fused(std::stoul(candidate.identity.substr(1)));
      const double truth = testing::Dot(own, fused_other) / std::sqrt(testing::Dot(own, own));
      largest = std::max(largest, std::abs(candidate.score - truth));
    }
  }
  ::testing::Test::RecordProperty("largest_error", absl::StrCat(largest));
  EXPECT_LT(largest, 2e-3);
}

TEST(JointKeyTest, ThreeOwnersOpenAsThoseOfADealtKeyDo) {
  const Model model = TestModel();
  Parties parties(model, 3);
  ASSERT_NO_FATAL_FAILURE(parties.RunTo(kRounds + 1));
  TheyOpen(model, parties, 3);
}

// Wrong use, and messages of another round, ceremony, number of owners or model.
TEST(JointKeyRoundsTest, MessagesAreOfOneRoundAndComplete) {
  const Model model = TestModel();
  Parties parties(model, 2);
  // Wrong numbers and models; and not twice in one folder.
  EXPECT_EQ(JoinKeySet(model, parties.Folder(0), 4, {}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(JoinKeySet(model, parties.Folder(0), 1, {}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(
      Why(JoinKeySet(testing::RandomModel({40, 24}, 16, 3), parties.Folder(0), 2, {}).status()),
      HasSubstr("--profile flooded"));
  EXPECT_THAT(
      Why(JoinKeySet(testing::RandomModel({512, 512}, 32, 3, "flooded"), parties.Folder(0), 3, {})
              .status()),
      HasSubstr("noise of 3 owners"));
  EXPECT_FALSE(FileExists(parties.Folder(0)));
  EXPECT_THAT(Why(parties.Step(0, {"none"}).status(), StatusCode::kInvalidArgument),
              HasSubstr("joining.key does not exist"));
  ASSERT_NO_FATAL_FAILURE(parties.RunTo(1));
  EXPECT_EQ(parties.Begin(0).status().code(), StatusCode::kAlreadyExists);
  const auto why = [&](const std::vector<std::string>& messages, StatusCode code) {
    return Why(parties.Step(0, messages).status(), code);
  };
  constexpr StatusCode kInvalid = StatusCode::kInvalidArgument;
  constexpr StatusCode kForeign = StatusCode::kFailedPrecondition;
  EXPECT_THAT(why({parties.Message(0, 1)}, kInvalid), HasSubstr("1 messages for a key of 2"));
  EXPECT_THAT(why({parties.Message(1, 1)}, kInvalid), HasSubstr("round-1.msg is missing"));
  EXPECT_THAT(why({parties.Message(0, 1), parties.Message(0, 1)}, kInvalid),
              HasSubstr("second message of one owner"));
  EXPECT_THAT(why({parties.Message(0, 1), parties.Kept({1, 2, 3})}, kForeign),
              HasSubstr("not a message"));
  EXPECT_EQ(JoinKeySet(model, parties.Folder(0), 3, parties.Messages(1)).status().code(), kInvalid);
  Parties three(model, 3);
  ASSERT_NO_FATAL_FAILURE(three.RunTo(1));
  EXPECT_THAT(why({parties.Message(0, 1), three.Message(0, 1)}, kForeign),
              HasSubstr("a message for a key of 3 owners"));
  const Model another = testing::RandomModel({40, 24}, 16, 3, "flooded", 2);
  Parties elsewhere(another, 2);
  ASSERT_NO_FATAL_FAILURE(elsewhere.RunTo(1));
  EXPECT_THAT(why({parties.Message(0, 1), elsewhere.Message(0, 1)}, kForeign),
              HasSubstr("for another model"));
  EXPECT_EQ(JoinKeySet(another, parties.Folder(0), 0, parties.Messages(1)).status().code(),
            kForeign);
  std::vector<uint8_t> altered = *ReadFile(parties.Message(1, 1));
  altered[altered.size() - 40] ^= 1;
  EXPECT_EQ(parties.Step(0, {parties.Message(0, 1), parties.Kept(altered)}).status().code(),
            StatusCode::kDataLoss);
  // None of this has changed the state.
  ASSERT_NO_FATAL_FAILURE(parties.RunTo(2));
  EXPECT_THAT(why(parties.Messages(1), kInvalid),
              HasSubstr("all owners' messages of round 2 (commit) are needed"));
  EXPECT_THAT(why({parties.Message(0, 2)}, kInvalid), HasSubstr("is missing"));
  EXPECT_THAT(why({parties.Message(1, 2)}, kInvalid), HasSubstr("is missing"));
  EXPECT_THAT(why({parties.Message(1, 2), parties.Message(1, 2), parties.Message(0, 2)}, kInvalid),
              HasSubstr("a second message"));
  // Of another ceremony, by an owner that is unknown here.
  const std::vector<uint8_t> known = *ReadFile(parties.Message(1, 2));
  const SigningKey stranger = *SigningKey::Generate();
  const std::string foreign = parties.Kept(*JoinMessage::Open(known, "message")->Sign(stranger));
  EXPECT_THAT(why({parties.Message(0, 2), foreign}, kForeign), HasSubstr("of another ceremony"));
  // By an owner of this one, for another.
  const std::string elsewhere_too = parties.Changed(
      1, 2, [](JoinMessage& message, std::vector<uint8_t>&) { message.transcript[0] ^= 1; });
  EXPECT_THAT(why({parties.Message(0, 2), elsewhere_too}, kForeign),
              HasSubstr("shown other messages of the rounds before"));
  // A passphrase is needed where the state is sealed with one.
  const testing::TemporaryFolder sealed;
  const auto secret = [](const char* text) {
    return [text]() -> absl::StatusOr<std::string> { return std::string(text); };
  };
  ASSERT_TRUE(JoinKeySet(model, sealed / "x", 2, {}, secret("right")).ok());
  const std::vector<std::string> hellos = {sealed / "x" + "/round-1.msg", parties.Message(1, 1)};
  EXPECT_EQ(JoinKeySet(model, sealed / "x", 0, hellos, secret("wrong")).status().code(), kInvalid);
  EXPECT_EQ(JoinKeySet(model, sealed / "x", 0, hellos).status().code(), kForeign);
}

// What an active owner can try in each round of one ceremony. Party 1 attacks party 0, whose state
// is put back after an attack that it could not notice yet. The ceremony then goes on, and its two
// owners open.
TEST(JointKeyAttacksTest, WhatIsChangedAfterACommitmentIsRefused) {
  const Model model = TestModel();
  const Rings rings = *MakeRings(model);
  Parties parties(model, 2);
  ASSERT_NO_FATAL_FAILURE(parties.RunTo(2));
  const std::string state = parties.Folder(0) + "/joining.key";
  const std::vector<uint8_t> before = *ReadFile(state);
  const auto restore = [&] { ASSERT_TRUE(WriteFileAtomic(state, before, 0600).ok()); };
  const auto body_of = [&](uint32_t party, uint32_t round) {
    const std::vector<uint8_t> bytes = *ReadFile(parties.Message(party, round));
    const JoinMessage message = *JoinMessage::Open(bytes, "message");
    return std::vector<uint8_t>(message.body.begin(), message.body.end());
  };

  // A commitment that is another's, to show the other's parts as one's own: it names its owner.
  const std::vector<uint8_t> commitment = body_of(0, 2);
  const std::string same =
      parties.Changed(1, 2, [&](JoinMessage&, std::vector<uint8_t>& body) { body = commitment; });
  ASSERT_TRUE(parties.Step(0, {parties.Message(0, 2), same}).ok());
  {
    const std::vector<uint8_t> shown = *ReadFile(parties.Message(0, 3));
    const std::string replay =
        parties.Kept(*JoinMessage::Open(shown, "message")->Sign(parties.Signer(1)));
    EXPECT_THAT(Why(parties.Step(0, {parties.Message(0, 3), replay}).status()),
                HasSubstr("not the parts that owner"));
  }
  ASSERT_NO_FATAL_FAILURE(restore());

  // Another commitment for party 0 than for the others: the next message tells.
  const std::string other =
      parties.Changed(1, 2, [](JoinMessage&, std::vector<uint8_t>& body) { body[0] ^= 1; });
  ASSERT_TRUE(parties.Step(0, {parties.Message(0, 2), other}).ok());
  ASSERT_TRUE(parties.Step(1, parties.Messages(2)).ok());
  EXPECT_THAT(Why(parties.Step(0, parties.Messages(3)).status()),
              HasSubstr("shown other messages of the rounds before"));
  ASSERT_NO_FATAL_FAILURE(restore());
  ASSERT_TRUE(parties.Step(0, parties.Messages(2)).ok());

  // A public key of its own: the difference to party 0's part, which it has seen.
  const std::vector<uint8_t> victims = body_of(0, 3);
  const std::string rogue = parties.Changed(1, 3, [&](JoinMessage&, std::vector<uint8_t>& body) {
    const Hash reference =
        JoinState::Load(rings, model.Id(), parties.Folder(1) + "/joining.key", "")->reference;
    KeyParts own = *ParseKeyParts(rings, reference, body, "parts");
    const KeyParts victim = *ParseKeyParts(rings, reference, victims, "parts");
    ring::RnsPoly& b = own.encryption.small->b;
    for (size_t l = 0; l < b.limbs(); ++l) {
      ring::ActiveKernels().subtract(b.limb(l).data(), b.limb(l).data(),
                                     victim.encryption.small->b.limb(l).data(), b.n(),
                                     rings.matching.context->modulus(l));
    }
    body = SerializeKeyParts(rings, own);
  });
  EXPECT_THAT(Why(parties.Step(0, {parties.Message(0, 3), rogue}).status()),
              HasSubstr("not the parts that owner"));
  for (uint32_t party = 0; party < 2; ++party) {
    ASSERT_TRUE(parties.Step(party, parties.Messages(3)).ok());
  }

  // Parts of relinearisation for other common seeds.
  const std::string seeds =
      parties.Changed(1, 4, [](JoinMessage&, std::vector<uint8_t>& body) { body[5] ^= 1; });
  EXPECT_EQ(parties.Step(0, {parties.Message(0, 4), seeds}).status().code(), StatusCode::kDataLoss);
  for (uint32_t party = 0; party < 2; ++party) {
    ASSERT_TRUE(parties.Step(party, parties.Messages(4)).ok());
  }

  // Another record, and a key file that is changed before it is signed.
  const std::string record =
      parties.Changed(1, 5, [](JoinMessage&, std::vector<uint8_t>& body) { body[0] ^= 1; });
  EXPECT_THAT(Why(parties.Step(0, {parties.Message(0, 5), record}).status()),
              HasSubstr("signed another record"));
  const std::string waiting = parties.Folder(0) + "/joining.encryption.key";
  const std::vector<uint8_t> good = *ReadFile(waiting);
  std::vector<uint8_t> bad = good;
  bad[bad.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(waiting, bad).ok());
  EXPECT_EQ(parties.Step(0, parties.Messages(5)).status().code(), StatusCode::kDataLoss);
  ASSERT_TRUE(WriteFileAtomic(waiting, good).ok());
  EXPECT_FALSE(FileExists(parties.Folder(0) + "/share.key"));
  ASSERT_TRUE(parties.Step(0, parties.Messages(5)).ok());

  // A record without all approvals, signed by an owner, is none.
  const KeyOwner owner = *KeyOwner::Load(model, parties.Folder(0) + "/share.key");
  Ceremony ceremony = Inside::Of(owner).ceremony().ceremony;
  const SigningKey signer = *owner.Signer();
  const auto read = [&] {
    const auto bytes = *signer.Sign({.role = Role::kKeyOwner}, ceremony.Serialize());
    return ReadCeremony(bytes, "record").status();
  };
  EXPECT_TRUE(read().ok());
  std::swap(ceremony.approvals[0], ceremony.approvals[1]);
  EXPECT_THAT(Why(read()), HasSubstr("not signed by all owners"));
  std::swap(ceremony.approvals[0], ceremony.approvals[1]);
  ceremony.encryption_key[0] ^= 1;
  EXPECT_THAT(Why(read()), HasSubstr("not signed by all owners"));
  ceremony.encryption_key[0] ^= 1;
  ceremony.approvals.pop_back();
  EXPECT_THAT(Why(read()), HasSubstr("not signed by all owners"));

  ASSERT_TRUE(parties.Step(1, parties.Messages(5)).ok());
  TheyOpen(model, parties, 2);
}

}  // namespace
}  // namespace joint_key
}  // namespace heft
