// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_extra.h"

#include "cli/status.h"

namespace heft::cli {

void AddSampleOptions(Command command, SampleOptions* options) {
  command.Add("--samples", &options->samples,
              "with --folds, and one folder of models: what several samples of a person at "
              "enrolment are worth, for example 1 2 4");
  command.Add("--probe-samples", &options->probes, "with --samples: the same at the probe, 1 2")
      .ShowDefault();
  command.Add("--draws", &options->draws, "with --samples: of each person's samples for the two")
      .Range(1, 1000)
      .ShowDefault();
}

absl::StatusOr<Report> EvaluateSampleFolds(const TrainingData& data, const std::string& models,
                                           const SampleOptions& options, const FoldOptions& from,
                                           const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Model> of,
                        LoadFolds(models, data, from.folds, from.fold_seed));
  return EvaluateSamples(data, of,
                         {.folds = from.folds,
                          .fold_seed = from.fold_seed,
                          .samples = options.samples,
                          .probes = options.probes,
                          .draws = options.draws,
                          .seed = from.seed,
                          .encrypted = from.encrypted,
                          .replicates = from.replicates,
                          .bootstrap_seed = from.seed,
                          .page = from.page,
                          .command = from.command},
                         monitor);
}

void AddProtectionOptions(Command command, ProtectionFlags* flags) {
  const Option protection =
      command.Add("--protection", &flags->asked,
                  "how well templates are protected instead: unlinkability, irreversibility, "
                  "renewability (ISO/IEC 24745)");
  command.Add("--protection-samples", &flags->samples, "enrolled under each of two keys, at most")
      .Range(4, 4096)
      .ShowDefault()
      .Needs(protection);
}

absl::StatusOr<Report> EvaluateProtectionOf(const TrainingData& data, const Model& model,
                                            const ProtectionFlags& flags,
                                            const EvaluationOptions& from, const Monitor& monitor) {
  return EvaluateProtection(data, model,
                            {.split = from.split,
                             .samples = flags.samples,
                             .seed = from.seed,
                             .page = from.page,
                             .pictures = from.pictures,
                             .command = from.command},
                            monitor);
}

}  // namespace heft::cli
