// SPDX-License-Identifier: Apache-2.0
#include "learning/start.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/threads.h"
#include "learning/discriminant.h"
#include "learning/parts.h"
#include "learning/recipe.h"
#include "learning/train_internal.h"

namespace heft {
namespace {

// Size of a filled-up row against that of a discriminant.
constexpr double kFillWeight = 0.1;
// Streams of the seed.
constexpr uint64_t kDealStream = 4, kRepairStream = 5;

// Fill: rows from `found` on become principal components, of the modalities in turn.
void Fill(const SamplePool& pool, Eigen::Index found, Directions& directions) {
  const Eigen::Index missing = directions.rows.rows() - found;
  const double size = std::sqrt(directions.rows.squaredNorm() / std::max<Eigen::Index>(1, found));
  std::vector<FeatureMatrix> components;
  std::vector<Eigen::Index> column = {0};
  for (const PoolModality& modality : pool.modalities()) {
    components.push_back(Pca(modality.features, static_cast<int>(missing)));
    column.push_back(column.back() + modality.features.cols());
  }
  Eigen::Index next = found;
  for (Eigen::Index i = 0; i < missing; ++i) {
    for (size_t m = 0; m < components.size() && next < directions.rows.rows(); ++m) {
      if (i >= components[m].rows()) continue;
      directions.rows.row(next).segment(column[m], components[m].cols()) =
          kFillWeight * size * components[m].row(i);
      directions.modalities[next++] = static_cast<int>(m);
    }
  }
}

// Products: of all pairs of a batch's samples, modality by modality, as far as weights leave them
// open.
struct Products {
  std::vector<FeatureMatrix> of;  // n x n, one a modality
  const std::vector<int>* classes = nullptr;

  FeatureMatrix Scores(std::span<const double> weights) const {
    FeatureMatrix sum = FeatureMatrix::Zero(of[0].rows(), of[0].cols());
    for (size_t m = 0; m < of.size(); ++m) sum += weights[m] * weights[m] * of[m];
    const Eigen::VectorXd length = sum.diagonal().cwiseMax(1e-300).cwiseSqrt();
    sum.array().colwise() /= length.array();
    sum.array().rowwise() /= length.transpose().array();
    return sum;
  }
};

// MeanAuroc of all batches; -1 if not computable.
double Judge(const std::vector<Products>& batches, std::span<const double> weights) {
  std::vector<double> auroc(batches.size());
  ParallelFor(batches.size(), [&](size_t i) {
    auroc[i] = internal::FastAuroc(batches[i].Scores(weights), *batches[i].classes);
  });
  return std::accumulate(auroc.begin(), auroc.end(), 0.0) / static_cast<double>(auroc.size());
}

// Thin: of each class as many samples as `most` rows allow, two at least.
Batch Thin(const Batch& batch, int most) {
  const int classes = 1 + *std::max_element(batch.classes.begin(), batch.classes.end());
  const int each = std::max(2, most / classes);
  std::vector<int> taken(classes), rows;
  Batch thin;
  for (size_t i = 0; i < batch.classes.size(); ++i) {
    if (taken[batch.classes[i]]++ >= each) continue;
    rows.push_back(static_cast<int>(i));
    thin.classes.push_back(batch.classes[i]);
  }
  thin.features = batch.features(rows, Eigen::all);
  return thin;
}

}  // namespace

absl::StatusOr<Directions> FindDirections(const SamplePool& pool, int gamma,
                                          const DirectionOptions& options) {
  DiscriminantOptions lda;
  lda.shrinkage = options.shrinkage;
  lda.blend = options.blend;
  HEFT_ASSIGN_OR_RETURN(const Discriminants found, ChimericLda(pool, gamma, lda));
  Directions directions{FeatureMatrix::Zero(gamma, found.vectors.cols()), found.modalities};
  directions.modalities.resize(gamma, 0);
  for (Eigen::Index i = 0; i < found.vectors.rows(); ++i) {
    const double ratio = found.ratios[i];
    directions.rows.row(i) = std::sqrt(ratio / (1 + 2 * ratio)) * found.vectors.row(i);
  }
  if (found.vectors.rows() < gamma) Fill(pool, found.vectors.rows(), directions);
  return directions;
}

FeatureMatrix Weighted(const FeatureMatrix& projection, const SamplePool& pool,
                       std::span<const double> weights) {
  FeatureMatrix result = projection;
  Eigen::Index column = 0;
  for (size_t m = 0; m < weights.size(); ++m) {
    const Eigen::Index width = pool.modalities()[m].features.cols();
    result.middleCols(column, width) *= weights[m];
    column += width;
  }
  return result;
}

namespace {

// Blends: those to try; none but 0 where a modality is too large.
std::vector<double> Blends(const SamplePool& pool, const TrainOptions& options) {
  if (options.blend >= 0) return {options.blend};
  for (const PoolModality& modality : pool.modalities()) {
    if (modality.features.cols() > recipe::kLargestBlended) return {0};
  }
  return {std::begin(recipe::kBlends), std::end(recipe::kBlends)};
}

}  // namespace

StartSearch StartSearch::Make(const SamplePool& pool, int gamma, const TrainOptions& options) {
  StartSearch search;
  search.modalities_ = pool.modalities().size();
  search.people_ = pool.identities();
  search.fallback_ = std::max(options.blend, 0.0);
  const int parts = std::min(recipe::kStartParts, pool.identities() / recipe::kFewestInPart);
  if (parts < 2) return search;
  Random random(options.seed, kDealStream);
  const std::vector<int> part_of = DealPeople(pool.Paired().classes, parts, random);
  for (int part = 0; part < parts; ++part) {
    std::vector<int> own, others;
    for (int i = 0; i < pool.identities(); ++i) (part_of[i] == part ? own : others).push_back(i);
    const SamplePool rest = pool.Only(others), judged = pool.Only(own);
    Random repair(options.seed, kRepairStream + part);
    std::vector<Batch> batches = {Thin(judged.Paired(), recipe::kStartRows)};
    if (search.modalities_ > 1) batches.push_back(judged.Repair(repair, recipe::kStartRows));
    for (double blend : Blends(pool, options)) {
      const auto directions = FindDirections(rest, gamma, {options.shrinkage, blend});
      // Nobody among the others with two samples: the part tells nothing.
      if (!directions.ok()) continue;
      for (const Batch& batch : batches) {
        if (!HasGenuinePair(batch)) continue;
        search.judged_[blend].push_back({ProjectAll(directions->rows, batch.features),
                                         directions->modalities, batch.classes,
                                         &batch == &batches[0]});
      }
    }
  }
  return search;
}

namespace {

// ProductsOf: of the columns of z below `gamma`.
Products ProductsOf(const FeatureMatrix& z, const std::vector<int>& modalities, size_t count,
                    int gamma, const std::vector<int>& classes) {
  Products products{std::vector<FeatureMatrix>(count), &classes};
  for (size_t m = 0; m < count; ++m) {
    std::vector<int> columns;
    for (int i = 0; i < gamma; ++i) {
      if (modalities[i] == static_cast<int>(m)) columns.push_back(i);
    }
    products.of[m] = CosineScores(z(Eigen::all, columns));
  }
  return products;
}

// Search: by pattern, from the given weights; steps shrink, and a step is taken as long as it
// helps. The AUROC that it comes to.
void Search(const std::vector<Products>& batches, double share, std::vector<double>& weights) {
  double best = Judge(batches, weights);
  const auto better = [&](size_t m, double factor) {
    std::vector<double> trial = weights;
    trial[m] *= factor;
    if (trial[m] > recipe::kLargestWeight || trial[m] < 1 / recipe::kLargestWeight) return false;
    const double auroc = Judge(batches, trial);
    if (1 - auroc >= (1 - share) * (1 - best)) return false;
    best = auroc;
    weights = trial;
    return true;
  };
  for (double step : recipe::kWeightSteps) {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t m = 1; m < weights.size(); ++m) {
        bool up = false;
        while (better(m, step)) up = true;
        while (!up && better(m, 1 / step)) moved = true;
        moved = moved || up;
      }
      if (weights.size() == 2) break;
    }
  }
}

}  // namespace

