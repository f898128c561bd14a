// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/scalar_sums.h"
#include "paper/methods/projection.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;
using ckks::Context;
using ckks::Plaintext;
using ckks::RotationElement;

// out += shifted by `steps`.
absl::Status AddRotated(const Context& context, Ciphertext* out, int64_t steps,
                        const ckks::EvaluationKeys& keys) {
  Ciphertext shifted;
  HEFT_RETURN_IF_ERROR(ckks::Rotate(context, &shifted, *out, steps, keys));
  return ckks::Add(context, out, *out, shifted);
}

// sum += term, or sum = term where there is none yet.
absl::Status Accumulate(const Context& context, Ciphertext* sum, Ciphertext term) {
  if (!sum->parts.empty()) return ckks::Add(context, sum, *sum, term);
  *sum = std::move(term);
  return absl::OkStatus();
}

// Entry of the matrix padded by zeros.
double Entry(const Model& model, uint32_t row, uint32_t column) {
  const uint32_t columns = model.TotalDimension();
  return row < model.gamma && column < columns ? model.projection[size_t{row} * columns + column]
                                               : 0.0;
}

// RowRms, for the noise estimate: a row's products with the errors of delta coordinates add up to
// its length times that of one.
double RowRms(const Model& model, uint32_t delta) {
  double longest = 0;
  for (uint32_t r = 0; r < model.gamma; ++r) {
    double squares = 0;
    for (uint32_t c = 0; c < delta; ++c) squares += Entry(model, r, c) * Entry(model, r, c);
    longest = std::max(longest, squares);
  }
  return std::sqrt(longest / delta);
}

// FactorSlots: what the i-th product of a dense method multiplies by.
std::vector<double> FactorSlots(const ProjectionPlan& plan, const Model& model, uint32_t i,
                                uint32_t slots) {
  const uint32_t gamma = plan.gamma, delta = plan.delta;
  // A giant step rotates the sum over its baby steps, factors and all: they are shifted back.
  const uint32_t giant = i - i % plan.baby_steps;
  std::vector<double> values(slots);
  for (uint32_t t = 0; t < slots; ++t) {
    const uint32_t from = (t + slots - giant) % slots;
    values[t] = plan.method == ProjectionMethod::kNaive ? Entry(model, i, t % delta)
                : IsDiagonal(plan.method)               ? Entry(model, t % delta, (t + i) % delta)
                                          : Entry(model, from % gamma, (from + i) % delta);
  }
  return values;
}

}  // namespace

absl::StatusOr<Projector> Projector::Create(std::shared_ptr<const Context> context,
                                            const ckks::Encoder& encoder,
                                            const ProjectionPlan& plan, const Model& model,
                                            const ckks::EvaluationKeys* keys) {
  HEFT_RETURN_IF_ERROR(CheckKeys(plan.keys, *keys));
  Projector projector;
  projector.context_ = context;
  projector.plan_ = plan;
  projector.keys_ = keys;
  if (plan.method == ProjectionMethod::kCompact) {
    const Instance instance{context, std::make_shared<ckks::Encoder>(context), *plan.compact};
    HEFT_ASSIGN_OR_RETURN(Fuser fuser, Fuser::Create(instance, model, keys));
    projector.fuser_ = std::make_shared<const Fuser>(std::move(fuser));
  } else if (plan.method == ProjectionMethod::kSimd) {
    for (double p : model.projection) {
      if (!(std::abs(p * plan.factor_scale) < 0x1p62)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the projection's factor ", p, " is too large"));
      }
      projector.weights_.push_back(std::llround(p * plan.factor_scale));
    }
  } else {
    HEFT_RETURN_IF_ERROR(projector.EncodeFactors(encoder, model));
  }
  return projector;
}

absl::Status Projector::EncodeFactors(const ckks::Encoder& encoder, const Model& model) {
  const double message = RowRms(model, plan_.delta);
  const uint32_t count = IsDiagonal(plan_.method) ? plan_.delta : plan_.gamma;
  for (uint32_t i = 0; i < count; ++i) {
    const std::vector<double> values = FactorSlots(plan_, model, i, encoder.slots());
    HEFT_ASSIGN_OR_RETURN(auto factor, encoder.Encode(std::span<const double>(values),
                                                      plan_.factor_scale, plan_.input_limbs));
    factor.noise.message = message;
    factors_.push_back(std::move(factor));
  }
  if (plan_.method == ProjectionMethod::kNaive) return EncodeMasks(encoder);
  return absl::OkStatus();
}

absl::Status Projector::EncodeMasks(const ckks::Encoder& encoder) {
  const size_t limbs = plan_.input_limbs - 1;
  std::vector<double> values(encoder.slots());
  for (uint32_t i = 0; i < plan_.gamma; ++i) {
    for (uint32_t t = 0; t < values.size(); ++t) values[t] = t % plan_.gamma == i ? 1 : 0;
    // At the scale of the prime that the rescale divides by: z's scale comes back.
    HEFT_ASSIGN_OR_RETURN(auto mask, encoder.Encode(std::span<const double>(values),
                                                    context_->modulus(limbs - 1).value(), limbs));
    masks_.push_back(std::move(mask));
  }
  return absl::OkStatus();
}

