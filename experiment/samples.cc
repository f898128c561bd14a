// SPDX-License-Identifier: Apache-2.0
#include "experiment/samples.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "evaluation/folds.h"
#include "evaluation/recovery.h"
#include "experiment/mean_scores.h"
#include "experiment/systems.h"
#include "features/random.h"
#include "fusion/mean.h"
#include "fusion/rings.h"
#include "heft/key_owner.h"
#include "learning/projection.h"

namespace heft::experiment {
namespace {

using Vector = Eigen::VectorXd;

// Each way once: means by samples enrolled and probed, then separate templates.
std::vector<SampleWay> WaysOf(const SampleStudyOptions& options) {
  std::vector<SampleWay> ways;
  for (const int probe : options.probes) {
    for (const int n : options.samples) ways.push_back({n, probe, false});
  }
  for (const int n : options.samples) {
    if (n > 1) ways.push_back({n, options.probes[0], true});
  }
  return ways;
}

absl::Status CheckNumbers(const std::vector<int>& numbers, const char* what) {
  for (const int n : numbers) {
    if (n >= 1 && n <= static_cast<int>(kMaxSamples)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(n, " samples ", what, ": 1 to ", kMaxSamples, " become one"));
  }
  if (!numbers.empty() && numbers[0] == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "numbers of samples ", what, " must begin with 1, to which the others are compared"));
}

// PlainFold: one fold's people in the clear.
class PlainFold {
 public:
  static absl::StatusOr<PlainFold> Create(const Dataset& dataset, const Model& model) {
    PlainFold out;
    out.model_ = &model;
    std::vector<int> all(static_cast<size_t>(dataset.Rows()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features, Concatenate(dataset, all));
    out.z_ = ProjectAll(ProjectionOf(model), features);
    return out;
  }

  // The mean of the first n rows, at the length of one sample.
  Vector Mean(const std::vector<int>& rows, int n) const {
    Vector sum = Vector::Zero(z_.cols());
    for (int i = 0; i < n; ++i) sum += z_.row(rows[static_cast<size_t>(i)]).transpose();
    return MeanFactor(*model_, static_cast<size_t>(n)) * sum;
  }
  Vector Template(const Vector& z) const { return model_->approximation(z.squaredNorm()) * z; }
  bool Outside(const Vector& z) const {
    return !model_->approximation.interval.Contains(z.squaredNorm());
  }
  bool Rejected(const Vector& z) const {
    return !TemplateNormInterval(*model_).Contains(Template(z).squaredNorm());
  }

  // The enrolled templates of one person.
  std::vector<Vector> Enrolled(const SampleDraw& person, const SampleWay& way) const {
    std::vector<Vector> out;
    if (!way.separate) return {Template(Mean(person.enrolled, way.enrolled))};
    for (int i = 0; i < way.enrolled; ++i) {
      out.push_back(Template(Mean({person.enrolled[static_cast<size_t>(i)]}, 1)));
    }
    return out;
  }

 private:
  const Model* model_ = nullptr;
  FeatureMatrix z_;  // by row of the data set
};

class SampleMeasurer {
 public:
  SampleMeasurer(const Monitor& monitor, const Dataset& dataset, const std::vector<Model>& models,
                 const SampleStudyOptions& options)
      : monitor_(monitor), dataset_(dataset), models_(models), ways_(WaysOf(options)) {
    out_.options = options;
  }

  absl::StatusOr<SampleStudy> Run() {
    HEFT_RETURN_IF_ERROR(Check());
    for (const SampleWay& way : ways_) out_.rows.push_back({way, {}, {}});
    for (const Model& model : models_) {
      out_.scores = std::max(out_.scores, DefaultLimits(model).scores);
    }
    plain_.resize(ways_.size());
    encrypted_.resize(ways_.size());
    HEFT_RETURN_IF_ERROR(
        ForEachFold(dataset_, options().folds, options().fold_seed,
                    [&](int fold, const Dataset& data) { return RunFold(models_[fold], data); }));
    HEFT_RETURN_IF_ERROR(Measure());
    return std::move(out_);
  }

 private:
  const SampleStudyOptions& options() const { return out_.options; }
  double Share() const { return 1.0 / options().folds; }

  absl::Status Check() const {
    HEFT_RETURN_IF_ERROR(CheckNumbers(options().samples, "at enrolment"));
    HEFT_RETURN_IF_ERROR(CheckNumbers(options().probes, "at the probe"));
    if (options().draws < 1) return absl::InvalidArgumentError("give at least one draw of samples");
    if (models_.size() != static_cast<size_t>(options().folds)) {
      return absl::InvalidArgumentError(
          absl::StrCat(models_.size(), " models for ", options().folds, " folds"));
    }
    for (const Model& model : models_) HEFT_RETURN_IF_ERROR(CheckMean(model, 2));
    return absl::OkStatus();
  }

