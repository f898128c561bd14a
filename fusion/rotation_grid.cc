// SPDX-License-Identifier: Apache-2.0
#include "fusion/rotation_grid.h"

#include <limits>

#include "ckks/keys.h"

namespace heft {
namespace {

// The cost model. Its unit is the time of one transform; the other times were measured relative to
// it on a Zen 4 with AVX-512. Costs of a key are for one limb of one digit, both parts.
constexpr double kProduct = 0.3;  // multiplied by a digit
constexpr double kRead = 1.4;     // read from memory: a key is read once for all of its uses

// Decomposition: of a polynomial of `limbs` limbs, in transforms: each limb to its coefficients,
// and then to each other limb and the special prime's.
double Decomposition(double limbs) { return limbs + limbs * limbs; }
// KeySize: of a key for this many limbs, in limbs of digits.
double KeySize(double limbs) { return limbs * (limbs + 1); }

// The grid of `count` rotations with the least `cost`; among equals, the one with most babies.
template <typename Cost>
RotationGrid Cheapest(uint32_t count, const Cost& cost) {
  RotationGrid best;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t giants = 1; giants <= count; giants *= 2) {
    const RotationGrid grid{count / giants, giants};
    const double its = cost(grid);
    if (its < least) {
      least = its;
      best = grid;
    }
  }
  return best;
}

}  // namespace

std::vector<uint32_t> RotationGrid::BabyElements(const ckks::Params& params) const {
  std::vector<uint32_t> elements;
  for (uint32_t i = 0; i < babies; ++i) elements.push_back(ckks::RotationElement(params, i));
  return elements;
}

std::vector<uint32_t> RotationGrid::GiantElements(const ckks::Params& params) const {
  std::vector<uint32_t> elements;
  for (uint32_t j = 0; j < giants; ++j) {
    elements.push_back(ckks::RotationElement(params, int64_t{babies} * j));
  }
  return elements;
}

void RotationGrid::AddNeeds(const ckks::Params& params, size_t limbs, KeyNeeds* needs) const {
  needs->Galois(BabyElements(params), limbs);
  needs->Galois(GiantElements(params), limbs);
}

RotationGrid MatchingGrid(const ckks::Params& params, uint32_t count) {
  // All rotations multiply and divide alike, so only decompositions and keys matter. A probe is
  // rotated with two levels left (base and match).
  const auto limbs = static_cast<double>(2 * params.level_primes());
  return Cheapest(count, [&](const RotationGrid& grid) {
    return (grid.giants - 1) * Decomposition(limbs) +
           (grid.babies + grid.giants - 2) * KeySize(limbs) * kRead;
  });
}

RotationGrid ProductGrid(const ckks::Params& params, uint32_t count, size_t sums, size_t limbs,
                         const KeyNeeds& have, size_t absent) {
  const auto all = static_cast<double>(limbs + absent);
  const double product = KeySize(all) * kProduct;
  // A partial sum's second part is divided by the special prime before it is decomposed.
  const double division = 1 + all;
  const auto read = [&](uint32_t element) {
    if (element == 1) return 0.0;
    const auto there = have.galois_keys.find(element);
    if (there == have.galois_keys.end()) return KeySize(all) * kRead;
    return (KeySize(all) - KeySize(static_cast<double>(there->second + absent))) * kRead;
  };
  return Cheapest(count, [&](const RotationGrid& grid) {
    double cost = (grid.babies - 1) * product;
    cost +=
        static_cast<double>(sums) * (grid.giants - 1) * (division + Decomposition(all) + product);
    for (const uint32_t element : grid.BabyElements(params)) cost += read(element);
    for (const uint32_t element : grid.GiantElements(params)) cost += read(element);
    return cost;
  });
}

}  // namespace heft
