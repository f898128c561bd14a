// SPDX-License-Identifier: Apache-2.0
// For tests alone: a throw-away certificate authority, tokens, and the table of routes times roles
// times credentials, asked of a real server.
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

// ThrowAwayCa: makes certificates (P-256) in a folder. Dies where OpenSSL refuses.
class ThrowAwayCa {
 public:
  explicit ThrowAwayCa(const std::string& folder, const std::string& name = "ca");
  ~ThrowAwayCa();

  struct Times {
    int64_t from = -3600, to = 24 * 3600;  // seconds from now
  };
  // Issue: a certificate of this common name, good for "localhost" and 127.0.0.1, as server and
  // client: folder/NAME.pem and folder/NAME.key.
  TlsFiles Issue(const std::string& subject) const { return Issue(subject, Times()); }
  TlsFiles Issue(const std::string& subject, Times times) const;
  // Of a key that is somewhere else (PKCS#11); `key` is only used to make the certificate.
  TlsFiles IssueFor(EVP_PKEY* key, const std::string& subject,
                    const std::string& private_key) const;
  // Revoke writes folder/revoked.pem with all that were given to it, and returns its path.
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

// TokenIssuer: keys of each kind, and folder/jwks.json with their public halves.
class TokenIssuer {
 public:
  explicit TokenIssuer(const std::string& folder);
  ~TokenIssuer();
  // The rules that believe it.
  TokenRules Rules() const;
  // A good token for an hour, of `algorithm` ("EdDSA", "ES256", "RS256"), with these claims added
  // or replaced; null removes one.
  std::string Token(const std::string& subject, const std::set<ServiceRole>& roles,
                    const Json& claims = Json::object(),
                    const std::string& algorithm = "EdDSA") const;
  // The same claims under a key that is not in the JWKS, with the kid of one that is.
  std::string Forged(const std::string& subject, const std::set<ServiceRole>& roles) const;
  // The keys, for tests of the wrong kinds. kid: the algorithm's name.
  EVP_PKEY* key(const std::string& algorithm) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// TestService: a server on loopback with everything that access/ has, and one client a role. The
// certificates' subjects are the roles' names; "carrier" has no role and brings tokens; "stranger"
// is signed by the CA and named by no rule.
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
  // The client of a certificate of this subject; made at the first call.
  HttpClient& Client(const std::string& subject);
  HttpClient& Client(ServiceRole role) { return Client(std::string(ServiceRoleName(role))); }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// CheckAccessTable: asks `router`'s routes, each with handlers that answer 299, of a real server:
// every route times every role times {no token and no role, the role's certificate, the role's
// token, a token expired, forged, of another audience, a request without nonce, with a stale time,
// a nonce used before}, and compares with what ScopesOf says. Returns a line for each cell that
// differs, and counts cells.
struct AccessTable {
  std::vector<std::string> wrong;
  size_t cells = 0;
};
AccessTable CheckAccessTable(const Router& router);

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_TESTING_H_
