// SPDX-License-Identifier: Apache-2.0
#include "evaluation/wolves.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "base/impostor_tail.h"
#include "base/threads.h"
#include "evaluation/belief.h"
#include "evaluation/open_set.h"
#include "evaluation/resample.h"
#include "evaluation/tail_fit.h"
#include "features/products.h"

namespace heft {
namespace {

using Vector = Eigen::VectorXd;

constexpr int kReplicates = 200;
constexpr double kConfidence = 0.95;

// Of a wolf's search: fits the largest twentieth of the scores, and of few scores this many.
constexpr double kFewestInTail = 30;

Vector Unit(const Vector& v) {
  const double norm = v.norm();
  return norm > 0 ? Vector(v / norm) : v;
}

// How many acceptances there are, smoothed: a row of scores for each vector.
Eigen::ArrayXXd Acceptances(const FeatureMatrix& wolves, const FeatureMatrix& known,
                            double threshold, double width) {
  const Eigen::MatrixXd scores = internal::TimesTransposed(wolves, known);
  return 1 / (1 + ((threshold - scores.array()) / width).exp());
}

// Climbed: each row moves towards the templates that are near the threshold, until it stays; the
// one with the most acceptances.
Vector Climbed(const FeatureMatrix& known, Eigen::MatrixXd wolves, double threshold, double width) {
  constexpr int kSteps = 20;
  const FeatureMatrix coordinates = known.transpose();
  for (int step = 0; step < kSteps; ++step) {
    const Eigen::ArrayXXd p = Acceptances(wolves, known, threshold, width);
    const Eigen::ArrayXXd weights = p * (1 - p) + 1e-12;
    const FeatureMatrix shares = weights.colwise() / weights.rowwise().sum();
    wolves = (wolves + internal::TimesTransposed(shares, coordinates)).rowwise().normalized();
  }
  Eigen::Index best = 0;
  Acceptances(wolves, known, threshold, width).rowwise().sum().maxCoeff(&best);
  return wolves.row(best).transpose();
}

// Score of a comparison, and how often its person was drawn; falling.
using Scores = std::vector<internal::Weighted>;

Scores Falling(std::span<const double> scores, std::span<const int> people,
               std::span<const double> times) {
  Scores out;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double weight = times.empty() ? 1.0 : times[static_cast<size_t>(people[i])];
    if (weight > 0) out.push_back({scores[i], weight});
  }
  std::ranges::sort(out, std::greater<>(), &internal::Weighted::value);
  return out;
}

double WeightOf(const Scores& scores) {
  double total = 0;
  for (const internal::Weighted& w : scores) total += w.weight;
  return total;
}

double ShareAt(const Scores& falling, double threshold) {
  double reached = 0;
  for (const internal::Weighted& w : falling) {
    if (w.value < threshold) break;
    reached += w.weight;
  }
  return reached / WeightOf(falling);
}

ImpostorTail TailOf(const Scores& falling) {
  const double total = WeightOf(falling);
  const double wanted = std::min(std::max(internal::kTailShare * total, kFewestInTail), total);
  Scores above;
  double weight = 0;
  for (const internal::Weighted& w : falling) {
    const double depth = internal::DepthOf(w.value);
    if (weight >= wanted && depth < above.back().value) break;
    above.push_back({depth, w.weight});
    weight += w.weight;
  }
  ImpostorTail tail;
  tail.start = falling[above.size() - 1].value;
  tail.rate = weight / total;
  tail.evenness = internal::kEven;  // it is one probe
  internal::FitPareto(above, above.back().value, weight, &tail);
  return tail;
}

// The least threshold that no more than a share `rate` of the scores reaches.
double ThresholdOf(const Scores& falling, double rate) {
  const ImpostorTail tail = TailOf(falling);
  if (rate < tail.rate) return internal::ScoreAtShare(tail, rate);
  const double total = WeightOf(falling);
  double reached = 0;
  for (const internal::Weighted& w : falling) {
    reached += w.weight;
    if (reached > rate * total) {
      return std::nextafter(w.value, std::numeric_limits<double>::infinity());
    }
  }
  return falling.back().value;
}

// The share of comparisons that reach a threshold, by the tail where it goes beyond its start.
double RateAt(const Scores& falling, double threshold) {
  const ImpostorTail tail = TailOf(falling);
  return threshold > tail.start ? tail.RateAt(threshold) : ShareAt(falling, threshold);
}

std::vector<double> Drawn(uint64_t seed, size_t replicate, size_t people) {
  Random random(seed, replicate);
  return internal::DrawWeights(random, people);
}

// The pack that is accepted most at a threshold, by its tail beyond the comparisons.
const WolfScores& MostAccepted(const Wolves& wolves, double threshold) {
  const auto rate = [&](const WolfScores& pack) {
    return RateAt(Falling(pack.scores, wolves.people, {}), threshold);
  };
  return *std::ranges::max_element(wolves.packs, {}, rate);
}

// Resampled: the share of a pack's comparisons that reach a threshold, with its interval.
Estimate Resampled(const Wolves& wolves, const WolfScores& pack, double threshold, uint64_t seed) {
  const auto people = static_cast<size_t>(wolves.People());
  std::vector<double> rates(kReplicates);
  for (size_t r = 0; r < rates.size(); ++r) {
    const Scores drawn = Falling(pack.scores, wolves.people, Drawn(seed, r, people));
    rates[r] = drawn.empty() ? 0 : ShareAt(drawn, threshold);
  }
  const double seen = ShareAt(Falling(pack.scores, wolves.people, {}), threshold);
  Estimate out =
      internal::AtLeastPoisson(internal::Percentiles(seen, std::move(rates), kConfidence),
                               static_cast<double>(pack.scores.size()), kConfidence);
  out.lo = std::clamp(out.lo, 0.0, 1.0);
  out.hi = std::clamp(out.hi, 0.0, 1.0);
  return out;
}

// The best scores of people with their first `templates`, by person.
struct Searches {
  std::vector<double> scores;
  std::vector<int> people;
};
Searches SearchesOf(const Wolves& wolves, const WolfScores& pack, uint32_t templates) {
  std::map<int, std::pair<double, uint32_t>> best;
  for (size_t i = 0; i < pack.scores.size(); ++i) {
    auto& [score, count] =
        best.try_emplace(wolves.people[i], -std::numeric_limits<double>::infinity(), 0)
            .first->second;
    if (count == templates) continue;
    score = std::max(score, pack.scores[i]);
    ++count;
  }
  Searches out;
  for (const auto& [person, of] : best) {
    out.scores.push_back(of.first);
    out.people.push_back(person);
  }
  return out;
}

FeatureMatrix LearnWith(const Belief& belief, const FeatureMatrix& known, double threshold) {
  constexpr double kWidths[] = {0.3, 0.8, 2.0};  // over the deviation of strangers' scores
  constexpr Eigen::Index kStarts = 24;
  FeatureMatrix wolves(kWolves, known.cols());
  const Vector likeliest = LikeliestAccepted(belief.mean, belief.covariance, threshold);
  wolves.row(0) = likeliest.transpose();
  const double deviation = std::max(belief.norm, 1e-6);
  const Eigen::Index starts = std::min(kStarts, known.rows());
  Eigen::MatrixXd first(starts + 2, known.cols());
  for (Eigen::Index i = 0; i < starts; ++i) first.row(i) = known.row(i * known.rows() / starts);
  first.row(starts) = likeliest.transpose();
  first.row(starts + 1) = Unit(belief.mean).transpose();
  for (int i = 0; i < 3; ++i) {
    wolves.row(i + 1) = Climbed(known, first, threshold, kWidths[i] * deviation).transpose();
  }
  return wolves;
}

}  // namespace

