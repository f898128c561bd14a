// SPDX-License-Identifier: Apache-2.0
#include "program/common.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "heft/base.h"

namespace heft::cli {
namespace {

std::atomic<bool> g_interrupted{false};
absl::Status g_status;  // of the subcommand that ran
std::string g_command;
std::string g_nevertheless;
constexpr char kWrongUsage[] = "heft/wrong-usage";

void OnSignal(int) { g_interrupted.store(true); }

// HandleSignals: SIGINT and SIGTERM ask the program to stop, and interrupt a wait for a pipe; a
// second one ends it at once. A full disk, a file size limit and a closed reader become errors of
// the write.
void HandleSignals() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESETHAND;  // and no SA_RESTART
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  SetInterruptedCheck(Interrupted);
}

// HoldStandardStreams: opens a placeholder for each closed standard stream. Otherwise the next file
// to be opened, for example a gallery's store, would become stdout.
void HoldStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest that is free, which is this one.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) {
      std::_Exit(kExitSystem);
    }
  }
}

constexpr char kNoMemory[] = "heft: not enough memory: free some, or raise the limit (ulimit -v)\n";

// OnTerminate: memory can run out where an exception cannot pass. Nothing here takes any.
[[noreturn]] void OnTerminate() {
  const char* what = "heft: internal error: a task ended without a reason\n";
  int code = kExitInternal;
  try {
    if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    what = kNoMemory;
    code = kExitSystem;
  } catch (...) {
  }
  if (write(STDERR_FILENO, what, std::strlen(what)) < 0) code = kExitSystem;
  std::_Exit(code);
}

// `text` on one line, whatever names from files or arguments it quotes: control characters, which
// could also steer a terminal, become \xNN.
std::string OneLine(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    if (c < 32 || c == 127) {
      absl::StrAppendFormat(&out, "\\x%02x", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

double Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// ProgressLine: a line on stderr, rewritten in place on a terminal and printed now and then
// otherwise.
class ProgressLine {
 public:
  ~ProgressLine() { End(); }

  void Show(const ProgressEvent& event) {
    if (event.what != what_) {
      End();
      what_ = event.what;
      last_ = -1e9;
    }
    const double now = Now();
    if (now - last_ < (terminal_ ? 0.1 : 5) && event.done != event.total) return;
    last_ = now;
    open_ = terminal_;
    std::cerr << (terminal_ ? "\r\033[K" : "")
              << absl::StrFormat("%s %d/%d (%.0f%%) %s", what_, event.done, event.total,
                                 100.0 * event.done / event.total, std::string(event.note))
              << (terminal_ ? "" : "\n") << std::flush;
  }

 private:
  void End() {
    if (open_) std::cerr << "\n";
    open_ = false;
  }

  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool open_ = false;  // a line without its end
  std::string what_;
  double last_ = 0;
};

}  // namespace

absl::Status OtherKind(const std::string& path, const std::string& found,
                       const std::string& takes) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": a file of another kind: ", found, "; give ", takes));
}

absl::Status WrongUsage(const std::string& why) {
  absl::Status status = absl::InvalidArgumentError(why);
  status.SetPayload(kWrongUsage, absl::Cord());
  return status;
}

int ExitCode(const absl::Status& status) {
  if (status.GetPayload(kWrongUsage)) return kExitUsage;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
      return kExitInput;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kPermissionDenied:
      return kExitSystem;
    case absl::StatusCode::kResourceExhausted:
      return kExitBudget;
    case absl::StatusCode::kAborted:
      return kExitFinding;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitInternal;
  }
}

void Print(const Common& common, const Json& json, std::string_view text) {
  std::ostream& out = StdoutIsOutput() ? std::cerr : std::cout;
  if (common.json) {
    // Paths are bytes; JSON takes UTF-8 only, and must not fail over a name.
    out << json.dump(2) << "\n";
  } else {
    out << text;
    if (!text.empty() && text.back() != '\n') out << "\n";
  }
}

void Print(const Common& common, const Described& result) {
  for (const std::string& warning : result.warnings) Warn(common, warning);
  Print(common, result.json, result.text);
}

absl::StatusOr<std::vector<Digest>> ParseEntries(const char* flag,
                                                 const std::vector<std::string>& texts) {
  std::vector<Digest> entries;
  for (const std::string& text : texts) {
    const auto entry = ParseSignerKey(text);
    if (!entry.ok() || text.size() != 2 * entry->size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, " ", text,
          ": give the 64 hexadecimal digits of an entry, as heft answer and heft-server "
          "pending show them"));
    }
    entries.push_back(*entry);
  }
  return entries;
}

void SayNevertheless(std::string text) { g_nevertheless = std::move(text); }

Command AddCommand(Command app, const std::string& name, const std::string& description,
                   const std::string& example, Body body) {
  auto common = std::make_shared<Common>();
  auto self = std::make_shared<std::optional<Command>>();
  auto run = [common, self, body = std::move(body)] {
    SetThreadCount(common->threads);
    common->command = g_command;
    common->monitor = [quiet = common->quiet,
                       line = std::make_shared<ProgressLine>()](const ProgressEvent& event) {
      if (!quiet && event.total > 0) line->Show(event);
      return !Interrupted();
    };
    g_status = CheckOutputsDiffer(**self);
    // If an interruption comes too late, the body finishes and reports its result.
    if (g_status.ok()) g_status = body(*common);
    common->monitor = {};
  };
  const Command command = app.AddCommand(name, description, "Example:\n  " + example, run);
  *self = command;
  command.Add("--json", &common->json, "print the result as one JSON object");
  command.Add("-q,--quiet", &common->quiet, "do not show progress on stderr");
  command.Add("--threads", &common->threads, "threads to use; 0: all cores")
      .Range(0, 1024)
      .ShowDefault();
  return command;
}

