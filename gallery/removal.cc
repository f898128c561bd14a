// SPDX-License-Identifier: Apache-2.0
#include "gallery/removal.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/errors.h"
#include "gallery/admission.h"
#include "gallery/kept_receipts.h"
#include "gallery/receipt.h"
#include "gallery/remembered.h"

namespace heft {
namespace {

// The entries that one call added: they are of one fold and one block. Not `found` if one of them
// is damaged: the others cannot be taken back exactly, either.
struct Call {
  std::vector<uint64_t> entries;
  bool found = false;
};

// The entries of a fold, of this block. Nothing if the journal has lost one that may be of the
// block, unless the roster says whose it is: that one is in `lost`.
absl::StatusOr<std::optional<std::vector<uint64_t>>> EntriesOf(GalleryChange* change,
                                                               uint64_t first, uint64_t last,
                                                               size_t block,
                                                               std::set<uint64_t>* lost) {
  std::vector<uint64_t> of_block;
  std::set<uint64_t> missing;
  for (uint64_t number = first; number <= last; ++number) missing.insert(number);
  HEFT_RETURN_IF_ERROR(change->writer().Scan(
      Table::kJournal, NumberKey(change->number(), first), [&](ByteSpan key, ByteSpan value) {
        const uint64_t number = NumberOf(key);
        if (!OfGallery(change->number(), key) || number > last) return false;
        const auto parsed = ParseEntry(value, "the gallery's journal");
        if (!parsed.ok()) return true;
        missing.erase(number);
        if (parsed->position / change->head().block_places != block) return true;
        of_block.push_back(number);
        if (parsed->fused.empty() && parsed->contribution == kLeftContribution) {
          lost->insert(number);
        }
        return true;
      }));
  if (missing.empty()) return std::optional(std::move(of_block));
  const uint64_t places = change->head().places;
  for (uint64_t run = 0; run * kRunPlaces < places && !missing.empty(); ++run) {
    HEFT_ASSIGN_OR_RETURN(const Run residents, change->PeekRun(run));
    for (const Resident& at : residents) {
      if (at.state != PlaceState::kLive || missing.erase(at.entry) == 0) continue;
      if (run * kRunPlaces / change->head().block_places != block) continue;
      of_block.push_back(at.entry);
      lost->insert(at.entry);
    }
  }
  if (!missing.empty()) return std::optional<std::vector<uint64_t>>();
  std::ranges::sort(of_block);
  return std::optional(std::move(of_block));
}

absl::StatusOr<Call> FindCall(GalleryChange* change, uint64_t entry, size_t block) {
  std::optional<std::pair<uint64_t, FoldRecord>> fold;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(change->writer().Scan(
      Table::kFolds, NumberKey(change->number(), entry), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(change->number(), key)) return false;
        const auto parsed = ParseFold(value, "the gallery's folds");
        status = parsed.status();
        if (status.ok()) fold.emplace(NumberOf(key), *parsed);
        return false;
      }));
  HEFT_RETURN_IF_ERROR(status);
  Call call;
  if (!fold || fold->second.first > entry) return call;
  std::set<uint64_t> lost;
  HEFT_ASSIGN_OR_RETURN(const auto of_block,
                        EntriesOf(change, fold->second.first, fold->first, block, &lost));
  if (!of_block) return call;
  const auto at = std::ranges::find(*of_block, entry);
  if (at == of_block->end()) return call;
  const size_t first = (at - of_block->begin()) / kTemplatesACall * kTemplatesACall;
  const size_t end = std::min(first + kTemplatesACall, of_block->size());
  call.entries.assign(of_block->begin() + static_cast<std::ptrdiff_t>(first),
                      of_block->begin() + static_cast<std::ptrdiff_t>(end));
  call.found = std::ranges::none_of(call.entries, [&](uint64_t e) { return lost.contains(e); });
  return call;
}

// Entry to position.
using PlacedEntries = std::map<uint64_t, uint64_t>;

