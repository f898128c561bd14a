// SPDX-License-Identifier: Apache-2.0
#include "ckks/owner/secret_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing.h"
#include "ckks/encoder.h"
#include "ckks/noise.h"
#include "ring/sampling.h"

namespace heft::ckks {
namespace {

constexpr FloodingOptions kOptions = {.security_bits = 30, .queries = 49};

// SetsOf: all sets of `threshold` owners.
std::vector<OwnerSet> SetsOf(const Sharing& sharing) {
  std::vector<OwnerSet> out;
  for (uint32_t bits = 0; bits < 1u << sharing.owners; ++bits) {
    OwnerSet set;
    for (uint32_t owner = 1; owner <= sharing.owners; ++owner) {
      if ((bits >> (owner - 1)) & 1) set.push_back(owner);
    }
    if (set.size() == sharing.threshold) out.push_back(set);
  }
  return out;
}

// Parameters with room: a fresh ciphertext at a scale of 2^58 below three primes.
class SecretShareTest : public ::testing::Test {
 protected:
  SecretShareTest()
      : context_(
            std::make_shared<Context>(*Params::Create({.n = 8192, .data_bits = {30, 30, 30}}))),
        encoder_(context_),
        secret_(*SecretKey::Generate(*context_, rng_)) {
    std::vector<double> values(context_->slots());
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
    plain_ = *encoder_.Encode(values, std::ldexp(1.0, 58), 3);
    cipher_ = Expand(*context_, EncryptSymmetric(*context_, plain_, secret_, rng_));
  }

  std::vector<SecretShare> Share(const Sharing& sharing) {
    return *ShareSecret(*context_, secret_, sharing, rng_);
  }
  std::vector<ring::RnsPoly> Parts(const std::vector<SecretShare>& shares, const OwnerSet& set,
                                   const Ciphertext& c) {
    std::vector<ring::RnsPoly> parts;
    for (const uint32_t owner : set) {
      parts.push_back(*PartiallyDecrypt(*context_, c, shares[owner - 1], set, kOptions));
    }
    return parts;
  }
  // The coefficients of a - b.
  std::vector<double> Difference(const Plaintext& a, const Plaintext& b) const {
    std::vector<double> x = CentredCoefficients(*context_, a);
    const std::vector<double> y = CentredCoefficients(*context_, b);
    for (size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
    return x;
  }
  static double Deviation(const std::vector<double>& x) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    return std::sqrt(squares / static_cast<double>(x.size()));
  }
  // Whether residues modulo prime 0 are spread over 64 bins as uniform ones: chi-square with 63
  // degrees of freedom, below 63 + 6 standard deviations.
  bool LooksUniform(std::span<const uint32_t> residues) const {
    std::array<double, 64> bins{};
    const uint32_t q = context_->modulus(0).value();
    for (const uint32_t r : residues) ++bins[uint64_t{r} * 64 / q];
    const double expected = static_cast<double>(residues.size()) / 64;
    double chi = 0;
    for (const double b : bins) chi += (b - expected) * (b - expected) / expected;
    return chi < 63 + 6 * std::sqrt(2 * 63.0);
  }

