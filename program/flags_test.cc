// SPDX-License-Identifier: Apache-2.0
#include "program/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heft::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Values {
  bool flag = false, ran = false;
  std::string text, word = "one", taken;
  int whole = 3;
  size_t natural = 0;
  double real = 0.5;
  std::optional<size_t> row;
  std::optional<double> threshold;
  std::vector<uint32_t> many = {512, 256};
  std::string given;
};

// Line: the result of one command line.
struct Line {
  Program::Outcome outcome;
  Values values;
  std::string out, err;
};

Line Parse(std::vector<std::string> args) {
  Line line;
  Values& v = line.values;
  Program program("what it is", "name 1.0", "last words");
  std::optional<Command> made;
  const Command command = program.root().AddCommand("run", "runs", "Example: run", [&v, &made] {
    v.ran = true;
    v.given = made->Given("--text");
  });
  made = command;
  command.Add("-f,--flag", &v.flag, "a flag");
  const Option text = command.Add("-t,--text", &v.text, "text");
  command.Add("--word", &v.word, "a word").Choices({"one", "two"}).ShowDefault();
  command.Add("--free", &v.taken, "a free word").Suggests({"three", "four"});
  command.Add("--whole", &v.whole, "an int").Range(-5, 1000).ShowDefault();
  command.Add("--natural", &v.natural, "a size").Excludes(text);
  command.Add("--real", &v.real, "a double").Range(0, 1);
  command.Add("--row", &v.row, "a row").Needs(text);
  const Option threshold = command.Add("--threshold", &v.threshold, "a threshold");
  command.Add("--many", &v.many, "several").ShowDefault();
  command.Add(
      "--taken", [&v](const std::string& taken) { v.taken = taken; }, "by a function");
  const Command group = program.root().Group("group", "of commands");
  group.AddCommand("one", "the first", "", [&v] { v.ran = true; });
  program.root()
      .Group("group", "of commands")
      .AddCommand("two", "the second", "", [] {})
      .RequireOneOf(text, threshold);
  const Command study = program.root().AddCommand("study", "studies", "", [&v] { v.ran = true; });
  const Kinds kinds(study, "KIND", &v.word, {{"rows", "of a file"}, {"people", "of a gallery"}});
  kinds.Only(study.Add("--threshold", &v.threshold, "a threshold"), {"rows"});
  kinds.Only(study.Add("--real", &v.real, "a double"), {"rows", "people"}, {"people"});

  args.insert(args.begin(), "name");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  line.outcome = program.Parse(argv.size(), argv.data());
  line.out = testing::internal::GetCapturedStdout();
  line.err = testing::internal::GetCapturedStderr();
  return line;
}

void ExpectRefused(const std::vector<std::string>& args, const std::string& why) {
  const Line line = Parse(args);
  EXPECT_EQ(line.outcome, Program::Outcome::kWrongUsage);
  EXPECT_FALSE(line.values.ran);
  EXPECT_THAT(line.err, HasSubstr(why));
  EXPECT_LT(line.err.size(), 200) << line.err;
}

TEST(Flags, SetsEveryKindOfVariable) {
  const Line line =
      Parse({"run", "-f", "--text", "a b", "--word", "two", "--whole", "-5", "--real", "1e-3",
             "--row", "7", "--threshold=-0.25", "--many", "3", "4", "--taken", "it"});
  EXPECT_EQ(line.outcome, Program::Outcome::kRan) << line.err;
  const Values& v = line.values;
  EXPECT_TRUE(v.ran);
  EXPECT_TRUE(v.flag);
  EXPECT_EQ(v.text, "a b");
  EXPECT_EQ(v.given, "a b");
  EXPECT_EQ(v.word, "two");
  EXPECT_EQ(v.whole, -5);
  EXPECT_EQ(v.real, 1e-3);
  EXPECT_EQ(v.row, 7);
  EXPECT_EQ(v.threshold, -0.25);
  EXPECT_THAT(v.many, ElementsAre(3, 4));
  EXPECT_EQ(v.taken, "it");
}

TEST(Flags, LeavesWhatIsNotGiven) {
  const Line line = Parse({"run"});
  EXPECT_EQ(line.outcome, Program::Outcome::kRan);
  EXPECT_FALSE(line.values.flag);
  EXPECT_EQ(line.values.word, "one");
  EXPECT_EQ(line.values.row, std::nullopt);
  EXPECT_THAT(line.values.many, ElementsAre(512, 256));
  EXPECT_THAT(line.values.given, IsEmpty());
}

TEST(Flags, RefusesNumbersThatDoNotFit) {
  const std::string digits(300, '9');
  for (const std::string bad : {"1e30", "-1", "+1", "0x2", "1.5", " 1", "one", "-"}) {
    ExpectRefused({"run", "--natural=" + bad}, "\"" + bad + "\" is not a whole number from 0 on");
  }
  ExpectRefused({"run", "--natural", digits}, "...\" is too large: at most 18446744073709551615");
  ExpectRefused({"run", "--whole", digits}, "is too large: at most 2147483647");
  ExpectRefused({"run", "--whole", "1e3"}, "\"1e3\" is not a whole number");
  ExpectRefused({"run", "--whole", "-6"}, "--whole: \"-6\" is not in -5 to 1000");
  ExpectRefused({"run", "--whole", "1001"}, "\"1001\" is not in -5 to 1000");
  ExpectRefused({"run", "--real", "1.01"}, "is not in 0 to 1");
  ExpectRefused({"run", "--real", "nan"}, "is not in 0 to 1");
  ExpectRefused({"run", "--threshold", "high"}, "\"high\" is not a number");
  ExpectRefused({"run", "--many", "3", "-4"}, "\"-4\"");
}

