// SPDX-License-Identifier: Apache-2.0
// JSON Web Signatures, compact (RFC 7515), as tokens (RFC 7519) and as statements of the decider:
// EdDSA (Ed25519), ES256 and RS256 alone. Keys come as a JWKS (RFC 7517).
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

// KeySet: public keys by their `kid`. Parse: kInvalidArgument for what is no JWKS, for a key
// without kid, twice, with private parts, for RSA below 2048 bits or another curve than P-256 and
// Ed25519.
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
// algorithm. kUnauthenticated for everything else: "none", HMAC, `crit`, other types than `type`
// ("JWT" takes "at+jwt" and none too), above 8 kB.
absl::StatusOr<Json> VerifyJws(std::string_view compact, const KeySet& keys,
                               std::string_view type = "JWT");

// SignJws: a compact JWS of `payload`; the algorithm is the key's. kInvalidArgument for a key of
// another kind. PublicJwk: the public half, for a JWKS.
absl::StatusOr<std::string> SignJws(EVP_PKEY* key, const std::string& kid, const Json& payload,
                                    std::string_view type = "JWT");
absl::StatusOr<Json> PublicJwk(EVP_PKEY* key, const std::string& kid);

// TokenRules: whose tokens are believed, and how far.
struct TokenRules {
  std::string issuer;
  std::string audience;
  std::string keys;                   // JWKS file
  std::string roles_claim = "roles";  // an array of role names, or one
  std::set<std::string> roles = {};   // those that this issuer may give; never "machine"
  uint64_t leeway = 30;               // seconds that clocks may differ
  uint64_t most_life = 12 * 60 * 60;  // seconds between iat and exp
};

// TokenClaims: what of a good token matters.
struct TokenClaims {
  std::string issuer, subject;
  std::set<std::string> roles;
  bool limits_scopes = false;  // a claim `scope` was there
  std::set<std::string> scopes;
  std::string certificate;  // cnf x5t#S256 (RFC 8705) as hexadecimal; empty: not bound to one
  uint64_t expires = 0;
};
// CheckClaims: of a payload that was signed. kUnauthenticated says which claim.
absl::StatusOr<TokenClaims> CheckClaims(const Json& payload, const TokenRules& rules, uint64_t now);

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_JWT_H_
