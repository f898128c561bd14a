// SPDX-License-Identifier: Apache-2.0
// The common parts of both daemons: their common tables of configuration ([listen], [tls],
// [limits], [[certificate]], [tokens], [access], [audit], [metrics], [log]), and the life of a
// process between READY and the last answer.
#ifndef HEFT_SERVICE_RUN_DAEMON_H_
#define HEFT_SERVICE_RUN_DAEMON_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/access/authority.h"
#include "service/http/server.h"
#include "service/run/audit_log.h"
#include "service/run/config_reader.h"
#include "service/run/log.h"
#include "service/run/metrics.h"

namespace heft::service {

// CommonConfig: docs/operations.md lists every key.
struct CommonConfig {
  std::string address;          // [listen] address; a socket of systemd's goes before it
  std::string metrics_address;  // [metrics] address: HTTP on loopback; empty: none
  TlsFiles tls;
  ServerLimits limits;
  AuthorityOptions authority;
  std::string audit_log;
  uint64_t audit_longest = uint64_t{256} << 20;  // [audit] rotate_bytes; 0: never
  LogLevel log_level = LogLevel::kInfo;
  std::chrono::seconds drain{30};  // [listen] drain
};
// ReadCommonConfig: Config::Check reports the errors; the caller calls it after reading its own
// tables.
CommonConfig ReadCommonConfig(const Config& config);
// ReadPeerTls: for requests to another daemon: the keys of [tls], which `table` may have too.
TlsFiles ReadPeerTls(const ConfigTable& table, const TlsFiles& own);

// DaemonBase: used by all requests and routes: certificates, rules, metrics, the audit log and the
// log. Lives as long as the process.
class DaemonBase {
 public:
  static absl::StatusOr<std::unique_ptr<DaemonBase>> Create(const CommonConfig& config);
  virtual ~DaemonBase() = default;
  virtual Authority& authority() = 0;
  virtual AuditLog& audit_log() = 0;
  virtual Metrics& metrics() = 0;
  virtual std::shared_ptr<TlsContext> tls() = 0;
  virtual Observer observer() = 0;
  // AddCommonRoutes: /health/live, /health/ready (200 or 503, as `ready` says), /metrics,
  // /v1/audit-log (paged), /v1/audit-log/head.
  virtual void AddCommonRoutes(Router* router, std::function<absl::Status()> ready) = 0;
  // AddLocalRoutes: /health/live, /health/ready and /metrics, for every caller; after
  // AddCommonRoutes.
  virtual void AddLocalRoutes(Router* router) = 0;
  // Prepare: certificates, token keys and rules of a new configuration, which take effect when the
  // returned function is called. Settings that need a restart (addresses, limits) stay unchanged.
  virtual absl::StatusOr<std::function<void()>> Prepare(const CommonConfig& config) = 0;
  // Stopped: writes the last lines of the audit log; `all`: whether all accepted requests were
  // answered.
  virtual absl::Status Stopped(bool all) = 0;
};

// ServeUntilStopped: listens (on systemd's socket if there is one), notifies READY, and returns
// after SIGTERM or SIGINT, once all accepted requests are answered. At SIGHUP, `reload` reads all
// files and returns a function that brings them into use and cannot fail; an error is logged, and
// the old state stays. `signals` must be blocked before any thread is made.
class Signals;
struct ServeOptions {
  Router router;
  std::function<absl::StatusOr<std::function<void()>>()> reload;
  std::function<void(const Answered&)> watch;  // told of each request; may be empty
  std::function<void()> stop;  // after the last answer: background work ends; may be empty
};
absl::Status ServeUntilStopped(Signals* signals, const CommonConfig& config, DaemonBase* base,
                               ServeOptions options);

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_DAEMON_H_
