// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "heft/study.h"
#include "program/common.h"
#include "program/report_output.h"

namespace heft::cli {
namespace {

struct Options {
  StudyOptions study;
  ReportFlags output;
};

absl::Status Run(const Common& common, const Options& options) {
  StudyOptions study = options.study;
  study.page = !options.output.page.empty();
  study.pictures = !options.output.pictures.empty();
  study.scores = !options.output.scores.empty();
  study.command = common.command;
  HEFT_RETURN_IF_ERROR(CheckStudy(study));
  HEFT_RETURN_IF_ERROR(CheckReport(options.output));
  HEFT_ASSIGN_OR_RETURN(const LoadedStudy loaded, LoadStudy(study));
  SayLeftOut(common, loaded.data.left_out());
  HEFT_ASSIGN_OR_RETURN(Report report, RunStudy(loaded, common.monitor));
  return FinishReport(common, options.output, std::move(report));
}

// Options for studies that replace the main tables.
void AddStudies(Command command, StudyOptions* study) {
  command.Add("--samples", &study->samples,
              "with --folds and one folder of models: measure the gain of several samples per "
              "person at enrolment, for example 1 2 4");
  command
      .Add("--probe-samples", &study->sampled_by.probes, "with --samples: the same for probes, 1 2")
      .ShowDefault();
  command
      .Add("--draws", &study->sampled_by.draws,
           "with --samples: random choices of each person's samples")
      .Range(1, 1000)
      .ShowDefault();
  const Option protection =
      command.Add("--protection", &study->protection,
                  "measure the protection of templates instead: unlinkability, irreversibility, "
                  "renewability (ISO/IEC 24745)");
  command
      .Add("--protection-samples", &study->protected_by.samples,
           "maximum number of samples enrolled under each of two keys")
      .Range(4, 4096)
      .ShowDefault()
      .Needs(protection);
  const Option searches =
      command.Add("--searches", &study->searches,
                  "measure instead whether FPIR thresholds hold in galleries of 10 to 10,000 "
                  "people, simulated with the statistics of the data");
  command.Add("--search-draws", &study->searched_by.draws, "number of simulations")
      .Range(1, 10000)
      .ShowDefault()
      .Needs(searches);
  const Option distractors = command.Add("--distractors", &study->distractors,
                                         "measure instead searches of a gallery that also has the "
                                         "people of this data folder, by their first samples");
  command
      .Add("--strangers", &study->strangers,
           "with --distractors: a data folder of people who search and are not enrolled (default: "
           "each distractor, with its own template left out)")
      .Needs(distractors);
  const Option protocol = command.Add("--protocol", &study->protocol,
                                      "run instead a protocol: a folder with lists of references "
                                      "and probes in the form of bob.bio (docs/protocols.md)");
  command
      .Add("--names", &study->names,
           "with --protocol: file with the name of each row, as in the lists (default: names.txt "
           "of the data)")
      .Needs(protocol);
}

}  // namespace

void AddEvaluate(Command app) {
  const auto [command, options] = AddCommand(
      app, "evaluate", "measure a model on a data set, plain and encrypted, against baselines",
      "heft evaluate --data lfw-speech --model m.heft --report report.html", Run);
  StudyOptions& study = options->study;
  command.Add("-d,--data", &study.data, "data folder").Required();
  command.Add("-m,--model", &study.models,
              "model file; with --folds a folder made by heft train --folds, or several to "
              "compare");
  command.Add("--folds", &study.folds, "measure over identity folds, every person tested once")
      .Range(3, 1000);
  command.Add("--fold-seed", &study.fold_seed, "the value given to heft train --folds")
      .ShowDefault();
  command.Add("--choices", &study.choices,
              "with --folds: train and compare fused dimensions, approximations and weights");
  command.Add("--partial-probes", &study.partial_probes,
              "with --folds: also probes that have one modality only");
  AddStudies(command, &study);
  command
      .Add("--split", &study.split,
           "people to measure; all: all people in the folder, and no one trains a baseline")
      .Choices({"train", "val", "test", "all"})
      .ShowDefault();
  command.Add("--plain", &study.plain,
              "with --folds, --protocol or --distractors: leave out the encrypted rows");
  AddReportOptions(command, &options->output);
  AddScoreOptions(command, "the measured comparisons, encrypted and plain,", &options->output);
  command.Add("--seed", &study.seed, "random seed of the bootstrap (default 1)");
  command.Add("--replicates", &study.replicates, "number of bootstrap samples")
      .Range(10, 1000000)
      .ShowDefault();
}

}  // namespace heft::cli
