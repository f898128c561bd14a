// SPDX-License-Identifier: Apache-2.0
// What a journal says, for people.
#ifndef HEFT_OWNER_BUDGET_USE_H_
#define HEFT_OWNER_BUDGET_USE_H_

#include <string>

#include "heft/key_owner.h"
#include "owner/query_journal.h"

namespace heft {

// ReconstructionCosine: expected cosine between a template of `gamma` dimensions and the best guess
// from its scores against as many random probes, all known: the template's projection on the space
// that they span. In [0, 1].
double ReconstructionCosine(uint64_t scores, uint32_t gamma);

// WhyNoScores: the refusal where the budget of scores is 0: what the model's training measured,
// and how to allow scores on purpose. At most two sentences.
std::string WhyNoScores(const Model& model);

// Summarise: of a model's galleries.
BudgetUse Summarise(const QueryJournal::Status& status, const Model& model);

}  // namespace heft

#endif  // HEFT_OWNER_BUDGET_USE_H_