size_t Projector::PlaintextBytes() const {
  size_t bytes = 0;
  for (const auto* plaintexts : {&factors_, &masks_}) {
    for (const Plaintext& p : *plaintexts) bytes += p.poly.values().size_bytes();
  }
  if (fuser_ != nullptr) {
    for (const PackedPair& pair : plan_.compact->projection.pairs) {
      bytes += size_t{pair.run} * context_->n() * (plan_.input_limbs + 1) * sizeof(uint32_t);
    }
  }
  return bytes;
}

absl::StatusOr<std::vector<Ciphertext>> Projector::Concatenate(
    std::span<const std::vector<Ciphertext>> modalities) const {
  if (modalities.size() != plan_.dimensions.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(modalities.size(), " modalities given, ", plan_.dimensions.size(), " needed"));
  }
  std::vector<Ciphertext> out;
  for (size_t m = 0; m < modalities.size(); ++m) {
    const std::vector<Ciphertext>& batch = modalities[m];
    if (!batch.empty() && batch.size() != plan_.InputCiphertexts(m)) {
      return absl::InvalidArgumentError(absl::StrCat("modality ", m, " has ", batch.size(),
                                                     " ciphertexts, a batch takes ",
                                                     plan_.InputCiphertexts(m)));
    }
    for (const Ciphertext& c : batch) {
      if (c.size() == 2 && c.limbs() == plan_.input_limbs) continue;
      return absl::InvalidArgumentError(absl::StrCat("an input of ", c.size(), " parts and ",
                                                     c.limbs(), " limbs, fresh ones with ",
                                                     plan_.input_limbs, " are needed"));
    }
    if (!IsDense(plan_.method)) {
      // Side by side; a missing modality's place stays empty.
      out.insert(out.end(), batch.begin(), batch.end());
      if (batch.empty()) out.resize(out.size() + plan_.InputCiphertexts(m));
      continue;
    }
    if (batch.empty()) continue;
    Ciphertext shifted;
    HEFT_RETURN_IF_ERROR(ckks::Rotate(*context_, &shifted, batch[0], -plan_.offsets[m], *keys_));
    if (out.empty()) out.emplace_back();
    HEFT_RETURN_IF_ERROR(Accumulate(*context_, &out[0], std::move(shifted)));
  }
  if (std::ranges::all_of(out, [](const Ciphertext& c) { return c.parts.empty(); })) {
    return absl::InvalidArgumentError("no modality given");
  }
  return out;
}

absl::StatusOr<std::vector<Ciphertext>> Projector::Project(
    std::span<const Ciphertext> concatenated) const {
  if (plan_.method == ProjectionMethod::kSimd) return ProjectSimd(concatenated);
  std::vector<Ciphertext> out(1);
  if (plan_.method == ProjectionMethod::kCompact) {
    std::vector<const Ciphertext*> modalities;
    for (const Ciphertext& c : concatenated) modalities.push_back(c.parts.empty() ? nullptr : &c);
    HEFT_ASSIGN_OR_RETURN(out[0], fuser_->Project(modalities));
    return out;
  }
  if (concatenated.size() != 1 || concatenated[0].limbs() != plan_.input_limbs) {
    return absl::InvalidArgumentError("a dense projection takes Concatenate's one ciphertext");
  }
  const Ciphertext& x = concatenated[0];
  if (plan_.method == ProjectionMethod::kNaive) {
    HEFT_ASSIGN_OR_RETURN(out[0], ProjectNaive(x));
  } else if (IsDiagonal(plan_.method)) {
    HEFT_ASSIGN_OR_RETURN(out[0], ProjectDiagonal(x));
  } else if (plan_.method == ProjectionMethod::kHybrid) {
    HEFT_ASSIGN_OR_RETURN(out[0], ProjectHybrid(x));
  } else {
    HEFT_ASSIGN_OR_RETURN(out[0], ProjectBabyGiant(x));
  }
  // One coordinate of z is at most its length.
  out[0].noise.message = std::sqrt(plan_.interval_hi);
  return out;
}

absl::StatusOr<Ciphertext> Projector::ProjectNaive(const Ciphertext& x) const {
  Ciphertext sum;
  for (uint32_t i = 0; i < plan_.gamma; ++i) {
    Ciphertext row;
    HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(*context_, &row, x, factors_[i]));
    for (uint32_t k = plan_.delta / 2; k >= 1; k /= 2) {
      HEFT_RETURN_IF_ERROR(AddRotated(*context_, &row, k, *keys_));
    }
    HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &row, row));
    row.noise.message = std::sqrt(plan_.interval_hi);
    HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(*context_, &row, row, masks_[i]));
    row.noise.error /= std::sqrt(plan_.gamma);  // the mask leaves one slot in gamma
    HEFT_RETURN_IF_ERROR(Accumulate(*context_, &sum, std::move(row)));
  }
  HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &sum, sum));
  return sum;
}

