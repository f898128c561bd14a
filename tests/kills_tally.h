// SPDX-License-Identifier: Apache-2.0
// Tally: counts by name, in JSON, so that counts of several runs can be added.
#ifndef HEFT_TESTS_KILLS_TALLY_H_
#define HEFT_TESTS_KILLS_TALLY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tests/kills_ledger.h"

namespace heft::kills {

// Increase: adds a number to total[name], which may not exist yet.
void Increase(nlohmann::json* total, const std::string& name, double by = 1);
// Raise: raises total[name] to at least this number.
void Raise(nlohmann::json* total, const std::string& name, double to);
// Count: counts the operations of a round by kind and end.
void Count(const std::vector<Operation>& round, nlohmann::json* total);
// Add: adds another tally. Numbers are added; for most_..., largest_... and slowest_... the larger
// one is kept; texts are counted.
void Add(const nlohmann::json& more, nlohmann::json* total);

// ReadLines: reads a file of tallies, one a line. Removes an incomplete last line, which an
// interrupted AddLine may leave.
absl::StatusOr<std::vector<nlohmann::json>> ReadLines(const std::string& path);
absl::Status AddLine(const std::string& path, const nlohmann::json& line);

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_TALLY_H_
