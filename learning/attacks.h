// SPDX-License-Identifier: Apache-2.0
// Attacks on a model by an attacker who has it and its training people, measured on people who took
// no part: templates recovered from scores and decisions (evaluation/recovery.h), and wolves
// (evaluation/wolves.h).
#ifndef HEFT_LEARNING_ATTACKS_H_
#define HEFT_LEARNING_ATTACKS_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/recovery.h"
#include "evaluation/wolves.h"
#include "heft/decisions.h"
#include "heft/files.h"
#include "learning/cross_fit.h"
#include "learning/decision_tables.h"

namespace heft {

// AttackedFolds: of each fold of a cross-fit the templates of the people that its model has not
// seen, each person in one fold, and as known people those that trained it.
absl::StatusOr<std::vector<AttackedFold>> AttackedFolds(const CrossFit& fit);

// AttacksOn: whole probes under a table for them. Members of the result, for a model's summary:
// "recovery" (heft/recovery.h) and "wolves". Empty where the table has no threshold for an FMR of
// 1e-3, or there are no folds. `seed` draws guesses.
absl::StatusOr<Json> AttacksOn(std::span<const AttackedFold> folds, const DecisionTable& table,
                               uint64_t seed);

// Harden: `table` with thresholds that keep its rates for wolves too. `scores` are those that it
// was fitted to. Unchanged where there are no folds.
absl::Status Harden(std::span<const AttackedFold> folds, const ProbeScores& scores, uint64_t seed,
                    DecisionTable* table);

// DescribeAttacks: what a model's training summary says of both, a line each; empty where it says
// nothing.
std::string DescribeAttacks(const Json& summary);

// WolvesOf: learned at the thresholds at which a table decides, and at higher ones, which it may
// get against wolves.
absl::StatusOr<Wolves> WolvesOf(std::span<const AttackedFold> folds, const DecisionTable& table);

}  // namespace heft

#endif  // HEFT_LEARNING_ATTACKS_H_
