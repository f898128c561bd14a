// SPDX-License-Identifier: Apache-2.0
#include "paper/projection_methods.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "fusion/compact.h"
#include "fusion/profile.h"
#include "fusion/scalar_sums.h"

namespace heft::paper {

namespace {

using ckks::Ciphertext;
using ckks::Context;
using ckks::Plaintext;
using ckks::RotationElement;

struct MethodName {
  ProjectionMethod method;
  std::string_view name;
};
constexpr MethodName kNames[] = {{ProjectionMethod::kNaive, "naive"},
                                 {ProjectionMethod::kDiagonalSquare, "diagonal-square"},
                                 {ProjectionMethod::kDiagonalPadded, "diagonal-padded"},
                                 {ProjectionMethod::kHybrid, "hybrid"},
                                 {ProjectionMethod::kHybridBabyGiant, "hybrid-bsgs"},
                                 {ProjectionMethod::kSimd, "simd"},
                                 {ProjectionMethod::kCompact, "compact"}};

bool IsDiagonal(ProjectionMethod method) {
  return method == ProjectionMethod::kDiagonalSquare || method == ProjectionMethod::kDiagonalPadded;
}

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

// The projection of ours with its scales and keys, without what normalises and matches.
absl::StatusOr<FusionPlan> PlanCompact(const ckks::Params& params, const Model& model,
                                       const ProjectionPlan& plan) {
  Model any = model;  // PlanFusion plans a normalisation too: one that it accepts
  any.approximation.stages = {Polynomial{{1, 0, 1}}};
  HEFT_ASSIGN_OR_RETURN(FusionPlan compact, PlanFusion(params, Profile{}, any));
  compact.input_limbs = plan.input_limbs;
  compact.z_limbs = plan.output_limbs;
  compact.input_scale = plan.input_scale;
  compact.factor_scale = plan.factor_scale;
  compact.z_scale = plan.output_scale;
  compact.folds_before_rescale = compact.projection_folds.size();
  compact.relinearisation_limbs = 0;
  compact.galois_keys.clear();
  auto need = [&](uint32_t element) {
    if (element != 1) compact.galois_keys[element] = plan.input_limbs;
  };
  for (const PackedPair& pair : compact.pairs) {
    for (uint32_t i = 1; i < pair.run; ++i) need(RotationElement(params, i));
  }
  for (const auto& fold : compact.projection_folds) {
    for (uint32_t element : fold) need(element);
  }
  return compact;
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

// The vector as it is encrypted, checked.
absl::StatusOr<std::vector<double>> Values(std::span<const double> vector,
                                           const ModalitySpec& modality, bool normalise) {
  HEFT_ASSIGN_OR_RETURN(std::vector<double> unit, NormalisedVector(vector, modality));
  if (!normalise) unit.assign(vector.begin(), vector.end());
  return unit;
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

}  // namespace

std::string ProjectionMethodName(ProjectionMethod method) {
  for (const MethodName& entry : kNames) {
    if (entry.method == method) return std::string(entry.name);
  }
  return "";
}

absl::StatusOr<ProjectionMethod> ParseProjectionMethod(std::string_view name) {
  std::vector<std::string> names;
  for (const MethodName& entry : kNames) {
    if (entry.name == name) return entry.method;
    names.emplace_back(entry.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("no projection method \"", std::string(name),
                                                 "\": there are ", absl::StrJoin(names, ", ")));
}

bool IsDense(ProjectionMethod method) {
  return method != ProjectionMethod::kSimd && method != ProjectionMethod::kCompact;
}

void KeyNeeds::Rotation(const ckks::Params& params, int64_t steps, size_t limbs) {
  const uint32_t element = RotationElement(params, steps);
  if (element == 1) return;
  size_t& have = galois_keys[element];
  have = std::max(have, limbs);
}

void KeyNeeds::Relinearisation(size_t limbs) {
  relinearisation_limbs = std::max(relinearisation_limbs, limbs);
}

void KeyNeeds::Merge(const KeyNeeds& other) {
  for (const auto& [element, limbs] : other.galois_keys) {
    size_t& have = galois_keys[element];
    have = std::max(have, limbs);
  }
  Relinearisation(other.relinearisation_limbs);
}

absl::Status CheckKeys(const KeyNeeds& needs, const ckks::EvaluationKeys& keys) {
  for (const auto& [element, limbs] : needs.galois_keys) {
    HEFT_RETURN_IF_ERROR(keys.Galois(element, limbs).status());
  }
  return keys.Relinearisation(needs.relinearisation_limbs).status();
}

size_t ProjectionPlan::InputCiphertexts(size_t modality) const {
  return method == ProjectionMethod::kSimd ? dimensions[modality] : 1;
}

size_t ProjectionPlan::OutputCiphertexts() const {
  return method == ProjectionMethod::kSimd ? gamma : 1;
}

absl::StatusOr<ProjectionPlan> PlanProjection(const ckks::Params& params, ProjectionMethod method,
                                              const Model& model, size_t input_limbs,
                                              double input_scale, double output_scale) {
  HEFT_RETURN_IF_ERROR(CheckModel(model));
  ProjectionPlan plan;
  plan.method = method;
  plan.gamma = model.gamma;
  plan.delta = std::bit_ceil(model.TotalDimension());
  if (method == ProjectionMethod::kDiagonalSquare && plan.gamma != plan.delta) {
    return absl::InvalidArgumentError(
        absl::StrCat("the square diagonal method needs gamma = delta = ", plan.delta, ", not ",
                     plan.gamma, ": use diagonal-padded"));
  }
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
    return plan;
  }
  if (method == ProjectionMethod::kCompact) {
    plan.vectors = 1;
    HEFT_ASSIGN_OR_RETURN(plan.compact, PlanCompact(params, model, plan));
    plan.keys.galois_keys = plan.compact->galois_keys;
    return plan;
  }
  plan.vectors = params.slots() / (2 * plan.delta);
  if (plan.vectors == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "two copies of ", plan.delta, " values do not fit into ", params.slots(), " slots"));
  }
  // As many baby steps as giant steps, or twice as many: hoisted, they are the cheaper ones.
  plan.baby_steps = method == ProjectionMethod::kHybridBabyGiant
                        ? 1u << (std::bit_width(plan.gamma) / 2)
                        : plan.gamma;
  PlanDenseKeys(params, &plan);
  return plan;
}

absl::StatusOr<std::vector<Plaintext>> EncodeForProjection(
    const ckks::Encoder& encoder, const ProjectionPlan& plan, const Model& model, size_t index,
    std::span<const std::vector<double>> vectors, bool normalise) {
  if (index >= model.modalities.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no modality ", index));
  }
  if (vectors.empty() || vectors.size() > plan.vectors) {
    return absl::InvalidArgumentError(
        absl::StrCat(vectors.size(), " vectors for a batch of ", plan.vectors));
  }
  std::vector<std::vector<double>> values;
  for (const std::vector<double>& vector : vectors) {
    HEFT_ASSIGN_OR_RETURN(auto row, Values(vector, model.modalities[index], normalise));
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
        CompactSlots(values[0], plan.compact->pairs[index / 2].run, plan.gamma, slots));
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
  const uint32_t gamma = plan_.gamma, delta = plan_.delta, slots = encoder.slots();
  const uint32_t columns = model.TotalDimension();
  auto entry = [&](uint32_t row, uint32_t column) {
    return row < gamma && column < columns ? model.projection[size_t{row} * columns + column] : 0.0;
  };
  const bool naive = plan_.method == ProjectionMethod::kNaive;
  const uint32_t count = IsDiagonal(plan_.method) ? delta : gamma;
  // For the noise estimate: a row's products with the errors of delta coordinates add up to its
  // length times that of one.
  double longest = 0;
  for (uint32_t r = 0; r < gamma; ++r) {
    double squares = 0;
    for (uint32_t c = 0; c < columns; ++c) squares += entry(r, c) * entry(r, c);
    longest = std::max(longest, squares);
  }
  const double root_mean_square = std::sqrt(longest / delta);
  std::vector<double> values(slots);
  for (uint32_t i = 0; i < count; ++i) {
    // A giant step rotates the sum over its baby steps, factors and all: they are shifted back.
    const uint32_t giant = i - i % plan_.baby_steps;
    for (uint32_t t = 0; t < slots; ++t) {
      const uint32_t from = (t + slots - giant) % slots;
      if (naive) {
        values[t] = entry(i, t % delta);
      } else if (IsDiagonal(plan_.method)) {
        values[t] = entry(t % delta, (t + i) % delta);
      } else {
        values[t] = entry(from % gamma, (from + i) % delta);
      }
    }
    HEFT_ASSIGN_OR_RETURN(auto factor, encoder.Encode(std::span<const double>(values),
                                                      plan_.factor_scale, plan_.input_limbs));
    factor.noise.message = root_mean_square;
    factors_.push_back(std::move(factor));
    if (!naive) continue;
    // At the scale of the prime that the rescale divides by: z's scale comes back.
    for (uint32_t t = 0; t < slots; ++t) values[t] = t % gamma == i ? 1 : 0;
    const size_t limbs = plan_.input_limbs - 1;
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
    for (const PackedPair& pair : plan_.compact->pairs) {
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
