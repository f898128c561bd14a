// SPDX-License-Identifier: Apache-2.0
#include "fusion/projected.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ring/kernels.h"

namespace heft {
namespace {

// The sum over the model's columns of one modality, into `out`.
void AddProjected(const Model& model, size_t index, std::span<const double> unit,
                  std::vector<double>* out) {
  size_t column = 0;
  for (size_t m = 0; m < index; ++m) column += model.modalities[m].dimension;
  for (size_t r = 0; r < model.gamma; ++r) {
    const double* row = model.projection.data() + r * model.TotalDimension() + column;
    for (size_t d = 0; d < unit.size(); ++d) (*out)[r] += row[d] * unit[d];
  }
}

// kEncodedBits: the largest scale for direct encoding. The encoder's integers end at 2^62; their
// rounding at 2^56 is no worse than that of doubles.
constexpr int kEncodedBits = 56;

// BitsToRaise: the power of two from a smaller encoding scale to `scale`.
int BitsToRaise(double scale) {
  return std::max(0, static_cast<int>(std::ceil(std::log2(scale))) - kEncodedBits);
}

// Raise: the same values at a scale 2^bits times as large.
void Raise(const ckks::Context& context, int bits, ckks::Plaintext* plain) {
  for (size_t l = 0; l < plain->poly.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    uint32_t* v = plain->poly.limb(l).data();
    const uint32_t factor = q.ReduceSigned(int64_t{1} << bits);
    ring::ActiveKernels().multiply_scalar(v, v, q.Shoup(factor), plain->poly.n(), q);
  }
  plain->scale = std::ldexp(plain->scale, bits);
  plain->noise.error = std::ldexp(plain->noise.error, bits);
}

}  // namespace

absl::StatusOr<ckks::Plaintext> EncodeProjected(const Instance& instance, SampleUse use,
                                                std::span<const double> z) {
  const FusionPlan& plan = instance.plan;
  std::vector<double> slots(instance.params().slots());
  for (size_t t = 0; t < slots.size(); ++t) slots[t] = z[t % plan.gamma];
  const double scale = ProjectedScale(instance, use);
  const int bits = BitsToRaise(scale);
  HEFT_ASSIGN_OR_RETURN(
      ckks::Plaintext plain,
      instance.encoder->Encode(std::span<const double>(slots), std::ldexp(scale, -bits),
                               instance.params().limbs()));
  if (bits > 0) Raise(*instance.context, bits, &plain);
  return plain;
}

double ProjectedScale(const Instance& instance, SampleUse use) {
  const FusionPlan& plan = instance.plan;
  const bool identification = use == SampleUse::kIdentification;
  // If the plan normalises, the scale of the projection's products; otherwise a template's.
  const bool normalises = plan.normalisation.polynomial.degree > 0;
  const double scale = normalises       ? plan.projection.input_scale * plan.projection.factor_scale
                       : identification ? plan.matching.template_scale
                                        : plan.matching.fused_scale;
  return identification ? scale : scale / FoldedCopies(instance);
}

double FoldedCopies(const Instance& instance) {
  return 2.0 * instance.params().slots() / instance.plan.gamma;
}

absl::StatusOr<ckks::Ciphertext> SumProjected(const Instance& instance, SampleUse use,
                                              std::span<const ckks::Ciphertext* const> modalities) {
  const double scale = ProjectedScale(instance, use);
  ckks::Ciphertext sum;
  for (const ckks::Ciphertext* c : modalities) {
    if (c == nullptr) continue;
    if (c->size() != 2 || c->limbs() != instance.params().limbs() ||
        std::abs(c->scale - scale) > 1e-9 * scale) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a projected vector of ", c->limbs(), " limbs and scale 2^", std::log2(c->scale), "; ",
          instance.params().limbs(), " limbs and scale 2^", std::log2(scale), " are needed"));
    }
    if (sum.parts.empty()) {
      sum = *c;
    } else {
      HEFT_RETURN_IF_ERROR(ckks::Add(*instance.context, &sum, sum, *c));
    }
  }
  if (sum.parts.empty()) return absl::InvalidArgumentError("no modality given");
  return sum;
}

absl::StatusOr<ckks::Ciphertext> FoldFused(const Instance& matching, const ckks::Ciphertext& sample,
                                           const ckks::EvaluationKeys& keys) {
  const ckks::Ciphertext* const one[] = {&sample};
  HEFT_ASSIGN_OR_RETURN(ckks::Ciphertext z, SumProjected(matching, SampleUse::kEnrolment, one));
  for (const auto& fold : matching.plan.projection.folds) {
    HEFT_RETURN_IF_ERROR(ckks::SumGalois(*matching.context, &z, z, fold, keys));
  }
  z.scale = matching.plan.matching.fused_scale;
  z.noise.message = 1;
  return z;
}

absl::StatusOr<std::vector<std::vector<double>>> ProjectRows(
    const Model& model, size_t index, std::span<const std::vector<double>> rows,
    VectorLength length) {
  std::vector<std::vector<double>> out(rows.size(), std::vector<double>(model.gamma, 0.0));
  HEFT_RETURN_IF_ERROR(TryParallelFor(rows.size(), [&](size_t i) -> absl::Status {
    const auto unit = NormalisedVector(rows[i], model.modalities[index], length);
    if (!unit.ok()) return AtRow(unit.status(), i);
    AddProjected(model, index, *unit, &out[i]);
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<std::vector<std::vector<double>>> SumRows(
    const Model& model, std::span<const std::vector<std::vector<double>>> modalities,
    VectorLength length) {
  std::vector<std::vector<double>> out;
  for (size_t m = 0; m < modalities.size(); ++m) {
    if (modalities[m].empty()) continue;
    HEFT_ASSIGN_OR_RETURN(const auto part, ProjectRows(model, m, modalities[m], length));
    if (out.empty()) out.assign(part.size(), std::vector<double>(model.gamma, 0.0));
    if (part.size() != out.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          part.size(), " rows of ", model.modalities[m].name, " for ", out.size(), " of another"));
    }
    for (size_t i = 0; i < part.size(); ++i) {
      for (size_t r = 0; r < model.gamma; ++r) out[i][r] += part[i][r];
    }
  }
  if (out.empty()) return absl::InvalidArgumentError("no modality given");
  return out;
}

absl::StatusOr<std::vector<std::vector<double>>> FuseRows(
    const Model& model, std::span<const std::vector<std::vector<double>>> modalities,
    VectorLength length) {
  HEFT_ASSIGN_OR_RETURN(auto out, SumRows(model, modalities, length));
  for (size_t i = 0; i < out.size(); ++i) {
    const ModalitySpec fused{"fused", model.gamma};
    const auto unit = NormalisedVector(out[i], fused);
    if (!unit.ok()) return AtRow(unit.status(), i);
    out[i] = *unit;
  }
  return out;
}

}  // namespace heft
