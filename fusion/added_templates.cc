// SPDX-License-Identifier: Apache-2.0
// Adds templates to a gallery block one by one, and removes them.
#include <algorithm>

#include "base/threads.h"
#include "ckks/digits.h"
#include "ckks/key_switch.h"
#include "ckks/operation_counts.h"
#include "fusion/block_internal.h"
#include "fusion/matching.h"
#include "ring/kernels.h"

namespace heft {

using ckks::Complex;
using ckks::Context;
using ckks::EvaluationKeys;
using internal::AddTiled;
using internal::CheckTemplate;
using internal::CheckTiles;

namespace internal {

std::vector<ring::RnsPoly> Rotated(const Context& context, std::span<const ring::RnsPoly> parts,
                                   const ckks::SwitchKey* key, uint32_t element) {
  const size_t n = context.n(), limbs = parts[0].limbs();
  ckks::SwitchSum switched(n, limbs);
  const ring::RnsPoly* const plain[2] = {&parts[0], key == nullptr ? &parts[1] : nullptr};
  if (key == nullptr) {
    for (ring::RnsPoly& part : switched.part) std::ranges::fill(part.values(), 0);
    return ckks::CloseSwitch(context, switched, plain, /*rescale=*/true);
  }
  const ckks::Digits digits(context, parts[1]);
  for (size_t l = 0; l <= limbs; ++l) {
    ckks::SwitchLimb(context, switched.part[0].limb(l).data(), switched.part[1].limb(l).data(),
                     digits, *key, l);
  }
  const auto closed = ckks::CloseSwitch(context, switched, plain, /*rescale=*/true);
  std::vector<ring::RnsPoly> out;
  for (const ring::RnsPoly& part : closed) {
    out.emplace_back(n, part.limbs());
    for (size_t l = 0; l < part.limbs(); ++l) {
      ring::ActiveKernels().permute(out.back().limb(l).data(), part.limb(l).data(),
                                    context.permutation(element), n);
    }
  }
  return out;
}

}  // namespace internal

namespace {

// Joining: a template and the mask of its slot, TemplateLimbs limbs.
struct Joining {
  const ckks::Ciphertext* z;
  ckks::Plaintext mask;
};

absl::StatusOr<Joining> Place(const Instance& instance, const NewTemplate& t) {
  std::vector<Complex> values(instance.context->slots(), 0);
  const double sign = SlotSign(instance.plan, t.position.slot, t.position.lane);
  values[t.position.slot] = t.position.lane == 0 ? Complex(sign, 0) : Complex(0, sign);
  Joining out{t.z, {}};
  HEFT_ASSIGN_OR_RETURN(
      out.mask, internal::EncodeMask(instance, t.z->scale, instance.plan.matching.block_scale,
                                     values, /*extended=*/false));
  return out;
}

// MaskedSum: the sum of mask' * z, where a rotation by `steps` moves mask' to the mask. The result
// is not rotated yet.
ckks::Ciphertext MaskedSum(const Context& context, std::span<const ckks::Ciphertext* const> z,
                           std::span<const Joining> templates, uint32_t steps) {
  const size_t n = context.n(), count = templates.size(), limbs = z[0]->limbs();
  const ring::Kernels& kernels = ring::ActiveKernels();
  const ring::Permutation* back = nullptr;
  if (steps > 0) {
    back = &context.permutation(ckks::RotationElement(context.params(), -int64_t{steps}));
  }
  ckks::Ciphertext sum;
  for (int p = 0; p < 2; ++p) sum.parts.emplace_back(n, limbs);
  AlignedVector<uint32_t> rotated(back == nullptr ? 0 : count * n);
  std::vector<const uint32_t*> masks(count), values(count);
  for (size_t l = 0; l < limbs; ++l) {
    for (size_t t = 0; t < count; ++t) {
      masks[t] = templates[t].mask.poly.limb(l).data();
      if (back == nullptr) continue;
      kernels.permute(rotated.data() + t * n, masks[t], *back, n);
      masks[t] = rotated.data() + t * n;
    }
    for (size_t p = 0; p < 2; ++p) {
      for (size_t t = 0; t < count; ++t) values[t] = z[t]->parts[p].limb(l).data();
      kernels.inner_product(sum.parts[p].limb(l).data(), masks.data(), values.data(), count, n,
                            context.modulus(l));
    }
  }
  return sum;
}

// kFew: up to this number, templates are rotated by giants one by one, and each sum by babies only.
// For more templates, each sum is also rotated by its giant.
constexpr size_t kFew = 8;

// AddAll: templates are masked and summed before they are rotated, so that a rotation costs one or
// two key switches for any number of templates. The error of the switches is small against the
// scale of a product.
absl::Status AddAll(const Instance& instance, std::span<const Joining> templates,
                    const EvaluationKeys& keys, TiledCiphertexts* block) {
  const Context& context = *instance.context;
  const ckks::Params& params = context.params();
  const RotationGrid& grid = instance.plan.matching.grid;
  if (grid.count() == 0) {
    return absl::InvalidArgumentError(
        "blocks are of the other ring of this profile: use MakeRings' matching ring");
  }
  const std::vector<uint32_t> babies = grid.BabyElements(params),
                              giants = grid.GiantElements(params);
  std::vector<const ckks::SwitchKey*> switch_keys(babies.size(), nullptr);
  for (size_t i = 1; i < babies.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(switch_keys[i], keys.Galois(babies[i], TemplateLimbs(params)));
  }
  const bool few = templates.size() <= kFew;
  std::vector<std::vector<ckks::Ciphertext>> images(few ? templates.size()
                                                        : 0);  // [template][giant]
  HEFT_RETURN_IF_ERROR(TryParallelFor(images.size(), [&](size_t t) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(images[t],
                          ckks::ApplyGaloisHoisted(context, *templates[t].z, giants, keys));
    return absl::OkStatus();
  }));
  const FusionPlan& plan = instance.plan;
  const uint64_t products = templates.size() * plan.gamma;
  ckks::CountOperations(
      {.additions = products,
       .plain_products = products,
       .rotations = uint64_t{plan.matching.giants} * grid.giants * (grid.babies - 1)});
  return TryParallelFor(plan.gamma, [&](size_t at) -> absl::Status {
    const auto k = static_cast<uint32_t>(at);
    // rot(z, k), masked and rotated back by `back`, is rot(z, k - back) times the mask rotated
    // back.
    const uint32_t back = plan.GiantSteps(k);
    const uint32_t j = (k - back) / grid.babies, i = (k - back) % grid.babies;
    std::vector<const ckks::Ciphertext*> z;
    for (size_t t = 0; t < templates.size(); ++t) {
      z.push_back(few ? &images[t][j] : templates[t].z);
    }
    ckks::Ciphertext sum = MaskedSum(context, z, templates, back + (few ? i : k - back));
    if (!few) HEFT_RETURN_IF_ERROR(ckks::ApplyGalois(context, &sum, sum, giants[j], keys));
    AddTiled(context, plan.gamma, k,
             internal::Rotated(context, sum.parts, switch_keys[i], babies[i]), block);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status AddToBlock(const Instance& instance, TiledCiphertexts* block,
                        std::span<const NewTemplate> templates, const EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckTiles(instance, *block, "a gallery block"));
  for (const NewTemplate& t : templates) HEFT_RETURN_IF_ERROR(CheckTemplate(instance.plan, *t.z));
  TiledCiphertexts next = *block;
  for (size_t start = 0; start < templates.size(); start += kTemplatesACall) {
    const auto call = templates.subspan(start, std::min(kTemplatesACall, templates.size() - start));
    std::vector<Joining> joining(call.size());
    HEFT_RETURN_IF_ERROR(TryParallelFor(call.size(), [&](size_t i) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(joining[i], Place(instance, call[i]));
      return absl::OkStatus();
    }));
    HEFT_RETURN_IF_ERROR(AddAll(instance, joining, keys, &next));
  }
  *block = std::move(next);
  return absl::OkStatus();
}

absl::Status TakeFromBlock(const Instance& instance, TiledCiphertexts* block,
                           std::span<const NewTemplate> templates, const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  HEFT_RETURN_IF_ERROR(CheckTiles(instance, *block, "a gallery block"));
  TiledCiphertexts sum = EmptyBlock(context, instance.plan.gamma);
  HEFT_RETURN_IF_ERROR(AddToBlock(instance, &sum, templates, keys));
  const size_t limbs = MatchLimbs(context.params()), per_limb = sum.size() / limbs;
  for (size_t l = 0; l < limbs; ++l) {
    const ring::Modulus& q = context.modulus(l);
    for (size_t i = l * per_limb; i < (l + 1) * per_limb; ++i) {
      (*block)[i] = q.Sub((*block)[i], sum[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace heft
