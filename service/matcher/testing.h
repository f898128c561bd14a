// SPDX-License-Identifier: Apache-2.0
// For tests only: a matcher with real keys of a small random model, real galleries, a real server
// on loopback, and a key owner in the process that decides.
#ifndef HEFT_SERVICE_MATCHER_TESTING_H_
#define HEFT_SERVICE_MATCHER_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/testing.h"
#include "experiment/random_model.h"
#include "heft/client.h"
#include "heft/files.h"
#include "heft/key_owner.h"
#include "heft/key_set.h"
#include "service/access/jwt.h"
#include "service/json.h"
#include "service/matcher/state.h"
#include "service/openapi/recorder.h"
#include "service/testing.h"

namespace heft::service::testing {

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "matcher/testing: %s\n", value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}
inline void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "matcher/testing: %s\n", status.ToString().c_str());
  std::abort();
}

// KeyMaterial: a model and its keys in a folder, made once for each suite.
struct KeyMaterial {
  KeyMaterial(const std::string& folder, uint64_t seed, const std::string& profile = "compact")
      : model(experiment::RandomModel({128, 96}, 16, 3, profile, seed)) {
    Must(MakeDirectories(folder));
    Must(WriteFile(folder + "/model.heft", model.Serialize()));
    Must(MakeKeySet(model, folder + "/keys"));
    files.model = folder + "/model.heft";
    files.evaluation_keys = folder + "/keys/evaluation.keys";
    if (profile == "standard") files.enrolment_keys = folder + "/keys/enrolment.keys";
    files.encryption_key = folder + "/keys/encryption.key";
    files.trust = folder + "/keys/trust.heft";
    secret_key = folder + "/keys/secret.key";
    client = std::make_unique<heft::Client>(
        Must(heft::Client::Create(model, Must(ReadFile(files.encryption_key)))));
  }
  std::vector<float> Vector(size_t modality, uint64_t person) const {
    std::mt19937_64 rng(person * 2 + modality);
    const auto v = experiment::RandomUnit(model.modalities[modality].dimension, rng);
    return {v.begin(), v.end()};
  }
  // The files of one sample of a person; `thin`: for a probe of an identification.
  std::vector<std::vector<uint8_t>> Sample(uint64_t person, bool thin = false) const {
    std::vector<std::vector<uint8_t>> out;
    for (size_t m = 0; m < model.modalities.size(); ++m) {
      out.push_back(
          Must(client->Encrypt(model.modalities[m].name, Vector(m, person), "probe",
                               thin ? SampleUse::kIdentification : SampleUse::kEnrolment)));
    }
    return out;
  }

  Model model;
  EngineFiles files;
  std::string secret_key;
  std::unique_ptr<heft::Client> client;
};

// LocalDecider: the key owner in this process.
class LocalDecider : public Decider {
 public:
  explicit LocalDecider(KeyOwner owner) : owner_(std::move(owner)) {}

