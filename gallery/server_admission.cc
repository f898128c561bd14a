// SPDX-License-Identifier: Apache-2.0
// The server's side of admission: what is enrolled waits in quarantine, where nothing matches it,
// until the key owner has seen its norms and said so.
#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/inside.h"
#include "base/threads.h"
#include "fusion/norm_proof.h"
#include "gallery/admission.h"
#include "gallery/authorisation.h"
#include "gallery/change.h"
#include "gallery/metadata_format.h"
#include "gallery/removal.h"
#include "gallery/server_impl.h"
#include "gallery/server_internal.h"
#include "heft/pending.h"

namespace heft {

using internal::Report;

namespace {

// kAlreadyExists where the gallery or its quarantine has the samples.
absl::Status CheckFresh(const GalleryChange& change, std::span<const WaitingTemplate> templates) {
  std::set<SampleDigest> brought;
  for (const WaitingTemplate& t : templates) {
    std::vector<SampleDigest> samples = t.parts;
    samples.push_back(t.sample);
    for (const SampleDigest& sample : samples) {
      if (!brought.insert(sample).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a sample of \"", t.identity, "\" is in the files twice: enrol each once"));
      }
      HEFT_ASSIGN_OR_RETURN(const auto place, change.FindSample(sample));
      if (!place) continue;
      return absl::AlreadyExistsError(absl::StrCat(
          "the samples of \"", t.identity,
          "\" were enrolled before, in this gallery or its quarantine: a file that is sent again "
          "is not enrolled again"));
    }
  }
  return absl::OkStatus();
}

// An identity of `known` gets no further template unless the registrar says so.
// Gives those whose templates so far go.
absl::StatusOr<std::set<std::string>> CheckAuthorised(const GalleryId& gallery,
                                                      const std::set<std::string>& known,
                                                      std::span<const WaitingTemplate> templates,
                                                      ByteSpan authorisation, const Trust* trust) {
  std::set<std::string> replaced;
  for (const WaitingTemplate& t : templates) {
    if (!known.contains(t.identity)) continue;
    if (authorisation.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "\"", t.identity,
          "\" is enrolled already, or waits to be: another template of it needs the registrar's "
          "authorisation (heft authorise), given with --authorisation"));
    }
    if (trust == nullptr) {
      return absl::FailedPreconditionError(
          "whose authorisation to believe? give the trust file that lists the registrar");
    }
    HEFT_ASSIGN_OR_RETURN(const AuthorisedAct act, CheckMayEnrol(authorisation, *trust, gallery,
                                                                 t.identity, "the authorisation"));
    if (act == AuthorisedAct::kReplace) replaced.insert(t.identity);
  }
  return replaced;
}

// Indices [first, end) of samples of a batch that stand side by side.
struct Stretch {
  size_t first, end;
};
std::vector<Stretch> StretchesOf(const std::vector<bool>& admitted) {
  std::vector<Stretch> runs;
  for (size_t i = 0; i < admitted.size(); ++i) {
    if (!admitted[i]) continue;
    if (runs.empty() || runs.back().end != i) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

}  // namespace

absl::StatusOr<QuarantinedEnrolment> Server::Impl::Prove(std::vector<Enrolment> fused,
                                                         const ProgressFunction& progress) const {
  QuarantinedEnrolment out;
  out.proofs.resize(kNormProofs * fused.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(out.proofs.size(), [&](size_t i) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(out.proofs[i],
                          ProveTemplateNorm(rings_.matching, fused[i / kNormProofs].z, keys()));
    return absl::OkStatus();
  }));
  for (Enrolment& e : fused) {
    out.templates.push_back({std::move(e.identity), e.sample, std::move(e.parts)});
    out.fused.push_back(std::move(e.z));
  }
  HEFT_RETURN_IF_ERROR(Report(progress, out.fused.size(), out.fused.size()));
  return out;
}

absl::StatusOr<QuarantinedEnrolment> Server::Impl::Prove(BatchEnrolment bulk) const {
  QuarantinedEnrolment out;
  for (size_t i = 0; i < kNormProofs; ++i) {
    HEFT_ASSIGN_OR_RETURN(BatchNorms norms,
                          ProveBatchNorms(rings_, bulk.batch.coordinates, enrolment_keys()));
    out.norms.push_back(std::move(norms));
  }
  for (size_t i = 0; i < bulk.identities.size(); ++i) {
    out.templates.push_back({std::move(bulk.identities[i]), bulk.samples[i], {}});
  }
  out.batch = std::move(bulk.batch);
  return out;
}