FeatureMatrix LearnWolves(const FeatureMatrix& known, double threshold) {
  return LearnWith(BeliefOf(known), known, threshold);
}

int Wolves::People() const { return people.empty() ? 0 : 1 + *std::ranges::max_element(people); }

double Wolves::AcceptedAt(double threshold) const {
  double most = 0;
  for (const WolfScores& pack : packs) {
    const auto accepted =
        std::ranges::count_if(pack.scores, [&](double score) { return score >= threshold; });
    most = std::max(most, static_cast<double>(accepted) / static_cast<double>(pack.scores.size()));
  }
  return most;
}

Estimate Wolves::AcceptedIn(double threshold, uint64_t seed) const {
  const auto share = [&](const WolfScores& pack) {
    return std::ranges::count_if(pack.scores, [&](double score) { return score >= threshold; });
  };
  return Resampled(*this, *std::ranges::max_element(packs, {}, share), threshold, seed);
}

double Wolves::NamedAt(double threshold, double size) const {
  double most = 0;
  for (const WolfScores& pack : packs) {
    const double rate = RateAt(Falling(pack.scores, people, {}), threshold);
    most = std::max(most, -std::expm1(-size * rate));
  }
  return most;
}

double Wolves::ThresholdFor(double rate) const {
  double most = -1;
  for (const WolfScores& pack : packs) {
    most = std::max(most, ThresholdOf(Falling(pack.scores, people, {}), rate));
  }
  return most;
}

