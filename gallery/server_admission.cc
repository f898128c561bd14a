// SPDX-License-Identifier: Apache-2.0
// The server's side of admission: what is enrolled waits in quarantine, where nothing matches it,
// until the key owner has seen its norms and said so.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/threads.h"
#include "fusion/norm_proof.h"
#include "gallery/admission.h"
#include "gallery/authorisation.h"
#include "gallery/server_impl.h"
#include "gallery/server_internal.h"

namespace heft {

using internal::Report;

namespace {

// Seen: the digests of samples that a gallery has, those in means too.
std::set<SampleDigest> Seen(const Gallery::Impl& gallery) {
  std::set<SampleDigest> seen(gallery.samples().begin(), gallery.samples().end());
  seen.insert(gallery.parts().begin(), gallery.parts().end());
  return seen;
}

// The digests of samples that a gallery or its quarantine has.
absl::Status CheckFresh(const std::set<SampleDigest>& seen,
                        std::span<const WaitingTemplate> templates) {
  const auto known = [&](const SampleDigest& sample) { return seen.contains(sample); };
  for (const WaitingTemplate& t : templates) {
    if (!known(t.sample) && std::ranges::none_of(t.parts, known)) continue;
    return absl::AlreadyExistsError(absl::StrCat(
        "the samples of \"", t.identity,
        "\" were enrolled before, in this gallery or its quarantine: a file that is sent again is "
        "not enrolled again"));
  }
  return absl::OkStatus();
}

// An identity of `known` gets no further template unless the registrar says so.
absl::Status CheckAuthorised(const Gallery::Impl& gallery, const std::set<std::string>& known,
                             std::span<const WaitingTemplate> templates, ByteSpan authorisation,
                             const Trust* trust) {
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
    HEFT_RETURN_IF_ERROR(CheckAuthorisation(authorisation, *trust, AuthorisedAct::kAdd,
                                            gallery.id(), t.identity, "the authorisation"));
  }
  return absl::OkStatus();
}

std::set<std::string> Known(const Gallery::Impl& gallery) {
  return {gallery.identities().begin(), gallery.identities().end()};
}

// Indices [first, end) of samples of a batch that stand side by side.
struct Run {
  size_t first, end;
};
std::vector<Run> RunsOf(const std::vector<bool>& admitted) {
  std::vector<Run> runs;
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

absl::StatusOr<EnrolResult> Server::Impl::Quarantine(const std::string& directory,
                                                     const SampleSet& samples,
                                                     const EnrolOptions& options,
                                                     const ProgressFunction& progress) const {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, OpenGallery(directory, /*create=*/true));
  QuarantinedEnrolment enrolment;
  if (samples.bulk()) {
    HEFT_ASSIGN_OR_RETURN(BatchEnrolment bulk, FuseBulk(samples, options, progress));
    HEFT_ASSIGN_OR_RETURN(enrolment, Prove(std::move(bulk)));
  } else {
    HEFT_ASSIGN_OR_RETURN(std::vector<Enrolment> fused, FuseAll(samples, options, progress));
    HEFT_ASSIGN_OR_RETURN(enrolment, Prove(std::move(fused), progress));
  }
  enrolment.authorisation = options.authorisation;
  for (WaitingTemplate& t : enrolment.templates) {
    t.metadata = options.metadata;
    t.expires = options.expires;
  }
  EnrolResult result;
  result.brought = enrolment.templates.size();
  HEFT_RETURN_IF_ERROR(
      gallery.Quarantine(SerializeQuarantined(rings_, binding(), enrolment), [&]() -> absl::Status {
        // Under the gallery's lock: two that enrol the same at once do not both pass.
        HEFT_ASSIGN_OR_RETURN(const auto waiting, Waiting(gallery));
        std::set<SampleDigest> seen = Seen(gallery);
        // Of two who bring the same name, before anybody of it is admitted, the second is refused.
        std::set<std::string> known = Known(gallery);
        for (const auto& [digest, e] : waiting) {
          for (const WaitingTemplate& t : e.templates) {
            seen.insert(t.sample);
            seen.insert(t.parts.begin(), t.parts.end());
            known.insert(t.identity);
          }
          result.waiting += e.templates.size();
        }
        HEFT_RETURN_IF_ERROR(CheckFresh(seen, enrolment.templates));
        return CheckAuthorised(gallery, known, enrolment.templates, enrolment.authorisation,
                               options.trust);
      }));
  result.waiting += result.brought;
  result.templates = gallery.size();
  result.blocks = gallery.blocks();
  return result;
}

absl::StatusOr<std::map<Digest, QuarantinedEnrolment>> Server::Impl::Waiting(
    const Gallery::Impl& gallery) const {
  std::map<Digest, QuarantinedEnrolment> out;
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> paths, gallery.QuarantinedFiles());
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
    HEFT_ASSIGN_OR_RETURN(QuarantinedEnrolment e, ParseQuarantined(rings_, binding(), bytes, path));
    out.emplace(HashBytes(bytes), std::move(e));
  }
  return out;
}

