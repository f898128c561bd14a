// SPDX-License-Identifier: Apache-2.0
// Probes: identification and verification.
#include "heft/desk.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "desk/file_keys.h"
#include "heft/audit.h"
#include "heft/inspect.h"
#include "heft/shards.h"

namespace heft {

// Work: the parts of a call that need an AcceptedMatch's inside.
struct Desk::Work {
  // Started: an accepted request, and its galleries: all buckets, or the first gallery.
  struct Started {
    AcceptedMatch accepted;
    std::vector<Gallery> opened;
  };

  static absl::StatusOr<std::vector<Gallery>> OpenFirst(const Desk& desk,
                                                        const MatchRequest& request);
  static absl::StatusOr<std::shared_ptr<const SigningKey>> Key(const Desk& desk,
                                                               const MatchRequest& request,
                                                               const std::string& address);
  static absl::StatusOr<Started> Begin(const Desk& desk, MatchRequest request);

  static absl::Status IdentifyEach(const Desk& desk, const AcceptedMatch& accepted,
                                   std::vector<SampleFile> files, std::vector<Gallery> opened,
                                   const TakeReply& take, const Monitor& monitor,
                                   Answered* answered);
  static absl::Status AnswerRows(const Desk& desk, const AcceptedMatch& accepted,
                                 std::vector<SampleFile> files, const Gallery& gallery,
                                 const TakeReply& take, const Monitor& monitor, Answered* answered);
  static absl::Status VerifyOne(const Desk& desk, const AcceptedMatch& accepted,
                                std::vector<SampleFile> files, const Gallery& gallery,
                                const TakeReply& take, Answered* answered);
  static absl::StatusOr<Answered> Finish(const Desk& desk, const AcceptedMatch& accepted,
                                         std::vector<SampleFile> files, std::vector<Gallery> opened,
                                         const TakeReply& take, const Monitor& monitor);
  static absl::StatusOr<Answered> Serve(const Desk& desk, MatchRequest request,
                                        const TakeReply& take, const Monitor& monitor);
};

namespace {

// LookAtFiles: what no file can answer is refused before the request is recorded.
absl::StatusOr<Keys> LookAtFiles(const MatchRequest& request) {
  Keys keys;
  for (const SampleFile& file : request.files) {
    const auto info = InspectFile(file.bytes, file.name);
    keys.push_back(KeyOf(info));
    if (request.all || request.probe.average || !info.ok() || info->samples == 0) continue;
    if (!request.row && info->samples > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.name, ": holds ", info->samples,
          " samples: give the row of the probe, or ask for all of them or for their mean"));
    }
    if (request.row && *request.row >= info->samples) {
      return absl::InvalidArgumentError(absl::StrCat(file.name, ": sample ", *request.row,
                                                     " asked for, the file has ", info->samples));
    }
  }
  return keys;
}

absl::Status CheckMatch(const MatchRequest& request) {
  HEFT_RETURN_IF_ERROR(CheckConditions(request.probe.where));
  if (request.claimed && !request.probe.where.empty()) {
    return absl::InvalidArgumentError("conditions restrict a search: a verification has none");
  }
  if (request.all && request.probe.average) {
    return absl::InvalidArgumentError("give either each of all samples or their mean, not both");
  }
  if (request.all && !request.claimed && (request.shards || !request.others.empty())) {
    return absl::InvalidArgumentError(
        "all samples at once can only be matched in one gallery, not in buckets");
  }
  return absl::OkStatus();
}

// FirstAddress: where the request is recorded, and whose key signs. All buckets have one store.
std::string FirstAddress(const MatchRequest& request) {
  if (!request.shards) return request.gallery;
  return BucketAddress(request.gallery,
                       request.claimed ? request.shards->BucketOf(*request.claimed) : 0);
}

// CheckAsked: the request is for all galleries that answer it. All buckets are one gallery.
absl::Status CheckAsked(const MatchRequest& request, const Gallery& first) {
  const bool one = request.others.empty();
  const GalleryId served = request.shards ? request.shards->Id() : one ? first.id() : GalleryId{};
  return CheckGalleryAsked(request.files, served);
}

// CheckComplete: of a gallery that was matched.
absl::Status CheckComplete(const MatchRequest& request, const Gallery& gallery) {
  if (!request.complete) return absl::OkStatus();
  const std::vector<DamagedBlock> damaged = DamagedBlocks(gallery);
  if (damaged.empty()) return absl::OkStatus();
  return OfStore(
      absl::DataLossError(absl::StrCat(damaged[0].why, ". An incomplete result is not returned")));
}

absl::Status Give(SignedReply reply, const TakeReply& take, Answered* answered) {
  ++answered->replies;
  answered->bytes += reply.bytes.size();
  return take(std::move(reply));
}

void Count(const Gallery& gallery, Answered* answered) {
  answered->templates += gallery.size();
  for (DamagedBlock& damaged : DamagedBlocks(gallery)) {
    answered->damaged.push_back(std::move(damaged));
  }
}

}  // namespace

