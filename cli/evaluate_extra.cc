// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_extra.h"

#include <optional>
#include <utility>

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
                                           bool pictures, const Monitor& monitor) {
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
                          .pictures = pictures,
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

void AddSearchOptions(Command command, SearchFlags* flags) {
  const Option searches =
      command.Add("--searches", &flags->asked,
                  "instead: are false positives of searches what was asked for? in galleries of 10 "
                  "to 10,000 people who are drawn by the statistics of these");
  command.Add("--search-draws", &flags->draws, "of such people")
      .Range(1, 10000)
      .ShowDefault()
      .Needs(searches);
}

absl::StatusOr<Report> EvaluateSearchesOf(const std::string& data, const std::string& model,
                                          const SearchFlags& flags, const FoldOptions& from,
                                          const std::string& split, const Monitor& monitor) {
  std::vector<Model> models;
  std::optional<TrainingData> loaded;
  if (from.folds > 0) {
    HEFT_ASSIGN_OR_RETURN(loaded, TrainingData::Load(data));
    HEFT_ASSIGN_OR_RETURN(models, LoadFolds(model, *loaded, from.folds, from.fold_seed));
  } else {
    HEFT_ASSIGN_OR_RETURN(models.emplace_back(), LoadModel(model));
    HEFT_ASSIGN_OR_RETURN(loaded, TrainingData::Load(data, SplitSeed(models[0])));
  }
  SearchStudyOptions study;
  study.draws = flags.draws;
  study.seed = from.seed;
  study.split = split;
  study.page = from.page;
  study.command = from.command;
  HEFT_ASSIGN_OR_RETURN(Report report, EvaluateSearches(*loaded, models, study, monitor));
  Json json = {{"data", data}};
  json.update(report.json);
  report.json = std::move(json);
  return report;
}

void AddProtocolOptions(Command command, ProtocolFlags* flags) {
  const Option protocol =
      command.Add("--protocol", &flags->folder,
                  "instead: a folder of lists of references and probes in the form of bob.bio "
                  "(docs/protocols.md)");
  command
      .Add("--names", &flags->names,
           "with --protocol: a name a row, as the lists have them (default: names.txt of the "
           "data)")
      .Needs(protocol);
}

absl::StatusOr<Report> EvaluateProtocolOf(const std::string& data, const std::string& model,
                                          const ProtocolFlags& flags, const FoldOptions& from,
                                          const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Model loaded, LoadModel(model));
  HEFT_ASSIGN_OR_RETURN(const TrainingData rows, TrainingData::Load(data));
  const std::string names = flags.names.empty() ? data + "/names.txt" : flags.names;
  HEFT_ASSIGN_OR_RETURN(Report report, EvaluateProtocol(rows, loaded, flags.folder, names,
                                                        {.encrypted = from.encrypted,
                                                         .replicates = from.replicates,
                                                         .seed = from.seed,
                                                         .page = from.page,
                                                         .command = from.command,
                                                         .scores = from.scores},
                                                        monitor));
  Json json = {{"data", data}, {"protocol", flags.folder}, {"model", model}};
  json.update(report.json);
  report.json = std::move(json);
  return report;
}

}  // namespace heft::cli
