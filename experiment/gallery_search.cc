// SPDX-License-Identifier: Apache-2.0
#include "experiment/gallery_search.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "evaluation/open_set.h"
#include "experiment/evaluation.h"
#include "experiment/mean_scores.h"
#include "experiment/systems.h"
#include "learning/projection.h"
#include "learning/score_weights.h"

namespace heft::experiment {
namespace {

// All people's samples in one data set, and the lists of references and probes.
struct Searches {
  Dataset everybody;
  RowLists references, probes;         // rows, one a list
  std::vector<int> templates, people;  // of references and of probes
  std::vector<int> left_out;           // by probe: the reference it is not compared with, or -1
};

// Appends the given rows and returns where they begin.
int Append(const Dataset& from, const std::vector<int>& rows, Dataset* to) {
  const int first = to->Rows();
  for (size_t m = 0; m < to->modalities.size(); ++m) {
    FeatureMatrix& features = to->modalities[m].features;
    features.conservativeResize(first + static_cast<Eigen::Index>(rows.size()), Eigen::NoChange);
    for (size_t i = 0; i < rows.size(); ++i) {
      features.row(first + static_cast<Eigen::Index>(i)) = from.modalities[m].features.row(rows[i]);
    }
  }
  for (int row : rows) {
    to->labels.push_back(from.labels[static_cast<size_t>(row)]);
    to->split.push_back(Split::kTest);
  }
  return first;
}

// First samples of people, and all others.
struct FirstAndRest {
  std::vector<int> first, rest;
};
FirstAndRest PartSamples(const Dataset& dataset, const std::vector<int>& rows) {
  FirstAndRest out;
  std::set<std::string> seen;
  for (int row : rows) {
    (seen.insert(dataset.labels[static_cast<size_t>(row)]).second ? out.first : out.rest)
        .push_back(row);
  }
  return out;
}

std::vector<int> AllRows(const Dataset& dataset) {
  std::vector<int> rows(static_cast<size_t>(dataset.Rows()));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int>(i);
  return rows;
}

absl::Status CheckApart(const std::set<std::string>& known, const Dataset& others) {
  for (const std::string& label : others.labels) {
    if (!known.contains(label)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(others.folder, ": \"", label,
                     "\" is also a person of another folder. Distractors and strangers must be "
                     "other people: rename this person or leave it out"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> SelectOthers(const Dataset& others, const Model& model) {
  absl::StatusOr<Dataset> selected = SelectModalities(others, model, others.folder);
  if (selected.ok() || model.modalities.size() < 2) return selected;
  return absl::InvalidArgumentError(
      absl::StrCat(selected.status().message(),
                   ". All people in a gallery need the model's modalities: use a model that was "
                   "trained on a folder with the modalities that all people have"));
}

absl::StatusOr<Searches> PlanSearches(const Dataset& dataset, const Dataset& distractors,
                                      const Dataset* strangers, Split split) {
  std::set<std::string> known(dataset.labels.begin(), dataset.labels.end());
  HEFT_RETURN_IF_ERROR(CheckApart(known, distractors));
  known.insert(distractors.labels.begin(), distractors.labels.end());
  if (strangers != nullptr) HEFT_RETURN_IF_ERROR(CheckApart(known, *strangers));
  Searches out;
  out.everybody.folder = dataset.folder;
  out.everybody.norm = dataset.norm;
  for (const Modality& m : dataset.modalities) {
    out.everybody.modalities.push_back({m.name, FeatureMatrix(0, m.features.cols())});
  }
  const FirstAndRest own = PartSamples(dataset, RowsOf(dataset.split, split));
  const FirstAndRest others = PartSamples(distractors, AllRows(distractors));
  if (own.rest.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(dataset.folder, ": split \"", SplitName(split),
                     "\" has no person with two samples, one to enrol and one for a search"));
  }
  const auto add = [](int first, size_t count, RowLists* lists) {
    for (size_t i = 0; i < count; ++i) lists->push_back({first + static_cast<int>(i)});
  };
  add(Append(dataset, own.first, &out.everybody), own.first.size(), &out.references);
  const int enrolled = static_cast<int>(own.first.size());
  add(Append(distractors, others.first, &out.everybody), others.first.size(), &out.references);
  add(Append(dataset, own.rest, &out.everybody), own.rest.size(), &out.probes);
  out.left_out.assign(own.rest.size(), -1);
  if (strangers != nullptr) {
    const int count = strangers->Rows();
    add(Append(*strangers, AllRows(*strangers), &out.everybody), static_cast<size_t>(count),
        &out.probes);
    out.left_out.resize(out.probes.size(), -1);
  } else {
    for (size_t i = 0; i < others.first.size(); ++i) {
      const int reference = enrolled + static_cast<int>(i);
      out.probes.push_back(out.references[static_cast<size_t>(reference)]);
      out.left_out.push_back(reference);
    }
  }
  const std::vector<int> numbers = IdentityNumbers(out.everybody.labels);
  for (const auto& list : out.references) {
    out.templates.push_back(numbers[static_cast<size_t>(list[0])]);
  }
  for (const auto& list : out.probes) out.people.push_back(numbers[static_cast<size_t>(list[0])]);
  return out;
}

// A rival without training: a weighted sum of raw cosines.
struct Rival {
  ScoredSystem system;
  std::vector<double> weights;  // by modality
};

std::vector<Rival> Rivals(const Dataset& dataset, const std::vector<double>& fitted) {
  std::vector<Rival> rivals;
  const size_t count = dataset.modalities.size();
  const std::vector<int> dimensions = dataset.Dimensions();
  for (size_t m = 0; m < count; ++m) {
    const std::string& name = dataset.modalities[m].name;
    std::vector<double> alone(count, 0.0);
    alone[m] = 1;
    rivals.push_back({{name, BaselineLabel(name, dimensions[m]), dimensions[m]}, alone});
  }
  if (count == 1) return rivals;
  const int total = dataset.TotalDimension();
  for (const char* name : {"concatenation", "score_sum"}) {
    const bool weighted = name == std::string("score_sum");
    rivals.push_back({{name, BaselineLabel(name, total), total},
                      weighted ? fitted : std::vector<double>(count, 1.0 / count)});
  }
  return rivals;
}

FeatureMatrix WeightedCosines(const Dataset& dataset, const std::vector<double>& weights,
                              const FeatureMatrix& left, const FeatureMatrix& right) {
  FeatureMatrix scores = FeatureMatrix::Zero(left.rows(), right.rows());
  Eigen::Index column = 0;
  const std::vector<int> dimensions = dataset.Dimensions();
  for (size_t m = 0; m < dimensions.size(); ++m) {
    const int width = dimensions[m];
    if (weights[m] != 0) {
      scores +=
          weights[m] * ProjectAll(right.middleCols(column, width), left.middleCols(column, width));
    }
    column += width;
  }
  return scores;
}

class GallerySearcher {
 public:
  GallerySearcher(const Monitor& monitor, const Dataset& dataset, const Model& model,
                  Searches searches, Split split, const GalleryOptions& options)
      : monitor_(monitor),
        dataset_(dataset),
        model_(model),
        searches_(std::move(searches)),
        split_(split) {
    result_.options = options;
    result_.data_name = FolderName(dataset.folder);
    result_.data_description = DescribeData(dataset.folder);
    result_.people = searches_.templates.size();
    const std::set<int> enrolled(searches_.templates.begin(), searches_.templates.end());
    for (size_t i = 0; i < searches_.people.size(); ++i) {
      const bool left_out = searches_.left_out[i] >= 0;
      const bool mated = !left_out && enrolled.contains(searches_.people[i]);
      (mated ? result_.mated : result_.strangers) += 1;
      result_.left_out = result_.left_out || left_out;
    }
  }

  absl::StatusOr<GallerySearch> Run() {
    HEFT_RETURN_IF_ERROR(AddModel());
    HEFT_RETURN_IF_ERROR(AddRivals());
    return std::move(result_);
  }

 private:
  absl::Status Add(const ScoredSystem& system, const std::string& calibrated_on,
                   const FeatureMatrix& scores, const SearchChooser& choose) {
    GalleryRow row = {system, calibrated_on, {}};
    HEFT_RETURN_IF_ERROR(JudgeGallery(scores, searches_.people, searches_.templates, choose,
                                      &row.judgement, searches_.left_out));
    result_.rows.push_back(std::move(row));
    return absl::OkStatus();
  }

  absl::Status AddModel() {
    const SearchChooser choose = [this](double fpir, uint64_t people, uint32_t templates) {
      return model_.ThresholdForSearch(fpir, people, templates, model_.AllModalities());
    };
    const int gamma = static_cast<int>(model_.gamma);
    HEFT_ASSIGN_OR_RETURN(
        const FeatureMatrix plain,
        PlainMeans(model_, searches_.everybody, searches_.references, searches_.probes));
    if (result_.options.encrypted) {
      HEFT_ASSIGN_OR_RETURN(const FeatureMatrix encrypted,
                            EncryptedMeans(monitor_, model_, searches_.everybody,
                                           searches_.references, searches_.probes));
      result_.largest_gap = (encrypted - plain).cwiseAbs().maxCoeff();
      HEFT_RETURN_IF_ERROR(Add({"fhe_aware_encrypted", "The model, encrypted", gamma, true},
                               "by the model", encrypted, choose));
    }
    return Add({"fhe_aware_plain", "The model, plain", gamma}, "by the model", plain, choose);
  }

  // Raw cosines need no training people, so thresholds may be fitted on all people who are not
  // judged.
  absl::Status AddRivals() {
    std::vector<int> rows;
    for (int i = 0; i < dataset_.Rows(); ++i) {
      if (dataset_.split[static_cast<size_t>(i)] != split_) {
        rows.push_back(i);
      }
    }
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix fitted_on, Concatenate(dataset_, rows));
    std::vector<std::string> labels;
    for (int row : rows) labels.push_back(dataset_.labels[static_cast<size_t>(row)]);
    const std::vector<int> identities = IdentityNumbers(labels);
    HEFT_ASSIGN_OR_RETURN(const ScoreWeights weights, FitScoreWeights(dataset_));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix enrolled, Features(searches_.references));
    HEFT_ASSIGN_OR_RETURN(const FeatureMatrix asked, Features(searches_.probes));
    for (const Rival& rival : Rivals(dataset_, weights.weights)) {
      const LabelledScores known = {WeightedCosines(dataset_, rival.weights, fitted_on, fitted_on),
                                    identities};
      const absl::StatusOr<SearchCalibration> calibration = FitSearches({&known, 1});
      const SearchChooser choose = [&](double fpir, uint64_t people,
                                       uint32_t templates) -> absl::StatusOr<ChosenThreshold> {
        HEFT_RETURN_IF_ERROR(calibration.status());
        return ChooseSearchThreshold({&*calibration, 1}, fpir, people, templates);
      };
      const std::set<int> people(identities.begin(), identities.end());
      HEFT_RETURN_IF_ERROR(Add(rival.system,
                               absl::StrCat("on ", people.size(), " people of other splits"),
                               WeightedCosines(dataset_, rival.weights, asked, enrolled), choose));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<FeatureMatrix> Features(const RowLists& lists) const {
    std::vector<int> rows;
    for (const auto& list : lists) rows.push_back(list[0]);
    return Concatenate(searches_.everybody, rows);
  }

  const Monitor& monitor_;
  const Dataset& dataset_;
  const Model& model_;
  const Searches searches_;
  const Split split_;
  GallerySearch result_;
};

}  // namespace

absl::StatusOr<GallerySearch> SearchLargeGallery(const Monitor& monitor, const Dataset& dataset,
                                                 const Model& model, const Dataset& distractors,
                                                 const Dataset* strangers,
                                                 const GalleryOptions& options) {
  const bool everybody = options.split == "all";
  HEFT_ASSIGN_OR_RETURN(const Split split, ParseSplit(everybody ? "test" : options.split));
  HEFT_ASSIGN_OR_RETURN(Dataset own, SelectModalities(dataset, model, dataset.folder));
  if (everybody) own.split.assign(own.split.size(), split);
  HEFT_ASSIGN_OR_RETURN(const Dataset others, SelectOthers(distractors, model));
  Dataset unknown;
  if (strangers != nullptr) {
    HEFT_ASSIGN_OR_RETURN(unknown, SelectOthers(*strangers, model));
  }
  HEFT_ASSIGN_OR_RETURN(
      Searches searches,
      PlanSearches(own, others, strangers == nullptr ? nullptr : &unknown, split));
  return GallerySearcher(monitor, own, model, std::move(searches), split, options).Run();
}

}  // namespace heft::experiment
