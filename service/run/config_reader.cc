// SPDX-License-Identifier: Apache-2.0
#include "service/run/config_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "base/status.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr uint64_t kMaxConfig = 1 << 20;

// Distance: the number of insertions, deletions and replacements between two words.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
      corner = above;
    }
  }
  return row[b.size()];
}

std::string Nearest(std::string_view word, const std::set<std::string, std::less<>>& known) {
  std::string best;
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& one : known) {
    if (const size_t distance = Distance(word, one); distance < least) {
      least = distance;
      best = one;
    }
  }
  return best;
}

const char* KindOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

}  // namespace

// ConfigFile: shared by all tables of a configuration.
struct ConfigFile {
  std::string path, folder;
  toml::table document;
  std::vector<std::pair<uint32_t, std::string>> wrong;  // line and message
};

struct ConfigTable::Node {
  std::shared_ptr<ConfigFile> file;
  const toml::table* table = nullptr;  // null: not there
  std::string name;                    // "listen", "gallery.people"
  std::set<std::string, std::less<>> asked;
  std::vector<std::shared_ptr<Node>> inside;  // tables that were asked for

  const toml::node* Find(std::string_view key) {
    asked.emplace(key);
    return table == nullptr ? nullptr : table->get(key);
  }
  std::string NameOf(std::string_view key) const {
    return name.empty() ? std::string(key) : absl::StrCat(name, ".", std::string(key));
  }
  void Wrong(const toml::node* at, std::string_view message) const {
    uint32_t line = 0;
    if (table != nullptr) line = table->source().begin.line;
    if (at != nullptr) line = at->source().begin.line;
    file->wrong.emplace_back(line, std::string(message));
  }
  // Value: a value of this type; for another type null, and an error is noted.
  template <typename T>
  const T* Value(std::string_view key, std::string_view kind) {
    const toml::node* node = Find(key);
    if (node == nullptr) return nullptr;
    const auto* value = node->as<T>();
    if (value == nullptr) {
      Wrong(node,
            absl::StrCat(NameOf(key), " is ", KindOf(*node), ", but must be ", std::string(kind)));
      return nullptr;
    }
    return &value->get();
  }
  std::string Resolved(std::string_view key, const std::string& path) {
    static constexpr std::string_view kCredential = "credential:";
    if (path.empty() || path.front() == '/' || path.starts_with("pkcs11:") ||
        path.starts_with("postgres:")) {
      return path;
    }
    if (!path.starts_with(kCredential)) return file->folder + "/" + path;
    const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
    if (folder != nullptr) return absl::StrCat(folder, "/", path.substr(kCredential.size()));
    Wrong(table->get(key),
          absl::StrCat(NameOf(key),
                       " is a credential of systemd, which gave none (LoadCredential=)"));
    return "";
  }
  // Inside: the node of an inner table; the same one at each call.
  std::shared_ptr<Node> Inside(const toml::table* inner, std::string inner_name) {
    for (const auto& one : inside) {
      if (inner != nullptr && one->table == inner) return one;
    }
    auto node = std::make_shared<Node>();
    node->file = file;
    node->table = inner;
    node->name = std::move(inner_name);
    inside.push_back(node);
    return node;
  }
  void FindUnknown() const {
    if (table != nullptr) {
      for (const auto& [key, value] : *table) {
        const std::string_view text = key.str();
        if (asked.contains(text)) continue;
        const std::string nearest = Nearest(text, asked);
        Wrong(&value, absl::StrCat("no such key: ", NameOf(text),
                                   nearest.empty() ? "" : "; is it " + NameOf(nearest) + "?"));
      }
    }
    for (const auto& node : inside) node->FindUnknown();
  }
};

bool ConfigTable::present() const { return node_->table != nullptr; }
bool ConfigTable::Has(std::string_view key) const { return node_->Find(key) != nullptr; }

std::string ConfigTable::Text(std::string_view key, std::string_view fallback) const {
  const std::string* value = node_->Value<std::string>(key, "text");
  return value != nullptr ? *value : std::string(fallback);
}

std::string ConfigTable::RequiredText(std::string_view key) const {
  const toml::node* node = node_->Find(key);
  const std::string text = Text(key, "");
  if (text.empty() && (node == nullptr || node->is_string())) {
    node_->Wrong(node, absl::StrCat(node_->NameOf(key), " is missing"));
  }
  return text;
}

std::string ConfigTable::Choice(std::string_view key, std::string_view fallback,
                                const std::vector<std::string>& choices) const {
  const std::string text = Text(key, fallback);
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  Wrong(key, absl::StrCat("is \"", text, "\", but must be one of ", absl::StrJoin(choices, ", ")));
  return std::string(fallback);
}

std::string ConfigTable::Path(std::string_view key, std::string_view fallback) const {
  const std::string* value = node_->Value<std::string>(key, "a path");
  return value != nullptr ? node_->Resolved(key, *value) : std::string(fallback);
}

std::string ConfigTable::RequiredPath(std::string_view key) const {
  const std::string text = RequiredText(key);
  return text.empty() ? text : node_->Resolved(key, text);
}

