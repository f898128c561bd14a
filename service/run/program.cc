// SPDX-License-Identifier: Apache-2.0
#include "service/run/program.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "heft/runtime.h"

namespace heft::service {
namespace {

constexpr int kExitUsage = 2, kExitConfig = 3, kExitSystem = 4;

absl::Status Serve(const DaemonProgram& program, const ServeArguments& arguments) {
  const absl::Status off = DisableCoreDumps();
  if (!off.ok()) return off;
  Signals signals;  // before any thread
  return program.serve(arguments, &signals);
}

}  // namespace

int RunDaemon(int argc, const char* const* argv, const DaemonProgram& program) {
  CLI::App app(program.about, program.name);
  app.require_subcommand(1);
  ServeArguments arguments;
  CLI::App* const serve = app.add_subcommand("serve", program.about);
  serve->add_option("--config", arguments.config, "its configuration (docs/operations.md)")
      ->required()
      ->type_name("FILE");
  serve->add_flag("--check", arguments.check,
                  "read everything that it names, say what is wrong, and end");
  const std::string footer = absl::StrCat(
      "Example:\n  ", program.name, " serve --config /etc/heft/", program.name.substr(5),
      ".toml --check\nExit codes: ", kExitUsage, " wrong arguments, ", kExitConfig,
      " something is wrong with the configuration or what it names, ", kExitSystem,
      " the system refuses.");
  app.footer(footer);
  serve->footer(footer);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  const absl::Status status = Serve(program, arguments);
  if (status.ok()) return 0;
  std::cerr << program.name << ": " << status.message() << "\n";
  return absl::IsUnavailable(status) ? kExitSystem : kExitConfig;
}

}  // namespace heft::service
