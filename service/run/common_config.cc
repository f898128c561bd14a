// SPDX-License-Identifier: Apache-2.0
// CommonConfig: the tables in the configurations of both daemons.
#include "absl/strings/str_cat.h"
#include "service/run/daemon.h"
#include "service/text.h"

namespace heft::service {
namespace {

TlsFiles ReadTls(const ConfigTable& table) {
  TlsFiles files;
  files.certificate = table.RequiredPath("certificate");
  files.private_key = table.RequiredPath("private_key");
  files.authorities = table.RequiredPath("authorities");
  files.revoked = table.Path("revoked");
  return files;
}

ServerLimits ReadLimits(const ConfigTable& table) {
  ServerLimits limits;
  limits.connections =
      static_cast<uint32_t>(table.Number("connections", limits.connections, 1, 1 << 20));
  limits.workers = static_cast<uint32_t>(table.Number("workers", limits.workers, 1, 4096));
  limits.queued = static_cast<uint32_t>(table.Number("queued", limits.queued, 0, 1 << 20));
  limits.header_bytes =
      static_cast<uint32_t>(table.Number("header_bytes", limits.header_bytes, 1024, 1 << 20));
  limits.memory_body = table.Number("memory_body", limits.memory_body, 0, uint64_t{1} << 34);
  limits.spooled_bytes =
      table.Number("spooled_bytes", limits.spooled_bytes, 1 << 20, uint64_t{1} << 50);
  limits.spool = table.Path("spool", limits.spool);
  limits.idle = table.Seconds("idle", limits.idle.count(), 1, 24 * 3600);
  limits.header_time = table.Seconds("header_time", limits.header_time.count(), 1, 600);
  limits.slowest_body = table.Number("slowest_body", limits.slowest_body, 0, 1 << 30);
  limits.deadline = table.Seconds("deadline", limits.deadline.count(), 1, 24 * 3600);
  return limits;
}

bool IsSha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::set<ServiceRole> ReadRoles(const ConfigTable& table) {
  std::set<ServiceRole> roles;
  for (const std::string& name : table.Texts("roles")) {
    const auto role = ParseServiceRole(name);
    if (role.ok()) {
      roles.insert(*role);
    } else {
      table.Wrong("roles", "has " + Message(role.status()));
    }
  }
  return roles;
}

CertificateRule ReadCertificate(const ConfigTable& table) {
  CertificateRule rule;
  rule.subject = table.Text("subject", "");
  rule.fingerprint = LowerCase(table.Text("fingerprint", ""));
  rule.carries_tokens = table.Flag("carries_tokens", false);
  if (rule.subject.empty() == rule.fingerprint.empty()) {
    table.Wrong("subject", "or fingerprint is needed, but not both");
  }
  if (!rule.fingerprint.empty() && !IsSha256(rule.fingerprint)) {
    table.Wrong("fingerprint", "is the certificate's SHA-256: 64 hexadecimal digits");
  }
  rule.roles = ReadRoles(table);
  if (rule.roles.empty() && !rule.carries_tokens) {
    table.Wrong("roles", "is empty: give some, or carries_tokens = true");
  }
  return rule;
}

ApiKeyRule ReadApiKey(const ConfigTable& table) {
  ApiKeyRule rule;
  rule.name = table.RequiredText("name");
  rule.sha256 = LowerCase(table.RequiredText("sha256"));
  if (!IsSha256(rule.sha256)) {
    table.Wrong("sha256", "is the SHA-256 of the key: 64 hexadecimal digits");
  }
  rule.roles = ReadRoles(table);
  for (const ServiceRole role : rule.roles) {
    if (!IsDaemon(role)) continue;
    table.Wrong("roles", absl::StrCat("has \"", std::string(ServiceRoleName(role)),
                                      "\": machines have certificates, not API keys"));
  }
  if (rule.roles.empty()) table.Wrong("roles", "is empty: give some");
  return rule;
}

TokenRules ReadTokens(const ConfigTable& table) {
  TokenRules rules;
  rules.issuer = table.RequiredText("issuer");
  rules.audience = table.RequiredText("audience");
  rules.keys = table.RequiredPath("keys");
  rules.roles_claim = table.Text("roles_claim", rules.roles_claim);
  rules.leeway = table.Number("leeway", rules.leeway, 0, 600);
  rules.most_life = table.Number("most_life", rules.most_life, 60, 7 * 24 * 3600);
  for (const std::string& name : table.Texts("roles")) {
    const auto role = ParseServiceRole(name);
    if (!role.ok()) {
      table.Wrong("roles", "has " + Message(role.status()));
    } else if (IsDaemon(*role)) {
      table.Wrong("roles",
                  absl::StrCat("has \"", name, "\": machines have certificates, not tokens"));
    } else {
      rules.roles.insert(name);
    }
  }
  if (rules.roles.empty())
    table.Wrong("roles", "is empty: give the roles that the issuer may grant");
  return rules;
}

AuthorityOptions ReadAuthority(const Config& config) {
  AuthorityOptions options;
  for (const ConfigTable& table : config.root().Tables("certificate")) {
    options.rules.certificates.push_back(ReadCertificate(table));
  }
  for (const ConfigTable& table : config.root().Tables("api_key")) {
    options.rules.api_keys.push_back(ReadApiKey(table));
  }
  const ConfigTable tokens = config.root().Table("tokens");
  if (tokens.present()) options.rules.tokens = ReadTokens(tokens);
  const ConfigTable access = config.root().Table("access");
  options.nonces = access.RequiredPath("nonces");
  Rate& principal = options.principal;
  principal.a_second = access.Real("requests_a_second", principal.a_second, 0, 1e6);
  principal.burst = access.Real("requests_burst", principal.burst, 1, 1e6);
  Rate& identity = options.identity;
  identity.a_second = access.Real("verifications_a_minute", 60 * identity.a_second, 0, 1e6) / 60;
  identity.burst = access.Real("verifications_burst", identity.burst, 1, 1e6);
  return options;
}

}  // namespace

TlsFiles ReadPeerTls(const ConfigTable& table, const TlsFiles& own) {
  TlsFiles files;
  files.certificate = table.Path("certificate", own.certificate);
  files.private_key = table.Path("private_key", own.private_key);
  files.authorities = table.Path("authorities", own.authorities);
  // The other daemon may have other authorities than our callers. Then the callers' list of revoked
  // certificates does not cover it, and would refuse it.
  const bool others = files.authorities != own.authorities;
  files.revoked = table.Path("revoked", others ? "" : own.revoked);
  return files;
}

CommonConfig ReadCommonConfig(const Config& config) {
  CommonConfig out;
  const ConfigTable listen = config.root().Table("listen");
  out.address = listen.Text("address", "127.0.0.1:8443");
  out.drain = listen.Seconds("drain", out.drain.count(), 0, 3600);
  out.tls = ReadTls(config.root().Table("tls"));
  out.limits = ReadLimits(config.root().Table("limits"));
  out.authority = ReadAuthority(config);
  out.tls.require_peer = out.authority.rules.api_keys.empty();
  if (!out.tls.require_peer && !IsLoopback(out.address)) {
    listen.Wrong("address",
                 "must be 127.0.0.1:PORT or [::1]:PORT with [[api_key]]: API keys are for "
                 "development on one machine");
  }
  const ConfigTable audit = config.root().Table("audit");
  out.audit_log = audit.RequiredPath("file");
  out.audit_longest = audit.Number("rotate_bytes", out.audit_longest, 0, uint64_t{1} << 40);
  const ConfigTable metrics = config.root().Table("metrics");
  out.metrics_address = metrics.Text("address", "");
  if (!out.metrics_address.empty() && !IsLoopback(out.metrics_address)) {
    metrics.Wrong("address", "is answered without TLS, so it must be 127.0.0.1:PORT or [::1]:PORT");
  }
  const std::string level =
      config.root().Table("log").Choice("level", "info", {"debug", "info", "warning", "error"});
  out.log_level = level == "debug"     ? LogLevel::kDebug
                  : level == "warning" ? LogLevel::kWarning
                  : level == "error"   ? LogLevel::kError
                                       : LogLevel::kInfo;
  return out;
}

}  // namespace heft::service