absl::StatusOr<std::vector<Gallery>> Desk::Work::OpenFirst(const Desk& desk,
                                                           const MatchRequest& request) {
  if (request.shards && !request.claimed) return OpenBuckets(request.gallery, *request.shards);
  auto first = request.shards ? OpenBucket(request.gallery, *request.shards,
                                           request.shards->BucketOf(*request.claimed))
                              : desk.Open(request.gallery);
  HEFT_RETURN_IF_ERROR(first.status());
  std::vector<Gallery> opened;
  opened.push_back(*std::move(first));
  return opened;
}

// None if nothing is signed: neither replies nor requests.
absl::StatusOr<std::shared_ptr<const SigningKey>> Desk::Work::Key(const Desk& desk,
                                                                  const MatchRequest& request,
                                                                  const std::string& address) {
  if (request.key != nullptr) return request.key;
  if (!request.sign && desk.trust == nullptr) return std::shared_ptr<const SigningKey>();
  return desk.Signer(address);
}

absl::StatusOr<Desk::Work::Started> Desk::Work::Begin(const Desk& desk, MatchRequest request) {
  HEFT_RETURN_IF_ERROR(CheckMatch(request));
  HEFT_ASSIGN_OR_RETURN(const Keys keys, LookAtFiles(request));
  Started started;
  HEFT_ASSIGN_OR_RETURN(started.opened, OpenFirst(desk, request));
  HEFT_RETURN_IF_ERROR(CheckGallery(*desk.server, started.opened.front()));
  HEFT_RETURN_IF_ERROR(CheckFiles(*desk.server, request.files, keys));
  if (!request.row) request.row = 0;
  request.probe.row = *request.row;
  const std::string address = FirstAddress(request);
  AcceptedMatch& accepted = started.accepted;
  HEFT_ASSIGN_OR_RETURN(accepted.key_, Key(desk, request, address));
  HEFT_ASSIGN_OR_RETURN(accepted.asked_,
                        ReadRequest(request.files, desk.trust,
                                    accepted.key_ ? accepted.key_->public_key() : SignerKey{}));
  HEFT_RETURN_IF_ERROR(CheckAsked(request, started.opened.front()));
  if (accepted.asked_.client == SignerKey{}) accepted.asked_.client = request.client;
  if (accepted.key_ != nullptr) HEFT_RETURN_IF_ERROR(MakeAuditKey(address));
  if (request.room) HEFT_RETURN_IF_ERROR(request.room());
  request.room = {};
  accepted.audience_ = desk.audience;
  accepted.request_ = std::move(request);
  HEFT_RETURN_IF_ERROR(RememberRequest(address, accepted.asked_, accepted.row()));
  if (!accepted.request_.sign) accepted.key_ = nullptr;
  return started;
}

absl::StatusOr<SignedReply> AcceptedMatch::SignRow(uint64_t row, size_t number,
                                                   const Gallery& gallery,
                                                   std::vector<uint8_t> scores) const {
  SignedReply reply = {number, gallery.id(), gallery.generation(), std::move(scores)};
  if (key_ == nullptr) return reply;
  HEFT_ASSIGN_OR_RETURN(
      reply.bytes, SignReply(*key_, gallery, asked_, row, audience_, reply.bytes, request_.life));
  return reply;
}

absl::Status Desk::Work::IdentifyEach(const Desk& desk, const AcceptedMatch& accepted,
                                      std::vector<SampleFile> files, std::vector<Gallery> opened,
                                      const TakeReply& take, const Monitor& monitor,
                                      Answered* answered) {
  const MatchRequest& request = accepted.request_;
  const size_t galleries = opened.size() + request.others.size();
  const auto open = [&](size_t i) -> absl::StatusOr<Gallery> {
    if (i < opened.size()) return std::move(opened[i]);
    return desk.Open(request.others[i - opened.size()]);
  };
  const auto use = [&](const Gallery& gallery, std::vector<uint8_t> reply) -> absl::Status {
    HEFT_RETURN_IF_ERROR(CheckComplete(request, gallery));
    Count(gallery, answered);
    return Give({answered->replies, gallery.id(), gallery.generation(), std::move(reply)}, take,
                answered);
  };
  if (accepted.key_ != nullptr) {
    const ReplySigner signer = {accepted.key_.get(), &accepted.asked_, accepted.row(),
                                accepted.audience_, request.life};
    return desk.server->IdentifySigned(galleries, open, std::move(files), request.probe, signer,
                                       use, monitor);
  }
  for (size_t i = 0; i < galleries; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Gallery gallery, open(i));
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> reply,
                          desk.server->Identify(gallery, files, request.probe, monitor));
    HEFT_RETURN_IF_ERROR(use(gallery, std::move(reply)));
  }
  return absl::OkStatus();
}

