// SPDX-License-Identifier: Apache-2.0
// Pending enrolments and admission through the public classes, and what an attacker would try on
// them.
#include "gallery/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "ckks/encryptor.h"
#include "fusion/projected.h"
#include "gallery/change.h"
#include "heft/gallery_admin.h"
#include "heft/openings.h"
#include "heft/server.h"
#include "matcher/server_impl.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

class AdmissionTest : public testing::RolesTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(trust_.Add(Role::kKeyOwner, "owner", owner_->Signer()->public_key()).ok());
    ASSERT_TRUE(trust_.Add(Role::kRegistrar, "registrar", registrar_.public_key()).ok());
    options_.trust = &trust_;
  }
  std::vector<SampleFile> Bulk(const std::vector<uint64_t>& people) const {
    std::vector<SampleFile> files;
    std::vector<std::string> labels;
    for (uint64_t p : people) labels.push_back("bulk " + std::to_string(p));
    for (size_t m = 0; m < 2; ++m) {
      std::vector<float> rows;
      for (uint64_t p : people) {
        const auto v = Vector(m, p);
        rows.insert(rows.end(), v.begin(), v.end());
      }
      files.push_back(
          {*client_->Encrypt({model_.modalities[m].name, rows, labels, SampleEncoding::kBulk}),
           "bulk"});
    }
    return files;
  }
  // A template that a client has fused, of any length.
  std::vector<SampleFile> Fused(double length, const std::string& label) const {
    const Rings rings = *MakeRings(model_);
    const Instance& ring = rings.matching;
    std::mt19937_64 random(9);
    std::vector<double> z = testing::RandomUnit(model_.gamma, random);
    for (double& v : z) v *= length;
    const auto plain = EncodeProjected(ring, SampleUse::kEnrolment, z);
    const auto keys = ParseEncryptionKeys(rings, owner_->EncryptionKey(), "key");
    Csprng rng;
    const SampleHeader header = MakeSampleHeader(ring, model_, 0, owner_->key_id(), false,
                                                 {SampleEncoding::kFused, SampleUse::kEnrolment});
    SampleWriter writer(*ring.context, header, std::vector<std::string>{label});
    writer.Add(ckks::Encrypt(*ring.context, *plain, keys->matching(), rng));
    return {{writer.Finish(), "fused"}};
  }
  absl::StatusOr<EnrolResult> Bring(std::vector<SampleFile> files) const {
    return server_->Enrol(folder_, std::move(files), options_);
  }
  Gallery Open() const { return *Gallery::Open(folder_); }
  Bytes Pending() const { return *server_->Pending(Open()); }
  // Who comes first for a person's probe, or nothing.
  std::string First(uint64_t person) const {
    const auto reply = server_->Identify(Open(), Files(person, "", SampleUse::kIdentification));
    EXPECT_TRUE(reply.ok()) << reply.status();
    const auto decision = owner_->Decide(*reply, "reply", 0.9);
    EXPECT_TRUE(decision.ok()) << decision.status();
    return decision.ok() ? decision->identity : "nobody could tell";
  }

  SigningKey registrar_ = *SigningKey::Generate();
  Trust trust_;
  EnrolOptions options_;
};

TEST_P(AdmissionTest, WhatWaitsMatchesNobody) {
  const auto brought = Bring(Files(1, "ann"));
  ASSERT_TRUE(brought.ok()) << brought.status();
  EXPECT_EQ(brought->brought, 1u);
  EXPECT_EQ(brought->pending, 1u);
  EXPECT_EQ(brought->templates, 0u);
  EXPECT_EQ(Open().size(), 0u);
  ASSERT_TRUE(Bring(Files(2, "bob")).ok());
  const auto inquiry = owner_->ReadInquiry(Pending(), "pending");
  ASSERT_TRUE(inquiry.ok()) << inquiry.status();
  EXPECT_EQ(inquiry->gallery_id, Open().id());
  std::map<std::string, bool> known;
  for (const AdmissionInquiry::Enrolment& enrolment : inquiry->enrolments) {
    EXPECT_FALSE(enrolment.authorised);
    for (const auto& person : enrolment.people) known[person.identity] = person.known;
  }
  EXPECT_EQ(known, (std::map<std::string, bool>{{"ann", false}, {"bob", false}}));
  EXPECT_EQ(owner_->Budget()->entries, 0u) << "looking signs nothing";
  // One of the two, rejected.
  const AdmissionInquiry::Enrolment& one = inquiry->enrolments[0];
  const auto rejected = owner_->Approve(Pending(), "pending",
                                        {.entries = {one.entry}, .reject_entries = {one.entry}});
  ASSERT_TRUE(rejected.ok()) << rejected.status();
  ASSERT_EQ(rejected->verdicts.size(), 1u);
  EXPECT_EQ(rejected->verdicts[0].identity, one.people[0].identity);
  EXPECT_FALSE(rejected->verdicts[0].approved);
  const auto approved = Approve(folder_);
  ASSERT_TRUE(approved.ok()) << approved.status();
  EXPECT_EQ(approved->activated, 2u);
  EXPECT_EQ(approved->pending, 0u);
  EXPECT_EQ(Open().size(), 2u);
  EXPECT_EQ(First(1), "ann");
  EXPECT_EQ(First(2), "bob");
}

