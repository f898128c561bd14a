// SPDX-License-Identifier: Apache-2.0
#include "gallery/gallery_cache.h"

#include <utility>

namespace heft {

const std::string& Roster::Name(uint64_t position, uint64_t now) const {
  static const std::string nobody;
  const RunNames& run = *runs[position / kRunPlaces];
  const size_t place = position % kRunPlaces;
  const bool over =
      !run.expires.empty() && run.expires[place] != kNoTime && run.expires[place] <= now;
  return over ? nobody : run.names[place];
}

uint64_t RunNames::Answering(uint64_t now) const {
  uint64_t answering = named;
  for (size_t i = 0; i < expires.size(); ++i) {
    if (expires[i] != kNoTime && expires[i] <= now) answering &= ~(uint64_t{1} << i);
  }
  return answering;
}

bool GalleryCache::Checked(size_t block, const Digest& checkpoint) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = checked_.find(block);
  return it != checked_.end() && it->second == checkpoint;
}

void GalleryCache::SetChecked(size_t block, const Digest& checkpoint) {
  const std::lock_guard<std::mutex> lock(mutex_);
  checked_[block] = checkpoint;
}

std::shared_ptr<const TiledCiphertexts> GalleryCache::Sum(size_t block, const Digest& checkpoint,
                                                          const Digest& pending) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = sums_.find(block);
  if (it == sums_.end() || it->second.checkpoint != checkpoint || it->second.pending != pending) {
    return nullptr;
  }
  return it->second.sum;
}

void GalleryCache::SetSum(size_t block, const Digest& checkpoint, const Digest& pending,
                          std::shared_ptr<const TiledCiphertexts> sum) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sums_[block] = {checkpoint, pending, std::move(sum)};
}

std::shared_ptr<const BlockNames> GalleryCache::Names(size_t block, const Digest& roster,
                                                      size_t runs, bool* same) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = names_.find(block);
  *same =
      it != names_.end() && it->second.first == roster && it->second.second->runs.size() == runs;
  return it == names_.end() ? nullptr : it->second.second;
}

void GalleryCache::SetNames(size_t block, const Digest& roster,
                            std::shared_ptr<const BlockNames> names) {
  const std::lock_guard<std::mutex> lock(mutex_);
  names_[block] = {roster, std::move(names)};
}

std::shared_ptr<const Roster> GalleryCache::FindRoster(const Digest& root) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return roster_root_ == root ? roster_ : nullptr;
}

void GalleryCache::SetRoster(const Digest& root, std::shared_ptr<const Roster> roster) {
  const std::lock_guard<std::mutex> lock(mutex_);
  roster_root_ = root;
  roster_ = std::move(roster);
}

bool GalleryCache::Intact(const Digest& root) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return intact_ == root;
}

void GalleryCache::SetIntact(const Digest& root) {
  const std::lock_guard<std::mutex> lock(mutex_);
  intact_ = root;
}

void GalleryCache::SetDamaged(size_t block, BadBlock found) {
  const std::lock_guard<std::mutex> lock(mutex_);
  damaged_[block] = std::move(found);
}

void GalleryCache::ForgetDamaged(size_t block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  damaged_.erase(block);
}

std::map<size_t, GalleryCache::BadBlock> GalleryCache::Damaged() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return damaged_;
}

}  // namespace heft
