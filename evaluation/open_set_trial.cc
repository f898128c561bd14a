// SPDX-License-Identifier: Apache-2.0
#include "evaluation/open_set_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "evaluation/resample.h"
#include "features/random.h"

namespace heft {
namespace {

// Samples of each person, people in the order of their numbers.
std::vector<std::vector<size_t>> SamplesOf(std::span<const int> identities) {
  std::map<int, std::vector<size_t>> samples;
  for (size_t i = 0; i < identities.size(); ++i) samples[identities[i]].push_back(i);
  std::vector<std::vector<size_t>> out;
  for (auto& [identity, of] : samples) out.push_back(std::move(of));
  return out;
}

// One half: who is enrolled with which samples, and who searches with which.
struct Half {
  std::vector<int> templates, probes;             // people
  std::vector<Eigen::Index> enrolled, searching;  // their samples
  std::vector<int> left_out;  // by probe: the template it is not compared with; empty: none
};

Half DrawHalf(const std::vector<std::vector<size_t>>& samples, size_t gallery, uint32_t templates,
              Random& random) {
  std::vector<size_t> order;
  for (size_t p = 0; p < samples.size(); ++p) order.push_back(p);
  random.Shuffle(order);
  Half half;
  size_t chosen = 0;
  for (size_t p : order) {
    std::vector<size_t> own = samples[p];
    const bool in = chosen < gallery && own.size() > templates;
    chosen += in;
    if (in) random.Shuffle(own);
    for (size_t k = 0; k < own.size(); ++k) {
      const bool enrol = in && k < templates;
      (enrol ? half.templates : half.probes).push_back(static_cast<int>(p));
      (enrol ? half.enrolled : half.searching).push_back(static_cast<Eigen::Index>(own[k]));
    }
  }
  return half;
}

// A person's part in the errors of one kind: the person's searches, the errors among them, and
// others' errors that would be none without this person.
struct Part {
  double searches = 0, errors = 0, alone = 0;
};

// A rate and its interval, people left out one by one. `independent`: as many searches as there
// would be if each were counted once.
Estimate Jackknife(std::span<const Part> people, double independent) {
  double searches = 0, errors = 0;
  for (const Part& p : people) {
    searches += p.searches;
    errors += p.errors;
  }
  const double rate = errors / searches;
  std::vector<double> without;
  double mean = 0;
  for (const Part& p : people) {
    if (!(searches > p.searches) || (p.searches == 0 && p.alone == 0)) continue;
    without.push_back((errors - p.errors - p.alone) / (searches - p.searches));
    mean += without.back();
  }
  mean /= static_cast<double>(without.size());
  double squares = 0;
  for (double value : without) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(without.size());
  const double deviation = std::sqrt(squares * (n - 1) / n);
  constexpr double kDeviations = 1.96;
  const double factor = rate > 0 ? std::exp(kDeviations * deviation / rate) : 1;
  return internal::AtLeastPoisson({rate, rate / factor, std::min(1.0, rate * factor)}, independent,
                                  0.95);
}

// Tops: the two best scores of a search, of different people.
struct Tops {
  double best = -std::numeric_limits<double>::infinity();
  double second = -std::numeric_limits<double>::infinity();
  int who = -1;
  double own = -std::numeric_limits<double>::infinity();
};

Tops TopsOf(const FeatureMatrix& scores, const Half& half, size_t i) {
  const Eigen::Index probe = half.searching[i];
  const int prober = half.probes[i], left_out = half.left_out.empty() ? -1 : half.left_out[i];
  Tops tops;
  for (size_t j = 0; j < half.enrolled.size(); ++j) {
    if (static_cast<int>(j) == left_out) continue;
    const double score = scores(probe, half.enrolled[j]);
    const int person = half.templates[j];
    if (person == prober) tops.own = std::max(tops.own, score);
    if (person == tops.who) {
      tops.best = std::max(tops.best, score);
    } else if (score > tops.best) {
      tops.second = tops.best;
      tops.best = score;
      tops.who = person;
    } else {
      tops.second = std::max(tops.second, score);
    }
  }
  return tops;
}

// Counts: of all people of all sets, by threshold.
struct Counts {
  std::vector<std::vector<Part>> strangers, mated;
  void AddPeople(size_t people) {
    for (auto* kind : {&strangers, &mated}) {
      for (std::vector<Part>& parts : *kind) parts.resize(parts.size() + people);
    }
  }
};

void CountHalf(const FeatureMatrix& scores, const Half& half, std::span<const double> thresholds,
               size_t first, Counts* counts) {
  for (size_t i = 0; i < half.probes.size(); ++i) {
    const int prober = half.probes[i];
    const Tops tops = TopsOf(scores, half, i);
    const bool enrolled = std::isfinite(tops.own);
    const auto number = first + static_cast<size_t>(prober);
    for (size_t k = 0; k < thresholds.size(); ++k) {
      if (enrolled) {
        Part& part = counts->mated[k][number];
        part.searches += 1;
        const bool first_alone = tops.who == prober && tops.second < tops.own;
        part.errors += !(first_alone && tops.own >= thresholds[k]);
        continue;
      }
      Part& part = counts->strangers[k][number];
      part.searches += 1;
      if (tops.best < thresholds[k]) continue;
      part.errors += 1;
      if (tops.second >= thresholds[k]) continue;
      counts->strangers[k][first + static_cast<size_t>(tops.who)].alone += 1;
    }
  }
}

FeatureMatrix Select(const FeatureMatrix& scores, const Half& half) {
  return scores(half.searching, half.enrolled);
}

absl::Status CheckTrial(std::span<const LabelledScores> sets,
                        std::span<const std::vector<double>> thresholds, const OpenSetPlan& plan) {
  if (sets.empty() || sets.size() != thresholds.size() || plan.halves < 1 || plan.templates < 1) {
    return absl::InvalidArgumentError("give scores, thresholds for each set, and halves to draw");
  }
  for (size_t k = 0; k < sets.size(); ++k) {
    const auto n = static_cast<Eigen::Index>(sets[k].identities.size());
    if (sets[k].scores.rows() != n || sets[k].scores.cols() != n ||
        thresholds[k].size() != thresholds[0].size()) {
      return absl::InvalidArgumentError("scores, identities and thresholds have different sizes");
    }
    if (GallerySize(sets[k].identities, plan.templates) > 0) continue;
    return absl::InvalidArgumentError(
        "searches need people with more samples than are enrolled, and people who are not "
        "enrolled");
  }
  return absl::OkStatus();
}

}  // namespace

size_t GallerySize(std::span<const int> identities, uint32_t templates) {
  const std::vector<std::vector<size_t>> samples = SamplesOf(identities);
  const auto fit = static_cast<size_t>(
      std::ranges::count_if(samples, [&](const auto& own) { return own.size() > templates; }));
  return std::min(samples.size() / 2, fit);
}

absl::StatusOr<OpenSetOutcome> TryOpenSet(std::span<const LabelledScores> sets,
                                          std::span<const std::vector<double>> thresholds,
                                          const OpenSetPlan& plan) {
  HEFT_RETURN_IF_ERROR(CheckTrial(sets, thresholds, plan));
  const size_t levels = thresholds[0].size();
  Counts counts{std::vector<std::vector<Part>>(levels), std::vector<std::vector<Part>>(levels)};
  SearchTally tally;
  double samples = 0;
  size_t first = 0;
  for (size_t k = 0; k < sets.size(); ++k) {
    const auto people = SamplesOf(sets[k].identities);
    const size_t gallery = GallerySize(sets[k].identities, plan.templates);
    counts.AddPeople(people.size());
    for (int h = 0; h < plan.halves; ++h) {
      Random random(plan.seed, 1'000'003 * static_cast<uint64_t>(h) + k);
      const Half half = DrawHalf(people, gallery, plan.templates, random);
      HEFT_RETURN_IF_ERROR(tally.Add(Select(sets[k].scores, half), half.probes, half.templates));
      CountHalf(sets[k].scores, half, thresholds[k], first, &counts);
    }
    first += people.size();
    samples += static_cast<double>(sets[k].identities.size());
  }
  OpenSetOutcome out;
  HEFT_ASSIGN_OR_RETURN(out.curve, tally.Finish());
  for (size_t k = 0; k < levels; ++k) {
    out.at.push_back(
        {Jackknife(counts.strangers[k], samples), Jackknife(counts.mated[k], samples)});
  }
  return out;
}

absl::StatusOr<OpenSetOutcome> SearchGallery(const FeatureMatrix& scores,
                                             std::span<const int> probes,
                                             std::span<const int> templates,
                                             std::span<const double> thresholds,
                                             std::span<const int> left_out) {
  OpenSetOutcome out;
  SearchTally tally;
  HEFT_RETURN_IF_ERROR(tally.Add(scores, probes, templates, left_out));
  HEFT_ASSIGN_OR_RETURN(out.curve, tally.Finish());
  Half gallery;
  gallery.probes.assign(probes.begin(), probes.end());
  gallery.templates.assign(templates.begin(), templates.end());
  gallery.left_out.assign(left_out.begin(), left_out.end());
  for (Eigen::Index i = 0; i < scores.rows(); ++i) gallery.searching.push_back(i);
  for (Eigen::Index j = 0; j < scores.cols(); ++j) gallery.enrolled.push_back(j);
  HEFT_ASSIGN_OR_RETURN(const size_t a, internal::CountIdentities(probes));
  HEFT_ASSIGN_OR_RETURN(const size_t b, internal::CountIdentities(templates));
  Counts counts{std::vector<std::vector<Part>>(thresholds.size()),
                std::vector<std::vector<Part>>(thresholds.size())};
  counts.AddPeople(std::max(a, b));
  CountHalf(scores, gallery, thresholds, 0, &counts);
  for (size_t k = 0; k < thresholds.size(); ++k) {
    out.at.push_back({Jackknife(counts.strangers[k], static_cast<double>(out.curve.strangers)),
                      Jackknife(counts.mated[k], static_cast<double>(out.curve.mated))});
  }
  return out;
}

}  // namespace heft
