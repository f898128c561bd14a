// SPDX-License-Identifier: Apache-2.0
#include "owner/complete_replies.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/envelope.h"

namespace heft {
namespace {

absl::Status Incomplete(std::string_view what, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(std::string(what), ": ", std::string(why)));
}

std::string Named(const ShardList& shards, uint32_t bucket) {
  return absl::StrCat("bucket ", bucket, " of ", shards.gallery(), " (gallery ",
                      HexString(shards.buckets()[bucket]), ")");
}

// Which bucket a reply is of; no two may be of one.
absl::Status AssignBuckets(const ShardList& shards, std::vector<ReadReply>* replies) {
  std::vector<const ReadReply*> of(shards.size(), nullptr);
  for (ReadReply& reply : *replies) {
    reply.bucket = shards.Find(reply.scores.origin.gallery);
    if (!reply.bucket) {
      return Incomplete(reply.what,
                      absl::StrCat("of gallery ", HexString(reply.scores.origin.gallery),
                                   ", which is no bucket of ", shards.gallery(),
                                   ": give the replies of that gallery's buckets, or its own "
                                   "shard list"));
    }
    const ReadReply*& before = of[*reply.bucket];
    if (before != nullptr) {
      return Incomplete(reply.what, absl::StrCat("a second reply of ", Named(shards, *reply.bucket),
                                               ": there is ", std::string(before->what)));
    }
    before = &reply;
  }
  return absl::OkStatus();
}

// Each bucket must have answered: who is enrolled in one that has not was not looked for.
absl::Status CheckAllAnswered(const ShardList& shards, const std::vector<ReadReply>& replies) {
  if (replies.size() == shards.size()) return absl::OkStatus();  // as no two are of one
  std::vector<std::string> missing;
  for (uint32_t bucket = 0; bucket < shards.size(); ++bucket) {
    if (std::ranges::count(replies, bucket, &ReadReply::bucket) > 0) continue;
    missing.push_back(absl::StrCat(bucket));
  }
  constexpr size_t kNamedBuckets = 16;
  const size_t more = missing.size() - std::min(missing.size(), kNamedBuckets);
  missing.resize(missing.size() - more);
  return absl::FailedPreconditionError(
      absl::StrCat(shards.gallery(), " has ", shards.size(), " buckets and ", replies.size(),
                   " have answered: no reply of ", absl::StrJoin(missing, ", "),
                   more > 0 ? absl::StrCat(" and ", more, " more") : std::string(),
                   ". A part is never taken for the whole: ask all of them again"));
}

absl::Status CheckVerification(const ShardList& shards, const std::vector<ReadReply>& replies) {
  const ReadReply& reply = replies[0];
  if (replies.size() > 1) {
    return Incomplete(replies[1].what,
                    "a verification is answered by one bucket, that of the claimed identity: give "
                    "its reply alone");
  }
  return CheckBucket(shards, reply.scores.claimed, *reply.bucket);
}

// What all replies to one request say alike.
absl::Status CheckSameRequest(const std::vector<ReadReply>& replies) {
  const std::vector<Condition>* where = nullptr;
  for (const ReadReply& reply : replies) {
    const ReadReply& first = replies[0];
    if (!reply.request) {
      return Incomplete(reply.what,
                      "it does not say which request it answers: replies of a gallery "
                      "in buckets are signed ones");
    }
    if (reply.request != first.request || reply.client != first.client ||
        reply.scores.probe != first.scores.probe || reply.scores.kind != first.scores.kind) {
      return Incomplete(reply.what,
                      absl::StrCat("answers another request than ", std::string(first.what),
                                   ": give the replies to one probe"));
    }
    if (reply.scores.modalities != first.scores.modalities) {
      return Incomplete(reply.what, absl::StrCat("says that the probe had other modalities than ",
                                               std::string(first.what),
                                               ": ask all buckets with the same files"));
    }
    // One that all of a bucket's people fit is not restricted, and does not say to what.
    if (!reply.scores.restriction) continue;
    if (where != nullptr && *where != reply.scores.restriction->where) {
      return Incomplete(reply.what, "restricted to other conditions than the other replies");
    }
    where = &reply.scores.restriction->where;
  }
  return absl::OkStatus();
}

absl::Status CheckPeople(const ShardList& shards, const ReadReply& reply) {
  for (const std::string& identity : reply.scores.identities) {
    if (identity.empty()) continue;  // does not answer
    const absl::Status belongs = CheckBucket(shards, identity, *reply.bucket);
    if (!belongs.ok()) return Incomplete(reply.what, std::string(belongs.message()));
  }
  return absl::OkStatus();
}

}  // namespace

std::string PositionName(const std::optional<uint32_t>& bucket, uint64_t position) {
  return bucket ? absl::StrCat("#", *bucket, "/", position) : absl::StrCat("#", position);
}

absl::Status CheckBucket(const ShardList& shards, std::string_view identity, uint32_t bucket) {
  const uint32_t right = shards.BucketOf(identity);
  if (right == bucket) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "\"", std::string(identity), "\" stands in bucket ", bucket, " and belongs into ",
      Named(shards, right), ": have it removed here, and enrolled there"));
}

absl::Status CheckComplete(const ShardList& shards, std::vector<ReadReply>* replies) {
  if (replies->empty()) return CheckAllAnswered(shards, *replies);
  HEFT_RETURN_IF_ERROR(AssignBuckets(shards, replies));
  HEFT_RETURN_IF_ERROR(CheckSameRequest(*replies));
  if ((*replies)[0].scores.kind == ScoreKind::kVerification) {
    return CheckVerification(shards, *replies);
  }
  HEFT_RETURN_IF_ERROR(CheckAllAnswered(shards, *replies));
  for (const ReadReply& reply : *replies) HEFT_RETURN_IF_ERROR(CheckPeople(shards, reply));
  std::ranges::sort(*replies, {}, &ReadReply::bucket);
  return absl::OkStatus();
}

}  // namespace heft
