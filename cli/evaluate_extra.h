// SPDX-License-Identifier: Apache-2.0
// The flags of heft evaluate, and what it measures instead of its main tables.
#ifndef HEFT_CLI_EVALUATE_EXTRA_H_
#define HEFT_CLI_EVALUATE_EXTRA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands.h"
#include "heft/evaluate.h"
#include "program/report_output.h"

namespace heft::cli {

// EvaluateFlags: of all studies; each study's options as far as they have flags of their own.
struct EvaluateFlags {
  std::string data;
  std::vector<std::string> models;
  int folds = 0;
  uint64_t fold_seed = 1, seed = 1;
  int replicates = 1000;
  bool choices = false, partial_probes = false, plain = false;
  std::string split = "test";
  ReportFlags output;
  SampleStudyOptions samples = {.samples = {}};  // none: not asked for
  bool protection_asked = false, searches_asked = false;
  ProtectionOptions protection;
  SearchStudyOptions searches;
  std::string protocol, names;  // empty: not asked for
};

// Filled: `study`, and what the flags that studies have in common say, as far as it knows them.
template <typename Study>
Study Filled(const Common& common, const EvaluateFlags& flags, Study study = {}) {
  study.command = common.command;
  study.seed = flags.seed;
  if constexpr (requires { study.pictures; }) {
    study.page = !flags.output.page.empty();
    study.pictures = !flags.output.pictures.empty();
  } else {
    study.page = flags.output.Drawn();
  }
  if constexpr (requires { study.split; }) study.split = flags.split;
  if constexpr (requires { study.replicates; }) study.replicates = flags.replicates;
  if constexpr (requires { study.bootstrap_seed; }) study.bootstrap_seed = flags.seed;
  if constexpr (requires { study.encrypted; }) study.encrypted = !flags.plain;
  if constexpr (requires { study.scores; }) study.scores = !flags.output.scores.empty();
  if constexpr (requires { study.fold_seed; }) {
    study.folds = flags.folds;
    study.fold_seed = flags.fold_seed;
  }
  return study;
}

// AddStudyOptions: --samples, --protection, --searches, --protocol, and what goes with them.
void AddStudyOptions(Command command, EvaluateFlags* flags);

// MeasureSearches: of one model, a file, or of a folder of folds'.
absl::StatusOr<Report> MeasureSearches(const Common& common, const EvaluateFlags& flags);
absl::StatusOr<Report> MeasureProtocol(const Common& common, const EvaluateFlags& flags);

// PutFirst: these members before those of the report.
void PutFirst(Json head, Report* report);

}  // namespace heft::cli

#endif  // HEFT_CLI_EVALUATE_EXTRA_H_
