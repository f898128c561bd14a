// SPDX-License-Identifier: Apache-2.0
#include "paper/methods/packed_gallery.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/inner_product.h"
#include "ckks/key_switch.h"

namespace heft::paper {

using ckks::Ciphertext;
using ckks::Context;

uint32_t PackedPlan::Slot(uint32_t i) const {
  const uint32_t result = i / vectors, window = i % vectors;
  return window * 2 * delta + result % groups * gamma;
}

absl::StatusOr<PackedPlan> PlanPackedGallery(const ckks::Params& params,
                                             const ProjectionPlan& projection,
                                             size_t template_limbs, double template_scale) {
  if (!IsDense(projection.method)) {
    return absl::InvalidArgumentError(
        absl::StrCat("only dense results are packed, not those of the ",
                     ProjectionMethodName(projection.method), " method"));
  }
  if (template_limbs < 3 || template_limbs > params.limbs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("templates of ", template_limbs,
                     " limbs: a mask and a product take one each, and one is "
                     "left for the scores, so 3 to ",
                     params.limbs(), " are needed"));
  }
  PackedPlan plan;
  plan.gamma = projection.gamma;
  plan.delta = projection.delta;
  plan.slots = params.slots();
  plan.vectors = projection.vectors;
  plan.groups = 2 * plan.delta / plan.gamma;
  plan.templates = plan.vectors * plan.groups;
  plan.template_limbs = template_limbs;
  plan.template_scale = template_scale;
  plan.keys.Rotation(params, -int64_t{plan.gamma}, template_limbs);
  for (uint32_t k = 1; k < plan.gamma; k *= 2) plan.keys.Rotation(params, k, template_limbs - 1);
  plan.keys.Relinearisation(template_limbs - 1);
  return plan;
}

absl::StatusOr<PackedMatcher> PackedMatcher::Create(std::shared_ptr<const Context> context,
                                                    const ckks::Encoder& encoder,
                                                    const PackedPlan& plan,
                                                    const ckks::EvaluationKeys* keys) {
  HEFT_RETURN_IF_ERROR(CheckKeys(plan.keys, *keys));
  PackedMatcher matcher;
  matcher.plan_ = plan;
  matcher.keys_ = keys;
  std::vector<double> mask(plan.slots, 0);
  for (uint32_t w = 0; w < plan.vectors; ++w) {
    std::fill_n(mask.begin() + w * 2 * plan.delta, plan.gamma, 1.0);
  }
  // At the scale of the prime that the rescale divides by: the template's scale comes back.
  const double scale = context->modulus(plan.template_limbs - 1).value();
  HEFT_ASSIGN_OR_RETURN(matcher.mask_,
                        encoder.Encode(std::span<const double>(mask), scale, plan.template_limbs));
  matcher.context_ = std::move(context);
  return matcher;
}

absl::StatusOr<std::vector<Ciphertext>> PackedMatcher::Pack(
    std::span<const Ciphertext> results) const {
  std::vector<Ciphertext> gallery;
  for (size_t first = 0; first < results.size(); first += plan_.groups) {
    const size_t count = std::min<size_t>(plan_.groups, results.size() - first);
    // The last result is rotated most: with every one before it, by gamma at a time and one key.
    Ciphertext sum;
    for (size_t i = count; i-- > 0;) {
      Ciphertext masked;
      HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(*context_, &masked, results[first + i], mask_));
      masked.noise.error /= std::sqrt(plan_.groups);  // the mask leaves one slot in `groups`
      if (sum.parts.empty()) {
        sum = std::move(masked);
        continue;
      }
      HEFT_RETURN_IF_ERROR(ckks::Rotate(*context_, &sum, sum, -int64_t{plan_.gamma}, *keys_));
      HEFT_RETURN_IF_ERROR(ckks::Add(*context_, &sum, sum, masked));
    }
    HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &sum, sum));
    sum.noise.message = results[first].noise.message;
    gallery.push_back(std::move(sum));
  }
  return gallery;
}

absl::StatusOr<Ciphertext> PackedMatcher::FoldProduct(const Ciphertext& a,
                                                      const Ciphertext& b) const {
  // For the noise estimate: both lengths are bounded by their messages, and the errors of gamma
  // coordinates add up to that of one times the length.
  Ciphertext left = a, right = b;
  for (Ciphertext* side : {&left, &right}) side->noise.message /= std::sqrt(plan_.gamma);
  Ciphertext out;
  HEFT_RETURN_IF_ERROR(ckks::Multiply(*context_, &out, left, right));
  HEFT_RETURN_IF_ERROR(ckks::Relinearise(*context_, &out, out, *keys_));
  // Before the rescale, where key-switching noise is small against the scale.
  for (uint32_t k = 1; k < plan_.gamma; k *= 2) {
    const uint32_t fold[] = {1, ckks::RotationElement(context_->params(), k)};
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(*context_, &out, out, fold, *keys_));
  }
  HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &out, out));
  out.noise.message = a.noise.message * b.noise.message;
  return out;
}

absl::StatusOr<std::vector<Ciphertext>> PackedMatcher::Match(
    const Ciphertext& probe, std::span<const Ciphertext> gallery) const {
  Ciphertext low;
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(*context_, &low, probe, plan_.template_limbs - 1));
  std::vector<Ciphertext> scores;
  for (const Ciphertext& packed : gallery) {
    HEFT_ASSIGN_OR_RETURN(Ciphertext score, FoldProduct(low, packed));
    scores.push_back(std::move(score));
  }
  return scores;
}

absl::StatusOr<std::vector<Ciphertext>> PackedMatcher::SquaredNorms(
    std::span<const Ciphertext> gallery) const {
  std::vector<Ciphertext> norms;
  for (const Ciphertext& packed : gallery) {
    HEFT_ASSIGN_OR_RETURN(Ciphertext norm, FoldProduct(packed, packed));
    norms.push_back(std::move(norm));
  }
  return norms;
}

absl::StatusOr<Ciphertext> MatchCoordinates(const Context& context,
                                            std::span<const Ciphertext> probe,
                                            std::span<const Ciphertext> gallery,
                                            const ckks::EvaluationKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(Ciphertext score, ckks::InnerProduct(context, probe, gallery));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(context, &score, score, keys));
  score.noise.message = probe[0].noise.message * gallery[0].noise.message;
  return score;
}

}  // namespace heft::paper
