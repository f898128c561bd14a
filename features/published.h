// SPDX-License-Identifier: Apache-2.0
// The text files that the paper's authors published, in the two forms in which they exist. Rows of
// numbers may be in brackets or not, label lists a label a line or one list in brackets.
//
// As extracted: two modalities NAME.txt, of which one has NAME_labels.txt. The other has no labels,
// but two rows an identity, in the order of the first one's sorted labels. Every sample is paired
// with both rows of its identity (paper, section "Evaluation Datasets"); the first fifth of the
// identities is the validation split, the second the test split, the rest trains.
//
// As paired: A_values_SPLIT.txt, B_values_SPLIT.txt and L_values_SPLIT.txt for the SPLITs (train,
// val, test) that are there. The published cut between splits is by row: rows of an identity that
// has been seen in an earlier file are left out (val before test before train), because an identity
// is in one split only.
#ifndef HEFT_FEATURES_PUBLISHED_H_
#define HEFT_FEATURES_PUBLISHED_H_

#include <string>

#include "base/status.h"
#include "features/dataset.h"

namespace heft {

// Whether the folder has no labels.txt and holds files of one of these forms.
bool HoldsPublishedFiles(const std::string& directory);

// The readers' errors; kInvalidArgument where rows, labels and identities do not fit together.
absl::StatusOr<Dataset> LoadPublished(const std::string& directory);

// ReadPublishedProjection: a projection matrix as published ("..best_P_value_transpose..": gamma
// rows of `dimension` numbers); also its transpose. gamma x dimension. kInvalidArgument, naming
// both sizes, if neither fits.
absl::StatusOr<FeatureMatrix> ReadPublishedProjection(const std::string& path, int dimension);

}  // namespace heft

#endif  // HEFT_FEATURES_PUBLISHED_H_
