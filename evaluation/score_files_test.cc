// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heft/evaluate.h"

namespace heft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Refusal(std::string_view text) {
  const auto table = ParseScores(text, "s");
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(table.status().message());
}

TEST(ScoreFilesTest, ReadsCsvOfBobBio) {
  // Columns in another order, more of them than we know, a byte order mark and a failed comparison.
  const auto table = ParseScores(
      "\xEF\xBB\xBFprobe_subject_id,probe_key,age,bio_ref_subject_id,bio_ref_template_id,score\r\n"
      "ann,a/2,30,ann,t1,0.75\r\n\r\n"
      "bob,b/1,,ann,t1,-1e-3\r\n"
      "\"Weiß, \"\"Jo\"\"\",b/1,,ann,t1,\r\n"
      "bob,b/2,,bob,t2,nan\n",
      "s");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->subjects, ElementsAre("ann", "bob", "Weiß, \"Jo\""));
  EXPECT_THAT(table->labels, ElementsAre("t1", "a/2", "b/1", "t2", "b/2"));
  ASSERT_EQ(table->pairs.size(), 4u);
  EXPECT_TRUE(table->pairs[0].genuine);
  EXPECT_EQ(table->pairs[0].score, 0.75);
  EXPECT_FALSE(table->pairs[1].genuine);
  EXPECT_EQ(table->pairs[1].score, -1e-3);
  EXPECT_EQ(table->Failures(), 2u);
  EXPECT_TRUE(table->named);
  EXPECT_FALSE(table->has_plain);
}

TEST(ScoreFilesTest, ReadsFourAndFiveColumns) {
  const auto four = ParseScores("ann ann a/1.png 0.5\n\nann  bob\tb/1.png -2\n", "s");
  ASSERT_TRUE(four.ok()) << four.status();
  ASSERT_EQ(four->pairs.size(), 2u);
  EXPECT_EQ(four->labels[four->pairs[1].probe_label], "b/1.png");
  EXPECT_EQ(four->labels[four->pairs[1].enrolled_label], "");
  const auto five = ParseScores("ann m-1 bob b/1.png 7", "s");
  ASSERT_TRUE(five.ok()) << five.status();
  EXPECT_EQ(five->labels[five->pairs[0].enrolled_label], "m-1");
  EXPECT_EQ(five->subjects[five->pairs[0].enrolled], "ann");
  EXPECT_EQ(five->subjects[five->pairs[0].probe], "bob");
}

TEST(ScoreFilesTest, ReadsListsOfPyEer) {
  const auto table = ParseScoreLists({"a b 0.9\n0.8\n", "0.1\n\n0.2\n"}, {"g", "i"});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE(table->named);
  ASSERT_EQ(table->pairs.size(), 4u);
  EXPECT_TRUE(table->pairs[0].genuine);
  EXPECT_EQ(table->pairs[0].score, 0.9);
  EXPECT_FALSE(table->pairs[3].genuine);
  // Two impostor scores of 0, none of 1, one of 2.
  const auto histogram = ParseScoreLists({"2\n", "2\n0\n1\n"}, {"g", "i"}, true);
  ASSERT_TRUE(histogram.ok()) << histogram.status();
  ASSERT_EQ(histogram->pairs.size(), 4u);
  EXPECT_EQ(histogram->pairs[2].score, 0);
  EXPECT_EQ(histogram->pairs[3].score, 2);
  for (const ScoreLists& wrong : {ScoreLists{"", "1"}, ScoreLists{"1", ""}, ScoreLists{"1", "x"},
                                  ScoreLists{"nan", "1"}, ScoreLists{"1", "inf"}}) {
    EXPECT_FALSE(ParseScoreLists(wrong, {"g", "i"}).ok());
  }
  const auto huge = ParseScoreLists({"1", "1\n18446744073709551615\n"}, {"g", "i"}, true);
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("i, line 2: more than"));
}

