// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <gtest/gtest.h>

#include "base/status.h"

namespace heft {
namespace {

TEST(CheckTest, ABrokenContractSaysWhereAndWhich) {
  if (!kDebugChecks) GTEST_SKIP() << "release build: contracts are not checked";
  const int limbs = 3;
  EXPECT_DEATH(HEFT_DCHECK(limbs == 2, "two limbs"),
               "check_test.cc:.*contract broken: two limbs \\(limbs == 2\\)");
}

TEST(CheckTest, ABrokenContractOfAStatusGivesItsMessage) {
  if (!kDebugChecks) GTEST_SKIP() << "release build: contracts are not checked";
  HEFT_DCHECK_OK(absl::OkStatus());
  EXPECT_DEATH(HEFT_DCHECK_OK(absl::InvalidArgumentError("one limb too many")),
               "contract broken: one limb too many");
}

TEST(CheckTest, ConditionsAreEvaluatedInDebugBuildsOnly) {
  int calls = 0;
  const auto holds = [&calls] { return ++calls > 0; };
  HEFT_DCHECK(holds(), "a condition that counts its calls");
  EXPECT_EQ(calls, kDebugChecks ? 1 : 0);
}

}  // namespace
}  // namespace heft
