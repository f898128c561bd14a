// SPDX-License-Identifier: Apache-2.0
// evaluate: a model on a data set; study: special questions about models and data.
#include "heft/evaluate.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/evaluate_scores.h"
#include "program/common.h"
#include "program/report_output.h"

namespace heft::cli {
namespace {

struct EvaluateFlags {
  StudyOptions study;
  ReportFlags output;
};

absl::Status RunStudy(const Common& common, const EvaluateFlags& options) {
  StudyOptions study = options.study;
  study.page = !options.output.page.empty();
  study.pictures = !options.output.pictures.empty();
  study.scores = !options.output.scores.empty();
  study.command = common.command;
  if (const absl::Status fits = CheckStudy(study); !fits.ok())
    return WrongUsage(std::string(fits.message()));
  HEFT_RETURN_IF_ERROR(CheckReport(options.output));
  HEFT_ASSIGN_OR_RETURN(const LoadedStudy loaded, LoadStudy(study));
  SayLeftOut(common, loaded.data.left_out());
  HEFT_ASSIGN_OR_RETURN(Report report, RunStudy(loaded, common.monitor));
  return FinishReport(common, options.output, std::move(report));
}

Option AddFolds(Command command, StudyOptions* study, const std::string& help) {
  return command.Add("--folds", &study->folds, help).Range(3, 1000);
}

// Of heft evaluate, which measures a model or files of scores.
struct Measured : EvaluateFlags {
  ScoreFlags scores;
  std::string split;
};

absl::Status RunEvaluate(const Common& common, const Measured& given) {
  if (!given.scores.files.empty()) {
    ScoreFlags flags = given.scores;
    flags.split = given.split;
    flags.how.seed = given.study.seed;
    flags.how.replicates = given.study.replicates;
    return EvaluateScores(common, flags, given.output);
  }
  EvaluateFlags options = given;
  if (!given.split.empty()) options.study.split = given.split;
  return RunStudy(common, options);
}

// The options of heft study that mean one thing in one kind, and another in another.
struct OptionsOfKinds : EvaluateFlags {
  std::string kind;
  std::vector<int> samples;
  std::optional<int> replicates;
};

constexpr Study kStudies[] = {Study::kChoices,  Study::kGallery, Study::kProtection,
                              Study::kProtocol, Study::kSamples, Study::kSearches};

absl::Status RunKind(const Common& common, const OptionsOfKinds& given) {
  EvaluateFlags options = given;
  StudyOptions& study = options.study;
  for (const Study one : kStudies) {
    if (StudyName(one) == given.kind) study.study = one;
  }
  if (!given.samples.empty() && study.study == Study::kProtection) {
    const int most = given.samples[0];
    if (given.samples.size() > 1 || most < 4 || most > 4096) {
      return WrongUsage("--samples of study protection is one number from 4 to 4096");
    }
    study.protected_by.samples = most;
  } else if (!given.samples.empty()) {
    study.samples = given.samples;
  }
  if (given.replicates && study.study == Study::kSearches) {
    if (*given.replicates > 10000) {
      return WrongUsage("--replicates of study searches is 10000 at most");
    }
    study.searched_by.draws = *given.replicates;
  } else if (given.replicates) {
    if (*given.replicates < 10) {
      return WrongUsage(absl::StrCat("--replicates of study ", given.kind, " is 10 or more"));
    }
    study.replicates = *given.replicates;
  }
  return RunStudy(common, options);
}

}  // namespace

void AddEvaluate(Command app) {
  const auto [command, options] = AddCommand(
      app, "evaluate",
      "measure a model on a data set, plain and encrypted, against baselines, or files of scores",
      "heft evaluate --data lfw-speech --model m.heft --report report.html\n"
      "  heft evaluate scores.csv --report roc.html",
      RunEvaluate);
  StudyOptions& study = options->study;
  const Option files = command.Add(
      "FILE", &options->scores.files,
      "scores, instead of --data: CSV of --scores or bob.bio, or bob.bio's four or five columns; "
      "each file is a system. PyEER: genuine=FILE and impostor=FILE, scores in the last column, or "
      "impostor-counts=FILE, whose line k, from 0, is the number of scores k");
  const Option data = command.Add("-d,--data", &study.data, "data folder").Excludes(files);
  command.RequireOneOf(files, data);
  command
      .Add("-m,--model", &study.models,
           "model file; with --folds a folder made by heft train --folds, or several to "
           "compare")
      .Needs(data);
  AddFolds(command, &study, "measure over identity folds, every person tested once").Needs(data);
  command
      .Add("--partial-probes", &study.partial_probes,
           "with --folds: also probes that have one modality only")
      .Needs(data);
  command.Add("--plain", &study.plain, "with --folds: leave out the encrypted rows").Needs(data);
  command
      .Add("--split", &options->split,
           "people to measure (test); all: all people in the folder, and no one trains a baseline; "
           "of files, the comparisons of any split that they name")
      .Suggests({"train", "val", "test", "all"});
  command.Add("--fmr", &options->scores.how.fmrs, "false match rates for which to find thresholds")
      .Range(0, 1)
      .ShowDefault()
      .Needs(files);
  command
      .Add("--all-points", &options->scores.how.curve,
           "with --json: every point of the ROC as [threshold, FMR, FNMR]")
      .Needs(files);
  AddReportOptions(command, &options->output);
  AddScoreOptions(command,
                  "the measured comparisons, encrypted and plain, or the scores of one file, also "
                  "in another form,",
                  &options->output);
  command.Add("--seed", &study.seed, "random seed (default 1)");
  command.Add("--replicates", &study.replicates, "number of bootstrap samples")
      .Range(10, 1000000)
      .ShowDefault();
}

void AddStudy(Command app) {
  const auto [command, options] = AddCommand(
      app, "study", "answer a special question about models and data",
      "heft study choices --data lfw-speech --folds 5 --report c.html\n"
      "  heft study gallery --data lfw-speech --model m.heft --distractors others\n"
      "  heft study protection --data lfw-speech --model m.heft --report p.html\n"
      "  heft study protocol --data lfw-speech --model m.heft --protocol lists --report r.html\n"
      "  heft study samples --data lfw-speech --folds 5 --model folds/ --samples 1 2 4\n"
      "  heft study searches --data lfw-speech --model m.heft --report s.html",
      RunKind);
  StudyOptions& study = options->study;
  const Kinds kinds(
      command, "KIND", &options->kind,
      {{"choices", "train and compare fused dimensions, approximations and weights over folds"},
       {"gallery", "measure searches of a gallery that also has the people of another data folder"},
       {"protection",
        "measure the protection of templates: unlinkability, irreversibility, renewability "
        "(ISO/IEC 24745)"},
       {"protocol",
        "run a protocol: lists of references and probes in the form of bob.bio "
        "(docs/protocols.md)"},
       {"samples", "measure the gain of several samples per person"},
       {"searches",
        "measure whether FPIR thresholds hold in galleries of 10 to 10,000 people, simulated with "
        "the statistics of the data"}});
  command.Add("-d,--data", &study.data, "data folder").Required();
  command.Add("--seed", &study.seed, "random seed (default 1)");
  kinds.Only(command.Add("-m,--model", &study.models,
                         "model file; for samples, and for searches with --folds, a folder made by "
                         "heft train --folds"),
             {"gallery", "protection", "protocol", "samples", "searches"},
             {"gallery", "protection", "protocol", "samples", "searches"});
  kinds.Only(AddFolds(command, &study,
                      "number of folds; for searches, take the statistics of all people, each by a "
                      "model without them"),
             {"choices", "samples", "searches"}, {"choices", "samples"});
  const Option split = command
                           .Add("--split", &study.split,
                                "people who are searched for, whose templates are attacked, or "
                                "whose statistics are taken, without --folds")
                           .Choices({"train", "val", "test", "all"})
                           .ShowDefault();
  kinds.Only(split, {"gallery", "protection", "searches"});
  kinds.Only(
      command.Add("--distractors", &study.distractors,
                  "data folder of the other people, who are enrolled by their first samples"),
      {"gallery"}, {"gallery"});
  kinds.Only(command.Add("--strangers", &study.strangers,
                         "a data folder of people who search and are not enrolled (default: each "
                         "distractor, with its own template left out)"),
             {"gallery"});
  kinds.Only(command.Add("--protocol", &study.protocol, "folder of the lists"), {"protocol"},
             {"protocol"});
  kinds.Only(
      command.Add("--names", &study.names,
                  "file with the name of each row, as in the lists (default: names.txt of the "
                  "data)"),
      {"protocol"});
  kinds.Only(command.Add("--samples", &options->samples,
                         "numbers of samples at enrolment, 1 first (1 2 4); for protection, the "
                         "maximum number of samples enrolled under each of two keys (300)"),
             {"protection", "samples"});
  kinds.Only(command.Add("--partial-probes", &study.partial_probes,
                         "also probes that have one modality only"),
             {"choices"});
  kinds.Only(command.Add("--plain", &study.plain, "leave out the encrypted rows"),
             {"choices", "gallery", "protocol", "samples"});
  kinds.Only(
      command
          .Add("--replicates", &options->replicates,
               "number of bootstrap samples (1000; at least 10); for searches, of simulations "
               "(40)")
          .Range(1, 1000000),
      {"choices", "protocol", "samples", "searches"});
  const auto [page, pictures] = AddReportOptions(command, &options->output);
  kinds.Only(pictures, {"choices", "protection", "samples", "searches"});
  kinds.Only(AddScoreOptions(command, "the measured comparisons", &options->output), {"protocol"});
}

}  // namespace heft::cli
