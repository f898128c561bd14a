// SPDX-License-Identifier: Apache-2.0
// A budget for tests that open scores: the models of tests hold no measurement, so by default no
// score may be opened.
#ifndef HEFT_OWNER_ALLOW_SCORES_H_
#define HEFT_OWNER_ALLOW_SCORES_H_

#include <gtest/gtest.h>

#include "heft/key_owner.h"

namespace heft::testing {

// kTwoScores: two scores of a person, one of them for one client.
inline constexpr BudgetLimits kTwoScores = {.scores = 2};

// AllowScores: `owner`, after a key owner has allowed scores on purpose.
inline KeyOwner AllowScores(KeyOwner owner, const BudgetLimits& limits = kTwoScores) {
  EXPECT_TRUE(owner.SetBudget(limits).ok());
  return owner;
}

}  // namespace heft::testing

#endif  // HEFT_OWNER_ALLOW_SCORES_H_
