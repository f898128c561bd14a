// SPDX-License-Identifier: Apache-2.0
// The key owner's service asked over TLS, by a matcher and by people, of real galleries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <cstdlib>
#include <random>

#include "absl/strings/match.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/testing.h"
#include "experiment/random_model.h"
#include "heft/client.h"
#include "heft/gallery_admin.h"
#include "heft/key_set.h"
#include "heft/removal.h"
#include "service/access/jwt.h"
#include "service/console/console.h"
#include "service/decider/routes.h"
#include "service/openapi/recorder.h"
#include "service/testing.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;
using Json = nlohmann::ordered_json;

Model MakeModel() {
  Model model = experiment::RandomModel({40, 24}, 16, 3);
  model.thresholds = {{0.1, 0.5, 0.05, 4000, {}}, {0.001, 0.8, 0.1, 400000, {}}};
  const ImpostorTail tail = {0.4, 0.01, 0.02, -0.2, 4};
  model.searches = {{1, 100, 9900, tail, {tail}}};
  model.calibration = {{.slope = 10, .intercept = 0}};
  return model;
}

void WriteDecisionKey(const std::string& path) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  chmod(path.c_str(), 0600);
}

// World: keys, a server with two galleries, and the decider before them.
struct World {
  World();
  Bytes Signed(const std::string& gallery, const Bytes& file, const SignerKey& client = {}) const {
    Request request;
    request.client = client;
    return *SignReply(*GallerySigner(gallery), *Gallery::Open(gallery), request, 0, owner_key,
                      file);
  }
  std::vector<SampleFile> Files(uint64_t person, const std::string& label) const {
    std::vector<SampleFile> files;
    std::mt19937_64 random(1000 + person);  // not that of the model
    for (const auto& vector : experiment::RandomSample(model, random)) {
      const std::vector<float> values(vector.begin(), vector.end());
      files.push_back({*client->Encrypt(model.modalities[files.size()].name, values, label), "s"});
    }
    return files;
  }
  void Enrol(const std::string& gallery, uint64_t person, const std::string& name) const {
    const auto done = server->Enrol(gallery, Files(person, name));
    ASSERT_TRUE(done.ok()) << done.status();
  }
  Bytes Pending(const std::string& gallery) const {
    return Signed(gallery, *server->Pending(*Gallery::Open(gallery)));
  }
  Bytes Search(const std::string& gallery, uint64_t person) const {
    return Signed(gallery, *server->Identify(*Gallery::Open(gallery), Files(person, "")));
  }
  HttpResponse Ask(ServiceRole role, const std::string& method, const std::string& path,
                   Bytes body = {}, const std::string& type = std::string(kHeftType),
                   const std::string& accept = "") {
    ClientRequest request;
    request.method = method;
    request.target = path;
    request.body = std::move(body);
    if (method == "POST") request.content_type = type;
    if (!accept.empty()) request.headers.emplace_back("Accept", accept);
    const auto response = http->Client(role).Send(request);
    EXPECT_TRUE(response.ok()) << response.status();
    if (response.ok()) records.Answer(request, *response);
    return response.ok() ? *response : HttpResponse{.status = 0};
  }
  Json AskJson(ServiceRole role, const std::string& method, const std::string& path,
               const Json& body = {}) {
    const std::string text = method == "POST" ? body.dump() : "";
    const auto response = Ask(role, method, path, {text.begin(), text.end()}, "application/json");
    EXPECT_EQ(response.status / 100, 2) << std::string(response.body.begin(), response.body.end());
    return Json::parse(response.body);
  }

  heft::testing::TemporaryFolder folder;
  Model model = MakeModel();
  SignerKey owner_key{};
  std::optional<Server> server;
  std::optional<Client> client;
  std::string visitors, staff, elsewhere, fleeting;
  std::unique_ptr<DaemonBase> base;
  DeciderService service;
  Traffic traffic;
  testing::Records records{"decider_test"};
  std::unique_ptr<testing::TestService> http;
};

