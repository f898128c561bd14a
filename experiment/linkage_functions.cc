// SPDX-License-Identifier: Apache-2.0
#include "experiment/linkage_functions.h"

#include <bit>
#include <cmath>

#include "base/bytes.h"
#include "base/threads.h"
#include "ckks/serialization.h"

namespace heft::experiment {
namespace {

using ckks::Ciphertext;
using ckks::Context;

std::vector<uint8_t> BytesOf(const Context& context, const Ciphertext& c) {
  ByteWriter writer;
  ckks::WriteCiphertext(writer, context, c);
  return writer.Take();
}

template <typename Compare>
FeatureMatrix All(size_t rows, size_t columns, const Compare& compare) {
  FeatureMatrix out(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
  ParallelFor(rows, [&](size_t a) {
    for (size_t b = 0; b < columns; ++b) {
      out(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) = compare(a, b);
    }
  });
  return out;
}

}  // namespace

FeatureMatrix Numbers(const Context& context, std::span<const Ciphertext> of, size_t part,
                      size_t limb, Form form) {
  const auto n = static_cast<Eigen::Index>(context.n());
  const uint32_t q = context.modulus(limb).value();
  FeatureMatrix out(static_cast<Eigen::Index>(of.size()), n);
  ParallelFor(of.size(), [&](size_t i) {
    const std::span<const uint32_t> in = of[i].parts[part].limb(limb);
    AlignedVector<uint32_t> values(in.begin(), in.end());
    if (form != Form::kEvaluations) context.ntt(limb).Inverse(values);
    auto row = out.row(static_cast<Eigen::Index>(i));
    for (Eigen::Index j = 0; j < n; ++j) {
      const double v = values[static_cast<size_t>(j)];
      row(j) = v > q / 2.0 ? v - q : v;
      if (form == Form::kMagnitudes) row(j) = std::abs(row(j));
    }
    row.array() -= row.mean();
    const double length = row.norm();
    if (length > 0) row /= length;
  });
  return out;
}

FeatureMatrix Correlations(const FeatureMatrix& first, const FeatureMatrix& second) {
  return first * second.transpose();
}

FeatureMatrix EqualResidues(std::span<const Ciphertext> first, std::span<const Ciphertext> second) {
  return All(first.size(), second.size(), [&](size_t a, size_t b) {
    double equal = 0;
    for (size_t p = 0; p < 2; ++p) {
      const auto x = first[a].parts[p].limb(0), y = second[b].parts[p].limb(0);
      for (size_t j = 0; j < x.size(); ++j) equal += x[j] == y[j] ? 1 : 0;
    }
    return equal;
  });
}

FeatureMatrix EqualHashBits(const Context& context, std::span<const Ciphertext> first,
                            std::span<const Ciphertext> second) {
  std::vector<Hash> x, y;
  for (const Ciphertext& c : first) x.push_back(HashBytes(BytesOf(context, c)));
  for (const Ciphertext& c : second) y.push_back(HashBytes(BytesOf(context, c)));
  return All(first.size(), second.size(), [&](size_t a, size_t b) {
    int equal = 0;
    for (size_t j = 0; j < x[a].size(); ++j) {
      equal += 8 - std::popcount(static_cast<uint8_t>(x[a][j] ^ y[b][j]));
    }
    return equal;
  });
}

FeatureMatrix Outside(const Context& context, std::span<const Ciphertext> first,
                      std::span<const Ciphertext> second) {
  const auto of = [&](const Ciphertext& c) {
    return std::vector<double>{static_cast<double>(BytesOf(context, c).size()), std::log2(c.scale),
                               std::log2(c.noise.error), c.noise.message};
  };
  std::vector<std::vector<double>> x, y;
  for (const Ciphertext& c : first) x.push_back(of(c));
  for (const Ciphertext& c : second) y.push_back(of(c));
  return All(first.size(), second.size(), [&](size_t a, size_t b) {
    double apart = 0;
    for (size_t j = 0; j < x[a].size(); ++j) apart += std::abs(x[a][j] - y[b][j]);
    return -apart;
  });
}

}  // namespace heft::experiment
