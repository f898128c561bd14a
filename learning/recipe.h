// SPDX-License-Identifier: Apache-2.0
// The recipe: every choice that learning makes without being asked, in one place and with a date.
// So a data set that was never looked at can be opened once and honestly (docs/recipe.md, which a
// test compares with this file). A change of a choice here comes with a new page, date and version,
// and says on what data the new value was chosen.
#ifndef HEFT_LEARNING_RECIPE_H_
#define HEFT_LEARNING_RECIPE_H_

#include <cstdint>
#include <string>

#include "heft/files.h"

namespace heft::recipe {

inline constexpr int kVersion = 8;
inline constexpr char kDate[] = "2026-11-28";

// ---- The objective: an estimate of FNMR at kFmr (learning/objective.h).
inline constexpr double kFmr = 1e-3;
inline constexpr double kTailShare = 0.02;  // of impostor scores, taken as exponential
inline constexpr int kFewestInTail = 20;
inline constexpr double kBandwidth = 0.35;  // over the deviation of genuine scores
// kLeastError: estimates are compared with this added, so that two very small ones are alike.
inline constexpr double kLeastError = 1e-5;
// kNormRatio, kNormPenalty: of the lengths of templates, of people who trained over others.
inline constexpr double kNormRatio = 1.5, kNormPenalty = 1e-3;

// ---- Which differences are real.
// kReplicates: resamplings of people, of at most kReplicatePairs impostor comparisons a part.
inline constexpr int kReplicates = 400;
inline constexpr int kReplicatePairs = 200'000;

// ---- Fused dimension.
// kGammas: tried where none is asked for, up to the data's dimensions.
inline constexpr int kGammas[] = {16, 32, 64, 128, 256};
// kGammaErrors, kGammaTolerance: the smallest dimension is chosen whose FNMR estimate is close to
// the best one's. It is above it by no more than so many standard errors of their difference, or
// this share of it. And its objective is at most kGammaFactor times the best one's. With few
// people, few dimensions are shown to be worse.
inline constexpr double kGammaErrors = 1.96, kGammaTolerance = 0.05, kGammaFactor = 2;
// kFallBackErrors: another method replaces learning where its estimate is lower by more than so
// many standard errors of their difference.
inline constexpr double kFallBackErrors = 1.96;
// kPcaEnergy: without labels the smallest dimension is chosen that keeps this share of the
// variance.
inline constexpr double kPcaEnergy = 0.95;
// kPaperGamma: of the paper's recipe, which chooses nothing.
inline constexpr int kPaperGamma = 32;

// ---- The start and its weights.
// kShrinkages: of the within-class covariance, of each modality. kWhitenings: powers of deviations
// by which directions are divided. The middles start the search, and are used where no people can
// be left out.
inline constexpr double kShrinkages[] = {0.1, 0.3, 0.6, 0.9}, kMiddleShrinkage = 0.3;
inline constexpr double kWhitenings[] = {0, 0.25, 0.5}, kMiddleWhitening = 0.25;
// kStartParts: the training people are dealt into so many; discriminants of the others are scored
// on each.
inline constexpr int kStartParts = 5;
// kStartRows: samples of a part, as paired and re-paired, that scores are computed of.
inline constexpr int kStartRows = 400;
// kBlends: shares of all samples' covariance in that between people; the best one is taken.
// Modalities of more than kLargestBlended dimensions have none: it would take minutes.
inline constexpr double kBlends[] = {0, 0.5}, kMiddleBlend = 0.5;
inline constexpr int kLargestBlended = 1024;
// kWeightSteps: factors of the search for weights, one after the other, both up and down.
inline constexpr double kWeightSteps[] = {2, 1.4, 1.2};
// kStepEvidence: the share of the FNMR estimate that a step of the search has to take away.
inline constexpr double kStepEvidence = 0.02;
// kLeastShare: of the directions, dealt to the modalities evenly; kLeastShareDropped: the same
// where training drops modalities.
inline constexpr double kLeastShare = 0.125, kLeastShareDropped = 0.5;
// kLargestWeight: and its inverse bound the search.
inline constexpr double kLargestWeight = 256;

// ---- Isotropy of templates (learning/isotropy.h).
// kLimits: of the energy of a direction over the mean, the weakest first; 0 is no limit. The last
// one is taken whose FNMR estimate exceeds the lowest one by at most kLimitTolerance of it, and by
// at most kLimitCost.
inline constexpr double kLimits[] = {0, 2, 1.7, 1.4, 1.2, 1, 0.85, 0.75};
inline constexpr double kLimitTolerance = 0.05, kLimitCost = 0.01;
// kFewestLimited: with fewer people there is no limit. They do not show which directions are
// strong in other people, and templates of those would leave the interval.
inline constexpr int kFewestLimited = 100;

// ---- Training.
inline constexpr double kLambda = 0.25, kMargin = 0.5, kWeightDecay = 1e-4;
inline constexpr int kEpochs = 20, kPatience = 5, kMaxBatch = 2048;
// kEpochEvidence: the share of the FNMR estimate that a later epoch has to take away from the best,
// where fewer than kFewestJudges validation people judge. More people's estimate is believed as it
// is.
inline constexpr double kEpochEvidence = 0.05;
inline constexpr int kFewestJudges = 16;
inline constexpr double kLearningRate = 5e-4;
inline constexpr int kDegree = 3;
// The interval of |z|^2: room around quantiles, and deviations of the logarithm on either side.
inline constexpr double kIntervalMargin = 1.15, kIntervalDeviations = 4.5;
// kIntervalError: the deviations are cut where the approximation would be worse than this.
inline constexpr double kIntervalError = 0.02;
inline constexpr int kPaperEpochs = 1000, kPaperDegree = 2;
inline constexpr double kPaperLearningRate = 5e-3;

// ---- Decisions.
// kParts: the people for training and validation are dealt into so many. A model of the others
// scores each, and thresholds, calibration and searches are fitted to those scores.
inline constexpr int kParts = 5;
// kFewestInPart: people of a part; with fewer people there are fewer parts, with fewer than two
// parts none.
inline constexpr int kFewestInPart = 4;
// kMaxAcross: with so many samples at most there are twice as many parts and a model for every two
// of them, so that all people are compared with each other. kMaxAcrossTrained: the same where
// every model repeats epochs, which takes minutes.
inline constexpr int kMaxAcross = 4000, kMaxAcrossTrained = 1500;
// kStoppingShare: under the paper's recipe one in so many of the others stops the training.
inline constexpr int kStoppingShare = 4;
// kDecisionReplicates: resamplings of people for the intervals that a model carries.
inline constexpr int kDecisionReplicates = 200;
// kSearchTemplates: a person's templates in a gallery for which searches are calibrated.
inline constexpr int kSearchTemplates[] = {1, 2, 4};

// Choices: all of the above, as docs/recipe.md lists them.
Json Choices();
// Hash: SHA-256 of Choices() as text, in hex. A model's training summary has it.
std::string Hash();

}  // namespace heft::recipe

#endif  // HEFT_LEARNING_RECIPE_H_
