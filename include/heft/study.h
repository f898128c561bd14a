// SPDX-License-Identifier: Apache-2.0
// The studies of heft/evaluate.h with files as inputs, as `heft evaluate` and `heft study` run
// them. Link heft::heft.
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

// Study: kEvaluation is Evaluate, or EvaluateFolds with folds. The others are CompareChoices,
// EvaluateSearches, EvaluateProtection, EvaluateSamples, EvaluateProtocol and EvaluateGallery.
enum class Study { kEvaluation, kChoices, kSearches, kProtection, kSamples, kProtocol, kGallery };
// StudyName: the word after `heft study`; "evaluation" for kEvaluation.
HEFT_EXPORT std::string StudyName(Study study);

// StudyOptions: options of all studies; each uses some of them. Errors name a member by its option
// of heft evaluate or heft study.
struct StudyOptions {
  Study study = Study::kEvaluation;
  std::string data = {};                 // its folder
  std::vector<std::string> models = {};  // a file; with folds the folder of FoldFile's, or several
  int folds = 0;                         // 0: none
  uint64_t fold_seed = 1;
  std::vector<int> samples = {1, 2, 4};  // of kSamples
  std::string protocol = {};             // of kProtocol: its folder
  std::string distractors = {};          // of kGallery: their folder
  std::string strangers = {};            // of kGallery: their folder; empty: the distractors
  bool partial_probes = false;           // with folds: also probes that lack a modality
  bool plain = false;          // without encrypted rows; for folds, protocols and galleries
  std::string split = "test";  // without folds
  std::string names = {};      // of kProtocol; empty: names.txt in `data`
  ProtectionOptions protected_by = {};
  SearchStudyOptions searched_by = {};
  SampleStudyOptions sampled_by = {};  // except its `samples`
  int replicates = 1000;
  uint64_t seed = 1;
  bool page = false, pictures = false, scores = false;  // of the Report
  std::string command = {};
};
// CheckStudy: kInvalidArgument for models, folders, `plain`, `scores`, `partial_probes` or pictures
// that the study does not support or lacks. Ignores the members of other studies.
HEFT_EXPORT absl::Status CheckStudy(const StudyOptions& options);

// LoadedStudy: options with all inputs. `models`: one set or more; none for kChoices.
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
