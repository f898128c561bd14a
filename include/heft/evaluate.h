// SPDX-License-Identifier: Apache-2.0
// Measuring models on people: how well they tell them apart, plain and under encryption, beside
// baselines and with 95% intervals, and what encryption changes. Keys are made here and thrown
// away, and scores of all pairs are seen: for the owner of the data, never in a server. Calls use
// all threads (heft/runtime.h). Link heft::heft.
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

// Report: what was found.
struct Report {
  Json json = {};         // all numbers: data, model, a row a system, gap, decisions, times
  std::string text = {};  // the main ones as lines for people
  std::string page = {};  // one self-contained HTML page; empty unless asked for
  std::vector<std::pair<std::string, std::string>> pictures = {};  // file name, SVG; the same
  std::vector<std::string> warnings = {};  // why some numbers should not be relied on
  // Where asked for: the comparisons that were measured, encrypted beside plain; a person's row of
  // the data is the label of what is enrolled of him or compared with it.
  ScoreTable scores = {};
};

struct EvaluationOptions {
  // The people to measure on: "train", "val", "test", or "all", whatever the split.
  std::string split = "test";
  int replicates = 1000;  // of the bootstrap over identities, 10 or more
  uint64_t seed = 1;      // of the bootstrap
  bool page = false, pictures = false;
  std::string command = {};  // what the page says makes it again
  bool scores = false;       // Report::scores
};

// Evaluate measures a model on one split, every sample against every other. The split is the one
// that the model was learned with if the data have a split.txt or were loaded with
// SplitSeed(model). Systems that need training people say so where the data have none. Minutes for
// some hundred samples. kInvalidArgument where the data lack a modality of the model or have
// another dimension, or the split has no pairs; kCancelled; CheckDrawing's for pictures.
HEFT_EXPORT absl::StatusOr<Report> Evaluate(const TrainingData& data, const Model& model,
                                            const EvaluationOptions& options = {},
                                            const Monitor& monitor = {});
// SplitSeed: of TrainingData::Load when the model was learned.
HEFT_EXPORT uint64_t SplitSeed(const Model& model);

// FoldOptions: cross-validation, where every person is tested once, by a model that has not seen
// them.
struct FoldOptions {
  int folds = 5;                // 3 or more
  uint64_t fold_seed = 1;       // deals identities into folds
  bool encrypted = true;        // false: plain rows alone
  bool partial_probes = false;  // also probes that have one modality only
  int replicates = 1000;
  uint64_t seed = 1;
  bool page = false;  // the page, and the pictures on it
  std::string command = {};
  bool scores = false;  // of one set of models; splits are the folds
};

// FoldFile: "FOLDER/fold-3.heft" for fold 2. LoadFolds: the models in such files.
// kFailedPrecondition unless they were trained in these folds of data of as many rows.
HEFT_EXPORT std::string FoldFile(const std::string& folder, int fold);
HEFT_EXPORT absl::StatusOr<std::vector<Model>> LoadFolds(const std::string& folder,
                                                         const TrainingData& data, int folds,
                                                         uint64_t fold_seed);

// SaveFolds: into such files of a folder that is made if need be. Errors of WriteFile.
HEFT_EXPORT absl::Status SaveFolds(const std::string& folder, std::span<const Model> models);

// FoldModels: a model for each fold. `name` tells the rows of several apart; empty: nothing.
struct FoldModels {
  std::string name;
  std::vector<Model> models;
};
// EvaluateFolds compares models over the folds that they were learned in. Evaluate's errors, and
// kInvalidArgument where models and folds differ in number.
HEFT_EXPORT absl::StatusOr<Report> EvaluateFolds(const TrainingData& data,
                                                 std::span<const FoldModels> models,
                                                 const FoldOptions& options = {},
                                                 const Monitor& monitor = {});
// CompareChoices learns and compares what a model's owner has to choose: fused dimension,
// approximation, the modalities' weights. The same errors; about an hour.
HEFT_EXPORT absl::StatusOr<Report> CompareChoices(const TrainingData& data,
                                                  const FoldOptions& options = {},
                                                  const Monitor& monitor = {});

// SampleStudyOptions: what several samples of a person are worth. People who have fewer than the
// largest numbers ask for are left out.
struct SampleStudyOptions {
  int folds = 5;
  uint64_t fold_seed = 1;
  std::vector<int> samples = {1, 2, 4};  // at enrolment, 1 first, at most kMostSamples
  std::vector<int> probes = {1, 2};      // at the probe, the same
  int draws = 5;                         // of each person's samples for the one and the other
  uint64_t seed = 1;                     // of the draws
  bool encrypted = true;                 // false: plain scores alone
  int replicates = 1000;
  uint64_t bootstrap_seed = 1;
  bool page = false, pictures = false;
  std::string command = {};
};
// EvaluateSamples: FNMR at a fixed FMR of people who are enrolled and asked with the mean of
// several samples, and with separate templates of which the best counts; what it costs, and what
// scores give away. `models`: one a fold. EvaluateFolds' errors; kFailedPrecondition for models
// without sample_agreement.
HEFT_EXPORT absl::StatusOr<Report> EvaluateSamples(const TrainingData& data,
                                                   std::span<const Model> models,
                                                   const SampleStudyOptions& options = {},
                                                   const Monitor& monitor = {});

