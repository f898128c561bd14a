// SPDX-License-Identifier: Apache-2.0
#include "fusion/renewal.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/keyed_hash.h"
#include "base/secure.h"
#include "base/threads.h"
#include "ckks/double_double.h"
#include "ckks/zero_sample.h"
#include "fusion/block_internal.h"
#include "fusion/errors.h"
#include "fusion/renewal_internal.h"
#include "ring/kernels.h"

namespace heft {
namespace internal {

absl::StatusOr<ring::RnsPoly> EncodeBlock(const Instance& instance,
                                          const ckks::BoundedEncoder& encoder,
                                          const BlockSlots& slots, double bound) {
  HEFT_ASSIGN_OR_RETURN(ckks::Plaintext plain,
                        encoder.Encode(slots, bound, instance.plan.matching.block_scale,
                                       MatchLimbs(instance.params())));
  return std::move(plain.poly);
}

BlockSlots DecodeBlock(const Instance& instance, const ckks::BoundedEncoder& encoder,
                       ring::RnsPoly poly) {
  ckks::Plaintext plain;
  plain.poly = std::move(poly);
  plain.scale = instance.plan.matching.block_scale;
  BlockSlots out = encoder.Decode(plain);
  SecureWipe(plain.poly.values().data(), plain.poly.values().size_bytes());
  return out;
}

void WipeSlots(BlockSlots* slots) {
  for (std::vector<ckks::Complex>* part : {&slots->high, &slots->low}) {
    SecureWipe(part->data(), part->size() * sizeof(ckks::Complex));
  }
}

void CarryMoves(const Instance& instance, std::span<const Move> moves, uint32_t source, uint32_t k,
                const BlockSlots& slots, std::span<BlockSlots> targets) {
  const uint32_t half = instance.params().slots();
  auto lane_of = [](ckks::Complex& value) { return reinterpret_cast<double*>(&value); };
  for (const Move& move : moves) {
    if (move.source != source) continue;
    const Position from = PositionOf(move.from, half), to = PositionOf(move.to, half);
    const double sign =
        SlotSign(instance.plan, from.slot, from.lane) * SlotSign(instance.plan, to.slot, to.lane);
    const uint32_t target_k = TargetOf(instance, move, k);
    BlockSlots& target = targets[target_k];
    // The slots after the rotation by the giant's steps.
    const uint32_t from_slot = (from.slot + instance.plan.GiantSteps(k)) % half;
    const uint32_t to_slot = (to.slot + instance.plan.GiantSteps(target_k)) % half;
    auto carry = [&](const std::vector<ckks::Complex>& in, std::vector<ckks::Complex>& out) {
      const ckks::Complex& value = in[from_slot];
      lane_of(out[to_slot])[to.lane] = sign * (from.lane == 0 ? value.real() : value.imag());
    };
    carry(slots.high, target.high);
    if (!slots.low.empty()) carry(slots.low, target.low);
  }
}

BlockSlots DrawPads(const ckks::BoundedEncoder& encoder, const Seed& seed, uint64_t source,
                    uint32_t k, double range) {
  ByteWriter of;
  of.U64(source);
  of.U32(k);
  const std::vector<uint8_t>& message = of.bytes();
  BlockSlots pads = encoder.NewSlots();
  const size_t values = 2 * pads.high.size();
  std::vector<uint64_t> bits(encoder.wide() ? 2 * values : values);
  KeyedHash({reinterpret_cast<uint8_t*>(bits.data()), bits.size() * sizeof(bits[0])}, seed,
            "pads of a renewal", {reinterpret_cast<const char*>(message.data()), message.size()});
  auto coarse = [&](size_t i) {
    return range * (static_cast<double>(bits[i] >> 11) * 0x1p-52 - 1);
  };
  // Half of the distance to the next value of `coarse`.
  auto fine = [&](size_t i) {
    return range * 0x1p-53 * (static_cast<double>(bits[values + i] >> 11) * 0x1p-52 - 1);
  };
  for (size_t j = 0; j < pads.high.size(); ++j) {
    pads.high[j] = {coarse(2 * j), coarse(2 * j + 1)};
    if (!encoder.wide()) continue;
    const ckks::DoubleDouble re = ckks::FastSum(coarse(2 * j), fine(2 * j));
    const ckks::DoubleDouble im = ckks::FastSum(coarse(2 * j + 1), fine(2 * j + 1));
    pads.high[j] = {re.high, im.high};
    pads.low[j] = {re.low, im.low};
  }
  SecureWipe(bits.data(), bits.size() * sizeof(bits[0]));
  return pads;
}

}  // namespace internal

using internal::BlockSlots;

namespace {

constexpr double kMaxPad = 0x1p24;
constexpr double kLeastPad = 0x1p20;

// Pads are added and subtracted in part 0 only.
void AddPoly(const ckks::Context& context, ring::RnsPoly* out, const ring::RnsPoly& term) {
  for (size_t l = 0; l < out->limbs(); ++l) {
    uint32_t* v = out->limb(l).data();
    ring::ActiveKernels().add(v, v, term.limb(l).data(), out->n(), context.modulus(l));
  }
}
void SubtractPoly(const ckks::Context& context, ring::RnsPoly* out, const ring::RnsPoly& term) {
  for (size_t l = 0; l < out->limbs(); ++l) {
    uint32_t* v = out->limb(l).data();
    ring::ActiveKernels().subtract(v, v, term.limb(l).data(), out->n(), context.modulus(l));
  }
}

// Raised: P times the polynomial, modulo P too.
ring::RnsPoly Raised(const ckks::Context& context, const ring::RnsPoly& poly) {
  const size_t n = poly.n(), limbs = poly.limbs();
  ring::RnsPoly out(n, limbs + 1);
  for (size_t l = 0; l < limbs; ++l) {
    const ring::Modulus& q = context.modulus(l);
    const uint32_t special = q.Reduce(context.params().special().value());
    ring::ActiveKernels().multiply_scalar(out.limb(l).data(), poly.limb(l).data(), q.Shoup(special),
                                          n, q);
  }
  std::ranges::fill(out.limb(limbs), 0u);
  return out;
}

// HidingSample: from the key of a rotation that has a spare digit.
absl::StatusOr<ckks::ZeroSample> HidingSample(const Instance& instance,
                                              const ckks::EvaluationKeys& keys) {
  const ckks::Params& params = instance.params();
  for (const uint32_t element : instance.plan.matching.grid.BabyElements(params)) {
    if (element == 1) continue;
    HEFT_ASSIGN_OR_RETURN(const ckks::SwitchKey* key, keys.Galois(element, TemplateLimbs(params)));
    return ckks::ZeroSample::Of(*instance.context, *key, element, MatchLimbs(params));
  }
  return absl::FailedPreconditionError("a plan without rotations");
}

absl::Status CheckAnswer(const Instance& instance, std::span<const ckks::SeededCiphertext> answer) {
  bool sound = answer.size() == instance.plan.gamma;
  for (const ckks::SeededCiphertext& c : answer) {
    sound =
        sound && c.c0.n() == instance.params().n() && c.c0.limbs() == MatchLimbs(instance.params());
  }
  return sound ? absl::OkStatus() : absl::InvalidArgumentError("not a renewed block of this model");
}

}  // namespace

absl::Status CheckMoves(const ckks::Params& params, std::span<const Move> moves, size_t sources) {
  const uint32_t positions = 2 * params.slots();
  std::vector<bool> filled(positions, false), moved(sources * positions, false);
  for (const Move& move : moves) {
    if (move.source >= sources || move.from >= positions || move.to >= positions) {
      return absl::InvalidArgumentError(absl::StrCat("no move: position ", move.from, " of source ",
                                                     move.source, " of ", sources, " to ", move.to,
                                                     ", positions are below ", positions));
    }
    std::vector<bool>::reference from = moved[size_t{move.source} * positions + move.from];
    if (filled[move.to] || from) {
      return absl::InvalidArgumentError(absl::StrCat("position ", move.from, " of source ",
                                                     move.source, " moves twice, or position ",
                                                     move.to, " is filled twice"));
    }
    filled[move.to] = from = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> PadRange(const Instance& instance) {
  const ckks::Params& params = instance.params();
  // A coefficient is at most the largest |slot| times the scale.
  const double room = std::exp2(params.Bits(MatchLimbs(params)) - 1) /
                      instance.plan.matching.block_scale / std::numbers::sqrt2;
  double range = kMaxPad;
  while (range >= kLeastPad && !(range + 2 * internal::kPadRoom < room)) range /= 2;
  if (range >= kLeastPad) return range;
  return absl::InvalidArgumentError(
      "the parameters leave no room for pads that hide templates: use a profile of this version");
}

absl::StatusOr<PaddedBlock> PadBlock(const Instance& instance, BlockView block, const Seed& seed,
                                     uint64_t source, const ckks::EvaluationKeys& keys) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  HEFT_RETURN_IF_ERROR(internal::CheckTiles(instance, block, "a gallery block"));
  HEFT_ASSIGN_OR_RETURN(const double range, PadRange(instance));
  HEFT_ASSIGN_OR_RETURN(const ckks::ZeroSample sample, HidingSample(instance, keys));
  const ckks::BoundedEncoder encoder(instance.context);
  PaddedBlock out;
  out.ciphertexts.resize(gamma);
  HEFT_RETURN_IF_ERROR(TryParallelFor(gamma, [&](size_t i) -> absl::Status {
    const auto k = static_cast<uint32_t>(i);
    std::vector<ring::RnsPoly> parts = internal::LoadTiled(context, gamma, k, block);
    BlockSlots pads = internal::DrawPads(encoder, seed, source, k, range);
    HEFT_ASSIGN_OR_RETURN(ring::RnsPoly pad, internal::EncodeBlock(instance, encoder, pads, range));
    AddPoly(context, &parts[0], pad);
    for (size_t p = 0; p < 2; ++p) out.ciphertexts[k].part[p] = Raised(context, parts[p]);
    Csprng rng;
    sample.Hide(context, &out.ciphertexts[k].part[0], &out.ciphertexts[k].part[1], rng);
    internal::WipeSlots(&pads);
    SecureWipe(pad.values().data(), pad.values().size_bytes());
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<TiledCiphertexts> FinishBlock(const Instance& instance,
                                             std::span<const ckks::SeededCiphertext> answer,
                                             const Seed& seed, std::span<const Move> moves) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  HEFT_RETURN_IF_ERROR(CheckAnswer(instance, answer));
  uint32_t sources = 0;
  for (const Move& move : moves) sources = std::max(sources, move.source + 1);
  HEFT_RETURN_IF_ERROR(CheckMoves(instance.params(), moves, sources));
  HEFT_ASSIGN_OR_RETURN(const double range, PadRange(instance));
  const ckks::BoundedEncoder encoder(instance.context);
  std::vector<BlockSlots> pads(gamma, encoder.NewSlots());
  for (uint32_t source = 0; source < sources; ++source) {
    ParallelFor(gamma, [&](size_t i) {
      const auto k = static_cast<uint32_t>(i);
      BlockSlots drawn = internal::DrawPads(encoder, seed, source, k, range);
      internal::CarryMoves(instance, moves, source, k, drawn, pads);
      internal::WipeSlots(&drawn);
    });
  }
  TiledCiphertexts out(TiledSize(context, gamma));
  HEFT_RETURN_IF_ERROR(TryParallelFor(gamma, [&](size_t k) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(ring::RnsPoly pad,
                          internal::EncodeBlock(instance, encoder, pads[k], range));
    ckks::Ciphertext full = ckks::Expand(context, answer[k]);
    SubtractPoly(context, &full.parts[0], pad);
    internal::StoreTiled(context, gamma, static_cast<uint32_t>(k), full.parts, &out);
    internal::WipeSlots(&pads[k]);
    SecureWipe(pad.values().data(), pad.values().size_bytes());
    return absl::OkStatus();
  }));
  return out;
}

double RenewalScoreError(const Instance& instance) {
  return std::sqrt(RenewalVariance(instance.params(), instance.plan));
}

}  // namespace heft
