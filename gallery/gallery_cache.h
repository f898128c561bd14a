// SPDX-License-Identifier: Apache-2.0
// GalleryCache: results about a gallery that a process can reuse in the gallery's next state:
// intact checkpoints, sums of blocks with entries that are in no checkpoint, and the roster. Shared
// by all states; for any number of threads.
#ifndef HEFT_GALLERY_GALLERY_CACHE_H_
#define HEFT_GALLERY_GALLERY_CACHE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fusion/matching.h"
#include "gallery/checked_store.h"
#include "gallery/records.h"

namespace heft {

// RunNames: the part of a run that every identification needs.
struct RunNames {
  std::array<std::string, kRunPlaces> names;  // empty: no template answers
  std::vector<uint64_t> expires;              // one per place, or none if none expires
  // Answering: the places that answer at `now`, one bit each.
  uint64_t Answering(uint64_t now) const;
  uint64_t named = 0;  // one bit per place: whether it has a name
};
static_assert(kRunPlaces == 64);

// BlockNames: the filled runs of a block, and their digests.
struct BlockNames {
  std::vector<Digest> digests;
  std::vector<std::shared_ptr<const RunNames>> runs;
};

// Roster: the template at each position, in one state.
struct Roster {
  std::vector<std::shared_ptr<const RunNames>> runs;
  // The name at a position; empty if its template does not answer at `now`.
  const std::string& Name(uint64_t position, uint64_t now) const;
};

class GalleryCache {
 public:
  // Whether the checkpoint of this hash was found intact.
  bool Checked(size_t block, const Digest& checkpoint) const;
  void SetChecked(size_t block, const Digest& checkpoint);

  // The sum of a block whose checkpoint and pending entries have these digests. Nothing if the
  // cache has another sum or none.
  std::shared_ptr<const TiledCiphertexts> Sum(size_t block, const Digest& checkpoint,
                                              const Digest& pending) const;
  void SetSum(size_t block, const Digest& checkpoint, const Digest& pending,
              std::shared_ptr<const TiledCiphertexts> sum);

  // Names: the latest known names of a block. `same`: whether they belong to this digest and number
  // of runs.
  std::shared_ptr<const BlockNames> Names(size_t block, const Digest& roster, size_t runs,
                                          bool* same) const;
  void SetNames(size_t block, const Digest& roster, std::shared_ptr<const BlockNames> names);
  // The roster of a state, by its root: a replaced store may have a different state of equal
  // generation.
  std::shared_ptr<const Roster> FindRoster(const Digest& root) const;
  void SetRoster(const Digest& root, std::shared_ptr<const Roster> roster);

  // BadBlock: a block that was found damaged, with its checkpoint then. `in_checkpoint`: whether the
  // checkpoint itself is damaged.
  struct BadBlock {
    std::string why;
    Digest checkpoint{};
    uint64_t generation = 0;
    bool in_checkpoint = false;
  };
  void SetDamaged(size_t block, BadBlock found);
  void ForgetDamaged(size_t block);
  std::map<size_t, BadBlock> Damaged() const;
  // The same of other records (gallery/checked_store.h).
  const std::shared_ptr<DamageLog>& records() const { return records_; }

  // Whether all of the state of this root was found intact, each block against its primes too.
  bool Intact(const Digest& root) const;
  void SetIntact(const Digest& root);

 private:
  struct Held {
    Digest checkpoint{}, pending{};
    std::shared_ptr<const TiledCiphertexts> sum;
  };
  mutable std::mutex mutex_;
  std::map<size_t, Digest> checked_;
  std::map<size_t, Held> sums_;
  std::map<size_t, std::pair<Digest, std::shared_ptr<const BlockNames>>> names_;
  Digest roster_root_{};
  std::shared_ptr<const Roster> roster_;
  std::optional<Digest> intact_;
  std::map<size_t, BadBlock> damaged_;
  const std::shared_ptr<DamageLog> records_ = std::make_shared<DamageLog>();
};

}  // namespace heft

#endif  // HEFT_GALLERY_GALLERY_CACHE_H_