  absl::StatusOr<SignedDecision> Decide(std::span<const uint8_t> reply,
                                        const Forwarded& of) override {
    const std::lock_guard lock(mutex_);
    if (away) return absl::UnavailableError("the decider does not answer");
    const auto decision = owner_.Decide(reply, "reply", 0.8);
    if (!decision.ok()) return decision.status();
    ++decisions;
    const auto says = ReadSigned(reply, "reply");
    SignedDecision out;
    out.decision = {{"iss", "test"},
                    {"aud", of.relying.audience},
                    {"azp", of.relying.principal},
                    {"nonce", of.relying.nonce},
                    {"iat", 1},
                    {"exp", 2},
                    {"jti", "00"}};
    if (!of.relying.challenge.empty()) out.decision["challenge"] = of.relying.challenge;
    out.decision.update(RecordJson(*decision));
    for (const char* hidden : {"refusal", "threshold", "key_warning"}) out.decision.erase(hidden);
    out.decision["rule"] = {{"fmr", 0.001}};
    out.decision["generation"] = says->statement.generation;
    out.decision["request"] = HexString(says->statement.request);
    out.decision["key"] = HexString(owner_.key_id());
    out.jws = "a.b.c";
    out.head = Must(owner_.SignedHead());
    return out;
  }
  absl::StatusOr<std::optional<std::vector<uint8_t>>> Approve(std::span<const uint8_t> request,
                                                              const Forwarded&) override {
    const std::lock_guard lock(mutex_);
    ++asked;
    if (away) return absl::UnavailableError("the decider does not answer");
    if (manual) return std::nullopt;
    ApprovalPolicy policy;
    policy.reject.assign(rejected.begin(), rejected.end());
    auto done = owner_.Approve(request, "request", policy);
    if (!done.ok()) return done.status();
    most_verdicts = std::max(most_verdicts.load(), done->verdicts.size());
    return std::move(done->signed_admission);
  }
  absl::StatusOr<std::vector<uint8_t>> Renew(std::span<const uint8_t> request,
                                             const Forwarded&) override {
    const std::lock_guard lock(mutex_);
    if (away) return absl::UnavailableError("the decider does not answer");
    auto done = owner_.Renew(request, "request");
    if (!done.ok()) return done.status();
    ++renewals;
    return std::move(done->signed_renewal);
  }
  const KeyOwner& owner() const { return owner_; }

  std::atomic<bool> manual{false}, away{false};
  std::atomic<size_t> most_verdicts{0};  // of one request
  std::atomic<int> decisions{0}, asked{0}, renewals{0};
  std::set<std::string> rejected;  // set before any request

 private:
  std::mutex mutex_;
  KeyOwner owner_;
};

// world_store: the store of a world, in its folder; a test program may choose another kind.
inline std::function<std::string(const std::string& folder)> world_store =
    [](const std::string& folder) { return folder + "/store"; };

// MatcherWorld: all of these together. Set options before Start.
class MatcherWorld {
 public:
  MatcherWorld(const KeyMaterial& keys, Records* records) : keys_(keys), records_(records) {
    config.store = world_store(folder_.path());
    config.state = folder_ / "state";
    config.staging = folder_ / "staging";
    config.snapshots = folder_ / "snapshots";
    config.files = keys.files;
    config.writer_wait = 5;
    config.exchange.poll = config.upkeep.poll = std::chrono::milliseconds(50);
    config.common.limits.workers = options.limits.workers = DefaultWorkers(config.batch);
    options.limits.deadline = std::chrono::seconds(120);
  }
  ~MatcherWorld() { Stop(); }

  // Stop: like the end of the process. Start may follow.
  void Stop() {
    if (state_ != nullptr) state_->Stop();
    service_.reset();
    state_.reset();
    audit_log_.reset();
  }

  void Start(bool with_decider = true) {
    audit_log_ = Must(AuditLog::Open(folder_ / "audit.log"));
    metrics_ = Metrics::Create();
    const auto engine = Must(LoadEngine(config.files));
    {
      // The store first, because a key owner must know the server's key.
      Galleries galleries(config.store);
      Must(galleries.UseToken(config.signing_key));
      for (const char* name : {"main", "other"}) {
        const auto made = galleries.Create(*engine, name, config.retained);
        if (made.ok()) galleries_.push_back(*made);
        if (!absl::IsAlreadyExists(made.status())) Must(made.status());
      }
      server_ = Must(galleries.Signer())->public_key();
    }
    if (with_decider) decider_ = std::make_shared<LocalDecider>(Owner());
    state_ = std::make_unique<MatcherState>(config, engine, decider_, callbacks, audit_log_.get(),
                                            metrics_.get());
    Must(state_->galleries.UseToken(config.signing_key));
    Router router;
    AddMatcherRoutes(state_.get(), &router);
    if (records_ != nullptr) records_->Routes("matcher", router);
    service_ = std::make_unique<TestService>(std::move(router), options);
  }

