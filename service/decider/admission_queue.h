// SPDX-License-Identifier: Apache-2.0
// AdmissionQueue: enrolments that wait until a person decides. A matcher sends all that waits in a
// gallery each time it asks, so what waits is what its latest request holds; what was decided
// stands there until a later request no longer holds it, as the matcher then has its answer. Names
// are kept, no proofs: verdicts are signed of the request that the matcher sends next. Bounded by
// the galleries that are configured, and on the disk before anybody is told.
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

// Waiting: an enrolment, and what was decided of it.
struct Waiting {
  enum class Word : uint8_t { kNone, kAdmit, kReject };
  GalleryId gallery{};
  uint64_t received = 0;  // Unix seconds, of the request that it came with first
  AdmissionInquiry::Enrolment enrolment;
  Word word = Word::kNone;
  std::string by;  // who decided
};

// DigestOfHex: 64 digits, no more. kInvalidArgument.
absl::StatusOr<Digest> DigestOfHex(std::string_view text);

class AdmissionQueue {
 public:
  // Files in `folder`, which is there, one a gallery. kUnavailable; kDataLoss, naming the file.
  static absl::StatusOr<std::unique_ptr<AdmissionQueue>> Open(const std::string& folder);

  // Offer: takes the place of what waited in the gallery. What has been decided of it, ready for
  // KeyOwner::Admit; no entries: nothing yet.
  absl::StatusOr<AdmissionPolicy> Offer(const AdmissionInquiry& inquiry, uint64_t now);
  // Decide: all or none. kNotFound for an entry that does not wait there, kFailedPrecondition for
  // one of which another word was said before, kInvalidArgument for one in both lists.
  absl::Status Decide(const GalleryId& gallery, const std::vector<Digest>& admit,
                      const std::vector<Digest>& reject, const std::string& by);

  // List: what nobody has decided, by gallery and in the order of its request.
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
