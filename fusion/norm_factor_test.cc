// SPDX-License-Identifier: Apache-2.0
// The factor of a proof of a norm, against the bounds of docs/security-proofs.md.
#include "fusion/norm_factor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "fusion/norm_proof.h"

namespace heft {
namespace {

// R of profile `standard`, and the squared norms of probes and templates that are accepted there.
constexpr double kRange = 8, kLongestProbe = 0.45 * kRange, kLongestTemplate = 1.69;
constexpr double kGoal = 1e-4;

WrappedProof Probe(uint32_t dimensions) {
  return {kRange, kLongestProbe, NormTolerance(ProofOf::kProbe, dimensions)};
}

// Wrapped: x modulo `range`, centred.
double Wrapped(double x, double range) { return x - range * std::round(x / range); }

// Passes: what the key owner computes of a proof without errors.
bool Passes(double squared_norm, double sigma, const WrappedProof& proof) {
  const double rest = 1 - sigma * sigma;
  const double first = Wrapped(rest * squared_norm, proof.range) / rest;
  const double second =
      Wrapped(2 * sigma * squared_norm, proof.range * std::numbers::sqrt2) / (2 * sigma);
  return first >= 0 && first <= proof.longest &&
         std::abs(first - second) <= proof.tolerance * std::sqrt(std::max(1.0, first));
}

// Share: of 2^16 factors, spread evenly over all that are drawn.
double Share(double squared_norm, const WrappedProof& proof) {
  static const std::vector<double> factors = [] {
    std::vector<double> out(1 << 16);
    for (uint32_t i = 0; i < out.size(); ++i) out[i] = NormFactorOf(i << 16);
    return out;
  }();
  const auto passed = std::count_if(factors.begin(), factors.end(), [&](double sigma) {
    return Passes(squared_norm, sigma, proof);
  });
  return static_cast<double>(passed) / static_cast<double>(factors.size());
}

TEST(NormFactorTest, FactorsFillTheRangeButForWindows) {
  double permitted = 0, last = kLeastNormFactor;
  for (const NormFactorSpan& span : NormFactorSpans()) {
    EXPECT_GE(span.lo, last);
    EXPECT_GT(span.width(), 0);
    permitted += span.width();
    last = span.hi;
  }
  EXPECT_LE(last, kLargestNormFactor);
  EXPECT_GT(permitted, 0.9 * (kLargestNormFactor - kLeastNormFactor));
  EXPECT_EQ(NormFactorOf(0), NormFactorSpans().front().lo);
  EXPECT_LT(NormFactorOf(0xFFFFFFFF), NormFactorSpans().back().hi);
}

// The widest window of all, sqrt 3 - sqrt 2, is of a vector that wraps twice and once.
TEST(NormFactorTest, FewWrapsNeverPass) {
  const WrappedProof proof = Probe(128);
  for (double squared_norm = 7; squared_norm < 250; squared_norm += 0.37) {
    EXPECT_EQ(Share(squared_norm, proof), 0) << squared_norm;
  }
}

TEST(NormFactorTest, HonestNormsAlwaysPass) {
  for (double squared_norm = 0.1; squared_norm < kLongestProbe; squared_norm += 0.1) {
    EXPECT_EQ(Share(squared_norm, Probe(128)), 1) << squared_norm;
  }
}

TEST(NormFactorTest, WhatWrapsPassesAtMostOnceInTenThousand) {
  for (const uint32_t dimensions : {32u, 64u, 128u, 256u, 512u, 1024u}) {
    EXPECT_LE(WrapsPass(Probe(dimensions), 600), kGoal) << dimensions;
    EXPECT_LE(
        WrapsPass({kRange, kLongestTemplate, NormTolerance(ProofOf::kTemplate, dimensions)}, 600),
        kGoal)
        << dimensions;
  }
  // Profile `flooded`.
  EXPECT_LE(WrapsPass({16, 0.45 * 16, NormTolerance(ProofOf::kProbe, 256)}, 600), kGoal);
}

// One proof of a bulk batch is too weak, so an admission opens two, under independent factors.
TEST(NormFactorTest, BulkNeedsBothProofs) {
  const WrappedProof slot = {kRange, kLongestTemplate, NormTolerance(ProofOf::kBatchSlot, 32)};
  const double one = WrapsPass(slot, 600);
  EXPECT_LE(one, 3.5e-3);
  EXPECT_GT(one, kGoal);
  EXPECT_LE(one * one, 1.2e-5);
  // A scan over factors finds no more.
  double worst = 0;
  for (double squared_norm = 7; squared_norm < 1500; squared_norm += 0.37) {
    worst = std::max(worst, Share(squared_norm, slot));
  }
  EXPECT_GT(worst, 0.3 * one);
  EXPECT_LT(worst, one + 4.6e-5);
}

// The sum over windows is what a scan over factors finds.
TEST(NormFactorTest, AScanFindsTheBound) {
  const WrappedProof proof = Probe(128);
  const double bound = WrapsPass(proof, 200);
  double worst = 0;
  for (double squared_norm = 300; squared_norm < 1500; squared_norm += 1.7) {
    worst = std::max(worst, Share(squared_norm, proof));
  }
  EXPECT_GT(worst, 0.3 * bound);
  // A scan counts windows in steps of 1.5e-5.
  EXPECT_LT(worst, bound + 4.6e-5);
}

}  // namespace
}  // namespace heft
