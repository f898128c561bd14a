// SPDX-License-Identifier: Apache-2.0
// Renewal with the secret key in hand: what is removed is gone, what is kept stays, and nobody is
// shown a template.
#include "fusion/owner/renewal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/owner/secret_key.h"
#include "ckks/precise_encoder.h"
#include "fusion/block_internal.h"
#include "fusion/errors.h"
#include "fusion/renewal_internal.h"
#include "fusion/rings.h"
#include "fusion/testing.h"
#include "ring/kernels.h"

namespace heft {
namespace {

using ckks::Complex;
using internal::BlockSlots;

struct Case {
  const char* profile;
  uint32_t gamma;
};

class RenewalTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    model_ = testing::RandomModel({128, 128}, GetParam().gamma, 3, GetParam().profile);
    auto rings = MakeRings(model_);
    ASSERT_TRUE(rings.ok()) << rings.status();
    instance_ = rings->matching;
    secret_ =
        std::make_unique<ckks::SecretKey>(std::move(*ckks::SecretKey::Generate(context(), rng_)));
    KeyNeeds needs;
    needs.Galois(instance_.plan.matching.rotations, TemplateLimbs(instance_.params()));
    needs.Relinearisation(MatchLimbs(instance_.params()));
    keys_ = testing::MakeKeys(context(), needs, *secret_, rng_);
  }
  const ckks::Context& context() const { return *instance_.context; }
  uint32_t slots() const { return context().slots(); }
  uint32_t gamma() const { return instance_.plan.gamma; }

  // A template in all slots, as fusion leaves it.
  ckks::Ciphertext Fused(const std::vector<double>& t) {
    ckks::PreciseSlots slots(context().slots());
    for (size_t j = 0; j < slots.high.size(); ++j) slots.high[j] = t[j % t.size()];
    auto plain = ckks::PreciseEncoder(instance_.context)
                     .Encode(slots, instance_.plan.matching.template_scale,
                             TemplateLimbs(instance_.params()));
    EXPECT_TRUE(plain.ok()) << plain.status();
    return ckks::Expand(context(), ckks::EncryptSymmetric(context(), *plain, *secret_, rng_));
  }
  // A block with random templates at these positions, which are remembered by position.
  TiledCiphertexts Block(const std::vector<uint32_t>& positions,
                         std::map<uint32_t, std::vector<double>>* templates) {
    TiledCiphertexts block = EmptyBlock(context(), gamma());
    for (uint32_t position : positions) {
      const std::vector<double> t = testing::RandomUnit(gamma(), random_);
      (*templates)[position] = t;
      const ckks::Ciphertext z = Fused(t);
      const NewTemplate added = {&z, PositionOf(position, slots())};
      EXPECT_TRUE(AddToBlock(instance_, &block, {&added, 1}, keys_).ok());
    }
    return block;
  }
  // Slots of ciphertext k.
  BlockSlots Open(BlockView block, uint32_t k) {
    ckks::Ciphertext c;
    c.parts = internal::LoadTiled(context(), gamma(), k, block);
    c.scale = instance_.plan.matching.block_scale;
    return internal::BlockCodec(instance_).Decode(ckks::Decrypt(context(), c, *secret_).poly);
  }
  // What the key owner sees of a padded one.
  BlockSlots OpenPadded(const PaddedBlock::Parts& c) {
    const size_t limbs = MatchLimbs(instance_.params());
    ring::RnsPoly sum(context().n(), limbs + 1), out(context().n(), limbs);
    for (size_t l = 0; l <= limbs; ++l) {
      const size_t prime = ckks::ExtendedPrime(context(), l, limbs);
      const ring::Modulus& q = context().modulus(prime);
      uint32_t* v = sum.limb(l).data();
      ring::ActiveKernels().multiply(v, c.part[1].limb(l).data(), secret_->residues(prime).data(),
                                     context().n(), q);
      ring::ActiveKernels().add(v, v, c.part[0].limb(l).data(), context().n(), q);
    }
    ckks::DivideByLast(context(), &out, sum, context().special_index());
    return internal::BlockCodec(instance_).Decode(std::move(out));
  }
  // A template's coordinate, with its sign, as ciphertext k holds it.
  static double Lane(const Complex& v, uint32_t lane) { return lane == 0 ? v.real() : v.imag(); }
  double Value(const BlockSlots& opened, uint32_t position) const {
    const Position at = PositionOf(position, slots());
    return SlotSign(instance_.plan, at.slot, at.lane) * Lane(opened.high[at.slot], at.lane);
  }
  // The whole exchange.
  absl::StatusOr<TiledCiphertexts> Renew(std::span<const TiledCiphertexts> blocks,
                                         std::span<const Move> moves) {
    std::vector<PaddedBlock> sources;
    for (size_t i = 0; i < blocks.size(); ++i) {
      HEFT_ASSIGN_OR_RETURN(PaddedBlock padded, PadBlock(instance_, blocks[i], seed_, i, keys_));
      sources.push_back(std::move(padded));
    }
    HEFT_ASSIGN_OR_RETURN(const auto answer, RenewBlock(instance_, *secret_, sources, moves));
    return FinishBlock(instance_, answer, seed_, moves);
  }
  std::vector<Move> StayBut(const std::vector<uint32_t>& positions, uint32_t left_out) {
    std::vector<Move> moves;
    for (uint32_t p : positions) {
      if (p != left_out) moves.push_back({0, p, p});
    }
    return moves;
  }
  // Neighbours in one lane, the same slot in the other, the first and the last.
  std::vector<uint32_t> Positions() const {
    return {0, 1, 7, 40, slots(), slots() + 1, slots() + 77, 2 * slots() - 1};
  }

