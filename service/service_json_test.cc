// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "service/json.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;

std::string Why(std::string_view text, const JsonLimits& limits = {}) {
  return Message(ParseJson(text, limits).status());
}

TEST(JsonTest, ReadsAllThatJsonHas) {
  const std::string text =
      R"( {"a":[1,-2,2.5,true,false,null,"x\u00e9",[],{}],"b":{"a":{"a":[[3]]}},)"
      R"("c":18446744073709551615} )";
  const auto read = ParseJson(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Json::parse(text));
  for (const char* one : {"1", "\"x\"", "null", "[]", "{}", "-0.5"}) {
    const auto alone = ParseJson(one);
    ASSERT_TRUE(alone.ok()) << one;
    EXPECT_EQ(*alone, Json::parse(one));
  }
}

TEST(JsonTest, IsStrict) {
  for (const char* wrong : {"", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":1,}", "1 2", "[1]]", "nul",
                            "\"\xff\"", "{1:2}", "[1e999]", "\x01"}) {
    EXPECT_THAT(Why(wrong), HasSubstr("not JSON")) << wrong;
  }
  EXPECT_THAT(Why(R"({"a":1,"a":2})"), HasSubstr("twice"));
  EXPECT_THAT(Why(R"([{"x":{"a":1,"b":2,"\u0061":1}}])"), HasSubstr("twice"));
  EXPECT_TRUE(ParseJson(R"({"a":{"a":1},"b":{"a":1}})").ok());
}

TEST(JsonTest, Limits) {
  const std::string fits = std::string(32, '[') + std::string(32, ']');
  EXPECT_TRUE(ParseJson(fits).ok());
  EXPECT_THAT(Why("[" + fits + "]"), HasSubstr("deeper than 32"));
  EXPECT_THAT(Why(R"([{"a":[]}])", {.depth = 2}), HasSubstr("deeper than 2"));
  EXPECT_TRUE(ParseJson(R"([1,{"a":2}])", {.values = 4}).ok());
  EXPECT_THAT(Why(R"([1,{"a":2}])", {.values = 3}), HasSubstr("more than 3 values"));
  EXPECT_THAT(Why("[1,2]", {.bytes = 4}), HasSubstr("longer than 4"));
}

// MegabytesOf: by how much a process' memory grows at most while it reads this.
int MegabytesOf(const std::string& text, const JsonLimits& limits) {
  const pid_t child = fork();
  if (child == 0) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    if (ParseJson(text, limits).ok()) _exit(255);
    getrusage(RUSAGE_SELF, &after);
    _exit(static_cast<int>(std::min<int64_t>(254, (after.ru_maxrss - before.ru_maxrss) >> 10)));
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A text whose value would take many times its size is refused at the limit.
TEST(JsonTest, ABombDoesNotGoOff) {
  const JsonLimits limits = {.bytes = 64 << 20, .values = 1 << 12};
  std::string objects = R"({"biometricData":[{})";
  while (objects.size() < (8 << 20)) objects += ",{}";
  objects += "]}";
  const std::string deep(32 << 20, '[');
  const std::string in_object = "{\"a\":" + deep;
  for (const std::string& bomb : {objects, deep, in_object}) {
    EXPECT_THAT(MegabytesOf(bomb, limits), AllOf(Ge(0), Lt(16)));
  }
}

}  // namespace
}  // namespace heft::service
