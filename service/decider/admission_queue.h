// SPDX-License-Identifier: Apache-2.0
// AdmissionQueue: enrolments that wait for a person's decision. Each request of a matcher holds all
// pending enrolments of a gallery, so the latest request replaces the queue of that gallery. A
// verdict stays until a later request no longer holds the entry: then the matcher has the answer.
// The queue keeps names, no proofs: verdicts are signed over the matcher's next request. Its size
// is bounded by the configured galleries, and it is on the disk before the caller gets an answer.
#ifndef HEFT_SERVICE_DECIDER_ADMISSION_QUEUE_H_
#define HEFT_SERVICE_DECIDER_ADMISSION_QUEUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/key_owner.h"

namespace heft::service {

// Waiting: an enrolment, and its verdict.
struct Waiting {
  enum class Word : uint8_t { kNone, kAdmit, kReject };
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
  // KeyOwner::Admit; without entries there are none yet.
  absl::StatusOr<AdmissionPolicy> Offer(const AdmissionInquiry& inquiry, uint64_t now);
  // Decide: all or none. kNotFound for an entry that is not waiting, kFailedPrecondition for one
  // with another verdict, kInvalidArgument for one in both lists.
  absl::Status Decide(const GalleryId& gallery, const std::vector<Digest>& admit,
                      const std::vector<Digest>& reject, const std::string& by);

  // List: the entries without a verdict, by gallery and in the order of the request.
  std::vector<Waiting> List() const;
  size_t size() const;

 private:
  using Entries = std::vector<Waiting>;
  AdmissionQueue() = default;
  std::string Path(const GalleryId& gallery) const;
  absl::Status Save(const GalleryId& gallery, const Entries& entries) const;
  absl::Status Load(const std::string& path, const std::string& name);

  mutable std::mutex mutex_;
  std::string folder_;
  std::map<GalleryId, Entries> galleries_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_ADMISSION_QUEUE_H_
