// SPDX-License-Identifier: Apache-2.0
// Gallery::Impl: blocks, checked, with entries that are only in the journal.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "base/status.h"
#include "base/threads.h"
#include "ckks/serialization.h"
#include "gallery/gallery_impl.h"

namespace heft {
namespace {

ByteSpan BytesOf(BlockView data) {
  return {reinterpret_cast<const uint8_t*>(data.data()), data.size_bytes()};
}

}  // namespace

absl::StatusOr<ckks::Ciphertext> FusedOf(const Instance& instance, const JournalEntry& entry) {
  if (Digest(HashBytes(entry.fused)) != entry.contribution) {
    return absl::DataLossError("an entry of the gallery's journal is damaged");
  }
  ByteReader reader(entry.fused, "an entry of the gallery's journal");
  ckks::Ciphertext z = ckks::ReadCiphertext(reader, *instance.context);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return z;
}

absl::StatusOr<BlockView> Gallery::Impl::Checkpoint(const Instance& instance, size_t block) const {
  if (block >= blocks()) {
    return absl::InvalidArgumentError(absl::StrCat("the gallery has no block ", block));
  }
  const std::string what = absl::StrCat(What(), ", block ", block);
  const BlockInfo& info = infos_[block];
  if (info.checkpoint == Digest{}) return BlockView{};
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader_->Get(Table::kBlocks, BlockKey(number_, head_.epoch, block)));
  if (!bytes) return absl::DataLossError(absl::StrCat(what, ": it is missing"));
  BlockView view;
  const size_t words = TiledSize(*instance.context, binding().gamma);
  HEFT_ASSIGN_OR_RETURN(const BlockHeader header, ParseBlock(*bytes, words, what, &view));
  if (header.block != block || header.hash != info.checkpoint ||
      header.generation != info.generation) {
    return absl::DataLossError(absl::StrCat(what,
                                            ": is not the block that the gallery expects: it was "
                                            "exchanged, or is from an earlier state"));
  }
  if (cache_->Checked(block, info.checkpoint)) return view;
  if (FastChecksum(BytesOf(view)) != header.checksum) {
    return absl::DataLossError(absl::StrCat(what,
                                            ": damaged: its checksum is wrong. Restore it from a "
                                            "snapshot (`heft-server gallery restore`)"));
  }
  HEFT_RETURN_IF_ERROR(CheckResidueRange(*instance.context, view, what));
  cache_->SetChecked(block, info.checkpoint);
  return view;
}

absl::StatusOr<PinnedBlock> Gallery::Impl::Block(const Instance& instance, size_t block,
                                                 const ckks::EvaluationKeys& keys) const {
  HEFT_ASSIGN_OR_RETURN(const BlockView checkpoint, OfStore(Checkpoint(instance, block)));
  const BlockInfo& info = infos_[block];
  if (info.pending == Digest{} && !checkpoint.empty()) return PinnedBlock{checkpoint, nullptr};
  if (auto sum = cache_->Sum(block, info.checkpoint, info.pending)) {
    return PinnedBlock{*sum, sum};
  }
  auto sum = std::make_shared<TiledCiphertexts>(
      checkpoint.empty() ? EmptyBlock(*instance.context, binding().gamma)
                         : TiledCiphertexts(checkpoint.begin(), checkpoint.end()));
  std::vector<const JournalEntry*> entries;
  Digest chain{};
  bool damaged = false;
  for (const Pending& p : pending_) {
    if (p.entry.position / head_.block_places != block) continue;
    entries.push_back(&p.entry);
    chain = Chained(chain, p.entry.position, p.entry.contribution);
    damaged = damaged || Digest(HashBytes(p.entry.fused)) != p.entry.contribution;
  }
  std::vector<uint64_t> lost;
  if (damaged || chain != info.pending) {
    std::vector<LostEntry> of;
    HEFT_ASSIGN_OR_RETURN(entries, IntactEntries(block, &of));
    for (const LostEntry& entry : of) lost.push_back(entry.position);
  }
  HEFT_RETURN_IF_ERROR(OfStore(AddEntries(instance, head_.block_places, entries, keys, sum.get())));
  if (lost.empty()) cache_->SetSum(block, info.checkpoint, info.pending, sum);
  return PinnedBlock{*sum, sum, std::move(lost)};
}

bool IsEntryOf(const Resident& resident, uint64_t position, const JournalEntry& entry) {
  return entry.position == position && entry.contribution == resident.contribution &&
         Digest(HashBytes(entry.fused)) == entry.contribution;
}

