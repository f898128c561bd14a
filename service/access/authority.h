// SPDX-License-Identifier: Apache-2.0
// Authority: makes a Principal from a certificate, from a token sent with one, or from an API key,
// and checks its rights. This is the only place that turns roles into scopes.
#ifndef HEFT_SERVICE_ACCESS_AUTHORITY_H_
#define HEFT_SERVICE_ACCESS_AUTHORITY_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/access/jwt.h"
#include "service/access/limits.h"
#include "service/access/principal.h"
#include "service/http/server.h"

namespace heft::service {

// ScopesOf: the scopes of a role.
const std::set<Scope>& ScopesOf(ServiceRole role);

// CertificateRule: the roles of a caller whose certificate has this subject (common name) or
// fingerprint.
struct CertificateRule {
  std::string subject = {};      // or
  std::string fingerprint = {};  // SHA-256, hexadecimal
  std::set<ServiceRole> roles = {};
  bool carries_tokens = false;  // may bring tokens of people and relying parties
};

// ApiKeyRule: the roles of a caller without a certificate that sends this key in X-Api-Key. Keys
// are for development: they do not expire, and a reader of a request can use its key. The caller
// is named "api-key:NAME".
struct ApiKeyRule {
  std::string name;
  std::string sha256;  // of the key's bytes, hexadecimal
  std::set<ServiceRole> roles;
};
inline constexpr std::string_view kApiKeyHeader = "x-api-key";

// AccessRules: who may call. A reload replaces them together.
struct AccessRules {
  std::vector<CertificateRule> certificates = {};
  std::optional<TokenRules> tokens = {};  // none: tokens are refused
  std::vector<ApiKeyRule> api_keys = {};  // none: API keys are refused
};

struct AuthorityOptions {
  AccessRules rules;
  std::string nonces;       // file of access/replay.h; empty: only in memory
  Rate principal{50, 200};  // requests of a principal
  Rate identity{0.5, 30};   // verifications of a person by all callers
};

class Authority {
 public:
  // kInvalidArgument, kNotFound: the options or the JWKS are wrong or missing.
  static absl::StatusOr<std::unique_ptr<Authority>> Create(AuthorityOptions options);
  virtual ~Authority() = default;
  // For HttpServer; this object must outlive it. Refuses with 401 UNAUTHENTICATED (no certificate,
  // a bad token), 401 STALE or REPLAYED, 403 PERMISSION_DENIED, 429 RESOURCE_EXHAUSTED, 400
  // INVALID_ARGUMENT (nonce or time missing or malformed), 503 UNAVAILABLE.
  virtual Gate gate() = 0;
  // Reads the JWKS again; an error changes nothing. It is also read again automatically if a token
  // names an unknown key and the file has changed.
  virtual absl::Status Reload() = 0;
  // Prepare: checks the rules of a new configuration. They take effect when the returned function
  // is called.
  virtual absl::StatusOr<std::function<void()>> Prepare(AccessRules rules) = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_AUTHORITY_H_
