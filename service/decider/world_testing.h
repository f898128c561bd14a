// SPDX-License-Identifier: Apache-2.0
// For tests only: a matcher's galleries, and the key owner's service for them.
#ifndef HEFT_SERVICE_DECIDER_WORLD_TESTING_H_
#define HEFT_SERVICE_DECIDER_WORLD_TESTING_H_

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
#include "service/access/jwt.h"
#include "service/console/console.h"
#include "service/decider/routes.h"
#include "service/json.h"
#include "service/openapi/recorder.h"
#include "service/testing.h"

namespace heft::service::testing {

using Bytes = std::vector<uint8_t>;

inline Model MakeModel() {
  Model model = experiment::RandomModel({40, 24}, 16, 3);
  const ImpostorTail tail = {0.4, 0.01, 0.02, -0.2, 4};
  DecisionTable table = {model.AllModalities()};
  table.thresholds = {{0.1, 0.5, 0.05, 4000, {}}, {0.001, 0.8, 0.1, 400000, {}}};
  table.searches = {{1, 100, 9900, tail, {tail}}};
  table.calibration = {{.slope = 10, .intercept = 0}};
  model.tables = {std::move(table)};
  return model;
}

inline void WriteDecisionKey(const std::string& path) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
  std::FILE* const file = std::fopen(path.c_str(), "w");
  PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  chmod(path.c_str(), 0600);
}

// World: keys, a server with two galleries, and their decider.
struct World {
  // `name`: the name of the test program, for its recordings.
  explicit World(const std::string& name = "decider_test");
  Bytes Signed(const std::string& gallery, const Bytes& file, const SignerKey& asker = {}) const {
    Request request;
    request.client = asker;
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
    request.headers.emplace_back("X-Heft-On-Behalf-Of", "door%207");
    if (!accept.empty()) request.headers.emplace_back("Accept", accept);
    return Send(role, request);
  }
  HttpResponse Send(ServiceRole role, const ClientRequest& request) {
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
  Records records;
  std::unique_ptr<TestService> http;
};

inline World::World(const std::string& name) : records(name) {
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
  const ThrowAwayCa ca(folder.path(), "daemon");
  config.common.tls = ca.Issue("localhost");
  config.common.audit_log = folder / "audit.log";
  config.common.authority.nonces = folder / "nonces";
  config.common.authority.rules.certificates = {
      {.subject = "matcher", .roles = {ServiceRole::kMachine}}};
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
  http = std::make_unique<TestService>(std::move(router));
}

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_DECIDER_WORLD_TESTING_H_