// Metadata and expiry stand with the template that waits, and the key owner is not shown them.
TEST_P(AdmissionTest, MetadataStaysWithTheServer) {
  options_.metadata = {{"site", "seventeen"}};
  options_.expires = 4'000'000'000;
  const Server::Impl& inside = Inside::Of(*server_);
  ASSERT_TRUE(inside.EnrolPending(folder_, *inside.Read(Files(1, "ann")), options_).ok());
  auto holds = [](const Bytes& bytes, const std::string& text) {
    return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
  };
  bool kept = false;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder_)) {
    if (file.is_regular_file()) kept = kept || holds(*ReadFile(file.path().string()), "seventeen");
  }
  EXPECT_TRUE(kept);
  EXPECT_TRUE(holds(Pending(), "ann"));
  EXPECT_FALSE(holds(Pending(), "seventeen"));
}

TEST_P(AdmissionTest, MetadataAndConditionsAreChecked) {
  options_.metadata = {{"Site", "berlin"}};
  EXPECT_EQ(Bring(Files(1, "ann")).status().code(), StatusCode::kInvalidArgument);
  options_.metadata.clear();
  ASSERT_TRUE(Bring(Files(1, "ann")).ok());
  ASSERT_TRUE(Approve(folder_).ok());
  ProbeOptions options;
  options.where = {{"site", {}}};
  EXPECT_EQ(
      server_->Identify(Open(), Files(1, "", SampleUse::kIdentification), options).status().code(),
      StatusCode::kInvalidArgument);
  options.where = {{"site", {"berlin"}}};
  EXPECT_EQ(server_->Verify(Open(), Files(1, ""), "ann", options).status().code(),
            StatusCode::kInvalidArgument)
      << "a verification is of one identity";
}

// Attack: a template that is longer than 1 stands first for other people's probes.
TEST_P(AdmissionTest, LongTemplatesAreRejectedAndGone) {
  for (const double length : {2.0, 1.2, 0.5, 30.0}) {
    ASSERT_TRUE(Bring(Fused(length, "mallory" + std::to_string(length))).ok()) << length;
  }
  ASSERT_TRUE(Bring(Fused(1, "eve")).ok());
  ASSERT_TRUE(Bring(Files(1, "ann")).ok());
  const auto admissions = owner_->Approve(Pending(), "pending");
  ASSERT_TRUE(admissions.ok()) << admissions.status();
  for (const Admissions::Verdict& verdict : admissions->verdicts) {
    EXPECT_EQ(verdict.approved, !verdict.identity.starts_with("mallory")) << verdict.reason;
  }
  const auto done = server_->Activate(folder_, admissions->signed_admission, "admission", trust_);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated, 2u);
  EXPECT_EQ(done->rejected, 4u);
  EXPECT_EQ(done->pending, 0u);
  EXPECT_TRUE(Inside::Of(Open()).PendingEnrolments()->empty());
  // The same admission again: nothing happens.
  const auto again = server_->Activate(folder_, admissions->signed_admission, "admission", trust_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->activated, 0u);
  EXPECT_EQ(Open().size(), 2u);
}