  Csprng rng_;
  Seed seed_ = rng_.NewSeed();
  std::mt19937_64 random_{17};
  Model model_;
  Instance instance_;
  std::unique_ptr<ckks::SecretKey> secret_;
  ckks::EvaluationKeys keys_;
};

TEST_P(RenewalTest, WhatIsLeftOutIsGoneAndTheRestStays) {
  const std::vector<uint32_t> positions = Positions();
  std::map<uint32_t, std::vector<double>> templates;
  const TiledCiphertexts block = Block(positions, &templates);
  const uint32_t gone = slots() + 1;
  const auto renewed = Renew({&block, 1}, StayBut(positions, gone));
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  const double predicted = RenewalScoreError(instance_);
  double kept_error = 0, empty = 0, correlation = 0;
  size_t kept = 0, others = 0;
  for (uint32_t k = 0; k < gamma(); ++k) {
    const BlockSlots before = Open(block, k), after = Open(*renewed, k);
    for (const auto& [position, t] : templates) {
      const double is = Value(after, position);
      const double was = t[(position + k) % gamma()];
      if (position == gone) {
        correlation += is * was;
        continue;
      }
      EXPECT_NEAR(is, was, 60 * predicted + 3e-4);
      double change = is - Value(before, position);
      if (!after.low.empty()) {
        // Doubles do not show it.
        const Position at = PositionOf(position, slots());
        const auto& h = after.high[at.slot] - before.high[at.slot];
        const auto& l = after.low[at.slot] - before.low[at.slot];
        change = Lane(h, at.lane) + Lane(l, at.lane);
      }
      kept_error += change * change;
      ++kept;
    }
    for (uint32_t p = 0; p < 2 * slots(); ++p) {
      if (templates.contains(p) && p != gone) continue;
      const double v = Value(after, p);
      empty += v * v;
      ++others;
    }
  }
  kept_error = std::sqrt(kept_error / double(kept));
  empty = std::sqrt(empty / double(others));
  std::printf("%s gamma %u: predicted %.3g, kept %.3g, empty %.3g\n", GetParam().profile, gamma(),
              predicted, kept_error, empty);
  // One key, and few values: the bounds are wide. Noise alone stands where nobody does.
  EXPECT_NEAR(kept_error / predicted, 1, 0.25);
  EXPECT_LT(empty, 1.1 * predicted);
  EXPECT_GT(empty, 0.5 * predicted);
  EXPECT_LT(std::abs(correlation), 6 * predicted);
}

INSTANTIATE_TEST_SUITE_P(Profiles, RenewalTest,
                         ::testing::Values(Case{"thin", 32}, Case{"thin", 256}, Case{"compact", 32},
                                           Case{"compact", 256}, Case{"flooded", 32}),
                         [](const auto& test) {
                           return std::string(test.param.profile) + "_" +
                                  std::to_string(test.param.gamma);
                         });

}  // namespace
}  // namespace heft
