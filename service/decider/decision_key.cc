// SPDX-License-Identifier: Apache-2.0
#include "service/decider/decision_key.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <array>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status.h"
#include "service/access/jwt.h"
#include "service/http/private_key.h"
#include "service/json.h"

namespace heft::service {
namespace {

// kType: the type of the signature, so that a decision is not accepted as a token (RFC 8725, 3.11).
constexpr char kType[] = "heft-decision+jwt";

// Thumbprint: RFC 7638: the members that define the key, in alphabetical order.
std::string Thumbprint(const Json& jwk) {
  Json members;
  for (const char* name : {"crv", "kty", "x", "y"}) {
    if (jwk.contains(name)) members[name] = jwk[name];
  }
  const std::string text = members.dump();
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest.data());
  return Base64Url(digest);
}

absl::StatusOr<Json> Jwk(EVP_PKEY* key, const std::string& what) {
  auto jwk = PublicJwk(key, "");
  if (jwk.ok() && jwk->value("kty", "") == "RSA") {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": decisions are signed with Ed25519 or P-256, not with RSA"));
  }
  if (jwk.ok()) (*jwk)["kid"] = Thumbprint(*jwk);
  return jwk;
}

absl::StatusOr<std::shared_ptr<EVP_PKEY>> LoadPublicKey(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, 1 << 16));
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  EVP_PKEY* const key = PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr);
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": no public key in PEM (openssl pkey -in KEY -pubout): ", OpenSslErrors()));
  }
  return std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free);
}

}  // namespace

absl::StatusOr<DecisionKey> DecisionKey::Load(const std::string& key,
                                              const std::vector<std::string>& retired) {
  DecisionKey out;
  HEFT_ASSIGN_OR_RETURN(out.key_, LoadPrivateKey(key));
  HEFT_ASSIGN_OR_RETURN(Json own, Jwk(out.key_.get(), key));
  out.id_ = own["kid"].get<std::string>();
  out.jwks_["keys"] = Json::array({std::move(own)});
  for (const std::string& path : retired) {
    HEFT_ASSIGN_OR_RETURN(const auto old, LoadPublicKey(path));
    HEFT_ASSIGN_OR_RETURN(Json jwk, Jwk(old.get(), path));
    out.jwks_["keys"].push_back(std::move(jwk));
  }
  return out;
}

absl::StatusOr<std::string> DecisionKey::Sign(const Json& claims) const {
  return SignJws(key_.get(), id_, claims, kType);
}

}  // namespace heft::service
