// SPDX-License-Identifier: Apache-2.0
// Renewal, observed with the secret key: removed templates are gone, kept ones stay, and the key
// owner sees no template.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/keyed_hash.h"
#include "ckks/arithmetic.h"
#include "ckks/bounded_encoder.h"
#include "ckks/digits.h"
#include "ckks/owner/secret_key.h"
#include "fusion/block_internal.h"
#include "fusion/bulk.h"
#include "fusion/errors.h"
#include "fusion/owner/renewal.h"
#include "fusion/renewal_internal.h"
#include "fusion/rings.h"
#include "fusion/testing.h"
#include "ring/kernels.h"
#include "ring/sampling.h"

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
    encoder_ = std::make_unique<ckks::BoundedEncoder>(instance_.context);
    KeyNeeds needs;
    instance_.plan.matching.grid.AddNeeds(instance_.params(), TemplateLimbs(instance_.params()),
                                          &needs);
    needs.Relinearisation(MatchLimbs(instance_.params()));
    const uint32_t giant = instance_.plan.ProbeRotations();
    for (int64_t steps = giant; steps < gamma(); steps += giant) {
      needs.Rotation(instance_.params(), steps, MatchLimbs(instance_.params()));
      needs.Rotation(instance_.params(), -steps, TemplateLimbs(instance_.params()));
    }
    keys_ = testing::MakeKeys(context(), needs, *secret_, rng_);
  }
  const ckks::Context& context() const { return *instance_.context; }
  uint32_t slots() const { return context().slots(); }
  uint32_t gamma() const { return instance_.plan.gamma; }

  ckks::Ciphertext Encrypt(const ckks::WideSlots& values, double scale, size_t limbs) {
    auto plain = encoder_->Encode(values, 1, scale, limbs);
    EXPECT_TRUE(plain.ok()) << plain.status();
    return ckks::Expand(context(), ckks::EncryptSymmetric(context(), *plain, *secret_, rng_));
  }
  // The same coordinates every gamma slots.
  ckks::WideSlots Repeated(const std::vector<double>& t) const {
    ckks::WideSlots values = encoder_->NewSlots();
    for (size_t j = 0; j < values.high.size(); ++j) values.high[j] = t[j % t.size()];
    return values;
  }
  // A template and a probe in the form after fusion.
  ckks::Ciphertext Fused(const std::vector<double>& t) {
    return Encrypt(Repeated(t), instance_.plan.matching.template_scale,
                   TemplateLimbs(instance_.params()));
  }
  ckks::Ciphertext Probe(const std::vector<double>& t) {
    return Encrypt(Repeated(t), instance_.plan.matching.probe_scale,
                   instance_.plan.matching.probe_limbs);
  }
  // A block with random templates at these positions, which are returned by position.
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
  // Slots of ciphertext k, with each template's value in its own slot: undoes the giants' rotation.
  BlockSlots Open(BlockView block, uint32_t k) {
    ckks::Ciphertext c;
    c.parts = internal::LoadTiled(context(), gamma(), k, block);
    c.scale = instance_.plan.matching.block_scale;
    BlockSlots opened = encoder_->Decode(ckks::Decrypt(context(), c, *secret_));
    for (std::vector<Complex>* part : {&opened.high, &opened.low}) {
      if (part->empty()) continue;
      std::ranges::rotate(*part, part->begin() + instance_.plan.GiantSteps(k));
    }
    return opened;
  }
  // The key owner's view of a padded ciphertext.
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
    return internal::DecodeBlock(instance_, *encoder_, std::move(out));
  }
  // A template's coordinate, with its sign, as in ciphertext k.
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
  // Root mean square of the values in one lane at positions that are not `taken`.
  double EmptyError(BlockView block, const std::function<bool(uint32_t)>& taken) {
    double sum = 0;
    size_t count = 0;
    for (uint32_t k = 0; k < gamma(); k += gamma() / 8) {
      const BlockSlots opened = Open(block, k);
      for (uint32_t p = 0; p < 2 * slots(); ++p) {
        if (taken(p)) continue;
        const double v = Value(opened, p);
        sum += v * v;
        ++count;
      }
    }
    return std::sqrt(sum / double(count));
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
  std::unique_ptr<ckks::BoundedEncoder> encoder_;
  std::unique_ptr<ckks::SecretKey> secret_;
  ckks::EvaluationKeys keys_;
};