  Csprng rng_;
  std::shared_ptr<Context> context_;
  Encoder encoder_;
  SecretKey secret_;
  Plaintext plain_;
  Ciphertext cipher_;
};

// The noise of each part is known here: the same draws for a ciphertext without c1 give it alone.
TEST_F(SecretShareTest, AnySetGivesTheBitsOfOneOwner) {
  const Plaintext exact = Decrypt(*context_, cipher_, secret_);
  Ciphertext blank = cipher_;
  std::ranges::fill(blank.parts[1].values(), 0);
  for (const Sharing& sharing : {Sharing{2, 2}, Sharing{3, 2}, Sharing{5, 3}, Sharing{5, 5}}) {
    const std::vector<SecretShare> shares = Share(sharing);
    for (const OwnerSet& set : SetsOf(sharing)) {
      heft::testing::FixRandomness("parts");
      const Plaintext opened =
          *CombineParts(*context_, cipher_, Parts(shares, set, cipher_), kOptions);
      heft::testing::FixRandomness("parts");
      const std::vector<ring::RnsPoly> noises = Parts(shares, set, blank);
      Plaintext expected = exact;
      for (const ring::RnsPoly& noise : noises) {
        for (size_t l = 0; l < noise.limbs(); ++l) {
          uint32_t* v = expected.poly.limb(l).data();
          ring::ActiveKernels().add(v, v, noise.limb(l).data(), context_->n(),
                                    context_->modulus(l));
        }
      }
      EXPECT_TRUE(std::ranges::equal(opened.poly.values(), expected.poly.values()))
          << sharing.threshold << " of " << sharing.owners;
    }
  }
}

TEST_F(SecretShareTest, NoiseIsWhatTheEstimateSays) {
  const Plaintext exact = Decrypt(*context_, cipher_, secret_);
  for (const Sharing& sharing : {Sharing{2, 2}, Sharing{3, 2}, Sharing{5, 3}, Sharing{5, 5}}) {
    const std::vector<SecretShare> shares = Share(sharing);
    const OwnerSet set = SetsOf(sharing).back();
    const Plaintext opened =
        *CombineParts(*context_, cipher_, Parts(shares, set, cipher_), kOptions);
    const double estimate = opened.noise.error / std::sqrt(context_->n());
    const double ratio = Deviation(Difference(opened, exact)) / estimate;
    RecordProperty(absl::StrCat("noise_over_estimate_", sharing.threshold, "_of_", sharing.owners),
                   std::to_string(ratio));
    EXPECT_NEAR(ratio, 1, 0.05) << sharing.threshold;
    // sqrt(t) of one part's.
    EXPECT_NEAR(estimate / FloodingDeviation(context_->params(), cipher_.noise.error, kOptions),
                std::sqrt(sharing.threshold), 1e-3);
  }
}

// The other coefficients do not depend on the secret, so two secrets shared with the same draws
// differ by the same at each point; and below the threshold all that is seen is uniform.
TEST_F(SecretShareTest, FewerThanTheThresholdSeeUniformValues) {
  const SecretKey other = *SecretKey::Generate(*context_, rng_);
  const Sharing sharing = {3, 3};
  heft::testing::FixRandomness("polynomials");
  Csprng first;
  const std::vector<SecretShare> a = *ShareSecret(*context_, secret_, sharing, first);
  heft::testing::FixRandomness("polynomials");
  Csprng second;
  const std::vector<SecretShare> b = *ShareSecret(*context_, other, sharing, second);
  const ring::Modulus& q = context_->modulus(0);
  std::vector<uint32_t> joint(context_->n());
  for (size_t i = 0; i < context_->n(); ++i) {
    const uint32_t expected = q.Sub(secret_.residues(0)[i], other.residues(0)[i]);
    for (size_t owner = 0; owner < 3; ++owner) {
      ASSERT_EQ(q.Sub(a[owner].residues(0)[i], b[owner].residues(0)[i]), expected);
    }
    // What two of three come closest with: the line through their points, at zero.
    joint[i] = q.Sub(q.Multiply(2, a[0].residues(0)[i]), a[1].residues(0)[i]);
  }
  for (const SecretShare& share : a) EXPECT_TRUE(LooksUniform(share.residues(0)));
  EXPECT_TRUE(LooksUniform(joint));
  // The test has teeth: the secret's coefficients, which are ternary, are not.
  std::vector<uint32_t> ternary(context_->n());
  ring::ToResidues(ternary, secret_.coefficients(), q);
  EXPECT_FALSE(LooksUniform(ternary));
}

// All but one part, and all that a server has: uniform without the last part. With it, the opened
// value hides the ciphertext's own error, from which the key could be computed.
TEST_F(SecretShareTest, PartsTellNoiseAlone) {
  const Sharing sharing = {3, 2};
  const std::vector<SecretShare> shares = Share(sharing);
  const OwnerSet set = {1, 3};
  const std::vector<ring::RnsPoly> parts = Parts(shares, set, cipher_);
  const Plaintext half = *CombineParts(*context_, cipher_, {{parts[0]}}, kOptions);
  EXPECT_TRUE(LooksUniform(half.poly.limb(0)));
  const Plaintext opened = *CombineParts(*context_, cipher_, parts, kOptions);
  const Plaintext exact = Decrypt(*context_, cipher_, secret_);
  // The adversary takes the noise of its own part away.
  const SecretShare own = *TermOf(*context_, shares[0], set);
  Plaintext stripped = opened;
  for (size_t l = 0; l < stripped.poly.limbs(); ++l) {
    const ring::Modulus& q = context_->modulus(l);
    for (size_t i = 0; i < context_->n(); ++i) {
      const uint32_t without = q.Multiply(own.residues(l)[i], cipher_.parts[1].limb(l)[i]);
      uint32_t& v = stripped.poly.limb(l)[i];
      v = q.Add(v, q.Sub(without, parts[0].limb(l)[i]));
    }
  }
  EXPECT_NEAR(Deviation(Difference(stripped, exact)) /
                  FloodingDeviation(context_->params(), cipher_.noise.error, kOptions),
              1, 0.05);
  // The best test of an adversary that knows message and error: their correlation, in standard
  // deviations of the flooding noise.
  const auto correlation = [&](const std::vector<double>& seen, const std::vector<double>& error) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < seen.size(); ++i) {
      sum += seen[i] * error[i];
      squares += error[i] * error[i];
    }
    return sum / std::sqrt(squares) / Deviation(seen);
  };
  const std::vector<double> error = Difference(exact, plain_);
  EXPECT_LT(std::abs(correlation(Difference(stripped, plain_), error)), 5);
  EXPECT_NEAR(correlation(error, error), std::sqrt(context_->n()), 1e-6);  // without flooding
  // It draws anew: the same opening twice differs by two noises.
  const Plaintext again = *CombineParts(*context_, cipher_, Parts(shares, set, cipher_), kOptions);
  EXPECT_NEAR(Deviation(Difference(again, opened)) / Deviation(Difference(opened, exact)),
              std::sqrt(2.0), 0.07);
}