absl::StatusOr<QuarantinedEnrolment> Server::Impl::FuseToProve(
    const SampleSet& samples, const EnrolOptions& options, const ProgressFunction& progress) const {
  if (samples.bulk()) {
    HEFT_ASSIGN_OR_RETURN(BatchEnrolment bulk, FuseBulk(samples, options, progress));
    return Prove(std::move(bulk));
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<Enrolment> fused, FuseAll(samples, options, progress));
  return Prove(std::move(fused), progress);
}

namespace {

std::vector<uint8_t> SerializeResult(const EnrolResult& result) {
  ByteWriter writer;
  for (const size_t n : {result.brought, result.waiting, result.templates, result.blocks}) {
    writer.U64(n);
  }
  return writer.Take();
}

absl::StatusOr<EnrolResult> ParseResult(ByteSpan bytes) {
  ByteReader reader(bytes, "the gallery's idempotency keys");
  EnrolResult result;
  for (size_t* n : {&result.brought, &result.waiting, &result.templates, &result.blocks}) {
    *n = reader.U64();
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  result.repeated = true;
  return result;
}

// What of an enrolment would make it another one. Not when it expires: in so many days from now is
// another time when somebody asks again.
Digest DigestOfRequest(const EnrolOptions& options, const Digest& files) {
  ByteWriter writer;
  writer.String(options.identity);
  writer.U8(options.all_pairs ? 1 : 0);
  writer.U8(options.average ? 1 : 0);
  WriteMetadata(writer, options.metadata);
  writer.Raw(files);
  return HashBytes(writer.bytes());
}

}  // namespace

absl::StatusOr<std::optional<EnrolResult>> Server::Impl::EnrolledBefore(
    const std::string& directory, const EnrolOptions& options, const Digest& files) const {
  std::optional<EnrolResult> none;
  if (options.idempotency_key.empty()) return none;
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery, OpenGallery(directory, /*create=*/true));
  if (gallery.store() == nullptr) return none;
  HEFT_ASSIGN_OR_RETURN(const auto answer,
                        RecallRequest(gallery.reader(), gallery.number(), options.idempotency_key,
                                      DigestOfRequest(options, files), UnixTime()));
  if (!answer) return none;
  HEFT_ASSIGN_OR_RETURN(const EnrolResult result, ParseResult(*answer));
  return std::optional<EnrolResult>(result);
}

absl::StatusOr<EnrolResult> Server::Impl::Quarantine(const std::string& directory,
                                                     const SampleSet& samples,
                                                     const EnrolOptions& options,
                                                     const ProgressFunction& progress,
                                                     const Digest& files) const {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, OpenGallery(directory, /*create=*/true));
  gallery = gallery.Unread();
  HEFT_ASSIGN_OR_RETURN(QuarantinedEnrolment enrolment, FuseToProve(samples, options, progress));
  enrolment.authorisation = options.authorisation;
  for (WaitingTemplate& t : enrolment.templates) {
    t.metadata = options.metadata;
    t.expires = options.expires;
  }
  const std::vector<uint8_t> bytes = SerializeQuarantined(rings_, binding(), enrolment);
  // Under the store's lock: two that enrol the same at once do not both pass.
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(gallery, /*start=*/true));
  if (!options.idempotency_key.empty()) {
    HEFT_ASSIGN_OR_RETURN(const auto answer,
                          RecallRequest(change.writer(), change.number(), options.idempotency_key,
                                        DigestOfRequest(options, files), change.now()));
    if (answer) return ParseResult(*answer);
  }
  HEFT_RETURN_IF_ERROR(CheckFresh(change, enrolment.templates));
  // Of two who bring the same name, before anybody of it is admitted, the second is refused.
  std::set<std::string> known;
  for (const WaitingTemplate& t : enrolment.templates) {
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, change.Find(t.identity));
    if (named.waiting > 0 || !named.places.empty()) known.insert(t.identity);
  }
  HEFT_RETURN_IF_ERROR(CheckAuthorised(change.head().id, known, enrolment.templates,
                                       enrolment.authorisation, options.trust)
                           .status());
  std::vector<Enrolment> templates;
  for (const WaitingTemplate& t : enrolment.templates) {
    templates.push_back({t.identity, {}, t.sample, t.parts});
  }
  HEFT_RETURN_IF_ERROR(change.PutQuarantined(bytes, templates));
  EnrolResult result;
  result.brought = enrolment.templates.size();
  HEFT_ASSIGN_OR_RETURN(const auto before, change.before().Waiting());
  for (const auto& entry : before) result.waiting += entry.identities.size();
  result.waiting += result.brought;
  result.templates = change.head().live;
  result.blocks = change.infos().size();
  if (!options.idempotency_key.empty()) {
    HEFT_RETURN_IF_ERROR(change.Remember(options.idempotency_key, DigestOfRequest(options, files),
                                         SerializeResult(result)));
  }
  HEFT_RETURN_IF_ERROR(change.Commit());
  return result;
}