// A model that does not fit new people: all of their templates have one cause, said once.
TEST_P(AdmissionTest, ShortTemplatesOfManyPeopleAreOneGroup) {
  for (const char* name : {"ann", "bob", "cyd"}) ASSERT_TRUE(Bring(Fused(0.6, name)).ok());
  ASSERT_TRUE(Bring(Fused(1, "dan")).ok());
  const auto done = owner_->Approve(Pending(), "pending", {.reject = {"dan"}});
  ASSERT_TRUE(done.ok()) << done.status();
  ASSERT_EQ(done->groups.size(), 2u);
  const Admissions::Group& unsound = done->groups[0];
  EXPECT_EQ(unsound.rejection, Rejection::kUnsound);
  EXPECT_THAT(unsound.identities, ::testing::UnorderedElementsAre("ann", "bob", "cyd"));
  EXPECT_THAT(unsound.cause, ::testing::MatchesRegex("squared norm 0.3[0-9]+.*outside \\[0.*"));
  EXPECT_THAT(unsound.remedy, HasSubstr("the model is at fault"));
  EXPECT_EQ(done->groups[1].rejection, Rejection::kPolicy);
  const Described told = DescribeAdmissions(*done);
  EXPECT_THAT(told.text, HasSubstr("3 of 4 templates rejected: squared norm"));
}

// Attack: a stranger enrols under a victim's name.
TEST_P(AdmissionTest, AnotherTemplateNeedsTheRegistrar) {
  ASSERT_TRUE(Bring(Files(1, "ann")).ok());
  ASSERT_TRUE(Approve(folder_).ok());
  const auto refused = Bring(Files(7, "ann"));
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("registrar"));
  const GalleryId id = Open().id();
  const auto add = AuthorisedAct::kAdd;
  const SigningKey stranger = *SigningKey::Generate();
  GalleryId other = id;
  other[0] ^= 1;
  for (const auto& wrong :
       {Authorise(stranger, id, add, "ann"), Authorise(registrar_, other, add, "ann"),
        Authorise(registrar_, id, add, "bob"),
        Authorise(registrar_, id, AuthorisedAct::kRemove, "ann")}) {
    options_.authorisation = *wrong;
    EXPECT_FALSE(Bring(Files(7, "ann")).ok());
  }
  options_.authorisation = *Authorise(registrar_, id, add, "ann");
  ASSERT_TRUE(Bring(Files(7, "ann")).ok());
  // A key owner who knows no registrar rejects it; one who does approves it.
  const Bytes pending = Pending();
  EXPECT_FALSE(owner_->Approve(pending, "pending")->verdicts[0].approved);
  const SigningKey signer = *GallerySigner(folder_);
  ASSERT_TRUE(trust_.Add(Role::kServer, "server", signer.public_key()).ok());
  ASSERT_TRUE(owner_->RequireSigned(trust_).ok());
  EXPECT_FALSE(owner_->Approve(pending, "pending").ok()) << "not signed";
  const auto request = SignReply(signer, Open(), {}, 0, {}, pending);
  ApprovalPolicy strict;
  strict.new_identities_only = true;
  EXPECT_FALSE(owner_->Approve(*request, "pending", strict)->verdicts[0].approved);
  const auto admissions = owner_->Approve(*request, "pending");
  ASSERT_TRUE(admissions.ok()) << admissions.status();
  EXPECT_TRUE(admissions->verdicts[0].approved) << admissions->verdicts[0].reason;
  ASSERT_TRUE(server_->Activate(folder_, admissions->signed_admission, "admission", trust_).ok());
  EXPECT_EQ(Open().size(), 2u);
}

