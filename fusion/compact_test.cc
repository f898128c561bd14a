// SPDX-License-Identifier: Apache-2.0
#include "fusion/compact.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fusion/testing.h"

namespace heft {
namespace {

TEST(CompactTest, EverySlotHoldsTheValueOfItsRun) {
  // Two runs of 4 values; gamma 8, so that a run fills a window twice.
  const std::vector<double> v = {1, 2, 3, 4, 5, 6, 7};
  const std::vector<double> slots = CompactSlots(v, 4, 8, 32);
  const std::vector<double> window = {1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 0, 5, 6, 7, 0};
  ASSERT_EQ(slots.size(), 32u);
  for (size_t t = 0; t < slots.size(); ++t) EXPECT_EQ(slots[t], t < 16 ? window[t] : 0) << t;
}

TEST(CompactTest, VectorsAreNormalisedOrRefused) {
  const ModalitySpec face = {"face", 2};
  const auto unit = NormalisedVector(std::vector<double>{3, -4}, face);
  ASSERT_TRUE(unit.ok()) << unit.status();
  EXPECT_DOUBLE_EQ((*unit)[0], 0.6);
  EXPECT_DOUBLE_EQ((*unit)[1], -0.8);
  for (const std::vector<double>& wrong :
       {std::vector<double>{1, 2, 3}, {1, std::nan("")}, {1, INFINITY}, {0, 0}, {}}) {
    EXPECT_EQ(NormalisedVector(wrong, face).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(CompactTest, PlaintextsHoldTheNormalisedVector) {
  const Model model = testing::RandomModel({6, 5}, 4, 2);
  const Instance instance = *MakeInstance(model);
  const std::vector<double> v = {2, 0, 0, 0, 0, 0};
  const auto plain = EncodeCompact(instance, model, 0, v);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto slots = instance.encoder->Decode(*plain);
  double largest = 0;
  for (const ckks::Complex& slot : slots) largest = std::max(largest, std::abs(slot));
  EXPECT_NEAR(largest, 1, 1e-4);
  EXPECT_EQ(EncodeCompact(instance, model, 0, std::vector<double>(5, 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace heft
