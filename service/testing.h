// SPDX-License-Identifier: Apache-2.0
// For tests only: a temporary certificate authority, tokens, and the table of routes, roles and
// credentials, checked on a real server.
#ifndef HEFT_SERVICE_TESTING_H_
#define HEFT_SERVICE_TESTING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "service/access/authority.h"
#include "service/http/client.h"
#include "service/http/server.h"
#include "service/json.h"

namespace heft::service::testing {

// ThrowAwayCa: makes certificates (P-256) in a folder. Aborts if OpenSSL fails.
class ThrowAwayCa {
 public:
  explicit ThrowAwayCa(const std::string& folder, const std::string& name = "ca");
  ~ThrowAwayCa();

  struct Times {
    int64_t from = -3600, to = 24 * 3600;  // seconds from now
  };
  // Issue: a certificate with this common name for "localhost" and 127.0.0.1, as server and client:
  // folder/NAME.pem and folder/NAME.key.
  TlsFiles Issue(const std::string& subject) const { return Issue(subject, Times()); }
  TlsFiles Issue(const std::string& subject, Times times) const;
  // IssueFor: for a key that is stored elsewhere (PKCS#11); `key` is only used to make the
  // certificate.
  TlsFiles IssueFor(EVP_PKEY* key, const std::string& subject,
                    const std::string& private_key) const;
  // Revoke writes folder/revoked.pem with all these certificates, and returns its path.
  std::string Revoke(const std::vector<std::string>& certificate_files) const {
    return Revoke(certificate_files, {-60, 24 * 3600});
  }
  std::string Revoke(const std::vector<std::string>& certificate_files, Times times) const;
  const std::string& authorities() const { return authorities_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string folder_, authorities_;
};

// TokenIssuer: a key of each kind, and folder/jwks.json with the public halves.
class TokenIssuer {
 public:
  explicit TokenIssuer(const std::string& folder);
  ~TokenIssuer();
  // The rules that accept its tokens.
  TokenRules Rules() const;
  // A valid token for an hour, signed with `algorithm` ("EdDSA", "ES256", "RS256"); `claims` adds
  // or replaces claims, and null removes one.
  std::string Token(const std::string& subject, const std::set<ServiceRole>& roles,
                    const Json& claims = Json::object(),
                    const std::string& algorithm = "EdDSA") const;
  // The same claims signed with a key outside the JWKS, with the kid of a key in it.
  std::string Forged(const std::string& subject, const std::set<ServiceRole>& roles) const;
  // The keys, for tests of the wrong kinds. kid: the algorithm's name.
  EVP_PKEY* key(const std::string& algorithm) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// TestService: a server on loopback with everything of access/, and one client for each role. The
// certificates' subjects are the names of the roles. "carrier" has no role and sends tokens;
// "stranger" is signed by the CA, but no rule names it.
class TestService {
 public:
  struct Options {
    ServerLimits limits = {};
    Rate principal{0, 1};  // no limit
    Rate identity{0, 1};
    std::string nonces;
    Observer observer = {};
  };
  TestService(Router router) : TestService(std::move(router), Options()) {}
  TestService(Router router, Options options);
  ~TestService();

  const std::string& folder() const;
  std::string url() const;
  uint16_t port() const;
  HttpServer& server();
  Authority& authority();
  const ThrowAwayCa& ca() const;
  const TokenIssuer& issuer() const;
  // The client with a certificate of this subject; made at the first call.
  HttpClient& Client(const std::string& subject);
  HttpClient& Client(ServiceRole role) { return Client(std::string(ServiceRoleName(role))); }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// CheckAccessTable: requests every route of `router` on a real server, with handlers that answer
// 299, for every role and every credential. Credentials are: neither token nor role, the role's
// certificate, the role's token, an expired or forged token, a token for another audience, no
// nonce, a stale time, and a nonce used before. Compares the status with ScopesOf: returns a line
// for each cell that differs, and the number of cells.
struct AccessTable {
  std::vector<std::string> wrong;
  size_t cells = 0;
};
AccessTable CheckAccessTable(const Router& router);

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_TESTING_H_
