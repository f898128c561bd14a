// SPDX-License-Identifier: Apache-2.0
// The key owner's service over TLS, asked by a matcher and by people, with real galleries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "base/files.h"
#include "heft/gallery_admin.h"
#include "service/access/jwt.h"
#include "service/decider/world_testing.h"
#include "service/json.h"

namespace heft::service {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::World;

class DeciderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World; }
  static void TearDownTestSuite() { delete world_; }
  // Approves all pending enrolments of a gallery with automatic admission.
  void Approve(const std::string& gallery) {
    const auto answer = world_->Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions",
                                    world_->Pending(gallery));
    ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
    const auto done =
        world_->server->Activate(gallery, answer.body, "admission", world_->owner_key);
    ASSERT_TRUE(done.ok()) << done.status();
  }
  HttpResponse Decide(const Bytes& reply, ServiceRole role = ServiceRole::kMachine,
                      const std::string& accept = "") {
    return world_->Ask(role, "POST", "/v1/decisions", reply, std::string(kHeftType), accept);
  }
  static World* world_;
};
World* DeciderTest::world_ = nullptr;

TEST_F(DeciderTest, AReplyBecomesASignedDecisionOnce) {
  World& world = *world_;
  world.Enrol(world.visitors, 1, "ann");
  world.Enrol(world.visitors, 2, "bob");
  Approve(world.visitors);
  const Bytes reply = world.Search(world.visitors, 1);
  const uint64_t before = world.service.state()->owner.Budget()->openings;
  const HttpResponse first = Decide(reply);
  ASSERT_EQ(first.status, 200) << std::string(first.body.begin(), first.body.end());
  const Json decision = Json::parse(first.body);
  EXPECT_EQ(decision["accepted"], true) << decision;
  EXPECT_EQ(decision["identity"], "ann");
  EXPECT_EQ(decision["kind"], "identification");
  EXPECT_EQ(decision["rule"]["fpir"], 0.01);
  EXPECT_EQ(decision["gallery_name"], "visitors");
  EXPECT_TRUE(decision["likelihood"] == "weak" || decision["likelihood"] == "moderate" ||
              decision["likelihood"] == "strong");
  for (const char* const secret : {"score", "threshold", "log_likelihood_ratio", "candidates"}) {
    EXPECT_FALSE(decision.contains(secret)) << secret;
  }
  // The answer was lost: a repeated request costs nothing.
  const HttpResponse second = Decide(reply);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(world.service.state()->owner.Budget()->openings, before + 1);
  // From another caller it is a reply that was opened before.
  EXPECT_EQ(Decide(reply, ServiceRole::kRelyingParty).status / 100, 4);

  const Json stranger = Json::parse(Decide(world.Search(world.visitors, 77)).body);
  EXPECT_EQ(stranger["accepted"], false);
  EXPECT_EQ(stranger["identity"], "");
  EXPECT_EQ(stranger["likelihood"], "");
}

// The answer is found again by statement and signature, which stand before another content here.
TEST_F(DeciderTest, AnotherContentUnderTheSignatureIsNotOpened) {
  World& world = *world_;
  world.Enrol(world.visitors, 3, "cem");
  Approve(world.visitors);
  const Bytes reply = world.Search(world.visitors, 3);
  Bytes changed = reply, trailer = reply;
  changed[changed.size() / 2] ^= 1;
  trailer.back() ^= 1;
  const auto openings = [&] { return world.service.state()->owner.Budget()->openings; };
  const uint64_t before = openings();
  EXPECT_EQ(Decide(changed).status / 100, 4);
  EXPECT_EQ(openings(), before);
  const HttpResponse genuine = Decide(reply);
  ASSERT_EQ(genuine.status, 200) << std::string(genuine.body.begin(), genuine.body.end());
  EXPECT_EQ(Json::parse(genuine.body)["identity"], "cem");
  // The caller that has the answer gets it again; another caller does not.
  for (const Bytes& same : {changed, trailer}) {
    EXPECT_EQ(Decide(same).body, genuine.body);
    EXPECT_EQ(Decide(same, ServiceRole::kRelyingParty).status / 100, 4);
  }
  EXPECT_EQ(openings(), before + 1);
}

