// SPDX-License-Identifier: Apache-2.0
#include "program/metadata_options.h"

#include <gtest/gtest.h>

#include "heft/results.h"

namespace heft::cli {
namespace {

TEST(MetadataOptionsTest, Where) {
  const std::vector<Condition> where =
      *ParseConditions(std::vector<std::string>{"site=berlin", "age=18..30"});
  EXPECT_EQ(RestrictionText(where), ", of those with site=berlin, age=18..30");
  EXPECT_EQ(RestrictionText({}), "");
  Json json;
  AddWhereTo(&json, where);
  EXPECT_EQ(json.dump(), R"({"where":["site=berlin","age=18..30"]})");
}

}  // namespace
}  // namespace heft::cli
