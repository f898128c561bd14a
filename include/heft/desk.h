// SPDX-License-Identifier: Apache-2.0
// The desk serves the requests of all interfaces: the command line, HTTP, SQL, C and Python read
// their own form of a request, call it, and write out the result. It has one function for each
// kind of request, which checks the caller, records a signed request so that it is answered once,
// does the work, and signs for the key owner. Link heft::server.
//
//   const heft::Desk desk(*served);
//   auto answered = desk.Identify({.gallery = "store:people", .files = files}, take);
#ifndef HEFT_DESK_H_
#define HEFT_DESK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/client.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/model.h"
#include "heft/results.h"
#include "heft/server.h"
#include "heft/shards.h"
#include "heft/trust.h"

namespace heft {

// A server with its keys and its trust file, whose signers they were checked by. The desk serves
// requests with it.
//
//   auto keys = heft::CheckKeys(&trust, {evaluation_keys, "evaluation.keys"});
//   auto served = heft::TrustedServer::Create(model, trust, *keys);
//
// Link heft::server.

// ReadTrustedModel: reads a model file. If `trust` lists trainers, one of them must have signed it.
// Errors of OpenSigned and Model::Parse.
HEFT_EXPORT absl::StatusOr<Model> ReadTrustedModel(const Trust* trust,
                                                   std::span<const uint8_t> bytes,
                                                   std::string_view what);

// CheckedKeys: key files and their signer. These are views of the checked bytes.
struct CheckedKeys {
  KeyFile evaluation;
  KeyFile enrolment;      // empty and not expanded if there are none
  SignerKey key_owner{};  // zeros: no signature was checked
};
// CheckKeys: checks that one key owner of `trust` signed the evaluation keys and, if given, the
// enrolment keys. Without `trust` no signature is checked. OpenSigned's errors; kFailedPrecondition
// for two different key owners.
HEFT_EXPORT absl::StatusOr<CheckedKeys> CheckKeys(const Trust* trust, const KeyFile& evaluation,
                                                  const KeyFile& enrolment = {});

// TrustedServer: a server whose keys have been checked, with the trust file by which they were.
struct HEFT_EXPORT TrustedServer {
  // Create: errors of Server::CreateFrom.
  static absl::StatusOr<TrustedServer> Create(const Model& model, std::optional<Trust> trust,
                                              const CheckedKeys& keys);

  Server server;
  std::optional<Trust> trust;  // none: no signature is checked
  SignerKey key_owner{};       // the audience of replies; zeros: anybody

  const Trust* trusted() const { return trust ? &*trust : nullptr; }
  // TakeHead: keeps the end of the key owner's journal (KeyOwner::SignedHead, or the file
  // journal.head beside the secret key) in the gallery's store if it is newer than the kept one;
  // returns whether it is. From then on requests to the key owner and replies carry it, so that the
  // key owner opens nothing with an older journal. `what` names it in errors. kFailedPrecondition
  // without a trust file; for a head of another key or key owner; and for a fork, which is a head
  // with the number of the kept one and another digest: the store records it
  // (GalleryInfo::owner_journal_fork). kDataLoss, kUnavailable. Cost: one commit if it is newer.
  absl::StatusOr<bool> TakeHead(const std::string& gallery, std::span<const uint8_t> head,
                                std::string_view what) const;
};

// EquipGallery: creates the files that a gallery's server needs, if they do not exist: its signing
// key, which is returned, and the key from which the randomness of replies is derived. Errors of
// GallerySigner and MakeAuditKey.
HEFT_EXPORT absl::StatusOr<SigningKey> EquipGallery(const std::string& gallery);

// MatchRequest: a probe, and the gallery to match it against.
struct MatchRequest {
  std::string gallery;                   // in buckets: their common name (BucketAddress)
  std::optional<ShardList> shards = {};  // the buckets; none: one gallery
  // Galleries of this model and key that answer the same identification, after `gallery`.
  std::vector<std::string> others = {};
  std::vector<SampleFile> files = {};  // as they were received
  // A verification; in buckets, in the identity's own bucket.
  std::optional<std::string> claimed = {};
  // Which sample of the files, from 0. None: each file must hold one.
  std::optional<uint64_t> row = {};
  // Every row of the files is a probe of its own. For one gallery or one bucket only.
  bool all = false;
  ProbeOptions probe = {};  // `row` is ignored
  // The client of files that are not signed: the key owner charges its budget. Zeros: unknown.
  SignerKey client{};
  // The last check before the request is recorded, for example of the room in a queue.
  std::function<absl::Status()> room = {};
  // kDataLoss instead of a reply that leaves out the templates of a damaged block.
  bool complete = false;
  // false: replies without a signature, for roles in one process.
  bool sign = true;
  std::shared_ptr<const SigningKey> key = {};  // nullptr: the gallery's (Desk::signer)
  uint64_t life = kLife;                       // of the replies
};

// SignedReply: a reply for the key owner.
struct SignedReply {
  size_t number = 0;  // its row for `all`, its bucket or gallery for an identification; else 0
  GalleryId gallery{};
  uint64_t generation = 0;  // of the gallery, when it answered
  std::vector<uint8_t> bytes;
};
using TakeReply = std::function<absl::Status(SignedReply reply)>;

// Answered: statistics of the replies.
struct Answered {
  size_t replies = 0, bytes = 0;
  size_t templates = 0;               // that were matched
  std::vector<DamagedBlock> damaged;  // their templates were not matched
};

// AcceptedMatch: a request that was checked and recorded. For servers that match several requests
// in one pass: Server::IdentifyTogether takes its probe(), and Sign makes its result the reply.
class HEFT_EXPORT AcceptedMatch {
 public:
  ProbeRequest probe() const { return {request_.files, request_.probe}; }
  absl::StatusOr<SignedReply> Sign(const Gallery& gallery, std::vector<uint8_t> scores) const {
    return SignRow(row(), 0, gallery, std::move(scores));
  }