absl::StatusOr<AdmissionRequest> Server::Impl::Pending(const Gallery::Impl& gallery) const {
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(instance(), binding()));
  AdmissionRequest request;
  request.binding = binding();
  request.gallery = gallery.id();
  request.generation = gallery.generation();
  request.root = gallery.root();
  HEFT_ASSIGN_OR_RETURN(auto waiting, Waiting(gallery));
  const std::set<std::string> known = Known(gallery);
  for (auto& [digest, e] : waiting) {
    EnrolmentCheck check;
    check.entry = digest;
    for (const WaitingTemplate& t : e.templates) check.known.push_back(known.contains(t.identity));
    check.templates = std::move(e.templates);
    check.authorisation = std::move(e.authorisation);
    check.proofs = std::move(e.proofs);
    check.batch = std::move(e.norms);
    request.enrolments.push_back(std::move(check));
  }
  return request;
}

absl::Status Server::Impl::AdmitBatch(Gallery::Impl* gallery, QuarantinedEnrolment* e,
                                      const std::vector<bool>& admitted) const {
  for (const Run& run : RunsOf(admitted)) {
    std::vector<std::string> identities;
    std::vector<SampleDigest> digests;
    for (size_t i = run.first; i < run.end; ++i) {
      identities.push_back(e->templates[i].identity);
      digests.push_back(e->templates[i].sample);
    }
    TemplateBatch batch = e->batch;
    batch.first = static_cast<uint32_t>(run.first);
    batch.count = static_cast<uint32_t>(run.end - run.first);
    HEFT_RETURN_IF_ERROR(
        gallery->EnrolBatch(rings_, identities, std::move(batch), *keys_, digests));
  }
  return absl::OkStatus();
}

absl::StatusOr<AdmitResult> Server::Impl::Admit(const std::string& directory,
                                                const Admission& admission, const Trust* trust,
                                                const ProgressFunction& progress) const {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, OpenGallery(directory, /*create=*/false));
  if (!(admission.binding == binding()) || admission.gallery != gallery.id()) {
    return absl::FailedPreconditionError(
        "an admission to another gallery, or under another model or key");
  }
  HEFT_ASSIGN_OR_RETURN(auto waiting, Waiting(gallery));
  std::set<SampleDigest> seen(gallery.samples().begin(), gallery.samples().end());
  AdmitResult result;
  std::vector<Enrolment> singles;
  std::vector<std::pair<QuarantinedEnrolment*, const std::vector<bool>*>> batches;
  std::vector<Digest> decided;
  std::set<std::string> known = Known(gallery);
  for (const Admission::Enrolment& verdict : admission.enrolments) {
    const auto it = waiting.find(verdict.entry);
    if (it == waiting.end()) continue;  // decided before
    QuarantinedEnrolment& e = it->second;
    if (verdict.admitted.size() != e.templates.size()) {
      return absl::DataLossError("an admission of another number of templates than wait");
    }
    decided.push_back(verdict.entry);
    const auto admitted = static_cast<size_t>(std::ranges::count(verdict.admitted, true));
    result.rejected += e.templates.size() - admitted;
    // Of an admission that was cut short after its commit only the quarantine is left.
    if (admitted == 0 || seen.contains(e.templates[0].sample)) continue;
    // Somebody else of that name may have been admitted since it was brought.
    HEFT_RETURN_IF_ERROR(CheckAuthorised(gallery, known, e.templates, e.authorisation, trust));
    for (const WaitingTemplate& t : e.templates) known.insert(t.identity);
    result.admitted += admitted;
    if (e.bulk()) {
      batches.emplace_back(&e, &verdict.admitted);
      continue;
    }
    for (size_t i = 0; i < e.templates.size(); ++i) {
      if (!verdict.admitted[i]) continue;
      WaitingTemplate& t = e.templates[i];
      singles.push_back({t.identity, std::move(e.fused[i]), t.sample, std::move(t.parts)});
    }
  }
  if (!singles.empty()) {
    HEFT_RETURN_IF_ERROR(gallery.Enrol(instance(), singles, keys()));
  }
  for (const auto& [e, admitted] : batches) {
    HEFT_RETURN_IF_ERROR(AdmitBatch(&gallery, e, *admitted));
    HEFT_RETURN_IF_ERROR(Report(progress, result.admitted, result.admitted));
  }
  HEFT_RETURN_IF_ERROR(gallery.Release(decided));
  result.templates = gallery.size();
  result.blocks = gallery.blocks();
  result.waiting = 0;
  for (const auto& [digest, e] : waiting) {
    if (std::ranges::count(decided, digest) == 0) result.waiting += e.templates.size();
  }
  return result;
}

}  // namespace heft
