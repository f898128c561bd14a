// SPDX-License-Identifier: Apache-2.0
// Gallery blocks and probes in the layout that matching reads: how they are filled.
#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/operation_counts.h"
#include "fusion/block_internal.h"
#include "fusion/matching.h"
#include "ring/ahead.h"
#include "ring/kernels.h"

namespace heft {

using ckks::Ciphertext;
using ckks::Complex;
using ckks::Context;
using ckks::EvaluationKeys;
using ring::kTile;

namespace internal {

size_t TileOffset(size_t n, uint32_t gamma, size_t l, size_t t, size_t k, size_t p) {
  return l * n * gamma * 2 + ((t * gamma + k) * 2 + p) * kTile;
}

size_t ProbeStride(uint32_t gamma) { return (size_t{gamma} * 2 + 1) * kTile; }
size_t ProbeSize(const Context& context, uint32_t gamma) {
  return MatchLimbs(context.params()) * context.n() / kTile * ProbeStride(gamma);
}
size_t ProbeOffset(size_t n, uint32_t gamma, size_t l, size_t t, size_t k, size_t p) {
  return (l * n / kTile + t) * ProbeStride(gamma) + (k * 2 + p) * kTile;
}

}  // namespace internal

using internal::ProbeOffset;
using internal::ProbeSize;
using internal::ProbeStride;
using internal::TileOffset;

namespace {

TiledCiphertexts NewProbe(const Context& context, uint32_t gamma) {
  TiledCiphertexts out(ProbeSize(context, gamma));
  const size_t rows = MatchLimbs(context.params()) * context.n() / kTile;
  for (size_t row = 0; row < rows; ++row) {
    std::fill_n(out.data() + (row + 1) * ProbeStride(gamma) - kTile, kTile, 0);
  }
  return out;
}

// Both parts of a ciphertext tile by tile to out + place(limb, tile, part).
template <typename Place>
void StoreParts(std::span<const ring::RnsPoly> parts, uint32_t* out, const Place& place) {
  for (size_t l = 0; l < parts[0].limbs(); ++l) {
    for (size_t p = 0; p < 2; ++p) {
      const uint32_t* in = parts[p].limb(l).data();
      for (size_t t = 0; t < parts[p].n() / kTile; ++t) {
        std::copy_n(in + t * kTile, kTile, out + place(l, t, p));
      }
    }
  }
}

// Ciphertext k into a probe's tiles.
void StoreProbe(const Context& context, uint32_t gamma, uint32_t k,
                std::span<const ring::RnsPoly> parts, TiledCiphertexts* out) {
  StoreParts(parts, out->data(), [&](size_t l, size_t t, size_t p) {
    return ProbeOffset(context.n(), gamma, l, t, k, p);
  });
}

}  // namespace

namespace internal {

std::vector<ring::RnsPoly> LoadTiled(const Context& context, uint32_t gamma, uint32_t k,
                                     BlockView tiles) {
  const size_t n = context.n(), limbs = MatchLimbs(context.params());
  std::vector<ring::RnsPoly> parts;
  for (size_t p = 0; p < 2; ++p) {
    parts.emplace_back(n, limbs);
    for (size_t l = 0; l < limbs; ++l) {
      uint32_t* out = parts[p].limb(l).data();
      for (size_t t = 0; t < n / kTile; ++t) {
        std::copy_n(tiles.data() + TileOffset(n, gamma, l, t, k, p), kTile, out + t * kTile);
      }
    }
  }
  return parts;
}

void StoreTiled(const Context& context, uint32_t gamma, uint32_t k,
                std::span<const ring::RnsPoly> parts, TiledCiphertexts* out) {
  StoreParts(parts, out->data(), [&](size_t l, size_t t, size_t p) {
    return TileOffset(context.n(), gamma, l, t, k, p);
  });
}

void AddTiled(const Context& context, uint32_t gamma, uint32_t k,
              std::span<const ring::RnsPoly> parts, TiledCiphertexts* out) {
  const size_t n = context.n();
  for (size_t l = 0; l < MatchLimbs(context.params()); ++l) {
    const ring::Modulus& q = context.modulus(l);
    for (size_t p = 0; p < 2; ++p) {
      const uint32_t* in = parts[p].limb(l).data();
      for (size_t t = 0; t < n / kTile; ++t) {
        uint32_t* tile = out->data() + TileOffset(n, gamma, l, t, k, p);
        for (size_t i = 0; i < kTile; ++i) tile[i] = q.Add(tile[i], in[t * kTile + i]);
      }
    }
  }
}

namespace {
absl::Status CheckForm(const Ciphertext& z, size_t limbs, double scale, double tolerance) {
  if (z.size() == 2 && z.limbs() == limbs && std::abs(z.scale - scale) <= tolerance * scale) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("not a fused template of this model: ", z.size(),
                                                 " parts, ", z.limbs(), " limbs, scale 2^",
                                                 std::log2(z.scale)));
}
}  // namespace

absl::Status CheckTemplate(const FusionPlan& plan, const Ciphertext& z) {
  const FusionPlan::Matching& matching = plan.matching;
  const bool fused = std::abs(z.scale - matching.fused_scale) <= 1e-6 * matching.fused_scale;
  return CheckForm(z, matching.template_limbs,
                   fused ? matching.fused_scale : matching.template_scale, 1e-6);
}

absl::Status CheckTiles(const Instance& instance, BlockView tiles, const char* what) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  if (tiles.size() == TiledSize(context, plan.gamma)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", tiles.size(), " words, ",
                                                 TiledSize(context, plan.gamma), " expected"));
}

