// SPDX-License-Identifier: Apache-2.0
#include "service/run/program.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstdlib>
#include <vector>

namespace heft::service {
namespace {

// Runs in a child process, which exits with the result of RunDaemon.
[[noreturn]] void ServeAndEnd(std::vector<const char*> arguments, const absl::Status& status = {},
                              std::string config = "a.toml", bool check = false) {
  arguments.insert(arguments.begin(), "heft-matcher");
  const DaemonProgram program = {
      "heft-matcher", "A daemon.", [&](const ServeArguments& given, Signals*) {
        rlimit cores{};
        const bool closed = prctl(PR_GET_DUMPABLE) == 0 && getrlimit(RLIMIT_CORE, &cores) == 0 &&
                            cores.rlim_cur == 0 && cores.rlim_max == 0;
        if (!closed || given.config != config || given.check != check) std::exit(99);
        return status;
      }};
  std::exit(RunDaemon(static_cast<int>(arguments.size()), arguments.data(), program));
}

TEST(ProgramTest, WhatIsServedMakesNoCoreDumps) {
  EXPECT_EXIT(ServeAndEnd({"serve", "--config", "a.toml"}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ServeAndEnd({"serve", "--check", "--config", "a.toml"}, {}, "a.toml", true),
              ::testing::ExitedWithCode(0), "");
}

TEST(ProgramTest, ExitCodesSayWhatIsWrong) {
  const auto serve = std::vector<const char*>{"serve", "--config", "a.toml"};
  EXPECT_EXIT(ServeAndEnd(serve, absl::InvalidArgumentError("a.toml:3: no such key")),
              ::testing::ExitedWithCode(3), "heft-matcher: a.toml:3: no such key");
  EXPECT_EXIT(ServeAndEnd(serve, absl::UnavailableError("in use")), ::testing::ExitedWithCode(4),
              "in use");
}

TEST(ProgramTest, WrongArgumentsAreNamed) {
  EXPECT_EXIT(ServeAndEnd({}), ::testing::ExitedWithCode(2), "subcommand");
  EXPECT_EXIT(ServeAndEnd({"serve"}), ::testing::ExitedWithCode(2), "--config");
  EXPECT_EXIT(ServeAndEnd({"serve", "--config", "a", "--chek"}), ::testing::ExitedWithCode(2),
              "--chek");
  EXPECT_EXIT(ServeAndEnd({"--help"}), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace heft::service
