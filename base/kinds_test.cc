// SPDX-License-Identifier: Apache-2.0
#include "base/kinds.h"

#include <gtest/gtest.h>

namespace heft {
namespace {

TEST(KindsTest, NamesOfKinds) {
  EXPECT_EQ(KindName("CTXT"), "encrypted samples");
  EXPECT_EQ(KindName("SCOR"), "encrypted scores");
  EXPECT_EQ(KindName("NONE"), "unknown kind NONE");
}

}  // namespace
}  // namespace heft