absl::Status CheckProbe(const Instance& instance, const TiledCiphertexts& probe) {
  const size_t expected = ProbeSize(*instance.context, instance.plan.gamma);
  if (probe.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a probe of ", probe.size(), " words, ", expected, " expected"));
}

absl::StatusOr<ckks::Plaintext> EncodeMask(const Instance& instance, double from, double to,
                                           std::span<const Complex> mask, bool extended) {
  const size_t limbs = TemplateLimbs(instance.params());
  if (instance.plan.matching.template_limbs != limbs) {
    return absl::InvalidArgumentError(
        "a probe's instance has no prime left for a mask: use MakeInstance's");
  }
  return instance.encoder->Encode(mask, MaskScale(instance.plan, from, to), limbs, extended);
}

}  // namespace internal

namespace {

// mask * rot(z, k), rescaled to MatchLimbs limbs, for every k < gamma; `use` takes k and both
// parts, on any thread. The mask, extended, multiplies after the key switch: of slots that it hides
// nothing is left, the switch's noise included.
template <typename Use>
absl::Status MaskedRotations(const Instance& instance, const Ciphertext& z,
                             const ckks::Plaintext& mask, const EvaluationKeys& keys,
                             const Use& use) {
  const Context& context = *instance.context;
  const size_t n = context.n(), limbs = TemplateLimbs(context.params());
  const std::vector<uint32_t>& rotations = instance.plan.matching.rotations;
  std::vector<const ckks::SwitchKey*> switch_keys(rotations.size(), nullptr);
  for (size_t k = 0; k < rotations.size(); ++k) {
    if (rotations[k] == 1) continue;
    HEFT_ASSIGN_OR_RETURN(switch_keys[k], keys.Galois(rotations[k], limbs));
  }
  const ckks::Digits digits(context, z.parts[1]);
  ckks::CountOperations({.plain_products = rotations.size(), .rotations = rotations.size() - 1});
  const ring::Kernels& kernels = ring::ActiveKernels();
  ParallelFor(rotations.size(), [&](size_t k) {
    ckks::SwitchSum sum(n, limbs);
    ring::RnsPoly plain[2] = {ring::RnsPoly(n, limbs), ring::RnsPoly(n, limbs)};
    if (switch_keys[k] == nullptr) {
      for (ring::RnsPoly& part : sum.part)
        std::fill_n(part.values().begin(), part.values().size(), 0);
    }
    AlignedVector<uint32_t> term[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
    AlignedVector<uint32_t> permuted(n);
    // out = mask * image of `in`, modulo one prime.
    const auto take = [&](std::span<uint32_t> out, const uint32_t* in, size_t l) {
      if (switch_keys[k] != nullptr) {
        kernels.permute(permuted.data(), in, context.permutation(rotations[k]), n);
        in = permuted.data();
      }
      kernels.multiply(out.data(), in, mask.poly.limb(l).data(), n,
                       context.modulus(ckks::ExtendedPrime(context, l, limbs)));
    };
    for (size_t l = 0; l <= limbs; ++l) {
      if (switch_keys[k] != nullptr) {
        ckks::SwitchLimb(context, term[0].data(), term[1].data(), digits, *switch_keys[k], l);
        for (size_t p = 0; p < 2; ++p) take(sum.part[p].limb(l), term[p].data(), l);
      }
      if (l == limbs) break;
      take(plain[0].limb(l), z.parts[0].limb(l).data(), l);
      if (switch_keys[k] == nullptr) take(plain[1].limb(l), z.parts[1].limb(l).data(), l);
    }
    const ring::RnsPoly* const plain_parts[2] = {&plain[0],
                                                 switch_keys[k] == nullptr ? &plain[1] : nullptr};
    use(k, ckks::CloseSwitch(context, sum, plain_parts, /*rescale=*/true));
  });
  return absl::OkStatus();
}

}  // namespace

size_t TiledSize(const Context& context, uint32_t gamma) {
  return MatchLimbs(context.params()) * context.n() * gamma * 2;
}

std::vector<BlockView> Views(std::span<const TiledCiphertexts> blocks) {
  return {blocks.begin(), blocks.end()};
}

TiledCiphertexts EmptyBlock(const Context& context, uint32_t gamma) {
  TiledCiphertexts block;
  block.assign(TiledSize(context, gamma), 0);
  return block;
}

namespace {

// StoreRotation: the image under `element` of (own / P, what has these digits) into tiles,
// place(limb) the first one. As SwitchLimb, CloseSwitch and a permutation do it, with fewer passes:
// a server spends a third of an identification here.
template <typename Place>
void StoreRotation(const Context& context, const ckks::Digits& digits, const ckks::SwitchKey& key,
                   const ring::RnsPoly& own, uint32_t element, const Place& place, size_t stride) {
  const size_t n = context.n(), limbs = digits.limbs(), special = context.special_index();
  const ring::Kernels& kernels = ring::ActiveKernels();
  const ring::Permutation& permutation = context.permutation(element);
  AlignedVector<uint32_t> rest[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
  AlignedVector<uint32_t> sum[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
  AlignedVector<uint32_t> lifted[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
  ckks::SwitchLimb(context, rest[0].data(), rest[1].data(), digits, key, limbs);
  for (AlignedVector<uint32_t>& r : rest) context.ntt(special).Inverse(r);
  for (size_t l = 0; l < limbs; ++l) {
    const ring::Modulus& q = context.modulus(l);
    ckks::SwitchLimb(context, sum[0].data(), sum[1].data(), digits, key, l);
    for (size_t p = 0; p < 2; ++p) {
      kernels.lift(lifted[p].data(), rest[p].data(), context.lift(special, l), n, q);
      context.ntt(l).Forward(lifted[p]);
    }
    const uint32_t* const sums[] = {sum[0].data(), sum[1].data()};
    const uint32_t* const rests[] = {lifted[0].data(), lifted[1].data()};
    kernels.quotient_tiled(place(l), stride, sums, rests, own.limb(l).data(),
                           context.inverse(special, l), permutation, n, q);
  }
}

}  // namespace

absl::StatusOr<TiledCiphertexts> PrepareProbe(const Instance& instance, const Ciphertext& z,
                                              const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(
      internal::CheckForm(z, plan.matching.probe_limbs, plan.matching.probe_scale, 1e-6));
  const size_t n = context.n(), limbs = MatchLimbs(context.params());
  Ciphertext low;
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &low, z, limbs));
  std::vector<const ckks::SwitchKey*> switch_keys(plan.gamma, nullptr);
  for (uint32_t k = 0; k < plan.gamma; ++k) {
    if (plan.matching.rotations[k] == 1) continue;
    HEFT_ASSIGN_OR_RETURN(switch_keys[k], keys.Galois(plan.matching.rotations[k], limbs));
  }
  ckks::CountOperations({.rotations = plan.gamma - 1});
  const ckks::Digits digits(context, low.parts[1]);
  const ring::RnsPoly own = ckks::TimesSpecial(context, low.parts[0]);
  TiledCiphertexts out = NewProbe(context, plan.gamma);
  ckks::CountOperations({.special_divisions = plan.gamma - 1});
  // Keys come from memory, megabytes of them: each is fetched during the rotation before. A few
  // rotations are a task, so that the next one is mostly the same thread's.
  constexpr uint32_t kRotationsATask = 4;
  ParallelFor((plan.gamma + kRotationsATask - 1) / kRotationsATask, [&](size_t task) {
    const size_t first = task * kRotationsATask;
    for (size_t k = first; k < std::min<size_t>(first + kRotationsATask, plan.gamma); ++k) {
      if (switch_keys[k] == nullptr) {
        StoreProbe(context, plan.gamma, k, low.parts, &out);
        continue;
      }
      const ring::Ahead ahead(k + 1 < plan.gamma && switch_keys[k + 1] != nullptr
                                  ? switch_keys[k + 1]->values()
                                  : ring::Ahead::Range());
      StoreRotation(
          context, digits, *switch_keys[k], own, plan.matching.rotations[k],
          [&](size_t l) { return out.data() + ProbeOffset(n, plan.gamma, l, 0, k, 0); },
          ProbeStride(plan.gamma));
    }
  });
  return out;
}

absl::StatusOr<TiledCiphertexts> PrepareMaskedProbe(const Instance& instance, const Ciphertext& z,
                                                    std::span<const uint32_t> slots, uint32_t lane,
                                                    const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  // Its scale may be any near a template's: the mask brings it to its own.
  HEFT_RETURN_IF_ERROR(
      internal::CheckForm(z, TemplateLimbs(context.params()), plan.matching.fused_scale, 3));
  std::vector<Complex> values(context.slots(), 0);
  for (uint32_t slot : slots) {
    if (slot >= context.slots()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " does not exist"));
    }
    // Half, because adding the conjugate doubles; in lane 1 also the sign that X^(n/2) brings. The
    // score ends in lane 0, so that lane's sign takes the place of the template's.
    const double signs = SlotSign(plan, slot, lane) * SlotSign(plan, slot, 0);
    values[slot] = signs * (lane == 0 ? 0.5 : (slot % 2 == 0 ? -0.5 : 0.5));
  }
  HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext mask,
                        internal::EncodeMask(instance, z.scale, plan.matching.masked_scale, values,
                                             /*extended=*/true));
  TiledCiphertexts out = NewProbe(context, plan.gamma);
  HEFT_RETURN_IF_ERROR(MaskedRotations(instance, z, mask, keys,
                                       [&](uint32_t k, const std::vector<ring::RnsPoly>& parts) {
                                         StoreProbe(context, plan.gamma, k, parts, &out);
                                       }));
  return out;
}

}  // namespace heft
