// SPDX-License-Identifier: Apache-2.0
// Canaries, through the public classes: an honest server passes, and each way to cheat does not.
#include "owner/canaries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "base/envelope.h"
#include "base/files.h"
#include "heft/key_set.h"
#include "matcher/server_impl.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using Bytes = std::vector<uint8_t>;
using ::testing::HasSubstr;

class CanariesTest : public testing::RolesTest {
 protected:
  CanariesTest() : RolesTest(kLimits) {}
  void SetUp() override {
    set_ = *owner_->MakeCanaries(2);
    Enrol(folder_, Person(1, "ann"));
    for (const CanarySet::Person& person : set_.people) Enrol(folder_, person);
    Enrol(folder_, Person(2, "bob"));
    ASSERT_TRUE(Approve(folder_).ok());
    ASSERT_TRUE(owner_->RequireCanaries(set_.file, "canaries").ok());
  }
  static constexpr BudgetLimits kLimits = {
      .scores = 1000, .decisions = 1000, .client_bits = 1000000};
  CanarySet::Person Person(uint64_t seed, const std::string& label) const {
    return {label, {Vector(0, seed), Vector(1, seed)}};
  }
  std::vector<SampleFile> Files(const CanarySet::Person& person, SampleUse use) const {
    return Encrypt(person.vectors, person.label, use);
  }
  void Enrol(const std::string& folder, const CanarySet::Person& person) const {
    ASSERT_TRUE(server_->Enrol(folder, Files(person, SampleUse::kEnrolment)).ok());
  }
  Bytes Identify(const CanarySet::Person& probe, const std::string& folder,
                 const ProbeOptions& options = {}) const {
    return *server_->Identify(*Gallery::Open(folder), Files(probe, SampleUse::kIdentification),
                              options);
  }
  EncryptedScores Parse(const Bytes& reply) const {
    return *ParseScores(*Inside::Of(*server_).instance().context, reply, "reply");
  }
  Bytes Serialize(const EncryptedScores& scores) const {
    return SerializeScores(*Inside::Of(*server_).instance().context, scores);
  }
  void ExpectRefused(const Bytes& reply, const std::string& why) const {
    const auto opened = owner_->Open(reply, "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_THAT(opened->refusal, HasSubstr(why));
    EXPECT_TRUE(opened->candidates.empty());
  }

  CanarySet set_;
};

TEST_P(CanariesTest, AnHonestServerPassesAndNobodySeesThem) {
  for (const uint64_t person : {1, 2, 3, 4}) {
    const auto opened = owner_->Open(Identify(Person(person, "probe"), folder_), "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->refusal, "");
    ASSERT_EQ(opened->candidates.size(), 2u) << "ann and bob alone";
    if (person <= 2) {
      EXPECT_EQ(opened->candidates[0].identity, person == 1 ? "ann" : "bob");
    }
  }
  // They are found by themselves, and still not named.
  const auto own = owner_->Decide(Identify(set_.people[0], folder_), "reply", 0.9);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->refusal, "");
  EXPECT_FALSE(own->accepted);
}

// A server that makes scores up must not learn about a person for free by refusals.
TEST_P(CanariesTest, WhatIsRefusedIsChargedToWhoAnsweredBest) {
  EncryptedScores said = Parse(Identify(Person(1, "probe"), folder_));
  for (std::string& name : said.identities) {
    if (name != "ann" && name != "bob") name += "x";  // no canary is left
  }
  ASSERT_EQ(owner_->Budget()->decisions, 0u);
  const auto decided = owner_->Decide(Serialize(said), "reply", 0.9);
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_NE(decided->refusal, "");
  EXPECT_FALSE(decided->accepted);
  EXPECT_EQ(owner_->Budget()->decisions, 1u);
  EXPECT_EQ(owner_->Budget()->identities, 1u);
}

// How much of the room an honest reply takes; a bound without room would refuse honest ones.
TEST_P(CanariesTest, TheRelationHoldsWithRoom) {
  const KeyOwner bare = roles_.NewOwner(kLimits);
  const Canaries canaries =
      *Canaries::Open(set_.file, model_, Inside::Of(*owner_).held(), nullptr, "file");
  double worst = 0;
  for (const uint64_t person : {1, 5, 6, 7}) {
    const auto opened = bare.Open(Identify(Person(person, "probe"), folder_), "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    auto score = [&](const std::string& name) {
      return std::ranges::find(opened->candidates, name, &Candidate::identity)->score;
    };
    for (const Canaries::Triple& t : canaries.triples()) {
      worst = std::max(worst, std::abs(score(t.people[2].name) - t.a * score(t.people[0].name) -
                                       t.b * score(t.people[1].name)));
    }
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LT(worst, kRelationHolds / 3) << "of published scores, which are rounded to 0.001";
}

TEST_P(CanariesTest, AnotherGalleryIsRefused) {
  const std::string other = temporary_ / "other";
  Enrol(other, Person(1, "ann"));
  ASSERT_TRUE(Approve(other).ok());
  ExpectRefused(Identify(Person(1, "probe"), other), "a canary is missing");
  // Names without their templates: other people's scores.
  const std::string liar = temporary_ / "liar";
  for (uint64_t person = 20; person < 28; ++person)
    Enrol(liar, Person(person, std::to_string(person)));
  ASSERT_TRUE(Approve(liar).ok());
  EncryptedScores said = Parse(Identify(Person(1, "probe"), liar));
  said.identities = Gallery::Open(folder_)->identities();
  ExpectRefused(Serialize(said), "not what any probe has");
  // None at all.
  ProbeOptions nameless;
  nameless.with_identities = false;
  ExpectRefused(Identify(Person(1, "probe"), folder_, nameless), "without names");
}

// A restricted search holds all of each triple or none of it, and at least one triple. A search
// that only leaves out free places holds all triples.
TEST_P(CanariesTest, ARestrictedSearchHoldsWholeTriples) {
  const Canaries canaries =
      *Canaries::Open(set_.file, model_, Inside::Of(*owner_).held(), nullptr, "file");
  const std::vector<Condition> where = {{"site", {"berlin"}}};
  auto reply = [&](const std::set<std::string>& silent, const std::vector<Condition>& conditions) {
    EncryptedScores said = Parse(Identify(Person(1, "probe"), folder_));
    Restriction restriction = {PlaceSet::All(said.templates), 1, conditions};
    for (size_t i = 0; i < said.identities.size(); ++i) {
      if (silent.contains(said.identities[i])) restriction.answering.Remove(i);
    }
    Restrict(*Inside::Of(*server_).instance().context, std::move(restriction), &said);
    return Serialize(said);
  };
  std::set<std::string> first, both;
  for (size_t t = 0; t < 2; ++t) {
    for (const Canaries::Person& person : canaries.triples()[t].people) {
      if (t == 0) first.insert(person.name);
      both.insert(person.name);
    }
  }
  for (const bool some : {false, true}) {
    const auto opened = owner_->Open(some ? reply(first, where) : reply({"bob"}, {}), "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->refusal, "");
    EXPECT_EQ(opened->candidates.size(), some ? 2u : 1u);
    EXPECT_EQ(opened->searched, opened->candidates.size()) << "canaries are not counted";
  }
  ExpectRefused(reply(first, {}), "a canary is missing: another gallery");
  ExpectRefused(reply({*first.begin()}, where), "others of its triple are there");
  ExpectRefused(reply(both, where), "no canary fits the conditions");
}

// Scores that are given to other templates than they are of; and a canary that is there twice.
TEST_P(CanariesTest, ExchangedTemplatesAreRefused) {
  EncryptedScores said = Parse(Identify(Person(1, "probe"), folder_));
  std::rotate(said.identities.begin(), said.identities.begin() + 1, said.identities.end());
  ExpectRefused(Serialize(said), "not what any probe has");
  EncryptedScores twice = Parse(Identify(Person(2, "probe"), folder_));
  *std::ranges::find(twice.identities, "ann") = set_.people[0].label;
  ExpectRefused(Serialize(twice), "there twice");
}

// Attack: a block is left out, and zeros stand for its scores. A relation of scores cannot see
// that, as 0 = a 0 + b 0, where all three lie in that block; a probe whose answers are known does,
// and no server knows which that is.
TEST_P(CanariesTest, ASkippedBlockIsRefused) {
  auto skipped = [&](const CanarySet::Person& probe) {
    EncryptedScores said = Parse(Identify(probe, folder_));
    ScoreReply& reply = said.replies[0];
    if (reply.brief) {
      std::ranges::fill(reply.brief->packed, uint8_t{0});
    } else {
      for (ring::RnsPoly& part : reply.scores.parts) std::ranges::fill(part.values(), 0);
    }
    return Serialize(said);
  };
  EXPECT_EQ(owner_->Open(skipped(Person(1, "probe")), "reply")->refusal, "");
  for (const CanarySet::Person& probe : set_.probes) {
    ExpectRefused(skipped(probe), "answers are known");
  }
}

// Probes whose answers are known, 1:N and 1:1.
TEST_P(CanariesTest, KnownAnswers) {
  for (const CanarySet::Person& probe : set_.probes) {
    const auto opened = owner_->Open(Identify(probe, folder_), "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->refusal, "");
  }
  const auto files = Files(set_.probes[0], SampleUse::kEnrolment);
  const Gallery gallery = *Gallery::Open(folder_);
  const std::string& name = set_.people[1].label;
  const auto right = owner_->Open(*server_->Verify(gallery, files, name), "reply");
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ(right->refusal, "");
  // Attack: another person's scores for the claimed name.
  bool noticed = false;
  for (const CanarySet::Person& other : set_.people) {
    if (other.label == name) continue;
    EncryptedScores said = Parse(*server_->Verify(gallery, files, other.label));
    said.claimed = name;
    said.identities = {name};
    const auto opened = owner_->Open(Serialize(said), "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    noticed = noticed || opened->refusal.find("answers are known") != std::string::npos;
  }
  EXPECT_TRUE(noticed);
}

TEST_P(CanariesTest, TheFileIsTheKeyOwnersAlone) {
  Bytes changed = set_.file;
  changed[changed.size() / 2] ^= 1;
  EXPECT_FALSE(owner_->RequireCanaries(changed, "file").ok());
  // Sealed anew without the key: the checksum is right, the seal is not.
  const Bytes forged = SealEnvelope(
      "CNRY", 1,
      ByteSpan(changed).subspan(kEnvelopeHeaderSize, changed.size() - kEnvelopeOverhead));
  EXPECT_EQ(owner_->RequireCanaries(forged, "file").code(), absl::StatusCode::kDataLoss);
  KeyOwner stranger = *KeyOwner::Generate(model_);
  EXPECT_EQ(stranger.RequireCanaries(set_.file, "file").code(),
            absl::StatusCode::kFailedPrecondition);
  const std::string_view text(reinterpret_cast<const char*>(set_.file.data()), set_.file.size());
  EXPECT_EQ(text.find(set_.people[0].label), text.npos) << "names are not in the clear";
}

TEST_P(CanariesTest, NamesMayBeGiven) {
  const std::vector<std::string> names = {"cyd", "dan", "eve"};
  const auto set = owner_->MakeCanaries(1, names);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->people[1].label, "dan");
  EXPECT_FALSE(owner_->MakeCanaries(2, names).ok());
  EXPECT_FALSE(owner_->MakeCanaries(1, {"cyd", "cyd", "eve"}).ok());
  EXPECT_FALSE(owner_->MakeCanaries(0).ok());
  for (const CanarySet::Person& person : set->people) {
    for (const std::vector<float>& v : person.vectors) {
      double squares = 0;
      for (float x : v) squares += double{x} * x;
      EXPECT_NEAR(squares, 1, 1e-5) << "clients scale vectors to length 1: nothing may change";
    }
  }
}

// They lie beside the secret key, and go along when it is renewed.
TEST(CanaryFilesTest, StayWithTheKeyAndItsHeir) {
  const testing::TemporaryFolder folder;
  const Model model = testing::RandomModel({40, 24}, 16, 3);
  const auto set = MakeKeySet(model, folder / "keys");
  ASSERT_TRUE(set.ok()) << set.status();
  const std::string path = set->secret_key + ".canaries";
  {
    KeyOwner owner = *KeyOwner::Load(model, set->secret_key);
    const CanarySet canaries = *owner.MakeCanaries(1);
    EXPECT_FALSE(FileExists(path));
    ASSERT_TRUE(owner.RegisterCanaries(canaries.file, "canaries").ok());
    ASSERT_TRUE(FileExists(path));
    KeyOwner homeless = *KeyOwner::Generate(model);
    EXPECT_FALSE(homeless.RegisterCanaries(homeless.MakeCanaries(1)->file, "canaries").ok());
  }
  const auto old = KeyOwner::Load(model, set->secret_key);
  ASSERT_TRUE(old.ok()) << old.status();
  ASSERT_TRUE(Inside::Of(*old).canaries().has_value());
  const auto renewed = RenewKey(*old, folder / "next");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  const auto next = KeyOwner::Load(model, renewed->secret_key);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(Inside::Of(*next).canaries()->triples()[0].people[0].name,
            Inside::Of(*old).canaries()->triples()[0].people[0].name);
  // A damaged list is no reason to go without one.
  ASSERT_TRUE(WriteFileAtomic(path, std::string_view("nothing")).ok());
  EXPECT_EQ(KeyOwner::Load(model, set->secret_key).status().code(), absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(Profiles, CanariesTest, ::testing::Values("standard", "flooded"));

}  // namespace
}  // namespace heft
