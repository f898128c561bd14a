// SPDX-License-Identifier: Apache-2.0
// A key that several owners share, opened by deciders that ask each other over TLS; and attacks on
// the way between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <thread>

#include "heft/gallery_admin.h"
#include "service/decider/fellows_testing.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;
using testing::Bytes;
using testing::FellowsWorld;
using ::testing::HasSubstr;
using testing::TextOf;

class DeciderFellowsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new FellowsWorld("decider_fellows_test");
    world_->Enrol(1, "ann");
    world_->Enrol(2, "bob");
    const HttpResponse answer =
        world_->Post("matcher", 1, "/v1/exchange/admissions", world_->Pending());
    ASSERT_EQ(answer.status, 200) << TextOf(answer);
    const auto done = world_->server->Activate(world_->gallery, answer.body, "admission",
                                               *Trust::Load(world_->set.keys.trust));
    ASSERT_TRUE(done.ok()) << done.status();
    ASSERT_EQ(done->activated, 2u);
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  // All as it was, whatever a test has done.
  void TearDown() override {
    for (uint32_t owner = 1; owner <= FellowsWorld::kOwners; ++owner) {
      Restart(owner);
      ASSERT_TRUE(Owner(owner).SetBudget({}).ok());
    }
  }
  static testing::OwnerDecider& Owner(uint32_t owner) { return world_->Owner(owner); }
  static void Restart(uint32_t owner) {
    Owner(owner).Stop();
    Owner(owner).Start();
  }
  static std::vector<uint64_t> Openings() {
    return {Owner(1).Openings(), Owner(2).Openings(), Owner(3).Openings()};
  }
  static uint64_t Sum(const std::vector<uint64_t>& numbers) {
    uint64_t sum = 0;
    for (const uint64_t number : numbers) sum += number;
    return sum;
  }
  // An owner's address with other answers to questions for parts.
  static void Pose(uint32_t owner, std::function<HttpResponse(const HttpRequest&)> answer) {
    Router router;
    router.Add({.method = "GET",
                .pattern = "/health/ready",
                .operation = "ready",
                .handler = [](const HttpRequest&) { return JsonResponse(Json::object()); }});
    router.Add({.method = "POST",
                .pattern = kPartsPath,
                .operation = "openPart",
                .handler = std::move(answer),
                .most_bytes = 1 << 30});
    router.Add({.method = "GET",
                .pattern = "/health/live",
                .operation = "live",
                .handler = [](const HttpRequest&) { return JsonResponse(Json::object()); }});
    Owner(owner).Serve(std::move(router));
    Owner(owner).server->Start();
  }
  // The decision of a reply that is decided.
  static Json Decided(const Bytes& reply, uint32_t owner = 1) {
    const HttpResponse answer = world_->Decide(reply, owner);
    EXPECT_EQ(answer.status, 200) << TextOf(answer);
    return answer.status == 200 ? Json::parse(answer.body) : Json::object();
  }
  static FellowsWorld* world_;
};
FellowsWorld* DeciderFellowsTest::world_ = nullptr;

TEST_F(DeciderFellowsTest, TwoOfThreeDecide) {
  for (uint32_t owner = 1; owner <= FellowsWorld::kOwners; ++owner) {
    const auto before = Openings();
    const Bytes reply = world_->Search(1);
    const Json decision = Decided(reply, owner);
    EXPECT_EQ(decision["accepted"], true) << decision;
    EXPECT_EQ(decision["identity"], "ann");
    const auto after = Openings();
    EXPECT_EQ(Sum(after), Sum(before) + 2) << "in the journals of two owners";
    EXPECT_EQ(after[owner - 1], before[owner - 1] + 1);
    // The answer was lost on the way: it is given again, and nothing is opened.
    EXPECT_EQ(Decided(reply, owner), decision);
    EXPECT_EQ(Openings(), after);
    EXPECT_EQ(Decided(world_->Search(77), owner)["accepted"], false);
  }
  const auto claim = world_->server->Verify(*Gallery::Open(world_->gallery),
                                            world_->Files(2, "", SampleUse::kEnrolment), "bob");
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_EQ(Decided(world_->Signed(world_->gallery, *claim))["accepted"], true);
  // Each owner's audit log has its part, under the id of the matcher's request.
  std::string logs;
  for (uint32_t owner = 1; owner <= FellowsWorld::kOwners; ++owner) {
    logs += *ReadTextFile(Owner(owner).config.common.audit_log);
  }
  EXPECT_NE(logs.find("\"operation\":\"decision-part\""), logs.npos);
  EXPECT_NE(logs.find("\"operation\":\"admission-part\""), logs.npos);
  EXPECT_NE(logs.find("\"event\":\"part\""), logs.npos);
}

