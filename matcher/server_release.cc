// SPDX-License-Identifier: Apache-2.0
// Pending enrolments, for the key owner, and activation of those that it
// has approved.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/inside.h"
#include "gallery/admission.h"
#include "gallery/change.h"
#include "gallery/removal.h"
#include "heft/gallery_admin.h"
#include "matcher/server_impl.h"
#include "matcher/server_internal.h"

namespace heft {

using internal::Report;

namespace {

// kWidestGap: the most consecutive rejected samples inside a part of a batch that joins the gallery
// at once. Their places are free afterwards. Wider gaps would waste room, so the samples behind one
// are moved separately; that takes gamma rotations.
constexpr size_t kWidestGap = 64;

// Indices [first, end) of samples of a batch, without wide gaps. The first and the last are
// approved.
struct Stretch {
  size_t first, end;
};
std::vector<Stretch> StretchesOf(const std::vector<bool>& activated) {
  std::vector<Stretch> runs;
  for (size_t i = 0; i < activated.size(); ++i) {
    if (!activated[i]) continue;
    if (runs.empty() || i - runs.back().end > kWidestGap) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

absl::StatusOr<ProvenEnrolment> ReadEntry(const Rings& rings, const GalleryBinding& binding,
                                          const Gallery::Impl& gallery, const Digest& digest) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan bytes, gallery.PendingFile(digest));
  return ParseProvenEnrolment(rings, binding, bytes, "an enrolment that waits");
}

// TemplatesOfNames: how many pending templates each name has.
std::map<std::string, uint32_t> TemplatesOfNames(
    std::span<const Gallery::Impl::PendingEntry> waiting) {
  std::map<std::string, uint32_t> templates;
  for (const auto& entry : waiting) {
    for (const std::string& name : entry.record.identities) ++templates[name];
  }
  return templates;
}

// OthersOf: how many of them are not in this enrolment.
uint32_t OthersOf(const std::map<std::string, uint32_t>& templates, const PendingRecord& record,
                  const std::string& name) {
  const auto all = templates.find(name);
  if (all == templates.end() || all->second == 1) return 0;
  return all->second - static_cast<uint32_t>(std::ranges::count(record.identities, name));
}

// ContestedLast: enrolments that may have to wait for a person's choice are no obstacle to others.
void ContestedLast(const std::map<std::string, uint32_t>& templates,
                   std::vector<Gallery::Impl::PendingEntry>* waiting) {
  std::stable_partition(
      waiting->begin(), waiting->end(), [&](const Gallery::Impl::PendingEntry& entry) {
        return std::ranges::all_of(entry.record.identities, [&](const std::string& name) {
          return OthersOf(templates, entry.record, name) == 0;
        });
      });
}

// LeaveOutDamaged: of enrolments that share a name, so that a damaged one is no rival of another.
void LeaveOutDamaged(const Gallery::Impl& gallery,
                     std::vector<Gallery::Impl::PendingEntry>* waiting) {
  const std::map<std::string, uint32_t> templates = TemplatesOfNames(*waiting);
  std::erase_if(*waiting, [&](const Gallery::Impl::PendingEntry& entry) {
    const bool rival = std::ranges::any_of(entry.record.identities, [&](const std::string& name) {
      return OthersOf(templates, entry.record, name) > 0;
    });
    return rival && absl::IsDataLoss(gallery.PendingFile(entry.digest).status());
  });
}

// PendingOf: the first enrolments within the limit, at least one. Without damaged ones.
absl::StatusOr<AdmissionRequest> PendingOf(const Server::Impl& server, const Gallery::Impl& gallery,
                                           const PendingLimit& limit) {
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(server.instance(), server.binding()));
  AdmissionRequest request;
  request.binding = server.binding();
  request.gallery = gallery.id();
  request.generation = gallery.generation();
  request.root = gallery.root();
  HEFT_ASSIGN_OR_RETURN(KeptHead kept, ReadKeptHead(gallery));
  request.head = std::move(kept.newest);
  HEFT_ASSIGN_OR_RETURN(auto waiting, gallery.PendingEnrolments());
  LeaveOutDamaged(gallery, &waiting);
  const std::map<std::string, uint32_t> templates = TemplatesOfNames(waiting);
  ContestedLast(templates, &waiting);
  PendingLimit used{.templates = 0, .bytes = 0};
  size_t damaged = 0;
  for (const auto& entry : waiting) {
    if (absl::IsDataLoss(gallery.PendingFile(entry.digest).status())) {
      ++damaged;
      continue;
    }
    used.templates += entry.record.identities.size();
    used.bytes += entry.record.bytes;
    const bool over = used.templates > limit.templates || used.bytes > limit.bytes;
    if (over && !request.enrolments.empty()) break;
    HEFT_ASSIGN_OR_RETURN(ProvenEnrolment e,
                          ReadEntry(server.rings(), server.binding(), gallery, entry.digest));
    EnrolmentCheck check;
    check.entry = entry.digest;
    check.client = entry.record.client;
    for (const PendingTemplate& t : e.templates) {
      HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, gallery.Find(t.identity));
      check.known.push_back(!named.places.empty());
      check.others.push_back(OthersOf(templates, entry.record, t.identity));
    }
    check.templates = std::move(e.templates);
    check.authorisation = std::move(e.authorisation);
    check.proofs = std::move(e.proofs);
    check.batch = std::move(e.norms);
    request.enrolments.push_back(std::move(check));
  }
  request.more = waiting.size() - damaged - request.enrolments.size();
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

absl::StatusOr<ProvenEnrolment> Server::Impl::ReadProvenEnrolment(const Gallery::Impl& gallery,
                                                                  const Digest& digest) const {
  return ReadEntry(rings_, binding(), gallery, digest);
}

absl::Status Server::Impl::ActivateEntry(GalleryChange* change, ProvenEnrolment e,
                                         const std::vector<bool>& activated) const {
  std::vector<Enrolment> templates;
  const auto add = [&](size_t i) {
    PendingTemplate& t = e.templates[i];
    templates.push_back(
        {t.identity, {}, t.sample, std::move(t.parts), t.expires, std::move(t.metadata)});
    if (!e.bulk()) templates.back().z = std::move(e.fused[i]);
  };
  if (!e.bulk()) {
    for (size_t i = 0; i < activated.size(); ++i) {
      if (activated[i]) add(i);
    }
    return change->AddSingles(instance(), templates);
  }
  for (const Stretch& stretch : StretchesOf(activated)) {
    templates.clear();
    TemplateBatch batch = e.batch;
    batch.first = static_cast<uint32_t>(stretch.first);
    batch.count = static_cast<uint32_t>(stretch.end - stretch.first);
    for (size_t i = stretch.first; i < stretch.end; ++i) {
      add(i);
      batch.left_out.push_back(!activated[i]);
    }
    HEFT_RETURN_IF_ERROR(change->AddBatch(rings_, templates, std::move(batch), *keys_));
  }
  return absl::OkStatus();
}

// kRejectionWait: how long an admission waits for readers of rejected templates. Their bytes were
// never matched, and there is no receipt.
constexpr absl::Duration kRejectionWait = absl::Milliseconds(500);

// What one admission has changed so far.
struct Server::Impl::Activating {
  GalleryChange* change;
  const Trust* trust;
  std::set<std::string> identities;  // of those who have joined
  std::vector<ErasedItem> erased;    // of those whose templates were replaced
};

// Adds the approved templates of an entry. Their identities may have been enrolled by others since
// they were brought. Only approved templates replace earlier ones.
absl::Status Server::Impl::Join(ProvenEnrolment e, const std::vector<bool>& activated,
                                Activating* so_far) const {
  GalleryChange& change = *so_far->change;
  std::vector<PendingTemplate> joining;
  for (size_t i = 0; i < e.templates.size(); ++i) {
    if (activated[i]) joining.push_back(e.templates[i]);
  }
  std::set<std::string> known = so_far->identities;
  for (const PendingTemplate& t : joining) {
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, change.Find(t.identity));
    if (!named.places.empty()) known.insert(t.identity);
  }
  const auto replaced =
      internal::CheckJoining(change.head().id, known, joining, e.authorisation, so_far->trust);
  if (!replaced.ok()) {
    return absl::Status(
        replaced.status().code(),
        absl::StrCat("nothing of this admission was applied: ", replaced.status().message(),
                     "; if another enrolment was activated meanwhile, write a new request for the "
                     "key owner (heft-server pending)"));
  }
  for (const PendingTemplate& t : joining) so_far->identities.insert(t.identity);
  for (const std::string& identity : *replaced) {
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, change.Find(identity));
    HEFT_ASSIGN_OR_RETURN(const RemovedPlaces removed,
                          RemovePlaces(&change, instance(), keys(), named.places));
    so_far->erased.insert(so_far->erased.end(), removed.items.begin(), removed.items.end());
  }
  return ActivateEntry(&change, std::move(e), activated);
}