  absl::Status RunFold(const Model& model, const Dataset& fold) {
    HEFT_ASSIGN_OR_RETURN(const Dataset data, SelectModalities(fold, model, "the data set"));
    const std::vector<int> test = RowsOf(data.split, Split::kTest);
    std::vector<DrawnPeople> draws;
    for (int d = 0; d < options().draws; ++d) {
      draws.push_back(DrawSamples(data, test, std::ranges::max(options().samples),
                                  std::ranges::max(options().probes),
                                  options().seed + static_cast<uint64_t>(d)));
    }
    if (draws[0].people.size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("fewer than two people of a fold have ",
                       std::ranges::max(options().samples) + std::ranges::max(options().probes),
                       " samples: choose fewer samples at enrolment"));
    }
    out_.people += static_cast<int>(draws[0].people.size());
    out_.left_out += draws[0].left_out;
    out_.agreement += Share() * *model.sample_agreement;
    HEFT_ASSIGN_OR_RETURN(const PlainFold plain, PlainFold::Create(data, model));
    HEFT_RETURN_IF_ERROR(ScoreFold(model, data, draws));
    for (size_t w = 0; w < ways_.size(); ++w) {
      HEFT_RETURN_IF_ERROR(Decide(model, plain_[w].back(), &out_.rows[w]));
      CountLengths(plain, draws, &out_.rows[w]);
    }
    MixPeople(plain, draws);
    return Recover(plain, data, draws[0]);
  }

  absl::Status Decide(const Model& model, const Comparisons& of, SampleRow* row) const {
    HEFT_ASSIGN_OR_RETURN(const ChosenThreshold threshold,
                          model.ThresholdFor(1e-2, model.AllModalities()));
    double genuine = 0, refused = 0, impostor = 0, accepted = 0;
    for (size_t i = 0; i < of.scores.size(); ++i) {
      const bool reached = of.scores[i] >= threshold.score;
      const bool same = of.probe[i] == of.enrolled[i];
      (same ? genuine : impostor) += 1;
      if (same != reached) (same ? refused : accepted) += 1;
    }
    row->fmr_at_threshold += Share() * accepted / impostor;
    row->fnmr_at_threshold += Share() * refused / genuine;
    return absl::OkStatus();
  }

  void CountLengths(const PlainFold& plain, const std::vector<DrawnPeople>& draws,
                    SampleRow* row) const {
    double outside = 0, rejected = 0, templates = 0;
    for (const DrawnPeople& draw : draws) {
      for (const SampleDraw& person : draw.people) {
        for (int i = 0; i < (row->way.separate ? row->way.enrolled : 1); ++i) {
          const Vector z = row->way.separate
                               ? plain.Mean({person.enrolled[static_cast<size_t>(i)]}, 1)
                               : plain.Mean(person.enrolled, row->way.enrolled);
          outside += plain.Outside(z);
          rejected += plain.Rejected(z);
          ++templates;
        }
      }
    }
    row->outside += Share() * outside / templates;
    row->rejected += Share() * rejected / templates;
  }

  // Means of samples of different people: the first of each, side by side in a draw.
  void MixPeople(const PlainFold& plain, const std::vector<DrawnPeople>& draws) {
    for (size_t i = 0; i < options().samples.size(); ++i) {
      const int n = options().samples[i];
      if (n < 2 || static_cast<size_t>(n) > draws[0].people.size()) continue;
      double rejected = 0, templates = 0;
      for (const DrawnPeople& draw : draws) {
        for (size_t a = 0; a < draw.people.size(); ++a) {
          std::vector<int> rows;
          for (int k = 0; k < n; ++k) {
            rows.push_back(
                draw.people[(a + static_cast<size_t>(k)) % draw.people.size()].enrolled[0]);
          }
          rejected += plain.Rejected(plain.Mean(rows, n));
          ++templates;
        }
      }
      auto found = std::ranges::find(out_.mixed, n, &MixedRow::people);
      if (found == out_.mixed.end()) found = out_.mixed.insert(found, {n, 0});
      found->rejected += Share() * rejected / templates;
    }
  }

