// SPDX-License-Identifier: Apache-2.0
// A person in the service: enrolled, activated, found, verified, replaced, removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heft/gallery_admin.h"
#include "service/json.h"
#include "service/matcher/testing.h"

namespace heft::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::KeyMaterial;
using testing::MatcherWorld;

class MatcherTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new heft::testing::TemporaryFolder;
    keys_ = new KeyMaterial(folder_->path(), 1);
    records_ = new testing::Records("matcher");
  }
  static void TearDownTestSuite() {
    delete records_;
    delete keys_;
    delete folder_;
  }
  void SetUp() override { world_ = std::make_unique<MatcherWorld>(*keys_, records_); }
  static std::string Text(const HttpResponse& response) {
    return {response.body.begin(), response.body.end()};
  }
  static Json JsonOf(const HttpResponse& response) { return MatcherWorld::JsonOf(response); }
  std::string Address() { return *world_->state().galleries.Address("main"); }

  inline static heft::testing::TemporaryFolder* folder_ = nullptr;
  inline static KeyMaterial* keys_ = nullptr;
  inline static testing::Records* records_ = nullptr;
  std::unique_ptr<MatcherWorld> world_;
};

TEST_F(MatcherTest, WhoeverIsEnrolledIsFound) {
  world_->Start();
  for (const auto& [name, person] : std::map<std::string, uint64_t>{{"ann", 1}, {"bob", 2}}) {
    const HttpResponse enrolled = world_->Enrol(name, person);
    ASSERT_EQ(enrolled.status, 201) << Text(enrolled);
    EXPECT_EQ(JsonOf(enrolled)["personId"], name);
    EXPECT_EQ(JsonOf(enrolled)["others"]["status"], "active");
    EXPECT_EQ(JsonOf(enrolled)["others"]["galleries"][0]["brought"], 1);
  }
  const Json found = JsonOf(world_->Identify(2));
  EXPECT_EQ(found["accepted"], true) << found;
  EXPECT_EQ(found["identity"], "bob");
  EXPECT_FALSE(found.contains("score"));
  EXPECT_EQ(JsonOf(world_->Identify(3))["accepted"], false);
  // As JSON, and as the signed statement alone.
  const HttpResponse jws = world_->Identify(1, "application/jwt");
  EXPECT_EQ(jws.content_type, "application/jwt");
  EXPECT_EQ(Text(jws), "a.b.c");
  for (const uint64_t person : {1, 2}) {
    ClientRequest request =
        MatcherWorld::Form("POST", "/v1/verify/main/ann", keys_->Sample(person));
    const Json verified = JsonOf(world_->Send("relying-party", request));
    EXPECT_EQ(verified["accepted"], person == 1) << verified;
    EXPECT_EQ(verified["kind"], "verification");
  }
  // The audience and the challenge go to the decider, which signs them.
  ClientRequest bound = MatcherWorld::Form("POST", "/v1/verify/main/ann", keys_->Sample(1));
  bound.headers = {{"X-Heft-Audience", "bank%20b"}, {"X-Heft-Challenge", "c-1"}};
  const Json said = JsonOf(world_->Send("client", bound));
  EXPECT_EQ(said["aud"], "bank b");
  EXPECT_EQ(said["azp"], "client");
  EXPECT_EQ(said["challenge"], "c-1");
  EXPECT_EQ(said["claimed"], "ann");
  EXPECT_EQ(said["nonce"].get<std::string>().size(), 22u);
  bound = MatcherWorld::Form("POST", "/v1/identify/main", keys_->Sample(1));
  bound.headers = {{"X-Heft-Challenge", std::string(300, 'c')}};
  EXPECT_EQ(world_->Send("client", bound).status, 400);
  bound.headers = {{"X-Heft-Challenge", "c"}, {"Accept", "application/vnd.heft"}};
  EXPECT_EQ(world_->Send("client", bound).status, 400);
  // An unknown person gets the same kind of answer.
  EXPECT_EQ(JsonOf(world_->Send("client", MatcherWorld::Form("POST", "/v1/verify/main/nobody",
                                                             keys_->Sample(1))))["accepted"],
            false);
}

