// SPDX-License-Identifier: Apache-2.0
#include "base/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace heft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Refusal(std::string_view name) {
  const absl::Status status = CheckIdentity(name);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << std::string(name);
  return std::string(status.message());
}

TEST(IdentityTest, NamesOfAllScripts) {
  for (const char* name : {"a", "ann 7", "O'Neill-Łukasz", "Jürgen", "Ελένη", "محمد", "שרה", "王芳",
                           "ひなた", "🙂", "\xee\x80\x80"}) {
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
    EXPECT_THAT(Refusal(std::string("ann") + mark + "b"),
                AllOf(HasSubstr("holds the mark U+"), HasSubstr("at its character 3 (from 0)")))
        << mark;
    EXPECT_THAT(TextFlaw(std::string("ann") + mark + "b"), HasSubstr("holds the mark U+")) << mark;
  }
  // Invalid names may be valid texts with invisible characters.
  for (const char* text : {"\u200d", "\u2010", "\u202f", "\u206a", "\u061b"}) {
    EXPECT_EQ(TextFlaw(text), "") << text;
  }
}

TEST(IdentityTest, CharactersThatShowNothing) {
  // Joiners, soft hyphen, byte order mark, word joiner, grapheme joiner, Hangul filler, variation
  // selectors, tags.
  for (const char* mark : {"\u200b", "\u200c", "\u200d", "\u00ad", "\ufeff", "\u2060", "\u034f",
                           "\u3164", "\ufe0f", "\U000e0100", "\U000e0061"}) {
    EXPECT_THAT(Refusal(std::string("é") + mark + "b"),
                AllOf(HasSubstr("holds the invisible character U+"),
                      HasSubstr("at its character 1 (from 0)")))
        << mark;
  }
  EXPECT_THAT(Refusal("a\u0378"), HasSubstr("holds the unassigned character U+0378"));
}

TEST(IdentityTest, Spaces) {
  EXPECT_THAT(Refusal(" ann"), HasSubstr("starts with the space U+0020, its character 0"));
  EXPECT_THAT(Refusal("ann "), HasSubstr("ends with the space U+0020, its character 3"));
  EXPECT_THAT(Refusal("é "), HasSubstr("ends with the space U+0020, its character 1"));
  EXPECT_THAT(Refusal(" "), HasSubstr("starts with the space U+0020"));
  for (const char* space : {"\u00a0", "\u2009", "\u3000"}) {
    EXPECT_THAT(Refusal(std::string("a") + space + "z"), HasSubstr("holds the space U+")) << space;
    EXPECT_THAT(Refusal(std::string("az") + space), HasSubstr("holds the space U+")) << space;
  }
}

// UAX #15, table 4 and figures 3 and 6: canonical equivalents are one name, compatible characters
// are not.
TEST(IdentityTest, NormalFormC) {
  const std::pair<const char*, const char*> spellings[] = {
      {"Ame\u0301lie", "Am\u00e9lie"},     // e and acute accent
      {"\u212b", "\u00c5"},                // the sign of the angstrom
      {"\u1e9b\u0323", "\u1e9b\u0323"},    // stays
      {"\u1100\u1161\u11a8", "\uac01"},    // Hangul
      {"q\u0307\u0323", "q\u0323\u0307"},  // the order of marks
      {"\u0958", "\u0915\u093c"},          // excluded from composition
      {"\ufb01", "\ufb01"}};               // a ligature
  for (const auto& [given, normal] : spellings) {
    const auto name = NormalIdentity(given);
    ASSERT_TRUE(name.ok()) << name.status();
    EXPECT_EQ(*name, normal);
    EXPECT_TRUE(CheckIdentity(normal).ok());
    if (std::string_view(given) != normal) {
      EXPECT_THAT(Refusal(given), HasSubstr("is not in Unicode's normal form C"));
    }
  }
  // The bound is of the normal form: 300 bytes become 200, and 234 become 468.
  std::string decomposed, excluded;
  for (int i = 0; i < 100; ++i) decomposed += "e\u0301";
  for (int i = 0; i < 78; ++i) excluded += "\u0958";
  EXPECT_EQ(NormalIdentity(decomposed)->size(), 200u);
  EXPECT_THAT(std::string(NormalIdentity(excluded).status().message()), HasSubstr("468 bytes"));
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
