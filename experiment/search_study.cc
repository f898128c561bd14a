// SPDX-License-Identifier: Apache-2.0
#include "experiment/search_study.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "evaluation/open_set.h"
#include "heft/decisions.h"

namespace heft::experiment {
namespace {

constexpr uint64_t kGalleries[] = {10, 30, 100, 300, 1000, 3000, 10000};
constexpr double kAsked[] = {1e-1, 1e-2};
constexpr size_t kSets = 5, kSamples = 5;  // of the people calibrated on: parts of a cross-fit
constexpr size_t kStrangers = 4000;
constexpr int kReplicates = 200;

// The highest kKept scores of each stranger with all of a gallery of the largest size, falling.
class NewPeople {
 public:
  NewPeople(const PeopleLaw& law, uint64_t seed) {
    const Crowd gallery = DrawCrowd(law, kGallery, 1, seed);
    const Crowd strangers = DrawCrowd(law, kStrangers, 1, seed + 1);
    highest_.resize(kStrangers);
    constexpr size_t kPortion = 100;
    ParallelFor(kStrangers / kPortion, [&](size_t portion) {
      const auto first = static_cast<Eigen::Index>(portion * kPortion);
      const FeatureMatrix scores =
          strangers.unit.middleRows(first, kPortion) * gallery.unit.transpose();
      for (size_t i = 0; i < kPortion; ++i) {
        const auto row = scores.row(static_cast<Eigen::Index>(i));
        std::vector<float>& own = highest_[portion * kPortion + i];
        own.assign(row.begin(), row.end());
        std::ranges::nth_element(own, own.begin() + kKept, std::greater<>());
        own.resize(kKept);
        std::ranges::sort(own, std::greater<>());
      }
    });
  }

  // Fpir: the mean over all galleries of `people` among these, exactly. A stranger whose score
  // reaches the threshold with h of all G finds no candidate in a share C(G - h, n) / C(G, n) of
  // them.
  double Fpir(double threshold, uint64_t people) const {
    double sum = 0;
    for (const std::vector<float>& own : highest_) {
      const auto end =
          std::ranges::upper_bound(own, static_cast<float>(threshold), std::greater<>());
      const auto hits = static_cast<double>(end - own.begin());
      sum += 1 - ShareWithout(hits, static_cast<double>(people));
    }
    return sum / kStrangers;
  }

