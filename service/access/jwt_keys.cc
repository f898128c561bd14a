// SPDX-License-Identifier: Apache-2.0
// Keys of JSON Web Signatures: read from a JWKS and written to one (RFC 7517, 7518, 8037), and
// signed and verified with OpenSSL.
#include "service/access/jwt_keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/http/private_key.h"
#include "service/json.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr size_t kCurveBytes = 32;

template <typename T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

// KeyFromParameters: of one of OpenSSL's types.
std::shared_ptr<EVP_PKEY> KeyFromParameters(const char* type, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> params(OSSL_PARAM_BLD_to_param(builder), OSSL_PARAM_free);
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr),
                                    EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  // A point that is not on the curve is no key.
  const Owned<EVP_PKEY_CTX> check(EVP_PKEY_CTX_new(key, nullptr), EVP_PKEY_CTX_free);
  std::shared_ptr<EVP_PKEY> owned = std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free);
  return check != nullptr && EVP_PKEY_public_check(check.get()) == 1 ? owned : nullptr;
}

std::shared_ptr<EVP_PKEY> EcKey(std::span<const uint8_t> x, std::span<const uint8_t> y) {
  if (x.size() != kCurveBytes || y.size() != kCurveBytes) return nullptr;
  std::vector<uint8_t> point = {4};
  point.insert(point.end(), x.begin(), x.end());
  point.insert(point.end(), y.begin(), y.end());
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  return KeyFromParameters("EC", builder.get());
}

std::shared_ptr<EVP_PKEY> RsaKey(std::span<const uint8_t> n, std::span<const uint8_t> e) {
  if (n.size() < 256 || n.size() > 1024 || e.empty() || e.size() > 8) return nullptr;
  const Owned<BIGNUM> modulus(BN_bin2bn(n.data(), static_cast<int>(n.size()), nullptr), BN_free);
  const Owned<BIGNUM> exponent(BN_bin2bn(e.data(), static_cast<int>(e.size()), nullptr), BN_free);
  if (BN_num_bits(modulus.get()) < 2048) return nullptr;
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return KeyFromParameters("RSA", builder.get());
}

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// BytesOf: a member in base64url; empty if it is missing or wrong.
std::vector<uint8_t> BytesOf(const Json& object, const char* key) {
  return DecodeBase64Url(TextOf(object, key)).value_or(std::vector<uint8_t>());
}

absl::StatusOr<KeySet::Key> ReadKey(const Json& jwk) {
  for (const char* secret : {"d", "p", "q", "k"}) {
    if (jwk.contains(secret)) {
      return absl::InvalidArgumentError("contains the private key: remove it, and replace the key");
    }
  }
  if (const std::string use = TextOf(jwk, "use"); !use.empty() && use != "sig") {
    return absl::InvalidArgumentError("is not for signatures");
  }
  const std::string type = TextOf(jwk, "kty"), curve = TextOf(jwk, "crv");
  KeySet::Key key;
  if (type == "OKP" && curve == "Ed25519") {
    const std::vector<uint8_t> x = BytesOf(jwk, "x");
    key.algorithm = "EdDSA";
    if (x.size() == kCurveBytes) {
      key.key.reset(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, x.data(), x.size()),
                    EVP_PKEY_free);
    }
  } else if (type == "EC" && curve == "P-256") {
    key.algorithm = "ES256";
    key.key = EcKey(BytesOf(jwk, "x"), BytesOf(jwk, "y"));
  } else if (type == "RSA") {
    key.algorithm = "RS256";
    key.key = RsaKey(BytesOf(jwk, "n"), BytesOf(jwk, "e"));
  } else {
    return absl::InvalidArgumentError("is neither Ed25519, nor of P-256, nor RSA");
  }
  const std::string said = TextOf(jwk, "alg");
  if (!said.empty() && said != key.algorithm) {
    return absl::InvalidArgumentError(absl::StrCat("is for ", said, ", not ", key.algorithm));
  }
  if (key.key == nullptr) return absl::InvalidArgumentError("is damaged, or RSA below 2048 bits");
  return key;
}

// JoinedSignature, SplitSignature: ECDSA's signature as JWS has it, and as OpenSSL does.
absl::StatusOr<std::vector<uint8_t>> JoinedSignature(std::span<const uint8_t> der) {
  const unsigned char* at = der.data();
  const Owned<ECDSA_SIG> signature(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())),  // NOLINT
      ECDSA_SIG_free);
  std::vector<uint8_t> out(2 * kCurveBytes);
  if (signature == nullptr ||
      BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out.data(), kCurveBytes) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out.data() + kCurveBytes, kCurveBytes) < 0) {
    return absl::InternalError("not an ECDSA signature");
  }
  return out;
}

std::vector<uint8_t> SplitSignature(std::span<const uint8_t> joined) {
  if (joined.size() != 2 * kCurveBytes) return {};
  const Owned<ECDSA_SIG> signature(ECDSA_SIG_new(), ECDSA_SIG_free);
  ECDSA_SIG_set0(signature.get(), BN_bin2bn(joined.data(), kCurveBytes, nullptr),
                 BN_bin2bn(joined.data() + kCurveBytes, kCurveBytes, nullptr));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size < 0) return {};
  std::vector<uint8_t> out(der, der + size);
  OPENSSL_free(der);
  return out;
}

