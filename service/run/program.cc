// SPDX-License-Identifier: Apache-2.0
#include "service/run/program.h"

#include <malloc.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "heft/base.h"
#include "program/flags.h"

namespace heft::service {
namespace {

constexpr int kExitUsage = 2, kExitConfig = 3, kExitSystem = 4;

// KeepMemoryTogether: by default the C library gives each thread an arena, and raises the size from
// which memory is mapped up to 32 MB. With many workers, free memory would be scattered over all
// arenas. Buffers of files and replies are smaller than a megabyte: they stay, because memory that
// goes back to the system is cleared when it comes again.
void KeepMemoryTogether() {
  mallopt(M_ARENA_MAX, 4);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

absl::Status Serve(const DaemonProgram& program, const ServeArguments& arguments) {
  const absl::Status off = DisableCoreDumps();
  if (!off.ok()) return off;
  KeepMemoryTogether();
  Signals signals;  // before any thread
  return program.serve(arguments, &signals);
}

}  // namespace

int RunDaemon(int argc, const char* const* argv, const DaemonProgram& program) {
  const std::string footer = absl::StrCat(
      "Example:\n  ", program.name, " serve --config /etc/heft/", program.name.substr(5),
      ".toml --check\nExit codes: ", kExitUsage, " wrong arguments, ", kExitConfig,
      " an error in the configuration or in a file that it names, ", kExitSystem,
      " the system refuses.");
  const cli::Program command_line(program.about, absl::StrCat(program.name, " ", HEFT_VERSION),
                                  footer);
  ServeArguments arguments;
  absl::Status status;
  const cli::Command serve = command_line.root().AddCommand(
      "serve", program.about, footer, [&] { status = Serve(program, arguments); });
  serve.Add("--config", &arguments.config, "file of its configuration (docs/operations.md)")
      .Required();
  serve.Add("--check", &arguments.check,
            "check the configuration and all files that it names, then exit");
  switch (command_line.Parse(argc, argv)) {
    case cli::Program::Outcome::kHelpShown:
      return 0;
    case cli::Program::Outcome::kWrongUsage:
      return kExitUsage;
    case cli::Program::Outcome::kRan:
      break;
  }
  if (status.ok()) return 0;
  std::cerr << program.name << ": " << status.message() << "\n";
  return absl::IsUnavailable(status) ? kExitSystem : kExitConfig;
}

}  // namespace heft::service