 private:
  static constexpr size_t kGallery = 10000, kKept = 2500;
  static double ShareWithout(double hits, double people) {
    const double all = kGallery;
    if (hits == 0) return 1;
    if (hits + people > all) return 0;
    return std::exp(std::lgamma(all - hits + 1) - std::lgamma(all - hits - people + 1) -
                    std::lgamma(all + 1) + std::lgamma(all - people + 1));
  }
  std::vector<std::vector<float>> highest_;
};

absl::StatusOr<SearchCalibration> Calibrate(const PeopleLaw& law, uint64_t people, uint64_t seed) {
  std::vector<LabelledScores> sets;
  for (size_t k = 0; k < kSets; ++k) {
    Crowd crowd = DrawCrowd(law, people / kSets, kSamples, seed + k);
    sets.push_back({crowd.unit * crowd.unit.transpose(), std::move(crowd.identities)});
  }
  BootstrapOptions options;
  options.replicates = kReplicates;
  options.seed = seed;
  return FitSearches(sets, 1, options);
}

// The results of all draws for one row.
struct Draws {
  StudyRow row;
  std::vector<double> ratios;
  double log_lo = 0, log_hi = 0;
};

void AddDraw(const SearchCalibration& calibration, const NewPeople& people, Draws* draws) {
  StudyRow& row = draws->row;
  ++row.draws;
  const absl::StatusOr<ChosenThreshold> chosen =
      ChooseSearchThreshold(std::span(&calibration, 1), row.asked, row.people);
  if (!chosen.ok()) {
    ++row.refused;
    row.reason = std::string(chosen.status().message());
    return;
  }
  const double measured = people.Fpir(chosen->score, row.people);
  row.held += chosen->interval.lo <= measured && measured <= chosen->interval.hi;
  // Of 4,000 strangers less than a quarter of one cannot be seen.
  draws->ratios.push_back(std::max(measured, 0.25 / kStrangers) / row.asked);
  draws->log_lo += std::log(std::max(chosen->interval.lo, 1e-9) / row.asked);
  draws->log_hi += std::log(chosen->interval.hi / row.asked);
}

StudyRow Summarise(Draws draws) {
  StudyRow& row = draws.row;
  if (draws.ratios.empty()) return row;
  std::ranges::sort(draws.ratios);
  const auto n = static_cast<double>(draws.ratios.size());
  double sum = 0;
  for (double ratio : draws.ratios) sum += std::log(ratio) / n;
  const auto at = [&](double share) {
    return draws.ratios[static_cast<size_t>(std::lround(share * (n - 1)))];
  };
  row.ratio = std::exp(sum);
  row.lo = at(0.025);
  row.hi = at(0.975);
  row.predicted_lo = std::exp(draws.log_lo / n);
  row.predicted_hi = std::exp(draws.log_hi / n);
  return row;
}

std::vector<double> Impostors(const FeatureMatrix& unit, std::span<const int> identities) {
  std::vector<double> scores;
  const FeatureMatrix all = unit * unit.transpose();
  for (Eigen::Index i = 0; i < all.rows(); ++i) {
    for (Eigen::Index j = i + 1; j < all.cols(); ++j) {
      if (identities[static_cast<size_t>(i)] == identities[static_cast<size_t>(j)]) continue;
      scores.push_back(all(i, j));
    }
  }
  std::ranges::sort(scores, std::greater<>());
  return scores;
}

void CheckLaw(const PeopleOf& data, const PeopleLaw& law, double laws,
              std::vector<LawCheck>* checks) {
  const std::vector<double> real = Impostors(data.z.rowwise().normalized(), data.identities);
  const Crowd crowd = DrawCrowd(law, 1500, 1, 77);
  const std::vector<double> made = Impostors(crowd.unit, crowd.identities);
  for (LawCheck& check : *checks) {
    const double score = real[static_cast<size_t>(check.data * static_cast<double>(real.size()))];
    const auto reached = std::ranges::upper_bound(made, score, std::greater<>()) - made.begin();
    check.law += static_cast<double>(reached) / static_cast<double>(made.size()) / laws;
  }
}

}  // namespace

absl::StatusOr<SearchStudy> StudySearches(const Monitor& monitor, std::span<const PeopleOf> sets,
                                          const SearchStudyOptions& options) {
  if (sets.empty() || options.draws < 1 || options.calibrate_on.empty()) {
    return absl::InvalidArgumentError("a study of searches needs people and random draws of them");
  }
  SearchStudy study;
  study.options = options;
  study.laws = sets.size();
  study.checks = {{1e-1}, {1e-2}, {1e-3}};
  std::vector<PeopleLaw> laws;
  for (const PeopleOf& set : sets) {
    HEFT_ASSIGN_OR_RETURN(PeopleLaw law, FitPeople(set.z, set.identities));
    CheckLaw(set, law, static_cast<double>(sets.size()), &study.checks);
    laws.push_back(std::move(law));
  }
  std::vector<Draws> rows;
  for (uint64_t on : options.calibrate_on) {
    for (double asked : kAsked) {
      for (uint64_t people : kGalleries) rows.push_back({{on, asked, people}, {}});
    }
  }
  Progress progress(monitor, "searches");
  for (int draw = 0; draw < options.draws; ++draw) {
    HEFT_RETURN_IF_ERROR(progress.Step(static_cast<size_t>(draw),
                                       static_cast<size_t>(options.draws), "drawing people"));
    const PeopleLaw& law = laws[static_cast<size_t>(draw) % laws.size()];
    const uint64_t seed = options.seed * 1'000'003 + static_cast<uint64_t>(draw) * 1'000;
    const NewPeople people(law, seed);
    for (uint64_t on : options.calibrate_on) {
      HEFT_ASSIGN_OR_RETURN(const SearchCalibration calibration,
                            Calibrate(law, on, seed + 100 + on % 1000));
      for (Draws& draws : rows) {
        if (draws.row.calibrated_on == on) AddDraw(calibration, people, &draws);
      }
    }
  }
  progress.Update(static_cast<size_t>(options.draws), static_cast<size_t>(options.draws));
  for (Draws& draws : rows) study.rows.push_back(Summarise(std::move(draws)));
  return study;
}

}  // namespace heft::experiment
