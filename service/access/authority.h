// SPDX-License-Identifier: Apache-2.0
// Authority: makes a Principal of a certificate, or of a token beside one, and says whether it may.
// The one place where roles become scopes.
#ifndef HEFT_SERVICE_ACCESS_AUTHORITY_H_
#define HEFT_SERVICE_ACCESS_AUTHORITY_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/access/jwt.h"
#include "service/access/limits.h"
#include "service/access/principal.h"
#include "service/http/server.h"

namespace heft::service {

// ScopesOf: THE table: what each role may.
const std::set<Scope>& ScopesOf(ServiceRole role);

// CertificateRule: who somebody is who shows a certificate of this subject (common name) or
// fingerprint.
struct CertificateRule {
  std::string subject;      // or
  std::string fingerprint;  // SHA-256, hexadecimal
  std::set<ServiceRole> roles;
  bool carries_tokens = false;  // may bring tokens of people and relying parties
};

struct AuthorityOptions {
  std::vector<CertificateRule> certificates;
  std::optional<TokenRules> tokens;  // none: tokens are refused
  std::string nonces;                // file of access/replay.h; empty: memory alone
  Rate principal{50, 200};           // requests of a principal
  Rate identity{0.5, 30};            // verifications of a person, whoever asks
};

class Authority {
 public:
  // kInvalidArgument, kNotFound: of the options and the JWKS.
  static absl::StatusOr<std::unique_ptr<Authority>> Create(AuthorityOptions options);
  virtual ~Authority() = default;
  // For HttpServer; this object must outlive it. Refuses with 401 UNAUTHENTICATED (no certificate,
  // a bad token), 401 STALE or REPLAYED, 403 PERMISSION_DENIED, 429 RESOURCE_EXHAUSTED, 400
  // INVALID_ARGUMENT (nonce or time missing or malformed), 503 UNAVAILABLE.
  virtual Gate gate() = 0;
  // Reads the JWKS again; on an error all stays as it was. It is also read again by itself where a
  // token names a key that is not there and the file has changed.
  virtual absl::Status Reload() = 0;
  // Prepare: rules of certificates and limits of tokens of a configuration read anew, which hold
  // from the moment that what it returns is called.
  virtual absl::StatusOr<std::function<void()>> Prepare(std::vector<CertificateRule> certificates,
                                                        std::optional<TokenRules> tokens) = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_AUTHORITY_H_