TEST_F(DeciderTest, WhoHasADecisionCanCheckIt) {
  World& world = *world_;
  const HttpResponse jws =
      Decide(world.Search(world.visitors, 2), ServiceRole::kRelyingParty, "application/jwt");
  ASSERT_EQ(jws.status, 200);
  EXPECT_EQ(jws.content_type, "application/jwt");
  const HttpResponse keys = world.Ask(ServiceRole::kClient, "GET", "/v1/keys");
  ASSERT_EQ(keys.status, 200);
  const auto set = KeySet::Parse(std::string(keys.body.begin(), keys.body.end()), "keys");
  ASSERT_TRUE(set.ok()) << set.status();
  std::string text(jws.body.begin(), jws.body.end());
  const auto claims = VerifyJws(text, *set, "heft-decision+jwt");
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_EQ((*claims)["iss"], "https://decider.example");
  EXPECT_EQ((*claims)["exp"].get<int64_t>() - (*claims)["iat"].get<int64_t>(), 300);
  EXPECT_FALSE(VerifyJws(text, *set, "JWT").ok()) << "no token";
  text[text.size() / 2] = text[text.size() / 2] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(VerifyJws(text, *set, "heft-decision+jwt").ok());
}

// Relier: a relying party with the request that it made.
struct Relier {
  std::string name, challenge, claimed;
  const KeySet* keys;
  // Takes: whether the party may act on the answer.
  bool Takes(const HttpResponse& answer) const {
    const auto claims =
        VerifyJws(std::string(answer.body.begin(), answer.body.end()), *keys, "heft-decision+jwt");
    return claims.ok() && claims->value("aud", "") == name &&
           claims->value("challenge", "") == challenge && claims->value("claimed", "") == claimed;
  }
};

TEST_F(DeciderTest, ADecisionIsForOneRelyingPartyAndOneQuestion) {
  World& world = *world_;
  const HttpResponse shown = world.Ask(ServiceRole::kClient, "GET", "/v1/keys");
  const auto keys = KeySet::Parse(std::string(shown.body.begin(), shown.body.end()), "keys");
  ASSERT_TRUE(keys.ok()) << keys.status();
  const auto ask = [&](const Bytes& reply, const std::string& audience,
                       const std::string& challenge, ServiceRole role = ServiceRole::kMachine) {
    ClientRequest request = {.method = "POST", .target = "/v1/decisions", .body = reply};
    request.content_type = std::string(kHeftType);
    request.headers = {{"Accept", "application/jwt"},
                       {"X-Heft-On-Behalf-Of", "door%207"},
                       {"X-Heft-Request-Nonce", "of-the-client"}};
    if (!audience.empty()) request.headers.emplace_back("X-Heft-Audience", audience);
    if (!challenge.empty()) request.headers.emplace_back("X-Heft-Challenge", challenge);
    return world.Send(role, request);
  };
  const auto claim = [&](const std::string& who) {
    return world.Signed(world.visitors, *world.server->Verify(*Gallery::Open(world.visitors),
                                                              world.Files(1, ""), who));
  };
  const Bytes reply = claim("ann");
  const HttpResponse answer = ask(reply, "bank%20%C3%A9", "c-1");
  ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
  EXPECT_TRUE((Relier{"bank \u00e9", "c-1", "ann", &*keys}.Takes(answer)));
  // Shown to another party, to the same party for a later question, or as another person's claim.
  EXPECT_FALSE((Relier{"agency", "c-1", "ann", &*keys}.Takes(answer)));
  EXPECT_FALSE((Relier{"bank \u00e9", "c-2", "ann", &*keys}.Takes(answer)));
  EXPECT_FALSE((Relier{"bank \u00e9", "c-1", "bob", &*keys}.Takes(answer)));
  const std::string jws(answer.body.begin(), answer.body.end());
  const auto claims = VerifyJws(jws, *keys, "heft-decision+jwt");
  EXPECT_EQ((*claims)["azp"], "door 7");
  EXPECT_EQ((*claims)["nonce"], "of-the-client");
  EXPECT_EQ((*claims)["kind"], "verification");
  // The decider makes no decision for another party from a reply that it has opened.
  EXPECT_EQ(ask(reply, "agency", "c-1").status / 100, 4);
  EXPECT_EQ(ask(reply, "bank%20%C3%A9", "c-2").status / 100, 4);
  EXPECT_EQ(ask(reply, "bank%20%C3%A9", "c-1").body, answer.body);
  // A rejection names the claimed identity, too.
  const HttpResponse rejected = ask(claim("bob"), "bank", "");
  EXPECT_TRUE((Relier{"bank", "", "bob", &*keys}.Takes(rejected)));
  // A caller that is not a machine can only ask for itself.
  const HttpResponse own = ask(claim("ann"), "", "c-3", ServiceRole::kRelyingParty);
  EXPECT_TRUE((Relier{"relying-party", "c-3", "ann", &*keys}.Takes(own)));
  EXPECT_EQ(ask(claim("ann"), "bank", std::string(257, 'c')).status, 400);
  EXPECT_EQ(ask(claim("ann"), "bank%0", "c").status, 400);
}

