// SPDX-License-Identifier: Apache-2.0
#include "learning/train.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "learning/loss.h"
#include "learning/objective.h"
#include "learning/pairing.h"
#include "learning/start.h"
#include "learning/train_internal.h"

namespace heft {
namespace {

using internal::FitToNorms;
using internal::MeanAuroc;
using internal::OutsideShare;
using internal::Quantile;

// Streams of the seed.
constexpr uint64_t kValidationStream = 1, kStartStream = 2, kNormStream = 3, kEpochStream = 1000;

// The recipe's own settings where the caller gave none.
TrainOptions Resolved(TrainOptions options) {
  const bool paper = options.recipe == Recipe::kPaper;
  if (options.epochs == 0) options.epochs = paper ? recipe::kPaperEpochs : recipe::kEpochs;
  if (options.patience == 0) options.patience = paper ? options.epochs : recipe::kPatience;
  if (options.learning_rate == 0) {
    options.learning_rate = paper ? recipe::kPaperLearningRate : recipe::kLearningRate;
  }
  return options;
}

int PeopleOf(const std::vector<Batch>& batches) {
  int people = 0;
  for (const Batch& batch : batches) {
    for (const int person : batch.classes) people = std::max(people, person + 1);
  }
  return people;
}

// Whether an epoch's estimate is below the best one's by enough, if so many people judged both.
bool Lowers(double fnmr, double best, int people) {
  const double evidence = people < recipe::kFewestJudges ? recipe::kEpochEvidence : 0;
  return fnmr + recipe::kLeastError < (1 - evidence) * (best + recipe::kLeastError);
}

// One run of training with given lambda and margin.
class Trainer {
 public:
  Trainer(const TrainOptions& options, const SamplePool& train,
          const std::vector<Batch>& validation, const Batch& norms)
      : options_(options), train_(train), validation_(validation), norms_(norms) {}

  // From `state` (epoch 0: its projection is the start) to the last epoch or the end of patience.
  absl::Status Run(TrainCheckpoint state, const TrainHooks& hooks) {
    HEFT_RETURN_IF_ERROR(Begin(std::move(state)));
    if (state_.epoch == 0) Judge(0, hooks);
    while (state_.epoch < options_.epochs &&
           (validation_.empty() || state_.epoch - state_.best_epoch < options_.patience)) {
      HEFT_ASSIGN_OR_RETURN(const double loss, Advance());
      Judge(loss, hooks);
      if (hooks.save) HEFT_RETURN_IF_ERROR(hooks.save(state_));
    }
    return absl::OkStatus();
  }

  // Run's parts, for a caller that judges by itself.
  absl::Status Begin(TrainCheckpoint state) {
    state_ = std::move(state);
    if (state_.epoch == 0) Rescale();
    return FitNormaliser();
  }

  // One epoch; the loss before it.
  absl::StatusOr<double> Advance() {
    ++state_.epoch;
    const double loss = Step();
    Rescale();
    HEFT_RETURN_IF_ERROR(FitNormaliser());
    return loss;
  }

  const TrainCheckpoint& state() const { return state_; }
  const Normaliser& normaliser() const { return normaliser_; }

 private:
  bool paper() const { return options_.recipe == Recipe::kPaper; }

  // One Adam step on this epoch's samples; returns the loss before it.
  double Step() {
    Batch repaired;
    if (!paper()) {
      Random random(options_.seed, kEpochStream + state_.epoch);
      repaired = train_.Repair(random, options_.max_batch, options_.drop_modality);
    }
    const Batch& batch = paper() ? train_.Paired() : repaired;
    const LossResult loss =
        LossAndGradient(state_.projection, batch.features, batch.classes,
                        {options_.lambda, options_.margin, options_.metric}, normaliser_);
    AdamOptions adam;
    adam.weight_decay = options_.weight_decay;
    adam.learning_rate = options_.learning_rate;
    AdamStep(adam, loss.gradient, state_.projection, state_.adam);
    return loss.loss;
  }

  // The paper: "the mean of the squared norms ... is in the middle of the range" (appendix). Ours:
  // a mean of 1 keeps Adam's step size meaningful; the interval follows the data.
  void Rescale() {
    const double mean = SquaredNorms(state_.projection, norms_.features).mean();
    const double wanted = paper() ? (kPaperInterval.lo + kPaperInterval.hi) / 2 : 1.0;
    state_.projection *= std::sqrt(wanted / mean);
  }

