// SPDX-License-Identifier: Apache-2.0
// The contents of the golden files (tests/golden/README.md), shared by the program that wrote them
// and the test that reads them.
#ifndef HEFT_TESTS_GOLDEN_H_
#define HEFT_TESTS_GOLDEN_H_

#include <string>
#include <vector>

#include "gallery/restriction.h"
#include "heft/model.h"

namespace heft::golden {

inline const std::vector<std::string> kIdentities = {"ann", "bob", "ann"};
inline constexpr char kPassphrase[] = "golden files";
inline constexpr char kClaimed[] = "ann";
inline constexpr uint64_t kBudget =
    20;  // an identification and a verification of this budget are used up

// The time of all entries of the journal.
inline constexpr uint64_t kJournalTime = 1800000000;

// DecidedModel: a model with all that decisions need (model-2.heft).
inline Model DecidedModel(Model model) {
  const ImpostorTail tail = {0.375, 0.0625, 0.125, -0.25, 4};
  model.sample_agreement = 0.625;
  DecisionTable whole = {3};
  whole.thresholds = {{1e-1, 0.25, 0.0078125, 4000, {0.0625, 0.125}},
                      {1e-2, 0.5, 0.0625, 4000, {0.0078125, 0.015625}}};
  whole.searches = {{1, 44, 1892, tail, {tail, {0.375, 0.0625, 0.125, 0, 1e6}}},
                    {2, 40, 1560, tail, {}}};
  whole.calibration = {8, -2.5};
  model.tables = {whole, {1, {{1e-1, 0.125, 0.25, 4000}, {1e-2, 0.375, 0.5, 4000}}}};
  return model;
}

// The model without its approximation, since a fit may change that in the last digits. gamma 2
// keeps the gallery's block small.
inline Model ModelWithoutApproximation() {
  Model model;
  model.modalities = {{"face", 4}, {"voice", 3}};
  model.gamma = 2;
  model.projection = {0.5, -0.25, 0.75, 0.125, 0.5,   -0.5, 0.25,  //
                      0.0, 0.625, 0.25, -0.5,  0.375, 0.5,  -0.125};
  model.profile = "compact";
  model.tables = {{3, {{1e-2, 0.75, 0.125, 1000}, {1e-3, 0.875, 0.25, 1000}}}};
  model.training_summary = R"({"golden":true})";
  return model;
}

// Bulk samples have a model of their own with a single dimension, since each dimension needs a
// large ciphertext. A normalised vector of one number is -1 or 1.
inline Model BulkModel() {
  Model model = ModelWithoutApproximation();
  model.modalities = {{"finger", 1}};
  model.projection = {0.5, -0.25};
  model.tables.clear();
  return model;
}
inline const std::vector<std::vector<double>> kBulkRows = {{2}, {-3}, {0.5}};

// The metadata of means/metadata.heft.
inline const Metadata kMetadata = {{"site", "berlin"}, {"list", "night"}, {"list", "staff"}};
inline constexpr uint64_t kExpires = kJournalTime + 1;

// The restriction of thin/restricted.ct: places 1 and 2 answer.
inline Restriction GoldenRestriction() {
  Restriction out = {PlaceSet::All(3), kJournalTime, {{"site", {"berlin", "paris"}}}};
  out.answering.Remove(0);
  out.where.push_back({"age", {}, 18, 30.5});
  out.where.push_back({"height", {}, {}, 200});
  return out;
}

// The row of the request that signed/identification.ct answers.
inline constexpr uint64_t kRow = 1;

// The vector of modality 0 or 1 of person 0, 1 or 2. Person 0 is also the probe and the sample
// file.
inline std::vector<double> Vector(size_t modality, size_t person) {
  static const std::vector<double> all[2][3] = {{{3, 1, -2, 0.5}, {-1, 2, 2, 1}, {2, 1, -1, 1}},
                                                {{1, -2, 2}, {0.5, 1, 3}, {1, -1, 2}}};
  return all[modality][person];
}

}  // namespace heft::golden

#endif  // HEFT_TESTS_GOLDEN_H_
