// SPDX-License-Identifier: Apache-2.0
#include <heft/evaluate.h>
#include <heft/train.h>

#include <iostream>

int main() {
  const auto data = heft::TrainingData::Synthesise({});
  std::cout << data->size() << " samples\n";
  const auto model = heft::Learn(*data, {.gamma = 5});
  std::cout << model.status().message() << "\n";
  const auto folds = heft::LoadFolds("nowhere", *data, 3, 1);
  std::cout << folds.status().message() << "\n";
  const auto stop = [](const heft::ProgressEvent&) { return false; };
  const auto times = heft::RunBenchmark({}, stop);
  std::cout << times.status().message() << "\n";
  return data.ok() && !model.ok() && !folds.ok() && !times.ok() ? 0 : 1;
}
