// SPDX-License-Identifier: Apache-2.0
// Relying: the audience and the challenge of a decision. The decider signs both, so that a decision
// cannot be presented to another relying party, or a second time, as if it were made for that.
//
// Headers, each percent-encoded: the caller sets X-Heft-Audience and X-Heft-Challenge. The matcher,
// which alone may ask for others, adds X-Heft-On-Behalf-Of and X-Heft-Request-Nonce.
#ifndef HEFT_SERVICE_ACCESS_RELYING_H_
#define HEFT_SERVICE_ACCESS_RELYING_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "service/http/message.h"

namespace heft::service {

inline constexpr char kAudienceHeader[] = "X-Heft-Audience";
inline constexpr char kChallengeHeader[] = "X-Heft-Challenge";
inline constexpr char kOnBehalfOfHeader[] = "X-Heft-On-Behalf-Of";
inline constexpr char kRequestNonceHeader[] = "X-Heft-Request-Nonce";
// kJournalHeadHeader: of a decider's answer: the signed end of its journal in base64, for the
// matcher to keep (heft/desk.h, TakeHead).
inline constexpr char kJournalHeadHeader[] = "X-Heft-Journal-Head";
inline constexpr size_t kLongestAudience = 255, kLongestChallenge = 256;  // bytes, decoded

struct Relying {
  std::string principal = {};  // the caller
  std::string audience = {};   // the party that relies on it; by default the caller
  std::string challenge = {};  // of the audience; empty: none
  std::string nonce = {};      // of the request that asked

  // Key: the same for the same purpose. It leaves the nonce out, because a repeated request has a
  // new one.
  std::string Key() const;
};

// ReadRelying: from a request's headers; from a caller with kExchange (the matcher) also the party
// that it asks for. kInvalidArgument for a value that is too long or not percent-encoded.
absl::StatusOr<Relying> ReadRelying(const HttpRequest& request);

// RelyingHeaders: the headers that the matcher adds to a forwarded request.
std::vector<std::pair<std::string, std::string>> RelyingHeaders(const Relying& relying);

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_RELYING_H_