// ExchangeTest: tests that take longer at 256 dimensions without testing more.
class ExchangeTest : public RenewalTest {};

std::string CaseName(const ::testing::TestParamInfo<Case>& test) {
  return std::string(test.param.profile) + "_" + std::to_string(test.param.gamma);
}

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
        // Doubles are not precise enough to compare.
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
  // One key and few values, so the bounds are wide. Empty positions hold only noise.
  EXPECT_NEAR(kept_error / predicted, 1, 0.25);
  EXPECT_LT(empty, 1.1 * predicted);
  EXPECT_GT(empty, 0.5 * predicted);
  EXPECT_LT(std::abs(correlation), 6 * predicted);
}

TEST_P(ExchangeTest, SparseBlocksBecomeOneAndScoreAsBefore) {
  // Across lanes and slots, to places with other signs, and one that stays.
  const std::vector<uint32_t> at[3] = {
      {0, 3, slots() + 5}, {0, slots() + 3, 2 * slots() - 1}, {1, 2, 40, slots() + 40}};
  std::map<uint32_t, std::vector<double>> templates[3];
  std::vector<TiledCiphertexts> blocks;
  for (size_t i = 0; i < 3; ++i) blocks.push_back(Block(at[i], &templates[i]));
  std::vector<Move> moves = {{0, 0, 0}};
  uint32_t to = 1;
  for (uint32_t i = 0; i < 3; ++i) {
    for (uint32_t from : at[i]) {
      if (i == 0 && from == 0) continue;
      moves.push_back({i, from, to});
      to = (to + slots() + 11) % (2 * slots());
    }
  }
  const auto merged = Renew(blocks, moves);
  ASSERT_TRUE(merged.ok()) << merged.status();

  const std::vector<double> probe = testing::RandomUnit(gamma(), random_);
  const auto prepared = PrepareProbe(instance_, Probe(probe), keys_);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto scores = [&](BlockView block) {
    auto out = MatchBlock(instance_, block, *prepared, keys_);
    EXPECT_TRUE(out.ok()) << out.status();
    return instance_.encoder->Decode(ckks::Decrypt(context(), *out, *secret_));
  };
  const std::vector<Complex> after = scores(*merged);
  const auto score = [&](const std::vector<Complex>& slots_of, uint32_t position) {
    const Position p = PositionOf(position, slots());
    return SlotSign(instance_.plan, p.slot, p.lane) * Lane(slots_of[p.slot], p.lane);
  };
  const double tolerance =
      6 * ScoreError(instance_.params(), instance_.plan, false) + 6 * RenewalScoreError(instance_);
  std::vector<bool> taken(2 * slots(), false);
  for (uint32_t i = 0; i < 3; ++i) {
    const std::vector<Complex> before = scores(blocks[i]);
    for (const Move& m : moves) {
      if (m.source != i) continue;
      taken[m.to] = true;
      EXPECT_NEAR(score(after, m.to), score(before, m.from), tolerance) << m.from << " " << m.to;
      EXPECT_NEAR(score(after, m.to), testing::Dot(probe, templates[i].at(m.from)), tolerance);
    }
  }
  for (uint32_t p = 0; p < 2 * slots(); ++p) {
    if (!taken[p]) {
      ASSERT_NEAR(score(after, p), 0, tolerance) << p;
    }
  }
}

