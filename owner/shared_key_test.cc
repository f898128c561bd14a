// SPDX-License-Identifier: Apache-2.0
// Shared keys through the public classes: a dealer's ceremony, approvals and openings in two steps,
// and attacks on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/signed_file.h"
#include "base/testing.h"
#include "ckks/encoder.h"
#include "fusion/errors.h"
#include "fusion/norm_proof.h"
#include "fusion/testing.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/key_set.h"
#include "heft/server.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

constexpr uint32_t kOwners = 5, kThreshold = 3;
constexpr double kAccept = 0.9;

// JoinShares: an owner of the whole key, from the shares of `owners`: what no ceremony ever makes.
absl::StatusOr<KeyOwner> JoinShares(const Model& model, const std::vector<KeyOwner>& owners) {
  const Rings& rings = Inside::Of(owners[0]).rings();
  OwnerSet set;
  for (const KeyOwner& owner : owners) set.push_back(owner.shared()->owner);
  const auto key = [&](const ckks::Context& context, auto share_of) {
    const ring::Modulus& q = context.modulus(0);
    AlignedVector<uint32_t> sum(context.n(), 0);
    for (const KeyOwner& owner : owners) {
      const ckks::SecretShare& share = share_of(*Inside::Of(owner).held().share());
      ring::ActiveKernels().add_multiply_scalar(
          sum.data(), share.residues(0).data(),
          q.Shoup(ckks::LagrangeFactor(q, share.owner(), set)), context.n(), q);
    }
    context.ntt(0).Inverse(sum);
    std::vector<int8_t> ternary(context.n());
    for (size_t i = 0; i < ternary.size(); ++i) {
      ternary[i] = sum[i] == q.value() - 1 ? -1 : static_cast<int8_t>(sum[i]);
    }
    return ckks::SecretKey::FromCoefficients(context, owners[0].key_id(), ternary);
  };
  HEFT_ASSIGN_OR_RETURN(auto large, key(*rings.enrolment.context, [](const KeyShare& share) {
                          return std::cref(share.enrolment);
                        }));
  HEFT_ASSIGN_OR_RETURN(auto small, key(*rings.matching.context, [](const KeyShare& share) {
                          return std::cref(share.matching);
                        }));
  return KeyOwner::Impl::Own(model, SecretKeys(std::move(large), std::move(small)));
}

// Keys of this profile are large, so all tests share them; each has its own gallery.
class SharedKeyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_ = new Model(testing::RandomModel({40, 24}, 16, 3, "flooded"));
    keys_ = new testing::TemporaryFolder;
    const auto set = MakeSharedKeySet(*model_, keys_->path(), kOwners, kThreshold);
    ASSERT_TRUE(set.ok()) << set.status();
    set_ = new SharedKeySet(*set);
    const auto read = [](const std::string& path) { return *ReadFile(path); };
    client_ = new Client(*Client::Create(*model_, read(set->keys.encryption_key)));
    server_ = new Server(*Server::Create(*model_, read(set->keys.evaluation_keys), "evaluation",
                                         read(set->keys.enrolment_keys), "enrolment"));
    owners_ = new std::vector<KeyOwner>;
    for (const std::string& share : set->shares) {
      owners_->push_back(*KeyOwner::Load(*model_, share));
      ASSERT_TRUE(owners_->back().SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    }
  }
  static void TearDownTestSuite() {
    delete owners_;
    delete server_;
    delete client_;
    delete set_;
    delete keys_;
    delete model_;
  }

  static const KeyOwner& Owner(uint32_t number) { return owners_->at(number - 1); }
  static std::string Name(uint64_t person) { return "p" + std::to_string(person); }
  static std::vector<SampleFile> Files(uint64_t person, SampleUse use) {
    std::vector<SampleFile> files;
    for (size_t m = 0; m < 2; ++m) {
      std::mt19937_64 random(person * 2 + m);
      const auto unit = testing::RandomUnit(model_->modalities[m].dimension, random);
      const std::vector<float> vector(unit.begin(), unit.end());
      files.push_back(
          {*client_->Encrypt(model_->modalities[m].name, vector, Name(person), use), "sample"});
    }
    return files;
  }
  // Approves all that waits, by three owners.
  static absl::StatusOr<Admissions> Approve(const std::string& folder) {
    const auto request = server_->Pending(*Gallery::Open(folder));
    const OwnerSet set = {1, 2, 5};
    HEFT_ASSIGN_OR_RETURN(const auto one, Owner(1).ApprovePart(*request, "pending", set));
    HEFT_ASSIGN_OR_RETURN(const auto five, Owner(5).ApprovePart(*request, "pending", set));
    const std::vector<ReplyFile> parts = {{one, "one"}, {five, "five"}};
    HEFT_ASSIGN_OR_RETURN(const Admissions done, Owner(2).Approve(*request, "pending", {}, parts));
    HEFT_ASSIGN_OR_RETURN(const Trust trust, Trust::Load(set_->keys.trust));
    HEFT_RETURN_IF_ERROR(
        server_->Activate(folder, done.signed_admission, "admission", trust).status());
    return done;
  }
  void EnrolPeople(uint64_t people) const {
    for (uint64_t p = 0; p < people; ++p) {
      ASSERT_TRUE(server_->Enrol(folder_, Files(p, SampleUse::kEnrolment)).ok());
    }
    const auto done = Approve(folder_);
    ASSERT_TRUE(done.ok()) << done.status();
    ASSERT_EQ(done->verdicts.size(), people);
    for (const auto& verdict : done->verdicts) EXPECT_TRUE(verdict.approved) << verdict.reason;
  }
  std::vector<uint8_t> Identify(uint64_t person) const {
    return *server_->Identify(*Gallery::Open(folder_), Files(person, SampleUse::kIdentification));
  }
  std::vector<uint8_t> Verify(uint64_t person, uint64_t claimed) const {
    return *server_->Verify(*Gallery::Open(folder_), Files(person, SampleUse::kEnrolment),
                            Name(claimed));
  }

  // One: a reply as both steps take it.
  struct One {
    explicit One(const std::vector<uint8_t>& reply, std::vector<std::vector<uint8_t>> given = {})
        : file{reply, "reply"}, bytes(std::move(given)) {
      for (const auto& b : bytes) parts.push_back({b, "part"});
    }
    Replies replies() const { return {{&file, 1}, nullptr, parts}; }
    ReplyFile file;
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<ReplyFile> parts;
  };
  static std::vector<uint8_t> Part(uint32_t owner, const OwnerSet& set,
                                   const std::vector<uint8_t>& reply,
                                   const DecisionRule& rule = {.score = kAccept}) {
    const auto part = Owner(owner).OpenPart(One(reply).replies(), set, rule);
    EXPECT_TRUE(part.ok()) << part.status();
    return part.ok() ? *part : std::vector<uint8_t>();
  }
  static absl::StatusOr<Decision> Combine(uint32_t owner, const std::vector<uint8_t>& reply,
                                          std::vector<std::vector<uint8_t>> parts,
                                          const DecisionRule& rule = {.score = kAccept}) {
    return Owner(owner).Decide(One(reply, std::move(parts)).replies(), rule);
  }
  // A decision by all of a set, the last one combines.
  static absl::StatusOr<Decision> DecideBy(const OwnerSet& set, const std::vector<uint8_t>& reply) {
    std::vector<std::vector<uint8_t>> parts;
    for (size_t i = 0; i + 1 < set.size(); ++i) parts.push_back(Part(set[i], set, reply));
    return Combine(set.back(), reply, std::move(parts));
  }
  static std::string Why(const absl::Status& status, StatusCode code) {
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }
  // The file of a part, changed and signed again by `owner`.
  static std::vector<uint8_t> Resigned(const std::vector<uint8_t>& part, uint32_t owner,
                                       const std::function<void(PartFile&)>& change) {
    const Rings& rings = Inside::Of(Owner(owner)).rings();
    PartFile file = *PartFile::Parse(rings, ReadSigned(part, "part")->file, "part");
    change(file);
    Statement statement;
    statement.role = Role::kKeyOwner;
    return *Owner(owner).Signer()->Sign(statement, file.Serialize(rings));
  }

  inline static Model* model_ = nullptr;
  inline static testing::TemporaryFolder* keys_ = nullptr;
  inline static SharedKeySet* set_ = nullptr;
  inline static Client* client_ = nullptr;
  inline static Server* server_ = nullptr;
  inline static std::vector<KeyOwner>* owners_ = nullptr;
  const testing::TemporaryFolder temporary_;
  const std::string folder_ = temporary_ / "gallery";
};