// Attack: a stranger brings a name before its person does. The name is not taken, nothing picks one
// of the two, and the key owner chooses.
TEST_P(AdmissionTest, APendingEnrolmentReservesNoName) {
  options_.client = {1};
  ASSERT_TRUE(Bring(Files(7, "ann")).ok());
  options_.client = {};
  ASSERT_TRUE(Bring(Files(1, "ann")).ok());
  ASSERT_TRUE(Bring(Files(2, "bob")).ok());
  const auto done = owner_->Approve(Pending(), "pending");
  ASSERT_TRUE(done.ok()) << done.status();
  ASSERT_EQ(done->verdicts.size(), 1u);
  EXPECT_EQ(done->verdicts[0].identity, "bob");
  ASSERT_EQ(done->contested.size(), 1u);
  EXPECT_EQ(done->contested[0].identity, "ann");
  EXPECT_EQ(done->contested[0].elsewhere, 0u);
  ASSERT_EQ(done->contested[0].claims.size(), 2u);
  Digest persons{}, strangers{};
  for (const Admissions::Claim& claim : done->contested[0].claims) {
    (claim.client.empty() ? persons : strangers) = claim.entry;
    EXPECT_TRUE(claim.client.empty() || claim.client == HexString(SignerKey{1})) << claim.client;
  }
  EXPECT_NE(persons, Digest{});
  EXPECT_NE(strangers, Digest{});
  EXPECT_THAT(DescribeAdmissions(*done).text, HasSubstr(HexString(strangers)));
  EXPECT_EQ(server_->Activate(folder_, done->signed_admission, "admission", trust_)->pending, 2u);
  // A request that shows one of them only.
  const auto part = PendingUpTo(*server_, Open(), {.templates = 1});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(owner_->ReadInquiry(*part, "pending")->more, 1u);
  const auto unsure = owner_->Approve(*part, "pending");
  ASSERT_TRUE(unsure.ok()) << unsure.status();
  EXPECT_TRUE(unsure->verdicts.empty());
  ASSERT_EQ(unsure->contested.size(), 1u);
  EXPECT_EQ(unsure->contested[0].elsewhere, 1u);
  // Names do not choose, and neither does a choice of both, or leaving one aside.
  for (const ApprovalPolicy& policy :
       {ApprovalPolicy{.only = {"ann"}}, ApprovalPolicy{.entries = {persons, strangers}},
        ApprovalPolicy{.hold = {strangers}}}) {
    EXPECT_EQ(owner_->Approve(Pending(), "pending", policy)->contested.size(), 1u);
  }
  EXPECT_EQ(owner_->Approve(Pending(), "pending", {.entries = {Digest{9}}}).status().code(),
            StatusCode::kNotFound);
  // Rejecting the other is a choice as well.
  const auto left = owner_->Approve(Pending(), "pending", {.reject_entries = {strangers}});
  ASSERT_EQ(left->verdicts.size(), 2u);
  EXPECT_NE(left->verdicts[0].approved, left->verdicts[1].approved);
  const auto chosen = owner_->Approve(Pending(), "pending", {.entries = {persons}});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  ASSERT_EQ(chosen->verdicts.size(), 1u);
  EXPECT_TRUE(chosen->contested.empty());
  const auto approved = server_->Activate(folder_, chosen->signed_admission, "admission", trust_);
  ASSERT_TRUE(approved.ok()) << approved.status();
  EXPECT_EQ(approved->pending, 1u);
  EXPECT_EQ(First(1), "ann");
  EXPECT_EQ(First(7), "");
  // The one that is left is another template of an enrolled person.
  const auto rest = owner_->Approve(Pending(), "pending");
  ASSERT_EQ(rest->verdicts.size(), 1u);
  EXPECT_EQ(rest->verdicts[0].rejection, Rejection::kEnrolled);
  EXPECT_EQ(Approve(folder_)->pending, 0u);
}

// An enrolment is decided as a whole, so its other people wait for the choice too.
TEST_P(AdmissionTest, AContestedNameKeepsItsEnrolmentPending) {
  ASSERT_TRUE(Bring(Bulk({11, 12})).ok());
  ASSERT_TRUE(Bring(Files(7, "bulk 12")).ok());
  const auto done = owner_->Approve(Pending(), "pending");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(done->verdicts.empty());
  ASSERT_EQ(done->contested.size(), 1u);
  EXPECT_EQ(done->contested[0].identity, "bulk 12");
  // An older admission of both: nothing of it is applied, and the error names the person.
  const auto inquiry = owner_->ReadInquiry(Pending(), "pending");
  std::vector<Admissions> words;
  for (const auto& enrolment : inquiry->enrolments) {
    words.push_back(*owner_->Approve(Pending(), "pending", {.entries = {enrolment.entry}}));
  }
  ASSERT_TRUE(server_->Activate(folder_, words[0].signed_admission, "admission", trust_).ok());
  const auto second = server_->Activate(folder_, words[1].signed_admission, "admission", trust_);
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("\"bulk 12\""));
  EXPECT_EQ(Inside::Of(Open()).PendingEnrolments()->size(), 1u);
}

// Attack: garbage under a new name. It is no claim, so the person does not wait for a choice.
TEST_P(AdmissionTest, WhatIsUnsoundContestsNoName) {
  ASSERT_TRUE(Bring(Fused(2, "ann")).ok());
  ASSERT_TRUE(Bring(Files(1, "ann")).ok());
  const auto done = Approve(folder_);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated, 1u);
  EXPECT_EQ(done->rejected, 1u);
  EXPECT_EQ(First(1), "ann");
}

