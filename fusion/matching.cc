// SPDX-License-Identifier: Apache-2.0
#include "fusion/matching.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ring/kernels.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using ckks::Complex;
using ckks::Context;
using ckks::EvaluationKeys;
using ring::kMatchTile;

// Offset of limb l, tile t, ciphertext k, part p.
size_t TileOffset(size_t n, uint32_t gamma, size_t l, size_t t, size_t k, size_t p) {
  return l * n * gamma * 2 + ((t * gamma + k) * 2 + p) * kMatchTile;
}

void StoreTiled(const Context& context, uint32_t gamma, uint32_t k, const Ciphertext& c,
                TiledCiphertexts* out) {
  const size_t n = context.n();
  for (size_t l = 0; l < kMatchLimbs; ++l) {
    for (size_t p = 0; p < 2; ++p) {
      const std::span<const uint32_t> limb = c.parts[p].limb(l);
      for (size_t t = 0; t < n / kMatchTile; ++t) {
        std::copy_n(limb.data() + t * kMatchTile, kMatchTile,
                    out->data() + TileOffset(n, gamma, l, t, k, p));
      }
    }
  }
}

void AddTiled(const Context& context, uint32_t gamma, uint32_t k, const Ciphertext& c,
              TiledCiphertexts* out) {
  const size_t n = context.n();
  for (size_t l = 0; l < kMatchLimbs; ++l) {
    const ring::Modulus& q = context.modulus(l);
    for (size_t p = 0; p < 2; ++p) {
      const std::span<const uint32_t> limb = c.parts[p].limb(l);
      for (size_t i = 0; i < n; ++i) {
        uint32_t& v = (*out)[TileOffset(n, gamma, l, i / kMatchTile, k, p) + i % kMatchTile];
        v = q.Add(v, limb[i]);
      }
    }
  }
}

absl::Status CheckTemplate(const FusionPlan& plan, const Ciphertext& z) {
  if (z.size() == 2 && z.limbs() == kTemplateLimbs &&
      std::abs(z.scale - plan.template_scale) <= 1e-6 * plan.template_scale) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("not a fused template of this model: ", z.size(),
                                                 " parts, ", z.limbs(), " limbs, scale 2^",
                                                 std::log2(z.scale)));
}

absl::Status CheckTiles(const Instance& instance, const TiledCiphertexts& tiles, const char* what) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  if (tiles.size() == TiledSize(context, plan.gamma)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", tiles.size(), " words, ",
                                                 TiledSize(context, plan.gamma), " expected"));
}

absl::StatusOr<ckks::Plaintext> EncodeMask(const Instance& instance,
                                           std::span<const Complex> mask) {
  // At the scale of the prime that the rescale divides by: the template's scale comes back.
  const double scale = instance.context->modulus(kTemplateLimbs - 1).value();
  return instance.encoder->Encode(mask, scale, kTemplateLimbs);
}

// sum_k rot(z, k) G_k for one block: degree 2, two limbs.
Ciphertext InnerProduct(const Instance& instance, const TiledCiphertexts& block,
                        const TiledCiphertexts& probe) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  const size_t n = context.n();
  Ciphertext out;
  for (int p = 0; p < 3; ++p) out.parts.emplace_back(n, kMatchLimbs);
  for (size_t l = 0; l < kMatchLimbs; ++l) {
    const size_t at = TileOffset(n, plan.gamma, l, 0, 0, 0);
    ring::ActiveKernels().match(out.parts[0].limb(l).data(), out.parts[1].limb(l).data(),
                                out.parts[2].limb(l).data(), probe.data() + at, block.data() + at,
                                plan.gamma, n, context.modulus(l));
  }
  out.scale = plan.template_scale * plan.template_scale;
  return out;
}

// Error of one entry of a template after masking into a block that is full.
ckks::Noise BlockNoise(const Instance& instance) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  const ckks::Params& params = context.params();
  const double masks = 2.0 * params.slots();
  const double mask_scale = context.modulus(kTemplateLimbs - 1).value();
  // Each mask's rounding times its template's coordinate (rms 1 / sqrt(gamma)), summed.
  const double rounding = std::sqrt(masks / plan.gamma) * ckks::EncodingError(params) *
                          plan.template_scale / mask_scale;
  return {1, ckks::Combine(rounding, ckks::RoundingError(params))};
}

}  // namespace

size_t TiledSize(const Context& context, uint32_t gamma) {
  return kMatchLimbs * context.n() * gamma * 2;
}

TiledCiphertexts EmptyBlock(const Context& context, uint32_t gamma) {
  TiledCiphertexts block;
  block.assign(TiledSize(context, gamma), 0);
  return block;
}