// Two enrolments of one new name wait for a person. Their proofs are not opened again with those of
// every enrolment after them: each owner's journal counts them.
TEST_F(DeciderFellowsTest, TheProofsOfWhatWaitsAreOpenedOnce) {
  const Server& server = *world_->server;
  const std::string gallery = world_->folder / "store:contested";
  const auto id = CreateGallery(server, gallery, {});
  ASSERT_TRUE(id.ok()) << id.status();
  for (uint32_t owner = 1; owner <= FellowsWorld::kOwners; ++owner) {
    Owner(owner).config.galleries[*id] = {"contested", 0.01, 0.001, true, false};
    Restart(owner);
  }
  const auto enrol = [&](uint64_t person, const std::string& name) {
    ASSERT_TRUE(server.Enrol(gallery, world_->Files(person, name, SampleUse::kEnrolment)).ok());
  };
  const auto opened = [&] {
    const auto proofs = [] {
      uint64_t sum = 0;
      for (uint32_t owner = 1; owner <= FellowsWorld::kOwners; ++owner) {
        sum += Owner(owner).service->state()->owner.Budget()->proofs;
      }
      return sum;
    };
    const uint64_t before = proofs();
    const Bytes pending = world_->Signed(gallery, *server.Pending(*Gallery::Open(gallery)));
    const HttpResponse approved = world_->Post("matcher", 1, "/v1/exchange/admissions", pending);
    EXPECT_EQ(approved.status, 200) << TextOf(approved);
    const auto done =
        server.Activate(gallery, approved.body, "admission", *Trust::Load(world_->set.keys.trust));
    EXPECT_TRUE(done.ok()) << done.status();
    return proofs() - before;
  };
  constexpr uint64_t kOwnersWhoOpen = 2, kProofsOfATemplate = 2;
  enrol(5, "twice");
  enrol(6, "twice");
  EXPECT_EQ(opened(), kOwnersWhoOpen * 2 * kProofsOfATemplate);
  enrol(7, "once");
  EXPECT_EQ(opened(), kOwnersWhoOpen * kProofsOfATemplate);
}

// A gallery of its own with three pending enrolments, and their request.
class PendingProofsTest : public DeciderFellowsTest {
 protected:
  void Begin(const std::string& name) {
    const std::string gallery = world_->folder / ("store:" + name);
    const auto id = CreateGallery(*world_->server, gallery, {});
    ASSERT_TRUE(id.ok()) << id.status();
    for (uint32_t owner = 1; owner <= FellowsWorld::kOwners; ++owner) {
      Owner(owner).config.galleries[*id] = {name, 0.01, 0.001, true, false};
      Restart(owner);
    }
    for (const uint64_t person : {21, 22, 23}) {
      const auto files = world_->Files(person, absl::StrCat("p", person), SampleUse::kEnrolment);
      ASSERT_TRUE(world_->server->Enrol(gallery, files).ok());
    }
    request_ = world_->Signed(gallery, *world_->server->Pending(*Gallery::Open(gallery)));
  }
  static uint64_t Proofs(uint32_t owner) { return Owner(owner).key().Budget()->proofs; }
  static constexpr uint64_t kOfATemplate = 2;
  Bytes request_;
};