  // Another key owner that trusts this world's server.
  KeyOwner Owner() const {
    KeyOwner owner = Must(KeyOwner::Load(keys_.model, keys_.secret_key));
    Must(owner.SetBudget(
        {.scores = 1000, .decisions = 100000, .client_bits = 100000000, .rejections = 100000}));
    Trust trust = Must(Trust::Load(config.files.trust));
    Must(trust.Add(Role::kServer, "server", server_));
    for (const GalleryId& gallery : galleries_) trust.Pin(gallery);
    Must(owner.RequireSigned(std::move(trust)));
    return owner;
  }

  HttpResponse Send(const std::string& who, const ClientRequest& request) {
    HttpResponse response = Must(service_->Client(who).Send(request));
    if (records_ != nullptr) records_->Answer(request, response);
    return response;
  }
  HttpResponse Get(const std::string& who, const std::string& target) {
    ClientRequest request;
    request.target = target;
    return Send(who, request);
  }
  HttpResponse SendJson(const std::string& who, const std::string& method,
                        const std::string& target, const std::string& text) {
    ClientRequest request;
    request.method = method;
    request.target = target;
    request.content_type = "application/json";
    request.body.assign(text.begin(), text.end());
    return Send(who, request);
  }
  // A form with these templates and, unless null, a part "request".
  static ClientRequest Form(const std::string& method, const std::string& target,
                            const std::vector<std::vector<uint8_t>>& templates,
                            const Json& more = nullptr,
                            const std::vector<uint8_t>& authorisation = {}) {
    std::vector<FormPart> parts;
    for (const auto& bytes : templates) {
      parts.push_back({"template", "sample.ct", std::string(kHeftType), bytes});
    }
    if (!more.is_null()) {
      const std::string text = more.dump();
      parts.push_back({"request", "", "application/json", {text.begin(), text.end()}});
    }
    if (!authorisation.empty()) {
      parts.push_back({"authorisation", "a.auth", std::string(kHeftType), authorisation});
    }
    ClientRequest request;
    request.method = method;
    request.target = target;
    std::tie(request.content_type, request.body) = FormBody(parts);
    return request;
  }
  // Enrols a person, and waits for the admission.
  HttpResponse Enrol(const std::string& name, uint64_t person,
                     const std::string& gallery = "main") {
    return Send("registrar", Form("POST", absl::StrCat("/v1/persons/", name, "/encounters?wait=60"),
                                  keys_.Sample(person), {{"galleries", {gallery}}}));
  }
  HttpResponse Identify(uint64_t person, const std::string& accept = "application/json",
                        const std::string& who = "client", const std::string& gallery = "main") {
    ClientRequest request = Form("POST", "/v1/identify/" + gallery, keys_.Sample(person));
    request.headers.emplace_back("Accept", accept);
    return Send(who, request);
  }
  // Polls a task until it has ended.
  Json Await(const std::string& who, const HttpResponse& accepted) {
    const std::string id = JsonOf(accepted).at("taskId");
    while (true) {
      const Json task = JsonOf(Get(who, "/v1/tasks/" + id));
      const std::string status = task.at("status");
      if (status != "queued" && status != "running") return task;
    }
  }
  static Json JsonOf(const HttpResponse& response) {
    return Json::parse(response.body.begin(), response.body.end(), nullptr, false);
  }

  const heft::testing::TemporaryFolder& folder() const { return folder_; }
  MatcherState& state() { return *state_; }
  LocalDecider& decider() { return *decider_; }
  TestService& service() { return *service_; }

  MatcherConfig config;
  TestService::Options options;
  std::shared_ptr<Callbacks> callbacks;

 private:
  const KeyMaterial& keys_;
  Records* const records_;
  heft::testing::TemporaryFolder folder_;
  SignerKey server_{};
  std::unique_ptr<AuditLog> audit_log_;
  std::unique_ptr<Metrics> metrics_;
  std::vector<GalleryId> galleries_;
  std::shared_ptr<LocalDecider> decider_;
  std::unique_ptr<MatcherState> state_;
  std::unique_ptr<TestService> service_;
};

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_MATCHER_TESTING_H_
