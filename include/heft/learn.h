// SPDX-License-Identifier: Apache-2.0
// Learning and evaluation on plain numbers, without cryptography: heft::LoadDataset, heft::Train,
// heft::EstimateVerification; heft::SynthesiseDataset makes data to try them on.
#ifndef HEFT_LEARN_H_
#define HEFT_LEARN_H_

#include "evaluation/bootstrap.h"    // IWYU pragma: export
#include "evaluation/folds.h"        // IWYU pragma: export
#include "evaluation/metrics.h"      // IWYU pragma: export
#include "features/dataset.h"        // IWYU pragma: export
#include "features/synthetic.h"      // IWYU pragma: export
#include "learning/train.h"          // IWYU pragma: export
#include "learning/trained_model.h"  // IWYU pragma: export

#endif  // HEFT_LEARN_H_