TEST_F(PendingProofsTest, OneSetOfEnrolmentsHasOneSpellingAndFewSetsAreOpened) {
  Begin("spelling");
  std::vector<std::string> entries;
  const auto inquiry = Owner(2).key().ReadInquiry(request_, "request");
  ASSERT_TRUE(inquiry.ok()) << inquiry.status();
  for (const AdmissionInquiry::Enrolment& one : inquiry->enrolments) {
    entries.push_back(HexString(one.entry));
  }
  ASSERT_EQ(entries.size(), 3u);
  const uint64_t before = Proofs(2);
  const auto ask = [&](Json hold, const std::string& who = "owner-1",
                       const OwnerSet& owners = {1, 2}) {
    const Json terms = {{"question", "admission"}, {"hold", std::move(hold)}, {"owners", owners}};
    return world_->AskPart(who, 2, terms, request_, "request");
  };
  std::string upper = entries[0];
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const Json& wrong : {Json({entries[1], entries[0]}), Json({entries[0], entries[0]}),
                            Json({std::string(64, 'a')}), Json({entries[0], std::string(64, 'a')}),
                            Json({upper}), Json({7}), Json("all"), Json()}) {
    EXPECT_EQ(ask(wrong).status, 400) << wrong;
  }
  EXPECT_EQ(Proofs(2), before);
  const HttpResponse first = ask({entries[0], entries[1]});
  ASSERT_EQ(first.status, 200) << TextOf(first);
  EXPECT_EQ(Proofs(2), before + kOfATemplate);
  // The same set, in terms of another spelling.
  const Json respelt = {{"owners", {1, 2}},
                        {"fpir", 7},
                        {"hold", {entries[0], entries[1]}},
                        {"question", "admission"}};
  EXPECT_EQ(world_->AskPart("owner-1", 2, respelt, request_, "request").body, first.body);
  EXPECT_EQ(Proofs(2), before + kOfATemplate);
  EXPECT_EQ(ask({entries[0], entries[2]}).status, 200);
  EXPECT_EQ(ask({entries[1], entries[2]}).status, 200);
  EXPECT_EQ(ask({entries[0]}).status, 200);
  const uint64_t opened = before + 5 * kOfATemplate;
  EXPECT_EQ(Proofs(2), opened);
  const HttpResponse fifth = ask({entries[1]});
  EXPECT_EQ(fifth.status, 429);
  EXPECT_THAT(TextOf(fifth), HasSubstr("4 different answers"));
  EXPECT_EQ(Proofs(2), opened);
  EXPECT_EQ(ask({entries[0], entries[1]}).body, first.body);
  // Each fellow has its own number.
  EXPECT_EQ(ask({entries[1]}, "owner-3", {2, 3}).status, 200);
}

TEST_F(PendingProofsTest, ARequestThatIsPostedAgainHasTheSameAnswerAndNoProofIsOpened) {
  Begin("again");
  const auto post = [&] { return world_->Post("matcher", 1, "/v1/exchange/admissions", request_); };
  const HttpResponse first = post();
  ASSERT_EQ(first.status, 200) << TextOf(first);
  const auto proofs = [] { return std::vector<uint64_t>{Proofs(1), Proofs(2), Proofs(3)}; };
  const auto before = proofs();
  EXPECT_EQ(post().body, first.body);
  EXPECT_EQ(proofs(), before);
  // Another state of the decider may have other rules, so it decides itself.
  Restart(1);
  EXPECT_EQ(post().status, 200);
  EXPECT_EQ(Proofs(1), before[0] + 3 * kOfATemplate);
}

TEST_F(DeciderFellowsTest, ProofsAreMeasured) {
  const uint64_t proofs = Owner(1).key().Budget()->proofs;
  EXPECT_GT(proofs, 0u);
  EXPECT_THAT(Owner(1).base->metrics().Text(),
              HasSubstr(absl::StrCat("heft_decider_proofs ", proofs, "\n")));
}

TEST(WarnOfProofsTest, WarnsOnceHalfOfThemAreOpened) {
  const auto log = [](uint64_t proofs, uint64_t most) {
    BudgetUse use;
    use.proofs = proofs;
    use.most_proofs = most;
    ::testing::internal::CaptureStderr();
    const bool warned = WarnOfProofs(use);
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(warned, text.find("half of the proofs of enrolments") != text.npos) << text;
    return warned;
  };
  EXPECT_FALSE(log(50, 100));
  EXPECT_TRUE(log(51, 100));
  EXPECT_FALSE(log(1000, 0)) << "without a limit";
}

