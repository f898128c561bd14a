// SPDX-License-Identifier: Apache-2.0
// What both daemons are as programs: `NAME serve --config FILE [--check]`, their help and exit
// codes.
#ifndef HEFT_SERVICE_RUN_PROGRAM_H_
#define HEFT_SERVICE_RUN_PROGRAM_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "service/run/notify.h"

namespace heft::service {

struct ServeArguments {
  std::string config;  // FILE
  bool check = false;  // read everything that it names, say what is wrong, and end
};

struct DaemonProgram {
  std::string name;   // heft-matcher
  std::string about;  // a sentence, in --help
  std::function<absl::Status(const ServeArguments&, Signals*)> serve;
};

// RunDaemon: main(). No core dumps are made of the process, before anything secret is read. 0; 2
// for wrong arguments; 3 for what is wrong with the configuration and what it names; 4 where the
// system refuses (kUnavailable).
int RunDaemon(int argc, const char* const* argv, const DaemonProgram& program);

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_PROGRAM_H_