// ProtectionOptions: how well templates are protected (ISO/IEC 24745, 30136).
struct ProtectionOptions {
  std::string split = "test";  // whose templates; the attacker knows the people of "train"
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

// SearchStudyOptions: people are drawn who do not exist, with the statistics of those of the data.
struct SearchStudyOptions {
  std::vector<uint64_t> calibrate_on = {200, 1000};  // people, 50 or more
  int draws = 40;
  uint64_t seed = 1;
  std::string split = "test";  // whose statistics are taken; of folds everybody's, by their models
  bool page = false;
  std::string command = {};
};
// EvaluateSearches: whether FPIR is what was asked for in galleries of 10 to 10,000 people.
// `models`: one, or those of all folds. Minutes. kInvalidArgument for too few people; kCancelled.
HEFT_EXPORT absl::StatusOr<Report> EvaluateSearches(const TrainingData& data,
                                                    std::span<const Model> models,
                                                    const SearchStudyOptions& options = {},
                                                    const Monitor& monitor = {});

// GalleryOptions: of searches among many other people.
struct GalleryOptions {
  std::string split = "test";  // whose first samples are enrolled and whose others search; or "all"
  bool encrypted = true;       // false: plain scores
  bool page = false;
  std::string command = {};
};
// EvaluateGallery: 1:N searches of a gallery of the first sample of each person of the split and of
// each of `distractors`. The other samples of the split search as people who are enrolled.
// Strangers' searches are all samples of `strangers`; without it (null) each distractor searches
// with the sample that is enrolled of it, which is then left out. FPIR at thresholds for 1e-1 and
// 1e-2, FNIR and who is found first: by the model and its thresholds, and by raw cosines, whose
// thresholds are fitted on the people of the other splits. kInvalidArgument where folders share a
// label or lack a modality of the model, or no person of the split has two samples; kCancelled.
HEFT_EXPORT absl::StatusOr<Report> EvaluateGallery(const TrainingData& data, const Model& model,
                                                   const TrainingData& distractors,
                                                   const TrainingData* strangers = nullptr,
                                                   const GalleryOptions& options = {},
                                                   const Monitor& monitor = {});

// ProtocolOptions: of somebody else's lists of references and probes.
struct ProtocolOptions {
  bool encrypted = true;  // false: plain scores
  int replicates = 1000;
  uint64_t seed = 1;
  bool page = false;
  std::string command = {};
  bool scores = false;  // labels are those of the lists, splits the groups
};
// EvaluateProtocol: `folder` holds groups dev and eval in the form of bob.bio (docs/protocols.md);
// `names` a name a row of the data, as the lists have them. Thresholds are fitted on dev and
// measured on eval; the model's own on both. kNotFound, kInvalidArgument with file and line;
// kCancelled.
HEFT_EXPORT absl::StatusOr<Report> EvaluateProtocol(const TrainingData& data, const Model& model,
                                                    const std::string& folder,
                                                    const std::string& names,
                                                    const ProtocolOptions& options = {},
                                                    const Monitor& monitor = {});

// NamedScores: comparisons that somebody has made, and what they are called.
struct NamedScores {
  std::string name;
  ScoreTable table;
};
struct ScoreOptions {
  std::vector<double> fmrs = {1e-1, 1e-2, 1e-3, 1e-4};  // for which thresholds are sought, below 1
  int replicates = 1000;                                // of the bootstrap, where people are named
  uint64_t seed = 1;
  bool curve = false;  // in the JSON every point of the ROC, not only those sought
  bool page = false, pictures = false;
  std::string command = {};
};
// MeasureScores: AUROC, EER, and FMR with FNMR at thresholds, of each system; of a table with plain
// scores also what encryption changes. kInvalidArgument where a system lacks genuine or impostor
// scores, and for options out of range; CheckDrawing's for pages and pictures; kCancelled.
HEFT_EXPORT absl::StatusOr<Report> MeasureScores(std::span<const NamedScores> systems,
                                                 const ScoreOptions& options = {},
                                                 const Monitor& monitor = {});

// DrawLearningCurve: training and validation AUROC by epoch, a picture (SVG).
HEFT_EXPORT absl::StatusOr<std::string> DrawLearningCurve(std::span<const LearnEpoch> curve,
                                                          int best_epoch);
// CheckDrawing: kUnavailable where gnuplot, which draws pages and pictures, is not installed: to be
// asked before long work.
HEFT_EXPORT absl::Status CheckDrawing();

}  // namespace heft

#endif  // HEFT_EVALUATE_H_
