// SPDX-License-Identifier: Apache-2.0
#include "program/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
#include <limits>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace heft::cli {
namespace {

// The value in quotes, cut so that an error fits in one line.
std::string Quoted(const std::string& value) {
  constexpr size_t kShown = 40;
  if (value.size() <= kShown) return absl::StrCat("\"", value, "\"");
  return absl::StrCat("\"", value.substr(0, kShown), "...\"");
}

// Read: reads an option's value; returns an error message, or empty.
std::string Read(const std::string& text, std::string* value) {
  *value = text;
  return "";
}

std::string Read(const std::string& text, double* value) {
  return absl::SimpleAtod(text, value) ? "" : absl::StrCat(Quoted(text), " is not a number");
}

template <typename Integer>
std::enable_if_t<std::is_integral_v<Integer>, std::string> Read(const std::string& text,
                                                                Integer* value) {
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, *value);
  if (end == last && error == std::errc::result_out_of_range) {
    return absl::StrCat(Quoted(text), " is too large: at most ",
                        std::numeric_limits<Integer>::max());
  }
  if (end == last && error == std::errc()) return "";
  return absl::StrCat(Quoted(text), " is not a whole number",
                      std::is_unsigned_v<Integer> ? " from 0 on" : "");
}

template <typename T>
struct Single {
  using Value = T;
  static constexpr bool kMany = false;
  static void Set(const std::vector<T>& values, T* variable) { *variable = values.back(); }
  static std::string Show(const T& value) { return absl::StrCat(value); }
};
template <typename T>
struct Single<std::optional<T>> {
  using Value = T;
  static constexpr bool kMany = false;
  static void Set(const std::vector<T>& values, std::optional<T>* variable) {
    *variable = values.back();
  }
  static std::string Show(const std::optional<T>& value) {
    return value ? absl::StrCat(*value) : "";
  }
};
template <typename T>
struct Single<std::vector<T>> {
  using Value = T;
  static constexpr bool kMany = true;
  static void Set(const std::vector<T>& values, std::vector<T>* variable) { *variable = values; }
  static std::string Show(const std::vector<T>& values) { return absl::StrJoin(values, " "); }
};

template <typename T>
const char* TypeName() {
  if constexpr (std::is_same_v<T, std::string>) return "TEXT";
  if constexpr (std::is_same_v<T, double>) return "NUMBER";
  return std::is_unsigned_v<T> ? "UINT" : "INT";
}

template <typename T>
CLI::Option* AddValue(CLI::App* app, const std::string& names, T* variable,
                      const std::string& help) {
  using Value = typename Single<T>::Value;
  const CLI::callback_t set = [variable](const CLI::results_t& results) {
    std::vector<Value> values(results.size());
    for (size_t i = 0; i < results.size(); ++i) Read(results[i], &values[i]);
    Single<T>::Set(values, variable);
    return true;
  };
  auto show = [variable] { return Single<T>::Show(*variable); };
  CLI::Option* option = app->add_option(names, set, help, /*defaulted=*/false, show);
  option->type_name(TypeName<Value>())->type_size(1);
  option->expected(Single<T>::kMany ? CLI::detail::expected_max_vector_size : 1);
  option->check([](const std::string& text) -> std::string {
    Value value;
    return text.empty() ? "is empty" : Read(text, &value);
  });
  return option;
}

// Letters to insert, remove, exchange or replace to make one of the other.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