TEST_F(MatcherTest, JsonSaysTheSameAsAForm) {
  world_->Start();
  Json data = Json::array();
  for (const auto& bytes : keys_->Sample(1)) {
    data.push_back({{"biometricType", "FACE"},
                    {"template", Base64(bytes)},
                    {"templateFormat", "heft-sample-1"}});
  }
  const Json encounter = {{"encounterType", "FIRST"},
                          {"galleries", {"main", "other"}},
                          {"metadata", {{"site", "berlin"}, {"list", {"a", "b"}}}},
                          {"biometricData", data}};
  const HttpResponse enrolled = world_->SendJson(
      "registrar", "POST", "/v1/persons/ann%20b/encounters?wait=60", encounter.dump());
  ASSERT_EQ(enrolled.status, 201) << Text(enrolled);
  EXPECT_EQ(JsonOf(enrolled)["others"]["galleries"].size(), 2u);
  const Json person = JsonOf(world_->Get("registrar", "/v1/persons/ann%20b"));
  ASSERT_EQ(person["galleries"].size(), 2u) << person;
  EXPECT_EQ(person["galleries"][0]["templates"][0]["encounterId"], JsonOf(enrolled)["encounterId"]);
  EXPECT_EQ(person["galleries"][1]["templates"][0]["metadata"],
            Json({"site=berlin", "list=a", "list=b"}));
  const Json encounters = JsonOf(world_->Get("registrar", "/v1/persons/ann%20b/encounters"));
  ASSERT_EQ(encounters.size(), 1u);
  EXPECT_EQ(encounters[0]["galleries"], Json({"main", "other"}));
  const auto ask = [&](const Json& filter) {
    return JsonOf(world_->SendJson("client", "POST", "/v1/identify/main",
                                   Json({{"filter", filter}, {"biometricData", data}}).dump()));
  };
  EXPECT_EQ(ask({{"site", "berlin"}})["accepted"], true);
  EXPECT_EQ(ask({{"site", {"rome", "berlin"}}, {"list", "b"}})["accepted"], true);
  EXPECT_EQ(ask({{"site", "rome"}})["accepted"], false);
  EXPECT_EQ(ask({{"site", {{"at_least", 3}}}})["accepted"], false);
}

