// SPDX-License-Identifier: Apache-2.0
#include "experiment/score_tables.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace heft::experiment {

void ScoreTableBuilder::Add(const std::string& split, const Compared& enrolled,
                            const Compared& probe, double score, const double* plain) {
  ScorePair pair;
  pair.split = splits_.Add(split);
  pair.enrolled = subjects_.Add(enrolled.subject);
  pair.enrolled_label = labels_.Add(enrolled.label);
  pair.probe = subjects_.Add(probe.subject);
  pair.probe_label = labels_.Add(probe.label);
  pair.genuine = pair.enrolled == pair.probe;
  pair.score = score;
  if (plain != nullptr) pair.plain = *plain;
  table_.has_plain = plain != nullptr;
  table_.pairs.push_back(pair);
}

void ScoreTableBuilder::AddSquare(const std::string& split, std::span<const int> rows,
                                  std::span<const std::string> identities,
                                  const FeatureMatrix& scores, const FeatureMatrix* plain) {
  std::vector<Compared> samples;
  for (int row : rows) {
    samples.push_back({identities[static_cast<size_t>(row)], absl::StrCat(row)});
  }
  const auto count = static_cast<Eigen::Index>(rows.size());
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = i + 1; j < count; ++j) {
      const double clear = plain == nullptr ? 0 : (*plain)(i, j);
      Add(split, samples[static_cast<size_t>(j)], samples[static_cast<size_t>(i)], scores(i, j),
          plain == nullptr ? nullptr : &clear);
    }
  }
}

ScoreTable ScoreTableBuilder::Finish() {
  table_.subjects = subjects_.Names();
  table_.labels = labels_.Names();
  table_.splits = splits_.Names();
  return std::move(table_);
}

}  // namespace heft::experiment
