// SPDX-License-Identifier: Apache-2.0
#include "heft/answering.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/audit.h"
#include "heft/inspect.h"
#include "heft/sharded_gallery.h"

namespace heft {
namespace {

// Check: checks of the question alone, before the request is taken.
absl::Status Check(const Question& question) {
  HEFT_RETURN_IF_ERROR(CheckConditions(question.probe.where));
  if (question.claimed && !question.probe.where.empty()) {
    return absl::InvalidArgumentError("conditions restrict a search: a verification has none");
  }
  if (question.all && question.probe.average) {
    return absl::InvalidArgumentError("give either each of all samples or their mean, not both");
  }
  if (question.all && question.shards && !question.claimed) {
    return absl::InvalidArgumentError(
        "all samples at once can only be matched in one gallery, not in buckets");
  }
  return absl::OkStatus();
}

// Take: accepts the request once and for all. `gallery` is where this is remembered, and whose key
// signs.
absl::StatusOr<IncomingRequest> Take(const TrustedServer& server, const std::string& gallery,
                                     const Question& question) {
  std::shared_ptr<const SigningKey> key = question.key;
  if (key == nullptr) {
    HEFT_ASSIGN_OR_RETURN(SigningKey made, GallerySigner(gallery));
    key = std::make_shared<const SigningKey>(std::move(made));
  }
  HEFT_ASSIGN_OR_RETURN(const IncomingRequest asked,
                        IncomingRequest::Read(server, std::move(key), question.files,
                                              question.all ? kAllRows : RowOf(question.probe)));
  HEFT_RETURN_IF_ERROR(asked.Take(gallery));
  HEFT_RETURN_IF_ERROR(MakeAuditKey(gallery));
  return asked;
}

void Count(const Gallery& gallery, Answered* answered) {
  answered->templates += gallery.size();
  for (DamagedBlock& damaged : DamagedBlocks(gallery)) {
    answered->damaged.push_back(std::move(damaged));
  }
}

absl::StatusOr<Answered> AnswerInBuckets(const TrustedServer& server, Question question,
                                         const TakeReply& take, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(std::vector<Gallery> buckets,
                        OpenBuckets(question.gallery, *question.shards));
  // All buckets have one store and one server's key.
  HEFT_ASSIGN_OR_RETURN(const IncomingRequest asked,
                        Take(server, BucketAddress(question.gallery, 0), question));
  Answered answered;
  HEFT_RETURN_IF_ERROR(server.server.IdentifySigned(
      buckets.size(), [&](size_t i) -> absl::StatusOr<Gallery> { return std::move(buckets[i]); },
      std::move(question.files), question.probe, asked.Signer(question.life),
      [&](const Gallery& bucket, std::vector<uint8_t> reply) -> absl::Status {
        HEFT_RETURN_IF_ERROR(take(answered.replies++, reply));
        answered.bytes += reply.size();
        Count(bucket, &answered);
        return absl::OkStatus();
      },
      monitor));
  return answered;
}

absl::StatusOr<Answered> AnswerInOne(const TrustedServer& server, Question question,
                                     const TakeReply& take, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(question.gallery));
  HEFT_ASSIGN_OR_RETURN(const IncomingRequest asked, Take(server, question.gallery, question));
  const Server& matcher = server.server;
  std::vector<SampleFile>& files = question.files;
  Answered answered;
  const auto sign = [&](size_t number, uint64_t row,
                        std::span<const uint8_t> scores) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> reply,
                          asked.SignRow(row, gallery, scores, question.life));
    ++answered.replies;
    answered.bytes += reply.size();
    return take(number, reply);
  };
  const auto each = [&](size_t row, std::span<const uint8_t> scores) {
    return sign(row, row, scores);
  };
  if (question.all) {
    HEFT_RETURN_IF_ERROR(
        question.claimed
            ? matcher.VerifyAll(gallery, std::move(files), *question.claimed, each, monitor)
            : matcher.IdentifyAll(gallery, std::move(files), question.probe, each, monitor));
  } else {
    HEFT_ASSIGN_OR_RETURN(
        const std::vector<uint8_t> scores,
        question.claimed
            ? matcher.Verify(gallery, std::move(files), *question.claimed, question.probe)
            : matcher.Identify(gallery, std::move(files), question.probe, monitor));
    HEFT_RETURN_IF_ERROR(sign(0, asked.row, scores));
  }
  Count(gallery, &answered);
  return answered;
}

}  // namespace

absl::StatusOr<Answered> AnswerProbe(const TrustedServer& server, Question question,
                                     const TakeReply& take, const Monitor& monitor) {
  HEFT_RETURN_IF_ERROR(Check(question));
  if (!question.shards) return AnswerInOne(server, std::move(question), take, monitor);
  if (!question.claimed) {
    return AnswerInBuckets(server, std::move(question), take, monitor);
  }
  const uint32_t bucket = question.shards->BucketOf(*question.claimed);
  HEFT_RETURN_IF_ERROR(OpenBucket(question.gallery, *question.shards, bucket).status());
  question.gallery = BucketAddress(question.gallery, bucket);
  return AnswerInOne(server, std::move(question), take, monitor);
}

absl::Status CheckOneSample(std::span<const SampleFile> files) {
  for (const SampleFile& file : files) {
    const auto info = InspectFile(file.bytes, file.name);
    // The reader of the file reports its errors.
    if (!info.ok() || info->samples <= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        file.name, ": holds ", info->samples,
        " samples: give the row of the probe, or ask for all of them or for their mean"));
  }
  return absl::OkStatus();
}

}  // namespace heft
