// SPDX-License-Identifier: Apache-2.0
// A million additions and removals with the formulae of gallery/added_error.h: no template's exposure
// exceeds the bound, and no space is lost.
#include "gallery/added_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fusion/errors.h"
#include "fusion/rings.h"
#include "fusion/testing.h"

namespace heft {
namespace {

// kSettleAfter: additions to the open block after which its templates move on.
constexpr uint32_t kSettleAfter = 512;

Instance Matching(const char* profile) {
  auto rings = MakeRings(testing::RandomModel({128, 128}, 32, 3, profile));
  EXPECT_TRUE(rings.ok()) << rings.status();
  return rings->matching;
}

TEST(AddedErrorTest, AFullBlockOfSingleAdditionsIsWhatErrorsPredict) {
  for (const char* profile : {"standard", "flooded"}) {
    const Instance matching = Matching(profile);
    const ErrorCosts costs = ErrorCostsOf(matching);
    const uint32_t positions = 2 * matching.params().slots();
    BlockError block;
    block.added = positions * (costs.addition + costs.exchange);
    EXPECT_NEAR(Margin(costs, block), 0, 1e-9);
    EXPECT_EQ(Margin(costs, {}), 1);
    // One by one, half of a block; by sixteens, as a journal is folded, all of it.
    for (const uint32_t call : {1, 16}) {
      const double cost = AdditionVariance(matching.params(), matching.plan, call);
      uint32_t added = 0;
      for (block.added = 0; added < positions && MayAdd(costs, block, 0, cost); added += call) {
        block.added += cost;
      }
      EXPECT_GE(added, call == 1 ? positions / 2 : positions);
      EXPECT_GE(Margin(costs, block), 0.5 - 1e-6);
    }
    // The error of the products also contains that of the templates and of the probe.
    const double predicted = ProductError(matching.params(), matching.plan, false);
    EXPECT_LT(std::sqrt(2 * costs.bound) * matching.plan.matching.probe_length, predicted);
    EXPECT_LT(costs.exchange, costs.addition / 15);
    EXPECT_LT(costs.batch, 10 * costs.addition);
    EXPECT_LT(costs.rekeying, 40 * costs.addition);
  }
}

TEST(AddedErrorTest, NoiseOfAPositionIsThatSinceItWasClean) {
  const ErrorCosts costs = {.addition = 1, .exchange = 0.25, .bound = 12, .reserve = 2};
  // Nine additions, none taken back: the position of the tenth has their noise too.
  const BlockError block = {.added = 9, .least_clean = 9};
  EXPECT_TRUE(MayAdd(costs, block, 0, 1));
  EXPECT_FALSE(MayAdd(costs, block, -0.5, 1));
  EXPECT_FALSE(MayAdd(costs, {.added = 9, .least_clean = -0.5}, 0, 1));
  // A template with an exposure of 3 moves to a new block, which has had one exchange.
  const double clean = MovedClean(costs, 9, 6, 0.25);
  EXPECT_DOUBLE_EQ(0.25 - clean, 3.25);
  EXPECT_DOUBLE_EQ(Margin(costs, {.added = 0.25, .least_clean = clean}), 1 - 3.25 / 12);
}

// A gallery that people join and leave.
class Population {
 public:
  Population(const ErrorCosts& costs, uint32_t positions)
      : costs_(costs), positions_(positions), blocks_(1, Block(positions)) {}

  // Adds to the open block, which settles after enough additions.
  void Add() {
    Block& open = blocks_[0];
    const uint32_t position = open.used++;
    const BlockError error = {open.added, 0};  // of a block that was new
    EXPECT_TRUE(MayAdd(costs_, error, 0, costs_.addition));
    open.added += costs_.addition;
    Seat(0, position, people_.size(), 0);
    people_.push_back({0, position});
    if (open.used == kSettleAfter) {
      Empty(0);
      blocks_[0] = Block(positions_);
    }
  }

  // A person leaves by an exchange or, in the open block, by taking back the contribution.
  void Remove(size_t i) {
    const Person person = people_[i];
    Block& block = blocks_[person.block];
    Note(block, person.position);
    block.person[person.position] = kNobody;
    --block.live;
    if (person.block == 0) {
      block.added -= costs_.addition;
    } else {
      Exchange(block);
    }
    people_[i] = people_.back();
    people_.pop_back();
    if (i < people_.size()) blocks_[people_[i].block].person[people_[i].position] = i;
  }

