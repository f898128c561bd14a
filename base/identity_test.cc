// SPDX-License-Identifier: Apache-2.0
#include "base/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace heft {
namespace {

using ::testing::HasSubstr;

std::string Refusal(std::string_view name) {
  const absl::Status status = CheckIdentity(name);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << std::string(name);
  return std::string(status.message());
}

TEST(IdentityTest, NamesOfAllScripts) {
  for (const char* name : {"a", "ann 7", "O'Neill-Łukasz", "Jürgen", "Ελένη", "محمد", "שרה", "王芳",
                           "ひなた", "🙂", "a\xc2\xa0z", "\xf4\x8f\xbf\xbf", "\xee\x80\x80"}) {
    EXPECT_TRUE(CheckIdentity(name).ok()) << name << ": " << CheckIdentity(name);
  }
  EXPECT_TRUE(CheckIdentity(std::string(255, 'x')).ok());
}

TEST(IdentityTest, LengthAndControls) {
  EXPECT_THAT(Refusal(""), HasSubstr("empty"));
  EXPECT_THAT(Refusal(std::string(256, 'x')), HasSubstr("256 bytes"));
  EXPECT_THAT(Refusal(std::string(1, '\0')), HasSubstr("U+0000"));
  EXPECT_THAT(Refusal("a\tb"), HasSubstr("control character U+0009"));
  EXPECT_THAT(Refusal("\x1b[2J"), HasSubstr("U+001B"));
  EXPECT_THAT(Refusal("\x7f"), HasSubstr("U+007F"));
  EXPECT_THAT(Refusal("a\xc2\x80"), HasSubstr("U+0080"));
  EXPECT_THAT(Refusal("\xc2\x9b"
                      "31m"),
              HasSubstr("U+009B"));  // C1's form of ESC [
  EXPECT_THAT(Refusal("\xc2\x9f"), HasSubstr("U+009F"));
  EXPECT_THAT(Refusal("\xe2\x80\xa8"), HasSubstr("U+2028"));
  EXPECT_THAT(Refusal("\xe2\x80\xa9"), HasSubstr("U+2029"));
}

TEST(IdentityTest, MarksOfDirection) {
  for (const char* mark : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                           "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_THAT(Refusal(std::string("ann") + mark + "b"), HasSubstr("holds the mark U+")) << mark;
  }
  // Their neighbours are none.
  for (const char* name : {"\u200d", "\u2010", "\u202f", "\u206a", "\u061b"}) {
    EXPECT_TRUE(CheckIdentity(name).ok()) << name;
  }
}

TEST(IdentityTest, ErrorsNameFileAndRow) {
  EXPECT_TRUE(CheckIdentityAt("ann", "labels.txt", 7).ok());
  EXPECT_THAT(std::string(CheckIdentityAt("", "labels.txt", 7).message()),
              ::testing::StartsWith("labels.txt, row 7 (from 0): an identity is empty"));
}

TEST(IdentityTest, OnlyUtf8) {
  for (const std::string bytes :
       {"J\xfcrgen",  // Latin-1
        "\xff\xfe"
        "a",                                             // the mark of UTF-16
        "\x80", "\xbf",                                  // a continuation without a beginning
        "\xc3", "\xe2\x82",                              // cut off
        "\xc3(", "\xe2\x82(",                            // no continuation
        "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",  // overlong "/"
        "\xed\xa0\x80", "\xed\xbf\xbf",                  // surrogates
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80"}) {  // above U+10FFFF
    EXPECT_THAT(Refusal(bytes), HasSubstr("is not UTF-8 from its byte "));
    EXPECT_THAT(Refusal("ok" + bytes), HasSubstr("from its byte "));
  }
}

}  // namespace
}  // namespace heft
