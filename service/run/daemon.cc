// SPDX-License-Identifier: Apache-2.0
#include "service/run/daemon.h"

#include <atomic>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/json.h"
#include "service/run/notify.h"
#include "service/run/refusals.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxLines = 1000;  // of the audit log, in one answer

void DescribeMetrics(Metrics* metrics) {
  metrics->Counter("heft_requests_total", "requests by operation and status");
  metrics->Counter("heft_request_bytes_total", "bytes of received bodies, by operation");
  metrics->Counter("heft_response_bytes_total", "bytes of sent bodies, by operation");
  metrics->Histogram("heft_request_seconds", "from header to answer, by operation",
                     {.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30});
  metrics->Histogram("heft_request_queued_seconds", "time that requests waited for a worker",
                     {.0001, .001, .005, .01, .05, .1, .5, 1, 5, 10});
  metrics->Counter("heft_audit_failures_total", "answers that could not be recorded");
  metrics->Gauge("heft_certificate_expires_seconds", "Unix time at which our certificate expires");
  metrics->Gauge("heft_crl_expires_seconds",
                 "Unix time at which the first list of revoked certificates ends");
  metrics->Gauge("heft_api_keys", "API keys that are accepted; above 0 only in development");
  metrics->Gauge("heft_audit_lines", "lines of the audit log");
  metrics->Gauge("heft_connections", "open connections");
  metrics->Gauge("heft_requests_queued", "requests that wait for a worker");
  metrics->Gauge("heft_body_bytes", "bytes of bodies that are held, in memory and in files");
}

// Record: the request, for the log and the audit log. Names of people and galleries come from the
// path; no data comes from a body.
Json Record(const Answered& answered) {
  const HttpRequest& request = *answered.request;
  Json out = {{"request", request.id}};
  out["operation"] = answered.route != nullptr ? answered.route->operation : "";
  out["who"] = request.who.name;
  if (!request.who.machine.empty()) out["machine"] = request.who.machine;
  out["peer"] = request.peer;
  out["status"] = answered.status;
  if (!answered.error_code.empty()) out["error"] = answered.error_code;
  if (!request.parameters.empty()) out["parameters"] = request.parameters;
  return out;
}

class RunningBase : public DaemonBase {
 public:
  RunningBase(std::shared_ptr<TlsContext> tls, std::unique_ptr<Authority> authority,
              std::unique_ptr<AuditLog> audit, const std::vector<ApiKeyRule>& api_keys)
      : tls_(std::move(tls)), authority_(std::move(authority)), audit_(std::move(audit)) {
    DescribeMetrics(metrics_.get());
    WarnOfKeys(api_keys);
    metrics_->BeforeReading([this] {
      metrics_->Set("heft_certificate_expires_seconds", {}, static_cast<double>(tls_->expires()));
      if (const uint64_t end = tls_->revoked_expires(); end != 0) {
        metrics_->Set("heft_crl_expires_seconds", {}, static_cast<double>(end));
      }
      metrics_->Set("heft_audit_lines", {}, static_cast<double>(audit_->head().lines));
    });
  }

  absl::Status Stopped(bool all) override {
    HEFT_RETURN_IF_ERROR(
        refusals_.Flush(true, [this](Json event) { return audit_->Append(std::move(event)); }));
    return audit_->Append({{"event", "stop"}, {"cut_off", !all}});
  }
  Authority& authority() override { return *authority_; }
  AuditLog& audit_log() override { return *audit_; }
  Metrics& metrics() override { return *metrics_; }
  std::shared_ptr<TlsContext> tls() override { return tls_; }
  Observer observer() override {
    return [this](const Answered& answered) { return Observe(answered); };
  }

