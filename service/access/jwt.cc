// SPDX-License-Identifier: Apache-2.0
#include "service/access/jwt.h"

#include <sodium.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "service/access/jwt_keys.h"
#include "service/json.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr size_t kMaxToken = 8192;

std::string Encode(std::span<const uint8_t> bytes, int variant) {
  std::string out(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  sodium_bin2base64(out.data(), out.size(), bytes.data(), bytes.size(), variant);
  out.pop_back();  // the zero
  return out;
}

// Decode: the inverse of Encode, and nothing else is accepted. libsodium 1.0.18 reads some bytes
// above 127 as digits, so the text is compared with the output of Encode.
absl::StatusOr<std::vector<uint8_t>> Decode(std::string_view text, int variant) {
  std::vector<uint8_t> out(text.size() / 4 * 3 + 3);
  size_t size = 0;
  if (sodium_base642bin(out.data(), out.size(), text.data(), text.size(), nullptr, &size, nullptr,
                        variant) != 0) {
    return absl::InvalidArgumentError("not base64");
  }
  out.resize(size);
  if (Encode(out, variant) != text) return absl::InvalidArgumentError("not base64");
  return out;
}

absl::Status Refused(std::string_view why) {
  return absl::UnauthenticatedError(absl::StrCat("the token ", std::string(why)));
}

// DecodeObject: nullopt if the text is not a JSON object, is too deep, or has a key twice.
std::optional<Json> DecodeObject(std::string_view part) {
  const auto bytes = DecodeBase64Url(part);
  if (!bytes.ok()) return std::nullopt;
  auto json = ParseJson(std::span<const uint8_t>(*bytes), {.bytes = kMaxToken, .depth = 8});
  if (!json.ok() || !json->is_object()) return std::nullopt;
  return *std::move(json);
}

std::string Text(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Time: a NumericDate, a whole or fractional number of seconds; nullopt otherwise.
std::optional<uint64_t> Time(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  if (!(seconds >= 0 && seconds < 1e15)) return std::nullopt;
  return static_cast<uint64_t>(seconds);
}

// Texts: a string, or an array of them.
std::optional<std::set<std::string>> Texts(const Json& value) {
  if (value.is_string()) return std::set<std::string>{value.get<std::string>()};
  if (!value.is_array()) return std::nullopt;
  std::set<std::string> out;
  for (const Json& one : value) {
    if (!one.is_string()) return std::nullopt;
    out.insert(one.get<std::string>());
  }
  return out;
}

absl::Status CheckTimes(const Json& payload, const TokenRules& rules, uint64_t now,
                        uint64_t* expires) {
  const auto exp = Time(payload, "exp"), iat = Time(payload, "iat"), nbf = Time(payload, "nbf");
  if (!exp || !iat) return Refused("has no times of issue and expiry (iat, exp)");
  if (payload.contains("nbf") && !nbf) return Refused("has no time in nbf");
  if (*exp + rules.leeway <= now) return Refused("has expired");
  if (*iat > now + rules.leeway || (nbf && *nbf > now + rules.leeway)) {
    return Refused("is from the future");
  }
  if (*exp < *iat || *exp - *iat > rules.most_life) return Refused("is valid for too long");
  *expires = *exp;
  return absl::OkStatus();
}

// Binding: the certificate of `cnf` in hexadecimal, empty without `cnf`; nullopt if it is
// malformed.
std::optional<std::string> Binding(const Json& payload) {
  const auto cnf = payload.find("cnf");
  if (cnf == payload.end()) return "";
  if (!cnf->is_object()) return std::nullopt;
  const auto bytes = DecodeBase64Url(Text(*cnf, "x5t#S256"));
  if (!bytes.ok() || bytes->size() != 32) return std::nullopt;
  return HexString(*bytes);
}

}  // namespace

std::string Base64Url(std::span<const uint8_t> bytes) {
  return Encode(bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}
std::string Base64(std::span<const uint8_t> bytes) {
  return Encode(bytes, sodium_base64_VARIANT_ORIGINAL);
}
absl::StatusOr<std::vector<uint8_t>> DecodeBase64Url(std::string_view text) {
  return Decode(text, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}
absl::StatusOr<std::vector<uint8_t>> DecodeBase64(std::string_view text) {
  return Decode(text, sodium_base64_VARIANT_ORIGINAL);
}

absl::StatusOr<Json> VerifyJws(std::string_view compact, const KeySet& keys,
                               std::string_view type) {
  if (compact.size() > kMaxToken) return Refused("is longer than 8 kB");
  const std::vector<std::string_view> parts = Split(compact, '.');
  if (parts.size() != 3) return Refused("is not a compact JWS");
  const auto header = DecodeObject(parts[0]);
  if (!header) return Refused("has no header");
  if (header->contains("crit")) return Refused("requires unknown extensions");
  if (header->contains("b64")) return Refused("has an unencoded payload");
  if (header->contains("typ")) {
    const std::string typ = Text(*header, "typ");
    const bool fits = typ == type || (type == "JWT" && typ == "at+jwt");
    if (!fits) return Refused("is of another type");
  } else if (type != "JWT") {
    return Refused("has no type");
  }
  const KeySet::Key* key = keys.Find(Text(*header, "kid"));
  if (key == nullptr) return Refused("names an unknown key (kid)");
  // The key's own algorithm decides; a token must name the same. So "none" and HMAC never pass.
  if (Text(*header, "alg") != key->algorithm) return Refused("uses another algorithm than its key");
  const auto signature = DecodeBase64Url(parts[2]);
  const std::string_view covered = compact.substr(0, parts[0].size() + 1 + parts[1].size());
  if (!signature.ok() ||
      !SignatureFits(key->key.get(), key->algorithm, AsBytes(covered), *signature)) {
    return Refused("has a wrong signature");
  }
  auto payload = DecodeObject(parts[1]);
  if (!payload) return Refused("has no claims");
  return *std::move(payload);
}

absl::StatusOr<std::string> SignJws(EVP_PKEY* key, const std::string& kid, const Json& payload,
                                    std::string_view type) {
  HEFT_ASSIGN_OR_RETURN(const std::string algorithm, AlgorithmOf(key));
  const Json header = {{"alg", algorithm}, {"typ", std::string(type)}, {"kid", kid}};
  const std::string message =
      absl::StrCat(Base64Url(AsBytes(header.dump())), ".", Base64Url(AsBytes(payload.dump())));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> signature,
                        SignatureOf(key, algorithm, AsBytes(message)));
  return absl::StrCat(message, ".", Base64Url(signature));
}

absl::StatusOr<TokenClaims> CheckClaims(const Json& payload, const TokenRules& rules,
                                        uint64_t now) {
  TokenClaims out;
  out.issuer = Text(payload, "iss");
  out.subject = Text(payload, "sub");
  if (out.issuer.empty() || out.issuer != rules.issuer) return Refused("is from another issuer");
  if (out.subject.empty() || out.subject.size() > 256) return Refused("names no subject (sub)");
  // The subject goes to the decider in a header, and into logs.
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  if (std::ranges::any_of(out.subject, control)) {
    return Refused("has control characters in its subject (sub)");
  }
  const auto audience = Texts(payload.value("aud", Json()));
  if (!audience || !audience->contains(rules.audience))
    return Refused("is for another audience (aud)");
  HEFT_RETURN_IF_ERROR(CheckTimes(payload, rules, now, &out.expires));
  const auto roles = Texts(payload.value(rules.roles_claim, Json::array()));
  if (!roles) return Refused("has no readable roles");
  for (const std::string& role : *roles) {
    // Tokens may list roles of other services and roles that this issuer may not grant: ignore
    // them.
    if (rules.roles.contains(role)) out.roles.insert(role);
  }
  if (out.roles.empty()) return Refused("grants no role that this service accepts");
  if (const auto scope = payload.find("scope"); scope != payload.end()) {
    if (!scope->is_string()) return Refused("has scopes that are not text");
    out.limits_scopes = true;
    const std::string all = scope->get<std::string>();
    for (const std::string_view one : Split(all, ' ')) {
      if (!one.empty()) out.scopes.emplace(one);
    }
  }
  const auto binding = Binding(payload);
  if (!binding) return Refused("is bound to an unknown confirmation method (cnf)");
  out.certificate = *binding;
  return out;
}

}  // namespace heft::service
