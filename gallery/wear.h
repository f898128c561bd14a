// SPDX-License-Identifier: Apache-2.0
// Wear: what the changes to a block have added to the error of scores with its templates, and how
// long it may take more.
//
// An addition rounds in all positions of a block, an exchange encrypts all of them, re-keying
// switches all of them: each adds its variance to every score of the block, whoever stands where,
// also where nobody stands yet. So a block has a wear, the sum of what happened to it; a position
// has the wear that the block had when it was last clean: when the block was new, or before the
// exchange that left it out. **That is not the wear at which somebody came to stand there.** A
// template's exposure is the block's wear less that of its position. Taking a contribution back
// exactly takes its variance out of the wear; the position stays as it was. A template that moves
// keeps its exposure (MovedClean).
//
// The predicted error of a score (fusion/errors.h) is that of an exposure of WearCosts::bound, a
// full block of single additions that was renewed as often: while no exposure is larger,
// predictions are true. Exchanges cannot be refused, so additions end at half of it. That is
// enough: where each removal is an exchange of its own, the longest lives of a million changes see
// a half.
//
// An exchange costs a twentieth of an addition of one template, a call of AddToBlock with 64 little
// more than with one. Errors are smallest, and no space is lost, if additions go to one open block,
// and exchanges that happen anyway carry its templates to positions that others have left: then
// nobody is exposed to more than kSettleAfter additions, and the open block is as new again.
#ifndef HEFT_GALLERY_WEAR_H_
#define HEFT_GALLERY_WEAR_H_

#include <cstdint>

#include "fusion/plan.h"

namespace heft {

// WearCosts: variances of one lane of a score, for unit vectors.
struct WearCosts {
  double addition = 0;  // of a call of AddToBlock with one template (of more: AdditionVariance)
  double batch = 0;     // of any number by a call of AddBatchToBlock
  double exchange = 0;  // of a renewal, with any moves
  double rekeying = 0;
  double bound = 0;    // the most that a template may be exposed to
  double reserve = 0;  // of that, what is left for exchanges: half, additions end before
};
WearCosts WearCostsOf(const Instance& matching);

// kSettleAfter: additions to an open block after which its templates should move on.
inline constexpr uint32_t kSettleAfter = 512;

// BlockWear: of a block. least_clean: of the positions of its templates; `wear` where there are
// none.
struct BlockWear {
  double wear = 0;
  double least_clean = 0;
};

// MayAdd: whether a change of this cost may add to a block, at positions that were clean at `clean`
// or later. Exchanges and re-keying are never refused: somebody has to be erased, whatever it
// costs.
bool MayAdd(const WearCosts& costs, const BlockWear& block, double clean, double cost);

// MovedClean: of the position that a template moves to, so that it keeps its exposure and adds that
// of the exchange. `target`: the target's wear after the exchange; a block that is made of others
// alone starts with a wear of 0 and has that of one exchange then.
double MovedClean(const WearCosts& costs, double source_wear, double source_clean, double target);

// Margin: of the bound, what is left to the template of a block that is exposed most: 1 for a new
// block, 0 at the bound, less beyond it: then templates should be enrolled anew.
double Margin(const WearCosts& costs, const BlockWear& block);

}  // namespace heft

#endif  // HEFT_GALLERY_WEAR_H_
