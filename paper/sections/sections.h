// SPDX-License-Identifier: Apache-2.0
// The sections of `heft-paper reproduce`, one function each; what they find, and what they share.
#ifndef HEFT_PAPER_SECTIONS_SECTIONS_H_
#define HEFT_PAPER_SECTIONS_SECTIONS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "base/threads.h"
#include "evaluation/bootstrap.h"
#include "experiment/random_model.h"
#include "experiment/stopwatch.h"
#include "experiment/systems.h"
#include "features/dataset.h"
#include "features/matrix.h"
#include "heft/files.h"
#include "heft/model.h"
#include "learning/train.h"
#include "paper/methods/normalisation.h"

namespace heft::paper {

// ---- The findings of a section: both the page and the JSON are made from this one description, so
// they hold the same numbers.

// Format: how the numbers of a column are printed.
enum class Format {
  kText,
  kCount,         // 10,760
  kScore,         // 0.9755
  kDifference,    // +0.0012
  kSmall,         // two significant digits: 0.00012
  kPercent,       // a share: 21.3%
  kMilliseconds,  // 3.14, and fewer digits for more
  kBytes,         // 1.5 MB
};

struct Column {
  std::string key;    // for programs
  std::string label;  // for people; empty: not on the page
  Format format = Format::kText;
  bool of_paper = false;  // published, not measured
};

// Table: a cell is null (empty), text, a number, a truth value, or a number with its interval
// {"value", "lo", "hi"}.
struct Table {
  std::string id, caption;
  std::vector<Column> columns;
  std::vector<std::vector<Json>> rows = {};  // of columns.size() cells
  std::vector<size_t> main_rows = {};        // set off from the others
};

// Cell: one with an interval.
inline Json Cell(const Estimate& e) { return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}}; }

// Mark: how the points of a curve are drawn.
enum class Mark { kLine, kSteps, kDots, kIntervals };

struct Curve {
  std::string label;  // empty: not in the key
  std::vector<std::pair<double, double>> points = {};
  int colour = 0;  // index into the chart's colours
  bool dashed = false;
  Mark mark = Mark::kLine;
  std::vector<std::pair<double, double>> intervals = {};  // of y, for kIntervals
};

struct Chart {
  std::string id, title, caption;
  std::string x_label, y_label;
  bool log_x = false, log_y = false;
  std::optional<std::pair<double, double>> x_range = {}, y_range = {};
  std::vector<double> verticals = {};  // dashed lines
  std::vector<Curve> curves = {};
};

struct Section {
  std::string id;
  std::string title;
  std::string paper;                    // what it stands for there: "Table 2, figure 6a"
  std::vector<std::string> text = {};   // paragraphs: what was measured, and how
  std::vector<std::string> notes = {};  // where and why we differ from the paper
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::vector<Table> tables = {};
  std::vector<Chart> charts = {};
  double seconds = 0;
};

// ---- The data that all sections share, and how much of it is used.

// Effort: how much is done, so that the whole takes less than 30 minutes on 2 cores, or 2 with
// --quick.
struct Effort {
  int folds = 5;          // of table 2
  int other_folds = 3;    // of the other sections on recognition
  int test_rows = 160;    // of each fold's test split, for every system alike
  int train_rows = 1200;  // of each fold's training split, for the paper's recipe
  int val_rows = 300;     // of each fold's validation split
  int epochs = 100;       // of the paper's recipe
  int replicates = 500;   // of the bootstrap
  int repetitions = 10;   // of a timed operation
  int appendix_identities = 300;
  bool slow_methods = true;  // encrypted deep normalisations, N = 32768
};
Effort FullEffort();
Effort QuickEffort();

struct Study {
  const Monitor& monitor;
  Dataset data = {};
  std::string data_name = {}, data_description = {};
  bool synthetic = false;  // no data folder was given
  bool quick = false;
  uint64_t seed = 1;
  std::string exact_projection = {}, aware_projection = {};  // published matrices, empty or a file
  Effort effort = {};
};

// ThinSplit: `rows` at most of one split, four of each identity at a time while there are any; the
// other splits whole.
Dataset ThinSplit(const Dataset& dataset, Split split, int rows, uint64_t seed);

