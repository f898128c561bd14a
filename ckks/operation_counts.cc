// SPDX-License-Identifier: Apache-2.0
#include "ckks/operation_counts.h"

#include <atomic>
#include <cstddef>
#include <iterator>

namespace heft::ckks {
namespace {

constexpr uint64_t OperationCounts::*kFields[] = {
    &OperationCounts::additions,        &OperationCounts::constant_additions,
    &OperationCounts::plain_products,   &OperationCounts::ciphertext_products,
    &OperationCounts::rotations,        &OperationCounts::relinearisations,
    &OperationCounts::rescales,         &OperationCounts::decompositions,
    &OperationCounts::special_divisions};
constexpr size_t kFieldCount = std::size(kFields);

std::atomic<uint64_t> g_totals[kFieldCount];

}  // namespace

OperationCounts operator+(const OperationCounts& a, const OperationCounts& b) {
  OperationCounts sum;
  for (const auto field : kFields) sum.*field = a.*field + b.*field;
  return sum;
}

OperationCounts operator-(const OperationCounts& after, const OperationCounts& before) {
  OperationCounts difference;
  for (const auto field : kFields) difference.*field = after.*field - before.*field;
  return difference;
}

OperationCounts TotalOperations() {
  OperationCounts totals;
  for (size_t i = 0; i < kFieldCount; ++i) {
    totals.*kFields[i] = g_totals[i].load(std::memory_order_relaxed);
  }
  return totals;
}

void CountOperations(const OperationCounts& executed) {
  for (size_t i = 0; i < kFieldCount; ++i) {
    const uint64_t count = executed.*kFields[i];
    if (count != 0) g_totals[i].fetch_add(count, std::memory_order_relaxed);
  }
}

}  // namespace heft::ckks
