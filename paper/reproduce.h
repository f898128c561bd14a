// SPDX-License-Identifier: Apache-2.0
// A reproduction of the paper: sections chosen and measured, as one self-contained page and as
// JSON.
#ifndef HEFT_PAPER_REPRODUCE_H_
#define HEFT_PAPER_REPRODUCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "heft/files.h"
#include "paper/sections/sections.h"

namespace heft::paper {

// ReproductionOptions: `data` is a folder, or empty for synthetic people of the paper's number
// (fewer with `quick`); `only` as ChooseSections takes it; published matrices are given both, or
// neither.
struct ReproductionOptions {
  std::string data, only, exact_projection, aware_projection;
  bool quick = false;
  size_t seed = 1;
  // Told before the work which of the folder's files were taken for no modality.
  std::function<void(const std::vector<std::string>&)> left_out = {};
};

struct Reproduction {
  std::string data_name, data_description;
  int samples = 0, identities = 0;
  std::vector<std::pair<std::string, int>> modalities = {};  // name, dimension
  bool quick = false;
  std::string command = {};  // that makes it again
  Json machine;
  std::vector<Section> sections = {};
  double seconds = 0;
};

// CheckPagePath: whether a page could be written there and drawn, to be asked before the work:
// kInvalidArgument without .html at its end, kNotFound without the folder, kUnavailable without
// gnuplot.
absl::Status CheckPagePath(const std::string& page);

// JsonPath: "report.html" -> "report.json".
std::string JsonPath(const std::string& page);

// Reproduce measures. kInvalidArgument for options that do not go together, LoadDataset's errors,
// kCancelled when the monitor says so.
absl::StatusOr<Reproduction> Reproduce(const Monitor& monitor, const ReproductionOptions& options);

// ToJson: everything in it, for programs.
Json ToJson(const Reproduction& reproduction);

// MakePage: RunGnuplot's errors.
absl::StatusOr<std::string> MakePage(const Reproduction& reproduction);

}  // namespace heft::paper

#endif  // HEFT_PAPER_REPRODUCE_H_
