// SPDX-License-Identifier: Apache-2.0
#include "service/access/authority.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/mapped_file.h"
#include "service/access/replay.h"
#include "service/json.h"
#include "service/run/log.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxJwks = 1 << 20;

// TheTable: the scopes of each role. A test compares every route with it (service/testing.h).
const std::map<ServiceRole, std::set<Scope>>& TheTable() {
  static const std::map<ServiceRole, std::set<Scope>> table = {
      {ServiceRole::kClient, {Scope::kReadModel, Scope::kIdentify, Scope::kVerify}},
      {ServiceRole::kRegistrar,
       {Scope::kReadModel, Scope::kEnrol, Scope::kReadPersons, Scope::kRemove, Scope::kReadGallery,
        Scope::kReadAdmissions}},
      {ServiceRole::kOperator,
       {Scope::kReadModel, Scope::kReadPersons, Scope::kReadGallery, Scope::kManageGallery,
        Scope::kManageKeys, Scope::kReadAdmissions, Scope::kApprove, Scope::kReadMetrics}},
      {ServiceRole::kAuditor,
       {Scope::kReadGallery, Scope::kReadAdmissions, Scope::kReadAudit, Scope::kReadMetrics}},
      {ServiceRole::kRelyingParty,
       {Scope::kReadModel, Scope::kIdentify, Scope::kVerify, Scope::kDecide}},
      {ServiceRole::kMachine, {Scope::kReadModel, Scope::kExchange, Scope::kDecide}},
      {ServiceRole::kFellow, {Scope::kOpenParts}}};
  return table;
}

GateError Error(int http_status, std::string_view code, std::string_view message,
                int retry_after = 0) {
  return {http_status, std::string(code), std::string(message), retry_after};
}

GateError Unauthenticated(std::string_view message) {
  return Error(401, "UNAUTHENTICATED", message);
}

std::string HeaderOf(const GateInput& input, const std::string& name) {
  const auto found = input.headers->find(name);
  return found == input.headers->end() ? "" : found->second;
}

GateError OfReplay(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return Error(400, "INVALID_ARGUMENT", Message(status));
    case absl::StatusCode::kDeadlineExceeded:
      return Error(401, "STALE", Message(status));
    case absl::StatusCode::kAlreadyExists:
      return Error(401, "REPLAYED", Message(status));
    case absl::StatusCode::kResourceExhausted:
      return Error(429, "RESOURCE_EXHAUSTED", Message(status), 10);
    default:
      LogLine(LogLevel::kError, "a nonce could not be recorded", {{"why", Message(status)}});
      return Error(503, "UNAVAILABLE", "nonces cannot be recorded", 5);
  }
}

absl::Status CheckCertificates(const std::vector<CertificateRule>& certificates) {
  std::set<std::string> names;
  for (const CertificateRule& rule : certificates) {
    if (rule.subject.empty() == rule.fingerprint.empty()) {
      return absl::InvalidArgumentError("name a certificate by its subject or its fingerprint");
    }
    if (rule.roles.empty() && !rule.carries_tokens) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the certificate \"", rule.subject, rule.fingerprint, "\" has no role and no tokens"));
    }
    if (!names.insert(rule.subject + "/" + LowerCase(rule.fingerprint)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the certificate \"", rule.subject, rule.fingerprint, "\" has two rules"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTokens(const std::optional<TokenRules>& tokens) {
  if (!tokens) return absl::OkStatus();
  for (const std::string& role : tokens->roles) {
    HEFT_ASSIGN_OR_RETURN(const ServiceRole parsed, ParseServiceRole(role));
    if (IsDaemon(parsed)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a token cannot grant \"", role, "\": use a certificate"));
    }
  }
  return tokens->issuer.empty() || tokens->audience.empty()
             ? absl::InvalidArgumentError("tokens need an issuer and an audience")
             : absl::OkStatus();
}

absl::Status CheckApiKeys(const std::vector<ApiKeyRule>& keys) {
  std::set<std::string> names, digests;
  for (const ApiKeyRule& rule : keys) {
    if (rule.name.empty() || rule.sha256.size() != 2 * sizeof(Hash) || rule.roles.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the API key \"", rule.name, "\" needs a name, a SHA-256 and roles"));
    }
    for (const ServiceRole role : rule.roles) {
      if (!IsDaemon(role)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the API key \"", rule.name, "\" has the role ",
                       std::string(ServiceRoleName(role)), ": use a certificate"));
    }
    if (!names.insert(rule.name).second || !digests.insert(rule.sha256).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the API key \"", rule.name, "\" has two rules"));
    }
  }
  return absl::OkStatus();
}

// Rules: everything that a reload replaces at once.
struct Rules : AccessRules {
  KeySet keys;
  FileStamp stamp;  // of the file of keys
};