absl::StatusOr<ActivateResult> Server::Impl::Activate(const std::string& directory,
                                                      const Admission& admission,
                                                      const Trust* trust,
                                                      const ProgressFunction& progress) const {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, OpenGallery(directory, /*create=*/false));
  gallery = gallery.Unread();
  if (!(admission.binding == binding()) || admission.gallery != gallery.id()) {
    return absl::FailedPreconditionError(
        "an admission to another gallery, or under another model or key");
  }
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(gallery, /*start=*/false));
  ActivateResult result;
  HEFT_ASSIGN_OR_RETURN(const auto before, change.before().PendingEnrolments());
  for (const auto& entry : before) result.pending += entry.record.identities.size();
  Activating so_far = {&change, trust, {}, {}};
  for (const Admission::Enrolment& verdict : admission.enrolments) {
    const auto waits = [&](const Gallery::Impl::PendingEntry& entry) {
      return entry.digest == verdict.entry;
    };
    const auto at = std::ranges::find_if(before, waits);
    if (at == before.end()) continue;  // decided before
    const size_t templates = at->record.identities.size();
    if (verdict.approved.size() != templates) {
      return absl::DataLossError("the admission has another number of templates than are pending");
    }
    const auto activated = static_cast<size_t>(std::ranges::count(verdict.approved, true));
    std::optional<ProvenEnrolment> e;
    if (activated > 0) {
      auto read = ReadProvenEnrolment(change.before(), verdict.entry);
      if (absl::IsDataLoss(read.status())) {  // damaged since the request
        result.damaged.push_back(verdict.entry);
        continue;
      }
      HEFT_RETURN_IF_ERROR(read.status());
      e = *std::move(read);
    }
    HEFT_RETURN_IF_ERROR(change.DropPending(verdict.entry).status());
    result.rejected += templates - activated;
    result.pending -= templates;
    if (!e) continue;
    HEFT_RETURN_IF_ERROR(Join(*std::move(e), verdict.approved, &so_far));
    result.activated += activated;
    HEFT_RETURN_IF_ERROR(Report(progress, result.activated, result.activated));
  }
  if (result.activated > 0) HEFT_RETURN_IF_ERROR(change.FoldIfMany(instance(), keys()));
  std::optional<SigningKey> signer;
  if (!so_far.erased.empty()) {
    HEFT_ASSIGN_OR_RETURN(signer, GallerySigner(directory));
    HEFT_RETURN_IF_ERROR(PutReceipt(&change, so_far.erased));
  }
  HEFT_RETURN_IF_ERROR(change.Commit());
  result.templates = change.head().live;
  result.blocks = change.infos().size();
  // The admission is complete, also if readers prevent the overwriting now.
  if (signer) {
    result.overwritten = FinishReceipts(&change, *signer, kRejectionWait).status();
  } else if (result.rejected > 0) {
    result.overwritten = change.EraseRemains(kRejectionWait);
  }
  return result;
}

}  // namespace heft
