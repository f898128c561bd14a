// SPDX-License-Identifier: Apache-2.0
#include "base/kinds.h"

#include <gtest/gtest.h>

namespace heft {
namespace {

TEST(KindsTest, NamesAndLetters) {
  EXPECT_EQ(KindName("CTXT"), "encrypted samples");
  EXPECT_EQ(KindText("SCOR"), "encrypted scores (SCOR)");
  EXPECT_EQ(KindName("NONE"), "unknown kind NONE");
}

}  // namespace
}  // namespace heft
