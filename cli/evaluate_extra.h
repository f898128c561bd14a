// SPDX-License-Identifier: Apache-2.0
// What heft evaluate measures beside its main tables: options and the calls that they lead to.
#ifndef HEFT_CLI_EVALUATE_EXTRA_H_
#define HEFT_CLI_EVALUATE_EXTRA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands.h"
#include "heft/evaluate.h"

namespace heft::cli {

// SampleOptions: of --samples.
struct SampleOptions {
  std::vector<int> samples, probes = {1, 2};
  int draws = 5;
  bool asked() const { return !samples.empty(); }
};
void AddSampleOptions(Command command, SampleOptions* options);

// EvaluateSampleFolds: `from`: folds, seeds and the page, as of EvaluateFolds.
absl::StatusOr<Report> EvaluateSampleFolds(const TrainingData& data, const std::string& models,
                                           const SampleOptions& options, const FoldOptions& from,
                                           bool pictures, const Monitor& monitor);

// ProtectionFlags: of --protection.
struct ProtectionFlags {
  bool asked = false;
  int samples = 300;
};
void AddProtectionOptions(Command command, ProtectionFlags* flags);

// `from`: split, seed and page, as of Evaluate.
absl::StatusOr<Report> EvaluateProtectionOf(const TrainingData& data, const Model& model,
                                            const ProtectionFlags& flags,
                                            const EvaluationOptions& from, const Monitor& monitor);

// SearchFlags: of --searches.
struct SearchFlags {
  bool asked = false;
  int draws = 40;
};
void AddSearchOptions(Command command, SearchFlags* flags);

// `from`: folds (0: one model), seeds and the page; `model`: a file, or a folder of folds.
absl::StatusOr<Report> EvaluateSearchesOf(const std::string& data, const std::string& model,
                                          const SearchFlags& flags, const FoldOptions& from,
                                          const std::string& split, const Monitor& monitor);

// ProtocolFlags: of --protocol.
struct ProtocolFlags {
  std::string folder, names;
};
void AddProtocolOptions(Command command, ProtocolFlags* flags);

// `from`: seeds, what is encrypted and the page.
absl::StatusOr<Report> EvaluateProtocolOf(const std::string& data, const std::string& model,
                                          const ProtocolFlags& flags, const FoldOptions& from,
                                          const Monitor& monitor);

}  // namespace heft::cli

#endif  // HEFT_CLI_EVALUATE_EXTRA_H_
