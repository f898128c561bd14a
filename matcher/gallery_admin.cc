// SPDX-License-Identifier: Apache-2.0
// The contents of a gallery, and the check that it is intact.
#include "heft/gallery_admin.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/identity.h"
#include "base/inside.h"
#include "base/progress.h"
#include "fusion/rings.h"
#include "gallery/admission.h"
#include "gallery/change.h"
#include "gallery/gallery_copies.h"
#include "gallery/journal_head.h"
#include "gallery/removal.h"
#include "gallery/unlisted.h"
#include "matcher/server_impl.h"

namespace heft {
namespace {

// The rings of a gallery's model. kFailedPrecondition for another model.
absl::StatusOr<Rings> RingsFor(const Gallery::Impl& gallery, const Model& model) {
  HEFT_ASSIGN_OR_RETURN(Rings rings, MakeRings(model));
  HEFT_RETURN_IF_ERROR(gallery.CheckFits(
      rings.matching, BindingOf(rings.matching, model, gallery.binding().key_id)));
  return rings;
}

// The number of a table's keys that belong to this gallery.
absl::StatusOr<uint64_t> CountOf(const Gallery::Impl& gallery, Table table) {
  uint64_t count = 0;
  HEFT_RETURN_IF_ERROR(
      gallery.reader().Scan(table, NumberKey(gallery.number(), 0), [&](ByteSpan key, ByteSpan) {
        count += OfGallery(gallery.number(), key) ? 1 : 0;
        return OfGallery(gallery.number(), key);
      }));
  return count;
}

double LeastMargin(const Gallery::Impl& gallery, const ErrorCosts& costs) {
  double least = 1;
  for (const BlockInfo& info : gallery.infos()) {
    if (info.live > 0) least = std::min(least, Margin(costs, info.error));
  }
  return least;
}

// Counts non-empty entries and their bytes.
absl::Status CountJournal(const Gallery::Impl& gallery, GalleryInfo* info) {
  absl::Status status;
  HEFT_RETURN_IF_ERROR(gallery.reader().Scan(
      Table::kJournal, NumberKey(gallery.number(), 0), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(gallery.number(), key)) return false;
        const auto entry = ParseEntry(value, "the gallery's journal");
        status = entry.status();
        if (!status.ok()) return false;
        if (!entry->fused.empty()) ++info->journal_entries;
        info->journal_bytes += value.size();
        return true;
      }));
  return status;
}

}  // namespace

absl::StatusOr<GalleryId> CreateGallery(const Server& server, const std::string& gallery,
                                        const Retained& retained) {
  const Server::Impl& impl = Inside::Of(server);
  const auto exists = [&] {
    return absl::AlreadyExistsError(absl::StrCat("there is a gallery ", gallery, " already"));
  };
  const auto there = Gallery::Impl::Open(gallery);
  if (there.ok()) return exists();
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl fresh, impl.OpenGallery(gallery, /*create=*/true));
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(fresh, /*start=*/true));
  // Another process may have created it meanwhile.
  if (change.head().id != fresh.id()) return exists();
  change.head().retention = {retained.seconds, retained.bytes};
  HEFT_RETURN_IF_ERROR(change.Commit());
  return change.head().id;
}

absl::StatusOr<GalleryInfo> DescribeGallery(const std::string& gallery, const Model* model) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl impl, Gallery::Impl::Open(gallery));
  const GalleryHead& head = impl.head();
  GalleryInfo info;
  info.name = impl.address().name;
  info.gallery_id = head.id;
  info.model_id = head.binding.model_id;
  info.key_id = head.binding.key_id;
  info.gamma = head.binding.gamma;
  info.generation = head.generation;
  info.root = head.root;
  info.places = head.places;
  info.templates = head.live;
  info.leaving = head.leaving;
  info.blocks = impl.blocks();
  info.unfolded = impl.pending();
  info.started = head.started;
  info.key_since = head.key_since;
  info.verified = head.verified;
  if (head.verified != 0) info.intact = head.intact;
  info.retention_seconds = head.retention.seconds;
  info.retention_bytes = head.retention.bytes;
  info.revoked_keys = head.revoked;
  HEFT_ASSIGN_OR_RETURN(const KeptHead kept, ReadKeptHead(impl));
  HEFT_ASSIGN_OR_RETURN(info.owner_journal_entry, NewestEntry(kept));
  info.owner_journal_fork = DescribeFork(kept);
  HEFT_ASSIGN_OR_RETURN(info.freed, CountOf(impl, Table::kFree));
  HEFT_ASSIGN_OR_RETURN(const auto waiting, impl.PendingEnrolments());
  for (const auto& entry : waiting) info.pending += entry.record.identities.size();
  HEFT_RETURN_IF_ERROR(CountJournal(impl, &info));
  if (model != nullptr) {
    HEFT_ASSIGN_OR_RETURN(const Rings rings, RingsFor(impl, *model));
    info.noise_margin = LeastMargin(impl, ErrorCostsOf(rings.matching));
  }
  HEFT_ASSIGN_OR_RETURN(info.galleries, StoreNames(impl.reader()));
  HEFT_ASSIGN_OR_RETURN(const StoreStatistics statistics, impl.store()->Statistics());
  info.store_bytes = statistics.bytes;
  info.store_live_bytes = statistics.live_bytes;
  info.readers = statistics.readers - std::min<uint64_t>(statistics.readers, 1);  // this one
  return info;
}

