// SPDX-License-Identifier: Apache-2.0
// JSON Web Signatures in compact form (RFC 7515): tokens (RFC 7519) and statements of the decider.
// Only EdDSA (Ed25519), ES256 and RS256. Keys come as a JWKS (RFC 7517).
#ifndef HEFT_SERVICE_ACCESS_JWT_H_
#define HEFT_SERVICE_ACCESS_JWT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/json.h"

typedef struct evp_pkey_st EVP_PKEY;

namespace heft::service {

// Base64Url: RFC 4648, section 5, without padding. DecodeBase64Url: kInvalidArgument for anything
// that Base64Url does not write. DecodeBase64: the usual alphabet, padded (OSIA's templates).
std::string Base64Url(std::span<const uint8_t> bytes);
absl::StatusOr<std::vector<uint8_t>> DecodeBase64Url(std::string_view text);
std::string Base64(std::span<const uint8_t> bytes);
absl::StatusOr<std::vector<uint8_t>> DecodeBase64(std::string_view text);

// KeySet: public keys by their `kid`. Parse: kInvalidArgument if the text is not a JWKS, or if a
// key has no kid, a kid that is used twice, private parts, RSA below 2048 bits, or a curve other
// than P-256 and Ed25519.
class KeySet {
 public:
  static absl::StatusOr<KeySet> Parse(std::string_view jwks, std::string_view what);
  struct Key {
    std::shared_ptr<EVP_PKEY> key;
    std::string algorithm;  // the one that it may be used with
  };
  const Key* Find(const std::string& kid) const;
  size_t size() const { return keys_.size(); }

 private:
  std::map<std::string, Key> keys_;
};

// VerifyJws: the payload of a compact JWS whose header names a key of the set and that key's own
// algorithm. kUnauthenticated for everything else: "none", HMAC, `crit`, a type other than `type`
// (type "JWT" also accepts "at+jwt" and no type), or more than 8 kB.
absl::StatusOr<Json> VerifyJws(std::string_view compact, const KeySet& keys,
                               std::string_view type = "JWT");

// SignJws: a compact JWS of `payload`; the algorithm is the key's. kInvalidArgument for a key of
// another kind. PublicJwk: the public half, for a JWKS.
absl::StatusOr<std::string> SignJws(EVP_PKEY* key, const std::string& kid, const Json& payload,
                                    std::string_view type = "JWT");
absl::StatusOr<Json> PublicJwk(EVP_PKEY* key, const std::string& kid);

// TokenRules: which tokens are accepted, and what they may grant.
struct TokenRules {
  std::string issuer;
  std::string audience;
  std::string keys;                   // JWKS file
  std::string roles_claim = "roles";  // an array of role names, or one
  std::set<std::string> roles = {};   // those that this issuer may give; never "machine"
  uint64_t leeway = 30;               // seconds that clocks may differ
  uint64_t most_life = 12 * 60 * 60;  // seconds between iat and exp
};

// TokenClaims: the claims of a valid token that the services use.
struct TokenClaims {
  std::string issuer, subject;
  std::set<std::string> roles;
  bool limits_scopes = false;  // a claim `scope` was there
  std::set<std::string> scopes;
  std::string certificate;  // cnf x5t#S256 (RFC 8705) as hexadecimal; empty: not bound to one
  uint64_t expires = 0;
};
// CheckClaims: checks the claims of a verified payload. kUnauthenticated names the wrong claim.
absl::StatusOr<TokenClaims> CheckClaims(const Json& payload, const TokenRules& rules, uint64_t now);

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_JWT_H_
