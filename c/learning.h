// SPDX-License-Identifier: Apache-2.0
// The content of learning's opaque objects.
#ifndef HEFT_C_LEARNING_H_
#define HEFT_C_LEARNING_H_

#include <utility>
#include <vector>

#include "c/handles.h"
#include "heft/c/model.h"
#include "heft/dataset.h"
#include "heft/model.h"

struct heft_dataset : heft::c::Handle<heft_dataset> {
  HEFT_C_HANDLE(heft_dataset, 'data');
  explicit heft_dataset(heft::TrainingData d) : data(std::move(d)) {}
  const heft::TrainingData data;
};

struct heft_models : heft::c::Handle<heft_models> {
  HEFT_C_HANDLE(heft_models, 'fold');
  explicit heft_models(std::vector<heft::Model> m) : models(std::move(m)) {}
  const std::vector<heft::Model> models;
};

#endif  // HEFT_C_LEARNING_H_
