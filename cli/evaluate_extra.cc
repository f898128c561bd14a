// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_extra.h"

#include <optional>
#include <utility>

namespace heft::cli {

void AddStudyOptions(Command command, EvaluateFlags* flags) {
  command.Add("--samples", &flags->samples.samples,
              "with --folds, and one folder of models: what several samples of a person at "
              "enrolment are worth, for example 1 2 4");
  command
      .Add("--probe-samples", &flags->samples.probes, "with --samples: the same at the probe, 1 2")
      .ShowDefault();
  command
      .Add("--draws", &flags->samples.draws, "with --samples: of each person's samples for the two")
      .Range(1, 1000)
      .ShowDefault();
  const Option protection =
      command.Add("--protection", &flags->protection_asked,
                  "how well templates are protected instead: unlinkability, irreversibility, "
                  "renewability (ISO/IEC 24745)");
  command
      .Add("--protection-samples", &flags->protection.samples,
           "enrolled under each of two keys, at most")
      .Range(4, 4096)
      .ShowDefault()
      .Needs(protection);
  const Option searches =
      command.Add("--searches", &flags->searches_asked,
                  "instead: are false positives of searches what was asked for? in galleries of 10 "
                  "to 10,000 people who are drawn by the statistics of these");
  command.Add("--search-draws", &flags->searches.draws, "of such people")
      .Range(1, 10000)
      .ShowDefault()
      .Needs(searches);
  const Option protocol =
      command.Add("--protocol", &flags->protocol,
                  "instead: a folder of lists of references and probes in the form of bob.bio "
                  "(docs/protocols.md)");
  command
      .Add("--names", &flags->names,
           "with --protocol: a name a row, as the lists have them (default: names.txt of the "
           "data)")
      .Needs(protocol);
}

absl::StatusOr<Report> MeasureSearches(const Common& common, const EvaluateFlags& flags) {
  std::vector<Model> models;
  std::optional<TrainingData> data;
  if (flags.folds > 0) {
    HEFT_ASSIGN_OR_RETURN(data, TrainingData::Load(flags.data));
    HEFT_ASSIGN_OR_RETURN(models, LoadFolds(flags.models[0], *data, flags.folds, flags.fold_seed));
  } else {
    HEFT_ASSIGN_OR_RETURN(models.emplace_back(), LoadModel(flags.models[0]));
    HEFT_ASSIGN_OR_RETURN(data, TrainingData::Load(flags.data, SplitSeed(models[0])));
  }
  HEFT_ASSIGN_OR_RETURN(
      Report report,
      EvaluateSearches(*data, models, Filled(common, flags, flags.searches), common.monitor));
  PutFirst({{"data", flags.data}}, &report);
  return report;
}

absl::StatusOr<Report> MeasureProtocol(const Common& common, const EvaluateFlags& flags) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(flags.models[0]));
  HEFT_ASSIGN_OR_RETURN(const TrainingData data, TrainingData::Load(flags.data));
  const std::string names = flags.names.empty() ? flags.data + "/names.txt" : flags.names;
  HEFT_ASSIGN_OR_RETURN(Report report,
                        EvaluateProtocol(data, model, flags.protocol, names,
                                         Filled<ProtocolOptions>(common, flags), common.monitor));
  PutFirst({{"data", flags.data}, {"protocol", flags.protocol}, {"model", flags.models[0]}},
           &report);
  return report;
}

void PutFirst(Json head, Report* report) {
  head.update(report->json);
  report->json = std::move(head);
}

}  // namespace heft::cli
