// SPDX-License-Identifier: Apache-2.0
// Relying: for whom a decision is made, and in answer to what: the decider signs it, so that nobody
// can show a decision to somebody else, or a second time, as if it were made for that.
//
// Headers, each percent-encoded: X-Heft-Audience and X-Heft-Challenge are the caller's to give; the
// matcher, which alone may speak for others, adds X-Heft-On-Behalf-Of and X-Heft-Request-Nonce.
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
inline constexpr size_t kLongestAudience = 255, kLongestChallenge = 256;  // bytes, decoded

struct Relying {
  std::string principal;  // who asked
  std::string audience;   // who is to rely on it; where nobody is named, who asked
  std::string challenge;  // that he gave; empty: none
  std::string nonce;      // of the request that asked

  // Key: the same for the same purpose; of the nonce it knows nothing, as a request that is sent
  // again has another.
  std::string Key() const;
};

// ReadRelying: of a request; of who has kExchange (the matcher) for whom it asks. kInvalidArgument
// for what is too long or not percent-encoded.
absl::StatusOr<Relying> ReadRelying(const HttpRequest& request);

// RelyingHeaders: what the matcher adds to what it forwards.
std::vector<std::pair<std::string, std::string>> RelyingHeaders(const Relying& relying);

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_RELYING_H_
