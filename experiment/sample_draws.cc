// SPDX-License-Identifier: Apache-2.0
#include "experiment/sample_draws.h"

#include <map>
#include <string>

#include "features/random.h"

namespace heft::experiment {

DrawnPeople DrawSamples(const Dataset& dataset, const std::vector<int>& rows, int enrolled,
                        int probes, uint64_t seed) {
  std::map<std::string, std::vector<int>> by_person;
  for (const int row : rows) by_person[dataset.labels[row]].push_back(row);
  DrawnPeople out;
  uint64_t stream = 0;
  for (auto& [label, samples] : by_person) {
    Random random(seed, stream++);
    if (static_cast<int>(samples.size()) < enrolled + probes) {
      ++out.left_out;
      continue;
    }
    random.Shuffle(samples);
    SampleDraw draw;
    draw.probes.assign(samples.begin(), samples.begin() + probes);
    draw.enrolled.assign(samples.begin() + probes, samples.begin() + probes + enrolled);
    out.people.push_back(std::move(draw));
  }
  return out;
}

}  // namespace heft::experiment
