// SPDX-License-Identifier: Apache-2.0
#include <heft/train.h>

#include <iostream>

int main() {
  const auto data = heft::TrainingData::Synthesise({});
  std::cout << data->size() << " samples\n";
  const auto model = heft::Learn(*data, {.gamma = 5});
  std::cout << model.status().message() << "\n";
  return data.ok() && !model.ok() ? 0 : 1;
}