TEST(Flags, RefusesEmptyValuesUnknownWordsAndRepetition) {
  ExpectRefused({"run", "--text", ""}, "--text: is empty");
  ExpectRefused({"run", "--taken", ""}, "--taken: is empty");
  ExpectRefused({"run", "--natural="}, "--natural");
  ExpectRefused({"run", "--word", "three"}, "\"three\" is none of one, two");
  ExpectRefused({"run", "--whole", "1", "--whole", "2"}, "--whole");
  ExpectRefused({"run", "--unknown", "1"}, "--unknown");
}

TEST(Flags, OptionsExcludeAndNeedOthers) {
  ExpectRefused({"run", "--text", "a", "--natural", "1"}, "--text excludes --natural");
  ExpectRefused({"run", "--row", "1"}, "--row requires --text");
  ExpectRefused({"group", "two"}, "--text or --threshold is required");
}

TEST(Flags, AnOptionOfOneKindIsRefusedWithAnother) {
  const Line line = Parse({"study", "rows", "--threshold", "2"});
  EXPECT_EQ(line.outcome, Program::Outcome::kRan) << line.err;
  EXPECT_EQ(line.values.word, "rows");
  EXPECT_EQ(line.values.threshold, 2);
  EXPECT_TRUE(Parse({"study", "--real", "0", "people"}).values.ran);
  ExpectRefused({"study"}, "KIND is required");
  ExpectRefused({"study", "row"}, "\"row\" is none of rows, people: did you mean rows?");
  ExpectRefused({"study", "people"}, "--real is required for people");
  ExpectRefused({"study", "people", "--real", "0", "--threshold", "2"},
                "--threshold is for rows, not people");
  const Line help = Parse({"study", "--help"});
  EXPECT_THAT(help.out, HasSubstr("KIND (rows, people) REQUIRED"));
  EXPECT_THAT(help.out, HasSubstr("rows: of a file;\n                              people: of a"));
  EXPECT_THAT(help.out, HasSubstr("rows: a threshold"));
  EXPECT_THAT(help.out, HasSubstr("rows, people (required): a double"));
}

TEST(Flags, ACommandMustBeNamed) {
  ExpectRefused({}, "subcommand is required");
  ExpectRefused({"group"}, "subcommand is required");
  ExpectRefused({"walk"}, "\"walk\" is no command");
  const Line line = Parse({"group", "one"});
  EXPECT_EQ(line.outcome, Program::Outcome::kRan) << line.err;
  EXPECT_TRUE(line.values.ran);
}

TEST(Flags, HelpShowsDefaultsRangesAndWords) {
  const Line line = Parse({"run", "--help"});
  EXPECT_EQ(line.outcome, Program::Outcome::kHelpShown);
  EXPECT_THAT(line.err, IsEmpty());
  EXPECT_THAT(line.out, HasSubstr("--whole INT (-5 to 1000)=3 "));
  EXPECT_THAT(line.out, HasSubstr("--word (one, two)=one "));
  EXPECT_THAT(line.out, HasSubstr("--free (three, four) "));
  EXPECT_EQ(Parse({"run", "--free", "five"}).values.taken, "five");
  EXPECT_THAT(line.out, HasSubstr("--many UINT=512 256 "));
  EXPECT_THAT(line.out, HasSubstr("Example: run"));
  EXPECT_FALSE(line.values.ran);
  EXPECT_THAT(Parse({"--version"}).out, HasSubstr("name 1.0"));
  EXPECT_THAT(Parse({"--help"}).out, HasSubstr("last words"));
}

TEST(ShellLine, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(ShellLine({"/usr/bin/heft", "synth", "--out=/data/lfw-speech"}),
            "heft synth --out=/data/lfw-speech");
  EXPECT_EQ(ShellLine({"heft", "my data", "$(rm -rf)", "it's", ""}),
            "heft 'my data' '$(rm -rf)' 'it'\\''s' ''");
}

TEST(Flags, AWordThatNamesAProgramIsNamedWithIt) {
  ExpectRefused({"seal", "export"},
                "\"seal\" is no command: did you mean heft-seal?"
                "\n");
  ExpectRefused({"enrol"},
                "\"enrol\" is no command: did you mean heft-server enrol?"
                "\n");
  ExpectRefused({"group", "seal"},
                "\"seal\" is no command of group"
                "\n");
}

TEST(Flags, UnknownWordsAreNamedWithTheOneThatMayBeMeant) {
  ExpectRefused({"rnu"},
                "\"rnu\" is no command: did you mean run?"
                "\n");
  ExpectRefused({"swim"},
                "\"swim\" is no command"
                "\n");
  ExpectRefused({"group", "tow"},
                "\"tow\" is no command of group: did you mean two?"
                "\n");
  ExpectRefused({"run", "--wrod", "two"},
                "\"--wrod\" is no option of run: did you mean --word?"
                "\n");
  ExpectRefused({"run", "--natrual=3"},
                "\"--natrual\" is no option of run: did you mean --natural?"
                "\n");
  ExpectRefused({"run", "--colour"},
                "\"--colour\" is no option of run"
                "\n");
  ExpectRefused({"run", "more"},
                "\"more\" is one argument too many for run"
                "\n");
}

}  // namespace
}  // namespace heft::cli
