// SPDX-License-Identifier: Apache-2.0
// The command line of both daemons: `NAME serve --config FILE [--check]`, help and exit codes.
#ifndef HEFT_SERVICE_RUN_PROGRAM_H_
#define HEFT_SERVICE_RUN_PROGRAM_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "service/run/notify.h"

namespace heft::service {

struct ServeArguments {
  std::string config;  // FILE
  bool check = false;  // read all its files, report errors, and end
};

struct DaemonProgram {
  std::string name;   // heft-matcher
  std::string about;  // a sentence, in --help
  std::function<absl::Status(const ServeArguments&, Signals*)> serve;
};

// RunDaemon: main(). Forbids core dumps before any secret is read. Returns 0; 2 for wrong
// arguments; 3 for errors in the configuration and its files; 4 if the system refuses
// (kUnavailable).
int RunDaemon(int argc, const char* const* argv, const DaemonProgram& program);

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_PROGRAM_H_
