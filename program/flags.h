// SPDX-License-Identifier: Apache-2.0
// The command line: commands, options and their values. CLI11 does the work behind this header,
// because including CLI11 costs seconds in each file.
#ifndef HEFT_PROGRAM_FLAGS_H_
#define HEFT_PROGRAM_FLAGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  // Shows the current value of the variable in --help.
  Option ShowDefault() const;
  // Accepts only numbers from `low` to `high`; for options whose variable is a number.
  Option Range(double low, double high) const;
  // Accepts only these words.
  Option Choices(std::initializer_list<const char*> words) const;
  // Names these words in --help, and takes others, too.
  Option Suggests(std::initializer_list<const char*> words) const;
  // Cannot be given together with `other`.
  Option Excludes(Option other) const;
  // Can only be given together with `other`.
  Option Needs(Option other) const;

 private:
  friend class Command;
  friend class Kinds;
  explicit Option(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

// Command: a handle of a command, which has options or subcommands.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // Adds an option, which sets `*variable` if it is given. Commas separate `names` ("-q,--quiet");
  // a name without dashes is a positional argument. No option accepts an empty value (an unset
  // shell variable). Numbers are decimal, and integers that do not fit are refused. T: std::string,
  // int, uint32_t, size_t, double; an optional number; or a vector, which takes one value or more:
  // --in a b, or --in a --in b.
  template <typename T>
  Option Add(const std::string& names, T* variable, const std::string& help) const;
  // The same with a function that is called with the value.
  Option Add(const std::string& names, std::function<void(const std::string&)> take,
             const std::string& help) const;

  // The same for an option that takes one or more NAME=NUMBER, whole numbers from 0 on.
  struct Named {
    const char* name;
    std::optional<uint64_t>* number;
  };
  Option AddNumbers(const std::string& names, std::vector<Named> numbers,
                    const std::string& help) const;

  // One of them must be given.
  template <typename... Options>
  void RequireOneOf(Options... options) const {
    RequireAny({options...});
  }

  // The value given for an option that takes one; empty if it was not given or does not exist.
  std::string Given(const std::string& name) const;

  // AddCommand adds a subcommand; `body` is called after parsing it. `footer` ends its --help.
  Command AddCommand(const std::string& name, const std::string& description,
                     const std::string& footer, std::function<void()> body) const;
  // Group finds or adds a command that only holds others.
  Command Group(const std::string& name, const std::string& description) const;

 private:
  friend class Kinds;
  void RequireAny(std::vector<Option> options) const;
  CLI::App* app_;
};

// Kinds: the first argument of a command that does one thing to objects of several kinds ("heft
// study gallery"). Each option belongs to all kinds, or to those that Only names; its help says so.
class Kinds {
 public:
  using Words = std::vector<std::string>;
  // Adds the argument, which must be one of `known`: words, and what the command does with each.
  Kinds(Command command, const std::string& name, std::string* kind,
        const std::vector<std::pair<std::string, std::string>>& known);
  // Only: `option` is refused with other kinds than `kinds`; those of them in `needed` need it.
  void Only(Option option, const Words& kinds, const Words& needed = {}) const;

 private:
  struct Rule;
  std::shared_ptr<std::vector<Rule>> rules_;
};

// ShellLine: the arguments as a shell line, quoted if needed, and the program without its path.
std::string ShellLine(std::vector<std::string> args);

// Program: the command line of a program whose first word is a command.
class Program {
 public:
  Program(const std::string& description, const std::string& version, const std::string& footer);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command root() const;

  // Outcome: the result of Parse.
  enum class Outcome { kRan, kHelpShown, kWrongUsage };
  // Parse reads the arguments and calls the body of their command; or shows help on stdout, or an
  // error on stderr.
  Outcome Parse(int argc, const char* const* argv) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_FLAGS_H_