absl::StatusOr<std::shared_ptr<const Rules>> MakeRules(AccessRules from) {
  HEFT_RETURN_IF_ERROR(CheckCertificates(from.certificates));
  HEFT_RETURN_IF_ERROR(CheckTokens(from.tokens));
  HEFT_RETURN_IF_ERROR(CheckApiKeys(from.api_keys));
  auto rules = std::make_shared<Rules>();
  static_cast<AccessRules&>(*rules) = std::move(from);
  if (!rules->tokens) return rules;
  const std::string& path = rules->tokens->keys;
  HEFT_ASSIGN_OR_RETURN(rules->stamp, FileStampOf(path));
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxJwks));
  HEFT_ASSIGN_OR_RETURN(rules->keys, KeySet::Parse(text, path));
  return rules;
}

class RuledAuthority : public Authority {
 public:
  RuledAuthority(const AuthorityOptions& options, std::shared_ptr<const Rules> rules,
                 std::unique_ptr<ReplayGuard> guard)
      : rules_(std::move(rules)),
        guard_(std::move(guard)),
        principals_(options.principal),
        identities_(options.identity) {}

  Gate gate() override {
    return [this](const GateInput& input, Principal* who) { return Admit(input, who); };
  }
  absl::Status Reload() override {
    while (true) {
      const auto now = Current();
      HEFT_ASSIGN_OR_RETURN(auto made, MakeRules(*now));
      const std::lock_guard<std::mutex> lock(mutex_);
      // If the rules changed meanwhile, start again: `made` may hold rules that have been revoked.
      if (rules_ != now) continue;
      rules_ = std::move(made);
      return absl::OkStatus();
    }
  }
  absl::StatusOr<std::function<void()>> Prepare(AccessRules rules) override {
    HEFT_ASSIGN_OR_RETURN(auto made, MakeRules(std::move(rules)));
    return [this, made = std::move(made)] {
      const std::lock_guard<std::mutex> lock(mutex_);
      rules_ = made;
    };
  }