absl::StatusOr<std::vector<std::string>> GalleryNames(const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(StoreOf(folder), StoreMode::kRead));
  HEFT_ASSIGN_OR_RETURN(const auto reader, ReadChecked(*store));
  return StoreNames(*reader);
}

absl::StatusOr<std::string> ErasureRemains(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(StoreOf(gallery), StoreMode::kRead));
  return store->Remains();
}

std::string StateFile(const std::string& gallery) { return StatePath(gallery); }

namespace {

ListedTemplate ListedAt(uint64_t position, const Resident& r) {
  const bool expired = r.expires != kNoTime && r.expires <= UnixTime();
  return {position,
          r.identity,
          HexString(r.person),
          r.generation,
          r.enrolled,
          r.expires,
          r.metadata,
          expired ? TemplateState::kExpired : TemplateState::kActive};
}

}  // namespace

absl::StatusOr<PersonInfo> DescribePerson(const std::string& gallery, const std::string& given) {
  HEFT_ASSIGN_OR_RETURN(const std::string identity, NormalIdentity(given));
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl impl, Gallery::Impl::Open(gallery));
  HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, impl.Find(identity));
  PersonInfo info;
  info.pending = named.pending;
  for (const uint64_t position : named.places) {
    HEFT_ASSIGN_OR_RETURN(const Resident resident, impl.At(position));
    if (resident.state == PlaceState::kLive) {
      info.templates.push_back(ListedAt(position, resident));
    }
  }
  return info;
}

absl::StatusOr<std::vector<PendingEnrolment>> PendingEnrolments(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl impl, Gallery::Impl::Open(gallery));
  HEFT_ASSIGN_OR_RETURN(auto entries, impl.PendingEnrolments());
  std::vector<PendingEnrolment> out;
  for (auto& [entry, record] : entries) {
    out.push_back({entry, record.client, record.bytes, std::move(record.identities)});
  }
  return out;
}

absl::StatusOr<std::optional<uint64_t>> ListTemplates(
    const std::string& gallery, const ListOptions& options,
    const std::function<absl::Status(const ListedTemplate&)>& use) {
  HEFT_RETURN_IF_ERROR(CheckConditions(options.where));
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl impl, Gallery::Impl::Open(gallery));
  uint64_t listed = 0;
  for (uint64_t first = options.from / kRunPlaces * kRunPlaces; first < impl.places();
       first += kRunPlaces) {
    HEFT_ASSIGN_OR_RETURN(const Run run, ReadRun(impl.reader(), impl.number(), first / kRunPlaces));
    for (uint64_t i = std::max(first, options.from); i < first + kRunPlaces; ++i) {
      const Resident& r = run[i - first];
      if (r.state != PlaceState::kLive || !Fits(r.metadata, options.where)) continue;
      if (options.count > 0 && listed == options.count) return std::optional<uint64_t>(i);
      ++listed;
      HEFT_RETURN_IF_ERROR(use(ListedAt(i, r)));
    }
  }
  if (!options.pending || !options.where.empty()) return std::optional<uint64_t>();
  HEFT_ASSIGN_OR_RETURN(const auto entries, impl.PendingEnrolments());
  for (const auto& [entry, record] : entries) {
    for (const std::string& identity : record.identities) {
      ListedTemplate pending;
      pending.identity = identity;
      pending.state = TemplateState::kPending;
      HEFT_RETURN_IF_ERROR(use(pending));
    }
  }
  return std::optional<uint64_t>();
}

namespace {

// Records the time and result of the last full check.
absl::Status Record(const Gallery::Impl& gallery, bool intact) {
  HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(gallery, /*start=*/false));
  change.head().verified = change.now();
  change.head().intact = intact;
  return change.Commit();
}