// The key owner's decrypted values are independent of the templates.
TEST_P(ExchangeTest, PaddedTemplatesAreUniform) {
  std::map<uint32_t, std::vector<double>> templates;
  const TiledCiphertexts block = Block(Positions(), &templates);
  const double range = *PadRange(instance_);
  EXPECT_EQ(range, 0x1p24);
  constexpr size_t kBins = 64;
  std::vector<double> counts(kBins, 0);
  double values = 0, products = 0, squares = 0;
  for (uint64_t source = 0; source < 8; ++source) {
    const auto padded = PadBlock(instance_, block, seed_, source, keys_);
    ASSERT_TRUE(padded.ok()) << padded.status();
    for (uint32_t k = 0; k < gamma(); ++k) {
      const BlockSlots seen = OpenPadded(padded->ciphertexts[k]);
      for (const Complex& slot : seen.high) {
        for (double v : {slot.real(), slot.imag()}) {
          ASSERT_LE(std::abs(v), range + 2);
          const double bin = std::floor((v / range + 1) / 2 * kBins);
          ++counts[static_cast<size_t>(std::clamp(bin, 0.0, kBins - 1.0))];
          ++values;
        }
      }
      for (const auto& [position, t] : templates) {
        const double coordinate = t[(position + k) % gamma()];
        products += coordinate * Value(seen, position) / range;
        squares += coordinate * coordinate;
      }
    }
  }
  double chi_square = 0;
  for (double count : counts) {
    const double expected = values / kBins;
    chi_square += (count - expected) * (count - expected) / expected;
  }
  // 63 degrees of freedom, six standard deviations.
  EXPECT_LT(std::abs(chi_square - (kBins - 1)), 6 * std::sqrt(2.0 * (kBins - 1)));
  // A sum of uniform values, variance 1/3 each.
  EXPECT_LT(std::abs(products), 6 * std::sqrt(squares / 3));
}

// Another version of the server can finish a renewal (docs/formats.md).
TEST_P(ExchangeTest, PadsAreThoseOfTheFormat) {
  const TiledCiphertexts block = EmptyBlock(context(), gamma());
  const uint64_t source = 3;
  const auto padded = PadBlock(instance_, block, seed_, source, keys_);
  ASSERT_TRUE(padded.ok()) << padded.status();
  for (const uint32_t k : {0u, gamma() - 1}) {
    ByteWriter message;
    message.U64(source);
    message.U32(k);
    std::vector<uint64_t> bits(2 * slots());
    KeyedHash({reinterpret_cast<uint8_t*>(bits.data()), bits.size() * sizeof(bits[0])}, seed_,
              "pads of a renewal",
              {reinterpret_cast<const char*>(message.bytes().data()), message.bytes().size()});
    const BlockSlots seen = OpenPadded(padded->ciphertexts[k]);
    const auto value = [](uint64_t b) { return std::ldexp(double(b >> 11), -28) - 0x1p24; };
    for (uint32_t j = 0; j < slots(); ++j) {
      ASSERT_NEAR(seen.high[j].real(), value(bits[2 * j]), 1e-6) << j;
      ASSERT_NEAR(seen.high[j].imag(), value(bits[2 * j + 1]), 1e-6) << j;
    }
  }
}