  void AddCommonRoutes(Router* router, std::function<absl::Status()> ready) override {
    ready_ = std::move(ready);
    AddHealthRoutes(router);
    router->Add({"GET", "/metrics", "metrics", Scope::kReadMetrics, [this](const HttpRequest&) {
                   const std::string text = metrics_->Text();
                   return BytesResponse({text.begin(), text.end()}, kMetricsType);
                 }});
    router->Add({"GET", "/v1/audit-log", "audit-log", Scope::kReadAudit,
                 [this](const HttpRequest& request) { return AuditLines(request); }});
    router->Add({"GET", "/v1/audit-log/head", "audit-log-head", Scope::kReadAudit,
                 [this](const HttpRequest&) { return JsonResponse(HeadOf(audit_->head())); }});
  }

  void AddLocalRoutes(Router* router) override {
    AddHealthRoutes(router);
    router->Add({"GET", "/metrics", "metrics", Scope::kPublic, [this](const HttpRequest&) {
                   const std::string text = metrics_->Text();
                   return BytesResponse({text.begin(), text.end()}, kMetricsType);
                 }});
  }

  absl::StatusOr<std::function<void()>> Prepare(const CommonConfig& config) override {
    HEFT_ASSIGN_OR_RETURN(auto rules, authority_->Prepare(config.authority.rules));
    HEFT_ASSIGN_OR_RETURN(auto certificates, tls_->Prepare(config.tls));
    return [this, level = config.log_level, keys = config.authority.rules.api_keys,
            rules = std::move(rules), certificates = std::move(certificates)] {
      rules();
      certificates();
      WarnOfKeys(keys);
      SetLogLevel(level);
    };
  }

 private:
  // WarnOfKeys: at each start and reload.
  void WarnOfKeys(const std::vector<ApiKeyRule>& keys) {
    metrics_->Set("heft_api_keys", {}, static_cast<double>(keys.size()));
    for (const ApiKeyRule& key : keys) {
      LogLine(LogLevel::kWarning,
              "an API key is accepted instead of a certificate: for development only",
              {{"api_key", key.name}});
    }
  }

  void AddHealthRoutes(Router* router) {
    router->Add({"GET", "/health/live", "live", Scope::kPublic, [](const HttpRequest&) {
                   return JsonResponse({{"status", "live"}});
                 }});
    router->Add({"GET", "/health/ready", "ready", Scope::kPublic, [this](const HttpRequest&) {
                   const absl::Status status = ready_();
                   if (status.ok()) return JsonResponse({{"status", "ready"}});
                   HttpResponse response = ErrorResponse(503, "UNAVAILABLE", "not ready");
                   response.detail = Message(status);
                   return response;
                 }});
  }

  static Json HeadOf(const AuditHead& head) { return {{"lines", head.lines}, {"hash", head.hash}}; }

  HttpResponse AuditLines(const HttpRequest& request) const {
    uint64_t from = 1, count = 100;
    const std::string from_text = request.Query("from"), count_text = request.Query("count");
    const bool good = (from_text.empty() || (absl::SimpleAtoi(from_text, &from) && from > 0)) &&
                      (count_text.empty() ||
                       (absl::SimpleAtoi(count_text, &count) && count > 0 && count <= kMaxLines));
    if (!good) {
      return ErrorResponse(400, "INVALID_ARGUMENT",
                           absl::StrCat("from is a line's number, count at most ", kMaxLines));
    }
    const AuditHead head = audit_->head();
    const auto lines = audit_->Read(from, count);
    if (!lines.ok()) return ErrorResponse(lines.status());
    Json out = {{"lines", *lines}, {"head", HeadOf(head)}};
    if (from + lines->size() <= head.lines) out["next"] = from + lines->size();
    return JsonResponse(out);
  }

  // Keep: records an answer, or counts it. First it records the counts of the last minute.
  absl::Status Keep(const Answered& answered, const Json& record) {
    if (answered.route == nullptr || !answered.route->audited) return absl::OkStatus();
    HEFT_RETURN_IF_ERROR(
        refusals_.Flush(false, [this](Json event) { return audit_->Append(std::move(event)); }));
    if (answered.refused && !refusals_.HasLine(answered.certificate)) return absl::OkStatus();
    Json event = {{"event", "request"}};
    event.update(record);
    return audit_->Append(std::move(event));
  }