TEST_F(SharedKeyTest, OneOwnersCanariesAreForAllOwners) {
  const auto set = Owner(1).MakeCanaries(1, {});
  ASSERT_TRUE(set.ok()) << set.status();
  for (const uint32_t owner : {1, 2, 5}) {
    auto loaded = KeyOwner::Load(*model_, set_->shares[owner - 1]);
    ASSERT_TRUE(loaded.ok());
    const absl::Status required = loaded->RequireCanaries(set->file, "canaries");
    EXPECT_TRUE(required.ok()) << required;
    if (owner != 2) continue;
    // The gallery has none of them.
    EnrolPeople(3);
    const std::vector<uint8_t> reply = Identify(1);
    const OwnerSet open = {1, 2, 5};
    const One asked(reply, {Part(1, open, reply), Part(5, open, reply)});
    const auto decision = loaded->Decide(asked.replies(), {.score = kAccept});
    ASSERT_TRUE(decision.ok()) << decision.status();
    EXPECT_FALSE(decision->accepted);
    EXPECT_THAT(decision->refusal, HasSubstr("canary"));
  }
  // Anybody can seal for the owners; an owner must have signed.
  const auto inner = Unsigned(set->file, "canaries");
  ASSERT_TRUE(inner.ok());
  const auto stranger = SigningKey::Generate();
  ASSERT_TRUE(stranger.ok());
  auto owner = *KeyOwner::Load(*model_, set_->shares[2]);
  EXPECT_FALSE(
      owner.RequireCanaries(*stranger->Sign({.role = Role::kKeyOwner}, *inner), "forged").ok());
  EXPECT_FALSE(owner.RequireCanaries(*inner, "unsigned").ok());
}

