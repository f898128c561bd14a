// SPDX-License-Identifier: Apache-2.0
#include "fusion/cyclic_sums.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ring/kernels.h"

namespace heft::internal {

using ring::ActiveKernels;

CyclicSums::CyclicSums(const ring::NttTables& tables, size_t count, size_t width)
    : q_(tables.modulus()), count_(count), width_(width), spare_memory_(width) {
  HEFT_DCHECK(count >= 1 && 2 * size_t{tables.n()} % count == 0, "there is a root of that order");
  const uint32_t root = q_.Power(tables.root(), 2 * uint64_t{tables.n()} / count);
  uint32_t power = 1, inverse = 1;
  const uint32_t back = q_.Inverse(root);
  for (size_t i = 0; i < std::max<size_t>(1, count / 2); ++i) {
    forward_.push_back(q_.Shoup(power));
    inverse_.push_back(q_.Shoup(inverse));
    power = q_.Multiply(power, root);
    inverse = q_.Multiply(inverse, back);
  }
}

std::vector<uint32_t*> CyclicSums::Copy(std::span<const uint32_t* const> rows,
                                        uint32_t* memory) const {
  std::vector<uint32_t*> out;
  for (const uint32_t* row : rows) {
    std::copy_n(row, width_, memory);
    out.push_back(memory);
    memory += width_;
  }
  return out;
}

void CyclicSums::Scatter(std::span<uint32_t*> rows, const Powers& powers) {
  const ring::Kernels& kernels = ActiveKernels();
  for (size_t half = count_ / 2; half >= 1; half /= 2) {
    for (size_t first = 0; first < count_; first += 2 * half) {
      for (size_t j = 0; j < half; ++j) {
        uint32_t*& u = rows[first + j];
        uint32_t* v = rows[first + j + half];
        kernels.add(spare_, u, v, width_, q_);
        if (j == 0) {
          kernels.subtract(v, u, v, width_, q_);
        } else {
          kernels.subtract_multiply_scalar(v, u, v, powers[j * (count_ / (2 * half))], width_, q_);
        }
        std::swap(u, spare_);
      }
    }
  }
}

void CyclicSums::Gather(std::span<uint32_t*> rows, const Powers& powers) {
  const ring::Kernels& kernels = ActiveKernels();
  for (size_t half = 1; half < count_; half *= 2) {
    for (size_t first = 0; first < count_; first += 2 * half) {
      for (size_t j = 0; j < half; ++j) {
        uint32_t*& u = rows[first + j];
        uint32_t* v = rows[first + j + half];
        if (j != 0) {
          kernels.multiply_scalar(v, v, powers[j * (count_ / (2 * half))], width_, q_);
        }
        kernels.add(spare_, u, v, width_, q_);
        kernels.subtract(v, u, v, width_, q_);
        std::swap(u, spare_);
      }
    }
  }
}

void CyclicSums::SetLeft(std::span<const uint32_t* const> rows) {
  HEFT_DCHECK(rows.size() % count_ == 0, "whole sets");
  left_memory_.resize(rows.size() * width_);
  spare_ = spare_memory_.data();
  left_ = Copy(rows, left_memory_.data());
  // By the inverse powers, because the index of the other factor is ahead of this one's.
  for (size_t set = 0; set < rows.size(); set += count_) {
    Scatter(std::span(left_).subspan(set, count_), inverse_);
  }
  const ring::ShoupFactor share = q_.Shoup(q_.Inverse(q_.Reduce(count_)));
  for (uint32_t* row : left_) ActiveKernels().multiply_scalar(row, row, share, width_, q_);
}

void CyclicSums::Sum(std::span<uint32_t* const> out, std::span<const uint32_t* const> right) {
  HEFT_DCHECK(right.size() == left_.size() && out.size() == count_, "as many sets as there are");
  right_memory_.resize(right.size() * width_);
  uint32_t* const spare = spare_;
  std::vector<uint32_t*> rows = Copy(right, right_memory_.data());
  const size_t sets = rows.size() / count_;
  for (size_t set = 0; set < sets; ++set) {
    Scatter(std::span(rows).subspan(set * count_, count_), forward_);
  }
  std::vector<const uint32_t*> a(sets), b(sets);
  for (size_t f = 0; f < count_; ++f) {
    for (size_t set = 0; set < sets; ++set) {
      a[set] = left_[set * count_ + f];
      b[set] = rows[set * count_ + f];
    }
    ActiveKernels().inner_product(spare_, a.data(), b.data(), sets, width_, q_);
    std::swap(rows[f], spare_);
  }
  Gather(std::span(rows).first(count_), inverse_);
  for (size_t k = 0; k < count_; ++k) std::copy_n(rows[k], width_, out[k]);
  spare_ = spare;  // the rows' memory is the next call's
}

}  // namespace heft::internal
