// SPDX-License-Identifier: Apache-2.0
#include "experiment/sample_draws.h"

#include <algorithm>
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

namespace {

void InsertOnce(int number, std::vector<int>* numbers) {
  const auto place = std::ranges::lower_bound(*numbers, number);
  if (place == numbers->end() || *place != number) numbers->insert(place, number);
}

size_t PlaceOf(int number, const std::vector<int>& numbers) {
  return static_cast<size_t>(std::ranges::lower_bound(numbers, number) - numbers.begin());
}

std::vector<int> First(const std::vector<int>& rows, int count) {
  return {rows.begin(), rows.begin() + count};
}

}  // namespace

DrawLists::DrawLists(const DrawnPeople& draw, const std::vector<SampleWay>& ways)
    : people_(draw.people.size()), singles_(draw.people[0].probes.size()) {
  for (const SampleWay& way : ways) {
    if (way.separate) {
      separate_ = std::max(separate_, static_cast<size_t>(way.enrolled));
    } else {
      InsertOnce(way.enrolled, &means_);
    }
    if (way.probe > 1) InsertOnce(way.probe, &asked_);
  }
  for (const SampleDraw& person : draw.people) {
    for (const int n : means_) references_.push_back(First(person.enrolled, n));
    for (size_t i = 1; i < separate_; ++i) references_.push_back({person.enrolled[i]});
    for (const int row : person.probes) probes_.push_back({row});
    for (const int n : asked_) probes_.push_back(First(person.probes, n));
  }
}

size_t DrawLists::MeanPlace(int samples) const { return PlaceOf(samples, means_); }

void DrawLists::Compare(const FeatureMatrix& scores, const SampleWay& way, Comparisons* out) const {
  const size_t first = way.probe == 1 ? 0 : singles_ + PlaceOf(way.probe, asked_);
  const size_t end = way.probe == 1 ? singles_ : first + 1;
  for (size_t a = 0; a < people_; ++a) {
    for (size_t p = first; p < end; ++p) {
      const auto row = scores.row(static_cast<Eigen::Index>(a * ProbesOfOne() + p));
      for (size_t b = 0; b < people_; ++b) {
        const auto of_b = static_cast<Eigen::Index>(b * ReferencesOfOne());
        double score =
            row(of_b + static_cast<Eigen::Index>(MeanPlace(way.separate ? 1 : way.enrolled)));
        for (int i = 1; way.separate && i < way.enrolled; ++i) {
          score = std::max(score, row(of_b + static_cast<Eigen::Index>(means_.size()) + i - 1));
        }
        out->Add(score, static_cast<int>(a), static_cast<int>(b));
      }
    }
  }
}

}  // namespace heft::experiment
