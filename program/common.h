// SPDX-License-Identifier: Apache-2.0
// Shared by all subcommands: options, output, exit codes, progress, files.
//
// stdout carries results (text, or one JSON object with --json), stderr everything else. Exit
// codes: 0 success; 1 internal error; 2 wrong usage (WrongUsage); 3 wrong input (damaged,
// mismatched or unusable files and values, unknown names); 4 the system refused (disk, permission,
// lock); 5 refused by the query budget; 6 an audit has found something wrong; 130 interrupted. None
// of them leaves a change half done.
#ifndef HEFT_PROGRAM_COMMON_H_
#define HEFT_PROGRAM_COMMON_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/files.h"
#include "heft/model.h"
#include "heft/results.h"
#include "heft/trust.h"
#include "program/flags.h"
#include "program/outputs.h"  // WriteResult

namespace heft::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitInternal = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInput = 3;
inline constexpr int kExitSystem = 4;
inline constexpr int kExitBudget = 5;
inline constexpr int kExitFinding = 6;
inline constexpr int kExitInterrupted = 130;

int ExitCode(const absl::Status& status);
// WrongUsage: kInvalidArgument that ends with kExitUsage: arguments that are missing, exclude each
// other or are out of range. A command returns it before it reads a file.
absl::Status WrongUsage(const std::string& why);
// OtherKind: for a command that takes files of several kinds. `found`: the kind in words; `takes`:
// what the command takes.
absl::Status OtherKind(const std::string& path, const std::string& found, const std::string& takes);

// Options of every subcommand.
struct Common {
  bool json = false;
  bool quiet = false;        // no progress on stderr
  int threads = 0;           // 0: all cores
  std::string command = {};  // as a shell takes it
  // Shows progress on stderr, unless quiet; stops once the user has interrupted.
  Monitor monitor = {};
};

// Prints a result: `json` with --json, otherwise `text`. On stdout, or on stderr where an output
// file (WriteResult) went to stdout.
void Print(const Common& common, const Json& json, std::string_view text);
// The same, its warnings first.
void Print(const Common& common, const Described& result);

// SayNevertheless: the text for stderr if a result cannot be written to stdout: it says which
// changes were made all the same.
void SayNevertheless(std::string text);

// Adds a subcommand with the common options; its body runs after parsing. `example` ends --help.
using Body = std::function<absl::Status(const Common&)>;
Command AddCommand(Command app, const std::string& name, const std::string& description,
                   const std::string& example, Body body);
// The same for a body with its own options, which live as long as the command.
template <typename Options>
std::pair<Command, std::shared_ptr<Options>> AddCommand(
    Command app, const std::string& name, const std::string& description,
    const std::string& example, absl::Status (*run)(const Common&, const Options&)) {
  auto options = std::make_shared<Options>();
  const auto body = [options, run](const Common& common) { return run(common, *options); };
  return {AddCommand(app, name, description, example, Body(body)), options};
}

// Runs the program: parses, calls the chosen body, reports errors. Returns the exit code.
int RunMain(int argc, char** argv, const std::string& description,
            const std::function<void(Command)>& add_commands);

// Whether the user has interrupted (SIGINT, SIGTERM).
bool Interrupted();

// HexString: an id as all tools and files' names show it.
std::string HexString(std::span<const uint8_t> id);

// TimeText: UtcText (heft/results.h), and `never` for 0.
std::string TimeText(uint64_t time, const char* never = "never");

// ParseEntries: entries of pending enrolments, 64 hexadecimal digits each. `flag`: the option.
absl::StatusOr<std::vector<Digest>> ParseEntries(const char* flag,
                                                 const std::vector<std::string>& texts);

// ReadFiles: whole files, none larger than `max_size`.
absl::StatusOr<std::vector<std::vector<uint8_t>>> ReadFiles(const std::vector<std::string>& paths,
                                                            uint64_t max_size = kMaxFileSize);

// Warn: "heft: warning: " and `text` on stderr, unless quiet; red where that is a
// terminal and the environment has no NO_COLOR (no-color.org).
void Warn(const Common& common, std::string_view text);

// SayLeftOut: which text files of a data folder were taken for no modality, if any, on stderr.
void SayLeftOut(const Common& common, const std::vector<std::string>& left_out);

// A passphrase: from the first line of `file`, or asked for on the terminal without echo where
// `file` is empty. kInvalidArgument if it is empty or there is no terminal.
absl::StatusOr<std::string> ReadPassphrase(const std::string& file, bool confirm);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_COMMON_H_
