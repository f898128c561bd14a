// SPDX-License-Identifier: Apache-2.0
// Answers a probe with signed replies by the steps of heft/serving.h, as the tools do. The gallery
// is one gallery or one in buckets within one store; the probe is one sample or every sample of the
// files. Link heft::server.
//
//   heft::Question question = {.gallery = "store:people", .files = files};
//   auto answered = heft::AnswerProbe(served, question, take);
#ifndef HEFT_ANSWERING_H_
#define HEFT_ANSWERING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/gallery_admin.h"
#include "heft/progress.h"
#include "heft/serving.h"
#include "heft/shards.h"

namespace heft {

// Question: a probe and the gallery to match it against.
struct Question {
  std::string gallery;                   // in buckets: their common name (BucketAddress)
  std::optional<ShardList> shards = {};  // the buckets; none: one gallery
  std::vector<SampleFile> files = {};
  ProbeOptions probe = {};
  // Every row of the files is a probe of its own, and `probe.row` is ignored. For one gallery or
  // one bucket only.
  bool all = false;
  std::optional<std::string> claimed = {};     // a verification; in buckets, in the identity's own
  std::shared_ptr<const SigningKey> key = {};  // nullptr: GallerySigner's key
  uint64_t life = kLife;                       // of the replies
};

// Answered: statistics of the replies.
struct Answered {
  size_t replies = 0, bytes = 0;
  size_t templates = 0;               // that were matched
  std::vector<DamagedBlock> damaged;  // their templates were not matched
};
// AnswerProbe: determines the client, records the request (IncomingRequest::Take) and passes the
// signed replies to `take`. The number of a reply is its row for `all`, its bucket for an
// identification, otherwise 0. An error of `take` ends the call. kInvalidArgument, before the
// request is recorded, for invalid conditions, conditions of a verification, `all` together with a
// mean, and an identification with `all` in buckets. Errors of Gallery::Open, OpenBuckets,
// IncomingRequest, MakeAuditKey and Server.
using TakeReply = std::function<absl::Status(size_t number, std::span<const uint8_t> reply)>;
HEFT_EXPORT absl::StatusOr<Answered> AnswerProbe(const TrustedServer& server, Question question,
                                                 const TakeReply& take,
                                                 const Monitor& monitor = {});

// CheckOneSample: for callers without a row number. kInvalidArgument if a file holds several
// samples, because the row would be ambiguous.
HEFT_EXPORT absl::Status CheckOneSample(std::span<const SampleFile> files);

}  // namespace heft

#endif  // HEFT_ANSWERING_H_