// MostLike: the most similar known word; empty if none is similar.
std::string MostLike(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& one : known) {
    const size_t distance = Distance(word, one);
    if (distance < least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

}  // namespace

Option Option::Required() const {
  option_->required();
  return *this;
}

Option Option::ShowDefault() const {
  option_->capture_default_str();
  return *this;
}

Option Option::Range(double low, double high) const {
  const std::string range = absl::StrFormat("%.15g to %.15g", low, high);
  option_->type_name(absl::StrCat(option_->get_type_name(), " (", range, ")"));
  option_->check([low, high, range](const std::string& text) -> std::string {
    double value;
    if (absl::SimpleAtod(text, &value) && low <= value && value <= high) return "";
    return absl::StrCat(Quoted(text), " is not in ", range);
  });
  return *this;
}

Option Option::Choices(std::initializer_list<const char*> words) const {
  const std::vector<std::string> known(words.begin(), words.end());
  const std::string list = absl::StrJoin(known, ", ");
  option_->type_name(absl::StrCat("(", list, ")"));
  option_->check([known, list](const std::string& text) -> std::string {
    for (const std::string& word : known) {
      if (text == word) return "";
    }
    return absl::StrCat(Quoted(text), " is none of ", list);
  });
  return *this;
}

Option Option::Suggests(std::initializer_list<const char*> words) const {
  option_->type_name(absl::StrCat("(", absl::StrJoin(words, ", "), ")"));
  return *this;
}

Option Option::Excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::Needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

template <typename T>
Option Command::Add(const std::string& names, T* variable, const std::string& help) const {
  if constexpr (std::is_same_v<T, bool>) {
    return Option(app_->add_flag(names, *variable, help));
  } else {
    return Option(AddValue(app_, names, variable, help));
  }
}
// The types of options, instantiated once for all files.
template Option Command::Add(const std::string&, bool*, const std::string&) const;
template Option Command::Add(const std::string&, std::string*, const std::string&) const;
template Option Command::Add(const std::string&, int*, const std::string&) const;
template Option Command::Add(const std::string&, uint32_t*, const std::string&) const;
template Option Command::Add(const std::string&, size_t*, const std::string&) const;
template Option Command::Add(const std::string&, double*, const std::string&) const;
template Option Command::Add(const std::string&, std::optional<int>*, const std::string&) const;
template Option Command::Add(const std::string&, std::optional<size_t>*, const std::string&) const;
template Option Command::Add(const std::string&, std::optional<double>*, const std::string&) const;
template Option Command::Add(const std::string&, std::vector<std::string>*,
                             const std::string&) const;
template Option Command::Add(const std::string&, std::vector<int>*, const std::string&) const;
template Option Command::Add(const std::string&, std::vector<uint32_t>*, const std::string&) const;
template Option Command::Add(const std::string&, std::vector<double>*, const std::string&) const;

Option Command::Add(const std::string& names, std::function<void(const std::string&)> take,
                    const std::string& help) const {
  const CLI::callback_t set = [take = std::move(take)](const CLI::results_t& results) {
    take(results.back());
    return true;
  };
  CLI::Option* option = app_->add_option(names, set, help);
  option->type_name("TEXT")->check(
      [](const std::string& text) -> std::string { return text.empty() ? "is empty" : ""; });
  return Option(option);
}

Option Command::AddNumbers(const std::string& names, std::vector<Named> numbers,
                           const std::string& help) const {
  const std::string list = absl::StrJoin(numbers, ", ", [](std::string* out, const Named& one) {
    absl::StrAppend(out, one.name, "=");
  });
  // Sets the number that `text` names; returns an error message, or empty.
  const auto take = [numbers, list](const std::string& text) -> std::string {
    const size_t sign = text.find('=');
    for (const Named& one : numbers) {
      if (sign == std::string::npos || text.substr(0, sign) != one.name) continue;
      uint64_t number = 0;
      std::string why = Read(text.substr(sign + 1), &number);
      if (why.empty()) *one.number = number;
      return why;
    }
    return absl::StrCat(Quoted(text), " begins with none of ", list);
  };
  CLI::Option* option = app_->add_option(
      names, [](const CLI::results_t&) { return true; }, help);
  option->type_name("NAME=UINT")->type_size(1)->expected(CLI::detail::expected_max_vector_size);
  option->check(take);
  return Option(option);
}

void Command::RequireAny(std::vector<Option> options) const {
  app_->parse_complete_callback([options = std::move(options)] {
    std::string names;
    for (const Option& option : options) {
      if (!option.option_->empty()) return;
      absl::StrAppend(&names, names.empty() ? "" : " or ", option.option_->get_name());
    }
    throw CLI::RequiredError(names);
  });
}

struct Kinds::Rule {
  CLI::Option* option;
  Words kinds, needed;
};

Kinds::Kinds(Command command, const std::string& name, std::string* kind,
             const std::vector<std::pair<std::string, std::string>>& known)
    : rules_(std::make_shared<std::vector<Rule>>()) {
  Words words, about;
  for (const auto& [word, does] : known) {
    words.push_back(word);
    about.push_back(absl::StrCat(word, ": ", does));
  }
  const std::string list = absl::StrJoin(words, ", ");
  CLI::Option* option = AddValue(command.app_, name, kind, absl::StrJoin(about, ";\n"));
  option->required()->type_name(absl::StrCat("(", list, ")"));
  option->check([words, list](const std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return "";
    const std::string like = MostLike(text, words);
    return absl::StrCat(Quoted(text), " is none of ", list,
                        like.empty() ? "" : absl::StrCat(": did you mean ", like, "?"));
  });
  command.app_->parse_complete_callback([rules = rules_, kind] {
    for (const Rule& rule : *rules) {
      const std::string option_name = rule.option->get_name();
      const bool given = !rule.option->empty();
      if (given && std::ranges::find(rule.kinds, *kind) == rule.kinds.end()) {
        throw CLI::ValidationError(
            absl::StrCat(option_name, " is for ", absl::StrJoin(rule.kinds, ", "), ", not ", *kind),
            CLI::ExitCodes::ValidationError);
      }
      if (!given && std::ranges::find(rule.needed, *kind) != rule.needed.end()) {
        throw CLI::RequiredError(absl::StrCat(option_name, " is required for ", *kind),
                                 CLI::ExitCodes::RequiredError);
      }
    }
  });
}

void Kinds::Only(Option option, const Words& kinds, const Words& needed) const {
  CLI::Option* const one = option.option_;
  std::string whose;
  for (const std::string& kind : kinds) {
    const bool must = std::ranges::find(needed, kind) != needed.end();
    const bool marked = must && needed.size() < kinds.size();
    absl::StrAppend(&whose, whose.empty() ? "" : ", ", kind, marked ? " (required)" : "");
  }
  if (needed.size() == kinds.size()) whose += " (required)";
  one->description(absl::StrCat(whose, ": ", one->get_description()));
  rules_->push_back({one, kinds, needed});
}

std::string Command::Given(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(name);
  return option == nullptr || option->empty() ? "" : option->results().front();
}

Command Command::AddCommand(const std::string& name, const std::string& description,
                            const std::string& footer, std::function<void()> body) const {
  CLI::App* command = app_->add_subcommand(name, description);
  command->footer(footer);
  command->callback(std::move(body));
  return Command(command);
}

Command Command::Group(const std::string& name, const std::string& description) const {
  for (CLI::App* known : app_->get_subcommands({})) {
    if (known->get_name() == name) return Command(known);
  }
  CLI::App* group = app_->add_subcommand(name, description);
  group->require_subcommand(1);
  return Command(group);
}

std::string ShellLine(std::vector<std::string> args) {
  args[0] = args[0].substr(args[0].rfind('/') + 1);
  for (std::string& arg : args) {
    const bool plain = std::all_of(arg.begin(), arg.end(), [](unsigned char c) {
      return absl::ascii_isalnum(c) || std::strchr("/._-+:,=", c) != nullptr;
    });
    if (plain && !arg.empty()) continue;
    arg = absl::StrCat("'", absl::StrReplaceAll(arg, {{"'", "'\\''"}}), "'");
  }
  return absl::StrJoin(args, " ");
}

Program::Program(const std::string& description, const std::string& version,
                 const std::string& footer)
    : app_(std::make_unique<CLI::App>(description)) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version);
  app_->footer(footer);
}

