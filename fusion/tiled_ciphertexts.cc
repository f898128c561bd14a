// SPDX-License-Identifier: Apache-2.0
// Fills gallery blocks and probes in the layout that matching reads.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/key_switch.h"
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

size_t ProbeStride(uint32_t count) { return (size_t{count} * 2 + 1) * kTile; }
size_t ProbeSize(const Context& context, uint32_t count) {
  return MatchLimbs(context.params()) * context.n() / kTile * ProbeStride(count);
}
size_t ProbeOffset(size_t n, uint32_t count, size_t l, size_t t, size_t k, size_t p) {
  return (l * n / kTile + t) * ProbeStride(count) + (k * 2 + p) * kTile;
}

}  // namespace internal

using internal::ProbeOffset;
using internal::ProbeSize;
using internal::ProbeStride;
using internal::TileOffset;

namespace {

TiledCiphertexts NewProbe(const Context& context, uint32_t count) {
  TiledCiphertexts out(ProbeSize(context, count));
  const size_t rows = MatchLimbs(context.params()) * context.n() / kTile;
  for (size_t row = 0; row < rows; ++row) {
    std::fill_n(out.data() + (row + 1) * ProbeStride(count) - kTile, kTile, 0);
  }
  return out;
}

// Writes both parts of a ciphertext tile by tile to out + place(limb, tile, part).
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

// Writes ciphertext k into the tiles of a probe of `count`.
void StoreProbe(const Context& context, uint32_t count, uint32_t k,
                std::span<const ring::RnsPoly> parts, TiledCiphertexts* out) {
  StoreParts(parts, out->data(), [&](size_t l, size_t t, size_t p) {
    return ProbeOffset(context.n(), count, l, t, k, p);
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

absl::Status CheckProbe(const Instance& instance, const TiledCiphertexts& probe, uint32_t count) {
  const size_t expected = ProbeSize(*instance.context, count);
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

// Giant: a vector rotated by a giant's steps, and the data that its babies share.
struct Giant {
  Giant(const Context& context, Ciphertext image)
      : z(std::move(image)), digits(context, z.parts[1]) {}
  Ciphertext z;
  ckks::Digits digits;
};

// Giants: all of them, from one decomposition of `z`.
absl::StatusOr<std::vector<Giant>> Giants(const Instance& instance, const Ciphertext& z,
                                          const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const auto elements = instance.plan.matching.grid.GiantElements(context.params());
  HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> images,
                        ckks::ApplyGaloisHoisted(context, z, elements, keys));
  std::vector<std::optional<Giant>> made(images.size());
  ParallelFor(images.size(), [&](size_t j) { made[j].emplace(context, std::move(images[j])); });
  std::vector<Giant> out;
  for (std::optional<Giant>& giant : made) out.push_back(std::move(*giant));
  return out;
}

// BabyKeys: for the babies' rotations, by as many slots as their index; nullptr for the identity.
absl::StatusOr<std::vector<const ckks::SwitchKey*>> BabyKeys(const Instance& instance, size_t limbs,
                                                             const EvaluationKeys& keys) {
  const auto elements = instance.plan.matching.grid.BabyElements(instance.params());
  std::vector<const ckks::SwitchKey*> out(elements.size(), nullptr);
  for (size_t i = 1; i < elements.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(out[i], keys.Galois(elements[i], limbs));
  }
  return out;
}

// MaskedBaby: mask * rot(giant, by a baby's steps), rescaled to MatchLimbs limbs, for each mask. A
// null key means the identity.
std::vector<std::vector<ring::RnsPoly>> MaskedBaby(const Context& context, const Giant& giant,
                                                   const ckks::SwitchKey* key, uint32_t element,
                                                   std::span<const ring::RnsPoly> masks) {
  const size_t n = context.n(), limbs = giant.z.limbs();
  const ring::Kernels& kernels = ring::ActiveKernels();
  // The image before its division by the special prime: a switched sum, and a part without a key.
  ckks::SwitchSum image(n, limbs);
  ring::RnsPoly plain[2] = {giant.z.parts[0], giant.z.parts[1]};
  if (key != nullptr) {
    const ring::Permutation& permutation = context.permutation(element);
    AlignedVector<uint32_t> term[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
    for (size_t l = 0; l <= limbs; ++l) {
      ckks::SwitchLimb(context, term[0].data(), term[1].data(), giant.digits, *key, l);
      for (size_t p = 0; p < 2; ++p) {
        kernels.permute(image.part[p].limb(l).data(), term[p].data(), permutation, n);
      }
    }
    for (size_t l = 0; l < limbs; ++l) {
      kernels.permute(plain[0].limb(l).data(), giant.z.parts[0].limb(l).data(), permutation, n);
    }
  }
  const auto times = [&](const ring::RnsPoly& in, const ring::RnsPoly& mask) {
    ring::RnsPoly out(n, in.limbs());
    for (size_t l = 0; l < in.limbs(); ++l) {
      kernels.multiply(out.limb(l).data(), in.limb(l).data(), mask.limb(l).data(), n,
                       context.modulus(ckks::ExtendedPrime(context, l, limbs)));
    }
    return out;
  };
  std::vector<std::vector<ring::RnsPoly>> out;
  for (const ring::RnsPoly& mask : masks) {
    std::vector<ring::RnsPoly> own;
    for (size_t p = 0; p < (key == nullptr ? 2 : 1); ++p) own.push_back(times(plain[p], mask));
    ckks::SwitchSum sum(n, limbs);
    for (size_t p = 0; p < 2; ++p) {
      if (key == nullptr) {
        std::ranges::fill(sum.part[p].values(), 0u);
      } else {
        sum.part[p] = times(image.part[p], mask);
      }
    }
    const ring::RnsPoly* const parts[2] = {&own[0], key == nullptr ? &own[1] : nullptr};
    out.push_back(ckks::CloseSwitch(context, sum, parts, /*rescale=*/true));
  }
  return out;
}

// BackMasks: `mask`, rotated back by the steps of each giant of a block.
std::vector<ring::RnsPoly> BackMasks(const Instance& instance, const ckks::Plaintext& mask) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  std::vector<ring::RnsPoly> out = {mask.poly};
  for (uint32_t j = 1; j < plan.matching.giants; ++j) {
    const uint32_t element =
        ckks::RotationElement(context.params(), -int64_t{j} * plan.ProbeRotations());
    out.emplace_back(mask.poly.n(), mask.poly.limbs());
    for (size_t l = 0; l < mask.poly.limbs(); ++l) {
      ring::ActiveKernels().permute(out.back().limb(l).data(), mask.poly.limb(l).data(),
                                    context.permutation(element), context.n());
    }
  }
  return out;
}

// MaskedRotations: mask * rot(z, k), rotated back by GiantSteps(k) and rescaled to MatchLimbs
// limbs, for every k < gamma; `use` takes k and both parts, on any thread. z repeats every gamma
// slots, so this is a mask that is rotated back, times rot(z, k - GiantSteps(k)). The extended mask
// multiplies after the key switches, so hidden slots keep nothing, not even the switches' noise.
template <typename Use>
absl::Status MaskedRotations(const Instance& instance, const Ciphertext& z,
                             const ckks::Plaintext& mask, const EvaluationKeys& keys,
                             const Use& use) {
  const Context& context = *instance.context;
  const RotationGrid& grid = instance.plan.matching.grid;
  HEFT_ASSIGN_OR_RETURN(const auto baby_keys, BabyKeys(instance, z.limbs(), keys));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Giant> giants, Giants(instance, z, keys));
  const auto babies = grid.BabyElements(context.params());
  const std::vector<ring::RnsPoly> masks = BackMasks(instance, mask);
  ckks::CountOperations({.plain_products = instance.plan.gamma,
                         .rotations = uint64_t{grid.giants} * (grid.babies - 1)});
  ParallelFor(grid.count(), [&](size_t k) {
    const size_t j = k / grid.babies, i = k % grid.babies;
    const auto masked = MaskedBaby(context, giants[j], baby_keys[i], babies[i], masks);
    for (size_t of = 0; of < masked.size(); ++of) use(of * grid.count() + k, masked[of]);
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

// StoreRotation: the image under `element` of a ciphertext (own / P and the polynomial of
// `digits`), written into tiles from place(limb) on. Equals SwitchLimb, CloseSwitch and a
// permutation, with fewer passes: a server spends a third of an identification here.
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
  const RotationGrid& grid = plan.matching.grid;
  const auto babies = grid.BabyElements(context.params());
  HEFT_ASSIGN_OR_RETURN(const auto baby_keys, BabyKeys(instance, limbs, keys));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Giant> giants, Giants(instance, low, keys));
  TiledCiphertexts out = NewProbe(context, grid.count());
  const uint64_t rotations = uint64_t{grid.giants} * (grid.babies - 1);
  ckks::CountOperations({.rotations = rotations, .special_divisions = rotations});
  // Keys are a few megabytes: each is fetched during the rotation before. A task has a few
  // rotations of a giant, so that mostly the same thread does the next one.
  const size_t some = std::min<size_t>(grid.babies, 8), tasks = grid.babies / some;
  ParallelFor(grid.giants * tasks, [&](size_t task) {
    const size_t j = task / tasks, first = task % tasks * some;
    const Giant& giant = giants[j];
    const ring::RnsPoly own = ckks::TimesSpecial(context, giant.z.parts[0]);
    for (size_t i = first; i < first + some; ++i) {
      const size_t k = j * grid.babies + i;
      if (baby_keys[i] == nullptr) {
        StoreProbe(context, grid.count(), static_cast<uint32_t>(k), giant.z.parts, &out);
        continue;
      }
      const ring::Ahead ahead(baby_keys[i + 1 < grid.babies ? i + 1 : 1]->values());
      StoreRotation(
          context, giant.digits, *baby_keys[i], own, babies[i],
          [&](size_t l) { return out.data() + ProbeOffset(n, grid.count(), l, 0, k, 0); },
          ProbeStride(grid.count()));
    }
  });
  return out;
}

absl::StatusOr<TiledCiphertexts> PrepareMaskedProbe(const Instance& instance, const Ciphertext& z,
                                                    std::span<const uint32_t> slots, uint32_t lane,
                                                    const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  // Its scale may be any near a template's: the mask corrects it.
  HEFT_RETURN_IF_ERROR(
      internal::CheckForm(z, TemplateLimbs(context.params()), plan.matching.fused_scale, 3));
  std::vector<Complex> values(context.slots(), 0);
  for (uint32_t slot : slots) {
    if (slot >= context.slots()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " does not exist"));
    }
    // Half, because adding the conjugate doubles; in lane 1 also the sign that X^(n/2) adds. The
    // score ends in lane 0, so that lane's sign replaces the template's.
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