// Takes back the calls that added these entries of a block, each call once. Returns the positions
// of the entries that could be taken back.
absl::StatusOr<std::set<uint64_t>> TakeBack(GalleryChange* change, const Instance& instance,
                                            const ckks::EvaluationKeys& keys, size_t block,
                                            const PlacedEntries& entries, TiledCiphertexts* data) {
  std::set<uint64_t> taken;
  const auto variance = [&](size_t templates) {
    return templates == 0 ? 0 : AdditionVariance(instance.params(), instance.plan, templates);
  };
  for (auto it = entries.begin(); it != entries.end();) {
    HEFT_ASSIGN_OR_RETURN(const Call call, FindCall(change, it->first, block));
    if (!call.found) {
      ++it;
      continue;
    }
    HEFT_ASSIGN_OR_RETURN(const size_t before, change->CountEntries(call.entries));
    // A call is taken back as a whole or, if an entry is not the one that was added, not at all.
    const absl::Status back =
        change->AddNumbered(instance, call.entries, keys, data, /*taken=*/true);
    if (absl::IsDataLoss(back)) {
      ++it;
      continue;
    }
    HEFT_RETURN_IF_ERROR(back);
    // An empty entry keeps its number, so that calls keep their limits.
    for (; it != entries.end() && it->first <= call.entries.back(); ++it) {
      HEFT_RETURN_IF_ERROR(change->EmptyEntry(it->first, it->second));
      taken.insert(it->second);
    }
    HEFT_ASSIGN_OR_RETURN(const size_t left, change->CountEntries(call.entries));
    if (left > 0) {
      HEFT_RETURN_IF_ERROR(change->AddNumbered(instance, call.entries, keys, data));
    }
    BlockInfo info = change->infos()[block];
    info.error.added = std::max(0.0, info.error.added - variance(before) + variance(left));
    change->SetInfo(block, info);
  }
  return taken;
}

// Erases what the server can erase alone of the templates at these positions of a block. Returns
// the positions of the erased ones.
absl::StatusOr<std::set<uint64_t>> EraseInBlock(GalleryChange* change, const Instance& instance,
                                                const ckks::EvaluationKeys& keys, size_t block,
                                                std::span<const uint64_t> positions) {
  std::set<uint64_t> erased;
  PlacedEntries entries;
  bool rechain = false;
  for (const uint64_t position : positions) {
    HEFT_ASSIGN_OR_RETURN(const Resident* at, change->Place(position));
    if (at->entry > change->head().folded) {  // of a damaged block, in no checkpoint
      HEFT_RETURN_IF_ERROR(change->VoidEntry(at->entry));
      erased.insert(position);
      rechain = true;
    } else if (at->entry > change->head().retired) {
      entries[at->entry] = position;
    }
  }
  if (!entries.empty()) {
    auto data = change->ReadOrRemake(instance, block, keys);
    if (data.ok()) {
      HEFT_ASSIGN_OR_RETURN(const std::set<uint64_t> taken,
                            TakeBack(change, instance, keys, block, entries, &*data));
      erased.insert(taken.begin(), taken.end());
      HEFT_RETURN_IF_ERROR(change->WriteCheckpoint(block, *data));
    } else if (!absl::IsDataLoss(data.status())) {
      return data.status();
    }
  }
  for (const auto& [entry, position] : entries) {
    if (!erased.contains(position)) HEFT_RETURN_IF_ERROR(change->LeaveEntry(entry, position));
  }
  for (const uint64_t position : positions) {
    HEFT_RETURN_IF_ERROR(change->Vacate(
        position, erased.contains(position) ? PlaceState::kFree : PlaceState::kLeaving));
  }
  if (rechain) HEFT_RETURN_IF_ERROR(change->Rechain(block));
  return erased;
}

// Drops a block in which no template stays, with the leaving ones.
absl::Status DropBlock(GalleryChange* change, size_t block, std::vector<ErasedItem>* items) {
  const uint64_t per_block = change->head().block_places;
  for (uint64_t i = 0; i < per_block; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Resident* r, change->Place(block * per_block + i));
    if (r->state == PlaceState::kLeaving) AddErased(items, r->person, r->left, r->name);
  }
  return change->ClearBlock(block);
}

}  // namespace

absl::StatusOr<RemovedPlaces> RemovePlaces(GalleryChange* change, const Instance& instance,
                                           const ckks::EvaluationKeys& keys,
                                           std::span<const uint64_t> positions) {
  HEFT_RETURN_IF_ERROR(change->Fold(instance, keys));
  std::map<size_t, std::vector<uint64_t>> by_block;
  for (const uint64_t position : positions) {
    by_block[position / change->head().block_places].push_back(position);
  }
  RemovedPlaces out;
  for (const auto& [block, places] : by_block) {
    HEFT_RETURN_IF_ERROR(change->EndExchanges(block));
    std::map<uint64_t, ErasedItem> of;
    for (const uint64_t position : places) {
      HEFT_ASSIGN_OR_RETURN(const Resident* at, change->Place(position));
      of[position] = {at->person, 1, change->now(), HashName(change->head().id, at->identity)};
    }
    HEFT_ASSIGN_OR_RETURN(const std::set<uint64_t> erased,
                          EraseInBlock(change, instance, keys, block, places));
    for (const uint64_t position : erased) {
      const ErasedItem& item = of[position];
      AddErased(&out.items, item.person, item.removed, item.name);
    }
    size_t left = places.size() - erased.size();
    if (change->infos()[block].live == 0 && change->infos()[block].leaving > 0) {
      HEFT_RETURN_IF_ERROR(DropBlock(change, block, &out.items));
      left = 0;
    } else if (!erased.empty()) {  // otherwise all still are in it, leaving
      HEFT_RETURN_IF_ERROR(change->RecountClean(block));
    }
    out.erased += places.size() - left;
    out.leaving += left;
  }
  return out;
}