TEST_F(DeciderFellowsTest, TwoOfThreeRenewBlocks) {
  const Server& server = *world_->server;
  const std::string gallery = world_->folder / "store:fleeting";
  const auto id = CreateGallery(server, gallery, {.seconds = 0});
  ASSERT_TRUE(id.ok()) << id.status();
  for (uint32_t owner = 1; owner <= FellowsWorld::kOwners; ++owner) {
    Owner(owner).config.galleries[*id] = {"fleeting", 0.01, 0.001, true, false};
    Restart(owner);
  }
  const Trust trust = *Trust::Load(world_->set.keys.trust);
  for (const uint64_t person : {3, 4}) {
    const auto samples =
        world_->Files(person, person == 3 ? "leaver" : "stayer", SampleUse::kEnrolment);
    ASSERT_TRUE(server.Enrol(gallery, samples).ok());
    const Bytes pending = world_->Signed(gallery, *server.Pending(*Gallery::Open(gallery)));
    const HttpResponse approved = world_->Post("matcher", 1, "/v1/exchange/admissions", pending);
    ASSERT_EQ(approved.status, 200) << TextOf(approved);
    ASSERT_TRUE(server.Activate(gallery, approved.body, "admission", trust).ok());
    ASSERT_TRUE(server.Fold(gallery).ok());
  }
  ASSERT_EQ(Remove(server, gallery, {"leaver"})->leaving, 1u);
  const Bytes request = world_->Signed(gallery, *AskRenewal(server, gallery));
  const auto before = Openings();
  const HttpResponse answer = world_->Post("matcher", 2, "/v1/exchange/renewals", request);
  ASSERT_EQ(answer.status, 200) << TextOf(answer);
  EXPECT_EQ(Openings(), before) << "a renewal is not charged";
  const auto done = Renew(server, gallery, answer.body, "answer", trust);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->erased, 1u);
  EXPECT_EQ(Decided(world_->Search(4, gallery))["identity"], "stayer");
  // Each owner gives its part of a request once.
  EXPECT_EQ(world_->Post("matcher", 2, "/v1/exchange/renewals", request).status, 409);
}

TEST_F(DeciderFellowsTest, AStoppedOwnerDelaysNothing) {
  for (const uint32_t stopped : {2u, 3u}) {
    Owner(stopped).Stop();
    const auto fact = [] { return DeciderFacts(Owner(1).service.get())[2]; };
    EXPECT_EQ(fact()["value"], "owner 1 of 3, 2 open");
    for (int i = 0; i < 3; ++i) {
      const auto began = std::chrono::steady_clock::now();
      EXPECT_EQ(Decided(world_->Search(1))["accepted"], true);
      EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(2000));
    }
    EXPECT_EQ(fact()["note"],
              absl::StrCat("shares as they were made; no answer lately: owner ", stopped));
    EXPECT_EQ(fact()["warning"], true);
    Owner(stopped).Start();
  }
  // One that takes connections and says nothing.
  Owner(2).Stop();
  const int silent = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_port = htons(Owner(2).port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(silent, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  ASSERT_EQ(bind(silent, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(listen(silent, 100), 0);
  for (int i = 0; i < 4; ++i) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(Decided(world_->Search(2))["identity"], "bob");
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(3000)) << i;
  }
  close(silent);
  // With too few of them nothing is opened or charged, and the reply is good later.
  Owner(3).Stop();
  const uint64_t before = Owner(1).Openings();
  const Bytes reply = world_->Search(1);
  const HttpResponse alone = world_->Decide(reply);
  EXPECT_EQ(alone.status, 503);
  EXPECT_THAT(TextOf(alone), HasSubstr("this key opens with 2 of 3 owners"));
  EXPECT_THAT(TextOf(alone), HasSubstr("owner 2: "));
  EXPECT_EQ(Owner(1).Openings(), before);
  Owner(2).Start();
  Owner(3).Start();
  EXPECT_EQ(Decided(reply)["accepted"], true);
}

TEST_F(DeciderFellowsTest, ARefusalIsAnOwnersWord) {
  for (const uint32_t owner : {2u, 3u}) {
    ASSERT_TRUE(Owner(owner).SetBudget({1, 1, 1, 1}).ok());
  }
  HttpResponse answer;
  uint64_t before = 0;
  for (int i = 0; i < 20 && answer.status != 429; ++i) {
    before = Sum(Openings());
    answer = world_->Decide(world_->Search(1));
  }
  ASSERT_EQ(answer.status, 429) << TextOf(answer);
  EXPECT_THAT(TextOf(answer), HasSubstr("owner "));
  EXPECT_THAT(TextOf(answer), HasSubstr("budget"));
  for (const auto& [name, value] : answer.headers) {
    EXPECT_FALSE(absl::EqualsIgnoreCase(name, "Retry-After")) << "it lasts";
  }
  EXPECT_EQ(Sum(Openings()), before) << "and nobody was charged";
}

TEST_F(DeciderFellowsTest, AFalsePartIsFound) {
  // An old part, with a good signature, for whatever is asked.
  const Bytes old = world_->Search(2);
  const Bytes stale = world_->AskPart("owner-1", 2, world_->Terms({1, 2}), old).body;
  const std::vector<std::pair<Bytes, std::string>> lies = {
      {{1, 2, 3}, "the partial opening of owner 2"},
      {stale, "of another reply"},
      {world_->Pending(), "the partial opening of owner 2"}};
  for (const auto& [lie, why] : lies) {
    Pose(2, [lie = lie](const HttpRequest&) { return BytesResponse(lie, std::string(kHeftType)); });
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Decided(world_->Search(1))["accepted"], true);
    Owner(3).Stop();
    const uint64_t before = Owner(1).Openings();
    const HttpResponse answer = world_->Decide(world_->Search(1));
    EXPECT_EQ(answer.status, 503);
    EXPECT_THAT(TextOf(answer), HasSubstr(why));
    EXPECT_EQ(Owner(1).Openings(), before);
    Owner(3).Start();
  }
}