 private:
  friend struct Desk;
  uint64_t row() const { return request_.all || request_.probe.average ? kAllRows : *request_.row; }
  absl::StatusOr<SignedReply> SignRow(uint64_t row, size_t number, const Gallery& gallery,
                                      std::vector<uint8_t> scores) const;

  MatchRequest request_;
  Request asked_;
  std::shared_ptr<const SigningKey> key_;  // nullptr: replies are not signed
  SignerKey audience_{};
};

// EnrolRequest: samples to enrol.
struct EnrolRequest {
  std::string gallery;                   // in buckets: their common name
  std::optional<ShardList> shards = {};  // the buckets: each sample goes to its identity's
  std::vector<SampleFile> files = {};    // as they were received
  // Its trust file is the desk's, and its client that of the files, if they are signed.
  EnrolOptions options = {};
  bool recorded = false;  // the request was recorded before, by an attempt that failed
  // Called after the request is recorded and before the gallery changes; its error ends the call.
  std::function<absl::Status()> begin = {};
};

// Signing: of a request to the key owner.
struct Signing {
  bool sign = true;  // false: without a signature, for roles in one process
  uint64_t life = kAdmissionLife;
};
// kAllPending: no limit.
inline constexpr PendingLimit kAllPending = {UINT64_MAX, UINT64_MAX};

// Desk: a view of a server, its trust file, and where it finds galleries.
struct HEFT_EXPORT Desk {
  // The server outlives the desk.
  Desk(const TrustedServer& served)  // NOLINT(google-explicit-constructor)
      : Desk(served.server, served.trusted(), served.key_owner) {}
  // `its_trust` nullptr: no signature is checked. `its_audience`: of replies; zeros: anybody.
  Desk(const Server& its_server, const Trust* its_trust, const SignerKey& its_audience)
      : server(&its_server), trust(its_trust), audience(its_audience) {}

  const Server* server;
  const Trust* trust;
  SignerKey audience;
  // The newest state of a gallery by its address, and the key of its server. Empty: Gallery::Open
  // and GallerySigner. Buckets (`shards`) are always opened by their addresses.
  std::function<absl::StatusOr<Gallery>(const std::string& address)> open = {};
  std::function<absl::StatusOr<std::shared_ptr<const SigningKey>>(const std::string& address)>
      signer = {};

  // Identify, Verify: pass the signed replies to `take`, whose error ends the call. All that can be
  // checked is checked before a signed request is recorded: kInvalidArgument for conditions of a
  // verification, for `all` together with a mean or with several galleries, and for a missing or
  // wrong row; kFailedPrecondition for a request that is signed for another gallery; errors of
  // CheckConditions, Gallery::Open, OpenBuckets, ReadRequest, GallerySigner, MakeAuditKey and
  // `room`. Then come errors of RememberRequest, Server and `take`.
  absl::StatusOr<Answered> Identify(MatchRequest request, const TakeReply& take,
                                    const Monitor& monitor = {}) const;
  absl::StatusOr<Answered> Verify(MatchRequest request, const TakeReply& take,
                                  const Monitor& monitor = {}) const;
  // IdentifyTogether: Identify for several probes of one gallery, which is read once. Returns one
  // result for each request, in order; a failed one does not affect the others.
  absl::StatusOr<std::vector<absl::StatusOr<SignedReply>>> IdentifyTogether(
      const std::string& gallery, std::vector<MatchRequest> requests) const;

  // Accept: all of Identify or Verify before the matching. Answer: the rest, again and again if
  // the gallery changes before a reply is opened.
  absl::StatusOr<AcceptedMatch> Accept(MatchRequest request) const;
  absl::StatusOr<Answered> Answer(const AcceptedMatch& accepted, const TakeReply& take,
                                  const Monitor& monitor = {}) const;

