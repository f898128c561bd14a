// SPDX-License-Identifier: Apache-2.0
// Changes of galleries, and requests to the key owner.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "desk/file_keys.h"
#include "heft/audit.h"
#include "heft/desk.h"
#include "heft/results.h"
#include "heft/shards.h"

namespace heft {
namespace {

absl::Status NoTrust(std::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what), ": which key owner to believe? give a trust file"));
}

// Done: an error after an enrolment that took place.
absl::Status Done(const absl::Status& status, const EnrolResult& done, bool has_key) {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "; the enrolment succeeded (", done.brought,
                   " templates pending): ",
                   has_key ? "repeat it with the same idempotency key to get this answer"
                           : "do not repeat it, because the same samples are refused"));
}

}  // namespace

absl::StatusOr<Gallery> Desk::Open(const std::string& address) const {
  return open ? open(address) : Gallery::Open(address);
}

absl::StatusOr<std::shared_ptr<const SigningKey>> Desk::Signer(const std::string& address) const {
  if (signer) return signer(address);
  HEFT_ASSIGN_OR_RETURN(SigningKey key, GallerySigner(address));
  return std::make_shared<const SigningKey>(std::move(key));
}

absl::StatusOr<EnrolResult> Desk::Enrol(EnrolRequest request, const Monitor& monitor) const {
  // All buckets have one store and one server's key.
  const std::string first = request.shards ? BucketAddress(request.gallery, 0) : request.gallery;
  auto key = Signer(first);
  const bool starts = absl::IsNotFound(key.status());  // there is no key to address a request to
  if (!starts) HEFT_RETURN_IF_ERROR(key.status());
  HEFT_ASSIGN_OR_RETURN(
      const Request asked,
      ReadRequest(request.files, trust, starts ? SignerKey{} : (*key)->public_key()));
  EnrolOptions& options = request.options;
  const bool has_key = !options.idempotency_key.empty();
  options.trust = trust;
  if (asked.client != SignerKey{}) options.client = asked.client;
  if (!request.shards) {
    HEFT_ASSIGN_OR_RETURN(const auto before, server->EnrolledBefore(first, request.files, options));
    if (before) return *before;
  }
  if (options.expires != 0 && options.expires <= UnixTime()) {
    return absl::InvalidArgumentError(
        absl::StrCat(UtcText(options.expires), " has passed: the template could never be matched"));
  }
  GalleryId served = request.shards ? request.shards->Id() : GalleryId{};
  if (!starts) {
    const auto gallery = Open(first);
    if (gallery.ok()) HEFT_RETURN_IF_ERROR(CheckGallery(*server, *gallery));
    if (gallery.ok() && !request.shards) served = gallery->id();
    if (!absl::IsNotFound(gallery.status())) HEFT_RETURN_IF_ERROR(gallery.status());
    HEFT_RETURN_IF_ERROR(CheckFiles(*server, request.files, KeysOf(request.files)));
  }
  HEFT_RETURN_IF_ERROR(CheckGalleryAsked(request.files, served));
  if (!starts) HEFT_RETURN_IF_ERROR(MakeAuditKey(first));
  if (!starts && !request.shards && !request.recorded) {
    HEFT_RETURN_IF_ERROR(RememberRequest(first, asked, kAllRows));
  }
  if (request.begin) HEFT_RETURN_IF_ERROR(request.begin());
  // Each bucket remembers its finished enrolments, so a repetition only enrols the missing ones.
  HEFT_ASSIGN_OR_RETURN(EnrolResult done,
                        request.shards
                            ? EnrolInShards(*server, request.gallery, *request.shards,
                                            request.files, options, monitor)
                            : server->Enrol(first, std::move(request.files), options, monitor));
  if (!starts) return done;
  HEFT_RETURN_IF_ERROR(Done(EquipGallery(first).status(), done, has_key));
  HEFT_RETURN_IF_ERROR(Done(RememberRequest(first, asked, kAllRows), done, has_key));
  return done;
}

absl::StatusOr<std::vector<uint8_t>> Desk::SignRequest(const Gallery& gallery,
                                                       const std::string& address,
                                                       std::vector<uint8_t> request,
                                                       const Signing& how) const {
  if (!how.sign) return request;
  HEFT_ASSIGN_OR_RETURN(const auto key, Signer(address));
  return SignReply(*key, gallery, {}, 0, audience, request, how.life);
}

absl::StatusOr<std::vector<uint8_t>> Desk::Pending(const std::string& gallery,
                                                   const PendingLimit& limit,
                                                   const Signing& how) const {
  HEFT_ASSIGN_OR_RETURN(const Gallery newest, Open(gallery));
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> request, PendingUpTo(*server, newest, limit));
  return SignRequest(newest, gallery, std::move(request), how);
}

absl::StatusOr<std::vector<uint8_t>> Desk::AskRenewal(const std::string& gallery,
                                                      const RenewalOptions& options,
                                                      const Signing& how,
                                                      const Monitor& monitor) const {
  HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> request,
                        heft::AskRenewal(*server, gallery, options, monitor));
  HEFT_ASSIGN_OR_RETURN(const Gallery newest, Open(gallery));
  return SignRequest(newest, gallery, std::move(request), how);
}

absl::StatusOr<ActivateResult> Desk::Activate(const std::string& gallery,
                                              std::span<const uint8_t> admission,
                                              std::string_view what, const Monitor& monitor) const {
  if (trust == nullptr) return NoTrust(what);
  return server->Activate(gallery, admission, what, *trust, monitor);
}

absl::StatusOr<RenewResult> Desk::Renew(const std::string& gallery, std::span<const uint8_t> answer,
                                        std::string_view what) const {
  if (trust == nullptr) return NoTrust(what);
  return heft::Renew(*server, gallery, answer, what, *trust);
}

absl::StatusOr<RemoveResult> Desk::Remove(const std::string& gallery,
                                          const std::vector<std::string>& identities,
                                          std::vector<uint8_t> authorisation) const {
  return heft::Remove(*server, gallery, identities, {std::move(authorisation), trust});
}

absl::StatusOr<GalleryId> Desk::Create(const std::string& gallery, const Retained& retained) const {
  HEFT_ASSIGN_OR_RETURN(const GalleryId id, CreateGallery(*server, gallery, retained));
  HEFT_RETURN_IF_ERROR(EquipGallery(gallery).status());
  return id;
}

absl::StatusOr<ShardList> Desk::CreateInBuckets(const std::string& gallery, uint32_t buckets,
                                                const Retained& retained) const {
  HEFT_ASSIGN_OR_RETURN(ShardList list, CreateShards(*server, gallery, buckets, retained));
  HEFT_RETURN_IF_ERROR(EquipGallery(BucketAddress(gallery, 0)).status());
  return list;
}

}  // namespace heft
