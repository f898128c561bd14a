// SPDX-License-Identifier: Apache-2.0
// Tally: what was counted, by name, in JSON, so that runs can be counted together.
#ifndef HEFT_TESTS_KILLS_TALLY_H_
#define HEFT_TESTS_KILLS_TALLY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tests/kills_ledger.h"

namespace heft::kills {

// Increase: total[name] by a number that need not be there yet.
void Increase(nlohmann::json* total, const std::string& name, double by = 1);
// Raise: total[name] to at least that.
void Raise(nlohmann::json* total, const std::string& name, double to);
// Count: a round's operations, by their kinds and ends.
void Count(const std::vector<Operation>& round, nlohmann::json* total);
// Add: another tally. Numbers are added, but of most_..., largest_... and slowest_... the larger
// one is taken; texts are counted.
void Add(const nlohmann::json& more, nlohmann::json* total);

// Of a file of tallies, one a line, what AddLine wrote last may lack its end: it is taken away.
absl::StatusOr<std::vector<nlohmann::json>> ReadLines(const std::string& path);
absl::Status AddLine(const std::string& path, const nlohmann::json& line);

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_TALLY_H_
