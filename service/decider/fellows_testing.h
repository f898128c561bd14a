// SPDX-License-Identifier: Apache-2.0
// For tests only: a key of three owners, which two of them open, each with a decider over TLS in
// this process; and a matcher's gallery.
#ifndef HEFT_SERVICE_DECIDER_FELLOWS_TESTING_H_
#define HEFT_SERVICE_DECIDER_FELLOWS_TESTING_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "heft/key_set.h"
#include "service/decider/world_testing.h"

namespace heft::service::testing {

// OwnerDecider: one owner's decider. Stop and Start are those of a machine: the port stays.
struct OwnerDecider {
  uint32_t owner = 0;
  DeciderConfig config;
  std::unique_ptr<DaemonBase> base;
  std::unique_ptr<DeciderService> service;
  std::unique_ptr<HttpServer> server;
  uint16_t port = 0;

  void Listen(Records* records = nullptr) {
    auto created = DaemonBase::Create(config.common);
    ASSERT_TRUE(created.ok()) << created.status();
    base = *std::move(created);
    service = std::make_unique<DeciderService>();
    service->base = base.get();
    Router router;
    AddDeciderRoutes(service.get(), &router);
    base->AddCommonRoutes(&router, [this] { return service->Ready(); });
    if (records != nullptr) records->Routes("decider", router);
    Serve(std::move(router));
  }
  // Serve: other routes at this owner's address.
  void Serve(Router router) {
    server.reset();
    auto listening = HttpServer::Listen(absl::StrCat("127.0.0.1:", port), -1, base->tls(), {},
                                        std::move(router), base->authority().gate(), {});
    ASSERT_TRUE(listening.ok()) << listening.status();
    server = *std::move(listening);
    port = server->port();
  }
  void Load() {
    auto state = LoadDeciderState(config, &service->passphrase);
    ASSERT_TRUE(state.ok()) << state.status();
    service->set_state(*std::move(state));
    ASSERT_TRUE(OpenStateFolder(config.state_folder, service.get()).ok());
    RegisterDeciderMetrics(service.get());
    server->Start();
  }
  void Stop() {
    server.reset();
    service.reset();
    base.reset();
  }
  void Start() {
    Listen();
    Load();
  }
  const KeyOwner& key() const { return service->state()->owner; }
  // SetBudget: by another process, as it were.
  absl::Status SetBudget(const BudgetLimits& limits) const {
    auto loaded = KeyOwner::Load(service->state()->model, config.key.secret_key);
    return loaded.ok() ? loaded->SetBudget(limits) : loaded.status();
  }
  uint64_t Openings() const { return key().Budget()->openings; }
};

struct FellowsWorld {
  // Of one owner the key is whole, to compare.
  explicit FellowsWorld(const std::string& name, uint32_t count = kOwners, uint32_t threshold = 2)
      : records(name), ca(folder.path(), "all") {
    const bool whole = count == 1;
    // The anchors of all worlds of a program lie together.
    if (worlds++ == 0) setenv("HEFT_STATE_DIR", (folder / "anchors").c_str(), 1);
    model.profile = "flooded";
    // Of enough people for decisions among ten thousand.
    const ImpostorTail tail = {0.4, 0.01, 0.02, -0.2, 4};
    model.tables[0].searches = {{1, 1000, 999000, tail, {tail}}};
    EXPECT_TRUE(WriteFileAtomic(folder / "model.heft", model.Serialize()).ok());
    if (whole) {
      set.keys = *MakeKeySet(model, folder / "keys");
      set.shares = {set.keys.secret_key};
    } else {
      const auto made = MakeSharedKeySet(model, folder / "keys", count, threshold);
      EXPECT_TRUE(made.ok()) << made.status();
      set = *made;
    }
    server.emplace(*Server::Create(model, *ReadFile(set.keys.evaluation_keys), "evaluation",
                                   *ReadFile(set.keys.enrolment_keys), "enrolment"));
    client.emplace(*Client::Create(model, *ReadFile(set.keys.encryption_key)));
    gallery = folder / "store:visitors";
    id = *CreateGallery(*server, gallery);
    foreign = folder / "store:foreign";
    EXPECT_TRUE(CreateGallery(*server, foreign).ok());
    WriteDecisionKey(folder / "decision.key");
    for (uint32_t owner = 1; owner <= set.shares.size(); ++owner) Add(owner);
    for (const auto& one : owners) {
      for (const auto& other : owners) {
        if (one == other) continue;
        one->config.fellows.push_back({other->owner, Name(other->owner),
                                       absl::StrCat("https://localhost:", other->port),
                                       one->config.common.tls, kWait});
      }
    }
    for (const auto& one : owners) one->Load();
    if (whole) {
      dealer = owners[0]->key().Signer()->public_key();
    } else {
      const auto checked = CheckCeremony(owners[0]->key(), folder / "keys");
      EXPECT_TRUE(checked.ok()) << checked.status();
      dealer = checked->dealer;
    }
  }

  ~FellowsWorld() { --worlds; }
  FellowsWorld(const FellowsWorld&) = delete;
  FellowsWorld& operator=(const FellowsWorld&) = delete;

  static std::string Name(uint32_t owner) { return absl::StrCat("owner-", owner); }
  OwnerDecider& Owner(uint32_t owner) { return *owners[owner - 1]; }

