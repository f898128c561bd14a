// SPDX-License-Identifier: Apache-2.0
// Renewal: the messages of server and key owner that renew blocks of a gallery (fusion/renewal.h).
// It removes a template whose contribution is not kept, compacts sparse blocks, and takes noise out
// of free positions. The server asks (kind RNRQ) with padded blocks; the key owner answers (kind
// RNAN, signed) with encryptions. Formats: docs/formats.md.
#ifndef HEFT_GALLERY_RENEWAL_H_
#define HEFT_GALLERY_RENEWAL_H_

#include <array>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/seeded.h"
#include "fusion/plan.h"
#include "fusion/renewal.h"
#include "gallery/gallery_impl.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kRenewalRequestKind = "RNRQ";
inline constexpr std::string_view kRenewalKind = "RNAN";

// ExchangeId: 16 random bytes that match an answer with its request and pads.
using ExchangeId = std::array<uint8_t, 16>;

// kMaxRenewed: the most sources, and targets, of a request.
inline constexpr uint64_t kMaxRenewed = 256;

struct RenewalRequest {
  GalleryBinding binding;
  GalleryId gallery{};
  uint64_t generation = 0;
  ExchangeId exchange{};
  // The signed end of the key owner's journal that the server holds (gallery/journal_head.h);
  // empty: none.
  std::vector<uint8_t> head;
  std::vector<PaddedBlock> sources;
  // For each target the moves into it, in any order. No position of a source moves twice.
  std::vector<std::vector<Move>> targets;
};
// RenewalSourceBytes: the size of a source in a request: 2.7 MB at 32 dimensions (profile
// standard).
size_t RenewalSourceBytes(const Instance& matching);
// The moves of each target are written in the order of Move::to.
std::vector<uint8_t> SerializeRenewalRequest(const Instance& matching,
                                             const RenewalRequest& request);
// kFailedPrecondition for other parameters, kDataLoss.
absl::StatusOr<RenewalRequest> ParseRenewalRequest(const Instance& matching, ByteSpan bytes,
                                                   std::string_view what);

// Renewal: the key owner's answer for FinishBlock: targets in the order of the request, gamma
// encryptions each.
struct Renewal {
  GalleryBinding binding;
  GalleryId gallery{};
  uint64_t generation = 0;
  ExchangeId exchange{};
  std::vector<std::vector<ckks::SeededCiphertext>> targets;
};
std::vector<uint8_t> SerializeRenewal(const Instance& matching, const Renewal& renewal);
absl::StatusOr<Renewal> ParseRenewal(const Instance& matching, ByteSpan bytes,
                                     std::string_view what);

}  // namespace heft

#endif  // HEFT_GALLERY_RENEWAL_H_
