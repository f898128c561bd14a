// SPDX-License-Identifier: Apache-2.0
// Decider: the key owner's service, as the matcher sees it. What goes there are files that the
// matcher has signed and cannot read; what comes back the key owner has signed. The one that speaks
// HTTP is in service/matcher/forward.h; tests have one in the process.
#ifndef HEFT_SERVICE_MATCHER_DECIDER_LINK_H_
#define HEFT_SERVICE_MATCHER_DECIDER_LINK_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "service/access/relying.h"
#include "service/json.h"

namespace heft::service {

// Forwarded: for whom a message is sent, and until when an answer is of use.
struct Forwarded {
  std::string gallery;     // its name in the matcher's store
  std::string request_id;  // X-Request-Id of what it belongs to; empty: the matcher's own
  Relying relying;         // who asked the matcher, and for whom
  std::chrono::steady_clock::time_point deadline;
};

// SignedDecision: what the decider says, and the same as a compact JWS over it.
struct SignedDecision {
  Json decision;
  std::string jws;
};

// kSpent: a payload of kResourceExhausted where a budget is spent: asking again soon does not help.
inline constexpr char kSpent[] = "heft/spent";

// Decider: any number of threads may call. Errors of all calls: kUnavailable and kDeadlineExceeded
// where no answer came, so that asking again may help; kResourceExhausted where the decider is
// overloaded or a budget is spent; otherwise the decider's own refusal, with its words.
class Decider {
 public:
  virtual ~Decider() = default;

  // Decide: of a reply that the matcher has signed (SignReply), once.
  virtual absl::StatusOr<SignedDecision> Decide(std::span<const uint8_t> signed_reply,
                                                const Forwarded& of) = 0;

  // Admit: of Server::Pending's bytes, signed. The signed admission; nothing where a person has
  // yet to decide: then ask again later with what waits by then. The decider knows a request by
  // who waits in it, so asking again does not queue it twice.
  virtual absl::StatusOr<std::optional<std::vector<uint8_t>>> Admit(
      std::span<const uint8_t> signed_request, const Forwarded& of) = 0;

  // Renew: of AskRenewal's bytes, signed: the signed renewal.
  virtual absl::StatusOr<std::vector<uint8_t>> Renew(std::span<const uint8_t> signed_request,
                                                     const Forwarded& of) = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_DECIDER_LINK_H_
