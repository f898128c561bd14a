// SPDX-License-Identifier: Apache-2.0
#include "paper/sections/comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "experiment/encrypted_scores.h"
#include "features/dataset.h"
#include "heft/train.h"
#include "learning/learn.h"
#include "learning/projection.h"
#include "paper/methods/route.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

constexpr int kGamma = 32;

}  // namespace

absl::Status Comparison::Run(const Dataset& data) {
  if (study_.exact_projection.empty()) {
    return ForEachFold(data, study_.effort.folds, study_.seed, [&](int fold, const Dataset& split) {
      return Fold(absl::StrCat("fold ", fold + 1, " of ", study_.effort.folds), split);
    });
  }
  return Fold("published matrices", data);
}

absl::StatusOr<FoldComparison> Comparison::Compare() const {
  BootstrapOptions bootstrap;
  bootstrap.replicates = study_.effort.replicates;
  bootstrap.seed = study_.seed;
  Progress progress(study_.monitor, "bootstrap");
  return table_.Compare(bootstrap,
                        [&](size_t done, size_t total) { return progress.Update(done, total); });
}

absl::Status Comparison::Fold(const std::string& name, const Dataset& whole) {
  name_ = name;
  const Dataset data = ThinSplit(whole, Split::kTest, study_.effort.test_rows, study_.seed);
  HEFT_ASSIGN_OR_RETURN(auto fixed, FixedSystems(data));
  for (auto& one : fixed) HEFT_RETURN_IF_ERROR(Add(one.system, std::move(one.scores)));
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix exact, Projection(data, false));
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix aware, Projection(data, true));
  HEFT_ASSIGN_OR_RETURN(const PaperNormalisations n, MakePaperNormalisations());
  const bool slow = study_.effort.slow_methods;
  HEFT_RETURN_IF_ERROR(Plain(data, exact, {"learned_exact", "Learned", kGamma}));
  HEFT_RETURN_IF_ERROR(Both(data, exact, n.degree6, slow, "exact_degree6"));
  HEFT_RETURN_IF_ERROR(Both(data, exact, n.degree2, true, "exact_degree2"));
  HEFT_RETURN_IF_ERROR(Both(data, exact, n.goldschmidt, slow, "exact_goldschmidt"));
  HEFT_RETURN_IF_ERROR(Plain(data, aware, {"heft_exact", "Learned", kGamma}));
  HEFT_RETURN_IF_ERROR(Both(data, aware, n.degree2, true, "heft_degree2"));
  HEFT_RETURN_IF_ERROR(CountOutside(data, aware));
  if (study_.exact_projection.empty()) HEFT_RETURN_IF_ERROR(Ours(data));
  return absl::OkStatus();
}

absl::StatusOr<FeatureMatrix> Comparison::Projection(const Dataset& data, bool aware) {
  const std::string& file = aware ? study_.aware_projection : study_.exact_projection;
  if (!file.empty()) return ReadPublishedProjection(file, data.TotalDimension());
  TrainOptions options = PaperTraining(study_);
  options.fhe_aware = aware;
  HEFT_ASSIGN_OR_RETURN(
      TrainResult result,
      TrainWithProgress(study_.monitor, ForTraining(study_, data, options.recipe), options,
                        absl::StrCat(name_, aware ? ", HEFT degree 2" : ", exact")));
  return std::move(result.projection);
}

absl::Status Comparison::Add(const ScoredSystem& system, LabelledScores scores) {
  HEFT_ASSIGN_OR_RETURN(const ScoreSet own, PairScores(scores.scores, scores.identities));
  ScoreSet& all = pairs_[system.id];
  all.genuine.insert(all.genuine.end(), own.genuine.begin(), own.genuine.end());
  all.impostor.insert(all.impostor.end(), own.impostor.begin(), own.impostor.end());
  table_.Add(system, std::move(scores));
  return absl::OkStatus();
}

absl::Status Comparison::Plain(const Dataset& data, const FeatureMatrix& projection,
                               const ScoredSystem& system) {
  HEFT_ASSIGN_OR_RETURN(LabelledScores scores, ScoresOf(data, projection, std::nullopt));
  return Add(system, std::move(scores));
}

absl::Status Comparison::Both(const Dataset& data, const FeatureMatrix& projection,
                              const NormalisationSpec& normalisation, bool encrypt,
                              const std::string& id) {
  HEFT_ASSIGN_OR_RETURN(const LabelledScores plain, ScoresOf(data, projection, normalisation));
  HEFT_RETURN_IF_ERROR(Add({id + "_plain", "Learned", kGamma}, plain));
  if (!encrypt) return absl::OkStatus();
  Approximation range;  // a model needs a polynomial; only its interval is looked at
  range.interval = normalisation.Range();
  range.stages = {Polynomial{{1.0, 0.0}}};
  HEFT_ASSIGN_OR_RETURN(const PaperScores encrypted,
                        ScoreByPaperRoute(study_.monitor, absl::StrCat(name_, ", ", id),
                                          ModelOf(data, projection, range, "paper"), normalisation,
                                          experiment::ModalityRows(data, Split::kTest)));
  Note(id, encrypted.scores - plain.scores, encrypted.predicted_error, encrypted.parameters,
       encrypted.security);
  return Add({id + "_encrypted", "Learned", kGamma, true}, {encrypted.scores, plain.identities});
}

void Comparison::Note(const std::string& id, FeatureMatrix difference, double predicted,
                      const std::string& parameters, const std::string& security) {
  difference.diagonal().setZero();  // no sample is compared with itself
  Gap& gap = gaps_[id];
  gap.score = std::max(gap.score, difference.cwiseAbs().maxCoeff());
  gap.predicted = std::max(gap.predicted, predicted);
  gap.parameters = parameters;
  gap.security = security;
}

absl::Status Comparison::CountOutside(const Dataset& data, const FeatureMatrix& projection) {
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                        Concatenate(data, RowsOf(data.split, Split::kTest)));
  for (double s : SquaredNorms(projection, features)) outside_ += !kPaperInterval.Contains(s);
  samples_ += static_cast<int>(features.rows());
  return absl::OkStatus();
}

absl::Status Comparison::Ours(const Dataset& data) {
  HEFT_ASSIGN_OR_RETURN(
      const TrainResult ours,
      TrainWithProgress(study_.monitor, ForTraining(study_, data, Recipe::kGeneralising),
                        OurTraining(study_), absl::StrCat(name_, ", our recipe")));
  HEFT_RETURN_IF_ERROR(Plain(data, ours.projection, {"ours_exact", "Our recipe", kGamma}));
  HEFT_ASSIGN_OR_RETURN(
      const LabelledScores plain,
      ScoresOf(data, ours.projection, NormalisationSpec::Polynomials(ours.approximation)));
  HEFT_RETURN_IF_ERROR(Add({"ours_plain", "Our recipe", kGamma}, plain));
  HEFT_ASSIGN_OR_RETURN(
      const experiment::EncryptedRun run,
      experiment::ScoreEncrypted(study_.monitor,
                                 ModelOf(data, ours.projection, ours.approximation, "compact"),
                                 experiment::ModalityRows(data, Split::kTest)));
  Note("ours", run.scores - plain.scores, run.predicted_error, run.parameters, run.security);
  return Add({"ours_encrypted", "Our recipe", kGamma, true}, {run.scores, plain.identities});
}

}  // namespace heft::paper
