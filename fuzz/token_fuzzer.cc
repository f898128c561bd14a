// SPDX-License-Identifier: Apache-2.0
// Tokens and their keys (service/access/jwt.cc): the input as a compact JWS, as claims under a
// right signature, as a JWKS, and as base64.
#include <openssl/evp.h>

#include <string>

#include "base/bytes.h"
#include "fuzz/fuzz.h"
#include "service/access/jwt.h"
#include "service/access/jwt_keys.h"
#include "service/json.h"

namespace heft::fuzz {
namespace {

constexpr uint64_t kNow = 1800000000;

struct World {
  EVP_PKEY* key = nullptr;
  service::KeySet keys;
  service::TokenRules rules;
};

const World& TheWorld() {
  static const World world = [] {
    World made;
    const std::vector<uint8_t> seed(32, 7);
    made.key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size());
    const auto jwk = service::PublicJwk(made.key, "k");
    Check(jwk.ok(), "a key");
    const service::Json set = {{"keys", {*jwk}}};
    auto keys = service::KeySet::Parse(set.dump(), "keys");
    Check(keys.ok(), "a set of keys");
    made.keys = *std::move(keys);
    made.rules.issuer = "i";
    made.rules.audience = "a";
    made.rules.roles = {"operator", "auditor"};
    return made;
  }();
  return world;
}

void ReadClaims(const service::Json& payload) {
  const auto claims = service::CheckClaims(payload, TheWorld().rules, kNow);
  if (!claims.ok()) {
    Check(absl::IsUnauthenticated(claims.status()), "a token is refused as one");
    return;
  }
  Check(claims->issuer == "i" && !claims->subject.empty(), "somebody of this issuer");
  Check(claims->expires + TheWorld().rules.leeway > kNow, "not expired");
  Check(!claims->roles.empty(), "with a role");
  for (const std::string& role : claims->roles) {
    Check(TheWorld().rules.roles.contains(role), "no role that may not be given");
  }
  Check(claims->certificate.empty() || claims->certificate.size() == 64, "bound to a certificate");
}

void ReadToken(std::string_view text) {
  const auto payload = service::VerifyJws(text, TheWorld().keys);
  if (!payload.ok()) {
    Check(absl::IsUnauthenticated(payload.status()), "a token is refused as one");
    return;
  }
  ReadClaims(*payload);
}

// Signed: the input as header (to the first zero byte) and payload, with a right signature.
void ReadSigned(std::string_view text) {
  const size_t zero = std::min(text.find('\0'), text.size());
  const std::string_view header =
      zero == text.size() ? R"({"alg":"EdDSA","kid":"k"})" : text.substr(0, zero);
  const std::string_view payload = zero == text.size() ? text : text.substr(zero + 1);
  const std::string message =
      service::Base64Url(AsBytes(header)) + "." + service::Base64Url(AsBytes(payload));
  const auto signature = service::SignatureOf(TheWorld().key, "EdDSA", AsBytes(message));
  Check(signature.ok(), "a signature");
  ReadToken(message + "." + service::Base64Url(*signature));
}

void ReadBase64(std::string_view text) {
  if (const auto bytes = service::DecodeBase64Url(text); bytes.ok()) {
    Check(service::Base64Url(*bytes) == text, "base64url has one form");
  }
  if (const auto bytes = service::DecodeBase64(text); bytes.ok()) {
    Check(service::Base64(*bytes) == text, "base64 has one form");
  }
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  heft::fuzz::ReadToken(text);
  heft::fuzz::ReadSigned(text);
  heft::fuzz::ReadBase64(text);
  const auto keys = heft::service::KeySet::Parse(text, "input");
  if (!keys.ok()) heft::fuzz::CheckRefusal(keys.status());
  return 0;
}