absl::Status Desk::Work::AnswerRows(const Desk& desk, const AcceptedMatch& accepted,
                                    std::vector<SampleFile> files, const Gallery& gallery,
                                    const TakeReply& take, const Monitor& monitor,
                                    Answered* answered) {
  const MatchRequest& request = accepted.request_;
  const auto use = [&](size_t row, std::span<const uint8_t> scores) -> absl::Status {
    HEFT_RETURN_IF_ERROR(CheckComplete(request, gallery));
    HEFT_ASSIGN_OR_RETURN(SignedReply reply,
                          accepted.SignRow(row, row, gallery, {scores.begin(), scores.end()}));
    return Give(std::move(reply), take, answered);
  };
  HEFT_RETURN_IF_ERROR(
      request.claimed
          ? desk.server->VerifyAll(gallery, std::move(files), *request.claimed, use, monitor)
          : desk.server->IdentifyAll(gallery, std::move(files), request.probe, use, monitor));
  Count(gallery, answered);
  return absl::OkStatus();
}

absl::Status Desk::Work::VerifyOne(const Desk& desk, const AcceptedMatch& accepted,
                                   std::vector<SampleFile> files, const Gallery& gallery,
                                   const TakeReply& take, Answered* answered) {
  const MatchRequest& request = accepted.request_;
  HEFT_ASSIGN_OR_RETURN(
      std::vector<uint8_t> scores,
      desk.server->Verify(gallery, std::move(files), *request.claimed, request.probe));
  HEFT_RETURN_IF_ERROR(CheckComplete(request, gallery));
  HEFT_ASSIGN_OR_RETURN(SignedReply reply, accepted.Sign(gallery, std::move(scores)));
  Count(gallery, answered);
  return Give(std::move(reply), take, answered);
}

absl::StatusOr<Answered> Desk::Work::Finish(const Desk& desk, const AcceptedMatch& accepted,
                                            std::vector<SampleFile> files,
                                            std::vector<Gallery> opened, const TakeReply& take,
                                            const Monitor& monitor) {
  const MatchRequest& request = accepted.request_;
  Answered answered;
  absl::Status done;
  if (request.all) {
    done = AnswerRows(desk, accepted, std::move(files), opened[0], take, monitor, &answered);
  } else if (request.claimed) {
    done = VerifyOne(desk, accepted, std::move(files), opened[0], take, &answered);
  } else {
    done =
        IdentifyEach(desk, accepted, std::move(files), std::move(opened), take, monitor, &answered);
  }
  HEFT_RETURN_IF_ERROR(done);
  return answered;
}

absl::StatusOr<Answered> Desk::Work::Serve(const Desk& desk, MatchRequest request,
                                           const TakeReply& take, const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(Started started, Begin(desk, std::move(request)));
  std::vector<SampleFile> files = std::move(started.accepted.request_.files);
  return Finish(desk, started.accepted, std::move(files), std::move(started.opened), take, monitor);
}

absl::StatusOr<Answered> Desk::Identify(MatchRequest request, const TakeReply& take,
                                        const Monitor& monitor) const {
  request.claimed.reset();
  return Work::Serve(*this, std::move(request), take, monitor);
}

absl::StatusOr<Answered> Desk::Verify(MatchRequest request, const TakeReply& take,
                                      const Monitor& monitor) const {
  if (!request.claimed) return absl::InvalidArgumentError("no identity: give the claimed one");
  return Work::Serve(*this, std::move(request), take, monitor);
}

absl::StatusOr<AcceptedMatch> Desk::Accept(MatchRequest request) const {
  HEFT_ASSIGN_OR_RETURN(Work::Started started, Work::Begin(*this, std::move(request)));
  return std::move(started.accepted);
}

absl::StatusOr<Answered> Desk::Answer(const AcceptedMatch& accepted, const TakeReply& take,
                                      const Monitor& monitor) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<Gallery> opened, Work::OpenFirst(*this, accepted.request_));
  return Work::Finish(*this, accepted, accepted.request_.files, std::move(opened), take, monitor);
}

absl::StatusOr<std::vector<absl::StatusOr<SignedReply>>> Desk::IdentifyTogether(
    const std::string& gallery, std::vector<MatchRequest> requests) const {
  HEFT_ASSIGN_OR_RETURN(const Gallery newest, Open(gallery));
  Desk here = *this;
  here.open = [&](const std::string&) { return newest.Newest(); };
  std::vector<absl::StatusOr<SignedReply>> out;
  std::vector<AcceptedMatch> accepted;
  std::vector<size_t> places;
  std::vector<ProbeRequest> probes;
  for (MatchRequest& request : requests) {
    request.gallery = gallery;
    request.claimed.reset();
    auto one = here.Accept(std::move(request));
    if (one.ok()) {
      places.push_back(out.size());
      probes.push_back(one->probe());
      accepted.push_back(*std::move(one));
    }
    out.emplace_back(one.ok() ? absl::UnknownError("it waits") : one.status());
  }
  auto scores = server->IdentifyTogether(newest, std::move(probes));
  for (size_t i = 0; i < places.size(); ++i) {
    if (!scores[i].ok()) {
      out[places[i]] = scores[i].status();
      continue;
    }
    const absl::Status complete = CheckComplete(accepted[i].request_, newest);
    out[places[i]] = complete.ok() ? accepted[i].Sign(newest, *std::move(scores[i]))
                                   : absl::StatusOr<SignedReply>(complete);
  }
  return out;
}

}  // namespace heft
