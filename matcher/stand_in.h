// SPDX-License-Identifier: Apache-2.0
// Stand-ins: templates that answer for identities that are not enrolled, so that a verification
// does not reveal who is. An unknown identity gets the places of an enrolled one and a template of
// its own (fusion/stand_in.h). Both follow from a hash under a key that the server keeps beside the
// gallery, so they are the same at each request.
#ifndef HEFT_MATCHER_STAND_IN_H_
#define HEFT_MATCHER_STAND_IN_H_

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

// StandInKey: of the gallery in `directory`, created at the first verification. kUnavailable if it
// cannot be written, kDataLoss if it is damaged.
absl::StatusOr<Seed> StandInKey(const std::string& directory);

// Claim: the places of a claimed identity's templates or, if it is not `known`, those of its
// stand-in.
struct Claim {
  bool known = false;
  // (block, lane) -> slots.
  std::map<std::pair<size_t, uint32_t>, std::vector<uint32_t>> places;
  TiledCiphertexts stand_in;  // matched instead of each block unless `known`
};

// FindClaim reads as many records for an unknown identity as for a known one with one template.
// `gallery` must have a template. An unknown identity's borrowed position moves with probability
// k / templates when k templates are added. A template that has expired at `time` is not enrolled.
// kDataLoss if a known identity's own record is damaged, or one that an unknown identity borrows.
absl::StatusOr<Claim> FindClaim(const Instance& instance, const Gallery::Impl& gallery,
                                const Seed& key, const std::string& identity, uint64_t time);

}  // namespace heft

#endif  // HEFT_MATCHER_STAND_IN_H_