  // Empties the emptiest block if the others have room for all of it and for some more, so that not
  // every removal moves a person.
  void Compact() {
    size_t emptiest = 0, room = 0;
    for (size_t b = 1; b < blocks_.size(); ++b) {
      room += positions_ - blocks_[b].live;
      if (emptiest == 0 || blocks_[b].live < blocks_[emptiest].live) emptiest = b;
    }
    if (room < positions_ + positions_ / 4 || emptiest == 0) return;
    Empty(emptiest);
    const size_t last = blocks_.size() - 1;
    if (emptiest != last) {
      blocks_[emptiest] = std::move(blocks_[last]);
      for (const size_t person : blocks_[emptiest].person) {
        if (person != kNobody) people_[person].block = emptiest;
      }
    }
    blocks_.pop_back();
  }

  size_t people() const { return people_.size(); }
  size_t blocks() const { return blocks_.size(); }
  uint64_t exchanges() const { return exchanges_; }
  // The largest exposure, including that of people who have left.
  double Worst() {
    for (const Person& p : people_) Note(blocks_[p.block], p.position);
    return worst_;
  }

 private:
  static constexpr size_t kNobody = ~size_t{0};
  struct Block {
    explicit Block(uint32_t positions) : clean(positions, 0), person(positions, kNobody) {}
    double added = 0;
    uint32_t live = 0, used = 0;
    std::vector<double> clean;
    std::vector<size_t> person;
  };
  struct Person {
    size_t block;
    uint32_t position;
  };

  void Note(const Block& block, uint32_t position) {
    worst_ = std::max(worst_, block.added - block.clean[position]);
  }
  void Seat(size_t block, uint32_t position, size_t person, double clean) {
    blocks_[block].person[position] = person;
    blocks_[block].clean[position] = clean;
    ++blocks_[block].live;
  }
  void Exchange(Block& block) {
    ++exchanges_;
    block.added += costs_.exchange;
  }
  // Moves all of block `from` to free positions of other settled blocks, or of a new one.
  void Empty(size_t from) {
    std::vector<uint32_t> waiting;
    for (uint32_t p = 0; p < positions_; ++p) {
      if (blocks_[from].person[p] != kNobody) waiting.push_back(p);
    }
    for (size_t target = 1; !waiting.empty(); ++target) {
      if (target == blocks_.size()) blocks_.emplace_back(positions_);
      if (target == from || blocks_[target].live == positions_) continue;
      Exchange(blocks_[target]);
      for (uint32_t p = 0; p < positions_ && !waiting.empty(); ++p) {
        if (blocks_[target].person[p] != kNobody) continue;
        const Block& source = blocks_[from];
        const size_t person = source.person[waiting.back()];
        Seat(target, p, person,
             MovedClean(costs_, source.added, source.clean[waiting.back()], blocks_[target].added));
        people_[person] = {target, p};
        waiting.pop_back();
      }
    }
  }

  ErrorCosts costs_;
  uint32_t positions_;
  std::vector<Block> blocks_;  // the open one first
  std::vector<Person> people_;
  uint64_t exchanges_ = 0;
  double worst_ = 0;
};

// The same, except that additions fill freed positions while they may, and people move only when
// two blocks are half empty.
class InPlace {
 public:
  InPlace(const ErrorCosts& costs, uint32_t positions) : costs_(costs), positions_(positions) {}