// The request and the answer look uniform without the secret key.
TEST_P(ExchangeTest, RequestAndAnswerLookUniform) {
  std::map<uint32_t, std::vector<double>> templates;
  const TiledCiphertexts block = Block({3}, &templates);
  const auto padded = PadBlock(instance_, block, seed_, 0, keys_);
  const auto again = PadBlock(instance_, block, seed_, 0, keys_);
  ASSERT_TRUE(padded.ok() && again.ok());
  const std::vector<Move> moves = {{0, 3, 3}};
  const auto answer = RenewBlock(instance_, *secret_, {&*padded, 1}, moves);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const size_t limbs = MatchLimbs(instance_.params());
  const auto mean = [&](const ring::RnsPoly& poly, size_t l, bool extended) {
    const size_t prime = extended ? ckks::ExtendedPrime(context(), l, limbs) : l;
    double sum = 0;
    for (uint32_t v : poly.limb(l)) sum += v;
    return sum / context().n() / context().modulus(prime).value();
  };
  // Uniform on [0, 1): variance 1/12.
  const double off = 6 / std::sqrt(12.0 * context().n());
  for (uint32_t k = 0; k < gamma(); ++k) {
    for (size_t l = 0; l <= limbs; ++l) {
      for (const ring::RnsPoly& part : padded->ciphertexts[k].part) {
        EXPECT_NEAR(mean(part, l, true), 0.5, off);
      }
      // The same pads are hidden differently each time.
      EXPECT_FALSE(std::ranges::equal(padded->ciphertexts[k].part[1].limb(l),
                                      again->ciphertexts[k].part[1].limb(l)));
    }
    for (size_t l = 0; l < limbs; ++l) EXPECT_NEAR(mean((*answer)[k].c0, l, false), 0.5, off);
    EXPECT_EQ((*answer)[k].noise.message, 0x1p24);  // and not the largest value in it
    for (uint32_t j = 0; j < k; ++j) EXPECT_NE((*answer)[k].seed, (*answer)[j].seed);
  }
}

TEST_P(ExchangeTest, FinishingIsDeterministic) {
  std::map<uint32_t, std::vector<double>> templates;
  const TiledCiphertexts block = Block({3, slots()}, &templates);
  const auto padded = PadBlock(instance_, block, seed_, 0, keys_);
  ASSERT_TRUE(padded.ok());
  const std::vector<Move> moves = {{0, 3, 3}, {0, slots(), 17}};
  const auto answer = RenewBlock(instance_, *secret_, {&*padded, 1}, moves);
  ASSERT_TRUE(answer.ok());
  const auto one = FinishBlock(instance_, *answer, seed_, moves);
  const auto two = FinishBlock(instance_, *answer, seed_, moves);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(*one, *two);
}

TEST_P(ExchangeTest, ServerOfHostileCiphertextsLearnsNothingFromRefusals) {
  PaddedBlock hostile;
  hostile.ciphertexts.resize(gamma());
  const size_t limbs = MatchLimbs(instance_.params());
  for (PaddedBlock::Parts& c : hostile.ciphertexts) {
    for (ring::RnsPoly& part : c.part) {
      part = ring::RnsPoly(context().n(), limbs + 1);
      for (size_t l = 0; l <= limbs; ++l) {
        const auto& q = context().modulus(ckks::ExtendedPrime(context(), l, limbs));
        for (uint32_t& v : part.limb(l)) v = q.Reduce(random_());
      }
    }
  }
  std::vector<Move> moves;
  for (uint32_t p = 0; p < 2 * slots(); ++p) moves.push_back({0, p, p});
  const auto answer = RenewBlock(instance_, *secret_, {&hostile, 1}, moves);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)[0].noise.message, 0x1p24);
}

