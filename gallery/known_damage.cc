// SPDX-License-Identifier: Apache-2.0
// Gallery::Impl: the damage that a process has met. It is checked again whenever it is listed, so
// records that were repaired, restored or removed since are left out.
#include <algorithm>

#include "base/checksum.h"
#include "gallery/gallery_impl.h"

namespace heft {

bool Gallery::Impl::IsCheckpointDamaged(size_t block) const {
  const BlockInfo& info = infos_[block];
  if (reader_ == nullptr || info.checkpoint == Digest{}) return false;
  const auto bytes = reader_->Get(Table::kBlocks, BlockKey(number_, head_.epoch, block));
  if (!bytes.ok() || !*bytes) return true;
  const size_t size = (*bytes)->size();
  BlockView view;
  const auto header =
      ParseBlock(**bytes, (size - std::min(size, kBlockHeader)) / sizeof(uint32_t), "", &view);
  return !header.ok() || header->block != block || header->hash != info.checkpoint ||
         header->generation != info.generation ||
         FastChecksum({reinterpret_cast<const uint8_t*>(view.data()), view.size_bytes()}) !=
             header->checksum;
}

void Gallery::Impl::NoteDamaged(size_t block, std::string why) const {
  if (cache_ == nullptr) return;
  const BlockInfo& info = infos_[block];
  cache_->SetDamaged(
      block, {std::move(why), info.checkpoint, info.generation, IsCheckpointDamaged(block)});
}

std::map<size_t, std::string> Gallery::Impl::Damaged() const {
  std::map<size_t, std::string> out;
  for (const auto& [block, bad] : cache_->Damaged()) {
    const bool same = block < blocks() && infos_[block].checkpoint == bad.checkpoint &&
                      infos_[block].generation == bad.generation;
    if (same && (!bad.in_checkpoint || IsCheckpointDamaged(block))) {
      out.emplace(block, bad.why);
    } else {
      cache_->ForgetDamaged(block);
    }
  }
  return out;
}

std::vector<Damage> Gallery::Impl::DamagedRecords() const {
  if (reader_ == nullptr || cache_->records()->All().empty()) return cache_->records()->All();
  // Entries of the journal that are damaged in themselves, or missing; the log gets them, too.
  std::vector<uint64_t> lost;
  for (size_t block = 0; block < blocks(); ++block) {
    std::vector<LostEntry> of;
    if (infos_[block].pending == Digest{} || !IntactEntries(block, &of).ok()) continue;
    for (const LostEntry& entry : of) lost.push_back(entry.number);
  }
  std::vector<Damage> out;
  for (const Damage& damage : cache_->records()->All()) {
    const auto now = DamageAt(reader_->raw(), damage.table, damage.key);
    if (!now.ok()) {
      out.push_back(damage);
    } else if (*now) {
      out.push_back(**now);
    } else if (IsStillLost(damage, lost)) {
      out.push_back(damage);
    } else {
      cache_->records()->Forget(damage);
    }
  }
  return out;
}

bool Gallery::Impl::IsStillLost(const Damage& damage, std::span<const uint64_t> lost) const {
  if (damage.table == Table::kJournal) {
    return std::ranges::any_of(
        lost, [&](uint64_t number) { return NumberKey(number_, number) == damage.key; });
  }
  if (damage.table != Table::kPendingFile || !OfGallery(number_, damage.key)) return false;
  const auto pending = reader_->Get(Table::kPending, damage.key);
  if (!pending.ok() || !*pending) return false;
  Digest digest{};
  std::copy_n(damage.key.end() - digest.size(), digest.size(), digest.begin());
  return !PendingFile(digest).ok();
}

}  // namespace heft