  absl::Status Observe(const Answered& answered) {
    const std::string operation = answered.route != nullptr ? answered.route->operation : "none";
    metrics_->Add("heft_requests_total",
                  {{"operation", operation}, {"status", absl::StrCat(answered.status)}});
    metrics_->Observe("heft_request_seconds", {{"operation", operation}}, answered.seconds);
    metrics_->Observe("heft_request_queued_seconds", {}, answered.queued_seconds);
    metrics_->Add("heft_request_bytes_total", {{"operation", operation}},
                  static_cast<double>(answered.request_bytes));
    metrics_->Add("heft_response_bytes_total", {{"operation", operation}},
                  static_cast<double>(answered.response_bytes));
    Json record = Record(answered);
    const absl::Status kept = Keep(answered, record);
    if (!kept.ok()) {
      metrics_->Add("heft_audit_failures_total", {});
      LogLine(LogLevel::kError, "the audit log cannot be written",
              {{"request", answered.request->id}, {"reason", Message(kept)}});
    }
    record["bytes_in"] = answered.request_bytes;
    record["bytes_out"] = answered.response_bytes;
    record["ms"] = std::round(answered.seconds * 1e6) / 1e3;
    if (!answered.detail.empty()) record["detail"] = answered.detail;
    const bool quiet = answered.route != nullptr && answered.route->scope == Scope::kPublic;
    LogLine(answered.status >= 500 ? LogLevel::kWarning
            : quiet                ? LogLevel::kDebug
                                   : LogLevel::kInfo,
            "request", record);
    return kept;
  }

  const std::shared_ptr<TlsContext> tls_;
  const std::unique_ptr<Authority> authority_;
  const std::unique_ptr<AuditLog> audit_;
  const std::unique_ptr<Metrics> metrics_ = Metrics::Create();
  Refusals refusals_;
  std::function<absl::Status()> ready_ = [] { return absl::OkStatus(); };
};

// LocalServer: lets Prometheus and health checks on this machine ask without a certificate.
absl::StatusOr<std::unique_ptr<HttpServer>> LocalServer(const std::string& address,
                                                        DaemonBase* base) {
  Router router;
  base->AddLocalRoutes(&router);
  ServerLimits limits;
  limits.connections = 16;
  limits.workers = 1;
  return HttpServer::Listen(address, -1, nullptr, limits, std::move(router),
                            [](const GateInput&, Principal*) { return std::nullopt; }, {});
}

// Reload: all or nothing. It is recorded before it takes effect.
absl::Status Reload(const ServeOptions& options, DaemonBase* base) {
  HEFT_ASSIGN_OR_RETURN(const auto install, options.reload());
  HEFT_RETURN_IF_ERROR(base->audit_log().Append({{"event", "reload"}}));
  install();
  return absl::OkStatus();
}

void ReloadAndTell(const ServeOptions& options, DaemonBase* base) {
  if (const absl::Status told = NotifyReloading(); !told.ok()) {
    LogLine(LogLevel::kWarning, Message(told));
  }
  const absl::Status done = Reload(options, base);
  if (done.ok()) {
    LogLine(LogLevel::kInfo, "reloaded");
  } else {
    LogLine(LogLevel::kError, "not reloaded: the old configuration stays in use",
            {{"reason", Message(done)}});
  }
}

// Tell: notifies systemd; a failure is only logged.
void Tell(std::string_view state) {
  if (const absl::Status told = Notify(state); !told.ok()) {
    LogLine(LogLevel::kWarning, Message(told));
  }
}