TEST_P(ExchangeTest, RefusesMovesThatAreNone) {
  const uint32_t most = 2 * slots();
  const auto check = [&](std::vector<Move> moves) {
    return CheckMoves(instance_.params(), moves, 2).code();
  };
  const auto bad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(check({{0, 1, 1}, {1, 1, 2}, {0, 2, 3}}), absl::StatusCode::kOk);
  EXPECT_EQ(check({}), absl::StatusCode::kOk);
  EXPECT_EQ(check({{2, 1, 1}}), bad);
  EXPECT_EQ(check({{0, most, 1}}), bad);
  EXPECT_EQ(check({{0, 1, most}}), bad);
  EXPECT_EQ(check({{0, 1, 1}, {0, 1, 2}}), bad);
  EXPECT_EQ(check({{0, 1, 1}, {1, 2, 1}}), bad);
  const TiledCiphertexts block = EmptyBlock(context(), gamma());
  EXPECT_EQ(PadBlock(instance_, BlockView(block).first(64), seed_, 0, keys_).status().code(), bad);
  EXPECT_EQ(PadBlock(instance_, block, seed_, 0, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const PaddedBlock empty;
  const std::vector<Move> one = {{0, 1, 1}};
  EXPECT_EQ(RenewBlock(instance_, *secret_, {&empty, 1}, one).status().code(), bad);
  EXPECT_EQ(FinishBlock(instance_, {}, seed_, one).status().code(), bad);
}

// Measures the error that additions add at empty positions.
TEST_P(ExchangeTest, AdditionsAddTheErrorPredicted) {
  TiledCiphertexts block = EmptyBlock(context(), gamma());
  constexpr uint32_t kAdditions = 8;
  for (uint32_t i = 0; i < kAdditions; ++i) {
    const ckks::Ciphertext z = Fused(testing::RandomUnit(gamma(), random_));
    const NewTemplate added = {&z, PositionOf(100 + 37 * i, slots())};
    ASSERT_TRUE(AddToBlock(instance_, &block, {&added, 1}, keys_).ok());
  }
  const auto taken = [&](uint32_t p) {
    return p >= 100 && p < 100 + 37 * kAdditions && (p - 100) % 37 == 0;
  };
  const double predicted =
      std::sqrt(kAdditions * AdditionVariance(instance_.params(), instance_.plan));
  EXPECT_NEAR(EmptyError(block, taken) / predicted, 1, 0.1);
}

TEST_P(ExchangeTest, ABatchAddsTheErrorPredicted) {
  // A sample in every slot; a third of them joins a block.
  TemplateBatch batch;
  batch.count = slots();
  std::vector<std::vector<double>> samples;
  for (uint32_t j = 0; j < slots(); ++j) samples.push_back(testing::RandomUnit(gamma(), random_));
  for (uint32_t r = 0; r < gamma(); ++r) {
    ckks::WideSlots values = encoder_->NewSlots();
    for (uint32_t j = 0; j < slots(); ++j) values.high[j] = samples[j][r];
    batch.coordinates.push_back(
        Encrypt(values, instance_.plan.matching.template_scale, TemplateLimbs(instance_.params())));
  }
  TiledCiphertexts block = EmptyBlock(context(), gamma());
  ASSERT_TRUE(AddBatchToBlock(instance_, &block, batch, 5, slots() / 3, 1, keys_).ok());
  const double predicted = std::sqrt(BatchVariance(instance_.params(), instance_.plan));
  const double measured = EmptyError(
      block, [&](uint32_t p) { return p >= slots() + 5 && p < slots() + 5 + slots() / 3; });
  std::printf("%s: a batch %.3g, predicted %.3g\n", GetParam().profile, measured, predicted);
  // Masks with few values in a period round less than the model assumes.
  EXPECT_LT(measured / predicted, 1.1);
  EXPECT_GT(measured / predicted, 0.5);
}

// SharedRenewalTest: with a key that two of three owners open.
class SharedRenewalTest : public RenewalTest {
 protected:
  void SetUp() override {
    RenewalTest::SetUp();
    auto shares = ckks::ShareSecret(context(), *secret_, {3, 2}, rng_);
    ASSERT_TRUE(shares.ok()) << shares.status();
    shares_ = std::move(*shares);
  }
  const ckks::SecretShare& Share(uint32_t owner) const { return shares_[owner - 1]; }
  absl::StatusOr<TiledCiphertexts> RenewTogether(const TiledCiphertexts& block,
                                                 const std::vector<Move>& moves) {
    HEFT_ASSIGN_OR_RETURN(const PaddedBlock padded, PadBlock(instance_, block, seed_, 0, keys_));
    const std::vector<std::vector<Move>> targets = {moves};
    std::vector<RenewalPart> parts;
    for (const uint32_t owner : set_) {
      HEFT_ASSIGN_OR_RETURN(RenewalPart part, MakeRenewalPart(instance_, Share(owner), set_,
                                                              {&padded, 1}, targets, reference_));
      parts.push_back(std::move(part));
    }
    HEFT_ASSIGN_OR_RETURN(const auto answer,
                          CombineRenewal(instance_, {&padded, 1}, targets, parts, reference_));
    return FinishBlock(instance_, answer[0], seed_, moves);
  }

  std::vector<ckks::SecretShare> shares_;
  const ckks::OwnerSet set_ = {1, 3};
  const Hash reference_ = HashBytes(AsBytes("a request"));
};

TEST_P(SharedRenewalTest, WhatIsLeftOutIsGoneAndTheRestStays) {
  const std::vector<uint32_t> positions = Positions();
  std::map<uint32_t, std::vector<double>> templates;
  const TiledCiphertexts block = Block(positions, &templates);
  const uint32_t gone = slots() + 1;
  const auto renewed = RenewTogether(block, StayBut(positions, gone));
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  for (uint32_t k = 0; k < gamma(); ++k) {
    const BlockSlots after = Open(*renewed, k);
    for (const auto& [position, t] : templates) {
      const double was = position == gone ? 0 : t[(position + k) % gamma()];
      EXPECT_NEAR(Value(after, position), was, 1e-9) << position;
    }
  }
  // Two errors of encryption, seven encodings and two divisions by P.
  const double n = 2, encryptions = n * ring::kErrorVariance, roundings = 3 + 3 * n;
  const double predicted =
      RenewalScoreError(instance_) *
      std::sqrt((encryptions + roundings / 12) / (ring::kErrorVariance + 3.0 / 12));
  const double empty =
      EmptyError(*renewed, [&](uint32_t p) { return templates.contains(p) && p != gone; });
  std::printf("two owners: predicted %.3g, empty %.3g\n", predicted, empty);
  EXPECT_LT(empty, 1.1 * predicted);
  EXPECT_GT(empty, 0.5 * predicted);
  // Of five owners it is little beside the error of an addition.
  EXPECT_LT(5.2 * RenewalVariance(instance_.params(), instance_.plan),
            0.3 * AdditionVariance(instance_.params(), instance_.plan));
}

// What owner 3 sees, if it knows the server's pads too, is owner 1's masks.
TEST_P(SharedRenewalTest, OtherOwnersAndTheServerSeeMasks) {
  std::map<uint32_t, std::vector<double>> templates;
  const TiledCiphertexts block = Block(Positions(), &templates);
  const double range = *PadRange(instance_);
  const size_t limbs = MatchLimbs(instance_.params());
  const std::vector<std::vector<Move>> targets = {StayBut(Positions(), slots() + 1)};
  const auto term = ckks::TermOf(context(), Share(3), set_);
  ASSERT_TRUE(term.ok()) << term.status();
  const ring::Modulus& special = context().modulus(context().special_index());
  constexpr size_t kBins = 64;
  std::vector<double> counts(kBins, 0), low(kBins, 0);
  double values = 0, coefficients = 0, products = 0, squares = 0;
  const auto count = [](double share, std::vector<double>* bins) {
    ++(*bins)[static_cast<size_t>(std::clamp(std::floor(share * kBins), 0.0, kBins - 1.0))];
  };
  for (uint64_t source = 0; source < 8; ++source) {
    const auto padded = PadBlock(instance_, block, seed_, source, keys_);
    ASSERT_TRUE(padded.ok()) << padded.status();
    const auto part =
        MakeRenewalPart(instance_, Share(1), set_, {&*padded, 1}, targets, reference_);
    ASSERT_TRUE(part.ok()) << part.status();
    for (uint32_t k = 0; k < gamma(); ++k) {
      const PaddedBlock::Parts& c = padded->ciphertexts[k];
      ring::RnsPoly sum(context().n(), limbs + 1), out(context().n(), limbs);
      for (size_t l = 0; l <= limbs; ++l) {
        const size_t prime = ckks::ExtendedPrime(context(), l, limbs);
        const ring::Modulus& q = context().modulus(prime);
        uint32_t* v = sum.limb(l).data();
        const ring::Kernels& kernels = ring::ActiveKernels();
        kernels.multiply(v, c.part[1].limb(l).data(), term->residues(prime).data(), context().n(),
                         q);
        kernels.add(v, v, c.part[0].limb(l).data(), context().n(), q);
        kernels.add(v, v, part->opened[0][k].limb(l).data(), context().n(), q);
      }
      // Below P: where the noise of the key is.
      AlignedVector<uint32_t> rest(sum.limb(limbs).begin(), sum.limb(limbs).end());
      context().ntt(context().special_index()).Inverse(rest);
      for (const uint32_t v : rest) count(double(v) / special.value(), &low);
      coefficients += double(rest.size());
      ckks::DivideByLast(context(), &out, sum, context().special_index());
      BlockSlots seen = internal::DecodeBlock(instance_, *encoder_, std::move(out));
      const BlockSlots pads = internal::DrawPads(*encoder_, seed_, source, k, range);
      for (size_t j = 0; j < seen.high.size(); ++j) {
        seen.high[j] -= pads.high[j];
        for (const double v : {seen.high[j].real(), seen.high[j].imag()}) {
          ASSERT_LE(std::abs(v), range + 2);
          count((v / range + 1) / 2, &counts);
          ++values;
        }
      }
      std::ranges::rotate(seen.high, seen.high.begin() + instance_.plan.GiantSteps(k));
      for (const auto& [position, t] : templates) {
        const double coordinate = t[(position + k) % gamma()];
        products += coordinate * Value(seen, position) / range;
        squares += coordinate * coordinate;
      }
    }
  }
  const auto chi_square = [](const std::vector<double>& bins, double all) {
    double sum = 0;
    for (const double c : bins) sum += std::pow(c - all / kBins, 2) / (all / kBins);
    return sum;
  };
  // 63 degrees of freedom, six standard deviations.
  const double most = 6 * std::sqrt(2.0 * (kBins - 1));
  EXPECT_LT(std::abs(chi_square(counts, values) - (kBins - 1)), most);
  EXPECT_LT(std::abs(chi_square(low, coefficients) - (kBins - 1)), most);
  EXPECT_LT(std::abs(products), 6 * std::sqrt(squares / 3));
}

TEST_P(SharedRenewalTest, RefusesPartsOfAnotherForm) {
  const PaddedBlock padded = *PadBlock(instance_, EmptyBlock(context(), gamma()), seed_, 0, keys_);
  const std::vector<std::vector<Move>> targets = {{{0, 1, 1}}};
  const auto make = [&](const ckks::OwnerSet& set) {
    return MakeRenewalPart(instance_, Share(1), set, {&padded, 1}, targets, reference_);
  };
  EXPECT_EQ(make({2, 3}).status().code(), absl::StatusCode::kInvalidArgument);
  RenewalPart part = *make(set_);
  EXPECT_TRUE(CheckRenewalPart(instance_, part, 1, targets).ok());
  EXPECT_FALSE(CheckRenewalPart(instance_, part, 2, targets).ok());
  EXPECT_FALSE(CheckRenewalPart(instance_, part, 1, {}).ok());
  part.opened[0].pop_back();
  EXPECT_EQ(
      CombineRenewal(instance_, {&padded, 1}, targets, {&part, 1}, reference_).status().code(),
      absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(Profiles, SharedRenewalTest, ::testing::Values(Case{"flooded", 16}),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Profiles, RenewalTest,
                         ::testing::Values(Case{"standard", 32}, Case{"standard", 256},
                                           Case{"flooded", 32}),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Profiles, ExchangeTest,
                         ::testing::Values(Case{"standard", 32}, Case{"standard", 128},
                                           Case{"flooded", 16}),
                         CaseName);

}  // namespace
}  // namespace heft
