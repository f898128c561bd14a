// SPDX-License-Identifier: Apache-2.0
// The command line: commands, their options, what options take. CLI11 does the work, behind this
// file, because every file that reads it costs seconds to compile.
#ifndef HEFT_PROGRAM_FLAGS_H_
#define HEFT_PROGRAM_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace heft::cli {

// Option: a handle on an option of a command. Each call returns the same option.
class Option {
 public:
  Option Required() const;
  // Shows in --help what the variable holds now.
  Option ShowDefault() const;
  // Takes numbers from `low` to `high`, of options whose variable is a number.
  Option Range(double low, double high) const;
  // Takes these words alone.
  Option Choices(std::initializer_list<const char*> words) const;
  // Cannot be given together with `other`.
  Option Excludes(Option other) const;
  // Can only be given together with `other`.
  Option Needs(Option other) const;

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

// Command: a handle on a command, which has options, or commands of its own.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // Adds an option, which sets `*variable` where it is given. `names` are apart by commas
  // ("-q,--quiet"); one without dashes is an argument by position. No option takes an empty value
  // (an unset shell variable); numbers are decimal, and whole ones that do not fit are refused.
  // T: std::string, int, uint32_t, size_t, double; an optional number; or a vector, which takes one
  // value or more: --in a b, or --in a --in b.
  template <typename T>
  Option Add(const std::string& names, T* variable, const std::string& help) const;
  // The same with a function that is called with the value.
  Option Add(const std::string& names, std::function<void(const std::string&)> take,
             const std::string& help) const;

  // One of the two must be given.
  void RequireOneOf(Option a, Option b) const;

  // The value given for an option that takes one; empty where it is absent or was not given.
  std::string Given(const std::string& name) const;

  // AddCommand adds a command of its own; `body` is called when it has been parsed. `footer` closes
  // its --help.
  Command AddCommand(const std::string& name, const std::string& description,
                     const std::string& footer, std::function<void()> body) const;
  // Group finds or adds a command that only holds others.
  Command Group(const std::string& name, const std::string& description) const;

 private:
  CLI::App* app_;
};

// ShellLine: the arguments as a shell takes them, in quotes where they need them, the program by
// its name alone.
std::string ShellLine(std::vector<std::string> args);

// Program: the command line of a program whose first word is a command.
class Program {
 public:
  Program(const std::string& description, const std::string& version, const std::string& footer);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root() const;

  // What Parse came to.
  enum class Outcome { kRan, kHelpShown, kWrongUsage };
  // Parse reads the arguments and calls the body of their command; or shows help on stdout, or an
  // error on stderr.
  Outcome Parse(int argc, const char* const* argv) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_FLAGS_H_