absl::StatusOr<Ciphertext> Projector::ProjectDiagonal(const Ciphertext& x) const {
  // One step at a time: delta - 1 keys of their own would take gigabytes.
  Ciphertext sum, rotated = x;
  for (uint32_t i = 0; i < plan_.delta; ++i) {
    if (i > 0) HEFT_RETURN_IF_ERROR(ckks::Rotate(*context_, &rotated, rotated, 1, *keys_));
    Ciphertext term;
    HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(*context_, &term, rotated, factors_[i]));
    HEFT_RETURN_IF_ERROR(Accumulate(*context_, &sum, std::move(term)));
  }
  HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &sum, sum));
  // The rows below gamma are zero; the next stages want z repeated there. Zero rows have no share
  // in the error of x either, so the folds add only what the factors' and other roundings left
  // there.
  const ckks::Params& params = context_->params();
  const double error = sum.noise.error;
  const double rounded_factors = std::sqrt(plan_.delta) * ckks::EncodingError(params) * x.scale /
                                 context_->modulus(plan_.output_limbs).value();
  sum.noise.error = ckks::Combine(ckks::RoundingError(params), rounded_factors);
  for (uint32_t k = plan_.gamma; k < plan_.delta; k *= 2) {
    HEFT_RETURN_IF_ERROR(AddRotated(*context_, &sum, -int64_t{k}, *keys_));
  }
  sum.noise.error = ckks::Combine(sum.noise.error, error);
  return sum;
}

absl::StatusOr<Ciphertext> Projector::ProjectHybrid(const Ciphertext& x) const {
  Ciphertext sum;
  for (uint32_t i = 0; i < plan_.gamma; ++i) {
    Ciphertext term;
    HEFT_RETURN_IF_ERROR(ckks::Rotate(*context_, &term, x, i, *keys_));
    HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(*context_, &term, term, factors_[i]));
    HEFT_RETURN_IF_ERROR(Accumulate(*context_, &sum, std::move(term)));
  }
  return FoldAndRescale(std::move(sum));
}

absl::StatusOr<Ciphertext> Projector::ProjectBabyGiant(const Ciphertext& x) const {
  std::vector<uint32_t> elements;
  for (uint32_t i = 0; i < plan_.baby_steps; ++i) {
    elements.push_back(RotationElement(context_->params(), i));
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> baby,
                        ckks::ApplyGaloisHoisted(*context_, x, elements, *keys_));
  Ciphertext sum;
  for (uint32_t giant = 0; giant < plan_.gamma; giant += plan_.baby_steps) {
    Ciphertext inner;
    for (uint32_t i = 0; i < plan_.baby_steps; ++i) {
      Ciphertext term;
      HEFT_RETURN_IF_ERROR(ckks::MultiplyPlain(*context_, &term, baby[i], factors_[giant + i]));
      HEFT_RETURN_IF_ERROR(Accumulate(*context_, &inner, std::move(term)));
    }
    HEFT_RETURN_IF_ERROR(ckks::Rotate(*context_, &inner, inner, giant, *keys_));
    HEFT_RETURN_IF_ERROR(Accumulate(*context_, &sum, std::move(inner)));
  }
  return FoldAndRescale(std::move(sum));
}

absl::StatusOr<Ciphertext> Projector::FoldAndRescale(Ciphertext sum) const {
  for (uint32_t k = plan_.delta / 2; k >= plan_.gamma; k /= 2) {
    HEFT_RETURN_IF_ERROR(AddRotated(*context_, &sum, k, *keys_));
  }
  HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &sum, sum));
  return sum;
}

absl::StatusOr<std::vector<Ciphertext>> Projector::ProjectSimd(
    std::span<const Ciphertext> x) const {
  const size_t total = weights_.size() / plan_.gamma;
  if (x.size() != total) {
    return absl::InvalidArgumentError(
        absl::StrCat(x.size(), " coordinates given, ", total, " needed"));
  }
  std::vector<Ciphertext> sums(plan_.gamma);
  for (Ciphertext& sum : sums) {
    for (int p = 0; p < 2; ++p) {
      sum.parts.emplace_back(context_->n(), plan_.input_limbs);
      std::ranges::fill(sum.parts[p].values(), 0u);
    }
    sum.scale = plan_.input_scale * plan_.factor_scale;
    // A weight is rounded to an integer: at most the length of the inputs times 1/12 of variance.
    const double rounding = std::sqrt(static_cast<double>(plan_.dimensions.size()) / 12);
    sum.noise = {std::sqrt(plan_.interval_hi), rounding * plan_.input_scale};
  }
  for (size_t m = 0; m < plan_.dimensions.size(); ++m) {
    const auto columns = x.subspan(plan_.offsets[m], plan_.dimensions[m]);
    if (columns[0].parts.empty()) continue;  // a missing modality
    internal::AddScalarSums(*context_, sums, columns, weights_.data() + plan_.offsets[m], total);
  }
  for (Ciphertext& sum : sums) HEFT_RETURN_IF_ERROR(ckks::Rescale(*context_, &sum, sum));
  return sums;
}

}  // namespace heft::paper