TEST_F(DeciderTest, WhatHasNoRuleIsRefused) {
  World& world = *world_;
  const auto refused = [&](const Bytes& body) {
    const HttpResponse response = Decide(body);
    EXPECT_GE(response.status, 400);
    EXPECT_LT(response.status, 500);
    return std::string(response.body.begin(), response.body.end());
  };
  world.Enrol(world.elsewhere, 5, "eve");
  EXPECT_THAT(refused(world.Signed(world.elsewhere,
                                   *world.server->Pending(*Gallery::Open(world.elsewhere)))),
              HasSubstr("[[gallery]]"));
  const auto claim =
      world.server->Verify(*Gallery::Open(world.visitors), world.Files(1, ""), "ann");
  ASSERT_TRUE(claim.ok()) << claim.status();
  const Bytes good = world.Signed(world.visitors, *claim);
  EXPECT_THAT(refused(world.Signed(world.staff, *claim)), HasSubstr("made from another gallery"));
  EXPECT_EQ(Decide(good).status, 200);
  // Not signed, signed by an unknown key, or changed on the way.
  EXPECT_NE(refused(*claim), "");
  const SigningKey stranger = *SigningKey::Generate();
  EXPECT_NE(refused(*stranger.Sign({.role = Role::kServer,
                                    .audience = world.owner_key,
                                    .gallery = Gallery::Open(world.visitors)->id()},
                                   *claim)),
            "");
  Bytes changed = world.Search(world.visitors, 1);
  changed[changed.size() / 2] ^= 1;
  EXPECT_NE(refused(changed), "");
  EXPECT_NE(refused({}), "");
  EXPECT_EQ(world.Ask(ServiceRole::kMachine, "POST", "/v1/decisions", good, "text/plain").status,
            415);
}

TEST_F(DeciderTest, RolesDoWhatTheyMay) {
  World& world = *world_;
  const Bytes reply = world.Search(world.visitors, 1);
  for (const ServiceRole role : {ServiceRole::kClient, ServiceRole::kRegistrar,
                                 ServiceRole::kOperator, ServiceRole::kAuditor}) {
    EXPECT_EQ(Decide(reply, role).status, 403) << ServiceRoleName(role);
    EXPECT_EQ(world.Ask(role, "POST", "/v1/exchange/admissions", reply).status, 403);
    EXPECT_EQ(world.Ask(role, "POST", "/v1/exchange/renewals", reply).status, 403);
  }
  EXPECT_EQ(world.Ask(ServiceRole::kMachine, "GET", "/v1/budget").status, 403);
  EXPECT_EQ(
      world
          .Ask(ServiceRole::kMachine, "POST", "/v1/admissions/000102030405060708090a0b0c0d0e0f",
               {'{', '}'}, "application/json")
          .status,
      403)
      << "no machine decides in a person's place";
}