TEST_F(DeciderFellowsTest, NobodyOpensAReplyTwice) {
  const Bytes reply = world_->Search(1);
  const Json terms = world_->Terms({1, 2});
  const uint64_t before = Owner(2).Openings();
  const HttpResponse first = world_->AskPart("owner-1", 2, terms, reply);
  ASSERT_EQ(first.status, 200) << TextOf(first);
  EXPECT_EQ(Owner(2).Openings(), before + 1);
  // Lost on the way: the same bytes, without new noise or a charge.
  EXPECT_EQ(world_->AskPart("owner-1", 2, terms, reply).body, first.body);
  EXPECT_EQ(Owner(2).Openings(), before + 1);
  // By another owner, for another set, and for a decision of its own.
  const HttpResponse other = world_->AskPart("owner-3", 2, world_->Terms({2, 3}), reply);
  EXPECT_EQ(other.status, 409);
  EXPECT_THAT(TextOf(other), HasSubstr("opened before"));
  const HttpResponse own = world_->Decide(reply, 2);
  EXPECT_EQ(own.status, 409);
  EXPECT_THAT(TextOf(own), HasSubstr("opened before"));
  // After a restart its journal still knows.
  Restart(2);
  EXPECT_EQ(world_->AskPart("owner-1", 2, terms, reply).status, 409);
  EXPECT_EQ(Owner(2).Openings(), before + 1);
  // Two of them have it now; who has not given a part yet learns nothing from one who has.
  const HttpResponse third = world_->AskPart("owner-2", 3, world_->Terms({2, 3}), reply);
  EXPECT_EQ(third.status, 200) << TextOf(third);
}

