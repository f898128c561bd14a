// SPDX-License-Identifier: Apache-2.0
// Wrong usage ends with exit code 2, in every command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Argument: of a command, as its --help lists it.
struct Argument {
  std::string name;  // "--out"; of a word without dashes: ""
  std::string about;
  Args given;  // the argument with a value that the command takes

  bool required() const { return about.find("REQUIRED") != about.npos; }
};

struct Leaf {
  const char* program;
  Args command;
  std::vector<Argument> arguments;

  // The arguments that must be given, without `left_out`.
  Args Required(const std::string& left_out = "none") const {
    Args args = command;
    for (const Argument& one : arguments) {
      if (one.required() && one.name != left_out) args = Join(args, one.given);
    }
    return args;
  }
};

// ValueFor: the first of the words or numbers that an argument lists; "1" for other numbers.
Args ValueFor(const std::string& about) {
  const size_t type = about.find_first_not_of(' ');
  const std::string word =
      type == about.npos ? "" : about.substr(type, about.find_first_of(" =[", type) - type);
  const size_t open = about.find('(');
  if (word.starts_with("(") ||
      (open != about.npos && about.substr(0, open).find("  ") == about.npos)) {
    return {about.substr(open + 1, about.find_first_of(" ,)", open) - open - 1)};
  }
  if (word == "TEXT") return {"none"};
  if (word == "UINT" || word == "INT" || word == "NUMBER") return {"1"};
  return {};  // a flag
}

// Leaves: calls `use` for each command that has no further ones.
void Leaves(const char* program, const Args& command, const std::function<void(const Leaf&)>& use) {
  const Finished help = RunProgram(program, Join(command, {"--help"}));
  ASSERT_EQ(help.exit_code, 0) << help.err;
  std::istringstream lines(help.out);
  std::string line, section;
  Leaf leaf{program, command, {}};
  bool group = false;
  while (std::getline(lines, line)) {
    if (!line.starts_with(" ")) section = line;
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (section == "Subcommands:") {
      group = true;
      Leaves(program, Join(command, {name}), use);
    }
    const std::string about = line.substr(2 + name.size());
    if (section == "Positionals:") leaf.arguments.push_back({"", about, ValueFor(about)});
    if (section != "Options:" || name == "-h,--help") continue;
    name = name.substr(name.find("--"));
    leaf.arguments.push_back({name, about, Join({name}, ValueFor(about))});
  }
  if (!group) use(leaf);
}

TEST(WrongUsageTest, EveryCommandEndsWithItsExitCode) {
  size_t commands = 0, exclusions = 0;
  const auto check = [&](const Leaf& leaf) {
    ++commands;
    const auto wrong = [&](const Args& args, const auto& says) {
      const Finished run = RunProgram(leaf.program, args);
      std::string line = leaf.program;
      for (const std::string& arg : args) line += " " + arg;
      EXPECT_EQ(run.exit_code, kUsage) << line << "\n" << run.err;
      EXPECT_THAT(run.err, says) << line;
    };
    wrong(Join(leaf.Required(), {"--nonsense"}), HasSubstr("--nonsense"));
    wrong(Join(leaf.Required(), {"--threads", "2000"}), HasSubstr("--threads"));
    wrong(Join(leaf.Required(), {"--threads", "two"}), HasSubstr("--threads"));
    for (const Argument& one : leaf.arguments) {
      if (one.required()) wrong(leaf.Required(one.name), HasSubstr(one.name));
      const size_t excludes = one.about.find("Excludes: --");
      if (excludes == one.about.npos) continue;
      const size_t begin = one.about.find("--", excludes);
      const std::string other = one.about.substr(begin, one.about.find(' ', begin) - begin);
      for (const Argument& two : leaf.arguments) {
        if (two.name != other) continue;
        ++exclusions;
        wrong(Join(Join(leaf.Required(), one.given), two.given),
              AnyOf(HasSubstr(" excludes "), HasSubstr(" requires ")));
      }
    }
  };
  for (const char* program : {kHeft, kServer, kSeal}) Leaves(program, {}, check);
  EXPECT_GE(commands, 45u);
  EXPECT_GE(exclusions, 40u);
}

TEST(WrongUsageTest, SoDoArgumentsThatDoNotFitTogether) {
  const Workplace w;
  const std::string none = w("none"), out = w("out");
  const Args key = {"--model", none, "--secret-key", none};
  const auto with = [&](const std::string& command, const Args& more) {
    return Join(Join({command}, key), more);
  };
  const auto keygen = [&](const Args& more) {
    return Join({"keygen", "--model", none, "--out", out}, more);
  };
  const auto share = [&](const Args& more) { return Join({"share", "--model", none}, more); };
  const std::vector<Args> heft = {
      {"audit", "--gallery", none},
      {"bench", "--templates", "9000"},
      with("canary", {}),
      with("decrypt", {"--in", none}),
      with("decrypt", {"--in", none, none, "--fmr", "0.1"}),
      with("decrypt", {"--in", none, "--scores", "--top", "11"}),
      with("decrypt", {"--in", none, "--fmr", "0.1", "--owners", "1", "2"}),
      {"encrypt", "--model", none, "--key", none, "--modality", "a", "--in", none, none, "--out",
       out},
      {"evaluate", none, "--fmr", "2"},
      {"evaluate", "genuine=" + none},
      {"evaluate", none, "--report", out, "--scores", out},
      {"evaluate", "--data", none},
      keygen({"--owners", "3"}),
      keygen({"--owners", "2", "--threshold", "3"}),
      keygen({"--passphrase-file", none, none}),
      keygen({"join"}),
      keygen({"join", "--owners", "4"}),
      keygen({"join", "--owners", "3", "--threshold", "2"}),
      with("rekey", {"--out", out, "--to", none}),
      share({}),
      share({"--secret-key", none}),
      share({"--secret-key", none, "--owners", "1", "2"}),
      share({"--secret-key", none, "--owners", "1", "2", "--replace", "3", "--out", out}),
      share({"--record", none}),
      {"study", "protection", "--data", none, "--model", none, "--samples", "1"},
      {"study", "samples", "--data", none, "--model", none, "--folds", "3", "--replicates", "1"},
      {"study", "searches", "--data", none, "--model", none, "--replicates", "20000"}};
  for (const Args& args : heft) {
    const Finished run = RunProgram(kHeft, args);
    EXPECT_EQ(run.exit_code, kUsage) << ::testing::PrintToString(args) << run.err;
  }
  for (const Args& more :
       std::vector<Args>{{"--gallery", none}, {"--gallery", "postgres:none", "--from", none}}) {
    const Finished run = RunProgram(kServer, Join({"gallery", "restore"}, more));
    EXPECT_EQ(run.exit_code, kUsage) << run.err;
  }
  const Finished several =
      RunProgram(kSeal, {"export", "scores", "--model", none, "--in", none, none, "--out", out});
  EXPECT_EQ(several.exit_code, kUsage) << several.err;
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace heft::e2e
