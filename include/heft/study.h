// SPDX-License-Identifier: Apache-2.0
// The studies of heft/evaluate.h with files as inputs; `heft evaluate` runs one at a time. Link
// heft::heft.
//
//   heft::StudyOptions options = {.data = "lfw-speech", .models = {"m.heft"}};
//   auto study = heft::LoadStudy(options);
//   auto report = heft::RunStudy(*study);
#ifndef HEFT_STUDY_H_
#define HEFT_STUDY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/dataset.h"
#include "heft/evaluate.h"
#include "heft/export.h"
#include "heft/progress.h"

namespace heft {

// StudyOptions: options of all studies; each uses some of them. Errors name a member by its option
// of heft evaluate.
struct StudyOptions {
  std::string data = {};                 // its folder
  std::vector<std::string> models = {};  // a file; with folds the folder of FoldFile's, or several
  int folds = 0;                         // 0: none
  uint64_t fold_seed = 1;
  // At most one study of these and those below may be chosen; `partial_probes` is no study. None:
  // Evaluate, or EvaluateFolds with folds. Probes that lack a modality need folds, and may be
  // combined with `choices`.
  bool choices = false, searches = false, protection = false;
  std::vector<int> samples = {};  // EvaluateSamples, of one folder of models
  std::string protocol = {};      // EvaluateProtocol: its folder
  std::string distractors = {};   // EvaluateGallery: their folder
  std::string strangers = {};     // with `distractors`: their folder; empty: the distractors
  bool partial_probes = false;
  bool plain = false;          // without encrypted rows; for folds, protocols and galleries
  std::string split = "test";  // without folds
  std::string names = {};      // with `protocol`; empty: names.txt in `data`
  ProtectionOptions protected_by = {};
  SearchStudyOptions searched_by = {};
  SampleStudyOptions sampled_by = {};  // except its `samples`
  int replicates = 1000;
  uint64_t seed = 1;
  bool page = false, pictures = false, scores = false;  // of the Report
  std::string command = {};
};
// CheckStudy: kInvalidArgument if more than one study is chosen, or a study with models, `plain`,
// `scores` or pictures that it does not support. Ignores `names`, `split` and ..._by of other
// studies.
HEFT_EXPORT absl::Status CheckStudy(const StudyOptions& options);

// LoadedStudy: options with all inputs. `models`: one set or more; none for `choices`.
struct LoadedStudy {
  StudyOptions options;
  TrainingData data;
  std::vector<FoldModels> models;
  std::optional<TrainingData> distractors = {}, strangers = {};
};
// LoadStudy: errors of CheckStudy, TrainingData::Load, LoadModel and LoadFolds.
HEFT_EXPORT absl::StatusOr<LoadedStudy> LoadStudy(const StudyOptions& options);
// RunStudy: errors of CheckStudy and of the study; kInvalidArgument without the models that it
// needs.
HEFT_EXPORT absl::StatusOr<Report> RunStudy(const LoadedStudy& study, const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_STUDY_H_
