// SPDX-License-Identifier: Apache-2.0
// Measures a model on people: how well it tells them apart, plain and encrypted, compared with
// baselines and with 95% intervals, and the effect of encryption. These calls create and discard
// keys and see the scores of all pairs. They are for the owner of the data, never for a server.
// They use all threads (heft/base.h). Link heft::heft.
#ifndef HEFT_EVALUATE_H_
#define HEFT_EVALUATE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/dataset.h"
#include "heft/files.h"
#include "heft/model.h"
#include "heft/train.h"

namespace heft {

// Reads and writes scores of comparisons: our own CSV, and score files of bob.bio and PyEER
// (docs/evaluation.md lists the columns). MeasureScores evaluates them. No
// cryptography. Link heft::heft.

// ScorePair: one comparison of a probe with a template. Names are indices into the table's lists.
struct ScorePair {
  uint32_t enrolled = 0, probe = 0;              // of subjects
  uint32_t enrolled_label = 0, probe_label = 0;  // of labels: a template's, a probe's
  uint32_t split = 0;                            // of splits
  bool genuine = false;
  double score = 0;  // a similarity; NaN where the comparison failed
  // With an encrypted score: the same score, computed in plain.
  double plain = std::numeric_limits<double>::quiet_NaN();
};

// ScoreTable: comparisons and the names in them. An empty label or split is unknown.
struct ScoreTable {
  std::vector<std::string> subjects, labels, splits;
  std::vector<ScorePair> pairs;
  bool named = true;       // false: only genuine and impostor scores, without subjects
  bool has_plain = false;  // of every pair

  size_t Failures() const;  // pairs without a score
};

// ScoreForm: kCsv is also the format of bob.bio from version 5.0 on; kBob4 and kBob5 are its older
// formats with four and five columns.
enum class ScoreForm { kCsv, kBob4, kBob5 };

// ParseScores: detects the format from the first line. kInvalidArgument, with `what`, the line and
// the reason, for: an unknown format, a different number of fields than before, a score that is
// infinite or not a number, a name that a terminal cannot show, or a kind that contradicts the
// subjects. ReadScores: the same for a file of at most 2 GiB, with ReadFile's errors.
HEFT_EXPORT absl::StatusOr<ScoreTable> ParseScores(std::string_view text, std::string_view what);
HEFT_EXPORT absl::StatusOr<ScoreTable> ReadScores(const std::string& path);

// ScoreLists: the format of PyEER: a file of genuine scores and one of impostor scores, each score
// in the last column. `histogram`: line k (from 0) of the second file is the number of impostor
// scores equal to k.
struct ScoreLists {
  std::string genuine, impostor;
};
// The same errors; kInvalidArgument also for a histogram of more than 10 million scores.
HEFT_EXPORT absl::StatusOr<ScoreTable> ParseScoreLists(const ScoreLists& texts,
                                                       const ScoreLists& names,
                                                       bool histogram = false);
HEFT_EXPORT absl::StatusOr<ScoreTable> ReadScoreLists(const ScoreLists& paths,
                                                      bool histogram = false);

// FormatScores: numbers are read back exactly. kInvalidArgument for a table without names, and in
// columns for a name with a blank. FormatScoreLists leaves out failed comparisons.
HEFT_EXPORT absl::StatusOr<std::string> FormatScores(const ScoreTable& table, ScoreForm form);
HEFT_EXPORT ScoreLists FormatScoreLists(const ScoreTable& table);

// SelectSplit: the comparisons of one split. kNotFound lists the splits.
HEFT_EXPORT absl::StatusOr<ScoreTable> SelectSplit(const ScoreTable& table, std::string_view split);

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
  std::vector<int> samples = {1, 2, 4};  // for the template; 1 first, at most kMaxSamples
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

// The studies with files as inputs, as `heft evaluate` and `heft study` run
// them. Link heft::heft.
//
//   heft::StudyOptions options = {.data = "lfw-speech", .models = {"m.heft"}};
//   auto study = heft::LoadStudy(options);
//   auto report = heft::RunStudy(*study);

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

// Measures times on this machine: complete jobs of all roles in this process, on random vectors.
// Use an idle machine. Link heft::heft.

struct BenchmarkOptions {
  int iterations = 20;  // of each job
  uint32_t templates = 1024;
  std::vector<uint32_t> dimensions = {512, 512};  // as in heft/model.h
  // Fused dimensions, measured one after another; empty: all of 32, 64, ... 1,024 that the
  // dimensions and the profile allow.
  std::vector<uint32_t> gammas = {};
  int degree = 3;
  std::string profile = "standard";
  bool skip_large = false;           // without the large gallery
  size_t large_templates = 1000000;  // of the large gallery: as many as fit 2 GiB of memory
  int batch = 64;                    // probes in one pass over the large gallery
};

// RunBenchmark: "dimensions" has an object for each fused dimension, with medians and spreads of
// the repetitions (NAME_ms), sizes (NAME_bytes), accuracy, and times by instruction set. The other
// members are "machine", "profile" and "operations". Takes minutes for each dimension, on the
// configured threads (heft/base.h). kInvalidArgument for a model that cannot be evaluated;
// kCancelled.
HEFT_EXPORT absl::StatusOr<Json> RunBenchmark(const BenchmarkOptions& options = {},
                                              const Monitor& monitor = {});

// BenchmarkTable: a table of RunBenchmark's result with one line for each dimension.
HEFT_EXPORT std::string BenchmarkTable(const Json& result);

// Sweep: how times grow with the gallery, the dimensions and the number of pairs; times by stage
// and by instruction set.
struct Sweep {
  Json result;
  std::vector<std::pair<std::string, std::string>> pictures;  // file name, SVG
};
// RunSweep: `options.iterations` repetitions for each point, galleries up to
// `options.large_templates`, at the first of `options.gammas` or 32. The same errors; errors of
// CheckDrawing.
HEFT_EXPORT absl::StatusOr<Sweep> RunSweep(const BenchmarkOptions& options = {},
                                           const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_EVALUATE_H_
