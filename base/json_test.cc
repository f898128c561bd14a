// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "heft/files.h"

namespace heft {
namespace {

TEST(Json, BuildsObjectsAndArraysAsWritten) {
  Json json = {{"b", 1}, {"a", {1.5, "x", nullptr}}, {"empty", Json::array()}};
  json["c"]["d"] = true;
  json["list"].push_back({{"rank", 1}});
  json["list"].back()["score"] = -2;
  EXPECT_EQ(
      json.dump(),
      R"({"b":1,"a":[1.5,"x",null],"empty":[],"c":{"d":true},"list":[{"rank":1,"score":-2}]})");
  EXPECT_EQ(Json({1, 2}).dump(), "[1,2]");
  EXPECT_EQ(Json(std::vector<double>{1, 0.5}).dump(), "[1.0,0.5]");
}

TEST(Json, ReadsWhatItWrites) {
  const std::string text =
      R"({"max":18446744073709551615,"min":-9223372036854775808,"pi":3.141592653589793,"t":"ä"})";
  const auto json = Json::Parse(text);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["max"].get<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ((*json)["min"].get<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(json->dump(), text);
  EXPECT_EQ((*json)["t"].get<std::string>(), "ä");
}

TEST(Json, RefusesWhatIsNoJsonOrTooDeep) {
  EXPECT_FALSE(Json::Parse("{").ok());
  EXPECT_FALSE(Json::Parse("").ok());
  EXPECT_FALSE(Json::Parse("[1,]").ok());
  const std::string open(64, '['), close(64, ']');
  EXPECT_TRUE(Json::Parse(open + close).ok());
  EXPECT_FALSE(Json::Parse("[" + open + close + "]").ok());
  EXPECT_FALSE(Json::Parse(std::string(100000, '[')).ok());
}

TEST(Json, ManyMembersTakeLinearTime) {
  std::string text = "{\"first\":0";
  for (int i = 0; i < 300000; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  const auto json = Json::Parse(text + "}");  // quadratic, this would take minutes
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->size(), 300001u);
  EXPECT_EQ(json->dump().size(), text.size() + 1);
}

TEST(Json, OtherKindsGiveNothing) {
  const Json json = {{"n", 1}, {"t", "x"}};
  EXPECT_EQ(json["t"].get<int>(), 0);
  EXPECT_EQ(json["n"].get<std::string>(), "");
  EXPECT_EQ(json.find("none"), nullptr);
  EXPECT_TRUE(json["none"].is_null());
  EXPECT_EQ(json["n"].find("x"), nullptr);
  EXPECT_EQ(json["n"].size(), 0u);
}

TEST(Json, ComparesByValueAndInAnyOrder) {
  const Json a = {{"x", 1}, {"y", {1, 2}}};
  const Json b = {{"y", {1, 2u}}, {"x", 1.0}};
  EXPECT_EQ(a["x"], b["x"]);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == Json({{"x", 1}, {"y", {2, 1}}}));
  EXPECT_FALSE(Json(-1) == Json(std::numeric_limits<uint64_t>::max()));
  EXPECT_FALSE(Json(1) == Json("1"));
}

TEST(Json, BytesThatAreNotTextAreReplaced) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

}  // namespace
}  // namespace heft
