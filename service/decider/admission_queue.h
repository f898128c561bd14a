// SPDX-License-Identifier: Apache-2.0
// AdmissionQueue: enrolments that wait for a person's decision: all of a gallery with manual
// admission, and those of contested identities (owner/contested.h) of one with automatic
// admission. The latest request of a matcher replaces the queue of its gallery. A verdict stays
// until a later request no longer holds the entry: then the matcher has the answer.
// The queue keeps names, no proofs: verdicts are signed over the matcher's next request. Its size
// is bounded by the configured galleries, and it is on the disk before the caller gets an answer.
#ifndef HEFT_SERVICE_DECIDER_ADMISSION_QUEUE_H_
#define HEFT_SERVICE_DECIDER_ADMISSION_QUEUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/key_owner.h"

namespace heft::service {

// PendingEntry: an enrolment, and its verdict.
struct PendingEntry {
  enum class Word : uint8_t { kNone, kApprove, kReject };
  GalleryId gallery{};
  uint64_t received = 0;  // Unix seconds, of the request that it came with first
  AdmissionInquiry::Enrolment enrolment;
  Word word = Word::kNone;
  std::string by;  // the person that decided
};

// DigestOfHex: 64 digits, no more. kInvalidArgument.
absl::StatusOr<Digest> DigestOfHex(std::string_view text);

class AdmissionQueue {
 public:
  // One file for each gallery in the existing `folder`. kUnavailable; kDataLoss names the file.
  static absl::StatusOr<std::unique_ptr<AdmissionQueue>> Open(const std::string& folder);

  // Offer: replaces the queue of the gallery. Returns the verdicts so far, ready for
  // KeyOwner::Approve; without entries there are none yet.
  absl::StatusOr<ApprovalPolicy> Offer(const AdmissionInquiry& inquiry, uint64_t now);
  // OfferHeld: as Offer, but only entries that Hold has put in the queue stay in it, while others
  // have their new identities too. Without verdicts, the policy decides everything except these.
  absl::StatusOr<ApprovalPolicy> OfferHeld(const AdmissionInquiry& inquiry, uint64_t now);
  // Hold: adds the claims on contested identities in the last answer to this inquiry.
  absl::Status Hold(const AdmissionInquiry& inquiry,
                    std::span<const Admissions::Contested> contested, uint64_t now);
  // Decide: all or none. kNotFound for an entry that is not pending, kFailedPrecondition for one
  // with another verdict, and for a new identity that two approved enrolments would have;
  // kInvalidArgument for one in both lists.
  absl::Status Decide(const GalleryId& gallery, const std::vector<Digest>& approve,
                      const std::vector<Digest>& reject, const std::string& by);

  // List: the entries without a verdict, by gallery and in the order of the request.
  std::vector<PendingEntry> List() const;
  size_t size() const;
  // More: pending enrolments that the matchers' latest requests had no room for.
  uint64_t more() const;

 private:
  using Entries = std::vector<PendingEntry>;
  AdmissionQueue() = default;
  std::string Path(const GalleryId& gallery) const;
  // Replaces the queue of the inquiry's gallery by these of its enrolments.
  absl::Status Replace(const AdmissionInquiry& inquiry,
                       const std::vector<const AdmissionInquiry::Enrolment*>& enrolments,
                       uint64_t now);
  absl::Status Save(const GalleryId& gallery, const Entries& entries) const;
  absl::Status Load(const std::string& path, const std::string& name);

  mutable std::mutex mutex_;
  std::string folder_;
  std::map<GalleryId, Entries> galleries_;
  std::map<GalleryId, uint64_t> more_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_ADMISSION_QUEUE_H_
