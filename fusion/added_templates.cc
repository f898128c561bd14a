// SPDX-License-Identifier: Apache-2.0
// Templates that join a gallery block one by one, or leave it.
#include <algorithm>

#include "base/threads.h"
#include "ckks/digits.h"
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

namespace {

// Joining: a template and the mask of the slot that it is to fill, TemplateLimbs limbs.
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

// MaskedSum: both parts of the sum over templates of mask' * z, where a rotation that `inverse`
// undoes brings mask' to the mask. Nothing is rotated yet.
void MaskedSum(const Context& context, std::span<const Joining> templates,
               const ring::Permutation* inverse, ring::RnsPoly sum[2]) {
  const size_t n = context.n(), count = templates.size();
  const ring::Kernels& kernels = ring::ActiveKernels();
  AlignedVector<uint32_t> rotated(inverse == nullptr ? 0 : count * n);
  std::vector<const uint32_t*> masks(count), values(count);
  for (size_t l = 0; l < sum[0].limbs(); ++l) {
    for (size_t t = 0; t < count; ++t) {
      masks[t] = templates[t].mask.poly.limb(l).data();
      if (inverse == nullptr) continue;
      kernels.permute(rotated.data() + t * n, masks[t], *inverse, n);
      masks[t] = rotated.data() + t * n;
    }
    for (size_t p = 0; p < 2; ++p) {
      for (size_t t = 0; t < count; ++t) values[t] = templates[t].z->parts[p].limb(l).data();
      kernels.inner_product(sum[p].limb(l).data(), masks.data(), values.data(), count, n,
                            context.modulus(l));
    }
  }
}

// Rotated: a masked sum under the automorphism `element`, rescaled to MatchLimbs limbs. A null key
// stands for the identity.
std::vector<ring::RnsPoly> Rotated(const Context& context, const ring::RnsPoly sum[2],
                                   const ckks::SwitchKey* key, uint32_t element) {
  const size_t n = context.n(), limbs = sum[0].limbs();
  ckks::SwitchSum switched(n, limbs);
  const ring::RnsPoly* const plain[2] = {&sum[0], key == nullptr ? &sum[1] : nullptr};
  if (key == nullptr) {
    for (ring::RnsPoly& part : switched.part) std::ranges::fill(part.values(), 0);
    return ckks::CloseSwitch(context, switched, plain, /*rescale=*/true);
  }
  const ckks::Digits digits(context, sum[1]);
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

// AddAll: templates are masked and summed before they are rotated, so that a rotation costs one key
// switch however many there are; its error is small against the scale of a product.
absl::Status AddAll(const Instance& instance, std::span<const Joining> templates,
                    const EvaluationKeys& keys, TiledCiphertexts* block) {
  const Context& context = *instance.context;
  const size_t limbs = TemplateLimbs(context.params());
  const std::vector<uint32_t>& rotations = instance.plan.matching.rotations;
  std::vector<const ckks::SwitchKey*> switch_keys(rotations.size(), nullptr);
  for (size_t k = 0; k < rotations.size(); ++k) {
    if (rotations[k] == 1) continue;
    HEFT_ASSIGN_OR_RETURN(switch_keys[k], keys.Galois(rotations[k], limbs));
  }
  const uint64_t products = templates.size() * rotations.size();
  ckks::CountOperations(
      {.additions = products, .plain_products = products, .rotations = rotations.size() - 1});
  ParallelFor(rotations.size(), [&](size_t k) {
    ring::RnsPoly sum[2] = {ring::RnsPoly(context.n(), limbs), ring::RnsPoly(context.n(), limbs)};
    const ring::Permutation* inverse = nullptr;
    if (switch_keys[k] != nullptr) {
      inverse = &context.permutation(ckks::RotationElement(context.params(), -int64_t(k)));
    }
    MaskedSum(context, templates, inverse, sum);
    AddTiled(context, instance.plan.gamma, static_cast<uint32_t>(k),
             Rotated(context, sum, switch_keys[k], rotations[k]), block);
  });
  return absl::OkStatus();
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
