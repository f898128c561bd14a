// SPDX-License-Identifier: Apache-2.0
// The content of heft_scores.
#ifndef HEFT_C_SCORES_H_
#define HEFT_C_SCORES_H_

#include <utility>

#include "c/call.h"
#include "c/handles.h"
#include "heft/c/evaluate.h"
#include "heft/evaluate.h"

struct heft_scores : heft::c::Handle<heft_scores> {
  HEFT_C_HANDLE(heft_scores, 'scor');
  explicit heft_scores(heft::ScoreTable t) : table(std::move(t)) {}
  const heft::ScoreTable table;
};

#endif  // HEFT_C_SCORES_H_
