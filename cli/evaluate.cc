// SPDX-License-Identifier: Apache-2.0
// evaluate: a model on a data set; study NAME: one special question about models and data.
#include "heft/evaluate.h"

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "program/common.h"
#include "program/report_output.h"

namespace heft::cli {
namespace {

struct Options {
  StudyOptions study;
  ReportFlags output;
};
using Added = std::pair<Command, std::shared_ptr<Options>>;

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

// Options that all have.
void AddCommon(Command command, Options* options) {
  command.Add("-d,--data", &options->study.data, "data folder").Required();
  command.Add("--seed", &options->study.seed, "random seed (default 1)");
}

void AddModel(Command command, StudyOptions* study, const std::string& help) {
  command.Add("-m,--model", &study->models, help).Required();
}

Option AddFolds(Command command, StudyOptions* study, const std::string& help) {
  return command.Add("--folds", &study->folds, help).Range(3, 1000);
}

void AddPartialProbes(Command command, StudyOptions* study) {
  command.Add("--partial-probes", &study->partial_probes,
              "with --folds: also probes that have one modality only");
}

void AddSplit(Command command, StudyOptions* study, const std::string& help) {
  command.Add("--split", &study->split, help)
      .Choices({"train", "val", "test", "all"})
      .ShowDefault();
}

void AddPlain(Command command, StudyOptions* study) {
  command.Add("--plain", &study->plain, "leave out the encrypted rows");
}

void AddReplicates(Command command, StudyOptions* study) {
  command.Add("--replicates", &study->replicates, "number of bootstrap samples")
      .Range(10, 1000000)
      .ShowDefault();
}

void AddPage(Command command, ReportFlags* flags) {
  command.Add("--report", &flags->page, "write a self-contained HTML page to this file");
}

Added AddStudy(Command group, Study study, const std::string& description,
               const std::string& example) {
  const std::string name = StudyName(study);
  const Added added =
      AddCommand(group, name, description, absl::StrCat("heft study ", name, " ", example), Run);
  added.second->study.study = study;
  AddCommon(added.first, added.second.get());
  return added;
}

void AddSearches(Command group) {
  const auto [command, options] = AddStudy(
      group, Study::kSearches,
      "measure whether FPIR thresholds hold in galleries of 10 to 10,000 people, simulated with "
      "the statistics of the data",
      "--data lfw-speech --model m.heft --report s.html");
  StudyOptions& study = options->study;
  AddModel(command, &study, "model file, or with --folds a folder made by heft train --folds");
  AddFolds(command, &study, "take the statistics of all people, each by a model without them");
  AddSplit(command, &study, "people whose statistics are taken, without --folds");
  command.Add("--replicates", &study.searched_by.draws, "number of simulations")
      .Range(1, 10000)
      .ShowDefault();
  AddReportOptions(command, &options->output);
}

void AddProtection(Command group) {
  const auto [command, options] =
      AddStudy(group, Study::kProtection,
               "measure the protection of templates: unlinkability, irreversibility, renewability "
               "(ISO/IEC 24745)",
               "--data lfw-speech --model m.heft --report p.html");
  AddModel(command, &options->study, "model file");
  AddSplit(command, &options->study, "people whose templates are attacked");
  command
      .Add("--samples", &options->study.protected_by.samples,
           "maximum number of samples enrolled under each of two keys")
      .Range(4, 4096)
      .ShowDefault();
  AddReportOptions(command, &options->output);
}

void AddSamples(Command group) {
  const auto [command, options] =
      AddStudy(group, Study::kSamples, "measure the gain of several samples per person",
               "--data lfw-speech --folds 5 --model folds/ --samples 1 2 4");
  StudyOptions& study = options->study;
  AddModel(command, &study, "folder made by heft train --folds");
  AddFolds(command, &study, "number of folds").Required();
  command.Add("--samples", &study.samples, "numbers of samples at enrolment, 1 first")
      .ShowDefault();
  AddPlain(command, &study);
  AddReportOptions(command, &options->output);
  AddReplicates(command, &study);
}

void AddChoices(Command group) {
  const auto [command, options] =
      AddStudy(group, Study::kChoices,
               "train and compare fused dimensions, approximations and weights over folds",
               "--data lfw-speech --folds 5 --report c.html");
  StudyOptions& study = options->study;
  AddFolds(command, &study, "number of folds").Required();
  AddPartialProbes(command, &study);
  AddPlain(command, &study);
  AddReportOptions(command, &options->output);
  AddReplicates(command, &study);
}

void AddGalleryStudy(Command group) {
  const auto [command, options] =
      AddStudy(group, Study::kGallery,
               "measure searches of a gallery that also has the people of another data folder",
               "--data lfw-speech --model m.heft --distractors others");
  StudyOptions& study = options->study;
  AddModel(command, &study, "model file");
  command
      .Add("--distractors", &study.distractors,
           "data folder of the other people, who are enrolled by their first samples")
      .Required();
  command.Add("--strangers", &study.strangers,
              "a data folder of people who search and are not enrolled (default: each distractor, "
              "with its own template left out)");
  AddSplit(command, &study, "people who search and are enrolled");
  AddPlain(command, &study);
  AddPage(command, &options->output);
}

void AddProtocol(Command group) {
  const auto [command, options] = AddStudy(
      group, Study::kProtocol,
      "run a protocol: lists of references and probes in the form of bob.bio (docs/protocols.md)",
      "--data lfw-speech --model m.heft --protocol lists --report r.html");
  StudyOptions& study = options->study;
  AddModel(command, &study, "model file");
  command.Add("--protocol", &study.protocol, "folder of the lists").Required();
  command.Add("--names", &study.names,
              "file with the name of each row, as in the lists (default: names.txt of the data)");
  AddPlain(command, &study);
  AddPage(command, &options->output);
  AddScoreOptions(command, "the measured comparisons", &options->output);
  AddReplicates(command, &study);
}

}  // namespace

void AddEvaluate(Command app) {
  const auto [command, options] = AddCommand(
      app, "evaluate", "measure a model on a data set, plain and encrypted, against baselines",
      "heft evaluate --data lfw-speech --model m.heft --report report.html", Run);
  StudyOptions& study = options->study;
  AddCommon(command, options.get());
  command.Add("-m,--model", &study.models,
              "model file; with --folds a folder made by heft train --folds, or several to "
              "compare");
  AddFolds(command, &study, "measure over identity folds, every person tested once");
  AddPartialProbes(command, &study);
  AddSplit(command, &study,
           "people to measure; all: all people in the folder, and no one trains a baseline");
  command.Add("--plain", &study.plain, "with --folds: leave out the encrypted rows");
  AddReportOptions(command, &options->output);
  AddScoreOptions(command, "the measured comparisons, encrypted and plain,", &options->output);
  AddReplicates(command, &study);
}

void AddStudies(Command app) {
  const Command group = app.Group("study", "special questions about models and data");
  AddChoices(group);
  AddGalleryStudy(group);
  AddProtection(group);
  AddProtocol(group);
  AddSamples(group);
  AddSearches(group);
}

}  // namespace heft::cli