  void Add(uint32_t owner) {
    auto& one = *owners.emplace_back(std::make_unique<OwnerDecider>());
    one.owner = owner;
    const std::string own = folder / Name(owner);
    EXPECT_TRUE(MakeDirectories(own).ok());
    const std::string trust_file =
        set.shares[owner - 1].substr(0, set.shares[owner - 1].rfind('/')) + "/trust.heft";
    Trust trust = *Trust::Load(trust_file);
    EXPECT_TRUE(trust.Add(Role::kServer, "matcher", GallerySigner(gallery)->public_key()).ok());
    EXPECT_TRUE(trust.Save(trust_file).ok());
    DeciderConfig& config = one.config;
    config.galleries[id] = {"visitors", 0.01, 0.001, true, false};
    config.key = {.model = folder / "model.heft",
                  .secret_key = set.shares[owner - 1],
                  .trust = trust_file,
                  .passphrase = PassphraseFrom::kNone};
    config.decision_key = folder / "decision.key";
    config.state_folder = own + "/state";
    config.common.tls = ca.Issue(Name(owner));
    config.common.audit_log = own + "/audit.log";
    config.common.authority.nonces = own + "/nonces";
    config.common.authority.principal = {0, 1};
    auto& rules = config.common.authority.rules.certificates;
    rules = {{.subject = "matcher", .roles = {ServiceRole::kMachine}},
             {.subject = "idler", .roles = {ServiceRole::kFellow}}};
    for (uint32_t other = 1; other <= set.shares.size(); ++other) {
      if (other != owner)
        rules.push_back({.subject = Name(other), .roles = {ServiceRole::kFellow}});
    }
    one.Listen(owner == 1 ? &records : nullptr);
  }

  Bytes Signed(const std::string& of, const Bytes& file) const {
    return *SignReply(*GallerySigner(of), *Gallery::Open(of), {}, 0, dealer, file);
  }
  std::vector<SampleFile> Files(uint64_t person, const std::string& label, SampleUse use) const {
    std::vector<SampleFile> files;
    std::mt19937_64 random(1000 + person);
    for (const auto& vector : experiment::RandomSample(model, random)) {
      const std::vector<float> values(vector.begin(), vector.end());
      files.push_back(
          {*client->Encrypt(model.modalities[files.size()].name, values, label, use), "s"});
    }
    return files;
  }
  void Enrol(uint64_t person, const std::string& name) const {
    const auto done = server->Enrol(gallery, Files(person, name, SampleUse::kEnrolment));
    ASSERT_TRUE(done.ok()) << done.status();
  }
  Bytes Pending() const { return Signed(gallery, *server->Pending(*Gallery::Open(gallery))); }
  Bytes Search(uint64_t person, const std::string& of) const {
    const auto files = Files(person, "", SampleUse::kIdentification);
    return Signed(of, *server->Identify(*Gallery::Open(of), files));
  }
  Bytes Search(uint64_t person) const { return Search(person, gallery); }
  // Send: as the holder of this certificate.
  HttpResponse Send(const std::string& subject, uint32_t owner, const ClientRequest& request) {
    auto tls = TlsContext::ForClient(ca.Issue(subject));
    auto http = HttpClient::Create(absl::StrCat("https://localhost:", Owner(owner).port), *tls);
    const auto response = (*http)->Send(request);
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return {.status = 0};
    records.Answer(request, *response);
    return *response;
  }
  HttpResponse Post(const std::string& subject, uint32_t owner, const std::string& path,
                    Bytes body) {
    return Send(subject, owner,
                {.method = "POST",
                 .target = path,
                 .content_type = std::string(kHeftType),
                 .body = std::move(body)});
  }
  HttpResponse Decide(const Bytes& reply, uint32_t owner = 1) {
    return Post("matcher", owner, "/v1/decisions", reply);
  }
  // AskPart: of `owner`, as a fellow does.
  HttpResponse AskPart(const std::string& subject, uint32_t owner, const Json& terms,
                       const Bytes& file, const std::string& kind = "reply") {
    const std::string text = terms.dump();
    auto [type, body] = FormBody({{"terms", "", "application/json", {text.begin(), text.end()}},
                                  {kind, "", std::string(kHeftType), file}});
    return Send(subject, owner,
                {.method = "POST", .target = kPartsPath, .content_type = type, .body = body});
  }
  Json Terms(const OwnerSet& set_of) const {
    Json terms = RuleTerms(owners[0]->config.galleries.at(id), true);
    terms["owners"] = set_of;
    return terms;
  }

  inline static int worlds = 0;  // that there are
  static constexpr uint32_t kOwners = 3;
  static constexpr std::chrono::milliseconds kWait{700};
  heft::testing::TemporaryFolder folder;
  Model model = MakeModel();
  Records records;
  ThrowAwayCa ca;
  SharedKeySet set;
  SignerKey dealer{};  // the matcher signs replies for this key
  std::optional<Server> server;
  std::optional<Client> client;
  std::string gallery, foreign;
  GalleryId id{};
  std::vector<std::unique_ptr<OwnerDecider>> owners;
};

inline std::string TextOf(const HttpResponse& r) { return {r.body.begin(), r.body.end()}; }

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_DECIDER_FELLOWS_TESTING_H_