Program::~Program() = default;

namespace {

// Commands that one program has alone. packaging/manual/count_test.py compares them with the
// programs.
constexpr std::pair<const char*, const char*> kCommands[] = {
    {"heft",
     "init add search remove export-role synth train calibrate keygen share encrypt authorise "
     "answer decrypt canary budget rekey evaluate study bench"},
    {"heft-server", "enrol pending apply prepare-keys identify reveal gallery"},
    {"heft-seal", "import export"},
};

// The program that a word names, or that has it as a command: "seal" is heft-seal, "enrol" is
// heft-server enrol; empty if there is none.
std::string ProgramOf(const std::string& word) {
  const std::string name = absl::StrCat("heft-", word);
  const std::vector<std::string> programs = absl::StrSplit(HEFT_PROGRAMS, ' ');
  if (std::ranges::find(programs, name) != programs.end()) return name;
  for (const auto& [program, commands] : kCommands) {
    const std::vector<std::string> words = absl::StrSplit(commands, ' ');
    if (std::ranges::find(words, word) != words.end()) return absl::StrCat(program, " ", word);
  }
  return "";
}

// Unknown: the error for a word that no command takes, with the most similar one, or with the
// program that the first word names (heft seal: heft-seal); empty if all words are known.
std::string Unknown(const CLI::App& root) {
  const CLI::App* command = &root;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  const std::vector<std::string> rest = root.remaining(/*recurse=*/true);
  if (rest.empty()) return "";
  std::string word = rest[0];
  std::vector<std::string> known;
  const bool option = absl::StartsWith(word, "-");
  if (option) {
    word = word.substr(0, word.find('='));
    for (const CLI::Option* one : command->get_options()) {
      for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
      for (const std::string& name : one->get_snames()) known.push_back("-" + name);
    }
  } else {
    for (const CLI::App* one : command->get_subcommands({})) known.push_back(one->get_name());
    if (known.empty()) {
      return absl::StrCat(Quoted(word), " is one argument too many for ", command->get_name());
    }
  }
  std::string like = MostLike(word, known);
  if (command == &root) {
    if (const std::string program = ProgramOf(word); !program.empty()) like = program;
  }
  return absl::StrCat(Quoted(word), option ? " is no option" : " is no command",
                      command == &root ? "" : absl::StrCat(" of ", command->get_name()),
                      like.empty() ? "" : absl::StrCat(": did you mean ", like, "?"));
}

}  // namespace

Command Program::root() const { return Command(app_.get()); }

Program::Outcome Program::Parse(int argc, const char* const* argv) const {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      if (const std::string unknown = Unknown(*app_); !unknown.empty()) {
        std::cerr << unknown << "\nRun with --help for more information.\n";
        return Outcome::kWrongUsage;
      }
    }
    return app_->exit(error) == 0 ? Outcome::kHelpShown : Outcome::kWrongUsage;
  }
  return Outcome::kRan;
}

}  // namespace heft::cli