  absl::Status FitNormaliser() {
    if (!options_.fhe_aware) return absl::OkStatus();
    if (!paper()) {
      const Eigen::VectorXd s = SquaredNorms(state_.projection, norms_.features);
      HEFT_ASSIGN_OR_RETURN(normaliser_, FitToNorms(s, options_));
    } else if (!normaliser_.approximation.has_value()) {
      HEFT_ASSIGN_OR_RETURN(normaliser_.approximation,
                            Fit(options_.fit, options_.degree, kPaperInterval));
    }
    return absl::OkStatus();
  }

  // Measures the projection and keeps it if it is the best so far, or if no people can judge it.
  void Judge(double loss, const TrainHooks& hooks) {
    const auto [auroc, fnmr] =
        internal::JudgeAll(validation_, state_.projection, normaliser_, options_.metric);
    const bool better =
        paper() ? auroc > state_.best_auroc : Lowers(fnmr, state_.best_fnmr, PeopleOf(validation_));
    if (state_.epoch == 0 || validation_.empty() || better) {
      state_.best = state_.projection;
      state_.best_auroc = auroc;
      state_.best_fnmr = fnmr;
      state_.best_epoch = state_.epoch;
    }
    if (!hooks.progress) return;
    double outside = 0;
    const Eigen::VectorXd s = SquaredNorms(state_.projection, norms_.features);
    for (double value : s) outside += !normaliser_.Valid(value);
    const double of_training =
        hooks.measure_training ? MeanAuroc({train_.Paired()}, state_.projection, normaliser_) : 0;
    hooks.progress(
        {state_.epoch, options_.epochs, loss, auroc, fnmr, outside / s.size(), of_training});
  }