TEST_F(DeciderTest, APersonDecidesWhereTheConfigurationSaysSo) {
  World& world = *world_;
  world.Enrol(world.staff, 11, "sam");
  world.Enrol(world.staff, 12, "tina");
  const auto ask = [&] {
    return world.Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions",
                     world.Pending(world.staff));
  };
  EXPECT_EQ(ask().status, 202);
  EXPECT_EQ(ask().status, 202) << "again, and it is there once";
  const Json listed = world.AskJson(ServiceRole::kOperator, "GET", "/v1/admissions");
  ASSERT_EQ(listed["total"], 2);
  EXPECT_EQ(world.AskJson(ServiceRole::kOperator, "GET", "/v1/admissions?count=1")["next"], "1");
  EXPECT_EQ(
      world.AskJson(ServiceRole::kOperator, "GET", "/v1/admissions?count=1&cursor=1")["admissions"]
          .size(),
      1u);
  std::string sam, tina;
  for (const Json& entry : listed["admissions"]) {
    (entry["people"][0]["identity"] == "sam" ? sam : tina) = entry["entry"].get<std::string>();
  }
  const std::string path =
      "/v1/admissions/" + listed["admissions"][0]["gallery"].get<std::string>();
  const Json said =
      world.AskJson(ServiceRole::kOperator, "POST", path, {{"approve", {sam}}, {"reject", {tina}}});
  EXPECT_EQ(said["approved"], 1);
  EXPECT_EQ(said["pending"], 0);
  const HttpResponse answer = ask();
  ASSERT_EQ(answer.status, 200);
  const auto done = world.server->Activate(world.staff, answer.body, "admission", world.owner_key);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->activated, 1u);
  EXPECT_EQ(done->rejected, 1u);
  // The gallery "staff" has no rule for verifications.
  const auto claim = world.server->Verify(*Gallery::Open(world.staff), world.Files(11, ""), "sam");
  ASSERT_TRUE(claim.ok()) << claim.status();
  const HttpResponse decided = Decide(world.Signed(world.staff, *claim));
  EXPECT_EQ(decided.status / 100, 4);
  EXPECT_THAT(std::string(decided.body.begin(), decided.body.end()), HasSubstr("fmr"));
  // No enrolment is pending: the state is signed without a person's decision.
  EXPECT_EQ(ask().status, 200);
  const std::string text = "{\"approve\": [\"" + tina + "\"]}";
  EXPECT_EQ(
      world
          .Ask(ServiceRole::kOperator, "POST", path, {text.begin(), text.end()}, "application/json")
          .status,
      404);
}

// With automatic admission, too, a person chooses between enrolments of one new name.
TEST_F(DeciderTest, APersonChoosesBetweenEnrolmentsOfOneName) {
  World& world = *world_;
  // The same vectors, which are sound under this model.
  for (const char* name : {"uma", "uma", "vera"}) world.Enrol(world.visitors, 11, name);
  const auto exchange = [&] {
    const HttpResponse answer = world.Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions",
                                          world.Pending(world.visitors));
    EXPECT_EQ(answer.status, 200);
    return *world.server->Activate(world.visitors, answer.body, "admission", world.owner_key);
  };
  const ActivateResult first = exchange();
  EXPECT_EQ(first.activated, 1u);
  EXPECT_EQ(first.pending, 2u);
  EXPECT_EQ(exchange().pending, 2u) << "the new state is signed";
  EXPECT_EQ(world
                .Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions",
                     world.Pending(world.visitors))
                .status,
            202);
  const Json listed = world.AskJson(ServiceRole::kOperator, "GET", "/v1/admissions");
  ASSERT_EQ(listed["total"], 2);
  std::vector<std::string> entries;
  for (const Json& entry : listed["admissions"]) {
    EXPECT_EQ(entry["people"][0]["others"], 1);
    EXPECT_EQ(entry["client"], "");
    entries.push_back(entry["entry"]);
  }
  const std::string path =
      "/v1/admissions/" + listed["admissions"][0]["gallery"].get<std::string>();
  const std::string both = Json({{"approve", entries}}).dump();
  EXPECT_EQ(
      world
          .Ask(ServiceRole::kOperator, "POST", path, {both.begin(), both.end()}, "application/json")
          .status,
      409);
  world.AskJson(ServiceRole::kOperator, "POST", path, {{"approve", {entries[1]}}});
  EXPECT_EQ(exchange().activated, 1u);
  const ActivateResult last = exchange();
  EXPECT_EQ(last.rejected, 1u) << "it is enrolled now, so the other needs a registrar";
  EXPECT_EQ(last.pending, 0u);
}

TEST_F(DeciderTest, TheMatchersRequestIdIsInTheAuditLog) {
  World& world = *world_;
  const auto ask = [&](ServiceRole role, const std::string& id) {
    ClientRequest request = {.method = "POST", .target = "/v1/decisions"};
    request.body = {1, 2, 3};
    request.content_type = std::string(kHeftType);
    request.headers = {{"X-Request-Id", id}, {"X-Heft-On-Behalf-Of", "door%207"}};
    const HttpResponse answer = world.Send(role, request);
    EXPECT_EQ(answer.status, 400);
    for (const auto& [name, value] : answer.headers) {
      if (name == "x-request-id") return value;
    }
    return std::string();
  };
  EXPECT_EQ(ask(ServiceRole::kMachine, "of-the-matcher.1"), "of-the-matcher.1");
  EXPECT_THAT(*ReadTextFile(world.folder / "audit.log"),
              HasSubstr("\"request\":\"of-the-matcher.1\""));
  EXPECT_NE(ask(ServiceRole::kRelyingParty, "of-the-matcher.2"), "of-the-matcher.2");
  EXPECT_NE(ask(ServiceRole::kMachine, "with a space"), "with a space");
  EXPECT_NE(ask(ServiceRole::kMachine, std::string(65, 'a')), std::string(65, 'a'));
}

