// SPDX-License-Identifier: Apache-2.0
#include "evaluation/recovery.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "evaluation/belief.h"
#include "evaluation/wolves.h"
#include "features/decompositions.h"
#include "features/random.h"

namespace heft {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

absl::Status Check(const Population& people) {
  if (people.known.rows() < 2 || people.targets.rows() < 1 ||
      people.known.cols() != people.targets.cols() || people.known.cols() < 2) {
    return absl::InvalidArgumentError("recovery needs people of one dimension on both sides");
  }
  if (people.templates < 1 || people.targets.rows() % people.templates != 0) {
    return absl::InvalidArgumentError("each target needs the same number of templates");
  }
  return absl::OkStatus();
}

Vector Unit(const Vector& v) {
  const double norm = v.norm();
  return norm > 0 ? Vector(v / norm) : v;
}

// Moments: E[t t'] of the attacker's people, a little towards the identity, as they are few.
Matrix Moments(const FeatureMatrix& known) {
  constexpr double kOfIdentity = 0.05;
  const Matrix m = known.transpose() * known / known.rows();
  return (1 - kOfIdentity) * m +
         kOfIdentity * m.trace() / m.rows() * Matrix::Identity(m.rows(), m.cols());
}

// Directions: those of the moments, the largest first, one a column.
Matrix Directions(const Matrix& moments) { return SpectrumOf(moments).vectors.rowwise().reverse(); }

Vector Rounded(const Vector& scores, double step) {
  if (step == 0) return scores;
  return scores.unaryExpr([step](double score) { return std::round(score / step) * step; });
}

// Strangers: templates of the attacker's own people as probes, in random order, one a row.
Matrix Strangers(const FeatureMatrix& known, int count, Random* random) {
  std::vector<int> order(static_cast<size_t>(known.rows()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  random->Shuffle(order);
  Matrix sent(count, known.cols());
  for (int i = 0; i < count; ++i) sent.row(i) = known.row(order[static_cast<size_t>(i)]);
  return sent;
}

// Cover: the best order of guesses while all answers are no. Of the attacker's people that accept
// no earlier vector, the next vector is accepted for the largest number. People are few, so more
// are drawn like them.
std::vector<Vector> Cover(const FeatureMatrix& known, double threshold, int count,
                          GuessEffort effort, Random* random) {
  const bool quick = effort == GuessEffort::kQuick;
  const int candidate_count = quick ? 800 : 3000, drawn_count = 2 * candidate_count;
  const Eigen::Index dimension = known.cols();
  const Vector mean = known.colwise().mean().transpose();
  const Matrix spread = Moments(known.rowwise() - mean.transpose());
  const Matrix root = CholeskyFactor(spread);
  const auto draw = [&](int rows) {
    FeatureMatrix normal(rows, dimension);
    for (int i = 0; i < rows; ++i) {
      for (double& x : normal.row(i)) x = random->Normal();
    }
    Matrix out = normal * root.transpose();
    out.rowwise() += mean.transpose();
    out.rowwise().normalize();
    return out;
  };
  const Matrix drawn = draw(drawn_count);
  Matrix candidates = draw(candidate_count);
  candidates.topRows(kWolves) = LearnWolves(known, threshold);
  candidates.row(kWolves) = Unit(mean).transpose();
  const Eigen::MatrixXf scores = (candidates * drawn.transpose()).cast<float>();
  std::vector<int> gain(candidate_count, 0);
  for (int c = 0; c < candidate_count; ++c) {
    gain[c] = static_cast<int>((scores.row(c).array() >= threshold).count());
  }
  std::vector<bool> covered(drawn_count, false);
  std::vector<Vector> chosen;
  while (static_cast<int>(chosen.size()) < std::min(count, candidate_count)) {
    const int best = static_cast<int>(std::max_element(gain.begin(), gain.end()) - gain.begin());
    chosen.push_back(candidates.row(best).transpose());
    for (int i = 0; i < drawn_count; ++i) {
      if (covered[i] || scores(best, i) < threshold) continue;
      covered[i] = true;
      for (int c = 0; c < candidate_count; ++c) gain[c] -= scores(c, i) >= threshold ? 1 : 0;
    }
    gain[best] = -1;
  }
  while (static_cast<int>(chosen.size()) < count) chosen.push_back(draw(1).transpose());
  return chosen;
}

// Refined: what `answers` more decisions tell of a target that accepts `found`: of a plane through
// it, the angle at which acceptance ends, by halving. Those on both sides of one plane give the
// share along `found`; then one side of each plane gives one coordinate.
Vector Refined(const Vector& target, const Vector& found, const Matrix& directions,
               double threshold, int answers) {
  constexpr int kHalvings = 5;
  int left = answers;
  const auto angle = [&](const Vector& side) {
    double low = 0, high = std::numbers::pi;  // accepted, not
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      const double score = target.dot(std::cos(middle) * found + std::sin(middle) * side);
      (score >= threshold ? low : high) = middle;
    }
    left -= kHalvings;
    return (low + high) / 2;
  };
  double along = std::max(threshold, 0.05);
  bool known = false;
  Vector across = Vector::Zero(target.size());
  Matrix basis(target.size(), 1);
  basis.col(0) = found;
  for (Eigen::Index d = 0; d < directions.cols() && left >= (known ? 1 : 2) * kHalvings; ++d) {
    Vector side = directions.col(d);
    side -= basis * (basis.transpose() * side);
    if (side.norm() < 1e-6) continue;
    side.normalize();
    basis.conservativeResize(Eigen::NoChange, basis.cols() + 1);
    basis.col(basis.cols() - 1) = side;
    const double one = angle(side);
    if (!known) {
      // cos(a) p + sin(a) q = cos(b) p - sin(b) q = threshold.
      const double other = angle(-side), sum = std::sin(one + other);
      if (std::abs(sum) > 1e-3) {
        along = std::clamp(threshold * (std::sin(one) + std::sin(other)) / sum, threshold, 1.0);
      }
      known = true;
    }
    across += std::clamp((threshold - std::cos(one) * along) / std::sin(one), -1.0, 1.0) * side;
  }
  return Unit(along * found + across);
}

// TargetCount, TargetOf: target t, its templates one a row.
Eigen::Index TargetCount(const Population& people) {
  return people.targets.rows() / people.templates;
}
Matrix TargetOf(const Population& people, Eigen::Index t) {
  return people.targets.middleRows(t * people.templates, people.templates);
}

void Add(const Vector& guess, const Matrix& target, std::span<const double> thresholds,
         double share, Recovery* out) {
  const double cosine = (target * guess).maxCoeff();
  out->cosine += share * cosine;
  for (size_t i = 0; i < thresholds.size(); ++i) {
    if (cosine >= thresholds[i]) out->accepted[i] += share;
  }
}

}  // namespace

double ImpostorThreshold(const Population& people, double fmr) {
  std::vector<double> scores;
  for (Eigen::Index t = 0; t < TargetCount(people); ++t) {
    const Vector best = (people.known * TargetOf(people, t).transpose()).rowwise().maxCoeff();
    scores.insert(scores.end(), best.begin(), best.end());
  }
  const size_t rank = std::min(scores.size() - 1, static_cast<size_t>(fmr * scores.size()));
  std::nth_element(scores.begin(), scores.begin() + rank, scores.end(), std::greater<>());
  return scores[rank];
}

absl::StatusOr<std::vector<Recovery>> RecoverFromScores(const Population& people, Probes probes,
                                                        std::span<const int> answers,
                                                        std::span<const double> thresholds,
                                                        uint64_t seed, double step) {
  HEFT_RETURN_IF_ERROR(Check(people));
  const Belief prior = BeliefOf(people.known);
  // Of the rounding; exact scores have the error of a float.
  const double noise = std::max(step * step / 12, 1e-14);
  const double share = 1.0 / static_cast<double>(TargetCount(people));
  std::vector<Recovery> out;
  for (const int wanted : answers) {
    const Eigen::Index most =
        probes == Probes::kChosen ? prior.covariance.values.size() : people.known.rows();
    const int count = std::clamp(wanted, 0, static_cast<int>(most));
    Random random(seed, static_cast<uint64_t>(count));
    Recovery mean{wanted, 0, std::vector<double>(thresholds.size())}, likeliest = mean;
    const bool drawn = probes == Probes::kStrangers && count > 0;
    auto [measured, left] = MeasureLargest(prior, drawn ? 0 : count, noise);
    for (Eigen::Index t = 0; t < TargetCount(people); ++t) {
      // Anew for each target.
      if (drawn) measured = Measure(prior, Strangers(people.known, count, &random), noise);
      const Matrix target = TargetOf(people, t);
      Vector believed = prior.mean;
      if (count > 0) {
        const Vector scores = (measured.probes * target.transpose()).rowwise().maxCoeff();
        believed = After(prior, measured, Rounded(scores, step));
      }
      if (drawn) left = LeftAfter(prior, measured, believed);
      Add(Unit(believed), target, thresholds, share, &mean);
      for (size_t i = 0; i < thresholds.size(); ++i) {
        const Vector guess = LikeliestAccepted(believed, left, thresholds[i]);
        if ((target * guess).maxCoeff() >= thresholds[i]) likeliest.accepted[i] += share;
      }
    }
    for (size_t i = 0; i < thresholds.size(); ++i) {
      mean.accepted[i] = std::max(mean.accepted[i], likeliest.accepted[i]);
    }
    out.push_back(std::move(mean));
  }
  return out;
}

absl::StatusOr<std::vector<Recovery>> RecoverFromDecisions(const Population& people,
                                                           std::span<const int> answers,
                                                           double threshold, uint64_t seed,
                                                           GuessEffort effort) {
  HEFT_RETURN_IF_ERROR(Check(people));
  if (answers.empty() || people.templates != 1) {
    return absl::InvalidArgumentError("recovery from decisions: numbers of answers, one template");
  }
  Random random(seed);
  const Matrix directions = Directions(Moments(people.known));
  const int most = *std::max_element(answers.begin(), answers.end());
  const std::vector<Vector> guesses = Cover(people.known, threshold, most, effort, &random);
  const double share = 1.0 / people.targets.rows(), thresholds[] = {threshold};
  std::vector<Recovery> out;
  for (const int count : answers) {
    Recovery& row = out.emplace_back(Recovery{count, 0, {0}});
    for (Eigen::Index t = 0; t < people.targets.rows(); ++t) {
      const Vector target = people.targets.row(t).transpose();
      int used = 0;
      while (used < count && guesses[used].dot(target) < threshold) ++used;
      const bool found = used < count;
      const Vector guess =
          found ? Refined(target, guesses[used], directions, threshold, count - used - 1)
                : guesses[0];
      Add(guess, target.transpose(), thresholds, share, &row);
      // A vector that was found is accepted, even if the guess refined from it is not.
      if (found && guess.dot(target) < threshold) row.accepted[0] += share;
    }
  }
  return out;
}

}  // namespace heft