namespace {

absl::StatusOr<QuarantinedEnrolment> ReadEntry(const Rings& rings, const GalleryBinding& binding,
                                               const Gallery::Impl& gallery, const Digest& digest) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan bytes, gallery.Quarantined(digest));
  if (Digest(HashBytes(bytes)) != digest) {
    return absl::DataLossError("an enrolment that waits is damaged: reject it");
  }
  return ParseQuarantined(rings, binding, bytes, "an enrolment that waits");
}

// PendingOf: the enrolments that come first, within the limit; one at least.
absl::StatusOr<AdmissionRequest> PendingOf(const Server::Impl& server, const Gallery::Impl& gallery,
                                           const PendingLimit& limit) {
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(server.instance(), server.binding()));
  AdmissionRequest request;
  request.binding = server.binding();
  request.gallery = gallery.id();
  request.generation = gallery.generation();
  request.root = gallery.root();
  HEFT_ASSIGN_OR_RETURN(const auto waiting, gallery.Waiting());
  PendingLimit used{.templates = 0, .bytes = 0};
  for (const auto& entry : waiting) {
    HEFT_ASSIGN_OR_RETURN(const ByteSpan bytes, gallery.Quarantined(entry.digest));
    used.templates += entry.identities.size();
    used.bytes += bytes.size();
    const bool over = used.templates > limit.templates || used.bytes > limit.bytes;
    if (over && !request.enrolments.empty()) break;
    HEFT_ASSIGN_OR_RETURN(QuarantinedEnrolment e,
                          ReadEntry(server.rings(), server.binding(), gallery, entry.digest));
    EnrolmentCheck check;
    check.entry = entry.digest;
    for (const WaitingTemplate& t : e.templates) {
      HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, gallery.Find(t.identity));
      check.known.push_back(!named.places.empty());
    }
    check.templates = std::move(e.templates);
    check.authorisation = std::move(e.authorisation);
    check.proofs = std::move(e.proofs);
    check.batch = std::move(e.norms);
    request.enrolments.push_back(std::move(check));
  }
  return request;
}

}  // namespace

absl::StatusOr<AdmissionRequest> Server::Impl::Pending(const Gallery::Impl& gallery) const {
  return PendingOf(*this, gallery, {.templates = ~uint64_t{0}, .bytes = ~uint64_t{0}});
}

absl::StatusOr<std::vector<uint8_t>> PendingUpTo(const Server& server, const Gallery& gallery,
                                                 const PendingLimit& limit) {
  const Server::Impl& impl = Inside::Of(server);
  HEFT_ASSIGN_OR_RETURN(const AdmissionRequest request,
                        PendingOf(impl, Inside::Of(gallery), limit));
  return SerializeAdmissionRequest(impl.rings(), request);
}

absl::StatusOr<QuarantinedEnrolment> Server::Impl::ReadQuarantined(const Gallery::Impl& gallery,
                                                                   const Digest& digest) const {
  return ReadEntry(rings_, binding(), gallery, digest);
}

