// SPDX-License-Identifier: Apache-2.0
// A probe from what came to signed replies, whatever gallery it is for: one, or one in buckets that
// lie in one store; one sample, or every sample of the files. What the tools do in the steps of
// heft/serving.h. Link heft::server.
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

// Question: what is asked of a gallery.
struct Question {
  std::string gallery;                   // in buckets: of which BucketAddress makes theirs
  std::optional<ShardList> shards = {};  // which they are
  std::vector<SampleFile> files = {};
  ProbeOptions probe = {};
  // Every sample of the files is a probe of its own, `probe.row` is not looked at. Of one gallery,
  // or one bucket.
  bool all = false;
  std::optional<std::string> claimed = {};     // a verification; in buckets, of the identity's own
  std::shared_ptr<const SigningKey> key = {};  // nullptr: GallerySigner's
  uint64_t life = kLife;                       // of the replies
};

// Answered: what came of it.
struct Answered {
  size_t replies = 0, bytes = 0;
  size_t templates = 0;               // that were asked
  std::vector<DamagedBlock> damaged;  // whoever stands in them has not answered
};
// AnswerProbe reads who asks, takes it for good (IncomingRequest::Take) and gives the signed
// replies to `take`, with their numbers: the row of `all`, the bucket of an identification, or 0.
// Its error ends the call. kInvalidArgument, before the request is taken, for conditions that are
// not sound or of a verification, for `all` of their mean, and for a search by `all` in buckets;
// errors of Gallery::Open, OpenBuckets, IncomingRequest, MakeAuditKey and Server's.
using TakeReply = std::function<absl::Status(size_t number, std::span<const uint8_t> reply)>;
HEFT_EXPORT absl::StatusOr<Answered> AnswerProbe(const TrustedServer& server, Question question,
                                                 const TakeReply& take,
                                                 const Monitor& monitor = {});

// CheckOneSample: for a caller who was not told which row is the probe. kInvalidArgument where a
// file holds several samples, as none of them is meant more than the others.
HEFT_EXPORT absl::Status CheckOneSample(std::span<const SampleFile> files);

}  // namespace heft

#endif  // HEFT_ANSWERING_H_
