// SPDX-License-Identifier: Apache-2.0
// Added error: the error that changes to a block have added to the scores of its templates, and how many
// more changes the block may take.
//
// An addition rounds in all positions of a block, an exchange encrypts all of them, and rekeying
// switches all of them. Each adds its variance to every score of the block, also at free positions.
// So a block has an added error, the sum over its changes. A position has that of its block when
// the position was last clean: when the block was new, or before the exchange that removed its
// template. **That is not the added error at which its present template arrived.** A template's exposure
// is the block's added error less that of its position. Taking a contribution back exactly subtracts its
// variance from the sum; the position keeps its value. A template that moves keeps its exposure
// (MovedClean).
//
// The predicted error of a score (fusion/errors.h) includes an exposure of ErrorCosts::bound: a full
// block of single additions with as many renewals. Predictions hold while no exposure is larger.
// Exchanges cannot be refused, so additions end at half of the bound. That is enough: with an
// exchange per removal, the largest exposure in a million changes is half of the bound.
//
// An exchange costs a twentieth of an addition of one template. A call of AddToBlock with 64 costs
// little more than with one. Errors are smallest, and no space is lost, if additions go to one open
// block and exchanges that happen anyway move its templates to freed positions. Then no template is
// exposed to more additions than the open block takes, and the open block is as new again.
#ifndef HEFT_GALLERY_ADDED_ERROR_H_
#define HEFT_GALLERY_ADDED_ERROR_H_

#include <cstdint>

#include "fusion/plan.h"

namespace heft {

// ErrorCosts: variances of one lane of a score, for unit vectors.
struct ErrorCosts {
  double addition = 0;  // of a call of AddToBlock with one template (of more: AdditionVariance)
  double batch = 0;     // of any number by a call of AddBatchToBlock
  double exchange = 0;  // of a renewal, with any moves
  double rekeying = 0;
  double bound = 0;    // the largest exposure
  double reserve = 0;  // the part of it kept for exchanges: half; additions end before
};
ErrorCosts ErrorCostsOf(const Instance& matching);

// BlockError: of a block. least_clean: the least of its templates' positions; `added` if it has no
// templates.
struct BlockError {
  double added = 0;
  double least_clean = 0;
};

// MayAdd: whether a change of this cost may add to a block, at positions that were clean at `clean`
// or later. Exchanges and rekeying are never refused, since erasure must always be possible.
bool MayAdd(const ErrorCosts& costs, const BlockError& block, double clean, double cost);

// MovedClean: the value for the position that a template moves to, so that it keeps its exposure
// and adds that of the exchange. `target`: the target's added error after the exchange. A block made only
// of moved templates starts at 0, so it has that of one exchange then.
double MovedClean(const ErrorCosts& costs, double source_added, double source_clean, double target);

// Margin: the share of the bound that is left to the most exposed template of a block: 1 for a new
// block, 0 at the bound, negative beyond it. Then templates should be enrolled again.
double Margin(const ErrorCosts& costs, const BlockError& block);

}  // namespace heft

#endif  // HEFT_GALLERY_ADDED_ERROR_H_
