// SPDX-License-Identifier: Apache-2.0
#include "learning/start.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "learning/parts.h"
#include "learning/recipe.h"

namespace heft {
namespace {

// Size of a filled-up row against that of a discriminant.
constexpr double kFillWeight = 0.1;
// Streams of the seed.
constexpr uint64_t kDealStream = 4, kRepairStream = 5;

// A direction of a modality's basis, and what its row is multiplied by.
struct Picked {
  size_t modality;
  Eigen::Index index;
  double scale;
};

// The `gamma` directions of the largest variance in templates, the largest first.
std::vector<Picked> Pick(const std::vector<Eigen::VectorXd>& variances, int gamma,
                         const StartChoice& choice) {
  struct Candidate {
    double variance;
    Picked picked;
  };
  std::vector<Candidate> candidates;
  for (size_t m = 0; m < variances.size(); ++m) {
    for (Eigen::Index i = 0; i < variances[m].size(); ++i) {
      const double variance = variances[m][i];
      const double scale = choice.weights[m] * std::pow(variance, -choice.whitening / 2);
      candidates.push_back({scale * scale * variance, {m, i, scale}});
    }
  }
  std::ranges::stable_sort(candidates, std::ranges::greater{}, &Candidate::variance);
  const auto modalities = static_cast<Eigen::Index>(variances.size());
  Eigen::Index least = static_cast<Eigen::Index>(choice.least_share * gamma) / modalities;
  // A modality without a direction scores 0 against everything.
  if (choice.least_share > 0 && gamma >= modalities) least = std::max<Eigen::Index>(least, 1);
  size_t open = static_cast<size_t>(gamma);  // for directions beyond the least
  for (const Eigen::VectorXd& of : variances) {
    open -= std::min<size_t>(open, static_cast<size_t>(std::min(least, of.size())));
  }
  std::vector<Picked> picked;
  for (const Candidate& candidate : candidates) {
    const bool first = candidate.picked.index < least;  // a basis has its best direction first
    if (!first && open == 0) continue;
    if (!first) --open;
    if (picked.size() < static_cast<size_t>(gamma)) picked.push_back(candidate.picked);
  }
  return picked;
}

absl::StatusOr<Basis> DiscriminantsOf(const ClassScatter& scatter, size_t modality, int gamma,
                                      const StartChoice& choice) {
  return DiscriminantBasis(scatter, gamma,
                           {.shrinkage = choice.shrinkages[modality], .blend = choice.blend});
}

// First columns of the modalities in the concatenation, and the total.
std::vector<Eigen::Index> Columns(const SamplePool& pool) {
  std::vector<Eigen::Index> columns = {0};
  for (const PoolModality& modality : pool.modalities()) {
    columns.push_back(columns.back() + modality.features.cols());
  }
  return columns;
}

// Rows from `found` on become principal components, of the modalities in turn.
void Fill(const SamplePool& pool, Eigen::Index found, FeatureMatrix& rows) {
  const Eigen::Index missing = rows.rows() - found;
  const double size = std::sqrt(rows.squaredNorm() / std::max<Eigen::Index>(1, found));
  const std::vector<Eigen::Index> column = Columns(pool);
  std::vector<FeatureMatrix> components;
  for (const PoolModality& modality : pool.modalities()) {
    components.push_back(Pca(modality.features, static_cast<int>(missing)));
  }
  Eigen::Index next = found;
  for (Eigen::Index i = 0; i < missing; ++i) {
    for (size_t m = 0; m < components.size() && next < rows.rows(); ++m) {
      if (i >= components[m].rows()) continue;
      rows.row(next++).segment(column[m], components[m].cols()) =
          kFillWeight * size * components[m].row(i);
    }
  }
}

absl::StatusOr<FeatureMatrix> Concatenation(const SamplePool& pool, int gamma,
                                            const std::vector<double>& weights) {
  const std::vector<Eigen::Index> column = Columns(pool);
  if (gamma < column.back()) {
    return absl::InvalidArgumentError(
        absl::StrCat("method none keeps all ", column.back(), " dimensions, ", gamma,
                     " are asked for: choose a larger gamma, or method pca"));
  }
  FeatureMatrix rows = FeatureMatrix::Zero(gamma, column.back());
  for (size_t m = 0; m < weights.size(); ++m) {
    for (Eigen::Index i = column[m]; i < column[m + 1]; ++i) rows(i, i) = weights[m];
  }
  return rows;
}

// Of each class as many samples as `most` rows allow, two at least.
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

bool CanBlend(const SamplePool& pool) {
  return std::ranges::all_of(pool.modalities(), [](const PoolModality& modality) {
    return modality.features.cols() <= recipe::kLargestBlended;
  });
}

Eigen::VectorXd MeanSquares(const FeatureMatrix& z) {
  return z.colwise().squaredNorm().transpose() / static_cast<double>(z.rows());
}

// Whether an estimate is below another by enough to move for.
bool Less(double a, double b) {
  return a + recipe::kLeastError < (1 - recipe::kStepEvidence) * (b + recipe::kLeastError);
}

// Cosines of all rows with the rows below them, above the diagonal.
FeatureMatrix Cosines(FeatureMatrix z) {
  z.rowwise().normalize();  // A zero row stays zero.
  FeatureMatrix scores = FeatureMatrix::Zero(z.rows(), z.rows());
  scores.selfadjointView<Eigen::Upper>().rankUpdate(z);
  return scores;
}

}  // namespace

absl::StatusOr<FeatureMatrix> BuildStart(const SamplePool& pool, int gamma,
                                         const StartChoice& choice, FurtherScatters* further) {
  FurtherScatters own;
  if (further == nullptr) further = &own;
  if (choice.method == Method::kNone) return Concatenation(pool, gamma, choice.weights);
  std::vector<Basis> bases;
  std::vector<Eigen::VectorXd> variances;
  for (size_t m = 0; m < pool.modalities().size(); ++m) {
    const PoolModality& modality = pool.modalities()[m];
    const auto of_method = [&] {
      if (choice.method == Method::kPca) return PrincipalBasis(modality, gamma);
      return DiscriminantsOf(ScatterOf(modality, &(*further)[m]), m, gamma, choice);
    };
    HEFT_ASSIGN_OR_RETURN(Basis basis, of_method());
    variances.push_back(basis.variances);
    bases.push_back(std::move(basis));
  }
  const std::vector<Eigen::Index> column = Columns(pool);
  FeatureMatrix rows = FeatureMatrix::Zero(gamma, column.back());
  Eigen::Index next = 0;
  for (const Picked& picked : Pick(variances, gamma, choice)) {
    const auto vector = bases[picked.modality].vectors.row(picked.index);
    rows.row(next++).segment(column[picked.modality], vector.size()) = picked.scale * vector;
  }
  if (next < gamma && choice.method == Method::kLearned) Fill(pool, next, rows);
  return rows;
}

StartChoice DefaultStart(const TrainOptions& options, const SamplePool& pool) {
  const auto given = [](double value, double otherwise) { return value < 0 ? otherwise : value; };
  StartChoice start{options.method,
                    std::vector<double>(pool.modalities().size(),
                                        given(options.shrinkage, recipe::kMiddleShrinkage)),
                    given(options.blend, CanBlend(pool) ? recipe::kMiddleBlend : 0),
                    given(options.whitening, recipe::kMiddleWhitening), options.modality_weights};
  if (!options.shrinkages.empty()) start.shrinkages = options.shrinkages;
  start.least_share = options.drop_modality > 0 ? recipe::kLeastShareDropped : recipe::kLeastShare;
  if (start.weights.empty()) start.weights.assign(pool.modalities().size(), 1.0);
  return start;
}

StartSearch StartSearch::Make(const SamplePool& pool, int gamma, const TrainOptions& options) {
  StartSearch search;
  search.options_ = options;
  search.gamma_ = gamma;
  search.blended_ = CanBlend(pool);
  const int parts = std::min(recipe::kStartParts, pool.identities() / recipe::kFewestInPart);
  if (parts < 2) return search;
  Random random(options.seed, kDealStream);
  const std::vector<int> part_of = DealPeople(pool.Paired().classes, parts, random);
  for (int part = 0; part < parts; ++part) {
    std::vector<int> own, others;
    for (int i = 0; i < pool.identities(); ++i) (part_of[i] == part ? own : others).push_back(i);
    const SamplePool judged = pool.Only(own);
    Random repair(options.seed, kRepairStream + part);
    Part& made = search.parts_.emplace_back();
    made.others = pool.Only(others);
    made.scatters.resize(pool.modalities().size());
    made.judged = {Thin(judged.Paired(), recipe::kStartRows)};
    if (pool.modalities().size() > 1) {
      made.judged.push_back(judged.Repair(repair, recipe::kStartRows));
    }
  }
  return search;
}

StartSearch::Projected StartSearch::Copied(const Part& part, Eigen::Index begin, Eigen::Index end) {
  const Eigen::Index width = end - begin;
  Projected out;
  out.variances = Eigen::VectorXd::Ones(width);
  for (const Batch& judged : part.judged) {
    out.z.push_back(judged.features.middleCols(begin, width));
  }
  out.others = MeanSquares(part.others.Paired().features.middleCols(begin, width));
  out.own = MeanSquares(out.z[0]);
  return out;
}

const std::vector<StartSearch::Projected>& StartSearch::Project(size_t modality,
                                                                const StartChoice& choice) {
  const bool learned = choice.method == Method::kLearned;
  const auto key =
      std::make_tuple(choice.method, modality, learned ? choice.shrinkages[modality] : 0.0,
                      learned ? choice.blend : 0.0);
  const auto [found, missing] = projected_.try_emplace(key);
  if (!missing) return found->second;
  std::vector<Projected>& of_parts = found->second;
  of_parts.resize(parts_.size());
  const std::vector<Eigen::Index> column = Columns(parts_[0].others);
  for (Part& part : parts_) {
    std::optional<ClassScatter>& scatter = part.scatters[modality];
    if (!learned || scatter) continue;
    scatter = ScatterOf(part.others.modalities()[modality], &further_[modality]);
  }
  ParallelFor(parts_.size(), [&](size_t part) {
    if (choice.method == Method::kNone) {
      of_parts[part] = Copied(parts_[part], column[modality], column[modality + 1]);
      return;
    }
    const PoolModality& of = parts_[part].others.modalities()[modality];
    const auto basis =
        learned ? DiscriminantsOf(*parts_[part].scatters[modality], modality, gamma_, choice)
                : PrincipalBasis(of, gamma_);
    if (!basis.ok()) return;  // None of the others has two samples: the part tells nothing.
    const FeatureMatrix& others = parts_[part].others.Paired().features;
    const Eigen::Index width = column[modality + 1] - column[modality];
    of_parts[part].variances = basis->variances;
    of_parts[part].others =
        MeanSquares(others.middleCols(column[modality], width) * basis->vectors.transpose());
    for (const Batch& judged : parts_[part].judged) {
      of_parts[part].z.push_back(judged.features.middleCols(column[modality], width) *
                                 basis->vectors.transpose());
    }
    of_parts[part].own = MeanSquares(of_parts[part].z[0]);
  });
  return of_parts;
}

FnmrEstimate StartSearch::Score(int gamma, const StartChoice& choice, bool paired_only) {
  if (parts_.empty()) return {};
  std::vector<const std::vector<Projected>*> of;  // of each modality
  for (size_t m = 0; m < choice.weights.size(); ++m) of.push_back(&Project(m, choice));
  const int most = choice.method == Method::kNone ? INT32_MAX : gamma;
  std::vector<PooledPairs> pairs(parts_.size());
  std::vector<double> trained(parts_.size()), judged_norms(parts_.size());
  ParallelFor(parts_.size(), [&](size_t part) {
    std::vector<Eigen::VectorXd> variances;
    for (const std::vector<Projected>* modality : of) {
      variances.push_back((*modality)[part].variances);
      if (variances.back().size() == 0) return;
    }
    const std::vector<Picked> picked = Pick(variances, most, choice);
    for (const Picked& p : picked) {
      const Projected& along = (*of[p.modality])[part];
      trained[part] += p.scale * p.scale * along.others[p.index];
      judged_norms[part] += p.scale * p.scale * along.own[p.index];
    }
    for (size_t b = 0; b < (paired_only ? 1 : parts_[part].judged.size()); ++b) {
      const Batch& judged = parts_[part].judged[b];
      FeatureMatrix z(judged.features.rows(), picked.size());
      for (size_t i = 0; i < picked.size(); ++i) {
        z.col(i) = picked[i].scale * (*of[picked[i].modality])[part].z[b].col(picked[i].index);
      }
      pairs[part].Add(Cosines(std::move(z)), judged.classes);
    }
  });
  PooledPairs all;
  for (const PooledPairs& part : pairs) {
    for (size_t person : part.person) all.person.push_back(all.people + person);
    all.genuine.insert(all.genuine.end(), part.genuine.begin(), part.genuine.end());
    all.impostor.insert(all.impostor.end(), part.impostor.begin(), part.impostor.end());
    all.people += part.people;
  }
  FnmrEstimate estimate = EstimateFnmr(all, recipe::kFmr);
  const double own = std::accumulate(judged_norms.begin(), judged_norms.end(), 0.0);
  if (own > 0) estimate.norm_ratio = std::accumulate(trained.begin(), trained.end(), 0.0) / own;
  return estimate;
}

FnmrEstimate StartSearch::Measure(int gamma, const StartChoice& choice) {
  return Score(gamma, choice, true);
}

double StartSearch::Weigh(int gamma, StartChoice& choice) {
  double error = Objective(Score(gamma, choice, false));
  if (!options_.modality_weights.empty() || choice.method == Method::kNone) return error;
  const auto better = [&](size_t m, double factor) {
    StartChoice trial = choice;
    trial.weights[m] =
        std::clamp(trial.weights[m] * factor, 1 / recipe::kLargestWeight, recipe::kLargestWeight);
    const double own = Objective(Score(gamma, trial, false));
    if (!Less(own, error)) return false;
    error = own;
    choice = trial;
    return true;
  };
  for (double step : recipe::kWeightSteps) {
    for (size_t m = 1; m < choice.weights.size(); ++m) {
      bool up = false;
      while (better(m, step)) up = true;
      while (!up && better(m, 1 / step)) continue;
    }
  }
  return error;
}

StartChoice StartSearch::Best(int gamma, const StartChoice& from) {
  StartChoice best = from;
  if (parts_.empty()) return best;
  double error = Weigh(gamma, best);
  if (from.method != Method::kLearned) return best;
  const auto try_one = [&](StartChoice trial) {
    if (trial == best) return;
    const double own = Weigh(gamma, trial);
    if (!Less(own, error)) return;
    error = own;
    best = trial;
  };
  // The best weights depend on the shrinkage and the whitening, so each pair has a search of its
  // own.
  const bool fixed = options_.shrinkage >= 0 || !options_.shrinkages.empty();
  for (double whitening : recipe::kWhitenings) {
    for (double shrinkage : recipe::kShrinkages) {
      StartChoice trial = best;
      if (!fixed) trial.shrinkages.assign(trial.shrinkages.size(), shrinkage);
      if (options_.whitening < 0) trial.whitening = whitening;
      try_one(trial);
    }
  }
  for (size_t m = 0; m < best.shrinkages.size() && !fixed; ++m) {
    for (double shrinkage : recipe::kShrinkages) {
      StartChoice trial = best;
      trial.shrinkages[m] = shrinkage;
      try_one(trial);
    }
  }
  for (double blend : recipe::kBlends) {
    StartChoice trial = best;
    if (options_.blend < 0 && blended_) trial.blend = blend;
    try_one(trial);
  }
  return best;
}

}  // namespace heft