  TrainOptions options_;
  const SamplePool& train_;
  const std::vector<Batch>& validation_;
  const Batch& norms_;  // samples whose squared norms the interval is fitted to
  TrainCheckpoint state_;
  Normaliser normaliser_;
};

FeatureMatrix RandomStart(int gamma, int dimension, uint64_t seed) {
  Random random(seed, kStartStream);
  FeatureMatrix projection(gamma, dimension);
  for (Eigen::Index i = 0; i < projection.size(); ++i) projection.data()[i] = random.Normal();
  return projection;
}

std::vector<Batch> ValidationBatches(const SamplePool& pool, const TrainOptions& options) {
  constexpr int kRepairings = 4;
  std::vector<Batch> batches = {pool.Paired()};
  if (options.recipe == Recipe::kPaper || pool.modalities().size() == 1) return batches;
  Random random(options.seed, kValidationStream);
  for (int i = 0; i < kRepairings; ++i) batches.push_back(pool.Repair(random, 800));
  return batches;
}

// Paired samples and one re-pairing, with modalities dropped as in training.
Batch NormSamples(const SamplePool& pool, const TrainOptions& options) {
  Batch norms = pool.Paired();
  if (options.recipe == Recipe::kPaper) return norms;
  Random random(options.seed, kNormStream);
  const Batch repaired = pool.Repair(random, options.max_batch, options.drop_modality);
  FeatureMatrix both(norms.features.rows() + repaired.features.rows(), norms.features.cols());
  both << norms.features, repaired.features;
  norms.features = std::move(both);
  norms.classes.clear();  // Only norms are asked for.
  return norms;
}

// The samples whose squared norms the interval has to hold: those of people who were not trained on
// count, and those of the training people, who may be enrolled too. The paper's recipe scales by
// the latter alone.
Batch AllNormSamples(const SamplePool& train, const SamplePool& held_out,
                     const TrainOptions& options) {
  Batch norms = NormSamples(train, options);
  if (options.recipe == Recipe::kPaper) return norms;
  const Batch others = NormSamples(held_out, options);
  FeatureMatrix both(norms.features.rows() + others.features.rows(), norms.features.cols());
  both << norms.features, others.features;
  norms.features = std::move(both);
  return norms;
}

// The interval, and how the training samples' squared norms lie in it.
void DescribeNorms(const Eigen::VectorXd& s, TrainResult& result) {
  const Interval& interval = result.approximation.interval;
  result.outside_share = OutsideShare(s, interval);
  Json quantiles;
  for (const char* share : {"0", "0.001", "0.01", "0.1", "0.5", "0.9", "0.99", "0.999", "1"}) {
    quantiles[share] = Quantile(s, std::atof(share));
  }
  result.summary["outside_share_train"] = result.outside_share;
  result.summary["interval"] = {interval.lo, interval.hi};
  result.summary["max_relative_error"] = result.approximation.MaxRelativeError();
  result.summary["squared_norm_quantiles"] = std::move(quantiles);
}

// What the projection was trained on, and how.
void Describe(const SamplePool& train, const TrainCheckpoint& state, TrainResult& result) {
  result.summary["best_epoch"] = result.best_epoch;
  result.summary["epochs_run"] = state.epoch;
  result.summary["modality_weights"] = state.modality_weights;
  result.summary["train_identities"] = train.identities();
  result.summary["train_samples"] = train.Paired().features.rows();
  Json further = Json::object();
  for (std::size_t m = 0; m < train.modalities().size(); ++m) {
    const PoolModality& modality = train.modalities()[m];
    const std::vector<int>& classes = modality.further_classes;
    if (classes.empty() && modality.further_left_out == 0) continue;
    further[train.names()[m]] = {{"people", classes.empty() ? 0 : classes.back() + 1},
                                 {"samples", classes.size()},
                                 {"left_out", modality.further_left_out}};
  }
  if (!further.empty()) result.summary["unpaired"] = std::move(further);
  result.summary["recipe"] = {
      {"version", recipe::kVersion}, {"date", recipe::kDate}, {"hash", recipe::Hash()}};
}

// Scales the winner and fits its approximation.
absl::StatusOr<TrainResult> Finish(const TrainCheckpoint& state, const TrainOptions& options,
                                   const Batch& norms, const SamplePool& train,
                                   const SamplePool& held_out) {
  TrainResult result;
  result.projection = state.best;
  result.val_auroc = state.best_auroc;
  result.val_fnmr = state.best_fnmr;
  result.best_epoch = state.best_epoch;
  Eigen::VectorXd s = SquaredNorms(result.projection, norms.features);
  if (options.recipe == Recipe::kPaper) {
    HEFT_ASSIGN_OR_RETURN(result.approximation, Fit(options.fit, options.degree, kPaperInterval));
  } else {
    HEFT_ASSIGN_OR_RETURN(const Normaliser fitted, FitToNorms(s, options));
    result.projection *= fitted.gain;
    result.approximation = *fitted.approximation;
    s *= fitted.gain * fitted.gain;
  }
  result.summary["options"] = internal::OptionsToJson(options);
  result.summary["val_auroc"] = result.val_auroc;
  result.summary["val_fnmr"] = result.val_fnmr;
  result.summary["val_identities"] = held_out.identities();
  Describe(train, state, result);
  DescribeNorms(s, result);
  result.summary["outside_share_val"] = OutsideShare(
      SquaredNorms(result.projection, held_out.Paired().features), result.approximation.interval);
  return result;
}

// The state before the first step: the recipe's start.
absl::StatusOr<TrainCheckpoint> Start(const SamplePool& pool, const TrainOptions& options,
                                      FurtherScatters* further = nullptr) {
  TrainCheckpoint start;
  start.options = internal::OptionsToJson(options);
  start.modality_weights.assign(pool.modalities().size(), 1.0);
  if (options.recipe == Recipe::kPaper) {
    Eigen::Index total = 0;
    for (const PoolModality& modality : pool.modalities()) total += modality.features.cols();
    start.projection = RandomStart(options.gamma, static_cast<int>(total), options.seed);
    return start;
  }
  StartChoice choice = DefaultStart(options, pool);
  const bool open = (options.shrinkage < 0 && options.shrinkages.empty()) || options.blend < 0 ||
                    options.whitening < 0 ||
                    (options.modality_weights.empty() && pool.modalities().size() > 1);
  if (options.method == Method::kLearned && open) {
    choice = StartSearch::Make(pool, options.gamma, options).Best(options.gamma, choice);
  }
  HEFT_ASSIGN_OR_RETURN(start.projection, BuildStart(pool, options.gamma, choice, further));
  start.modality_weights = choice.weights;
  return start;
}

absl::Status CheckResume(const TrainHooks& hooks, const TrainOptions& options,
                         const Dataset& dataset) {
  if (options.grid_search && (hooks.resume != nullptr || hooks.save)) {
    return absl::InvalidArgumentError("a grid search cannot be checkpointed");
  }
  if (hooks.resume == nullptr) return absl::OkStatus();
  const FeatureMatrix& projection = hooks.resume->projection;
  if (hooks.resume->options != internal::OptionsToJson(options) ||
      projection.rows() != options.gamma || projection.cols() != dataset.TotalDimension()) {
    return absl::FailedPreconditionError(
        "the checkpoint was made with other options or data; train again from the start");
  }
  return absl::OkStatus();
}

// lambda and margin of the runs: the given ones, or the published grid.
std::vector<TrainOptions> Runs(const TrainOptions& options) {
  if (!options.grid_search) return {options};
  std::vector<TrainOptions> runs;
  for (double lambda : {.01, .1, .25, .5, .75, .99}) {
    for (double margin : {.1, .25, .5, .75, 1.0}) {
      runs.push_back(options);
      runs.back().lambda = lambda;
      runs.back().margin = margin;
    }
  }
  return runs;
}

}  // namespace

absl::StatusOr<TrainResult> Train(const Dataset& dataset, const TrainOptions& given,
                                  const TrainHooks& hooks) {
  HEFT_RETURN_IF_ERROR(CheckDataset(dataset));
  HEFT_RETURN_IF_ERROR(CheckTrainOptions(given, dataset));
  const TrainOptions options = Resolved(given);
  HEFT_RETURN_IF_ERROR(CheckResume(hooks, options, dataset));
  HEFT_ASSIGN_OR_RETURN(const SamplePool train, SamplePool::Make(dataset, Split::kTrain));
  HEFT_ASSIGN_OR_RETURN(const SamplePool held_out, SamplePool::Make(dataset, Split::kValidation));
  if (!HasGenuinePair(held_out.Paired())) {
    return absl::InvalidArgumentError(
        "no person in the val split has a second sample, so the training cannot stop early: give "
        "people of that split two samples");
  }
  const std::vector<Batch> validation = ValidationBatches(held_out, options);
  const Batch norms = AllNormSamples(train, held_out, options);

  TrainCheckpoint start;
  if (hooks.resume != nullptr) {
    start = *hooks.resume;
  } else {
    HEFT_ASSIGN_OR_RETURN(start, Start(train, options));
  }
  TrainCheckpoint winner;
  TrainOptions winning = options;
  const std::vector<TrainOptions> runs = Runs(options);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    TrainHooks own = hooks;
    if (hooks.progress && runs.size() > 1) {
      own.progress = [&, run](TrainProgress progress) {
        progress.epoch += run * options.epochs;
        progress.epochs *= runs.size();
        hooks.progress(progress);
      };
    }
    Trainer trainer(runs[run], train, validation, norms);
    HEFT_RETURN_IF_ERROR(trainer.Run(start, own));
    const bool better = options.recipe == Recipe::kPaper
                            ? trainer.state().best_auroc > winner.best_auroc
                            : trainer.state().best_fnmr < winner.best_fnmr;
    if (run > 0 && !better) continue;
    winner = trainer.state();
    winning = runs[run];
  }
  return Finish(winner, winning, norms, train, held_out);
}