absl::Status AddToBlock(const Instance& instance, TiledCiphertexts* block,
                        std::span<const NewTemplate> templates, const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(CheckTiles(instance, *block, "a gallery block"));
  for (const NewTemplate& t : templates) HEFT_RETURN_IF_ERROR(CheckTemplate(plan, *t.z));
  std::vector<Ciphertext> sums(plan.gamma);
  for (const NewTemplate& t : templates) {
    std::vector<Complex> values(context.slots(), 0);
    values[t.position.slot] = t.position.lane == 0 ? Complex(1, 0) : Complex(0, 1);
    HEFT_ASSIGN_OR_RETURN(const auto mask, EncodeMask(instance, values));
    HEFT_ASSIGN_OR_RETURN(auto rotations,
                          ckks::ApplyGaloisHoisted(context, *t.z, plan.gallery_rotations, keys));
    for (uint32_t k = 0; k < plan.gamma; ++k) {
      HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(context, &rotations[k], rotations[k], mask));
      if (sums[k].parts.empty()) {
        sums[k] = std::move(rotations[k]);
      } else {
        HEFT_RETURN_IF_ERROR(ckks::Add(context, &sums[k], sums[k], rotations[k]));
      }
    }
  }
  if (templates.empty()) return absl::OkStatus();
  for (Ciphertext& sum : sums) HEFT_RETURN_IF_ERROR(ckks::Rescale(context, &sum, sum));
  for (uint32_t k = 0; k < plan.gamma; ++k) AddTiled(context, plan.gamma, k, sums[k], block);
  return absl::OkStatus();
}

absl::StatusOr<TiledCiphertexts> PrepareProbe(const Instance& instance, const Ciphertext& z,
                                              const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(CheckTemplate(plan, z));
  Ciphertext low;
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &low, z, kMatchLimbs));
  HEFT_ASSIGN_OR_RETURN(const auto rotations,
                        ckks::ApplyGaloisHoisted(context, low, plan.gallery_rotations, keys));
  TiledCiphertexts out(TiledSize(context, plan.gamma));
  for (uint32_t k = 0; k < plan.gamma; ++k) {
    StoreTiled(context, plan.gamma, k, rotations[k], &out);
  }
  return out;
}

absl::StatusOr<Ciphertext> MatchBlock(const Instance& instance, const TiledCiphertexts& block,
                                      const TiledCiphertexts& probe, const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(CheckTiles(instance, block, "a gallery block"));
  HEFT_RETURN_IF_ERROR(CheckTiles(instance, probe, "a probe"));
  Ciphertext out = InnerProduct(instance, block, probe);
  // |z| and |t| are about 1: the error is that of a coordinate, of the probe and of the gallery.
  const ckks::Params& params = context.params();
  const ckks::Noise entry = BlockNoise(instance);
  const double probe_error =
      ckks::Combine(ckks::KeySwitchError(params, kMatchLimbs), ckks::RoundingError(params));
  out.noise = {1, plan.template_scale * ckks::Combine(entry.error, probe_error)};
  HEFT_RETURN_IF_ERROR(ckks::Relinearise(context, &out, out, keys));
  HEFT_RETURN_IF_ERROR(ckks::Rescale(context, &out, out));
  return out;
}

absl::StatusOr<TiledCiphertexts> PrepareMaskedProbe(const Instance& instance, const Ciphertext& z,
                                                    std::span<const uint32_t> slots, uint32_t lane,
                                                    const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(CheckTemplate(plan, z));
  std::vector<Complex> values(context.slots(), 0);
  for (uint32_t slot : slots) {
    if (slot >= context.slots()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " does not exist"));
    }
    // Half, because adding the conjugate doubles; in lane 1 also the sign that X^(n/2) brings.
    values[slot] = lane == 0 ? 0.5 : (slot % 2 == 0 ? -0.5 : 0.5);
  }
  HEFT_ASSIGN_OR_RETURN(const auto mask, EncodeMask(instance, values));
  HEFT_ASSIGN_OR_RETURN(auto rotations,
                        ckks::ApplyGaloisHoisted(context, z, plan.gallery_rotations, keys));
  TiledCiphertexts out(TiledSize(context, plan.gamma));
  for (uint32_t k = 0; k < plan.gamma; ++k) {
    HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(context, &rotations[k], rotations[k], mask));
    HEFT_RETURN_IF_ERROR(ckks::Rescale(context, &rotations[k], rotations[k]));
    StoreTiled(context, plan.gamma, k, rotations[k], &out);
  }
  return out;
}

absl::StatusOr<Ciphertext> VerifyBlock(const Instance& instance, const TiledCiphertexts& block,
                                       const TiledCiphertexts& probe, uint32_t lane,
                                       const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  HEFT_ASSIGN_OR_RETURN(Ciphertext out, MatchBlock(instance, block, probe, keys));
  if (lane == 1) ckks::MultiplyByMonomial(context, &out, out);
  const uint32_t elements[] = {1, ckks::ConjugationElement(context.params())};
  HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &out, out, elements, keys));
  out.noise.message = 1;
  return out;
}

}  // namespace heft