absl::StatusOr<VerifyResult> Examine(const Gallery::Impl& impl, const Model* model,
                                     const Monitor& monitor) {
  std::optional<Rings> rings;
  if (model != nullptr) {
    HEFT_ASSIGN_OR_RETURN(rings, RingsFor(impl, *model));
  }
  const Progress progress(monitor, "verifying blocks");
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl::Finding finding,
                        impl.Verify(rings ? &rings->matching : nullptr, progress.Callback()));
  VerifyResult result;
  result.damaged.assign(finding.damaged.begin(), finding.damaged.end());
  result.complaints = finding.complaints;
  result.generation = impl.generation();
  result.blocks = impl.blocks();
  const absl::Status pages = impl.store()->Check();
  if (absl::IsDataLoss(pages)) {
    result.complaints.emplace_back(pages.message());
  } else {
    HEFT_RETURN_IF_ERROR(pages);
  }
  result.intact = result.complaints.empty();
  return result;
}

}  // namespace

absl::StatusOr<VerifyResult> VerifyGallery(const std::string& gallery, const Model* model,
                                           const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl impl, Gallery::Impl::Open(gallery));
  HEFT_ASSIGN_OR_RETURN(VerifyResult result, Examine(impl, model, monitor));
  impl = impl.Unread();  // an erasing writer may hold the lock and wait for readers
  result.recorded = Record(impl, result.intact);
  return result;
}

namespace {

absl::Status RebuildStore(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(StoreOf(gallery), StoreMode::kWrite));
  HEFT_ASSIGN_OR_RETURN(const auto lock, store->Lock(WriterWait()));
  return store->Rebuild(*lock, WriterWait()).status();
}

// EraseStore: overwrites what the galleries of a store without galleries have left.
absl::Status EraseStore(const std::string& gallery) {
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(StoreOf(gallery), StoreMode::kWrite));
  HEFT_ASSIGN_OR_RETURN(const auto lock, store->Lock(WriterWait()));
  {
    HEFT_ASSIGN_OR_RETURN(const auto writer, WriteChecked(store.get(), *lock));
    HEFT_RETURN_IF_ERROR(DropUnlisted(*writer).status());
    HEFT_RETURN_IF_ERROR(writer->Commit());
  }
  HEFT_RETURN_IF_ERROR(DropOldState(gallery, UINT64_MAX));
  return store->Scrub(*lock, WriterWait());
}

absl::Status MendAndFold(const Server::Impl& server, const std::string& gallery,
                         CompactResult* result) {
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl impl, server.OpenGallery(gallery, /*create=*/false));
  HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                        GalleryChange::Begin(std::move(impl), /*start=*/false));
  HEFT_ASSIGN_OR_RETURN(result->records, change.MendRecords());
  HEFT_ASSIGN_OR_RETURN(result->mended, change.Mend(server.instance(), server.keys()));
  HEFT_RETURN_IF_ERROR(change.Fold(server.instance(), server.keys()));
  for (const auto& [block, why] : change.damaged()) result->damaged.push_back({block, why});
  return change.Commit();
}

}  // namespace

absl::StatusOr<CompactResult> CompactGallery(const Server& server, const std::string& gallery) {
  CompactResult result;
  HEFT_RETURN_IF_ERROR(RebuildStore(gallery));
  const absl::Status mended = MendAndFold(Inside::Of(server), gallery, &result);
  const bool empty = absl::IsNotFound(mended) &&
                     GalleryNames(gallery).value_or(std::vector<std::string>(1)).empty();
  if (empty) {
    result.overwritten = EraseStore(gallery);
    return result;
  }
  HEFT_RETURN_IF_ERROR(mended);
  auto receipts = EraseRemains(gallery);
  result.overwritten = receipts.status();
  if (receipts.ok()) result.receipts = std::move(*receipts);
  HEFT_ASSIGN_OR_RETURN(Gallery::Impl impl,
                        Inside::Of(server).OpenGallery(gallery, /*create=*/false));
  HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                        GalleryChange::Begin(std::move(impl), /*start=*/false));
  HEFT_RETURN_IF_ERROR(change.CheckRoster());
  result.blocks = change.infos().size();
  result.leaving = change.head().leaving;
  // The change is dropped: the plan is only read.
  HEFT_ASSIGN_OR_RETURN(const RenewalPlan plan,
                        PlanRenewal(&change, Inside::Of(server).instance(), /*compact=*/true));
  result.sparse = plan.sources.size();
  return result;
}

std::vector<std::string> DamagedRecords(const Gallery& gallery) {
  std::vector<std::string> out;
  for (const Damage& damage : Inside::Of(gallery).DamagedRecords()) {
    out.push_back(Describe(damage));
  }
  return out;
}

std::vector<DamagedBlock> DamagedBlocks(const Gallery& gallery) {
  std::vector<DamagedBlock> out;
  for (const auto& [block, why] : Inside::Of(gallery).Damaged()) out.push_back({block, why});
  return out;
}

}  // namespace heft
