// SPDX-License-Identifier: Apache-2.0
// The recipe: every choice that learning makes without being asked, in one place and with a date,
// so that a data set which nobody has looked at can be opened once and honestly (docs/recipe.md,
// which a test compares with this file). Whoever changes a choice here changes the page, the date
// and the version, and says on what data the new value was chosen.
#ifndef HEFT_LEARNING_RECIPE_H_
#define HEFT_LEARNING_RECIPE_H_

#include <cstdint>
#include <string>

#include "heft/json.h"

namespace heft::recipe {

inline constexpr int kVersion = 2;
inline constexpr char kDate[] = "2026-11-22";

// ---- Which differences are real.
// kReplicates: resamplings of people, of at most kReplicatePairs impostor comparisons a part.
inline constexpr int kReplicates = 400;
inline constexpr int kReplicatePairs = 200'000;

// ---- Fused dimension.
// kGammas: tried where none is asked for, as far as the data's dimensions go.
inline constexpr int kGammas[] = {16, 32, 64, 128, 256};
// kGammaConfidence, kGammaTolerance: the smallest dimension is chosen that is not shown to be worse
// than the best by more than this share of the best one's errors (1 - AUROC). An interval of 0.68
// is one standard error.
inline constexpr double kGammaConfidence = 0.68, kGammaTolerance = 0.05;
// kPaperGamma: of the paper's recipe, which chooses nothing.
inline constexpr int kPaperGamma = 32;

// ---- The start and its weights.
inline constexpr double kShrinkage = 0.3;  // of the within-class covariance
// kStartParts: the training people are dealt into so many; discriminants of the others are scored
// on each.
inline constexpr int kStartParts = 4;
// kStartRows: samples of a part, as paired and re-paired, that scores are computed of.
inline constexpr int kStartRows = 400;
// kBlends: shares of all samples' covariance in that between people, of which the best is taken.
// Modalities of more than kLargestBlended dimensions have none: it would take minutes.
inline constexpr double kBlends[] = {0, 0.1, 0.5, 0.9};
inline constexpr int kLargestBlended = 1024;
// kWeightSteps: factors of the search for weights, one after the other, both up and down.
inline constexpr double kWeightSteps[] = {4, 2, 1.4, 1.2};
// kWeightEvidence: over the square root of the number of people is the share of the errors
// (1 - AUROC) that a step has to take away. Weights that few people choose freely wander off.
inline constexpr double kWeightEvidence = 1;
// kLargestWeight: and its inverse bound the search.
inline constexpr double kLargestWeight = 256;

// ---- Training.
inline constexpr double kLambda = 0.25, kMargin = 0.5, kWeightDecay = 1e-4;
inline constexpr int kEpochs = 60, kPatience = 20, kMaxBatch = 2048;
inline constexpr double kLearningRate = 5e-4;
inline constexpr int kDegree = 3;
inline constexpr double kIntervalMargin = 1.15;
inline constexpr int kPaperEpochs = 1000, kPaperDegree = 2;
inline constexpr double kPaperLearningRate = 5e-3;

// ---- Decisions.
// kParts: the people for training and validation are dealt into so many; models of the others score
// each, and thresholds, calibration and searches are fitted to those scores.
inline constexpr int kParts = 5;
// kFewestInPart: people of a part; with fewer people there are fewer parts, with fewer than two
// parts none.
inline constexpr int kFewestInPart = 4;
// kStoppingShare: one in so many of the others stops the training, as validation people do.
inline constexpr int kStoppingShare = 4;
// kDecisionReplicates: resamplings of people for the intervals that a model carries.
inline constexpr int kDecisionReplicates = 200;
// kSearchTemplates: a person's templates in a gallery for which searches are calibrated.
inline constexpr int kSearchTemplates[] = {1, 2, 4};

// Choices: all of the above, as docs/recipe.md lists them.
Json Choices();
// Hash: BLAKE2b-256 of Choices() as text, in hex. A model's training summary has it.
std::string Hash();

}  // namespace heft::recipe

#endif  // HEFT_LEARNING_RECIPE_H_