World::World() {
  setenv("HEFT_STATE_DIR", (folder / "anchors").c_str(), 1);
  const heft::KeySet set =
      *MakeKeySet(model, folder / "keys", [] { return std::string("sesame"); });
  EXPECT_TRUE(WriteFileAtomic(folder / "model.heft", model.Serialize()).ok());
  server.emplace(*Server::Create(model, *ReadFile(set.evaluation_keys)));
  client.emplace(*Client::Create(model, *ReadFile(set.encryption_key)));
  visitors = folder / "store:visitors";
  staff = folder / "store:staff";
  elsewhere = folder / "store:elsewhere";
  DeciderConfig config;
  config.galleries[*CreateGallery(*server, visitors)] = {"visitors", 0.01, 0.001, true, false};
  config.galleries[*CreateGallery(*server, staff)] = {"staff", 0.01, std::nullopt, false, false};
  EXPECT_TRUE(CreateGallery(*server, elsewhere).ok());
  fleeting = folder / "store:fleeting";
  config.galleries[*CreateGallery(*server, fleeting, {.seconds = 0})] = {"fleeting"};
  Trust trust = *Trust::Load(set.trust);
  owner_key = trust.keys(Role::kKeyOwner)[0].key;
  EXPECT_TRUE(trust.Add(Role::kServer, "matcher", GallerySigner(visitors)->public_key()).ok());
  EXPECT_TRUE(trust.Save(set.trust).ok());
  WriteDecisionKey(folder / "decision.key");
  EXPECT_TRUE(WriteFileAtomic(folder / "passphrase", std::string_view("sesame\n"), 0600).ok());
  setenv("CREDENTIALS_DIRECTORY", folder.path().c_str(), 1);
  config.key = {.model = folder / "model.heft", .secret_key = set.secret_key, .trust = set.trust};
  config.decision_key = folder / "decision.key";
  config.issuer = "https://decider.example";
  const testing::ThrowAwayCa ca(folder.path(), "daemon");
  config.common.tls = ca.Issue("localhost");
  config.common.audit_log = folder / "audit.log";
  config.common.authority.nonces = folder / "nonces";
  config.common.authority.certificates = {{.subject = "matcher", .roles = {ServiceRole::kMachine}}};
  auto created = DaemonBase::Create(config.common);
  EXPECT_TRUE(created.ok()) << created.status();
  base = *std::move(created);
  service.base = base.get();
  auto state = LoadDeciderState(config, &service.passphrase);
  EXPECT_TRUE(state.ok()) << state.status();
  service.set_state(*std::move(state));
  EXPECT_TRUE(OpenStateFolder(folder / "state", &service).ok());
  RegisterDeciderMetrics(&service);
  Router router;
  AddDeciderRoutes(&service, &router);
  AddConsole(
      &router, "decider", [this] { return DeciderFacts(&service); }, &traffic);
  records.Routes("decider", router);
  http = std::make_unique<testing::TestService>(std::move(router));
}

class DeciderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = new World; }
  static void TearDownTestSuite() { delete world_; }
  // Everybody who waits in a gallery of the automatic kind comes in.
  void Admit(const std::string& gallery) {
    const auto answer = world_->Ask(ServiceRole::kMachine, "POST", "/v1/exchange/admissions",
                                    world_->Pending(gallery));
    ASSERT_EQ(answer.status, 200) << std::string(answer.body.begin(), answer.body.end());
    const auto done = world_->server->Admit(gallery, answer.body, "admission", world_->owner_key);
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
  Admit(world.visitors);
  const Bytes reply = world.Search(world.visitors, 1);
  const uint64_t before = world.service.state()->owner.Budget()->openings;
  const HttpResponse first = Decide(reply);
  ASSERT_EQ(first.status, 200) << std::string(first.body.begin(), first.body.end());
  const Json decision = Json::parse(first.body);
  EXPECT_EQ(decision["decision"], "accept") << decision;
  EXPECT_EQ(decision["identity"], "ann");
  EXPECT_EQ(decision["kind"], "identification");
  EXPECT_EQ(decision["rule"]["fpir"], 0.01);
  EXPECT_EQ(decision["gallery_name"], "visitors");
  EXPECT_TRUE(decision["likelihood"] == "weak" || decision["likelihood"] == "moderate" ||
              decision["likelihood"] == "strong");
  for (const char* const secret : {"score", "threshold", "log_likelihood_ratio", "candidates"}) {
    EXPECT_FALSE(decision.contains(secret)) << secret;
  }
  // Its answer was lost: the same again, and nothing is charged.
  const HttpResponse second = Decide(reply);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(world.service.state()->owner.Budget()->openings, before + 1);
  // Of somebody else it is a reply that was opened before.
  EXPECT_EQ(Decide(reply, ServiceRole::kRelyingParty).status / 100, 4);

  const Json stranger = Json::parse(Decide(world.Search(world.visitors, 77)).body);
  EXPECT_EQ(stranger["decision"], "reject");
  EXPECT_FALSE(stranger.contains("identity"));
  EXPECT_FALSE(stranger.contains("likelihood"));
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
  // Staff has no rule for verifications.
  const auto claim =
      world.server->Verify(*Gallery::Open(world.visitors), world.Files(1, ""), "ann");
  ASSERT_TRUE(claim.ok()) << claim.status();
  const Bytes good = world.Signed(world.visitors, *claim);
  EXPECT_THAT(refused(world.Signed(world.staff, *claim)), HasSubstr("fmr"));
  EXPECT_EQ(Decide(good).status, 200);
  // Not signed, signed by somebody, or changed on the way.
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
      world.AskJson(ServiceRole::kOperator, "POST", path, {{"admit", {sam}}, {"reject", {tina}}});
  EXPECT_EQ(said["admitted"], 1);
  EXPECT_EQ(said["waiting"], 0);
  const HttpResponse answer = ask();
  ASSERT_EQ(answer.status, 200);
  const auto done = world.server->Admit(world.staff, answer.body, "admission", world.owner_key);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->admitted, 1u);
  EXPECT_EQ(done->rejected, 1u);
  // Nobody waits any more: the state is signed, and nobody is asked.
  EXPECT_EQ(ask().status, 200);
  const std::string text = "{\"admit\": [\"" + tina + "\"]}";
  EXPECT_EQ(
      world
          .Ask(ServiceRole::kOperator, "POST", path, {text.begin(), text.end()}, "application/json")
          .status,
      404);
}

TEST_F(DeciderTest, BlocksAreRenewed) {
  World& world = *world_;
  const std::string gallery = world.fleeting;
  // What stands in the journal the server takes back alone; here nothing stays there.
  for (const uint64_t person : {31, 32, 33}) {
    world.Enrol(gallery, person, person == 31 ? "leaver" : "stayer " + std::to_string(person));
    Admit(gallery);
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
  EXPECT_THAT(log, HasSubstr("\"decision\":\"accept\""));
  EXPECT_THAT(log, HasSubstr("\"identity\":\"ann\""));
  EXPECT_THAT(log, HasSubstr("\"event\":\"admission-word\""));
  EXPECT_THAT(log, HasSubstr("\"rejected\":[{\"identity\":\"tina\""));
  for (const char* const secret : {"\"score\"", "\"likelihood\"", "\"threshold\""}) {
    EXPECT_EQ(log.find(secret), std::string::npos) << secret;
  }
  const Json budget = world.AskJson(ServiceRole::kAuditor, "GET", "/v1/budget");
  EXPECT_GT(budget["openings"], 0);
  EXPECT_TRUE(world.service.Ready().ok());
  const std::string metrics = world.base->metrics().Text();
  EXPECT_THAT(metrics, HasSubstr("heft_decider_decisions_total{"));
  EXPECT_THAT(metrics, HasSubstr("heft_decider_waiting 0"));
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
