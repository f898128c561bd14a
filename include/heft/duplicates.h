// SPDX-License-Identifier: Apache-2.0
// Batch deduplication, the key owner's part (heft/deduplicate.h has the server's): decides for each
// reply whether the person is also enrolled under another name, and charges a decision. The
// decisions go into a record, one line for each person; scores leave no trace in it. A process that
// was killed continues where it stopped: it asks again for replies that it may have opened but did
// not record, because a reply is opened once. Link heft::heft, never in a server.
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

// DecideJob: `folders` as in the server's part, with the requests' files. Replies to other files
// are refused.
struct DecideJob {
  DeduplicationFolders folders;
  const ShardList* shards = nullptr;
  DecisionRule rule;   // for a search: a score or an FPIR; `others` is always set
  std::string record;  // file, created with a .lock if it does not exist
};

// DecideEach: decides the requests that all buckets have answered. Call it again until all are
// done. kFailedPrecondition for a record with another rule or shard list; kUnavailable if another
// process uses it. Errors of KeyOwner::Decide end the call and keep the record, among them
// kResourceExhausted if the budget is spent: raise it and continue. A refused probe is recorded as
// refused.
HEFT_EXPORT absl::StatusOr<DeduplicationProgress> DecideEach(const KeyOwner& owner,
                                                             const DecideJob& job,
                                                             const Monitor& monitor = {});

// Duplicates: the content of a record: the number of people, pairs of identities that may be one
// person (the smaller name first, each pair once), and refused probes.
struct Duplicates {
  uint64_t decided = 0;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::vector<std::string> refused;
};
HEFT_EXPORT absl::StatusOr<Duplicates> ReadDuplicates(const std::string& record);

}  // namespace heft

#endif  // HEFT_DUPLICATES_H_