TEST_F(DeciderFellowsTest, WhoMayAskForAPart) {
  const Bytes reply = world_->Search(1);
  const auto status = [&](const std::string& subject, const Json& terms) {
    const HttpResponse answer = world_->AskPart(subject, 2, terms, reply);
    return std::make_pair(answer.status, TextOf(answer));
  };
  const uint64_t before = Owner(2).Openings();
  const Json good = world_->Terms({1, 2});
  EXPECT_EQ(status("matcher", good).first, 403) << "a matcher";
  EXPECT_EQ(status("stranger", good).first, 401) << "a certificate that no rule names";
  EXPECT_THAT(status("idler", good).second, HasSubstr("[[fellow]]")) << "no owner's";
  EXPECT_EQ(status("idler", good).first, 403);
  const auto smuggled = status("owner-1", world_->Terms({2, 3}));
  EXPECT_EQ(smuggled.first, 403);
  EXPECT_THAT(smuggled.second, HasSubstr("for others"));
  EXPECT_EQ(status("owner-1", world_->Terms({1, 3})).first, 400) << "without owner 2";
  EXPECT_EQ(status("owner-1", world_->Terms({1, 2, 3})).first, 400) << "too many";
  EXPECT_EQ(status("owner-1", world_->Terms({1})).first, 400);
  EXPECT_EQ(status("owner-1", world_->Terms({2, 1})).first, 400);
  // Its own rule, and no other.
  Json other = good;
  other["fpir"] = 0.5;
  EXPECT_EQ(status("owner-1", other).first, 409);
  EXPECT_THAT(status("owner-1", other).second, HasSubstr("rules of the owners differ"));
  other = good;
  other.erase("fmr");
  EXPECT_EQ(status("owner-1", other).first, 409);
  other = good;
  other["publish"] = 10;
  EXPECT_EQ(status("owner-1", other).first, 400);
  other = good;
  other["question"] = "scores";
  EXPECT_EQ(status("owner-1", other).first, 400);
  // Another gallery of the same matcher, an unsigned file, another kind of file.
  const HttpResponse foreign = world_->AskPart(
      "owner-1", 2, good,
      world_->Signed(world_->foreign, *world_->server->Pending(*Gallery::Open(world_->foreign))));
  EXPECT_EQ(foreign.status, 409);
  EXPECT_THAT(TextOf(foreign), HasSubstr("no [[gallery]]"));
  EXPECT_NE(world_->AskPart("owner-1", 2, good, {1, 2, 3}).status, 200);
  EXPECT_NE(world_->AskPart("owner-1", 2, good, world_->Pending()).status, 200);
  EXPECT_EQ(world_->AskPart("owner-1", 2, good, reply, "request").status, 400);
  Bytes changed = reply;
  changed[changed.size() / 2] ^= 1;
  EXPECT_NE(world_->AskPart("owner-1", 2, good, changed).status, 200);
  EXPECT_EQ(Owner(2).Openings(), before) << "nothing is opened or charged";
  // A part alone is no decision: no route takes it.
  EXPECT_EQ(status("owner-1", good).first, 200);
  EXPECT_EQ(world_->Post("owner-1", 1, "/v1/decisions", reply).status, 401);
  EXPECT_EQ(world_->Post("owner-2", 1, "/v1/decisions", reply).status, 403);
}

TEST_F(DeciderFellowsTest, AnOwnerThatDoesNotListThisOneGivesNothing) {
  for (const uint32_t owner : {2u, 3u}) {
    AccessRules rules = Owner(owner).config.common.authority.rules;
    std::erase_if(rules.certificates,
                  [](const CertificateRule& rule) { return rule.subject == "owner-1"; });
    auto install = Owner(owner).base->authority().Prepare(rules);
    ASSERT_TRUE(install.ok());
    (*install)();
    const HttpResponse answer = world_->Decide(world_->Search(1));
    EXPECT_EQ(answer.status, owner == 2 ? 200 : 503) << TextOf(answer);
    if (owner == 3) {
      EXPECT_THAT(TextOf(answer), HasSubstr("does not name this certificate"));
    }
  }
  for (const uint32_t owner : {2u, 3u}) {
    auto install =
        Owner(owner).base->authority().Prepare(Owner(owner).config.common.authority.rules);
    ASSERT_TRUE(install.ok());
    (*install)();
  }
}

TEST_F(DeciderFellowsTest, ThreeOfFourDecide) {
  FellowsWorld world("decider_fellows_four", 4, 3);
  world.Enrol(1, "ann");
  const HttpResponse approved =
      world.Post("matcher", 1, "/v1/exchange/admissions", world.Pending());
  ASSERT_EQ(approved.status, 200) << TextOf(approved);
  ASSERT_TRUE(
      world.server
          ->Activate(world.gallery, approved.body, "admission", *Trust::Load(world.set.keys.trust))
          .ok());
  const auto openings = [&] {
    uint64_t sum = 0;
    for (uint32_t owner = 1; owner <= 3; ++owner) sum += world.Owner(owner).Openings();
    return sum;
  };
  world.Owner(4).Stop();
  // An owner that has answered counts as there for half a second: until then its silence costs a
  // question that others have answered (docs/owners.md).
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  for (uint32_t owner = 1; owner <= 3; ++owner) {
    const uint64_t before = openings();
    const HttpResponse answer = world.Decide(world.Search(1), owner);
    ASSERT_EQ(answer.status, 200) << TextOf(answer);
    EXPECT_EQ(Json::parse(answer.body)["identity"], "ann");
    EXPECT_EQ(openings(), before + 3);
  }
  world.Owner(2).Stop();
  const HttpResponse answer = world.Decide(world.Search(1), 1);
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(TextOf(answer), HasSubstr("opens with 3 of 4 owners"));
}

