// SPDX-License-Identifier: Apache-2.0
#include "tests/kills_tally.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/files.h"

namespace heft::kills {

using nlohmann::json;

namespace {

double Value(const json& total, const std::string& name) {
  return total.contains(name) ? total[name].get<double>() : 0;
}

// Stores whole numbers as integers.
void Set(json* total, const std::string& name, double value) {
  const auto whole = static_cast<int64_t>(value);
  (*total)[name] = static_cast<double>(whole) == value ? json(whole) : json(value);
}

}  // namespace

void Increase(json* total, const std::string& name, double by) {
  Set(total, name, Value(*total, name) + by);
}

void Raise(json* total, const std::string& name, double to) {
  Set(total, name, std::max(Value(*total, name), to));
}

void Count(const std::vector<Operation>& round, json* total) {
  for (const Operation& operation : round) {
    const bool changes =
        operation.kind != "identify" && operation.kind != "verify" && operation.kind != "snapshot";
    const bool done = operation.end == Operation::kDone;
    Increase(&(*total)["operations"], operation.kind);
    Increase(&(*total)[done                                   ? "acknowledged"
                       : operation.end == Operation::kRefused ? "refused"
                                                              : "cut_short"],
             operation.kind);
    if (done) Increase(total, changes ? "all_acknowledged_changes" : "all_answered_questions");
    if (operation.kind == "identify" && operation.answer.contains("seconds")) {
      Raise(total, done ? "slowest_identification" : "slowest_refused_identification",
            operation.answer["seconds"]);
    }
  }
}

void Add(const json& more, json* total) {
  for (const auto& [name, value] : more.items()) {
    const bool largest =
        name.starts_with("most_") || name.starts_with("largest_") || name.starts_with("slowest_");
    if (value.is_object()) {
      Add(value, &(*total)[name]);
    } else if (value.is_string()) {
      Increase(&(*total)[name], value);
    } else if (largest) {
      Raise(total, name, value);
    } else if (value.is_number()) {
      Increase(total, name, value);
    }
  }
}

absl::StatusOr<std::vector<json>> ReadLines(const std::string& path) {
  std::vector<json> lines;
  if (!std::filesystem::exists(path)) return lines;
  HEFT_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  const size_t end = text.rfind('\n') + 1;  // 0 if there is none
  std::istringstream in(text.substr(0, end));
  for (std::string line; std::getline(in, line);) {
    lines.push_back(json::parse(line, nullptr, /*allow_exceptions=*/false));
    if (!lines.back().is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": not a tally: ", line));
    }
  }
  std::error_code error;
  if (end < text.size()) std::filesystem::resize_file(path, end, error);
  if (error) return absl::InternalError(absl::StrCat(path, ": ", error.message()));
  return lines;
}

absl::Status AddLine(const std::string& path, const json& line) {
  std::ofstream out(path, std::ios::app);
  out << line.dump() << std::endl;
  return out ? absl::OkStatus() : absl::InternalError("cannot write " + path);
}

}  // namespace heft::kills