std::vector<std::string> ConfigTable::Paths(std::string_view key) const {
  std::vector<std::string> out = Texts(key);
  for (std::string& path : out) path = node_->Resolved(key, path);
  return out;
}

uint64_t ConfigTable::Number(std::string_view key, uint64_t fallback, uint64_t least,
                             uint64_t most) const {
  const int64_t* value = node_->Value<int64_t>(key, "a whole number");
  if (value == nullptr) return fallback;
  if (*value >= 0 && static_cast<uint64_t>(*value) >= least &&
      static_cast<uint64_t>(*value) <= most) {
    return static_cast<uint64_t>(*value);
  }
  Wrong(key, absl::StrCat("is ", *value, ", but must be between ", least, " and ", most));
  return fallback;
}

double ConfigTable::Real(std::string_view key, double fallback, double least, double most) const {
  const toml::node* node = node_->Find(key);
  if (node == nullptr) return fallback;
  if (!node->is_number()) {
    Wrong(key, absl::StrCat("is ", KindOf(*node), ", but must be a number"));
    return fallback;
  }
  const double value = node->value<double>().value_or(fallback);
  if (value >= least && value <= most) return value;
  Wrong(key, absl::StrCat("is ", value, ", but must be between ", least, " and ", most));
  return fallback;
}

bool ConfigTable::Flag(std::string_view key, bool fallback) const {
  const bool* value = node_->Value<bool>(key, "true or false");
  return value != nullptr ? *value : fallback;
}

std::chrono::seconds ConfigTable::Seconds(std::string_view key, uint64_t fallback, uint64_t least,
                                          uint64_t most) const {
  return std::chrono::seconds(Number(key, fallback, least, most));
}

std::vector<std::string> ConfigTable::Texts(std::string_view key) const {
  std::vector<std::string> out;
  const toml::node* node = node_->Find(key);
  if (node == nullptr) return out;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    Wrong(key, absl::StrCat("is ", KindOf(*node), ", but must be an array of texts"));
    return out;
  }
  for (const toml::node& one : *array) {
    if (const auto* text = one.as_string()) {
      out.push_back(text->get());
    } else {
      node_->Wrong(&one, absl::StrCat(node_->NameOf(key), " holds ", KindOf(one),
                                      ", but must be an array of texts"));
    }
  }
  return out;
}

ConfigTable ConfigTable::Table(std::string_view key) const {
  const toml::node* node = node_->Find(key);
  const toml::table* table = node == nullptr ? nullptr : node->as_table();
  if (node != nullptr && table == nullptr) {
    Wrong(key, absl::StrCat("is ", KindOf(*node), ", but must be a table"));
  }
  return ConfigTable(node_->Inside(table, node_->NameOf(key)));
}

std::vector<ConfigTable> ConfigTable::Tables(std::string_view key) const {
  std::vector<ConfigTable> out;
  const toml::node* node = node_->Find(key);
  if (node == nullptr) return out;
  const toml::array* array = node->as_array();
  if (array == nullptr || !array->is_array_of_tables()) {
    Wrong(key, absl::StrCat("must be tables: [[", node_->NameOf(key), "]]"));
    return out;
  }
  for (const toml::node& one : *array) {
    out.emplace_back(node_->Inside(one.as_table(), node_->NameOf(key)));
  }
  return out;
}

std::vector<std::string> ConfigTable::Names() const {
  std::vector<std::string> out;
  if (node_->table == nullptr) return out;
  for (const auto& [key, value] : *node_->table) {
    if (value.is_table()) out.emplace_back(key.str());
  }
  return out;
}

void ConfigTable::Wrong(std::string_view key, std::string_view message) const {
  node_->Wrong(node_->Find(key), absl::StrCat(node_->NameOf(key), " ", std::string(message)));
}

absl::StatusOr<Config> Config::Read(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxConfig));
  return Parse(text, path);
}

absl::StatusOr<Config> Config::Parse(std::string_view text, const std::string& path) {
  if (text.size() > kMaxConfig) return absl::InvalidArgumentError(path + " is above 1 MB");
  auto file = std::make_shared<ConfigFile>();
  file->path = path;
  const size_t slash = path.rfind('/');
  file->folder = slash == path.npos ? "." : path.substr(0, slash);
  try {  // toml++ reports errors as exceptions
    file->document = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", error.source().begin.line, ":",
                                                   error.source().begin.column, ": ",
                                                   std::string(error.description())));
  }
  auto node = std::make_shared<ConfigTable::Node>();
  node->file = file;
  node->table = &file->document;
  return Config(ConfigTable(std::move(node)));
}

absl::Status Config::Check() const {
  ConfigFile& file = *root_.node_->file;
  root_.node_->FindUnknown();
  if (file.wrong.empty()) return absl::OkStatus();
  std::stable_sort(file.wrong.begin(), file.wrong.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  for (const auto& [line, what] : std::exchange(file.wrong, {})) {
    std::string text = file.path + (line == 0 ? "" : absl::StrCat(":", line)) + ": " + what;
    if (lines.empty() || lines.back() != text) lines.push_back(std::move(text));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace heft::service