// A registrar's authorisation settles whose name it is.
TEST_P(AdmissionTest, ARegistrarSettlesAContestedName) {
  ASSERT_TRUE(Bring(Files(7, "ann")).ok());
  const GalleryId id = Open().id();
  const SigningKey stranger = *SigningKey::Generate();
  options_.authorisation = *Authorise(stranger, id, AuthorisedAct::kAdd, "ann");
  ASSERT_TRUE(Bring(Files(8, "ann")).ok());
  const SigningKey signer = *GallerySigner(folder_);
  ASSERT_TRUE(trust_.Add(Role::kServer, "server", signer.public_key()).ok());
  ASSERT_TRUE(trust_.Add(Role::kClient, "front desk", SignerKey{1}).ok());
  ASSERT_TRUE(owner_->RequireSigned(trust_).ok());
  const auto approve = [&] {
    return owner_->Approve(*SignReply(signer, Open(), {}, 0, {}, Pending()), "pending");
  };
  EXPECT_EQ(approve()->contested.size(), 1u) << "of no registrar";
  options_.authorisation = *Authorise(registrar_, id, AuthorisedAct::kAdd, "ann");
  options_.client = {1};
  ASSERT_TRUE(Bring(Files(1, "ann")).ok());
  const auto inquiry = owner_->ReadInquiry(*SignReply(signer, Open(), {}, 0, {}, Pending()), "p");
  EXPECT_TRUE(std::ranges::any_of(inquiry->enrolments,
                                  [](const auto& e) { return e.client == "front desk"; }));
  const auto settled = approve();
  ASSERT_TRUE(settled.ok()) << settled.status();
  EXPECT_TRUE(settled->contested.empty());
  ASSERT_EQ(settled->verdicts.size(), 1u);
  EXPECT_TRUE(settled->verdicts[0].approved);
  ASSERT_TRUE(server_->Activate(folder_, settled->signed_admission, "admission", trust_).ok());
  const auto rest = approve();
  ASSERT_EQ(rest->verdicts.size(), 2u);
  for (const auto& verdict : rest->verdicts) EXPECT_FALSE(verdict.approved) << verdict.reason;
}

// Attack: one client fills its share of pending enrolments.
TEST_P(AdmissionTest, OneClientFillsItsOwnShareOfPendingEnrolments) {
  const Server::Impl& inside = Inside::Of(*server_);
  uint64_t person = 20;
  const auto bring = [&](const SignerKey& client, const ClientLimits& limits) {
    EnrolOptions options = options_;
    options.client = client;
    const std::string name = "person " + std::to_string(person);
    return inside
        .EnrolPending(folder_, *inside.Read(Files(person++, name)), options, {}, {}, limits)
        .status();
  };
  const ClientLimits two = {.enrolments = 2};
  ASSERT_TRUE(bring({1}, two).ok());
  ASSERT_TRUE(bring({1}, two).ok());
  const absl::Status third = bring({1}, two);
  EXPECT_EQ(third.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(third.message()), HasSubstr(HexString(SignerKey{1})));
  EXPECT_THAT(std::string(third.message()), HasSubstr("has 2 pending enrolments"));
  EXPECT_THAT(std::string(third.message()), HasSubstr("let the key owner decide"));
  EXPECT_TRUE(bring({2}, two).ok()) << "another client";
  ASSERT_TRUE(bring({}, two).ok());
  ASSERT_TRUE(bring({}, two).ok());
  EXPECT_EQ(bring({}, two).code(), StatusCode::kResourceExhausted)
      << "unsigned ones are one client";
  const uint64_t bytes = Inside::Of(Open()).PendingEnrolments()->at(0).record.bytes;
  EXPECT_GT(bytes, 0u);
  EXPECT_TRUE(bring({3}, {.bytes = 2 * bytes}).ok());
  const absl::Status large = bring({3}, {.bytes = 2 * bytes - 1000});
  EXPECT_EQ(large.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(large.message()), HasSubstr("MiB"));
  EXPECT_EQ(Inside::Of(Open()).PendingEnrolments()->size(), 6u);
  ASSERT_TRUE(Approve(folder_).ok());
  EXPECT_TRUE(bring({1}, two).ok()) << "what is decided makes room";
}

TEST_P(AdmissionTest, ASampleThatIsSentAgainIsRecognised) {
  const auto files = Files(1, "ann");
  ASSERT_TRUE(Bring(files).ok());
  EXPECT_EQ(Bring(files).status().code(), StatusCode::kAlreadyExists) << "it waits";
  ASSERT_TRUE(Approve(folder_).ok());
  EXPECT_EQ(Bring(files).status().code(), StatusCode::kAlreadyExists) << "it is enrolled";
}