absl::StatusOr<std::vector<const JournalEntry*>> Gallery::Impl::IntactEntries(
    size_t block, std::vector<LostEntry>* lost) const {
  std::map<uint64_t, const JournalEntry*> there;
  for (const Pending& p : pending_) there[p.number] = &p.entry;
  std::map<uint64_t, const JournalEntry*> intact;
  const uint64_t first = block * uint64_t{head_.block_places};
  const uint64_t end = std::min(first + head_.block_places, head_.places);
  for (uint64_t run = first / kRunPlaces; run * kRunPlaces < end; ++run) {
    HEFT_ASSIGN_OR_RETURN(const Run residents, ReadRun(*reader_, number_, run));
    for (size_t i = 0; i < kRunPlaces; ++i) {
      const Resident& r = residents[i];
      if (r.state != PlaceState::kLive || r.entry <= head_.folded) continue;
      const uint64_t position = run * kRunPlaces + i;
      const auto entry = there.find(r.entry);
      if (entry != there.end() && IsEntryOf(r, position, *entry->second)) {
        intact[r.entry] = entry->second;
        continue;
      }
      lost->push_back({r.entry, position, r.identity, r.contribution});
      const StoreKey key = NumberKey(number_, r.entry);
      cache_->records()->Note({Table::kJournal, key, false});
    }
  }
  std::ranges::sort(*lost, {}, &LostEntry::number);
  std::vector<const JournalEntry*> out;
  for (const auto& [number, entry] : intact) out.push_back(entry);
  return out;
}

absl::StatusOr<TiledCiphertexts> Gallery::Impl::ReadBlock(const Instance& instance,
                                                          size_t block) const {
  HEFT_ASSIGN_OR_RETURN(const BlockView view, Checkpoint(instance, block));
  if (infos_[block].pending != Digest{}) {
    return absl::FailedPreconditionError(
        absl::StrCat(What(), ", block ", block,
                     ": some enrolments are only in its journal: fold them first (`heft-server "
                     "gallery compact`)"));
  }
  if (view.empty()) return EmptyBlock(*instance.context, binding().gamma);
  return TiledCiphertexts(view.begin(), view.end());
}

absl::StatusOr<std::optional<Restriction>> Gallery::Impl::Intact(
    const Instance& instance, const ckks::EvaluationKeys& keys, uint64_t time,
    std::span<const Condition> where) const {
  HEFT_ASSIGN_OR_RETURN(auto restriction, Restricted(time, where));
  std::vector<absl::Status> found(blocks());
  std::vector<char> looked(blocks(), 0);
  std::vector<std::vector<uint64_t>> lost(blocks());
  const auto find = [&](size_t block) {
    const uint64_t first = block * uint64_t{head_.block_places};
    const uint64_t end = first + head_.block_places;
    if (restriction && !restriction->answering.ContainsAny(first, end)) return;
    auto pinned = Block(instance, block, keys);
    looked[block] = 1;
    found[block] = pinned.status();
    if (pinned.ok()) lost[block] = std::move(pinned->lost);
  };
  // Few blocks have such entries; all threads add them up, one block after another.
  for (size_t block = 0; block < blocks(); ++block) {
    if (infos_[block].pending != Digest{}) find(block);
  }
  ParallelFor(blocks(), [&](size_t block) {
    if (infos_[block].pending == Digest{}) find(block);
  });
  for (const auto& [block, bad] : cache_->Damaged()) {
    if (block >= blocks() || (looked[block] && found[block].ok())) cache_->ForgetDamaged(block);
  }
  size_t damaged = 0;
  for (size_t block = 0; block < blocks(); ++block) {
    if (found[block].ok() && lost[block].empty()) continue;
    if (!restriction) {
      restriction.emplace(Restriction{PlaceSet::All(places()), time, {where.begin(), where.end()}});
    }
    for (const uint64_t position : lost[block]) restriction->answering.Remove(position);
    if (found[block].ok()) continue;
    if (!absl::IsDataLoss(found[block])) return found[block];
    if (++damaged == blocks()) return found[block];
    NoteDamaged(block, std::string(found[block].message()));
    const uint64_t first = block * uint64_t{head_.block_places};
    for (uint64_t i = first; i < std::min(first + head_.block_places, head_.places); ++i) {
      restriction->answering.Remove(i);
    }
  }
  return restriction;
}

absl::Status AddEntries(const Instance& instance, uint32_t block_places,
                        std::span<const JournalEntry* const> entries,
                        const ckks::EvaluationKeys& keys, TiledCiphertexts* block, bool taken) {
  for (size_t first = 0; first < entries.size(); first += kTemplatesACall) {
    const auto call = entries.subspan(first, std::min(kTemplatesACall, entries.size() - first));
    std::vector<ckks::Ciphertext> fused(call.size());
    HEFT_RETURN_IF_ERROR(TryParallelFor(call.size(), [&](size_t i) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(fused[i], FusedOf(instance, *call[i]));
      return absl::OkStatus();
    }));
    std::vector<NewTemplate> added;
    for (size_t i = 0; i < call.size(); ++i) {
      const auto index = static_cast<uint32_t>(call[i]->position % block_places);
      added.push_back({&fused[i], PositionOf(index, block_places / 2)});
    }
    HEFT_RETURN_IF_ERROR(taken ? TakeFromBlock(instance, block, added, keys)
                               : AddToBlock(instance, block, added, keys));
  }
  return absl::OkStatus();
}

}  // namespace heft