  // Measures how much the budget's scores reveal of people who are enrolled so. The attacker knows
  // the people that the model was learned from.
  absl::Status Recover(const PlainFold& plain, const Dataset& data, const DrawnPeople& draw) {
    std::vector<Vector> known;
    for (const int row : RowsOf(data.split, Split::kValidation)) {
      known.push_back(plain.Template(plain.Mean({row}, 1)).normalized());
    }
    Population people;
    if (known.empty()) return absl::InvalidArgumentError("no people to validate a fold with");
    people.known.resize(static_cast<Eigen::Index>(known.size()), known[0].size());
    for (size_t i = 0; i < known.size(); ++i) people.known.row(i) = known[i].transpose();
    for (SampleRow& row : out_.rows) {
      std::vector<Vector> targets;
      for (const SampleDraw& person : draw.people) {
        for (const Vector& t : plain.Enrolled(person, row.way)) targets.push_back(t.normalized());
      }
      people.templates = row.way.separate ? row.way.enrolled : 1;
      people.targets.resize(static_cast<Eigen::Index>(targets.size()), known[0].size());
      for (size_t i = 0; i < targets.size(); ++i) people.targets.row(i) = targets[i].transpose();
      const int answers[] = {static_cast<int>(out_.scores)};
      const double thresholds[] = {ImpostorThreshold(people, 1e-3)};
      HEFT_ASSIGN_OR_RETURN(
          const std::vector<Recovery> found,
          RecoverFromScores(people, Probes::kChosen, answers, thresholds, options().seed));
      row.recovered += Share() * found[0].cosine;
      row.recovered_accepted += Share() * found[0].accepted[0];
    }
    return absl::OkStatus();
  }

  // Plain and, if asked for, under encryption.
  absl::Status ScoreFold(const Model& model, const Dataset& data,
                         const std::vector<DrawnPeople>& draws) {
    for (size_t w = 0; w < ways_.size(); ++w) {
      plain_[w].emplace_back();
      encrypted_[w].emplace_back();
    }
    MeanScorer scorer(monitor_, model, data, /*keep=*/true);
    for (const DrawnPeople& draw : draws) {
      const DrawLists lists(draw, ways_);
      HEFT_ASSIGN_OR_RETURN(const FeatureMatrix plain,
                            PlainMeans(model, data, lists.references(), lists.probes()));
      FeatureMatrix encrypted;
      if (options().encrypted) {
        HEFT_ASSIGN_OR_RETURN(encrypted, scorer.Score(lists.references(), lists.probes()));
      }
      for (size_t w = 0; w < ways_.size(); ++w) {
        lists.Compare(plain, ways_[w], &plain_[w].back());
        if (options().encrypted) lists.Compare(encrypted, ways_[w], &encrypted_[w].back());
      }
    }
    return options().encrypted ? AddCosts(scorer) : absl::OkStatus();
  }

  absl::Status AddCosts(const MeanScorer& scorer) {
    HEFT_ASSIGN_OR_RETURN(const double sample_bytes, scorer.SampleBytes());
    for (size_t w = 0; w < ways_.size(); ++w) {
      SampleRow& row = out_.rows[w];
      const std::vector<double>&plain = plain_[w].back().scores,
            &encrypted = encrypted_[w].back().scores;
      for (size_t i = 0; i < plain.size(); ++i) {
        row.largest_gap = std::max(row.largest_gap, std::abs(encrypted[i] - plain[i]));
      }
      const int stored = row.way.separate ? row.way.enrolled : 1;
      const int fused = row.way.separate ? 1 : row.way.enrolled;
      row.enrol_ms += Share() * stored * scorer.FuseMs(static_cast<size_t>(fused));
      row.sent_bytes += Share() * sample_bytes * row.way.enrolled;
      row.stored_bytes += Share() * scorer.TemplateBytes() * stored;
    }
    return absl::OkStatus();
  }

  absl::Status Measure() {
    const BootstrapOptions bootstrap = {.replicates = options().replicates,
                                        .seed = options().bootstrap_seed};
    const Progress progress(monitor_, "bootstrap");
    HEFT_RETURN_IF_ERROR(progress.Step(0, 1));
    HEFT_ASSIGN_OR_RETURN(const auto plain, MeasureComparisons(plain_, bootstrap));
    for (size_t w = 0; w < ways_.size(); ++w) out_.rows[w].plain = plain[w];
    if (options().encrypted) {
      HEFT_ASSIGN_OR_RETURN(const auto encrypted, MeasureComparisons(encrypted_, bootstrap));
      for (size_t w = 0; w < ways_.size(); ++w) out_.rows[w].encrypted = encrypted[w];
    }
    return progress.Step(1, 1);
  }

  const Monitor& monitor_;
  const Dataset& dataset_;
  const std::vector<Model>& models_;
  const std::vector<SampleWay> ways_;
  std::vector<std::vector<Comparisons>> plain_, encrypted_;  // by way and fold
  SampleStudy out_;
};

}  // namespace

absl::StatusOr<SampleStudy> StudySamples(const Monitor& monitor, const Dataset& dataset,
                                         const std::vector<Model>& models,
                                         const SampleStudyOptions& options) {
  return SampleMeasurer(monitor, dataset, models, options).Run();
}

}  // namespace heft::experiment