  // Enrol: Server::Enrol, or EnrolInShards. A repeated request with a known idempotency key returns
  // the stored answer and changes nothing. Otherwise a signed request is recorded first, but in
  // buckets, which recognise the files. A new gallery is equipped after its first enrolment: an
  // error of that says so. kInvalidArgument if the time of expiry has passed, kFailedPrecondition
  // for a request that is signed for another gallery. Errors of ReadRequest, EquipGallery,
  // RememberRequest and `begin`.
  absl::StatusOr<EnrolResult> Enrol(EnrolRequest request, const Monitor& monitor = {}) const;
  // Pending, AskRenewal: requests that only the key owner `audience` may read and answer. Errors of
  // PendingUpTo and heft::AskRenewal.
  absl::StatusOr<std::vector<uint8_t>> Pending(const std::string& gallery,
                                               const PendingLimit& limit = kAllPending,
                                               const Signing& how = {}) const;
  absl::StatusOr<std::vector<uint8_t>> AskRenewal(const std::string& gallery,
                                                  const RenewalOptions& options = {},
                                                  const Signing& how = {},
                                                  const Monitor& monitor = {}) const;
  // Activate, Renew: apply the key owner's answers (Server::Activate, heft::Renew).
  // kFailedPrecondition without a trust file.
  absl::StatusOr<ActivateResult> Activate(const std::string& gallery,
                                          std::span<const uint8_t> admission, std::string_view what,
                                          const Monitor& monitor = {}) const;
  absl::StatusOr<RenewResult> Renew(const std::string& gallery, std::span<const uint8_t> answer,
                                    std::string_view what) const;
  // Remove: heft::Remove under the desk's trust file.
  absl::StatusOr<RemoveResult> Remove(const std::string& gallery,
                                      const std::vector<std::string>& identities,
                                      std::vector<uint8_t> authorisation = {}) const;
  // Create, CreateInBuckets: CreateGallery, CreateShards and EquipGallery.
  absl::StatusOr<GalleryId> Create(const std::string& gallery, const Retained& retained = {}) const;
  absl::StatusOr<ShardList> CreateInBuckets(const std::string& gallery, uint32_t buckets,
                                            const Retained& retained = {}) const;

 private:
  struct HEFT_HIDDEN Work;
  HEFT_HIDDEN absl::StatusOr<Gallery> Open(const std::string& address) const;
  HEFT_HIDDEN absl::StatusOr<std::shared_ptr<const SigningKey>> Signer(
      const std::string& address) const;
  HEFT_HIDDEN absl::StatusOr<std::vector<uint8_t>> SignRequest(const Gallery& gallery,
                                                               const std::string& address,
                                                               std::vector<uint8_t> request,
                                                               const Signing& how) const;
};

// A whole gallery from feature vectors in one call, for programs that are client and server at
// once, such as migrations from plain templates and measurements. It encrypts thousands of rows as
// one ciphertext for each coordinate (SampleEncoding::kBulk), one batch at a time.

// kMaxBulkRows: the largest number of rows of a batch, and of an identity.
inline constexpr size_t kMaxBulkRows = 4096;

struct EnrolManyOptions {
  // For all templates, as in EnrolOptions.
  Metadata metadata = {};
  uint64_t expires = 0;
  // Returns the key owner's answer to a request for admission (KeyOwner::Approve). The request is
  // signed with the gallery's key. If set, each batch is approved before the next one. The answer
  // must be signed by a key owner that `trust` lists; without `trust` any signer is accepted. An
  // error of `approve` ends the call. If not set, all templates stay pending (PendingUpTo).
  std::function<absl::StatusOr<std::vector<uint8_t>>(std::span<const uint8_t> request)> approve =
      {};
  const Trust* trust = nullptr;
  // The first row to enrol, to continue a call that ended with an error. The number of rows, with
  // `approve`: all rows are enrolled, and the pending ones are approved.
  size_t from = 0;
  // If set, receives the row to continue from after each batch, also if the call fails.
  size_t* next = nullptr;
};

// EnrolMany: encrypts, fuses and enrols row i of all modalities under label i of the first
// modality. It chooses encodings and uses itself. Rows of one identity must be adjacent. Each batch
// is enrolled completely or not at all; an error after the first batch states the row to continue
// from. Takes memory for one batch, about 250 MB for a modality of 512 dimensions. kInvalidArgument
// if the numbers of rows differ, a label is missing, or a label occurs again after others; errors
// of Client::Encrypt, Server::Enrol and Server::Activate; kCancelled, also between batches. Without
// `approve`, the limits of pending enrolments end a large call (Server::Enrol).
HEFT_EXPORT absl::StatusOr<EnrolManyResult> EnrolMany(const Client& client, const Server& server,
                                                      const std::string& gallery,
                                                      std::span<const Samples> modalities,
                                                      const EnrolManyOptions& options = {},
                                                      const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_DESK_H_
