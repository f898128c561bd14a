// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "fusion/compact.h"
#include "paper/methods/projection.h"

namespace heft::paper {
namespace {

using ckks::Plaintext;

absl::Status CheckModel(const Model& model) {
  const uint32_t gamma = model.gamma;
  if (model.modalities.empty() || !std::has_single_bit(gamma) || gamma < 2 ||
      gamma > std::bit_ceil(model.TotalDimension()) ||
      model.projection.size() != size_t{gamma} * model.TotalDimension()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a projection of ", model.projection.size(), " numbers from ", model.TotalDimension(),
        " coordinates to gamma = ", gamma,
        ": gamma must be a power of two, at most the coordinates padded to one, and the matrix "
        "gamma x coordinates"));
  }
  return absl::OkStatus();
}

// PlanOurs: the compact projection without what normalises and matches.
absl::Status PlanOurs(const ckks::Params& params, const Model& model, ProjectionPlan* plan) {
  FusionPlan& compact = plan->compact.emplace();
  compact.gamma = plan->gamma;
  compact.normalisation.interval_hi = plan->interval_hi;
  compact.projection.input_limbs = plan->input_limbs;
  compact.projection.z_limbs = plan->output_limbs;
  compact.projection.input_scale = plan->input_scale;
  compact.projection.factor_scale = plan->factor_scale;
  compact.projection.z_scale = plan->output_scale;
  plan->vectors = 1;
  HEFT_RETURN_IF_ERROR(PlanCompactProjection(params, model, &compact));
  plan->keys = compact.keys;
  return absl::OkStatus();
}

void PlanDenseKeys(const ckks::Params& params, ProjectionPlan* plan) {
  KeyNeeds& keys = plan->keys;
  const size_t limbs = plan->input_limbs;
  for (int64_t offset : plan->offsets) keys.Rotation(params, -offset, limbs);
  const uint32_t smallest_fold = plan->method == ProjectionMethod::kNaive ? 1 : plan->gamma;
  if (IsDiagonal(plan->method)) {
    keys.Rotation(params, 1, limbs);
    for (uint32_t k = plan->gamma; k < plan->delta; k *= 2) {
      keys.Rotation(params, -int64_t{k}, plan->output_limbs);
    }
    return;
  }
  for (uint32_t k = smallest_fold; k < plan->delta; k *= 2) keys.Rotation(params, k, limbs);
  if (plan->method == ProjectionMethod::kNaive) return;
  const uint32_t baby_steps = plan->baby_steps;
  for (uint32_t i = 1; i < std::min(baby_steps, plan->gamma); ++i) keys.Rotation(params, i, limbs);
  for (uint32_t i = baby_steps; i < plan->gamma; i += baby_steps) keys.Rotation(params, i, limbs);
}

// PlanDense: windows of two copies, and the keys.
absl::Status PlanDense(const ckks::Params& params, ProjectionPlan* plan) {
  if (plan->method == ProjectionMethod::kDiagonalSquare && plan->gamma != plan->delta) {
    return absl::InvalidArgumentError(
        absl::StrCat("the square diagonal method needs gamma = delta = ", plan->delta, ", not ",
                     plan->gamma, ": use diagonal-padded"));
  }
  plan->vectors = params.slots() / (2 * plan->delta);
  if (plan->vectors == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "two copies of ", plan->delta, " values do not fit into ", params.slots(), " slots"));
  }
  // As many baby steps as giant steps, or twice as many: hoisted, they are the cheaper ones.
  plan->baby_steps = plan->method == ProjectionMethod::kHybridBabyGiant
                         ? 1u << (std::bit_width(plan->gamma) / 2)
                         : plan->gamma;
  PlanDenseKeys(params, plan);
  return absl::OkStatus();
}

// Slots of one dense ciphertext: every vector twice in its window.
std::vector<double> DenseSlots(std::span<const std::vector<double>> values,
                               const ProjectionPlan& plan, uint32_t slots) {
  std::vector<double> out(slots, 0);
  for (uint32_t w = 0; w < plan.vectors; ++w) {
    if (values.size() > 1 && w >= values.size()) break;
    const std::vector<double>& vector = values.size() == 1 ? values[0] : values[w];
    for (uint32_t copy = 0; copy < 2; ++copy) {
      std::copy(vector.begin(), vector.end(), out.begin() + (2 * w + copy) * plan.delta);
    }
  }
  return out;
}

}  // namespace

std::string ProjectionMethodName(ProjectionMethod method) {
  constexpr const char* kNames[] = {
      "naive", "diagonal-square", "diagonal-padded", "hybrid", "hybrid-bsgs", "simd", "compact"};
  return kNames[static_cast<size_t>(method)];
}