absl::StatusOr<TrainResult> TrainFully(const Dataset& dataset, const TrainOptions& given,
                                       int epochs, const TrainHooks& hooks) {
  HEFT_RETURN_IF_ERROR(CheckDataset(dataset));
  HEFT_RETURN_IF_ERROR(CheckTrainOptions(given, dataset));
  TrainOptions options = Resolved(given);
  options.epochs = epochs;
  HEFT_ASSIGN_OR_RETURN(const SamplePool train, SamplePool::Make(dataset, Split::kTrain));
  const Batch norms = NormSamples(train, options);
  HEFT_ASSIGN_OR_RETURN(TrainCheckpoint start, Start(train, options, hooks.further));
  const std::vector<Batch> no_judges;  // outlives the trainer, which has views
  Trainer trainer(options, train, no_judges, norms);
  HEFT_RETURN_IF_ERROR(trainer.Run(std::move(start), hooks));
  TrainResult result;
  result.projection = trainer.state().best;
  result.best_epoch = epochs;
  result.summary["options"] = internal::OptionsToJson(options);
  Describe(train, trainer.state(), result);
  return result;
}

absl::StatusOr<int> ChooseEpochs(Dataset people, std::span<const std::vector<Split>> splits,
                                 const TrainOptions& given,
                                 const std::function<absl::Status(int, int)>& progress) {
  HEFT_RETURN_IF_ERROR(CheckTrainOptions(given, people));
  const TrainOptions options = Resolved(given);
  struct Fold {
    SamplePool train;
    std::vector<Batch> judges;
    Batch norms;
    std::optional<Trainer> trainer;
  };
  const std::vector<Batch> nobody;
  std::vector<Fold> folds(splits.size());
  int judges = 0;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    people.split = splits[i];
    Fold& fold = folds[i];
    HEFT_ASSIGN_OR_RETURN(fold.train, SamplePool::Make(people, Split::kTrain));
    HEFT_ASSIGN_OR_RETURN(const SamplePool own, SamplePool::Make(people, Split::kValidation));
    fold.judges = ValidationBatches(own, options);
    judges += own.identities();
    fold.norms = NormSamples(fold.train, options);
    HEFT_ASSIGN_OR_RETURN(TrainCheckpoint start, Start(fold.train, options));
    fold.trainer.emplace(options, fold.train, nobody, fold.norms);
    HEFT_RETURN_IF_ERROR(fold.trainer->Begin(std::move(start)));
  }
  int best = 0;
  double best_fnmr = 1;
  for (int epoch = 0; epoch <= options.epochs && epoch - best <= options.patience; ++epoch) {
    PooledPairs pairs;
    for (Fold& fold : folds) {
      if (epoch > 0) HEFT_RETURN_IF_ERROR(fold.trainer->Advance().status());
      for (const Batch& batch : fold.judges) {
        pairs.Add(internal::ProjectedScores(fold.trainer->state().projection, batch.features,
                                            options.metric, fold.trainer->normaliser()),
                  batch.classes);
      }
    }
    const double fnmr = EstimateFnmr(pairs, recipe::kFmr).fnmr;
    if (epoch == 0 || Lowers(fnmr, best_fnmr, judges)) {
      best = epoch;
      best_fnmr = fnmr;
    }
    HEFT_RETURN_IF_ERROR(progress(epoch, options.epochs));
  }
  return best;
}