TEST_F(SecretShareTest, NewSharesOpenTheSame) {
  const Sharing old = {3, 2}, next = {5, 3};
  const std::vector<SecretShare> shares = Share(old);
  const OwnerSet set = {2, 3};
  std::vector<SecretShare> sums = *Reshare(*context_, shares[1], old, set, next, rng_);
  const auto more = *Reshare(*context_, shares[2], old, set, next, rng_);
  for (size_t i = 0; i < sums.size(); ++i) AddShare(*context_, more[i], &sums[i]);
  const Plaintext exact = Decrypt(*context_, cipher_, secret_);
  const auto distance = [&](const std::vector<SecretShare>& of, const OwnerSet& by) {
    return Deviation(
        Difference(*CombineParts(*context_, cipher_, Parts(of, by, cipher_), kOptions), exact));
  };
  const double flood = FloodingDeviation(context_->params(), cipher_.noise.error, kOptions);
  EXPECT_LT(distance(sums, {1, 3, 5}), 2 * flood);
  EXPECT_LT(distance(sums, {2, 4, 5}), 2 * flood);
  // An old share among new ones opens nothing, and new shares tell nothing of the old ones.
  const std::vector<SecretShare> renewed = [&] {
    std::vector<SecretShare> out = *Reshare(*context_, shares[1], old, set, old, rng_);
    const auto others = *Reshare(*context_, shares[2], old, set, old, rng_);
    for (size_t i = 0; i < out.size(); ++i) AddShare(*context_, others[i], &out[i]);
    return out;
  }();
  EXPECT_LT(distance(renewed, {1, 3}), 2 * flood);
  const std::vector<ring::RnsPoly> mixed = {
      *PartiallyDecrypt(*context_, cipher_, shares[0], {1, 3}, kOptions),
      *PartiallyDecrypt(*context_, cipher_, renewed[2], {1, 3}, kOptions)};
  EXPECT_GT(Deviation(Difference(*CombineParts(*context_, cipher_, mixed, kOptions), exact)),
            0x1p40 * flood);
  ring::RnsPoly change(context_->n(), 1);  // aligned, as kernels need
  ring::ActiveKernels().subtract(change.limb(0).data(), renewed[0].residues(0).data(),
                                 shares[0].residues(0).data(), context_->n(), context_->modulus(0));
  EXPECT_TRUE(LooksUniform(change.limb(0)));
}

TEST_F(SecretShareTest, RefusesWhatIsNoOpening) {
  using absl::StatusCode;
  const Sharing sharing = {3, 2};
  for (const Sharing& bad : {Sharing{1, 1}, Sharing{2, 1}, Sharing{2, 3}, Sharing{6, 2}}) {
    EXPECT_EQ(CheckSharing(bad).code(), StatusCode::kInvalidArgument);
  }
  for (const OwnerSet& bad : {OwnerSet{1}, {1, 1}, {2, 1}, {0, 1}, {1, 4}, {1, 2, 3}}) {
    EXPECT_EQ(CheckOwnerSet(sharing, bad).code(), StatusCode::kInvalidArgument);
  }
  const std::vector<SecretShare> shares = Share(sharing);
  const auto code = [&](const Ciphertext& c, const OwnerSet& set, const FloodingOptions& options) {
    return PartiallyDecrypt(*context_, c, shares[0], set, options).status().code();
  };
  EXPECT_EQ(code(cipher_, {2, 3}, kOptions), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(cipher_, {1, 2}, {.security_bits = 29}), StatusCode::kInvalidArgument);
  Ciphertext product = cipher_;
  product.parts.push_back(product.parts[1]);
  EXPECT_EQ(code(product, {1, 2}, kOptions), StatusCode::kFailedPrecondition);
  // The sum of two floods needs half a bit more room than one.
  FloodingOptions tight = kOptions;
  tight.largest_error = 1.2 * std::sqrt(context_->n()) *
                        FloodingDeviation(context_->params(), cipher_.noise.error, kOptions) /
                        cipher_.scale;
  EXPECT_TRUE(DecryptFlooded(*context_, cipher_, secret_, tight).ok());
  EXPECT_EQ(code(cipher_, {1, 2}, tight), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft::ckks
