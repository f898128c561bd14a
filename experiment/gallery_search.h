// SPDX-License-Identifier: Apache-2.0
// Searches of a large gallery: the people of a split among many other people who are enrolled too.
#ifndef HEFT_EXPERIMENT_GALLERY_SEARCH_H_
#define HEFT_EXPERIMENT_GALLERY_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "evaluation/folds.h"
#include "experiment/judgement.h"
#include "features/dataset.h"
#include "heft/evaluate.h"
#include "heft/files.h"
#include "heft/model.h"

namespace heft::experiment {

// GalleryRow: one system's searches, judged by thresholds of its own.
struct GalleryRow {
  ScoredSystem system;
  std::string calibrated_on;  // the people of its thresholds
  Judgement judgement;        // `searches` and `curves` only
};

struct GallerySearch {
  GalleryOptions options;
  std::string data_name, data_description;
  uint64_t people = 0;                // enrolled, a template each
  uint64_t mated = 0, strangers = 0;  // searches
  bool left_out = false;   // strangers are people of the gallery, their own templates left out
  double largest_gap = 0;  // of an encrypted score to its plain one
  std::vector<GalleryRow> rows;  // the model first
};

// SearchLargeGallery: `dataset`, `distractors` and `strangers` (may be null) as EvaluateGallery's.
// Its errors.
absl::StatusOr<GallerySearch> SearchLargeGallery(const Monitor& monitor, const Dataset& dataset,
                                                 const Model& model, const Dataset& distractors,
                                                 const Dataset* strangers,
                                                 const GalleryOptions& options);

// What of the model's thresholds does not hold.
std::vector<std::string> GalleryWarnings(const GallerySearch& search);
Json ToJson(const GallerySearch& search);
std::string ToText(const GallerySearch& search);
std::string MakeGalleryReport(const GallerySearch& search);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_GALLERY_SEARCH_H_
