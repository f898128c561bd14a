// SPDX-License-Identifier: Apache-2.0
// Decider: the matcher's connection to the key owner's service. The matcher sends files that it
// signed and cannot read, and receives files that the key owner signed. service/matcher/forward.h
// has the one over HTTP; tests have one in the process.
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

// Forwarded: the request that a message belongs to, and when its answer becomes useless.
struct Forwarded {
  std::string gallery;     // its name in the matcher's store
  std::string request_id;  // X-Request-Id of the client's request; empty: the matcher's own
  Relying relying;         // the matcher's caller, and its audience
  std::chrono::steady_clock::time_point deadline;
  std::string content_type = std::string(kHeftType);
};

// SignedDecision: the decider's decision, the compact JWS over it, and the signed end of the key
// owner's journal (kJournalHeadHeader); empty: none.
struct SignedDecision {
  Json decision;
  std::string jws;
  std::vector<uint8_t> head;
};

// kSpent: a payload of kResourceExhausted if a budget is spent: a retry soon does not help.
inline constexpr char kSpent[] = "heft/spent";

// Decider: any number of threads may call. Errors of all calls: kUnavailable and kDeadlineExceeded
// if no answer came, so that a retry may help; kResourceExhausted if the decider is overloaded or a
// budget is spent; otherwise the decider's own error and message.
class Decider {
 public:
  virtual ~Decider() = default;

  // Decide: for a reply that the matcher signed (SignReply), or for a form with the replies of all
  // buckets, which their nodes signed.
  virtual absl::StatusOr<SignedDecision> Decide(std::span<const uint8_t> signed_replies,
                                                const Forwarded& of) = 0;

  // Approve: for the signed bytes of Server::Pending. The signed admission, or nullopt while a
  // person has yet to decide: then ask again later with the enrolments that are pending by then.
  // The decider knows a request by its enrolments, so a repetition is not queued twice.
  virtual absl::StatusOr<std::optional<std::vector<uint8_t>>> Approve(
      std::span<const uint8_t> signed_request, const Forwarded& of) = 0;

  // Renew: the signed renewal, for the signed bytes of AskRenewal.
  virtual absl::StatusOr<std::vector<uint8_t>> Renew(std::span<const uint8_t> signed_request,
                                                     const Forwarded& of) = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_DECIDER_LINK_H_
