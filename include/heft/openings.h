// SPDX-License-Identifier: Apache-2.0
// Around a key owner's openings: whether replies are the answer to what was asked, before they are
// opened; and what comes of them as JSON and in words, as the tools show it. Link heft::heft.
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

// ExpectedAnswer: what replies are to be the answer to.
struct ExpectedAnswer {
  std::optional<GalleryId> gallery = {};                // nullopt: of any
  std::optional<std::vector<SampleFile>> request = {};  // its files, as sent; nullopt: to any
  uint64_t row = 0;                                     // of them; kAllRows: their mean
};
// CheckAnswer: that each reply says so of itself; who signed it, KeyOwner asks, once RequireSigned
// told it whom to believe. ReadSigned's errors; kFailedPrecondition for a reply of another gallery,
// or to another request; kInvalidArgument for a request without files.
HEFT_EXPORT absl::Status CheckAnswer(const Replies& replies, const ExpectedAnswer& expected);

// DescribeCost: before scores are opened, what each of them costs, and what it tells.
HEFT_EXPORT std::string DescribeCost(const BudgetUse& use, uint32_t candidates);
// DescribeScores: candidates with scores, and how many more each may give; and whether the best of
// them is accepted, if `threshold` is given.
HEFT_EXPORT Described DescribeScores(const OpenedScores& opened,
                                     const std::optional<ChosenThreshold>& threshold = {});
// DescribeDecision: accepted or not, and of whom, in which gallery, at which rate: no score.
HEFT_EXPORT Described DescribeDecision(const Decision& decision);
// DescribeAdmissions: the number of templates that are admitted, those that are rejected, and each
// cause of rejections once, with its remedy. The text names the first templates of a cause, the
// JSON object all of them.
HEFT_EXPORT Described DescribeAdmissions(const Admissions& admissions);
// DescribeBudget: of what KeyOwner::Budget says. Times are UtcText's.
HEFT_EXPORT Described DescribeBudget(const KeyOwner& owner, const BudgetUse& use);

}  // namespace heft

#endif  // HEFT_OPENINGS_H_
