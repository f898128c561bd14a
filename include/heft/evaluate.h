// SPDX-License-Identifier: Apache-2.0
// Measures a model on people: how well it tells them apart, plain and encrypted, compared with
// baselines and with 95% intervals, and the effect of encryption. These calls create and discard
// keys and see the scores of all pairs. They are for the owner of the data, never for a server.
// They use all threads (heft/runtime.h). Link heft::heft.
#ifndef HEFT_EVALUATE_H_
#define HEFT_EVALUATE_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/dataset.h"
#include "heft/export.h"
#include "heft/json.h"
#include "heft/model.h"
#include "heft/progress.h"
#include "heft/score_files.h"
#include "heft/train.h"

namespace heft {

// Report: results of a measurement.
struct Report {
  Json json = {};  // all numbers: data, model, one row for each system, gap, decisions, times
  std::string text = {};  // the main numbers as lines for people
  std::string page = {};  // one self-contained HTML page; empty unless requested
  std::vector<std::pair<std::string, std::string>> pictures = {};  // file name, SVG; as `page`
  std::vector<std::string> warnings = {};  // reasons not to rely on some numbers
  // If requested: the measured comparisons, plain and encrypted. The label of a reference or probe
  // is its person's row of the data.
  ScoreTable scores = {};
};

struct EvaluationOptions {
  // The people to measure on: "train", "val", "test", or "all", whatever the split.
  std::string split = "test";
  int replicates = 1000;  // of the bootstrap over identities, 10 or more
  uint64_t seed = 1;      // of the bootstrap
  bool page = false, pictures = false;
  std::string command = {};  // the command that the page gives to reproduce it
  bool scores = false;       // Report::scores
};

// Evaluate: measures a model on one split, comparing every sample with every other. The split is
// the one of the model's training if the data have a split.txt or were loaded with
// SplitSeed(model). Systems that need training people are reported as unavailable if the data have
// none. Takes minutes for some hundred samples. kInvalidArgument if the data lack a modality of the
// model or have another dimension, or the split has no pairs; kCancelled; errors of CheckDrawing
// for pictures.
HEFT_EXPORT absl::StatusOr<Report> Evaluate(const TrainingData& data, const Model& model,
                                            const EvaluationOptions& options = {},
                                            const Monitor& monitor = {});
// SplitSeed: the seed of TrainingData::Load in the model's training.
HEFT_EXPORT uint64_t SplitSeed(const Model& model);

// FoldOptions: options of cross-validation, which tests every person once with a model that has not
// seen that person.
struct FoldOptions {
  int folds = 5;                // 3 or more
  uint64_t fold_seed = 1;       // deals identities into folds
  bool encrypted = true;        // false: plain rows alone
  bool partial_probes = false;  // also probes that have one modality only
  int replicates = 1000;
  uint64_t seed = 1;
  bool page = false;  // the page, with its pictures
  std::string command = {};
  bool scores = false;  // for one set of models; the splits are the folds
};

// FoldFile: "FOLDER/fold-3.heft" for fold 2. LoadFolds: the models in these files.
// kFailedPrecondition unless they were trained in these folds of data with equally many rows.
HEFT_EXPORT std::string FoldFile(const std::string& folder, int fold);
HEFT_EXPORT absl::StatusOr<std::vector<Model>> LoadFolds(const std::string& folder,
                                                         const TrainingData& data, int folds,
                                                         uint64_t fold_seed);

// SaveFolds: writes models to these files; creates the folder if necessary. Errors of WriteFile.
HEFT_EXPORT absl::Status SaveFolds(const std::string& folder, std::span<const Model> models);

// FoldModels: one model for each fold. `name` distinguishes the rows of several sets; it may be
// empty.
struct FoldModels {
  std::string name;
  std::vector<Model> models;
};
// EvaluateFolds: compares sets of models on the folds of their training. Evaluate's errors;
// kInvalidArgument if the numbers of models and folds differ.
HEFT_EXPORT absl::StatusOr<Report> EvaluateFolds(const TrainingData& data,
                                                 std::span<const FoldModels> models,
                                                 const FoldOptions& options = {},
                                                 const Monitor& monitor = {});
// CompareChoices: trains and compares models for the choices of a model's owner: fused dimension,
// approximation, weights of modalities. The same errors. Takes about an hour.
HEFT_EXPORT absl::StatusOr<Report> CompareChoices(const TrainingData& data,
                                                  const FoldOptions& options = {},
                                                  const Monitor& monitor = {});

// SampleStudyOptions: options of a study of several samples per person. People with fewer samples
// than the largest numbers are left out.
struct SampleStudyOptions {
  int folds = 5;
  uint64_t fold_seed = 1;
  std::vector<int> samples = {1, 2, 4};  // for the template; 1 first, at most kMostSamples
  std::vector<int> probes = {1, 2};      // for the probe; the same limits
  int draws = 5;                         // of each person's samples for template and probe
  uint64_t seed = 1;                     // of the draws
  bool encrypted = true;                 // false: plain scores alone
  int replicates = 1000;
  uint64_t bootstrap_seed = 1;
  bool page = false, pictures = false;
  std::string command = {};
};
// EvaluateSamples: FNMR at a fixed FMR with the mean of several samples, in templates and probes,
// and with separate templates, taking the best score; also the cost, and the information that
// scores reveal. `models`: one for each fold. EvaluateFolds' errors; kFailedPrecondition for models
// without sample_agreement.
HEFT_EXPORT absl::StatusOr<Report> EvaluateSamples(const TrainingData& data,
                                                   std::span<const Model> models,
                                                   const SampleStudyOptions& options = {},
                                                   const Monitor& monitor = {});

// ProtectionOptions: how well templates are protected (ISO/IEC 24745, 30136).
struct ProtectionOptions {
  std::string split = "test";  // source of the templates; the attacker knows the people of "train"
  int samples = 300;           // enrolled under each of two keys, at most; 4 or more
  uint64_t seed = 1;
  bool page = false, pictures = false;
  std::string command = {};
};
// EvaluateProtection: unlinkability of templates under two keys (D_sys) with no, one and both
// secret keys stolen, irreversibility, and renewability by heft rekey. Evaluate's errors.
HEFT_EXPORT absl::StatusOr<Report> EvaluateProtection(const TrainingData& data, const Model& model,
                                                      const ProtectionOptions& options = {},
                                                      const Monitor& monitor = {});

// SearchStudyOptions: the study draws synthetic people with the statistics of the people in the
// data.
struct SearchStudyOptions {
  std::vector<uint64_t> calibrate_on = {200, 1000};  // people, 50 or more
  int draws = 40;
  uint64_t seed = 1;
  std::string split = "test";  // source of the statistics; with folds, everybody, by their models
  bool page = false;
  std::string command = {};
};
// EvaluateSearches: compares the measured FPIR with the requested one in galleries of 10 to 10,000
// people. `models`: one, or those of all folds. Takes minutes. kInvalidArgument for too few people;
// kCancelled.
HEFT_EXPORT absl::StatusOr<Report> EvaluateSearches(const TrainingData& data,
                                                    std::span<const Model> models,
                                                    const SearchStudyOptions& options = {},
                                                    const Monitor& monitor = {});

// GalleryOptions: options of searches among many other people.
struct GalleryOptions {
  std::string split = "test";  // first samples are enrolled, the others search; or "all"
  bool encrypted = true;       // false: plain scores
  bool page = false;
  std::string command = {};
};
// EvaluateGallery: 1:N searches in a gallery with the first sample of each person of the split and
// of each of `distractors`. The other samples of the split are searches by enrolled people. All
// samples of `strangers` are searches by people who are not enrolled; if it is null, each
// distractor searches with its enrolled sample, which is then left out. Reports FPIR at thresholds
// for 1e-1 and 1e-2, FNIR and rank-1 results: for the model with its thresholds, and for raw
// cosines with thresholds fitted to the people of the other splits. kInvalidArgument if folders
// share a label or lack a modality of the model, or no person of the split has two samples;
// kCancelled.
HEFT_EXPORT absl::StatusOr<Report> EvaluateGallery(const TrainingData& data, const Model& model,
                                                   const TrainingData& distractors,
                                                   const TrainingData* strangers = nullptr,
                                                   const GalleryOptions& options = {},
                                                   const Monitor& monitor = {});

// ProtocolOptions: options for a published protocol: given lists of references and probes.
struct ProtocolOptions {
  bool encrypted = true;  // false: plain scores
  int replicates = 1000;
  uint64_t seed = 1;
  bool page = false;
  std::string command = {};
  bool scores = false;  // labels are those of the lists, the splits are the groups
};
// EvaluateProtocol: `folder` holds the groups dev and eval in the format of bob.bio
// (docs/protocols.md); `names` is a file with the name of each row of the data, as in the lists.
// Thresholds are fitted to dev and measured on eval; the model's own thresholds are measured on
// both. kNotFound, kInvalidArgument with file and line; kCancelled.
HEFT_EXPORT absl::StatusOr<Report> EvaluateProtocol(const TrainingData& data, const Model& model,
                                                    const std::string& folder,
                                                    const std::string& names,
                                                    const ProtocolOptions& options = {},
                                                    const Monitor& monitor = {});

// NamedScores: scores of another system, with its name.
struct NamedScores {
  std::string name;
  ScoreTable table;
};
struct ScoreOptions {
  std::vector<double> fmrs = {1e-1, 1e-2, 1e-3, 1e-4};  // for the thresholds; below 1
  int replicates = 1000;                                // of the bootstrap, if people are named
  uint64_t seed = 1;
  bool curve = false;  // puts every point of the ROC into the JSON
  bool page = false, pictures = false;
  std::string command = {};
};
// MeasureScores: AUROC, EER, and FMR with FNMR at thresholds, of each system; for a table with
// plain scores also the effect of encryption. kInvalidArgument if a system lacks genuine or
// impostor scores, and for options out of range; errors of CheckDrawing for pages and pictures;
// kCancelled.
HEFT_EXPORT absl::StatusOr<Report> MeasureScores(std::span<const NamedScores> systems,
                                                 const ScoreOptions& options = {},
                                                 const Monitor& monitor = {});

// DrawLearningCurve: a picture (SVG) of training and validation AUROC by epoch.
HEFT_EXPORT absl::StatusOr<std::string> DrawLearningCurve(std::span<const LearnEpoch> curve,
                                                          int best_epoch);
// CheckDrawing: kUnavailable if gnuplot is not installed, which draws pages and pictures. Call it
// before long work.
HEFT_EXPORT absl::Status CheckDrawing();

}  // namespace heft

#endif  // HEFT_EVALUATE_H_
