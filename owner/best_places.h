// SPDX-License-Identifier: Apache-2.0
// BestPlaces: the best scores of a search whose replies contain no names.
#ifndef HEFT_OWNER_BEST_PLACES_H_
#define HEFT_OWNER_BEST_PLACES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace heft {

class BestPlaces {
 public:
  struct Place {
    double score = 0;
    std::optional<uint32_t> bucket;  // of a sharded gallery
    uint64_t position = 0;
  };
  // Keeps the `most` best, at least one: of equal scores those that came first. A score that is not
  // a number ranks above all numbers, so that it is noticed.
  explicit BestPlaces(size_t most = 1) : most_(std::max<size_t>(most, 1)) {}

  void Add(const Place& place) {
    places_.push_back(place);
    if (places_.size() >= 2 * most_ + kRoom) Trim();
  }
  // Take: best first.
  std::vector<Place> Take() && {
    Trim();
    return std::move(places_);
  }

 private:
  static constexpr size_t kRoom = 1024;  // so that it is sorted once in so many

  static bool Better(const Place& a, const Place& b) {
    if (std::isnan(a.score) || std::isnan(b.score)) return !std::isnan(b.score);
    return a.score > b.score;
  }
  void Trim() {
    std::ranges::stable_sort(places_, Better);
    places_.resize(std::min(places_.size(), most_));
  }

  size_t most_;
  std::vector<Place> places_;
};

}  // namespace heft

#endif  // HEFT_OWNER_BEST_PLACES_H_
