// SPDX-License-Identifier: Apache-2.0
#include "service/access/relying.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/access/replay.h"

namespace heft::service {
namespace {

constexpr size_t kLongestName = 1024;  // of a principal: issuer and subject of a token

absl::StatusOr<std::string> Decoded(const HttpRequest& request, const char* header, size_t most) {
  const auto text = DecodePercent(request.Header(absl::AsciiStrToLower(header)));
  if (text.ok() && text->size() <= most) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(header, ": percent-encoded, at most ", most, " bytes, no control characters"));
}

}  // namespace

std::string Relying::Key() const {
  return absl::StrCat(principal.size(), ":", principal, audience.size(), ":", audience,
                      challenge.size(), ":", challenge);
}

absl::StatusOr<Relying> ReadRelying(const HttpRequest& request) {
  Relying out;
  out.principal = request.who.name;
  out.nonce = request.Header(absl::AsciiStrToLower(kNonceHeader));
  if (request.who.Has(Scope::kExchange)) {
    HEFT_ASSIGN_OR_RETURN(std::string asked, Decoded(request, kOnBehalfOfHeader, kLongestName));
    HEFT_ASSIGN_OR_RETURN(std::string nonce, Decoded(request, kRequestNonceHeader, kLongestName));
    if (!asked.empty()) out.principal = std::move(asked);
    if (!nonce.empty()) out.nonce = std::move(nonce);
  }
  HEFT_ASSIGN_OR_RETURN(out.audience, Decoded(request, kAudienceHeader, kLongestAudience));
  HEFT_ASSIGN_OR_RETURN(out.challenge, Decoded(request, kChallengeHeader, kLongestChallenge));
  if (out.audience.empty()) out.audience = out.principal;
  return out;
}

std::vector<std::pair<std::string, std::string>> RelyingHeaders(const Relying& relying) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.emplace_back(name, EncodePercent(value));
  };
  add(kOnBehalfOfHeader, relying.principal);
  add(kRequestNonceHeader, relying.nonce);
  if (relying.audience != relying.principal) add(kAudienceHeader, relying.audience);
  add(kChallengeHeader, relying.challenge);
  return out;
}

}  // namespace heft::service
