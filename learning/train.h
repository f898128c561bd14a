// SPDX-License-Identifier: Apache-2.0
// Train: learns the projection P and the approximation of 1/sqrt that goes with it.
#ifndef HEFT_LEARNING_TRAIN_H_
#define HEFT_LEARNING_TRAIN_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "features/dataset.h"
#include "features/matrix.h"
#include "heft/files.h"
#include "heft/train.h"
#include "learning/discriminant.h"
#include "learning/loss.h"
#include "learning/recipe.h"

namespace heft {

// AdamStep: Adam (D. P. Kingma and J. Ba, 2015) for one matrix.
struct AdamOptions {
  double learning_rate = recipe::kPaperLearningRate;
  double weight_decay = recipe::kWeightDecay;  // added to the gradient as weight_decay * parameter
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

// AdamState: all that a resumed run needs.
struct AdamState {
  FeatureMatrix mean, square;  // running moments; empty before the first step
  int64_t step = 0;
};

void AdamStep(const AdamOptions& options, const FeatureMatrix& gradient, FeatureMatrix& parameter,
              AdamState& state);

enum class Recipe {
  // Re-paired samples, a discriminant start, modality weights, few small steps, early stopping.
  kGeneralising,
  // The HEFT paper's: random start, the pairs as they are, fixed interval [0.05, 3].
  kPaper,
};

// Method: how a projection is made.
enum class Method {
  kLearned,  // from labelled samples
  kPca,      // principal components of samples without labels
  kNone,     // the weighted concatenation, padded with zeros: nothing is learned
};

// "learned", "pca" and "none".
std::string MethodName(Method method);
absl::StatusOr<Method> ParseMethod(std::string_view name);

// "generalising" and "paper".
std::string RecipeName(Recipe recipe);
absl::StatusOr<Recipe> ParseRecipe(std::string_view name);

struct TrainOptions {
  int gamma = recipe::kPaperGamma;  // fused dimension, 1 to the total dimension
  Recipe recipe = Recipe::kGeneralising;
  Method method = Method::kLearned;  // the paper's recipe has no other
  bool fhe_aware = true;             // the loss sees the approximation; else the exact 1/sqrt
  // Euclidean needs fhe_aware false: it normalises nothing. Early stopping then is by Euclidean
  // scores.
  Metric metric = Metric::kCosine;
  int degree = recipe::kDegree;  // of the approximation, 1 to 31
  FitKind fit = FitKind::kMinimax;
  double lambda = recipe::kLambda;  // weight of the pairs' term, in [0, 1]
  double margin = recipe::kMargin;  // of the hinge, in [0, 2]
  bool grid_search = false;         // the published grid of lambda and margin
  int epochs = 0;                   // 0: the recipe's own
  int patience = 0;                 // epochs without a better judgement; 0: the recipe's own
  double learning_rate = 0;         // 0: the recipe's own (5e-3 paper, 5e-4 generalising)
  double weight_decay = recipe::kWeightDecay;
  // Of the start (learning/start.h), each in [0, 1]; negative: chosen on training people.
  double shrinkage = -1;
  std::vector<double> shrinkages;  // one a modality, in place of `shrinkage`; empty: all alike
  double blend = -1;
  double whitening = -1;
  double drop_modality = 0;  // probability of training without a modality, [0, 1)
  // One a modality, > 0, of the generalising recipe's start; empty: the first 1, the others chosen
  // on training people (learning/start.h), or all 1 with another method than kLearned.
  std::vector<double> modality_weights;
  int max_batch = recipe::kMaxBatch;  // samples an epoch of the generalising recipe, 8 or more
  double interval_margin = recipe::kIntervalMargin;  // >= 1: room around the quantiles of s
  // The largest squared norm that the profile has room for (LargestNorm). A wider interval is moved
  // down until it fits.
  double largest_norm = std::numeric_limits<double>::infinity();
  uint64_t seed = 1;
};

// kInvalidArgument with the option's name and range.
absl::Status CheckTrainOptions(const TrainOptions& options, const Dataset& dataset);

struct TrainProgress {
  int epoch = 0;  // 0 is the start, before any step
  int epochs = 0;
  double loss = 0.0;
  double val_auroc = 0.0;      // with the normalisation that training uses
  double val_fnmr = 1.0;       // EstimateFnmr at recipe::kFmr, of the same scores
  double outside_share = 0.0;  // of training samples whose s is outside the interval, in [0, 1]
  double train_auroc = 0.0;    // of the training people as they are paired; 0 unless asked for
};

struct TrainResult {
  // gamma x total dimension. Takes the concatenation of the modalities, each scaled to unit length
  // (Concatenate); modality weights and the scale that brings |P x|^2 into the interval are in it.
  FeatureMatrix projection;
  // Fitted to the training data's |P x|^2; also where fhe_aware is false, so that such a projection
  // can be used encrypted.
  Approximation approximation;
  double val_auroc = 0.0, val_fnmr = 1.0;  // of validation people; TrainFully: not measured
  int best_epoch = 0;
  double outside_share = 0.0;  // of the training samples
  // What a model file tells about its training: options, val_auroc, best_epoch, epochs run, squared
  // norms' quantiles, outside shares, modality weights, sizes.
  Json summary;
};

using ProgressCallback = std::function<void(const TrainProgress&)>;

// TrainCheckpoint: all that a run needs to go on as if it had never stopped, bit for bit.
struct TrainCheckpoint {
  Json options;  // of the run, compared on resuming
  int epoch = 0;
  FeatureMatrix projection, best;
  AdamState adam;
  double best_auroc = 0.0, best_fnmr = 1.0;
  int best_epoch = 0;
  std::vector<double> modality_weights;
};

std::string FormatCheckpoint(const TrainCheckpoint& checkpoint);  // JSON
// kDataLoss if the text is not a checkpoint.
absl::StatusOr<TrainCheckpoint> ParseCheckpoint(std::string_view text);

// TrainHooks: all optional.
struct TrainHooks {
  ProgressCallback progress;                // after the start and after every epoch
  const TrainCheckpoint* resume = nullptr;  // goes on from here
  // Called after every epoch; an error ends the run and is returned.
  std::function<absl::Status(const TrainCheckpoint&)> save;
  bool measure_training = false;  // fill train_auroc, which costs as much as a small epoch
  // Of TrainFully: kept from one run to the next, where splits of the same people train in turn.
  FurtherScatters* further = nullptr;
};

// Train: uses the training and validation splits of `dataset` only. Validation people choose the
// epoch: by their FNMR estimate, or their AUROC under the paper's recipe. The interval holds the
// squared norms of both. The result depends on data, options and seed, not on the number of
// threads. kInvalidArgument for options out of range, fewer than two identities in either split, or
// none with a second sample; kFailedPrecondition if the checkpoint was made with other options or
// dimensions. Checkpoints and grid_search exclude each other (kInvalidArgument).
absl::StatusOr<TrainResult> Train(const Dataset& dataset, const TrainOptions& options,
                                  const TrainHooks& hooks = {});
absl::StatusOr<TrainResult> Train(const Dataset& dataset, const TrainOptions& options,
                                  const ProgressCallback& progress);

// TrainFully: on all people of the training split, with exactly `epochs` epochs (0: the start
// alone) and no validation people. |P x|^2 has a mean of 1 over the training samples. The result
// has no approximation before SetInterval. Train's errors.
absl::StatusOr<TrainResult> TrainFully(const Dataset& dataset, const TrainOptions& options,
                                       int epochs, const TrainHooks& hooks = {});

// ChooseEpochs: how many epochs TrainFully should take, 0 to options.epochs. Each split of `people`
// trains on its training people; after each epoch the validation people of all splits together
// estimate the FNMR. The number with the lowest estimate is chosen. The search ends after
// options.patience epochs without a lower one. `progress` gets the number of the epoch and of all
// epochs; an error ends the search. The generalising recipe only. Train's errors.
absl::StatusOr<int> ChooseEpochs(Dataset people, std::span<const std::vector<Split>> splits,
                                 const TrainOptions& options,
                                 const std::function<absl::Status(int, int)>& progress);

// FitInterval: the gain and approximation for squared norms `s` of samples that no projection of
// mean 1 was trained on. The interval holds their 0.1% and 99.9% quantiles with
// options.interval_margin of room, and 4.5 deviations of their logarithm. kInvalidArgument where a
// norm is zero.
absl::StatusOr<Normaliser> FitInterval(const Eigen::VectorXd& s, const TrainOptions& options);

// SetInterval: makes `result`, of TrainFully, use a normaliser of FitInterval. `dataset`: the one
// it was trained on. Concatenate's errors.
absl::Status SetInterval(const Normaliser& normaliser, const Dataset& dataset, TrainResult& result);

}  // namespace heft

#endif  // HEFT_LEARNING_TRAIN_H_