absl::Status Server::Impl::AdmitEntry(GalleryChange* change, QuarantinedEnrolment e,
                                      const std::vector<bool>& admitted) const {
  std::vector<Enrolment> templates;
  const auto add = [&](size_t i) {
    WaitingTemplate& t = e.templates[i];
    templates.push_back(
        {t.identity, {}, t.sample, std::move(t.parts), t.expires, std::move(t.metadata)});
    if (!e.bulk()) templates.back().z = std::move(e.fused[i]);
  };
  if (!e.bulk()) {
    for (size_t i = 0; i < admitted.size(); ++i) {
      if (admitted[i]) add(i);
    }
    return change->AddSingles(instance(), templates, keys());
  }
  for (const Stretch& stretch : StretchesOf(admitted)) {
    templates.clear();
    for (size_t i = stretch.first; i < stretch.end; ++i) add(i);
    TemplateBatch batch = e.batch;
    batch.first = static_cast<uint32_t>(stretch.first);
    batch.count = static_cast<uint32_t>(stretch.end - stretch.first);
    HEFT_RETURN_IF_ERROR(change->AddBatch(rings_, templates, std::move(batch), *keys_));
  }
  return absl::OkStatus();
}

absl::StatusOr<AdmitResult> Server::Impl::Admit(const std::string& directory,
                                                const Admission& admission, const Trust* trust,
                                                const ProgressFunction& progress) const {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, OpenGallery(directory, /*create=*/false));
  gallery = gallery.Unread();
  if (!(admission.binding == binding()) || admission.gallery != gallery.id()) {
    return absl::FailedPreconditionError(
        "an admission to another gallery, or under another model or key");
  }
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(gallery, /*start=*/false));
  AdmitResult result;
  HEFT_ASSIGN_OR_RETURN(const auto before, change.before().Waiting());
  for (const auto& entry : before) result.waiting += entry.identities.size();
  std::set<std::string> admitted_now;  // identities
  std::vector<ErasedItem> erased;      // of those whose templates were replaced
  for (const Admission::Enrolment& verdict : admission.enrolments) {
    const auto waits = [&](const Gallery::Impl::WaitingEntry& entry) {
      return entry.digest == verdict.entry;
    };
    if (std::ranges::none_of(before, waits)) continue;  // decided before
    HEFT_ASSIGN_OR_RETURN(QuarantinedEnrolment e, ReadQuarantined(change.before(), verdict.entry));
    if (verdict.admitted.size() != e.templates.size()) {
      return absl::DataLossError("an admission of another number of templates than wait");
    }
    HEFT_RETURN_IF_ERROR(change.DropQuarantined(verdict.entry));
    const auto admitted = static_cast<size_t>(std::ranges::count(verdict.admitted, true));
    result.rejected += e.templates.size() - admitted;
    result.waiting -= e.templates.size();
    if (admitted == 0) continue;
    // Somebody else of that name may have been admitted since it was brought.
    // Of those alone who join: whoever is rejected replaces nobody.
    std::vector<WaitingTemplate> joining;
    for (size_t i = 0; i < e.templates.size(); ++i) {
      if (verdict.admitted[i]) joining.push_back(e.templates[i]);
    }
    std::set<std::string> known = admitted_now;
    for (const WaitingTemplate& t : joining) {
      HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, change.Find(t.identity));
      if (!named.places.empty()) known.insert(t.identity);
    }
    HEFT_ASSIGN_OR_RETURN(
        const std::set<std::string> replaced,
        CheckAuthorised(change.head().id, known, joining, e.authorisation, trust));
    for (const WaitingTemplate& t : joining) admitted_now.insert(t.identity);
    for (const std::string& identity : replaced) {
      HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, change.Find(identity));
      HEFT_ASSIGN_OR_RETURN(const RemovedPlaces removed,
                            RemovePlaces(&change, instance(), keys(), named.places));
      erased.insert(erased.end(), removed.items.begin(), removed.items.end());
    }
    result.admitted += admitted;
    HEFT_RETURN_IF_ERROR(AdmitEntry(&change, std::move(e), verdict.admitted));
    HEFT_RETURN_IF_ERROR(Report(progress, result.admitted, result.admitted));
  }
  std::optional<SigningKey> signer;
  if (!erased.empty()) {
    HEFT_ASSIGN_OR_RETURN(signer, GallerySigner(directory));
    HEFT_RETURN_IF_ERROR(PutReceipt(&change, erased));
  }
  HEFT_RETURN_IF_ERROR(change.Commit());
  result.templates = change.head().live;
  result.blocks = change.infos().size();
  // What cannot be overwritten now, because somebody reads, is with the next erasure: the admission
  // has happened.
  if (signer) FinishReceipts(&change, *signer).status().IgnoreError();
  return result;
}

}  // namespace heft
