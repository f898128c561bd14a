// SPDX-License-Identifier: Apache-2.0
// A model run through a protocol of other people. Thresholds fitted on its development group are
// measured on its evaluation group, and the model's own thresholds on both groups.
#ifndef HEFT_EXPERIMENT_PROTOCOL_RUN_H_
#define HEFT_EXPERIMENT_PROTOCOL_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "experiment/judgement.h"
#include "experiment/protocol.h"
#include "features/dataset.h"
#include "heft/evaluate.h"
#include "heft/files.h"
#include "heft/model.h"

namespace heft::experiment {

// GroupResult: one group.
struct GroupResult {
  std::string name;
  size_t references = 0, probes = 0, strangers = 0;  // strangers: probes of people not enrolled
  size_t subjects = 0;                               // enrolled
  size_t most_samples = 0;                           // of one reference
  int64_t genuine = 0, impostor = 0;
  ComparisonEstimate rates;  // EER, FNMR at FMR 1e-2 and 1e-3 of the group itself
  Judgement by_model;        // the model's thresholds, evidence and searches
  // With a development group: thresholds and calibration fitted on that.
  std::optional<Judgement> by_dev;
  double half_total_error = 0;  // at the threshold of dev's equal error rate: mean of FMR and FNMR
  double largest_gap = 0;       // of an encrypted score to its plain one
};

struct ProtocolResult {
  ProtocolOptions options;
  std::vector<GroupResult> groups;  // dev first
  // Why figures promise too much: the same people or samples on both sides.
  std::vector<std::string> warnings;
  ScoreTable scores;  // if asked for
};

// RunProtocol: `dataset` holds the model's modalities. Errors of ReadProtocol, of Judge and of
// CheckMean; kInvalidArgument for a group without genuine or impostor comparisons; kCancelled.
absl::StatusOr<ProtocolResult> RunProtocol(const Monitor& monitor, const Dataset& dataset,
                                           const Model& model, const Protocol& protocol,
                                           const ProtocolOptions& options);

Json ToJson(const ProtocolResult& result);
std::string ToText(const ProtocolResult& result);
// RunGnuplot's errors.
absl::StatusOr<std::string> MakeProtocolReport(const ProtocolResult& result,
                                               const std::string& data_name);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_PROTOCOL_RUN_H_
