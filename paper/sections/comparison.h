// SPDX-License-Identifier: Apache-2.0
// Comparison: the paper's table of AUROCs on some data: every row of it in every fold, in plain and
// under encryption.
#ifndef HEFT_PAPER_SECTIONS_COMPARISON_H_
#define HEFT_PAPER_SECTIONS_COMPARISON_H_

#include <map>
#include <string>

#include "base/status.h"
#include "evaluation/folds.h"
#include "evaluation/metrics.h"
#include "paper/methods/normalisation.h"
#include "paper/sections/sections.h"

namespace heft::paper {

// Gap: what encryption changed for a system, over all folds.
struct Gap {
  double score = 0, predicted = 0;
  std::string parameters, security;
};

class Comparison {
 public:
  explicit Comparison(const Study& study) : study_(study) {}

  // Run: all folds, or the data's own split where the study gives published matrices.
  absl::Status Run(const Dataset& data);
  // Compare: means over the folds, with intervals.
  absl::StatusOr<FoldComparison> Compare() const;

  const std::map<std::string, Gap>& gaps() const { return gaps_; }
  // Scores of all folds together.
  const std::map<std::string, ScoreSet>& pairs() const { return pairs_; }
  // Share of samples that the FHE-aware projection throws out of the paper's interval.
  double mean_outside() const { return samples_ == 0 ? 0 : double(outside_) / samples_; }

 private:
  absl::Status Fold(const std::string& name, const Dataset& whole);
  // Learned by the paper's recipe, or published.
  absl::StatusOr<FeatureMatrix> Projection(const Dataset& data, bool aware);
  absl::Status Add(const ScoredSystem& system, LabelledScores scores);
  absl::Status Plain(const Dataset& data, const FeatureMatrix& projection,
                     const ScoredSystem& system);
  // Plain, and the same computed by the paper's route.
  absl::Status Both(const Dataset& data, const FeatureMatrix& projection,
                    const NormalisationSpec& normalisation, bool encrypt, const std::string& id);
  void Note(const std::string& id, FeatureMatrix difference, double predicted,
            const std::string& parameters, const std::string& security);
  absl::Status CountOutside(const Dataset& data, const FeatureMatrix& projection);
  // Our default: re-paired samples from a discriminant start, cubic minimax on the data's interval,
  // compact encoding, diagonal blocks.
  absl::Status Ours(const Dataset& data);

  const Study& study_;
  std::string name_;
  FoldTable table_;
  std::map<std::string, Gap> gaps_;
  std::map<std::string, ScoreSet> pairs_;
  int outside_ = 0, samples_ = 0;
};

// PaperAurocs: what the paper gives for a system, by its id in our table.
using PaperAurocs = std::map<std::string, double>;

// AddComparison: a table, the differences that the paper's text speaks of, and the ROC curves.
absl::Status AddComparison(const Study& study, const Dataset& data, const PaperAurocs& paper,
                           const std::string& id, Section* section);

}  // namespace heft::paper

#endif  // HEFT_PAPER_SECTIONS_COMPARISON_H_