int RunMain(int argc, char** argv, const std::string& description,
            const std::function<void(Command)>& add_commands) {
  HoldStandardStreams();
  HandleSignals();
  std::set_terminate(OnTerminate);
  GuardInputs();
  // Secrets must not end up in a core dump.
  if (const absl::Status off = DisableCoreDumps(); !off.ok()) {
    std::cerr << "heft: warning: " << off.message() << "\n";
  }

  // If the forced instruction set is missing, do not silently use another one.
  const char* simd = std::getenv("HEFT_SIMD");
  if (simd != nullptr && *simd != '\0' && std::string_view(simd) != ActiveInstructionSet()) {
    std::string names;
    for (const std::string& name : InstructionSets()) absl::StrAppend(&names, " ", name);
    std::cerr << "heft: HEFT_SIMD names no instruction set of this machine; choose one of" << names
              << "\n";
    return kExitUsage;
  }

  Program program(
      description, std::string("heft ") + HEFT_VERSION,
      "Exit codes: 0 success, 1 internal error, 2 wrong usage, 3 wrong input, 4 refused by the\n"
      "system, 5 refused by the query budget, 6 an audit has found something wrong,\n"
      "130 interrupted.");
  add_commands(program.root());
  g_command = ShellLine({argv, argv + argc});
  try {
    const Program::Outcome outcome = program.Parse(argc, argv);
    if (outcome == Program::Outcome::kHelpShown) return kExitOk;
    if (outcome == Program::Outcome::kWrongUsage) return kExitUsage;
  } catch (const std::bad_alloc&) {
    std::cerr << kNoMemory;
    return kExitSystem;
  } catch (const std::exception& e) {
    std::cerr << "heft: internal error: " << e.what() << "\n";
    return kExitInternal;
  }
  if (const absl::Status locked = SecureMemoryStatus(); !locked.ok()) {
    std::cerr << "heft: warning: " << locked.message() << "\n";
  }
  if (!g_status.ok()) std::cerr << "heft: " << OneLine(std::string(g_status.message())) << "\n";
  std::cout.flush();
  if (g_status.ok() && !std::cout) {
    std::cerr << "heft: cannot write to stdout"
              << (g_nevertheless.empty() ? "" : "; " + OneLine(g_nevertheless)) << "\n";
    return kExitSystem;
  }
  return ExitCode(g_status);
}

std::string HexString(std::span<const uint8_t> id) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(id.data()), id.size()));
}

std::string TimeText(uint64_t time, const char* never) { return time == 0 ? never : UtcText(time); }

absl::StatusOr<std::vector<std::vector<uint8_t>>> ReadFiles(const std::vector<std::string>& paths,
                                                            uint64_t max_size) {
  std::vector<std::vector<uint8_t>> files;
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path, max_size));
    files.push_back(std::move(bytes));
  }
  return files;
}

bool Interrupted() { return g_interrupted.load(); }

void Warn(const Common& common, std::string_view text) {
  if (common.quiet) return;
  const char* no_color = std::getenv("NO_COLOR");
  const bool red = isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
  std::cerr << (red ? "\033[1;31m" : "") << "heft: warning: " << OneLine(text)
            << (red ? "\033[0m" : "") << "\n";
}

void SayLeftOut(const Common& common, const std::vector<std::string>& left_out) {
  if (common.quiet || left_out.empty()) return;
  std::cerr << "heft: not a modality, because it does not begin with a number: "
            << OneLine(absl::StrJoin(left_out, ", ")) << "\n";
}

absl::StatusOr<std::string> ReadPassphrase(const std::string& file, bool confirm) {
  if (!file.empty()) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(file, 1 << 16));
    std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\n'));
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": empty passphrase"));
    return text;
  }
  auto ask = [](const char* prompt) -> absl::StatusOr<std::string> {
    std::FILE* terminal = std::fopen("/dev/tty", "r+");
    if (terminal == nullptr) {
      return absl::InvalidArgumentError(
          "no terminal to ask for a passphrase: give --passphrase-file");
    }
    std::fputs(prompt, terminal);
    termios before;
    tcgetattr(fileno(terminal), &before);
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(fileno(terminal), TCSAFLUSH, &silent);
    char line[1024] = {};
    const bool read = std::fgets(line, sizeof(line), terminal) != nullptr;
    tcsetattr(fileno(terminal), TCSAFLUSH, &before);
    std::fputs("\n", terminal);
    std::fclose(terminal);
    std::string text = read ? line : "";
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (Interrupted()) return absl::CancelledError("interrupted");
    if (text.empty()) return absl::InvalidArgumentError("empty passphrase");
    return text;
  };
  HEFT_ASSIGN_OR_RETURN(const std::string first, ask("Passphrase: "));
  if (confirm) {
    HEFT_ASSIGN_OR_RETURN(const std::string second, ask("Once more: "));
    if (first != second) return absl::InvalidArgumentError("the two passphrases differ");
  }
  return first;
}

}  // namespace heft::cli