namespace {

// People with a template still present, matched or leaving: no receipt may say that they are gone.
// The index of names may lack some.
absl::StatusOr<std::set<PersonId>> Staying(GalleryChange* change,
                                           std::span<const ErasedItem> items) {
  std::set<PersonId> staying;
  TemplateMarks marks;
  for (const ErasedItem& item : items) {
    marks.persons.insert(item.person);
    marks.names.insert(item.name);
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint64_t> runs, marks.names.contains(HashedName{})
                                                              ? change->AllRuns()
                                                              : change->RunsOf(marks));
  for (const uint64_t number : runs) {
    HEFT_ASSIGN_OR_RETURN(const Run run, change->PeekRun(number));
    for (const Resident& r : run) {
      if (r.state != PlaceState::kFree && marks.persons.contains(r.person))
        staying.insert(r.person);
    }
  }
  return staying;
}

}  // namespace

absl::Status PutReceipt(GalleryChange* change, std::span<const ErasedItem> items) {
  if (items.empty()) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const std::set<PersonId> staying, Staying(change, items));
  ReceiptRecord record;
  record.generation = change->head().generation + 1;
  record.removed = change->now();
  for (const ErasedItem& item : items) {
    if (staying.contains(item.person)) continue;
    record.items.push_back(item);
    if (item.removed == record.removed) record.items.back().removed = 0;
  }
  if (record.items.empty()) return absl::OkStatus();
  return change->writer().Put(Table::kReceipts, DueReceiptKey(change->number(), record.generation),
                              SerializeReceipt(record));
}

absl::StatusOr<std::vector<ReceiptRecord>> DueReceipts(const GalleryChange& change) {
  std::vector<ReceiptRecord> due;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(change.writer().Scan(
      Table::kReceipts, DueReceiptKey(change.number(), 0), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(change.number(), key)) return false;
        auto record = ParseReceipt(value, "the gallery's receipts");
        status = record.status();
        if (status.ok()) due.push_back(std::move(*record));
        return status.ok();
      }));
  HEFT_RETURN_IF_ERROR(status);
  return due;
}

absl::StatusOr<std::vector<std::vector<uint8_t>>> FinishReceipts(GalleryChange* change,
                                                                 const SigningKey& server,
                                                                 absl::Duration wait) {
  HEFT_RETURN_IF_ERROR(change->EraseRemains(wait));
  const Address& address = change->before().address();
  HEFT_RETURN_IF_ERROR(
      DropOldState(absl::StrCat(address.at(), ":", address.name), change->head().generation));
  HEFT_ASSIGN_OR_RETURN(std::vector<ReceiptRecord> due, DueReceipts(*change));
  // A damaged table can hide rows, and so data of them.
  if (!due.empty()) HEFT_RETURN_IF_ERROR(change->before().store()->Check());
  std::vector<std::vector<uint8_t>> receipts;
  // If remembering fails, an older copy may pass for the newest. The erasure is still true, so it
  // is still signed.
  if (!due.empty()) RememberGeneration(change->head().id, change->head().generation).IgnoreError();
  for (ReceiptRecord& record : due) {
    record.erased = UnixTime();
    HEFT_ASSIGN_OR_RETURN(record.receipt, SignReceipt(server, change->head().id, record));
  }
  // Stored before anyone can have them. If storing fails, they stay due.
  HEFT_RETURN_IF_ERROR(KeepReceipts(change->before(), due));
  for (const ReceiptRecord& record : due) {
    receipts.push_back(record.receipt);
    HEFT_RETURN_IF_ERROR(change->writer().Delete(
        Table::kReceipts, DueReceiptKey(change->number(), record.generation)));
    HEFT_RETURN_IF_ERROR(change->writer().Put(Table::kReceipts,
                                              NumberKey(change->number(), record.generation),
                                              SerializeReceipt(record)));
  }
  if (!due.empty()) HEFT_RETURN_IF_ERROR(change->Commit());
  return receipts;
}

}  // namespace heft