 private:
  std::shared_ptr<const Rules> Current() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return rules_;
  }

  std::optional<GateError> Admit(const GateInput& input, Principal* who) {
    const Route& route = *input.route;
    if (route.scope == Scope::kPublic && !route.signed_request) {
      // A public route refuses no caller; the name is only for the log.
      if (input.certificate != nullptr) who->name = input.certificate->subject;
      return std::nullopt;
    }
    if (auto error = Identify(input, who)) return error;
    if (!who->Has(route.scope)) {
      return Error(403, "PERMISSION_DENIED",
                   absl::StrCat("this needs the scope ", std::string(ScopeName(route.scope))));
    }
    if (const int wait = principals_.Take(who->name); wait > 0) {
      return Error(429, "RESOURCE_EXHAUSTED", "too many requests by this caller: slow down", wait);
    }
    if (auto error = LimitIdentity(input)) return error;
    if (!route.signed_request) return std::nullopt;
    const absl::Status fresh =
        guard_->Admit(who->name, HeaderOf(input, "x-heft-nonce"), HeaderOf(input, "x-heft-time"),
                      static_cast<uint64_t>(std::time(nullptr)));
    if (!fresh.ok()) return OfReplay(fresh);
    return std::nullopt;
  }

  // LimitIdentity: limits the verifications of one person, over all callers.
  std::optional<GateError> LimitIdentity(const GateInput& input) {
    if (input.route->scope != Scope::kVerify || input.parameters == nullptr) return std::nullopt;
    const auto person = input.parameters->find("person");
    if (person == input.parameters->end()) return std::nullopt;
    const int wait = identities_.Take(person->second);
    if (wait == 0) return std::nullopt;
    return Error(429, "RESOURCE_EXHAUSTED", "too many verifications of this person", wait);
  }

  std::optional<GateError> Identify(const GateInput& input, Principal* who) {
    if (input.certificate == nullptr || input.certificate->fingerprint.empty()) {
      const std::string key = HeaderOf(input, std::string(kApiKeyHeader));
      return key.empty() ? Unauthenticated("no client certificate")
                         : IdentifyKey(key, input.peer, who);
    }
    // A connection may outlive the certificate that it began with.
    if (input.certificate->expires <= static_cast<uint64_t>(std::time(nullptr))) {
      return Unauthenticated("the client certificate has expired");
    }
    const auto rules = Current();
    const CertificateRule* rule = Find(*rules, *input.certificate);
    if (rule == nullptr) {
      return Unauthenticated("the configuration does not name this certificate");
    }
    const std::string authorization = HeaderOf(input, "authorization");
    if (!authorization.empty()) return IdentifyToken(*rules, *rule, input, authorization, who);
    if (rule->roles.empty()) return Unauthenticated("this certificate has no role without a token");
    Grant(NameOf(*rule, *input.certificate), rule->roles, who);
    return std::nullopt;
  }

  // IdentifyKey: of a caller without a certificate. Digests are compared, so the time of a
  // comparison says nothing about a key.
  std::optional<GateError> IdentifyKey(std::string_view key, std::string_view peer,
                                       Principal* who) const {
    if (!IsLoopback(peer)) return Unauthenticated("API keys are for callers on this machine");
    const std::string digest = HexString(HashBytes(AsBytes(key)));
    const auto rules = Current();
    for (const ApiKeyRule& rule : rules->api_keys) {
      if (rule.sha256 != digest) continue;
      Grant("api-key:" + rule.name, rule.roles, who);
      return std::nullopt;
    }
    return Unauthenticated("the configuration does not name this API key");
  }

  static void Grant(std::string name, const std::set<ServiceRole>& roles, Principal* who) {
    who->name = std::move(name);
    who->roles = roles;
    for (const ServiceRole role : roles) {
      who->scopes.insert(ScopesOf(role).begin(), ScopesOf(role).end());
    }
  }

  // NameOf: a name that belongs to one rule, since limits, uploads and answers are kept under it. A
  // rule with a fingerprint adds the fingerprint, as another certificate may have the same subject.
  static std::string NameOf(const CertificateRule& rule, const PeerCertificate& certificate) {
    if (rule.fingerprint.empty()) return certificate.subject;
    if (certificate.subject.empty()) return certificate.fingerprint;
    return absl::StrCat(certificate.subject, "/", certificate.fingerprint);
  }

  static const CertificateRule* Find(const Rules& rules, const PeerCertificate& certificate) {
    for (const CertificateRule& rule : rules.certificates) {
      const bool fits = rule.fingerprint.empty()
                            ? rule.subject == certificate.subject
                            : SameText(rule.fingerprint, certificate.fingerprint);
      if (fits) return &rule;
    }
    return nullptr;
  }

  std::optional<GateError> IdentifyToken(const Rules& rules, const CertificateRule& rule,
                                         const GateInput& input, std::string_view authorization,
                                         Principal* who) {
    if (!rule.carries_tokens || !rules.tokens) {
      return Unauthenticated("this certificate may not carry tokens");
    }
    if (authorization.size() < 7 || !SameText(authorization.substr(0, 7), "bearer ")) {
      return Unauthenticated("Authorization must be Bearer and a token");
    }
    const std::string_view token = Trim(authorization.substr(7));
    const auto claims = Believe(rules, token);
    if (!claims.ok()) return Unauthenticated(Message(claims.status()));
    if (!claims->certificate.empty() && claims->certificate != input.certificate->fingerprint) {
      return Unauthenticated("the token is bound to another certificate");
    }
    who->name = absl::StrCat(claims->issuer, "#", claims->subject);
    who->machine = NameOf(rule, *input.certificate);
    for (const std::string& name : claims->roles) {
      const auto role = ParseServiceRole(name);
      if (!role.ok()) continue;
      who->roles.insert(*role);
      for (const Scope scope : ScopesOf(*role)) {
        if (!claims->limits_scopes || claims->scopes.contains(std::string(ScopeName(scope)))) {
          who->scopes.insert(scope);
        }
      }
    }
    return std::nullopt;
  }

  absl::StatusOr<TokenClaims> Believe(const Rules& rules, std::string_view token) {
    absl::StatusOr<Json> payload = VerifyJws(token, rules.keys);
    // The key may be new: read the file again if it has changed.
    if (!payload.ok() && FileIsNew(rules)) {
      if (Reload().ok()) payload = VerifyJws(token, Current()->keys);
    }
    if (!payload.ok()) return payload.status();
    return CheckClaims(*payload, *rules.tokens, static_cast<uint64_t>(std::time(nullptr)));
  }

  // FileIsNew: whether the JWKS has changed. Looks at most once a second, however many tokens
  // arrive.
  bool FileIsNew(const Rules& rules) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto now = std::chrono::steady_clock::now();
      if (now < look_again_) return false;
      look_again_ = now + std::chrono::seconds(1);
    }
    const auto stamp = FileStampOf(rules.tokens->keys);
    return stamp.ok() && !(*stamp == rules.stamp);
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const Rules> rules_;
  std::chrono::steady_clock::time_point look_again_{};
  const std::unique_ptr<ReplayGuard> guard_;
  RateLimits principals_, identities_;
};

}  // namespace

const std::set<Scope>& ScopesOf(ServiceRole role) { return TheTable().at(role); }

absl::StatusOr<std::unique_ptr<Authority>> Authority::Create(AuthorityOptions options) {
  HEFT_ASSIGN_OR_RETURN(auto rules, MakeRules(options.rules));
  HEFT_ASSIGN_OR_RETURN(auto guard, ReplayGuard::Open(options.nonces));
  return std::make_unique<RuledAuthority>(options, std::move(rules), std::move(guard));
}

}  // namespace heft::service
