// SPDX-License-Identifier: Apache-2.0
// Batch deduplication, the key owner's half (heft/deduplicate.h has the server's): each reply is
// decided, "is this person enrolled under another name too?", and charged as a decision. What comes
// of it stands in a record, a line a person; scores are in nothing that leaves. A process that is
// killed goes on where it was: what it was about to open, and did not record, it asks for again, as
// a reply is opened once. Link heft::heft, never in a server.
#ifndef HEFT_DUPLICATES_H_
#define HEFT_DUPLICATES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/deduplicate.h"
#include "heft/export.h"
#include "heft/key_owner.h"
#include "heft/progress.h"
#include "heft/shards.h"

namespace heft {

// DecideJob: `folders` as of the server's half, with the requests' own files: replies to anything
// else are refused.
struct DecideJob {
  DeduplicationFolders folders;
  const ShardList* shards = nullptr;
  DecisionRule rule;   // of a search: a score or an FPIR; `others` is taken as set
  std::string record;  // file, made if it is not there; with it lies a .lock
};

// DecideEach: takes the requests that all buckets have answered; call it again until all are done.
// kFailedPrecondition for a record that another rule, or shard list, has begun; kUnavailable where
// another process is at it; errors of KeyOwner::Decide end it, and what is recorded stays:
// kResourceExhausted where the budget is spent (raise it, and go on). A probe that is refused is
// recorded as such.
HEFT_EXPORT absl::StatusOr<DeduplicationProgress> DecideEach(const KeyOwner& owner,
                                                             const DecideJob& job,
                                                             const Monitor& monitor = {});

// Duplicates: what a record holds: people, pairs of identities that may be one person, the smaller
// name first, each once, and probes that were refused.
struct Duplicates {
  uint64_t decided = 0;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::vector<std::string> refused;
};
HEFT_EXPORT absl::StatusOr<Duplicates> ReadDuplicates(const std::string& record);

}  // namespace heft

#endif  // HEFT_DUPLICATES_H_
