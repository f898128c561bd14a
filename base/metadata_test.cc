// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "heft/gallery.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}
std::string RefusalOf(const std::string& text) { return Refusal(ParseCondition(text).status()); }

// `count` pairs, all different.
Metadata Pairs(size_t count) {
  Metadata out;
  for (size_t i = 0; i < count; ++i) out.push_back({"list", std::to_string(i)});
  return out;
}

TEST(MetadataTest, Pairs) {
  EXPECT_TRUE(CheckMetadata({}).ok());
  EXPECT_TRUE(CheckMetadata({{"site", "Köln"}, {"list", "a|b"}, {"list", "c"}}).ok());
  EXPECT_TRUE(CheckMetadata({{std::string(64, 'k'), std::string(255, 'v')}}).ok());
  EXPECT_TRUE(CheckMetadata(Pairs(16)).ok());
  EXPECT_THAT(Refusal(CheckMetadata(Pairs(17))), HasSubstr("at most 16"));
  EXPECT_THAT(Refusal(CheckMetadata({{"a", "b"}, {"c", "d"}, {"a", "b"}})), HasSubstr("twice"));
}

TEST(MetadataTest, Keys) {
  for (const char* key : {"", "Site", "a b", "a=", "größe", "a\n"}) {
    EXPECT_THAT(Refusal(CheckMetadata({{key, "v"}})), HasSubstr("a key of metadata is")) << key;
  }
  EXPECT_FALSE(CheckMetadata({{std::string(65, 'k'), "v"}}).ok());
  EXPECT_TRUE(CheckMetadata({{"a.b_c-9", "v"}}).ok());
}

TEST(MetadataTest, Values) {
  EXPECT_THAT(Refusal(CheckMetadata({{"a", ""}})), HasSubstr("has 0 bytes"));
  EXPECT_THAT(Refusal(CheckMetadata({{"a", std::string(256, 'v')}})), HasSubstr("256 bytes"));
  EXPECT_THAT(Refusal(CheckMetadata({{"a", "x\x1b[2J"}})), HasSubstr("U+001B"));
  EXPECT_THAT(Refusal(CheckMetadata({{"a", "\xe2\x80\xae"}})), HasSubstr("U+202E"));
  EXPECT_THAT(Refusal(CheckMetadata({{"a", "\xff"}})), HasSubstr("not UTF-8"));
}

// Texts as from a command line or an option in C.
using Texts = std::vector<std::string>;

TEST(MetadataTest, ListsFromText) {
  EXPECT_EQ(*ParseMetadata(Texts{"site=berlin", "list=a", "list=b"}),
            (Metadata{{"site", "berlin"}, {"list", "a"}, {"list", "b"}}));
  EXPECT_EQ(*ParseMetadata({}), Metadata());
  EXPECT_THAT(Refusal(ParseMetadata(Texts{"site=berlin", "site"}).status()),
              HasSubstr("is not KEY=VALUE"));
  EXPECT_THAT(Refusal(ParseMetadata(Texts{"a=b", "a=b"}).status()), HasSubstr("twice"));
  const auto where = ParseConditions(Texts{"site=berlin", "age=18..30"});
  ASSERT_TRUE(where.ok()) << where.status();
  EXPECT_EQ(*where, (std::vector<Condition>{*ParseCondition("site=berlin"),
                                            *ParseCondition("age=18..30")}));
  EXPECT_THAT(Refusal(ParseConditions(Texts{"site=berlin", "age"}).status()),
              HasSubstr("is not a condition"));
  EXPECT_THAT(Refusal(ParseConditions(Texts(17, "a=b")).status()), HasSubstr("at most 16"));
}

TEST(MetadataTest, PairsFromText) {
  EXPECT_EQ(*ParseMetadataPair("site=berlin"), (MetadataPair{"site", "berlin"}));
  EXPECT_EQ(*ParseMetadataPair("a=b=c"), (MetadataPair{"a", "b=c"})) << "the first one counts";
  EXPECT_THAT(Refusal(ParseMetadataPair("site").status()), HasSubstr("is not KEY=VALUE"));
  EXPECT_THAT(Refusal(ParseMetadataPair("site=").status()), HasSubstr("0 bytes"));
  EXPECT_THAT(Refusal(ParseMetadataPair("=berlin").status()), HasSubstr("a key"));
}

