// SPDX-License-Identifier: Apache-2.0
// Runs gnuplot as a child process, without a shell.
#ifndef HEFT_EXPERIMENT_GNUPLOT_H_
#define HEFT_EXPERIMENT_GNUPLOT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace heft::experiment {

// A script with the data files that it reads and the files that it writes, all by plain names in
// its working directory.
struct GnuplotJob {
  std::string script;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, content
  std::vector<std::string> outputs;
};

// kUnavailable, naming scripts/install-dependencies, where gnuplot is not installed.
absl::Status CheckGnuplot();

// Runs the job in a temporary folder of its own, which is removed, and returns the outputs in their
// order. kInternal with gnuplot's message if it fails.
absl::StatusOr<std::vector<std::string>> RunGnuplot(const GnuplotJob& job);

// `text` as a gnuplot string in single quotes: nothing in it is expanded or run.
std::string GnuplotQuote(std::string_view text);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_GNUPLOT_H_