TEST_F(SharedKeyTest, AnyThreeOfFiveDecideAsOneOwnerDoes) {
  EnrolPeople(2);
  std::vector<KeyOwner> three;
  for (const uint32_t owner : {2, 3, 5}) {
    three.push_back(*KeyOwner::Load(*model_, set_->shares[owner - 1]));
  }
  auto whole = JoinShares(*model_, three);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_TRUE(whole->SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
  for (const OwnerSet& set : {OwnerSet{1, 2, 3}, OwnerSet{2, 4, 5}}) {
    for (uint64_t p = 0; p < 3; ++p) {  // 2 is a stranger
      const std::vector<uint8_t> reply = Identify(p);
      const auto shared = DecideBy(set, reply);
      ASSERT_TRUE(shared.ok()) << shared.status();
      const auto alone = whole->Decide(reply, "reply", kAccept);
      ASSERT_TRUE(alone.ok()) << alone.status();
      EXPECT_EQ(shared->accepted, p < 2);
      EXPECT_EQ(shared->accepted, alone->accepted);
      EXPECT_EQ(shared->identity, alone->identity);
      EXPECT_EQ(shared->refusal, "");
    }
    for (uint64_t p = 0; p < 2; ++p) {
      const auto verified = DecideBy(set, Verify(p, 0));
      ASSERT_TRUE(verified.ok()) << verified.status();
      EXPECT_EQ(verified->accepted, p == 0);
    }
  }
  // Scores are within a rounding step of one owner's.
  const std::vector<uint8_t> reply = Identify(1);
  const OwnerSet set = {1, 3, 4};
  std::vector<std::vector<uint8_t>> parts;
  for (const uint32_t owner : {1, 3}) {
    parts.push_back(*Owner(owner).OpenPart(One(reply).replies(), set, 2u));
  }
  const auto shared = Owner(4).Open(One(reply, parts).replies(), {}, 2);
  ASSERT_TRUE(shared.ok()) << shared.status();
  const auto alone = whole->Open(reply, "reply", {}, 2);
  ASSERT_TRUE(alone.ok()) << alone.status();
  ASSERT_EQ(shared->candidates.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(shared->candidates[i].identity, alone->candidates[i].identity);
    EXPECT_NEAR(shared->candidates[i].score, alone->candidates[i].score, 1e-3 + 1e-9);
  }
}

TEST_F(SharedKeyTest, EveryOwnerRecordsBeforeItOpens) {
  EnrolPeople(1);
  const auto openings = [&](uint32_t owner) { return Owner(owner).Budget()->openings; };
  const std::vector<uint8_t> reply = Identify(0);
  const OwnerSet set = {1, 2, 3};
  const uint64_t before[] = {openings(1), openings(2), openings(3), openings(4)};
  const auto one = Part(1, set, reply), two = Part(2, set, reply);
  EXPECT_EQ(openings(1), before[0] + 1);
  EXPECT_EQ(openings(3), before[2]);
  ASSERT_TRUE(Combine(3, reply, {one, two})->accepted);
  EXPECT_EQ(openings(2), before[1] + 1);
  EXPECT_EQ(openings(3), before[2] + 1);
  EXPECT_EQ(openings(4), before[3]);
  // Replays: neither a second part, nor by another set, nor a second decision.
  EXPECT_EQ(
      Owner(1).OpenPart(One(reply).replies(), set, DecisionRule{.score = kAccept}).status().code(),
      StatusCode::kFailedPrecondition);
  EXPECT_EQ(Owner(1)
                .OpenPart(One(reply).replies(), {1, 4, 5}, DecisionRule{.score = kAccept})
                .status()
                .code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(Combine(3, reply, {one, two}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(openings(1), before[0] + 1);
}

// The noise of parts of approvals is for a number of proofs, so each owner's journal counts them.
TEST_F(SharedKeyTest, EveryOwnerCountsTheProofsThatItOpens) {
  const auto proofs = [](uint32_t owner) { return Owner(owner).Budget()->proofs; };
  for (uint64_t p = 0; p < 2; ++p) {
    ASSERT_TRUE(server_->Enrol(folder_, Files(p, SampleUse::kEnrolment)).ok());
  }
  const auto request = *server_->Pending(*Gallery::Open(folder_));
  const AdmissionInquiry inquiry = *Owner(1).ReadInquiry(request, "pending");
  const uint64_t before[] = {proofs(1), proofs(2), proofs(3)};
  const auto give = [&](const ApprovalPolicy& policy) {
    return Owner(1).ApprovePart(request, "pending", {1, 2, 5}, policy);
  };
  ASSERT_TRUE(give({}).ok());
  ASSERT_TRUE(give({}).ok());
  EXPECT_EQ(proofs(1), before[0] + 2 * 2 * kNormProofs) << "the same request again counts again";
  // Nothing is opened of what waits.
  ASSERT_TRUE(give({.hold = {inquiry.enrolments[0].entry}}).ok());
  EXPECT_EQ(proofs(1), before[0] + 5 * kNormProofs);
  EXPECT_EQ(proofs(3), before[2]);
  ASSERT_TRUE(Approve(folder_).ok());
  EXPECT_EQ(proofs(1), before[0] + 7 * kNormProofs);
  EXPECT_EQ(proofs(2), before[1] + 2 * kNormProofs) << "the owner who combines";
}

// A part without some of the ciphertexts is an error of the part. The templates are not unsound.
TEST_F(SharedKeyTest, APartThatLacksCiphertextsRejectsNobody) {
  for (uint64_t p = 0; p < 2; ++p) {
    ASSERT_TRUE(server_->Enrol(folder_, Files(p, SampleUse::kEnrolment)).ok());
  }
  const auto request = *server_->Pending(*Gallery::Open(folder_));
  const AdmissionInquiry inquiry = *Owner(1).ReadInquiry(request, "pending");
  const OwnerSet set = {1, 2, 5};
  const ApprovalPolicy one_alone = {.entries = {inquiry.enrolments[0].entry}};
  const auto some = *Owner(1).ApprovePart(request, "pending", set, one_alone);
  const auto whole = *Owner(5).ApprovePart(request, "pending", set);
  const std::vector<ReplyFile> parts = {{some, "the part"}, {whole, "the other"}};
  const uint64_t before = Owner(2).Budget()->proofs;
  const auto refused = Owner(2).Approve(request, "pending", {}, parts);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("the part: a partial opening that lacks one of the ciphertexts"));
  EXPECT_EQ(Owner(2).Budget()->proofs, before) << "nothing was opened";
  // A source is asked for others.
  int asked = 0;
  const PartSource source = [&](const absl::Status&) -> absl::StatusOr<std::vector<OwnerPart>> {
    const auto first = ++asked == 1 ? some : *Owner(1).ApprovePart(request, "pending", set);
    return std::vector<OwnerPart>{{"one", first}, {"five", whole}};
  };
  const auto done = Owner(2).Approve(request, "pending", {}, source);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(asked, 2);
  for (const auto& verdict : done->verdicts) EXPECT_TRUE(verdict.approved) << verdict.reason;
  // It suffices for the one that it has.
  EXPECT_TRUE(Owner(2).Approve(request, "pending", one_alone, parts).ok());
}

TEST_F(SharedKeyTest, AtTheEndOfTheNoiseNoProofIsOpened) {
  ASSERT_TRUE(server_->Enrol(folder_, Files(0, SampleUse::kEnrolment)).ok());
  const auto request = *server_->Pending(*Gallery::Open(folder_));
  const KeyOwner& spent = Owner(4);  // no other test approves with it
  const uint64_t most = spent.Budget()->most_proofs;
  EXPECT_EQ(most, kFloodedProofs / (kThreshold * 3)) << "three owners may each give two the same";
  ASSERT_TRUE(Inside::Of(spent).journal().ChargeProofs(most - 1, most).ok());
  const OwnerSet set = {1, 2, 4};
  EXPECT_EQ(spent.ApprovePart(request, "pending", set).status().code(),
            StatusCode::kResourceExhausted);
  const auto one = *Owner(1).ApprovePart(request, "pending", set);
  const auto two = *Owner(2).ApprovePart(request, "pending", set);
  const std::vector<ReplyFile> parts = {{one, "one"}, {two, "two"}};
  EXPECT_EQ(spent.Approve(request, "pending", {}, parts).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(spent.Budget()->proofs, most - 1);
  // The others pay for nothing that this owner cannot finish.
  int asked = 0;
  const PartSource source = [&](const absl::Status&) -> absl::StatusOr<std::vector<OwnerPart>> {
    ++asked;
    return absl::UnavailableError("nobody");
  };
  EXPECT_EQ(spent.Approve(request, "pending", {}, source).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(asked, 0);
}

TEST_F(SharedKeyTest, AnOwnerWithoutABudgetAsksNoOther) {
  EnrolPeople(1);
  KeyOwner& spent = owners_->at(2);
  ASSERT_TRUE(spent.SetBudget({.scores = 40, .rejections = 1}).ok());
  const OwnerSet set = {1, 2, 3};
  int asked = 0;
  absl::Status refused;
  for (int i = 0; i < 4 && refused.ok(); ++i) {
    const std::vector<uint8_t> reply = Verify(9, 0);
    const PartSource source = [&](const absl::Status&) -> absl::StatusOr<std::vector<OwnerPart>> {
      ++asked;
      return std::vector<OwnerPart>{{"owner 1", Part(1, set, reply)},
                                    {"owner 2", Part(2, set, reply)}};
    };
    const ReplyFile file = {reply, "reply"};
    const int before = asked;
    refused = spent.Decide({.files = {&file, 1}, .source = &source}, {.score = kAccept}).status();
    EXPECT_EQ(asked, before + (refused.ok() ? 1 : 0));
  }
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused;
  ASSERT_TRUE(spent.SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
}

// A source gets the others' parts; it is asked about nothing that this owner refuses.
TEST_F(SharedKeyTest, ASourceIsAskedWhatThisOwnerCanAnswer) {
  EnrolPeople(1);
  const OwnerSet set = {1, 2, 3};
  const std::vector<uint8_t> reply = Identify(0);
  int asked = 0;
  const PartSource source = [&](const absl::Status&) -> absl::StatusOr<std::vector<OwnerPart>> {
    ++asked;
    return std::vector<OwnerPart>{{"owner 1", Part(1, set, reply)},
                                  {"owner 2", Part(2, set, reply)}};
  };
  const ReplyFile file = {reply, "reply"};
  const auto decide = [&](const KeyOwner& owner, const DecisionRule& rule, const PartSource& by) {
    return owner.Decide({.files = {&file, 1}, .source = &by}, rule);
  };
  // Rules without a table, and of another kind.
  EXPECT_FALSE(decide(Owner(3), {.fpir = 0.01}, source).ok());
  EXPECT_FALSE(decide(Owner(3), {.score = kAccept, .fmr = 0.01}, source).ok());
  EXPECT_FALSE(decide(Owner(3), {.score = kAccept, .likelihood = true}, source).ok());
  EXPECT_FALSE(decide(*KeyOwner::Generate(*model_), {.score = kAccept}, source).ok());
  const ckks::Context& context = *Inside::Of(Owner(3)).instance().context;
  EncryptedScores other = *ParseScores(context, reply, "reply");
  other.model_id[0] ^= 1;
  const std::vector<uint8_t> of_another = SerializeScores(context, other);
  const ReplyFile another = {of_another, "reply"};
  EXPECT_THAT(
      Why(Owner(3).Decide({.files = {&another, 1}, .source = &source}, {.score = kAccept}).status(),
          StatusCode::kFailedPrecondition),
      HasSubstr("of another model"));
  EXPECT_EQ(asked, 0);
  // A source that fails ends the opening, which can be tried again.
  const PartSource failing = [](const absl::Status&) { return absl::UnavailableError("nobody"); };
  EXPECT_EQ(decide(Owner(3), {.score = kAccept}, failing).status().code(),
            StatusCode::kUnavailable);
  const PartSource throwing = [](const absl::Status&) -> absl::StatusOr<std::vector<OwnerPart>> {
    throw std::bad_alloc();
  };
  EXPECT_THROW((void)decide(Owner(3), {.score = kAccept}, throwing), std::bad_alloc);
  const auto decision = decide(Owner(3), {.score = kAccept}, source);
  ASSERT_TRUE(decision.ok()) << decision.status();
  EXPECT_TRUE(decision->accepted);
  EXPECT_EQ(asked, 1);
  // It is opened, so the source is not asked again.
  EXPECT_EQ(decide(Owner(3), {.score = kAccept}, source).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(asked, 1);
}

// Each owner allows 4 rejections, and parts of 128 claims.
TEST_F(SharedKeyTest, AnHonestPersonPassesOften) {
  EnrolPeople(1);
  for (KeyOwner& owner : *owners_)
    ASSERT_TRUE(owner.SetBudget({.scores = 40, .rejections = 4}).ok());
  for (int i = 0; i < 6; ++i) {
    const auto decision = DecideBy({1, 2, 3}, Verify(0, 0));
    ASSERT_TRUE(decision.ok()) << i << ": " << decision.status();
    EXPECT_TRUE(decision->accepted);
  }
  // The owner that combines ends a stranger's guesses.
  int rejected = 0;
  absl::Status refused;
  for (; rejected < 6; ++rejected) {
    const auto decision = DecideBy({1, 2, 3}, Verify(9, 0));
    refused = decision.status();
    if (!decision.ok()) break;
    EXPECT_FALSE(decision->accepted);
  }
  EXPECT_EQ(rejected, 4);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused;
  for (KeyOwner& owner : *owners_) {
    ASSERT_TRUE(owner.SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
  }
}

TEST_F(SharedKeyTest, PartsAreForOneReplyQuestionAndSet) {
  EnrolPeople(1);
  const OwnerSet set = {1, 2, 3};
  const std::vector<uint8_t> reply = Identify(0), other = Identify(0);
  const auto one = Part(1, set, reply), two = Part(2, set, reply);
  const uint64_t charged = Owner(3).Budget()->openings;
  const auto why = [&](const std::vector<uint8_t>& of, std::vector<std::vector<uint8_t>> parts,
                       uint32_t owner = 3, const DecisionRule& rule = {.score = kAccept}) {
    return Why(Combine(owner, of, std::move(parts), rule).status(),
               StatusCode::kFailedPrecondition);
  };
  EXPECT_THAT(why(other, {one, two}), HasSubstr("of another reply"));
  EXPECT_THAT(why(reply, {one, two}, 3, {.score = 0.1}), HasSubstr("another question"));
  EXPECT_THAT(why(reply, {one, two}, 4), HasSubstr("one of them combines, and this is owner 4"));
  EXPECT_THAT(why(reply, {}), HasSubstr("opens with 3 of 5 owners"));
  EXPECT_THAT(why(reply, {one}), HasSubstr("owner 2 is missing"));
  EXPECT_THAT(why(reply, {one, one}), HasSubstr("two partial openings of owner 1"));
  EXPECT_THAT(why(reply, {one, two}, 2), HasSubstr("which is this one"));
  EXPECT_THAT(why(reply, {one, Part(4, {1, 3, 4}, reply)}), HasSubstr("different sets"));
  // Another gallery, with the same person.
  const std::string elsewhere = temporary_ / "elsewhere";
  ASSERT_TRUE(server_->Enrol(elsewhere, Files(0, SampleUse::kEnrolment)).ok());
  ASSERT_TRUE(Approve(elsewhere).ok());
  const auto foreign =
      server_->Identify(*Gallery::Open(elsewhere), Files(0, SampleUse::kIdentification));
  EXPECT_THAT(why(reply, {Part(1, set, *foreign), Part(2, set, *foreign)}),
              HasSubstr("of another gallery"));
  // An altered part, and one in another owner's name.
  std::vector<uint8_t> altered = one;
  altered[altered.size() / 2] ^= 1;
  EXPECT_EQ(Combine(3, reply, {altered, two}).status().code(), StatusCode::kDataLoss);
  const auto posing = Resigned(one, 4, [](PartFile&) {});
  EXPECT_THAT(why(reply, {posing, two}), HasSubstr("signed by another owner than it states"));
  const SigningKey stranger = *SigningKey::Generate();
  const auto unknown = *stranger.Sign({.role = Role::kKeyOwner}, ReadSigned(one, "part")->file);
  EXPECT_THAT(why(reply, {unknown, two}), HasSubstr("unknown key-owner"));
  const auto older = Resigned(one, 1, [](PartFile& file) { file.ceremony[0] ^= 1; });
  EXPECT_THAT(why(reply, {older, two}), HasSubstr("another ceremony"));
  // None of this was charged, and the right parts still open.
  EXPECT_EQ(Owner(3).Budget()->openings, charged);
  EXPECT_TRUE(Combine(3, reply, {one, two})->accepted);
  // Without one of the ciphertexts it is found out before anything is published.
  const std::vector<uint8_t> third = Identify(0);
  const auto whole = Part(1, set, third);
  const auto lacking = Resigned(whole, 1, [](PartFile& file) { file.openings.pop_back(); });
  EXPECT_THAT(why(third, {lacking, Part(2, set, third)}), HasSubstr("lacks one of"));
}

// With a valid signature a lie is not seen in one opening. Where others can open, they find it.
TEST_F(SharedKeyTest, ALieIsFoundByOtherOwners) {
  EnrolPeople(1);
  const std::vector<uint8_t> reply = Identify(7);  // a stranger
  const Instance& ring = Inside::Of(Owner(1)).instance();
  const EncryptedScores scores = *ParseScores(*ring.context, reply, "reply");
  const OwnerSet set = {1, 2, 3};
  const auto honest = Part(1, set, reply);
  const auto lie = Resigned(honest, 1, [&](PartFile& file) {
    // Adds 1.5 to every score: as an encoded plaintext, to the part of the scores.
    const std::vector<double> shift(ring.context->slots(), 1.5);
    const ckks::Ciphertext c = scores.replies[0].Full(*ring.context);
    const ckks::Plaintext plain = *ring.encoder->Encode(shift, c.scale, c.limbs());
    ring::RnsPoly& part = file.openings.at(1).part;  // behind the norm's
    for (size_t l = 0; l < part.limbs(); ++l) {
      uint32_t* v = part.limb(l).data();
      ring::ActiveKernels().add(v, v, plain.poly.limb(l).data(), ring.context->n(),
                                ring.context->modulus(l));
    }
  });
  const auto fooled = Combine(3, reply, {lie, Part(2, set, reply)}, {.score = kAccept});
  ASSERT_TRUE(fooled.ok()) << fooled.status();
  // Either it is accepted, which the liar wanted, or the score is no cosine.
  EXPECT_TRUE(fooled->accepted || !fooled->refusal.empty());
  // The server answers again, and owners without the liar decide otherwise.
  const auto second = DecideBy({2, 4, 5}, Identify(7));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_FALSE(second->accepted);
  EXPECT_EQ(second->refusal, "");
  // Nonsense is refused, and the refusal says what to do.
  const std::vector<uint8_t> again = Identify(0);
  const auto nonsense = Resigned(Part(1, set, again), 1, [&](PartFile& file) {
    for (PartialOpening& opening : file.openings) opening.part.limb(0)[0] ^= 1 << 20;
  });
  const auto refused = Combine(3, again, {nonsense, Part(2, set, again)});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_FALSE(refused->accepted);
  EXPECT_THAT(refused->refusal, HasSubstr("a partial opening is false"));
}

TEST_F(SharedKeyTest, OwnersCheckTheCeremony) {
  const auto check = CheckCeremony(Owner(4), keys_->path());
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->shared.owner, 4u);
  EXPECT_EQ(check->owners.size(), kOwners);
  EXPECT_EQ(check->digest, CheckCeremony(Owner(1), keys_->path())->digest);
  EXPECT_FALSE(FileExists(keys_->path() + "/secret.key"));
  // An exchanged public key.
  const testing::TemporaryFolder folder;
  for (const char* name : {"encryption.key", "evaluation.keys", "enrolment.keys"}) {
    std::vector<uint8_t> bytes = *ReadFile(keys_->path() + "/" + name);
    if (name == std::string("evaluation.keys")) bytes[100] ^= 1;
    ASSERT_TRUE(WriteFileAtomic(folder / name, bytes).ok());
  }
  EXPECT_THAT(Why(CheckCeremony(Owner(1), folder.path()).status(), StatusCode::kDataLoss),
              HasSubstr("evaluation.keys"));
  // A second ceremony in the same folder, and one that cannot be.
  EXPECT_EQ(MakeSharedKeySet(*model_, keys_->path(), 2, 2).status().code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(MakeSharedKeySet(*model_, folder / "x", 2, 3).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_THAT(
      Why(MakeSharedKeySet(testing::RandomModel({16}, 16, 3, "standard"), folder / "x", 2, 2)
              .status(),
          StatusCode::kFailedPrecondition),
      HasSubstr("--profile flooded"));
}

TEST_F(SharedKeyTest, ThreeOfFiveRenewBlocks) {
  ASSERT_TRUE(CreateGallery(*server_, folder_, {.seconds = 0}).ok());
  EnrolPeople(3);
  ASSERT_TRUE(server_->Fold(folder_).ok());
  const auto removed = Remove(*server_, folder_, {Name(1)});
  ASSERT_TRUE(removed.ok()) << removed.status();
  ASSERT_EQ(removed->leaving, 1u);
  const std::vector<uint8_t> other = *AskRenewal(*server_, folder_);
  const std::vector<uint8_t> request = *AskRenewal(*server_, folder_);
  EXPECT_THAT(Why(Owner(1).Renew(request, "request").status(), StatusCode::kFailedPrecondition),
              HasSubstr("opens with 3 of 5"));
  const OwnerSet set = {1, 2, 4};
  const auto part = [&](uint32_t owner) { return Owner(owner).RenewPart(request, "request", set); };
  const auto one = part(1), four = part(4);
  ASSERT_TRUE(one.ok() && four.ok()) << one.status() << four.status();
  EXPECT_THAT(Why(part(1).status(), StatusCode::kFailedPrecondition),
              HasSubstr("given its part of this renewal before"));
  EXPECT_EQ(part(3).status().code(), StatusCode::kInvalidArgument);
  const std::vector<ReplyFile> few = {{*one, "one"}}, all = {{*one, "one"}, {*four, "four"}};
  const auto renew = [&](const std::vector<uint8_t>& asked, std::span<const ReplyFile> parts) {
    return Owner(2).Renew(asked, "request", parts);
  };
  EXPECT_THAT(Why(renew(request, few).status(), StatusCode::kFailedPrecondition),
              HasSubstr("owner 4 is missing"));
  EXPECT_THAT(Why(renew(other, all).status(), StatusCode::kFailedPrecondition),
              HasSubstr("of another reply or request"));
  // A signed part of another form.
  const auto cut = Resigned(*one, 1, [](PartFile& file) { file.renewal.hidden.clear(); });
  const std::vector<ReplyFile> short_ones = {{cut, "one"}, {*four, "four"}};
  EXPECT_EQ(renew(request, short_ones).status().code(), StatusCode::kDataLoss);
  const uint64_t openings = Owner(2).Budget()->openings;
  const auto answer = renew(request, all);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->templates, 2u);
  EXPECT_EQ(Owner(2).Budget()->openings, openings);
  const auto done =
      Renew(*server_, folder_, answer->signed_renewal, "answer", *Trust::Load(set_->keys.trust));
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->erased, 1u);
  EXPECT_TRUE(DecideBy({1, 3, 5}, Identify(2))->accepted);
  EXPECT_FALSE(DecideBy({1, 3, 5}, Identify(1))->accepted);
}

TEST_F(SharedKeyTest, AShareDoesNotDoWhatTheWholeKeyDoes) {
  EXPECT_TRUE(Owner(1).EncryptionKey().empty());
  EXPECT_EQ(Owner(1).EvaluationKeys().status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(RenewKey(Owner(1), temporary_ / "next").status().code(),
            StatusCode::kFailedPrecondition);
  const KeyOwner whole = *KeyOwner::Generate(*model_);
  EXPECT_FALSE(whole.shared());
  EXPECT_THAT(Why(whole.OpenPart({}, {1, 2}, DecisionRule{.score = kAccept}).status(),
                  StatusCode::kFailedPrecondition),
              HasSubstr("whole key"));
  EXPECT_THAT(Why(whole.RenewPart({}, "request", {1, 2}).status(), StatusCode::kFailedPrecondition),
              HasSubstr("whole key"));
  EXPECT_EQ(Owner(1).OpenPart({}, {2, 3, 4}, DecisionRule{.score = kAccept}).status().code(),
            StatusCode::kInvalidArgument);
}

// Sealed under its owner's passphrase, a share opens with that alone.
TEST_F(SharedKeyTest, SharesAreSealed) {
  const KeyOwner::Impl& impl = Inside::Of(Owner(2));
  const KeyShare& share = *impl.held().share();
  const std::string right = "two", wrong = "one";
  const auto sealed = SerializeKeyShare(impl.rings(), share, right);
  ASSERT_TRUE(sealed.ok());
  EXPECT_TRUE(*KeyShareIsSealed(*sealed, "share"));
  const auto open = [&](std::span<const char> passphrase) {
    return ParseKeyShare(impl.rings(), *sealed, passphrase, "share");
  };
  EXPECT_EQ(open(wrong).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(open({}).status().code(), StatusCode::kFailedPrecondition);
  const auto opened = open(right);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(*ShareDigest(impl.rings(), *opened), *ShareDigest(impl.rings(), share));
  EXPECT_EQ(opened->owner(), 2u);
}

// Owners renew the shares among themselves, and one of them is replaced.
TEST_F(SharedKeyTest, NewSharesTakeTheOldOnesPlaces) {
  EnrolPeople(1);
  const OwnerSet set = {1, 2, 4};
  const std::string blank = temporary_ / "new-owner.key";
  const auto newcomer = MakeBlankShare(*model_, *ReadFile(set_->ceremony), 3, blank);
  ASSERT_TRUE(newcomer.ok()) << newcomer.status();
  const Replacement replacement = {3, *newcomer};
  std::vector<std::vector<uint8_t>> messages;
  for (const uint32_t owner : set) {
    const auto message = GiveNewShares(Owner(owner), set, replacement);
    ASSERT_TRUE(message.ok()) << message.status();
    messages.push_back(*message);
  }
  const auto files = [](const std::vector<std::vector<uint8_t>>& bytes) {
    std::vector<ReplyFile> out;
    for (const auto& b : bytes) out.push_back({b, "message"});
    return out;
  };
  std::vector<KeyOwner> next;
  for (uint32_t owner = 1; owner <= kOwners; ++owner) {
    const std::string path = temporary_ / ("share-" + std::to_string(owner));
    const KeyOwner taker = *KeyOwner::Load(*model_, owner == 3 ? blank : set_->shares[owner - 1]);
    const absl::Status taken = TakeNewShare(taker, files(messages), path);
    ASSERT_TRUE(taken.ok()) << taken;
    // The journal goes along.
    const std::string journal = taker.journal_file();
    ASSERT_TRUE(WriteFileAtomic(path + ".journal", *ReadFile(journal), 0600).ok());
    next.push_back(*KeyOwner::Load(*model_, path));
    ASSERT_TRUE(next.back().SetBudget({1000000, 1000000, 1000000000, 1000000}).ok());
    EXPECT_EQ(next.back().shared()->renewal, 1u);
    EXPECT_EQ(Inside::Of(next.back()).ceremony().digest,
              Inside::Of(next.front()).ceremony().digest);
  }
  EXPECT_TRUE(CheckCeremony(next[2], keys_->path()).ok());
  // The new record is beside the share, for a later successor.
  EXPECT_TRUE(MakeBlankShare(*model_, *ReadFile(temporary_ / "share-1.ceremony"), 4,
                             temporary_ / "later.key")
                  .ok());
  // The new ones open, the newcomer among them.
  const std::vector<uint8_t> reply = Identify(0);
  const OwnerSet opening = {2, 3, 5};
  const DecisionRule rule = {.score = kAccept};
  const auto two = next[1].OpenPart(One(reply).replies(), opening, rule);
  const auto three = next[2].OpenPart(One(reply).replies(), opening, rule);
  ASSERT_TRUE(two.ok() && three.ok()) << two.status() << three.status();
  const auto decided = next[4].Decide(One(reply, {*two, *three}).replies(), rule);
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_TRUE(decided->accepted);
  // A restored share of before opens nothing with its journal, which went on. Without it, it is
  // refused by its record, and where it claims the new one, its opening is nonsense.
  const std::vector<uint8_t> second = Identify(0);
  EXPECT_EQ(KeyOwner::Load(*model_, set_->shares[4])
                ->OpenPart(One(second).replies(), {1, 2, 5}, rule)
                .status()
                .code(),
            StatusCode::kFailedPrecondition);
  const KeyOwner restored = *KeyOwner::Impl::Own(
      *model_, *ParseKeyShare(Inside::Of(Owner(5)).rings(), *ReadFile(set_->shares[4]), {}, "old"));
  const auto old = restored.OpenPart(One(second).replies(), {1, 2, 5}, rule);
  ASSERT_TRUE(old.ok()) << old.status();
  const auto good = next[0].OpenPart(One(second).replies(), {1, 2, 5}, rule);
  EXPECT_THAT(Why(next[1].Decide(One(second, {*good, *old}).replies(), rule).status(),
                  StatusCode::kFailedPrecondition),
              HasSubstr("another ceremony"));
  const auto posing = Resigned(
      *old, 5, [&](PartFile& file) { file.ceremony = Inside::Of(next[1]).ceremony().digest; });
  const auto refused = next[1].Decide(One(second, {*good, posing}).replies(), rule);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_FALSE(refused->accepted);
  EXPECT_THAT(refused->refusal, HasSubstr("a partial opening is false"));
  // Messages that do not belong together, or not to these shares.
  const auto take = [&](const KeyOwner& owner, const std::vector<std::vector<uint8_t>>& given) {
    return TakeNewShare(owner, files(given), temporary_ / "none").code();
  };
  const auto other = *GiveNewShares(Owner(4), set);
  EXPECT_EQ(take(Owner(1), {messages[0], messages[1], other}), StatusCode::kFailedPrecondition);
  EXPECT_EQ(take(Owner(1), {messages[0], messages[1]}), StatusCode::kInvalidArgument);
  EXPECT_EQ(take(next[0], messages), StatusCode::kFailedPrecondition);
  EXPECT_EQ(take(Owner(3), messages), StatusCode::kFailedPrecondition);  // was replaced
  EXPECT_FALSE(FileExists(temporary_ / "none"));
}

// Two parts of one re-keying would tell their noise, and without one the key is lost.
TEST(SharedKeyRekeyTest, APartIsGivenOnceAndFinishedAfterACrash) {
  const testing::TemporaryFolder folder;
  const Model model = testing::RandomModel({40, 24}, 16, 3, "flooded");
  std::vector<KeyOwner> old, next;
  for (const auto& [name, owners] : {std::pair{"old", &old}, std::pair{"next", &next}}) {
    const auto set = MakeSharedKeySet(model, folder / name, 2, 2);
    ASSERT_TRUE(set.ok()) << set.status();
    for (const std::string& share : set->shares) owners->push_back(*KeyOwner::Load(model, share));
  }
  const std::string path = folder / "part", unfinished = path + ".unfinished";
  // A share that has counted something would forget it.
  ASSERT_TRUE(Inside::Of(next[1]).journal().ChargeProofs(1, 0).ok());
  const absl::Status used = GiveRekeyingPart(old[1], next[1], {1, 2}, path);
  EXPECT_EQ(used.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(used.message()), HasSubstr("was used before"));
  EXPECT_FALSE(FileExists(path) || FileExists(unfinished));
  EXPECT_EQ(next[1].Budget()->proofs, 1u);
  EXPECT_EQ(old[1].Budget()->successor, std::nullopt);
  // What the journal has not is no part. As a crash leaves one: recorded, without its name.
  const std::vector<uint8_t> left = {1, 2, 3};
  const Digest digest = HashBytes(left);
  ASSERT_TRUE(WriteFileAtomic(unfinished, ByteSpan(left)).ok());
  EXPECT_FALSE(*Inside::Of(old[0]).journal().HasRecorded(digest));
  ASSERT_TRUE(Inside::Of(old[0]).journal().RecordOnce({9}, "again", &digest).ok());
  ASSERT_TRUE(GiveRekeyingPart(old[0], next[0], {1, 2}, path).ok());
  EXPECT_EQ(*ReadFile(path), left);
  EXPECT_FALSE(FileExists(unfinished));
  EXPECT_TRUE(old[0].Budget()->successor.has_value());
  // It may already have its name. Another file is not overwritten.
  ASSERT_TRUE(Inside::Of(old[1]).journal().RecordOnce({9}, "again", &digest).ok());
  const auto fresh = MakeSharedKeySet(model, folder / "fresh", 2, 2);
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  const KeyOwner heir = *KeyOwner::Load(model, fresh->shares[1]);
  ASSERT_TRUE(WriteFileAtomic(folder / "other", std::string_view("other")).ok());
  EXPECT_EQ(GiveRekeyingPart(old[1], heir, {1, 2}, folder / "other").code(),
            StatusCode::kAlreadyExists);
  ASSERT_TRUE(GiveRekeyingPart(old[1], heir, {1, 2}, path).ok());
  EXPECT_EQ(*ReadFile(path), left);
  EXPECT_TRUE(old[1].Budget()->successor.has_value());
}

// Room for the sum of their floods: 100,000 openings of a search of one block at least, with as
// many dimensions as the profile takes.
TEST(SharedKeyRoomTest, TheCeremonyChecksRoomForTheNoise) {
  for (const uint32_t gamma : {16, 32, 64}) {
    const Rings rings = *MakeRings(testing::RandomModel({512, 512}, gamma, 3, "flooded"));
    const Instance& ring = rings.matching;
    const auto fits = [&](double error, double scale, ckks::FloodingOptions options) {
      ckks::Ciphertext c;
      c.parts.assign(2, ring::RnsPoly(ring.params().n(), ScoreLimbs(ring.params())));
      c.scale = scale;
      c.noise = {1, error * scale};
      return ckks::CheckFloodingRoom(ring.params(), c, options).ok();
    };
    const FusionPlan::Matching& matching = ring.plan.matching;
    const double norm = NormProofError(ring.params(), ring.plan);
    const double norm_scale = NormProofScale(ring.params(), ring.plan);
    for (uint32_t parts = 1; parts <= 3; ++parts) {
      uint64_t blocks = 0;  // that one search may have
      const auto search = [&](uint64_t count) {
        const ckks::FloodingOptions options = {30, 2 * 100000 * (count + 1), 1e-3, parts};
        return fits(norm, norm_scale, options) &&
               fits(ScoreError(ring.params(), ring.plan, false), matching.score_scale, options) &&
               fits(ScoreError(ring.params(), ring.plan, true), matching.verified_scale, options);
      };
      while (search(blocks + 1)) ++blocks;
      RecordProperty(absl::StrCat("blocks_of_", gamma, "_dimensions_and_", parts, "_owners"),
                     std::to_string(blocks));
      if (parts <= 2) {
        EXPECT_GE(blocks, 1u) << gamma << " dimensions, " << parts << " owners";
      }
      EXPECT_TRUE(fits(norm, norm_scale, {30, 2 * kFloodedProofs / parts, kProofNoise, parts}));
    }
  }
  // Of the room that a ceremony checks this model lacks some.
  const testing::TemporaryFolder folder;
  const auto refused =
      MakeSharedKeySet(testing::RandomModel({512, 512}, 32, 3, "flooded"), folder / "x", 3, 3);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("noise of 3 owners"));
  EXPECT_FALSE(FileExists(folder / "x"));
}

}  // namespace
}  // namespace heft
