// SPDX-License-Identifier: Apache-2.0
// Checks that replies answer the intended request, before they are opened, and describes results as
// JSON and in words, as the tools show them. Link heft::heft.
#ifndef HEFT_OPENINGS_H_
#define HEFT_OPENINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "heft/described.h"
#include "heft/export.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// ExpectedAnswer: the request that replies must answer.
struct ExpectedAnswer {
  std::optional<GalleryId> gallery = {};                // nullopt: any
  std::optional<std::vector<SampleFile>> request = {};  // its files, as sent; nullopt: any
  uint64_t row = 0;                                     // of the request; kAllRows: their mean
};
// CheckAnswer: checks the statements of replies. KeyOwner checks their signatures, after
// RequireSigned. ReadSigned's errors; kFailedPrecondition for a reply of another gallery or to
// another request; kInvalidArgument for a request without files.
HEFT_EXPORT absl::Status CheckAnswer(const Replies& replies, const ExpectedAnswer& expected);

// DescribeCost: what opening scores charges to the budget and reveals, to be shown before.
HEFT_EXPORT std::string DescribeCost(const BudgetUse& use, uint32_t candidates);
// DescribeScores: candidates with scores, and how many more scores each may give. With `threshold`
// also whether the best candidate is accepted.
HEFT_EXPORT Described DescribeScores(const OpenedScores& opened,
                                     const std::optional<ChosenThreshold>& threshold = {});
// DescribeDecision: whether accepted, the identity, the gallery and the rate, without scores.
HEFT_EXPORT Described DescribeDecision(const Decision& decision);
// DescribeAdmissions: the number of admitted templates, the rejected ones, and each cause of
// rejections once, with its remedy. The text names the first templates of a cause, the JSON object
// all. Both name contested identities, and who claims each.
HEFT_EXPORT Described DescribeAdmissions(const Admissions& admissions);
// DescribeBudget: the result of KeyOwner::Budget. Times are UtcText's.
HEFT_EXPORT Described DescribeBudget(const KeyOwner& owner, const BudgetUse& use);

}  // namespace heft

#endif  // HEFT_OPENINGS_H_