StartChoice StartSearch::Best(int gamma, std::vector<double> weights) const {
  const bool search = weights.empty() && modalities_ > 1;
  if (weights.empty()) weights.assign(modalities_, 1.0);
  StartChoice best{weights, fallback_};
  std::vector<Products> of_best;
  double best_auroc = -1;
  for (const auto& [blend, judged] : judged_) {
    std::vector<Products> batches;
    for (const Judged& one : judged) {
      batches.push_back(ProductsOf(one.z, one.modalities, modalities_, gamma, one.classes));
    }
    const double auroc = Judge(batches, weights);
    if (auroc <= best_auroc) continue;
    best_auroc = auroc;
    best.blend = blend;
    of_best = std::move(batches);
  }
  if (search && !of_best.empty()) {
    Search(of_best, recipe::kWeightEvidence / std::sqrt(people_), best.weights);
  }
  return best;
}

std::vector<LabelledScores> StartSearch::Scores(int gamma, const StartChoice& choice) const {
  std::vector<LabelledScores> sets;
  const auto found = judged_.find(choice.blend);
  if (found == judged_.end()) return sets;
  for (const Judged& judged : found->second) {
    if (!judged.paired) continue;
    const Products products =
        ProductsOf(judged.z, judged.modalities, modalities_, gamma, judged.classes);
    sets.push_back({products.Scores(choice.weights), judged.classes});
  }
  return sets;
}

absl::StatusOr<FeatureMatrix> DiscriminantStart(const SamplePool& pool, const TrainOptions& options,
                                                std::vector<double>& weights) {
  const StartSearch search = StartSearch::Make(pool, options.gamma, options);
  const StartChoice choice = search.Best(options.gamma, options.modality_weights);
  weights = choice.weights;
  HEFT_ASSIGN_OR_RETURN(const Directions directions,
                        FindDirections(pool, options.gamma, {options.shrinkage, choice.blend}));
  return Weighted(directions.rows, pool, weights);
}

}  // namespace heft
