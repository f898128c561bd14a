// SPDX-License-Identifier: Apache-2.0
// Replies that were read, and whether those of a sharded gallery are the answer of the whole.
#ifndef HEFT_OWNER_COMPLETE_REPLIES_H_
#define HEFT_OWNER_COMPLETE_REPLIES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "gallery/journal_head.h"
#include "gallery/scores.h"
#include "heft/shards.h"
#include "heft/trust.h"

namespace heft {

// ReadReply: one that belongs to the key and the model, and has the form that its plan says.
struct ReadReply {
  std::string_view what;
  EncryptedScores scores;
  Hash hash{};                           // of all its bytes but a signature
  SignerKey client{};                    // who asked, as its server says; zeros: unknown
  std::optional<Digest> request;         // that it answers, as its server says
  std::optional<uint32_t> bucket;        // of a sharded gallery
  std::vector<SignedJournalHead> heads;  // of this owner's journal, that its server has seen
};

// PositionName: of who has no name: "#7", or "#3/7" of bucket 3.
std::string PositionName(const std::optional<uint32_t>& bucket, uint64_t position);

// CheckComplete: kFailedPrecondition, saying what to do, unless these are the replies of a gallery in
// buckets to one request: of an identification exactly one of each bucket; of a verification that
// of the claimed identity's, alone. They must say which request they answer, all the same, for the
// same client, under the same conditions; and who answers must belong into that bucket. Puts them
// into the order of the buckets.
absl::Status CheckComplete(const ShardList& shards, std::vector<ReadReply>* replies);

// CheckBucket: kFailedPrecondition for an identity that belongs into another bucket than `bucket`.
absl::Status CheckBucket(const ShardList& shards, std::string_view identity, uint32_t bucket);

}  // namespace heft

#endif  // HEFT_OWNER_COMPLETE_REPLIES_H_