std::vector<uint8_t> NumberOf(EVP_PKEY* key, const char* name, size_t least_bytes) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return {};
  std::vector<uint8_t> out(std::max<size_t>(least_bytes, BN_num_bytes(number)));
  BN_bn2binpad(number, out.data(), static_cast<int>(out.size()));
  BN_free(number);
  return out;
}

}  // namespace

absl::StatusOr<KeySet> KeySet::Parse(std::string_view jwks, std::string_view what) {
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), ": ", std::string(why)));
  };
  const auto parsed = ParseJson(jwks);
  if (!parsed.ok()) return wrong(absl::StrCat("not a JWKS: ", Message(parsed.status())));
  const Json& json = *parsed;
  if (!json.is_object() || !json.contains("keys") || !json["keys"].is_array()) {
    return wrong("not a JWKS: {\"keys\": [...]}");
  }
  KeySet set;
  for (const Json& jwk : json["keys"]) {
    const std::string kid = jwk.is_object() ? TextOf(jwk, "kid") : "";
    if (kid.empty()) return wrong("a key without \"kid\"");
    auto key = ReadKey(jwk);
    if (!key.ok()) return wrong(absl::StrCat("the key \"", kid, "\" ", Message(key.status())));
    if (!set.keys_.emplace(kid, *std::move(key)).second) {
      return wrong(absl::StrCat("two keys \"", kid, "\""));
    }
  }
  return set;
}

const KeySet::Key* KeySet::Find(const std::string& kid) const {
  const auto found = keys_.find(kid);
  return found == keys_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::string> AlgorithmOf(EVP_PKEY* key) {
  const int type = EVP_PKEY_get_base_id(key);
  if (type == EVP_PKEY_ED25519) return "EdDSA";
  if (type == EVP_PKEY_RSA && EVP_PKEY_get_bits(key) >= 2048) return "RS256";
  if (type == EVP_PKEY_EC && EVP_PKEY_get_bits(key) == 256) return "ES256";
  return absl::InvalidArgumentError(
      "a key for signatures must be Ed25519, P-256, or RSA of at least 2048 bits");
}

absl::StatusOr<std::vector<uint8_t>> SignatureOf(EVP_PKEY* key, const std::string& algorithm,
                                                 std::span<const uint8_t> message) {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const EVP_MD* digest = algorithm == "EdDSA" ? nullptr : EVP_sha256();
  size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, message.data(), message.size()) != 1) {
    return absl::UnavailableError(absl::StrCat("cannot sign: ", OpenSslErrors()));
  }
  std::vector<uint8_t> out(size);
  if (EVP_DigestSign(context.get(), out.data(), &size, message.data(), message.size()) != 1) {
    return absl::UnavailableError(absl::StrCat("cannot sign: ", OpenSslErrors()));
  }
  out.resize(size);
  if (algorithm == "ES256") return JoinedSignature(out);
  return out;
}

bool SignatureFits(EVP_PKEY* key, const std::string& algorithm, std::span<const uint8_t> message,
                   std::span<const uint8_t> signature) {
  std::vector<uint8_t> bytes(signature.begin(), signature.end());
  if (algorithm == "ES256") bytes = SplitSignature(signature);
  if (bytes.empty()) return false;
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const EVP_MD* digest = algorithm == "EdDSA" ? nullptr : EVP_sha256();
  const bool good = EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
                    EVP_DigestVerify(context.get(), bytes.data(), bytes.size(), message.data(),
                                     message.size()) == 1;
  if (!good) OpenSslErrors();
  return good;
}

absl::StatusOr<Json> PublicJwk(EVP_PKEY* key, const std::string& kid) {
  HEFT_ASSIGN_OR_RETURN(const std::string algorithm, AlgorithmOf(key));
  Json jwk = {{"kid", kid}, {"use", "sig"}, {"alg", algorithm}};
  if (algorithm == "EdDSA") {
    std::vector<uint8_t> raw(kCurveBytes);
    size_t size = raw.size();
    if (EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1) {
      return absl::InternalError(OpenSslErrors());
    }
    jwk.update({{"kty", "OKP"}, {"crv", "Ed25519"}, {"x", Base64Url(raw)}});
  } else if (algorithm == "ES256") {
    // A token's key has no parameters to ask for, but a point: 4, x, y (SEC 1, 2.3.3).
    uint8_t* point = nullptr;
    const size_t size = EVP_PKEY_get1_encoded_public_key(key, &point);
    const std::vector<uint8_t> bytes(point, point + size);
    OPENSSL_free(point);
    if (size != 1 + 2 * kCurveBytes) return absl::InternalError(OpenSslErrors());
    const std::span<const uint8_t> xy = std::span(bytes).subspan(1);
    jwk.update({{"kty", "EC"},
                {"crv", "P-256"},
                {"x", Base64Url(xy.first(kCurveBytes))},
                {"y", Base64Url(xy.subspan(kCurveBytes))}});
  } else {
    jwk.update({{"kty", "RSA"},
                {"n", Base64Url(NumberOf(key, OSSL_PKEY_PARAM_RSA_N, 1))},
                {"e", Base64Url(NumberOf(key, OSSL_PKEY_PARAM_RSA_E, 1))}});
  }
  return jwk;
}

}  // namespace heft::service