// ForTraining: what training takes of a fold: fewer validation samples and, for the paper's recipe,
// which compares all triplets, fewer training samples.
Dataset ForTraining(const Study& study, const Dataset& dataset, Recipe recipe);

// PaperTraining: the paper's recipe (Recipe::kPaper) with this effort; degree 2 by least squares.
TrainOptions PaperTraining(const Study& study);
// OurTraining: our recipe.
TrainOptions OurTraining(const Study& study);

// ModelOf: a model of a trained projection for the engine's methods.
Model ModelOf(const Dataset& dataset, const FeatureMatrix& projection,
              const Approximation& approximation, const std::string& profile);

// DataInterval: what the data need: discriminant projections of the training samples, from the 0.1%
// quantile of |z|^2 to the 99.9% quantile with a margin of 15%, the geometric middle at 1.
absl::StatusOr<Interval> DataInterval(const Study& study);

// MedianMs: the median CPU time of `work`, which returns a status, all threads together, in
// milliseconds. kCancelled when the monitor says so.
template <typename Work>
absl::StatusOr<double> MedianMs(const Monitor& monitor, int repetitions, const Work& work) {
  using experiment::Stopwatch;
  std::vector<double> ms;
  for (int i = 0; i < repetitions; ++i) {
    HEFT_RETURN_IF_ERROR(CheckNotStopped(monitor));
    const Stopwatch watch(Stopwatch::kProcess);
    HEFT_RETURN_IF_ERROR(work());
    ms.push_back(watch.Milliseconds());
  }
  return experiment::Median(ms);
}

// OneThread: the engine works on one thread as long as this lives, so that times compare.
class OneThread {
 public:
  OneThread() { SetThreadCount(1); }
  ~OneThread() { SetThreadCount(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = ThreadCount();
};

// RandomUnits: random vectors of length one, a row each.
inline FeatureMatrix RandomUnits(int rows, uint32_t dimension, std::mt19937_64& random) {
  FeatureMatrix units(rows, dimension);
  for (int i = 0; i < rows; ++i) {
    const std::vector<double> unit = experiment::RandomUnit(dimension, random);
    std::copy(unit.begin(), unit.end(), units.row(i).begin());
  }
  return units;
}

// ScoresOf: plain scores of the test split: scores of all pairs under a projection; normalised
// exactly where there is no normalisation.
absl::StatusOr<LabelledScores> ScoresOf(const Dataset& data, const FeatureMatrix& projection,
                                        const std::optional<NormalisationSpec>& normalisation);

// FixedSystems: the modalities, their average (of equal dimensions) and their concatenation:
// cosines of features scaled by the data set's norm. In this order; ids are "modality0",
// "modality1", "average", "concatenation".
absl::StatusOr<std::vector<experiment::SystemScores>> FixedSystems(const Dataset& data);

// ---- The sections.

// Approximations in the clear.
absl::StatusOr<Section> Approximations(const Study& study);
absl::StatusOr<Section> ErrorAgainstDepth(const Study& study);

// Single stages under encryption.
absl::StatusOr<Section> Encodings(const Study& study);
absl::StatusOr<Section> Projections(const Study& study);
absl::StatusOr<Section> Normalisations(const Study& study);

// Costs.
absl::StatusOr<Section> OperationCounting(const Study& study);
absl::StatusOr<Section> Scaling(const Study& study);
absl::StatusOr<Section> Latency(const Study& study);

absl::StatusOr<Section> Protocols(const Study& study);

// Recognition.
absl::StatusOr<Section> Recognition(const Study& study);
absl::StatusOr<Section> GammaAblation(const Study& study);
absl::StatusOr<Section> Appendix(const Study& study);
absl::StatusOr<Section> Footnotes(const Study& study);

// SectionSpec: a section by the names that --only takes for it: first its own, then those of the
// tables and figures in it, as the paper numbers them.
struct SectionSpec {
  std::vector<std::string> names;
  absl::StatusOr<Section> (*make)(const Study&);
};
std::span<const SectionSpec> AllSections();

// ChooseSections: those that `only` (comma-separated names) asks for, in order; all where it is
// empty. kInvalidArgument lists the names that exist.
absl::StatusOr<std::vector<SectionSpec>> ChooseSections(const std::string& only);

}  // namespace heft::paper

#endif  // HEFT_PAPER_SECTIONS_SECTIONS_H_