absl::StatusOr<Wolves> MeasureWolves(std::span<const AttackedFold> folds,
                                     std::span<const double> thresholds) {
  Wolves out;
  for (const AttackedFold& fold : folds) {
    if (fold.known.rows() < 2 || fold.known.cols() != fold.targets.cols() ||
        static_cast<size_t>(fold.targets.rows()) != fold.people.size()) {
      return absl::InvalidArgumentError("wolves need people of one dimension on both sides");
    }
    out.people.insert(out.people.end(), fold.people.begin(), fold.people.end());
  }
  if (out.people.empty() || thresholds.empty()) {
    return absl::InvalidArgumentError("wolves need people to attack, and a threshold");
  }
  std::vector<Belief> beliefs(folds.size());
  ParallelFor(folds.size(), [&](size_t f) { beliefs[f] = BeliefOf(folds[f].known); });
  std::vector<FeatureMatrix> learned(folds.size() * thresholds.size());
  ParallelFor(learned.size(), [&](size_t i) {
    const size_t f = i / thresholds.size();
    learned[i] = LearnWith(beliefs[f], folds[f].known, thresholds[i % thresholds.size()]);
  });
  for (size_t t = 0; t < thresholds.size(); ++t) {
    for (int kind = 0; kind < kWolves; ++kind) {
      WolfScores& pack = out.packs.emplace_back(WolfScores{thresholds[t], {}});
      for (size_t f = 0; f < folds.size(); ++f) {
        const Vector scores =
            folds[f].targets * learned[f * thresholds.size() + t].row(kind).transpose();
        pack.scores.insert(pack.scores.end(), scores.begin(), scores.end());
      }
    }
  }
  return out;
}

std::vector<DecisionThreshold> AgainstWolves(std::vector<DecisionThreshold> curve,
                                             const Wolves& wolves, std::span<const double> genuine,
                                             uint64_t seed) {
  for (DecisionThreshold& point : curve) {
    const double needed = wolves.ThresholdFor(point.fmr);
    if (needed > point.score) {
      point.score = needed;
      const auto missed =
          std::ranges::count_if(genuine, [&](double score) { return score < needed; });
      point.fnmr = static_cast<double>(missed) / static_cast<double>(genuine.size());
    }
    const WolfScores& pack = MostAccepted(wolves, point.score);
    const Estimate rate = Resampled(wolves, pack, point.score, seed);
    point.interval = {rate.lo, rate.hi};
    point.impostor_pairs = pack.scores.size();
  }
  return curve;
}

SearchCalibration AgainstWolves(SearchCalibration search, const Wolves& wolves, uint64_t seed) {
  // For a search among this many people that names a candidate at this rate.
  constexpr double kUsualPeople = 100, kUsualRate = 1e-2;
  const auto people = static_cast<size_t>(wolves.People());
  if (people < kFewestCalibrated) return search;
  Searches most;
  double highest = -1;
  for (const WolfScores& pack : wolves.packs) {
    Searches searches = SearchesOf(wolves, pack, search.templates);
    const double needed = TailOf(Falling(searches.scores, searches.people, {}))
                              .ThresholdFor(kUsualRate, kUsualPeople);
    if (needed <= highest) continue;
    highest = needed;
    most = std::move(searches);
  }
  search.people = people;
  search.comparisons = most.scores.size();
  search.tail = TailOf(Falling(most.scores, most.people, {}));
  search.replicates.clear();
  for (size_t r = 0; r < kReplicates; ++r) {
    const Scores drawn = Falling(most.scores, most.people, Drawn(seed, r, people));
    if (!drawn.empty()) search.replicates.push_back(TailOf(drawn));
  }
  return search;
}

}  // namespace heft
