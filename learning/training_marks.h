// SPDX-License-Identifier: Apache-2.0
// Training marks: short hashes of some of the vectors that trained a projection, kept in the
// model's training summary. A calibration on the same people promises too much; the marks show it,
// if their vectors are the same bit for bit.
//
// The marks are the kTrainingMarks smallest of 64-bit hashes of all training vectors (a bottom-k
// sketch: A. Z. Broder, On the resemblance and containment of documents, 1997). If a share p of the
// training vectors is in other data, none of the marks is with probability (1 - p)^kTrainingMarks.
// Who has a vector can see in the model whether it is marked; no vector follows from a mark.
#ifndef HEFT_LEARNING_TRAINING_MARKS_H_
#define HEFT_LEARNING_TRAINING_MARKS_H_

#include <cstddef>

#include "features/dataset.h"
#include "heft/files.h"

namespace heft {

inline constexpr size_t kTrainingMarks = 64;

// TrainingMarks: of the rows for training and validation and of unpaired samples, each modality's
// vectors by themselves. An array of texts, rising: "training_marks" of a training summary.
Json TrainingMarks(const Dataset& dataset);

// CountMarked: how many of the marks are of vectors of `dataset`, whatever their split. `marks`
// that are no array have none.
size_t CountMarked(const Json& marks, const Dataset& dataset);

}  // namespace heft

#endif  // HEFT_LEARNING_TRAINING_MARKS_H_
