// SPDX-License-Identifier: Apache-2.0
// What all subcommands share: options, output, exit codes, progress, files.
//
// stdout carries results (text, or one JSON object with --json), stderr everything else.
// Exit codes: 0 success; 1 internal error; 2 wrong usage; 3 wrong input (damaged, mismatched or
// unusable files and values, unknown names); 4 the system refused (disk, permission, lock);
// 5 refused by the query budget; 130 interrupted. Nothing is left half changed by any of them.
#ifndef HEFT_CLI_COMMON_H_
#define HEFT_CLI_COMMON_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "fusion/model.h"

namespace heft::cli {

using Json = nlohmann::ordered_json;

inline constexpr int kExitOk = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInput = 3;
inline constexpr int kExitSystem = 4;
inline constexpr int kExitBudget = 5;
inline constexpr int kExitInterrupted = 130;

int ExitCode(const absl::Status& status);

// Options of every subcommand.
struct Common {
  bool json = false;
  bool quiet = false;  // no progress on stderr
  int threads = 0;     // 0: all cores
};

// Prints a result: `json` with --json, otherwise `text`.
void Print(const Common& common, const Json& json, std::string_view text);

// Adds a subcommand with the common options, whose body runs after parsing. `example` closes
// --help.
using Body = std::function<absl::Status(const Common&)>;
CLI::App* AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& example, Body body);

// Runs the program: parses, calls the chosen body, reports errors. Returns the exit code.
int RunMain(int argc, char** argv, const std::string& description,
            const std::function<void(CLI::App&)>& add_commands);

// A progress line on stderr, rewritten in place on a terminal and printed now and then otherwise.
// Returns false once the user has interrupted (SIGINT, SIGTERM).
class Progress {
 public:
  Progress(const Common& common, std::string what);
  ~Progress();
  bool Update(size_t done, size_t total, std::string_view note = "");
  // As a callback for library functions.
  std::function<bool(size_t, size_t)> Callback();

 private:
  bool enabled_;
  bool terminal_;
  bool printed_ = false;
  std::string what_;
  double last_ = -1e9;
};
bool Interrupted();

// Writes a subcommand's output file, unless the user has interrupted (kCancelled): code 130 then
// means that nothing was written.
absl::Status WriteResult(const std::string& path, ByteSpan bytes);

absl::StatusOr<Model> LoadModel(const std::string& path);

// A passphrase: from the first line of `file`, or asked for on the terminal without echo where
// `file` is empty. kInvalidArgument if it is empty or there is no terminal.
absl::StatusOr<std::string> ReadPassphrase(const std::string& file, bool confirm);

// "1.5 MB".
std::string HumanBytes(double bytes);

}  // namespace heft::cli

#endif  // HEFT_CLI_COMMON_H_