  void Add() {
    size_t b = 0;
    while (b < blocks_.size() && !MayTake(blocks_[b])) ++b;
    if (b == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[b];
    block.added += costs_.addition;
    block.residents.insert(block.free_clean);
    people_.push_back({b, block.free_clean});
  }
  void Remove(size_t i) {
    const Person person = people_[i];
    Block& block = blocks_[person.block];
    worst_ = std::max(worst_, block.added - person.clean);
    block.residents.erase(block.residents.find(person.clean));
    // All free positions are clean except for the exchange.
    block.free_clean = block.added;
    block.added += costs_.exchange;
    ++exchanges_;
    people_[i] = people_.back();
    people_.pop_back();
  }
  // Joins two half-empty blocks into a new one.
  void Compact() {
    std::vector<size_t> sparse;
    for (size_t b = 0; b + 1 < blocks_.size() && sparse.size() < 2; ++b) {
      if (blocks_[b].residents.size() <= positions_ / 2) sparse.push_back(b);
    }
    if (sparse.size() < 2) return;
    ++exchanges_;
    const size_t last = blocks_.size() - 1;
    Block merged;
    merged.added = costs_.exchange;
    for (Person& person : people_) {
      if (person.block == sparse[0] || person.block == sparse[1]) {
        const double added = blocks_[person.block].added;
        person = {sparse[0], MovedClean(costs_, added, person.clean, merged.added)};
        merged.residents.insert(person.clean);
      } else if (person.block == last) {
        person.block = sparse[1];
      }
    }
    blocks_[sparse[0]] = std::move(merged);
    blocks_[sparse[1]] = std::move(blocks_[last]);
    blocks_.pop_back();
  }

  size_t people() const { return people_.size(); }
  size_t blocks() const { return blocks_.size(); }
  uint64_t exchanges() const { return exchanges_; }
  double Worst() {
    for (const Person& p : people_) worst_ = std::max(worst_, blocks_[p.block].added - p.clean);
    return worst_;
  }

 private:
  struct Block {
    double added = 0, free_clean = 0;
    std::multiset<double> residents;  // when their positions were clean
  };
  struct Person {
    size_t block;
    double clean;
  };
  bool MayTake(const Block& block) const {
    const double least = block.residents.empty() ? block.added : *block.residents.begin();
    return block.residents.size() < positions_ &&
           MayAdd(costs_, {block.added, least}, block.free_clean, costs_.addition);
  }

  ErrorCosts costs_;
  uint32_t positions_;
  std::vector<Block> blocks_;
  std::vector<Person> people_;
  uint64_t exchanges_ = 0;
  double worst_ = 0;
};

class MillionTest : public ::testing::TestWithParam<const char*> {};

// A million changes. Returns the largest ratio of blocks to those that the people would fill.
template <typename Gallery>
double Million(Gallery& gallery, uint32_t positions) {
  std::mt19937_64 random(5);
  // The share of additions: the gallery grows, keeps its size for long, shrinks to a third, and
  // grows again.
  const auto share = [](uint64_t i) {
    if (i < 100'000) return 0.8;
    if (i >= 700'000 && i < 750'000) return 0.1;
    return i >= 800'000 && i < 850'000 ? 0.9 : 0.5;
  };
  double space = 0;
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    const bool add = std::uniform_real_distribution<double>()(random) < share(i);
    if (add || gallery.people() == 0) {
      gallery.Add();
    } else {
      gallery.Remove(std::uniform_int_distribution<size_t>(0, gallery.people() - 1)(random));
    }
    if (i % 64 == 0) gallery.Compact();
    const double needed = double(gallery.people()) / positions;
    if (i % 1000 == 0 && needed > 4) space = std::max(space, double(gallery.blocks()) / needed);
  }
  return space;
}

template <typename Gallery>
double Report(const char* policy, const char* profile, Gallery& gallery, const ErrorCosts& costs,
              double space) {
  const double worst = gallery.Worst() / costs.bound;
  std::printf(
      "%s, %s: %zu people in %zu blocks, %llu exchanges, exposure at most %.3f of the bound, "
      "blocks at most %.2f times the full ones\n",
      profile, policy, gallery.people(), gallery.blocks(),
      static_cast<unsigned long long>(gallery.exchanges()), worst, space);
  return worst;
}

TEST_P(MillionTest, SettlingLosesNoSpace) {
  const Instance matching = Matching(GetParam());
  const ErrorCosts costs = ErrorCostsOf(matching);
  const uint32_t positions = 2 * matching.params().slots();
  Population gallery(costs, positions);
  const double space = Million(gallery, positions);
  const double worst = Report("settling", GetParam(), gallery, costs, space);
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, kSettleAfter * costs.addition / costs.bound);
  // The open block, a block that is not full, and the room that compaction leaves.
  EXPECT_LT(space, 1.7);
}

TEST_P(MillionTest, FillingWhatOthersLeftStaysWithinTheBound) {
  const Instance matching = Matching(GetParam());
  const ErrorCosts costs = ErrorCostsOf(matching);
  const uint32_t positions = 2 * matching.params().slots();
  InPlace gallery(costs, positions);
  const double space = Million(gallery, positions);
  const double worst = Report("in place", GetParam(), gallery, costs, space);
  EXPECT_LT(worst, 1);
  EXPECT_GT(worst, 0.5);
  EXPECT_LT(space, 2.2);
}

INSTANTIATE_TEST_SUITE_P(Profiles, MillionTest, ::testing::Values("standard", "flooded"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace heft
