// SPDX-License-Identifier: Apache-2.0
// Checks that replies answer the intended request, before they are opened, and describes results as
// JSON and in words, as the tools show them. Link heft::heft.
#ifndef HEFT_OPENINGS_H_
#define HEFT_OPENINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/deduplicate.h"
#include "heft/files.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "heft/shards.h"
#include "heft/trust.h"

namespace heft {

// ExpectedAnswer: the request that replies must answer.
struct ExpectedAnswer {
  std::optional<GalleryId> gallery = {};                // nullopt: any
  std::optional<std::vector<SampleFile>> request = {};  // its files, as sent; nullopt: any
  uint64_t row = 0;                                     // of the request; kAllRows: their mean
};
// CheckAnswer: checks the statements of replies. KeyOwner checks their signatures, after
// RequireSigned. ReadSigned's errors; kFailedPrecondition for a reply of another gallery or to
// another request; kInvalidArgument for a request without files.
HEFT_EXPORT absl::Status CheckAnswer(const Replies& replies, const ExpectedAnswer& expected);

// DescribeCost: what opening scores charges to the budget and reveals, to be shown before.
HEFT_EXPORT std::string DescribeCost(const BudgetUse& use, uint32_t candidates);
// DescribeScores: candidates with scores, and how many more scores each may give. With `threshold`
// also whether the best candidate is accepted.
HEFT_EXPORT Described DescribeScores(const OpenedScores& opened,
                                     const std::optional<ChosenThreshold>& threshold = {});
// DescribeDecision: whether accepted, the identity, the gallery and the rate, without scores.
HEFT_EXPORT Described DescribeDecision(const Decision& decision);
// DescribeAdmissions: the number of approved templates, the rejected ones, and each cause of
// rejections once, with its remedy. The text names the first templates of a cause, the JSON object
// all. Both name contested identities, and who claims each.
HEFT_EXPORT Described DescribeAdmissions(const Admissions& admissions);
// DescribeBudget: the result of KeyOwner::Budget. Times are UtcText's.
HEFT_EXPORT Described DescribeBudget(const KeyOwner& owner, const BudgetUse& use);

// Batch deduplication, the key owner's part (heft/deduplicate.h has the server's): decides for each
// reply whether the person is also enrolled under another name, and charges a decision. The
// decisions go into a record, one line for each person; scores leave no trace in it. A process that
// was killed continues where it stopped: it asks again for replies that it may have opened but did
// not record, because a reply is opened once. Link heft::heft, never in a server.

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

#endif  // HEFT_OPENINGS_H_
