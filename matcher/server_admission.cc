// SPDX-License-Identifier: Apache-2.0
// Enrolment: a template stays pending, where it is not matched, until the key owner
// has seen its norm and approved it (server_release.cc).
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
#include "heft/gallery_admin.h"
#include "matcher/server_impl.h"
#include "matcher/server_internal.h"

namespace heft {

using internal::Report;

namespace {

// kAlreadyExists where the gallery, or a pending enrolment, has the samples.
absl::Status CheckFresh(const GalleryChange& change, std::span<const PendingTemplate> templates) {
  std::set<SampleDigest> brought;
  for (const PendingTemplate& t : templates) {
    std::vector<SampleDigest> samples = t.parts;
    samples.push_back(t.sample);
    for (const SampleDigest& sample : samples) {
      if (!brought.insert(sample).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a sample of \"", t.identity, "\" is in the files twice: enrol each once"));
      }
      HEFT_ASSIGN_OR_RETURN(const auto place, change.FindSample(sample));
      if (!place) continue;
      return absl::AlreadyExistsError(absl::StrCat("the samples of \"", t.identity,
                                                   "\" were enrolled before, in this gallery or a "
                                                   "pending enrolment: a file that is sent again "
                                                   "is not enrolled again"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::set<std::string>> internal::CheckJoining(
    const GalleryId& gallery, const std::set<std::string>& known,
    std::span<const PendingTemplate> templates, ByteSpan authorisation, const Trust* trust) {
  std::set<std::string> replaced;
  for (const PendingTemplate& t : templates) {
    if (!known.contains(t.identity)) continue;
    if (authorisation.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "\"", t.identity,
          "\" is enrolled already: another template of it needs the registrar's authorisation "
          "(heft authorise), given with --authorisation"));
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

absl::StatusOr<ProvenEnrolment> Server::Impl::Prove(std::vector<Enrolment> fused,
                                                    const ProgressFunction& progress) const {
  ProvenEnrolment out;
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

absl::StatusOr<ProvenEnrolment> Server::Impl::Prove(BatchEnrolment bulk) const {
  ProvenEnrolment out;
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

absl::StatusOr<ProvenEnrolment> Server::Impl::FuseToProve(const SampleSet& samples,
                                                          const EnrolOptions& options,
                                                          const ProgressFunction& progress) const {
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
  for (const size_t n : {result.brought, result.pending, result.templates, result.blocks}) {
    writer.U64(n);
  }
  return writer.Take();
}

absl::StatusOr<EnrolResult> ParseResult(ByteSpan bytes) {
  ByteReader reader(bytes, "the gallery's idempotency keys");
  EnrolResult result;
  for (size_t* n : {&result.brought, &result.pending, &result.templates, &result.blocks}) {
    *n = reader.U64();
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  result.repeated = true;
  return result;
}

// The parts of an enrolment that identify it. The expiry is not one: "in so many days" means
// another time in a repeated request.
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

absl::StatusOr<EnrolResult> Server::Impl::EnrolPending(
    const std::string& directory, const SampleSet& samples, const EnrolOptions& options,
    const ProgressFunction& progress, const Digest& files, const ClientLimits& limits) const {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, OpenGallery(directory, /*create=*/true));
  gallery = gallery.Unread();
  HEFT_ASSIGN_OR_RETURN(ProvenEnrolment enrolment, FuseToProve(samples, options, progress));
  enrolment.authorisation = options.authorisation;
  for (PendingTemplate& t : enrolment.templates) {
    t.metadata = options.metadata;
    t.expires = options.expires;
  }
  const std::vector<uint8_t> bytes = SerializeProvenEnrolment(rings_, binding(), enrolment);
  // Under the store's lock: two that enrol the same at once do not both pass.
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(gallery, /*start=*/true));
  if (!options.idempotency_key.empty()) {
    HEFT_ASSIGN_OR_RETURN(const auto answer,
                          RecallRequest(change.writer(), change.number(), options.idempotency_key,
                                        DigestOfRequest(options, files), change.now()));
    if (answer) return ParseResult(*answer);
  }
  HEFT_RETURN_IF_ERROR(CheckFresh(change, enrolment.templates));
  HEFT_ASSIGN_OR_RETURN(const auto before, change.before().PendingEnrolments());
  HEFT_RETURN_IF_ERROR(CheckRoom(before, options.client, bytes.size(), limits));
  // A pending enrolment reserves no name: anybody could block one. The key owner chooses.
  std::set<std::string> known;
  for (const PendingTemplate& t : enrolment.templates) {
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, change.Find(t.identity));
    if (!named.places.empty()) known.insert(t.identity);
  }
  HEFT_RETURN_IF_ERROR(internal::CheckJoining(change.head().id, known, enrolment.templates,
                                              enrolment.authorisation, options.trust)
                           .status());
  std::vector<Enrolment> templates;
  for (const PendingTemplate& t : enrolment.templates) {
    templates.push_back({t.identity, {}, t.sample, t.parts});
  }
  HEFT_RETURN_IF_ERROR(change.PutPending(bytes, templates, options.client));
  EnrolResult result;
  result.brought = enrolment.templates.size();
  for (const auto& entry : before) result.pending += entry.record.identities.size();
  result.pending += result.brought;
  result.templates = change.head().live;
  result.blocks = change.infos().size();
  result.missing = model_.NamesOf(model_.AllModalities() & ~samples.present());
  if (!options.idempotency_key.empty()) {
    HEFT_RETURN_IF_ERROR(change.Remember(options.idempotency_key, DigestOfRequest(options, files),
                                         SerializeResult(result)));
  }
  HEFT_RETURN_IF_ERROR(change.Commit());
  return result;
}

}  // namespace heft