TEST(GivenPartsTest, AreForgottenInTimeAndBySize) {
  GivenParts given;
  int made = 0;
  const auto ask = [&](uint8_t key, uint64_t now, size_t size) {
    return given.Once(Digest{key}, {}, now, [&]() -> absl::StatusOr<Bytes> {
      ++made;
      return Bytes(size, key);
    });
  };
  EXPECT_EQ(ask(1, 100, 3)->size(), 3u);
  EXPECT_EQ(ask(1, 100 + kGivenLife - 1, 3)->size(), 3u);
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(ask(1, 100 + kGivenLife, 3).ok());
  EXPECT_EQ(made, 2) << "its journal refuses then";
  EXPECT_TRUE(ask(2, 800, kMaxGiven).ok());
  EXPECT_TRUE(ask(1, 800, 3).ok());
  EXPECT_EQ(made, 4);
  EXPECT_LE(given.bytes(), kMaxGiven);
  // What fails is not kept.
  EXPECT_FALSE(given.Once(Digest{9}, {}, 800, [] { return absl::UnavailableError("no"); }).ok());
  EXPECT_TRUE(ask(9, 800, 1).ok());
  // However large the newest is, it stays until the next one.
  made = 0;
  EXPECT_TRUE(ask(3, 900, kMaxGiven + 1).ok());
  EXPECT_TRUE(ask(3, 900, 0).ok());
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(ask(4, 900, 3).ok());
  EXPECT_EQ(given.bytes(), 3u);
}

TEST(GivenPartsTest, FewAnswersAreGivenAboutAFile) {
  GivenParts given;
  const auto ask = [&](uint8_t file, uint8_t question, uint64_t now, size_t size = 1) {
    return given
        .Once(Digest{file}, Digest{question}, now,
              [&]() -> absl::StatusOr<Bytes> { return Bytes(size, question); })
        .status()
        .code();
  };
  constexpr auto kOk = absl::StatusCode::kOk, kSpent = absl::StatusCode::kResourceExhausted;
  for (uint8_t question = 0; question < kMostGiven; ++question) {
    EXPECT_EQ(ask(1, question, 100), kOk);
  }
  EXPECT_EQ(ask(1, 9, 100), kSpent);
  EXPECT_EQ(ask(1, 0, 100), kOk) << "an answer that was given";
  EXPECT_EQ(ask(2, 9, 100), kOk) << "another file";
  EXPECT_EQ(ask(1, 9, 100 + kGivenLife), kOk);
  // An answer that was forgotten because of its size is counted when it is made again.
  for (uint64_t i = 0; i < kMostGiven; ++i) {
    EXPECT_EQ(ask(3, 0, 900, kMaxGiven), kOk);
    EXPECT_EQ(ask(static_cast<uint8_t>(10 + i), 0, 900, kMaxGiven), kOk);
  }
  EXPECT_EQ(ask(3, 0, 900), kSpent);
}

TEST_F(DeciderFellowsTest, AConfigurationThatDoesNotFitTheKeyIsRefused) {
  PassphraseKeeper passphrase;
  const auto why = [&](const DeciderConfig& config) {
    return std::string(LoadDeciderState(config, &passphrase).status().message());
  };
  DeciderConfig config = Owner(1).config;
  config.fellows.clear();
  EXPECT_THAT(why(config), HasSubstr("opens with 2 of 3 owners"));
  config = Owner(1).config;
  config.fellows[0].owner = 1;
  EXPECT_THAT(why(config), HasSubstr("this is owner 1 of 3"));
  config.fellows[0].owner = 4;
  EXPECT_THAT(why(config), HasSubstr("this is owner 1 of 3"));
  config = Owner(1).config;
  config.key.signed_gallery = true;
  EXPECT_THAT(why(config), HasSubstr("signed_gallery"));
}

}  // namespace
}  // namespace heft::service