TEST_F(MatcherTest, AReplyGoesBackAsItIs) {
  world_->Start(/*with_decider=*/false);
  ClientRequest brought = MatcherWorld::Form("POST", "/v1/persons/ann/encounters", keys_->Sample(1),
                                             {{"galleries", {"main"}}});
  EXPECT_EQ(world_->Send("registrar", brought).status, 201);
  EXPECT_EQ(JsonOf(world_->Get("registrar", "/v1/persons/ann"))["galleries"][0]["status"],
            "pending");
  // By hand: the request for pending enrolments goes to the key owner, and the answer comes back.
  const KeyOwner owner = world_->Owner();
  const HttpResponse request = world_->Get("machine", "/v1/galleries/main/admission");
  ASSERT_EQ(request.status, 200) << Text(request);
  ClientRequest answer;
  answer.method = "POST";
  answer.target = "/v1/galleries/main/admission";
  answer.content_type = std::string(kHeftType);
  answer.body = testing::Must(owner.Approve(request.body, "request")).signed_admission;
  EXPECT_EQ(JsonOf(world_->Send("machine", answer))["activated"], 1);
  for (const char* accept : {"application/vnd.heft", "*/*"}) {
    const HttpResponse reply = world_->Identify(1, accept);
    ASSERT_EQ(reply.status, 200) << Text(reply);
    EXPECT_EQ(reply.content_type, kHeftType);
    const auto opened = owner.Open(reply.body, "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->candidates[0].identity, "ann");
    EXPECT_GT(opened->candidates[0].score, 0.8);
  }
  EXPECT_EQ(world_->Identify(1, "application/json").status, 406);
  ClientRequest renew;
  renew.method = "POST";
  renew.target = "/v1/galleries/main/renew";
  EXPECT_EQ(world_->Send("operator", renew).status, 409);
}

TEST_F(MatcherTest, WhoGoesLeavesAReceipt) {
  world_->Start();
  for (const uint64_t person : {1, 2, 3}) {
    ASSERT_EQ(world_->Enrol(absl::StrCat("p", person), person).status, 201);
  }
  ClientRequest remove;
  remove.method = "DELETE";
  remove.target = "/v1/persons/p2";
  const HttpResponse removed = world_->Send("registrar", remove);
  ASSERT_EQ(removed.status, 200) << Text(removed);
  const Json one = JsonOf(removed)["galleries"][0];
  EXPECT_EQ(one["removed"], 1);
  EXPECT_EQ(one["erased"], 1);
  EXPECT_EQ(one["overwritten"], world_->state().galleries.overwrites()) << one;
  ASSERT_EQ(one["receipts"].size(), 1u);
  const auto receipt = DecodeBase64(one["receipts"][0].get<std::string>());
  const auto says = ReadReceipt(*receipt, "receipt");
  ASSERT_TRUE(says.ok()) << says.status();
  EXPECT_THAT(says->persons, ElementsAre(one["persons"][0].get<std::string>()));
  EXPECT_EQ(JsonOf(world_->Identify(2))["accepted"], false);
  EXPECT_EQ(JsonOf(world_->Identify(3))["accepted"], true);
  EXPECT_EQ(world_->Get("registrar", "/v1/persons/p2").status, 404);
  EXPECT_EQ(world_->Send("registrar", remove).status, 404);
  const Json receipts = JsonOf(world_->Get("auditor", "/v1/receipts?gallery=main"));
  ASSERT_EQ(receipts["receipts"].size(), 1u);
  EXPECT_EQ(receipts["receipts"][0]["receipt"], one["receipts"][0]);
}

// A person whose entry has left the journal stays in a block until the key owner renews it.
TEST_F(MatcherTest, BlocksAreRenewedWhereSomebodyLeavesThem) {
  world_->config.retained.seconds = 0;
  world_->Start();
  for (const uint64_t person : {1, 2}) {
    ASSERT_EQ(world_->Enrol(absl::StrCat("p", person), person).status, 201);
  }
  ClientRequest compact;
  compact.method = "POST";
  compact.target = "/v1/galleries/main/compact";
  const HttpResponse begun = world_->Send("operator", compact);
  ASSERT_EQ(begun.status, 202) << Text(begun);
  EXPECT_EQ(world_->Await("operator", begun)["status"], "done");
  ClientRequest remove;
  remove.method = "DELETE";
  remove.target = "/v1/persons/p1?gallery=main";
  const HttpResponse removed = world_->Send("registrar", remove);
  ASSERT_EQ(removed.status, 202) << Text(removed);
  const Json task = world_->Await("registrar", removed);
  ASSERT_EQ(task["status"], "done") << task;
  EXPECT_EQ(task["result"]["leaving"], 0);
  EXPECT_EQ(task["result"]["receipts"].size(), 1u) << task;
  EXPECT_EQ(world_->decider().renewals, 1);
  EXPECT_EQ(JsonOf(world_->Identify(1))["accepted"], false);
  EXPECT_EQ(JsonOf(world_->Identify(2))["accepted"], true);
}

// The same with files that are carried by hand.
TEST_F(MatcherTest, BlocksAreRenewedByHand) {
  world_->config.retained.seconds = 0;
  world_->Start(/*with_decider=*/false);
  const KeyOwner owner = world_->Owner();
  for (const uint64_t person : {1, 2}) {
    ASSERT_EQ(
        world_
            ->Send("registrar",
                   MatcherWorld::Form("POST", absl::StrCat("/v1/persons/p", person, "/encounters"),
                                      keys_->Sample(person), {{"galleries", {"main"}}}))
            .status,
        201);
  }
  const auto carry = [&](const std::string& target, const auto& answer) {
    const HttpResponse request = world_->Get("machine", target);
    EXPECT_EQ(request.status, 200) << Text(request);
    ClientRequest back;
    back.method = "POST";
    back.target = target;
    back.content_type = std::string(kHeftType);
    back.body = answer(request.body);
    return world_->Send("machine", back);
  };
  const auto activate = [&](const auto& request) {
    return testing::Must(owner.Approve(request, "request")).signed_admission;
  };
  ASSERT_EQ(carry("/v1/galleries/main/admission", activate).status, 200);
  EXPECT_EQ(world_->Get("machine", "/v1/galleries/main/renewal").status, 404) << "nobody leaves";
  ClientRequest compact;
  compact.method = "POST";
  compact.target = "/v1/galleries/main/compact";
  world_->Await("operator", world_->Send("operator", compact));
  ClientRequest remove;
  remove.method = "DELETE";
  remove.target = "/v1/persons/p1";
  const HttpResponse removed = world_->Send("registrar", remove);
  ASSERT_EQ(removed.status, 200);
  EXPECT_EQ(JsonOf(removed)["galleries"][0]["leaving"], 1) << "and there is no receipt yet";
  const HttpResponse renewed = carry("/v1/galleries/main/renewal", [&](const auto& request) {
    return testing::Must(owner.Renew(request, "request")).signed_renewal;
  });
  ASSERT_EQ(renewed.status, 200) << Text(renewed);
  EXPECT_EQ(JsonOf(renewed)["leaving"], 0);
  EXPECT_EQ(JsonOf(renewed)["receipts"].size(), 1u);
}

TEST_F(MatcherTest, AnEnrolmentThatIsAskedForAgainHappensOnce) {
  world_->Start();
  ClientRequest request = MatcherWorld::Form("POST", "/v1/persons/ann/encounters?wait=60",
                                             keys_->Sample(1), {{"galleries", {"main"}}});
  request.headers.emplace_back("Idempotency-Key", "first");
  const Json once = JsonOf(world_->Send("registrar", request));
  const Json twice = JsonOf(world_->Send("registrar", request));
  EXPECT_EQ(once["others"]["galleries"][0]["repeated"], false);
  EXPECT_EQ(twice["others"]["galleries"][0]["repeated"], true) << twice;
  EXPECT_EQ(once["encounterId"], twice["encounterId"]);
  EXPECT_EQ(twice["others"]["status"], "active");
  // The same samples without the key, and the key with other samples.
  request.headers.clear();
  EXPECT_EQ(world_->Send("registrar", request).status, 409);
  ClientRequest other = MatcherWorld::Form("POST", "/v1/persons/ann/encounters", keys_->Sample(2),
                                           {{"galleries", {"main"}}});
  other.headers.emplace_back("Idempotency-Key", "first");
  const HttpResponse refused = world_->Send("registrar", other);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(Text(refused), HasSubstr("idempotency key was given before"));
  EXPECT_EQ(JsonOf(world_->Get("operator", "/v1/galleries/main"))["templates"], 1);
}

TEST_F(MatcherTest, WhoWaitsIsListedUntilSomebodyDecides) {
  world_->Start();
  world_->decider().manual = true;
  const HttpResponse enrolled =
      world_->Send("registrar", MatcherWorld::Form("POST", "/v1/persons/ann/encounters",
                                                   keys_->Sample(1), {{"galleries", {"main"}}}));
  ASSERT_EQ(enrolled.status, 201);
  EXPECT_EQ(JsonOf(enrolled)["others"]["status"], "pending");
  const Json waiting = JsonOf(world_->Get("operator", "/v1/admissions"));
  EXPECT_EQ(waiting["total"], 1);
  EXPECT_EQ(waiting["admissions"][0]["people"][0]["identity"], "ann");
  world_->decider().rejected = {"ann"};
  world_->decider().manual = false;
  while (JsonOf(world_->Get("operator", "/v1/admissions"))["total"] != 0) {
  }
  EXPECT_EQ(world_->Get("registrar", "/v1/persons/ann").status, 404);
}

TEST_F(MatcherTest, PagesHoldEverybodyOnce) {
  world_->Start();
  for (const uint64_t person : {1, 2, 3, 4, 5}) {
    ASSERT_EQ(
        world_->Enrol(absl::StrCat(person % 2 == 0 ? "Even%20" : "odd%20", person), person).status,
        201)
        << person;
  }
  std::set<std::string> seen;
  std::string cursor;
  int pages = 0;
  do {
    const Json page =
        JsonOf(world_->Get("operator", absl::StrCat("/v1/persons?gallery=main&count=2&cursor=",
                                                    cursor.empty() ? "0" : cursor)));
    for (const Json& person : page["persons"]) {
      EXPECT_TRUE(seen.insert(person["personId"].get<std::string>()).second);
    }
    cursor = page.value("next", "");
    ++pages;
  } while (!cursor.empty());
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(pages, 3);
  const Json even = JsonOf(world_->Get("operator", "/v1/persons?gallery=main&search=EVEN"));
  EXPECT_EQ(even["persons"].size(), 2u);
  const Json first = JsonOf(world_->Get("operator", "/v1/persons?gallery=main&search=odd&count=1"));
  EXPECT_EQ(first["persons"].size(), 1u);
  EXPECT_TRUE(first.contains("next"));
}

}  // namespace
}  // namespace heft::service