bool IsDense(ProjectionMethod method) {
  return method != ProjectionMethod::kSimd && method != ProjectionMethod::kCompact;
}

bool IsDiagonal(ProjectionMethod method) {
  return method == ProjectionMethod::kDiagonalSquare || method == ProjectionMethod::kDiagonalPadded;
}

size_t ProjectionPlan::InputCiphertexts(size_t modality) const {
  return method == ProjectionMethod::kSimd ? dimensions[modality] : 1;
}

absl::StatusOr<ProjectionPlan> PlanProjection(const ckks::Params& params, ProjectionMethod method,
                                              const Model& model, size_t input_limbs,
                                              double input_scale, double output_scale) {
  HEFT_RETURN_IF_ERROR(CheckModel(model));
  ProjectionPlan plan;
  plan.method = method;
  plan.gamma = model.gamma;
  plan.delta = std::bit_ceil(model.TotalDimension());
  int64_t offset = 0;
  for (const ModalitySpec& modality : model.modalities) {
    plan.dimensions.push_back(modality.dimension);
    plan.offsets.push_back(offset);
    offset += modality.dimension;
  }
  const size_t levels = method == ProjectionMethod::kNaive ? 2 : 1;
  plan.input_limbs = input_limbs == 0 ? params.limbs() : input_limbs;
  if (plan.input_limbs > params.limbs() || plan.input_limbs <= levels) {
    return absl::InvalidArgumentError(absl::StrCat("a projection from ", plan.input_limbs,
                                                   " limbs, the parameters have ", params.limbs(),
                                                   " and it takes ", levels));
  }
  plan.output_limbs = plan.input_limbs - levels;
  plan.input_scale = input_scale;
  plan.output_scale = output_scale == 0 ? input_scale : output_scale;
  plan.factor_scale =
      plan.output_scale * params.modulus(plan.input_limbs - 1).value() / input_scale;
  plan.interval_hi = model.approximation.interval.hi;
  if (method == ProjectionMethod::kSimd) {
    plan.vectors = params.slots();
  } else if (method == ProjectionMethod::kCompact) {
    HEFT_RETURN_IF_ERROR(PlanOurs(params, model, &plan));
  } else {
    HEFT_RETURN_IF_ERROR(PlanDense(params, &plan));
  }
  return plan;
}

absl::StatusOr<std::vector<Plaintext>> EncodeForProjection(
    const ckks::Encoder& encoder, const ProjectionPlan& plan, const Model& model, size_t index,
    std::span<const std::vector<double>> vectors) {
  if (index >= model.modalities.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no modality ", index));
  }
  if (vectors.empty() || vectors.size() > plan.vectors) {
    return absl::InvalidArgumentError(
        absl::StrCat(vectors.size(), " vectors for a batch of ", plan.vectors));
  }
  std::vector<std::vector<double>> values;
  for (const std::vector<double>& vector : vectors) {
    HEFT_ASSIGN_OR_RETURN(auto row, NormalisedVector(vector, model.modalities[index]));
    values.push_back(std::move(row));
  }
  const uint32_t slots = encoder.slots();
  std::vector<std::vector<double>> layouts;
  if (plan.method == ProjectionMethod::kSimd) {
    for (uint32_t d = 0; d < plan.dimensions[index]; ++d) {
      std::vector<double> column(values.size() == 1 ? slots : values.size());
      for (size_t j = 0; j < column.size(); ++j) column[j] = values[j % values.size()][d];
      layouts.push_back(std::move(column));
    }
  } else if (plan.method == ProjectionMethod::kCompact) {
    layouts.push_back(
        CompactSlots(values[0], plan.compact->projection.pairs[index / 2].run, plan.gamma, slots));
  } else {
    layouts.push_back(DenseSlots(values, plan, slots));
  }
  std::vector<Plaintext> out;
  for (const std::vector<double>& layout : layouts) {
    HEFT_ASSIGN_OR_RETURN(Plaintext plain, encoder.Encode(std::span<const double>(layout),
                                                          plan.input_scale, plan.input_limbs));
    plain.noise.message = 1;  // as EncodeCompact: no coordinate of a template in the clear
    out.push_back(std::move(plain));
  }
  return out;
}

std::vector<std::vector<double>> ReadProjection(const ProjectionPlan& plan,
                                                std::span<const std::vector<ckks::Complex>> slots,
                                                uint32_t count) {
  std::vector<std::vector<double>> rows(count, std::vector<double>(plan.gamma));
  for (uint32_t j = 0; j < count; ++j) {
    for (uint32_t r = 0; r < plan.gamma; ++r) {
      rows[j][r] = plan.method == ProjectionMethod::kSimd
                       ? slots[r][j].real()
                       : slots[0][size_t{j} * 2 * plan.delta + r].real();
    }
  }
  return rows;
}

}  // namespace heft::paper