// WarnOfList: warns once a day, from a week before the list of revoked certificates ends: after its
// end, all clients are refused.
void WarnOfList(const TlsContext& tls, uint64_t* warned) {
  constexpr uint64_t kDay = 24 * 3600;
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  const uint64_t end = tls.revoked_expires();
  if (end == 0 || now + 7 * kDay < end || now < *warned + kDay) return;
  *warned = now;
  LogLine(LogLevel::kWarning,
          "the list of revoked certificates expires, and then all connections are refused: replace "
          "it and reload",
          {{"file", tls.files().revoked}, {"ends", end}});
}

// WaitForStop: handles reloads, and notifies the watchdog however often reloads come.
void WaitForStop(Signals* signals, const ServeOptions& options, DaemonBase* base) {
  const auto watchdog = WatchdogInterval();
  const auto patience = watchdog.value_or(std::chrono::seconds(60));
  uint64_t warned = 0;
  while (true) {
    WarnOfList(*base->tls(), &warned);
    switch (signals->Wait(patience)) {
      case Signals::Kind::kStop:
        return;
      case Signals::Kind::kReload:
        ReloadAndTell(options, base);
        Tell("READY=1");
        break;
      case Signals::Kind::kNone:
        break;
    }
    if (watchdog) Tell("WATCHDOG=1");
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<DaemonBase>> DaemonBase::Create(const CommonConfig& config) {
  SetLogLevel(config.log_level);
  HEFT_ASSIGN_OR_RETURN(auto tls, TlsContext::ForServer(config.tls));
  HEFT_ASSIGN_OR_RETURN(auto authority, Authority::Create(config.authority));
  HEFT_ASSIGN_OR_RETURN(auto audit,
                        AuditLog::Open(config.audit_log, 16 << 20, config.audit_longest));
  return std::make_unique<RunningBase>(std::move(tls), std::move(authority), std::move(audit),
                                       config.authority.rules.api_keys);
}

absl::Status ServeUntilStopped(Signals* signals, const CommonConfig& config, DaemonBase* base,
                               ServeOptions options) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<int> given, ListenDescriptors());
  Observer observer = base->observer();
  if (options.watch) {
    observer = [watch = options.watch, then = base->observer()](const Answered& answered) {
      watch(answered);
      return then(answered);
    };
  }
  HEFT_ASSIGN_OR_RETURN(
      std::unique_ptr<HttpServer> server,
      HttpServer::Listen(config.address, given.empty() ? -1 : given[0], base->tls(), config.limits,
                         std::move(options.router), base->authority().gate(), observer));
  Metrics& metrics = base->metrics();
  auto* const load_of = server.get();
  const auto serving = std::make_shared<std::atomic<bool>>(true);
  metrics.BeforeReading([&metrics, load_of, serving] {
    if (!*serving) return;
    const ServerLoad load = load_of->load();
    metrics.Set("heft_connections", {}, static_cast<double>(load.connections));
    metrics.Set("heft_requests_queued", {}, static_cast<double>(load.queued));
    metrics.Set("heft_body_bytes", {{"in", "memory"}}, static_cast<double>(load.memory_bodies));
    metrics.Set("heft_body_bytes", {{"in", "files"}}, static_cast<double>(load.spooled_bodies));
  });
  std::unique_ptr<HttpServer> local;
  if (!config.metrics_address.empty()) {
    HEFT_ASSIGN_OR_RETURN(local, LocalServer(config.metrics_address, base));
    local->Start();
  }
  HEFT_RETURN_IF_ERROR(base->audit_log().Append({{"event", "start"}}));
  server->Start();
  LogLine(LogLevel::kInfo, "serving", {{"port", server->port()}});
  Tell("READY=1");
  WaitForStop(signals, options, base);
  Tell("STOPPING=1");
  LogLine(LogLevel::kInfo, "stopping: accepted requests are answered");
  const bool all = server->Drain(config.drain);
  if (!all) LogLine(LogLevel::kWarning, "the time to drain is over: open requests were cut off");
  if (options.stop) options.stop();
  *serving = false;
  local.reset();
  server.reset();
  return base->Stopped(all);
}

}  // namespace heft::service