// Bulk enrolment passes the same gate, template by template.
TEST_P(AdmissionTest, Bulk) {
  const auto brought = Bring(Bulk({11, 12, 13, 14, 15}));
  ASSERT_TRUE(brought.ok()) << brought.status();
  EXPECT_EQ(brought->brought, 5u);
  ApprovalPolicy policy;
  policy.reject = {"bulk 13"};
  const auto admissions = owner_->Approve(Pending(), "pending", policy);
  ASSERT_TRUE(admissions.ok()) << admissions.status();
  for (const Admissions::Verdict& verdict : admissions->verdicts) {
    EXPECT_EQ(verdict.approved, verdict.identity != "bulk 13") << verdict.reason;
  }
  const auto done = server_->Activate(folder_, admissions->signed_admission, "admission", trust_);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated, 4u);
  EXPECT_EQ(done->rejected, 1u);
  EXPECT_EQ(Open().size(), 4u);
  EXPECT_EQ(First(11), "bulk 11");
  EXPECT_EQ(First(13), "");
  EXPECT_EQ(First(15), "bulk 15");
  // All five stand where one rotation brought them; the place of the rejected one is free.
  auto info = *DescribeGallery(folder_);
  EXPECT_EQ(info.places, 5u);
  EXPECT_EQ(info.freed, 1u);
  ASSERT_TRUE(Bring(Files(13, "later")).ok());
  ASSERT_TRUE(Approve(folder_).ok());
  info = *DescribeGallery(folder_);
  EXPECT_EQ(info.places, 5u);
  EXPECT_EQ(info.freed, 0u);
  EXPECT_EQ(First(13), "later");
  EXPECT_EQ(First(12), "bulk 12");
}

// A fold takes gamma rotations, so there is one for all enrolments, not one for each seventeen.
TEST_P(AdmissionTest, EnrolmentsThatAreAdmittedTogetherAreFoldedTogether) {
  for (uint64_t p = 0; p < kMaxPending + 2; ++p) {
    ASSERT_TRUE(Bring(Files(p, "person " + std::to_string(p))).ok());
  }
  const auto done = Approve(folder_);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated, kMaxPending + 2);
  EXPECT_EQ(DescribeGallery(folder_)->unfolded, 0u);
  EXPECT_EQ(First(3), "person 3");
}

TEST_P(AdmissionTest, OnlyTheKeyOwnersWordCounts) {
  ASSERT_TRUE(Bring(Files(1, "ann")).ok());
  const Bytes pending = Pending();
  const auto good = *owner_->Approve(pending, "pending");
  const KeyOwner stranger = *KeyOwner::Generate(model_);
  EXPECT_FALSE(stranger.Approve(pending, "pending").ok()) << "of another key";
  // The owner's answer, signed with another key.
  const SignedFile inner = *ReadSigned(good.signed_admission, "admission");
  const Bytes plain(inner.file.begin(), inner.file.end());
  const SigningKey key = *SigningKey::Generate();
  EXPECT_FALSE(
      server_->Activate(folder_, *key.Sign({.role = Role::kKeyOwner}, plain), "admission", trust_)
          .ok());
  EXPECT_FALSE(server_->Activate(folder_, plain, "admission", trust_).ok());
  // Of another gallery.
  const std::string second = temporary_ / "second";
  ASSERT_TRUE(server_->Enrol(second, Files(2, "bob"), options_).ok());
  const auto elsewhere = server_->Activate(second, good.signed_admission, "admission", trust_);
  EXPECT_THAT(std::string(elsewhere.status().message()), HasSubstr("another gallery"));
  EXPECT_EQ(Open().size(), 0u);
  // None but those that are chosen; the others wait on.
  ApprovalPolicy only;
  only.only = {"cyd"};
  const auto nobody = *owner_->Approve(pending, "pending", only);
  EXPECT_TRUE(nobody.verdicts.empty());
  EXPECT_EQ(server_->Activate(folder_, nobody.signed_admission, "admission", trust_)->pending, 1u);
}

TEST(AuthorisedActTest, HasAName) {
  EXPECT_EQ(*ParseAuthorisedAct("add"), AuthorisedAct::kAdd);
  EXPECT_EQ(*ParseAuthorisedAct("replace"), AuthorisedAct::kReplace);
  EXPECT_EQ(*ParseAuthorisedAct("remove"), AuthorisedAct::kRemove);
  for (const char* name : {"", "Add", "erase"}) {
    EXPECT_EQ(ParseAuthorisedAct(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, AdmissionTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
