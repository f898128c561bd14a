// SPDX-License-Identifier: Apache-2.0
#include <heft/learn.h>

#include <iostream>

int main() {
  const auto data = heft::SynthesiseDataset({});
  std::cout << data->Rows() << " samples\n";
  return data.ok() ? 0 : 1;
}