TEST(ConditionTest, FromTextAndBack) {
  EXPECT_EQ(*ParseCondition("site=berlin"), (Condition{"site", {"berlin"}}));
  EXPECT_EQ(*ParseCondition("list=a|b"), (Condition{"list", {"a", "b"}}));
  EXPECT_EQ(*ParseCondition("age=18..30"), (Condition{"age", {}, 18, 30}));
  EXPECT_EQ(*ParseCondition("age=18.."), (Condition{"age", {}, 18, std::nullopt}));
  EXPECT_EQ(*ParseCondition("age=..-0.5"), (Condition{"age", {}, std::nullopt, -0.5}));
  EXPECT_EQ(*ParseCondition("x=1e3..1e3"), (Condition{"x", {}, 1000, 1000}));
  for (const char* text : {"site=berlin", "list=a|b", "age=18..30", "age=18..", "age=..-0.5",
                           "age=0.1..12345678.25"}) {
    EXPECT_EQ(ConditionText(*ParseCondition(text)), text);
  }
}

TEST(ConditionTest, WhatIsNone) {
  EXPECT_THAT(RefusalOf("site"), HasSubstr("is not a condition"));
  EXPECT_THAT(RefusalOf("Site=x"), HasSubstr("a key"));
  EXPECT_THAT(RefusalOf("site="), HasSubstr("0 bytes"));
  EXPECT_THAT(RefusalOf("list=a||b"), HasSubstr("0 bytes"));
  EXPECT_THAT(RefusalOf("list=a|a"), HasSubstr("twice"));
  for (const char* text : {"age=..", "age=a..b", "age=18..x", "age=1..2..3", "age=nan..",
                           "age=..inf", "age= 1..2", "age=1e999.."}) {
    EXPECT_THAT(RefusalOf(text), HasSubstr("a range needs numbers")) << text;
  }
  EXPECT_THAT(RefusalOf("age=30..18"), HasSubstr("nothing lies within age=30..18"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto refused = [](const Condition& one) { return Refusal(CheckConditions({&one, 1})); };
  EXPECT_THAT(refused({"age", {}}), HasSubstr("neither values nor bounds"));
  EXPECT_THAT(refused({"age", {}, nan, {}}), HasSubstr("not a finite number"));
  EXPECT_THAT(refused({"age", {"1"}, 1, {}}), HasSubstr("values and bounds"));
  Condition many = {"list", {}};
  for (int i = 0; i < 65; ++i) many.values.push_back(std::to_string(i));
  EXPECT_THAT(refused(many), HasSubstr("at most 64"));
  EXPECT_THAT(Refusal(CheckConditions(std::vector<Condition>(17, {"a", {"b"}}))),
              HasSubstr("at most 16"));
  EXPECT_TRUE(CheckConditions(std::vector<Condition>(16, {"a", {"b"}})).ok());
}

TEST(ConditionTest, WhomTheyFit) {
  const Metadata ann = {{"site", "berlin"}, {"age", "34"}, {"list", "staff"}, {"list", "night"}};
  auto fits = [&](const std::vector<std::string>& texts) {
    std::vector<Condition> conditions;
    for (const std::string& text : texts) conditions.push_back(*ParseCondition(text));
    return Fits(ann, conditions);
  };
  EXPECT_TRUE(fits({}));
  EXPECT_TRUE(fits({"site=berlin"}));
  EXPECT_FALSE(fits({"site=Berlin"}));
  EXPECT_FALSE(fits({"site=berli"}));
  EXPECT_TRUE(fits({"site=paris|berlin"}));
  EXPECT_TRUE(fits({"list=night"})) << "any value of the key";
  EXPECT_TRUE(fits({"list=night", "list=staff"}));
  EXPECT_TRUE(fits({"age=34..34"})) << "bounds are included";
  EXPECT_TRUE(fits({"age=18..", "age=..40"}));
  EXPECT_FALSE(fits({"age=35.."}));
  EXPECT_FALSE(fits({"age=..33.9"}));
  EXPECT_FALSE(fits({"site=berlin", "age=35.."})) << "all must hold";
  EXPECT_FALSE(fits({"site=0.."})) << "no number";
  EXPECT_FALSE(fits({"height=0.."})) << "no such key";
  EXPECT_FALSE(fits({"height=tall"}));
  EXPECT_FALSE(Fits({{"age", "34 "}}, std::vector<Condition>{{"age", {}, 0, {}}}));
}

}  // namespace
}  // namespace heft
