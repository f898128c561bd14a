// SPDX-License-Identifier: Apache-2.0
// Stand-ins: what answers for an identity that is not enrolled, so that a verification does not
// tell who is. An unknown identity gets the places of an enrolled one and a template of its own
// (fusion/stand_in.h), both by a hash under a key that the server keeps beside the gallery: the
// same at each request.
#ifndef HEFT_GALLERY_STAND_IN_H_
#define HEFT_GALLERY_STAND_IN_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/csprng.h"
#include "base/status.h"
#include "fusion/matching.h"
#include "gallery/gallery_impl.h"

namespace heft {

// StandInKey: of the gallery in `directory`, made at the first verification. kUnavailable where it
// cannot be written, kDataLoss where it is damaged.
absl::StatusOr<Seed> StandInKey(const std::string& directory);

// Claim: where the templates of a claimed identity are, or, for one that is `known` not to be
// enrolled, those of its stand-in.
struct Claim {
  bool known = false;
  // (block, lane) -> slots.
  std::map<std::pair<size_t, uint32_t>, std::vector<uint32_t>> places;
  TiledCiphertexts stand_in;  // to be matched in place of each block unless `known`
};

// FindClaim takes as long for an unknown identity as for a known one. `gallery` has a template at
// least. The position that an unknown one borrows moves with a probability of k / templates when k
// templates are added. Who has expired at `time` is not enrolled.
absl::StatusOr<Claim> FindClaim(const Instance& instance, const Gallery::Impl& gallery,
                                const Seed& key, const std::string& identity, uint64_t time);

}  // namespace heft

#endif  // HEFT_GALLERY_STAND_IN_H_