absl::StatusOr<Normaliser> FitInterval(const Eigen::VectorXd& s, const TrainOptions& options) {
  return FitToNorms(s, options);
}

absl::Status SetInterval(const Normaliser& normaliser, const Dataset& dataset,
                         TrainResult& result) {
  HEFT_ASSIGN_OR_RETURN(const FeatureMatrix features,
                        Concatenate(dataset, RowsOf(dataset.split, Split::kTrain)));
  result.projection *= normaliser.gain;
  result.approximation = *normaliser.approximation;
  DescribeNorms(SquaredNorms(result.projection, features), result);
  return absl::OkStatus();
}

absl::StatusOr<TrainResult> Train(const Dataset& dataset, const TrainOptions& options,
                                  const ProgressCallback& progress) {
  TrainHooks hooks;
  hooks.progress = progress;
  return Train(dataset, options, hooks);
}

void AdamStep(const AdamOptions& options, const FeatureMatrix& gradient, FeatureMatrix& parameter,
              AdamState& state) {
  if (state.step == 0) {
    state.mean = FeatureMatrix::Zero(parameter.rows(), parameter.cols());
    state.square = state.mean;
  }
  ++state.step;
  const FeatureMatrix g = gradient + options.weight_decay * parameter;
  state.mean = options.beta1 * state.mean + (1 - options.beta1) * g;
  state.square = options.beta2 * state.square + (1 - options.beta2) * g.cwiseAbs2();
  const double mean_correction = 1 - std::pow(options.beta1, state.step);
  const double square_correction = 1 - std::pow(options.beta2, state.step);
  parameter.array() -= options.learning_rate / mean_correction * state.mean.array() /
                       ((state.square.array() / square_correction).sqrt() + options.epsilon);
}

}  // namespace heft