TEST_F(DeciderTest, BlocksAreRenewed) {
  World& world = *world_;
  const std::string gallery = world.fleeting;
  // The server itself takes back entries of the journal; here none stay in it.
  for (const uint64_t person : {31, 32, 33}) {
    world.Enrol(gallery, person, person == 31 ? "leaver" : "stayer " + std::to_string(person));
    Approve(gallery);
    ASSERT_TRUE(world.server->Fold(gallery).ok());
  }
  const auto removed = Remove(*world.server, gallery, {"leaver"});
  ASSERT_TRUE(removed.ok()) << removed.status();
  ASSERT_EQ(removed->leaving, 1u) << removed->removed << " removed, " << removed->erased
                                  << " erased";
  const auto request = AskRenewal(*world.server, gallery);
  ASSERT_TRUE(request.ok()) << request.status();
  const HttpResponse answer = world.Ask(ServiceRole::kMachine, "POST", "/v1/exchange/renewals",
                                        world.Signed(gallery, *request));
  ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
  const auto done = Renew(*world.server, gallery, answer.body, "answer", world.owner_key);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->erased, 1u);
  EXPECT_EQ(done->receipts.size(), 1u);
}

TEST_F(DeciderTest, EverythingIsWrittenDown) {
  World& world = *world_;
  const auto head = VerifyAuditLog(world.folder / "audit.log");
  ASSERT_TRUE(head.ok()) << head.status();
  const std::string log = *ReadTextFile(world.folder / "audit.log");
  EXPECT_THAT(log, HasSubstr("\"accepted\":true"));
  EXPECT_THAT(log, HasSubstr("\"identity\":\"ann\""));
  EXPECT_THAT(log, HasSubstr("\"event\":\"admission-word\""));
  EXPECT_THAT(log, HasSubstr("\"rejected\":[{\"identity\":\"tina\""));
  for (const char* const secret : {"\"score\"", "\"likelihood\"", "\"threshold\""}) {
    EXPECT_EQ(log.find(secret), std::string::npos) << secret;
  }
  // "for" is recorded if the other daemon names a party; no other caller may ask for others.
  size_t for_others = 0;
  ASSERT_TRUE(VerifyAuditLog(world.folder / "audit.log", nullptr, [&](uint64_t, const Json& line) {
                const bool machine = line.value("principal", "") == "machine";
                EXPECT_EQ(line.contains("for"), machine) << line;
                for_others += machine ? 1 : 0;
              }).ok());
  EXPECT_GT(for_others, 0u);
  const Json budget = world.AskJson(ServiceRole::kAuditor, "GET", "/v1/budget");
  EXPECT_GT(budget["openings"], 0);
  EXPECT_TRUE(world.service.Ready().ok());
  const std::string metrics = world.base->metrics().Text();
  EXPECT_THAT(metrics, HasSubstr("heft_decider_decisions_total{"));
  EXPECT_THAT(metrics, HasSubstr("heft_decider_pending 0"));
}

TEST_F(DeciderTest, TheConsoleIsClosedToOthersScripts) {
  World& world = *world_;
  const HttpResponse page = world.Ask(ServiceRole::kOperator, "GET", "/console/");
  ASSERT_EQ(page.status, 200);
  bool policy = false;
  for (const auto& [name, value] : page.headers) {
    policy = policy || (absl::EqualsIgnoreCase(name, "Content-Security-Policy") &&
                        value.find("default-src 'none'") != std::string::npos &&
                        value.find("unsafe") == std::string::npos);
  }
  EXPECT_TRUE(policy);
  const std::string html(page.body.begin(), page.body.end());
  for (const char* const inline_code : {"onclick", "<style", "style=", "<script>", "http:"}) {
    EXPECT_EQ(html.find(inline_code), std::string::npos) << inline_code;
  }
  const Json about = world.AskJson(ServiceRole::kOperator, "GET", "/v1/service");
  EXPECT_EQ(about["service"], "decider");
  EXPECT_THAT(about["operations"].dump(), HasSubstr("decideAdmissions"));
}

}  // namespace
}  // namespace heft::service