TEST(ScoreFilesTest, RefusesWithTheLine) {
  const std::string header = "bio_ref_subject_id,probe_subject_id,score,kind\n";
  EXPECT_THAT(Refusal(""), HasSubstr("s: is empty"));
  EXPECT_THAT(Refusal("one two three\n"), HasSubstr("line 1: neither a CSV"));
  EXPECT_THAT(Refusal("bio_ref_subject_id,score\n"), HasSubstr("no column \"probe_subject_id\""));
  EXPECT_THAT(Refusal("score," + header), HasSubstr("\"score\" twice"));
  EXPECT_THAT(Refusal(header), HasSubstr("holds no comparisons"));
  EXPECT_THAT(Refusal(header + "a,b,0.5\n"), HasSubstr("line 2: 3 fields, but the header has 4"));
  EXPECT_THAT(Refusal(header + "a,a,1,genuine\na,b,x\x1b,impostor\n"),
              AllOf(HasSubstr("line 3: \"x\\x1b\" is not a score")));
  EXPECT_THAT(Refusal(header + "a,b,inf,impostor\n"), HasSubstr("is not a score"));
  EXPECT_THAT(Refusal(header + "a,b,1,genuine\n"), HasSubstr("of two subjects: write impostor"));
  EXPECT_THAT(Refusal(header + ",b,1,impostor\n"), HasSubstr("a subject has no name"));
  EXPECT_THAT(Refusal(header + "a\x1b,b,1,impostor\n"), HasSubstr("U+001B"));
  EXPECT_THAT(Refusal(header + "\"a,b,1,impostor\n"), HasSubstr("does not end on its line"));
  EXPECT_THAT(Refusal(header + "\"a\"a,b,1,impostor\n"), HasSubstr("after a field in quotes"));
  EXPECT_THAT(Refusal("a a p 1\na a p 1 2\n"), HasSubstr("line 2: 5 columns, but the first"));
  EXPECT_THAT(Refusal("a a p one\n"), HasSubstr("line 1: \"one\" is not a score"));
}

ScoreTable Example() {
  ScoreTable table;
  table.subjects = {"ann", "O'Neil, \"B\"", " c"};
  table.labels = {"0", "r,1"};
  table.splits = {"test", "fold 2"};
  table.has_plain = true;
  table.pairs = {{0, 0, 0, 1, 0, true, 0.1, 0.1 + 0x1p-55},
                 {1, 0, 1, 0, 1, false, -1.0 / 3, 1e-300},
                 {2, 1, 1, 1, 0, false, NAN, 2}};
  return table;
}

TEST(ScoreFilesTest, CsvReadsBackExactly) {
  const ScoreTable example = Example();
  const auto text = FormatScores(example, ScoreForm::kCsv);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto table = ParseScores(*text, "s");
  ASSERT_TRUE(table.ok()) << table.status() << *text;
  ASSERT_EQ(table->pairs.size(), 3u);
  EXPECT_TRUE(table->has_plain);
  for (size_t i = 0; i < 3; ++i) {
    const ScorePair &was = example.pairs[i], &is = table->pairs[i];
    EXPECT_EQ(table->subjects[is.enrolled], example.subjects[was.enrolled]);
    EXPECT_EQ(table->subjects[is.probe], example.subjects[was.probe]);
    EXPECT_EQ(table->labels[is.probe_label], example.labels[was.probe_label]);
    EXPECT_EQ(table->splits[is.split], example.splits[was.split]);
    EXPECT_EQ(is.plain, was.plain);
    EXPECT_TRUE(is.score == was.score || (std::isnan(is.score) && std::isnan(was.score)));
  }
  EXPECT_EQ(FormatScores(*table, ScoreForm::kCsv).value(), *text);
}

TEST(ScoreFilesTest, WritesColumnsAndLists) {
  const auto refused = FormatScores(Example(), ScoreForm::kBob4);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("write CSV"));
  ScoreTable table = Example();
  table.subjects = {"ann", "bob", "cem"};
  table.labels = {"", "p"};
  EXPECT_EQ(FormatScores(table, ScoreForm::kBob4).value(),
            "ann ann p 0.1\nbob ann ann -0.3333333333333333\ncem bob p nan\n");
  EXPECT_EQ(FormatScores(table, ScoreForm::kBob5).value(),
            "ann ann ann p 0.1\nbob p ann ann -0.3333333333333333\ncem p bob p nan\n");
  const ScoreLists lists = FormatScoreLists(table);
  EXPECT_EQ(lists.genuine, "0.1\n");
  EXPECT_EQ(lists.impostor, "-0.3333333333333333\n");
  const auto unnamed = ParseScoreLists(lists, {"g", "i"});
  EXPECT_FALSE(FormatScores(*unnamed, ScoreForm::kCsv).ok());
}

TEST(ScoreFilesTest, SelectsASplit) {
  const auto part = SelectSplit(Example(), "fold 2");
  ASSERT_TRUE(part.ok()) << part.status();
  ASSERT_EQ(part->pairs.size(), 1u);
  EXPECT_EQ(part->pairs[0].plain, 1e-300);
  EXPECT_THAT(std::string(SelectSplit(Example(), "dev").status().message()),
              HasSubstr("\"test\", \"fold 2\""));
}

}  // namespace
}  // namespace heft
