// SPDX-License-Identifier: Apache-2.0
#include "fusion/bulk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/inner_product.h"
#include "ckks/key_switch.h"
#include "ckks/operation_counts.h"
#include "ckks/ring_switch.h"
#include "fusion/block_internal.h"
#include "fusion/compact.h"
#include "fusion/cyclic_sums.h"
#include "fusion/fuser.h"
#include "fusion/normalise.h"
#include "fusion/scalar_sums.h"
#include "ring/kernels.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using ckks::Complex;
using ckks::Context;
using ckks::EvaluationKeys;

absl::Status CheckCount(size_t count, uint32_t slots, const char* what) {
  if (count >= 1 && count <= slots) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(count, " ", what, ": a batch takes 1 to ", slots, ", split it"));
}

// The fewest rotations, by steps with keys in the plan, whose sum is `steps` slots.
absl::StatusOr<std::vector<uint32_t>> RotationPath(const Instance& instance, uint32_t steps) {
  const ckks::Params& params = instance.params();
  const uint32_t slots = params.slots();
  const auto& galois = instance.plan.keys.galois_keys;
  std::vector<uint32_t> available;
  for (uint32_t s = 1; s < slots; ++s) {
    const auto key = galois.find(ckks::RotationElement(params, s));
    if (key != galois.end() && key->second >= TemplateLimbs(params)) {
      available.push_back(s);
    }
  }
  std::vector<uint32_t> last(slots, 0);  // the last rotation on a shortest path from 0
  std::queue<uint32_t> reached({0});
  while (!reached.empty() && last[steps] == 0 && steps != 0) {
    const uint32_t at = reached.front();
    reached.pop();
    for (uint32_t s : available) {
      const uint32_t to = (at + s) % slots;
      if (to == 0 || last[to] != 0) continue;
      last[to] = s;
      reached.push(to);
    }
  }
  std::vector<uint32_t> path;
  for (uint32_t at = steps; at != 0; at = (at + slots - last[at]) % slots) {
    if (last[at] == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the plan has no keys to rotate by ", steps, " slots"));
    }
    path.push_back(last[at]);
  }
  return path;
}

// Whether all slots [slot, slot + count) hold samples of the batch.
bool Holds(const TemplateBatch& batch, uint32_t slots, uint32_t slot, uint32_t count) {
  const uint32_t sample = (slot + slots - batch.first) % slots;
  return count >= 1 && slot < slots && count <= slots - slot && sample < batch.count &&
         count <= batch.count - sample;
}

// Mask: for term e < gamma, or for gamma + e, which is the odd half of e.
struct Mask {
  uint32_t term;
  ckks::Plaintext plain;
};

// SlotsByMask: the slots of [slot, slot + count) whose samples join, grouped by mask.
std::vector<std::vector<uint32_t>> SlotsByMask(const Instance& instance, const TemplateBatch& batch,
                                               uint32_t batch_slots, uint32_t slot,
                                               uint32_t count) {
  const uint32_t gamma = instance.plan.gamma, slots = instance.params().slots();
  std::vector<std::vector<uint32_t>> of_mask(gamma);
  for (uint32_t i = 0; i < count; ++i) {
    if (!batch.Joins((slot + i + batch_slots - batch.first) % batch_slots)) continue;
    const uint32_t j = slot % slots + i;
    of_mask[j % gamma].push_back(j);
  }
  std::erase_if(of_mask, [](const auto& of) { return of.empty(); });
  return of_mask;
}

// EncodeMasks: mask_e for each e with slots, and for a split batch also the masks of its odd
// halves: in slot j of the half, even + zeta^(3^j) odd are the first half's samples, and even -
// zeta^(3^j) odd the second's. `second`: for the second half.
absl::StatusOr<std::vector<Mask>> EncodeMasks(const Instance& instance,
                                              std::span<const std::vector<uint32_t>> of_mask,
                                              uint32_t lane, bool split, bool second) {
  const size_t limbs = TemplateLimbs(instance.params());
  const FusionPlan& plan = instance.plan;
  const double scale = MaskScale(plan, plan.matching.template_scale, plan.matching.block_scale);
  std::vector<Mask> masks(split ? 2 * of_mask.size() : of_mask.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(masks.size(), [&](size_t i) -> absl::Status {
    const bool odd = i >= of_mask.size();
    const std::vector<uint32_t>& filled = of_mask[i % of_mask.size()];
    std::vector<Complex> values(instance.params().slots(), 0);
    for (const uint32_t j : filled) {
      const double own = SlotSign(plan, j, lane);
      values[j] = lane == 0 ? Complex(own, 0) : Complex(0, own);
      if (odd) values[j] *= (second ? -1.0 : 1.0) * ckks::OddFactor(*instance.context, j);
    }
    masks[i].term = filled.front() % plan.gamma + (odd ? plan.gamma : 0);
    HEFT_ASSIGN_OR_RETURN(masks[i].plain, instance.encoder->Encode(values, scale, limbs));
    return absl::OkStatus();
  }));
  return masks;
}

// Turn: a rotation.
struct Turn {
  uint32_t element = 1;
  const ckks::SwitchKey* key = nullptr;
};

// BackTurns: the rotations back of the ciphertexts of each giant of a block.
absl::StatusOr<std::vector<Turn>> BackTurns(const Instance& instance, const EvaluationKeys& keys) {
  std::vector<Turn> turns(instance.plan.matching.giants);
  const ckks::Params& params = instance.params();
  for (uint32_t j = 1; j < turns.size(); ++j) {
    turns[j].element = ckks::RotationElement(params, -int64_t{j} * instance.plan.ProbeRotations());
    HEFT_ASSIGN_OR_RETURN(turns[j].key, keys.Galois(turns[j].element, TemplateLimbs(params)));
  }
  return turns;
}

// MaskedSums: both parts of the sum over masks of mask_e C_((e + k) mod gamma), for each k. A term
// without a mask is zero.
std::vector<std::array<ring::RnsPoly, 2>> MaskedSums(const Context& context, uint32_t gamma,
                                                     std::span<const Mask> masks,
                                                     std::span<const Ciphertext* const> terms) {
  const size_t n = context.n(), limbs = TemplateLimbs(context.params());
  std::vector<std::array<ring::RnsPoly, 2>> sums(gamma);
  for (auto& sum : sums) sum = {ring::RnsPoly(n, limbs), ring::RnsPoly(n, limbs)};
  // Rows of this many values: those of all masks stay in the second-level cache.
  const size_t width = std::min<size_t>(n, 256), pieces = n / width;
  const AlignedVector<uint32_t> zero(width, 0);
  ParallelFor(limbs * pieces, [&](size_t task) {
    const size_t l = task / pieces, at = task % pieces * width;
    internal::CyclicSums cyclic(context.ntt(l), gamma, width);
    std::vector<const uint32_t*> rows(terms.size(), zero.data());
    for (const Mask& mask : masks) rows[mask.term] = mask.plain.poly.limb(l).data() + at;
    cyclic.SetLeft(rows);
    for (size_t p = 0; p < 2; ++p) {
      rows.clear();
      for (const Ciphertext* term : terms) rows.push_back(term->parts[p].limb(l).data() + at);
      std::vector<uint32_t*> out;
      for (auto& sum : sums) out.push_back(sum[p].limb(l).data() + at);
      cyclic.Sum(out, rows);
    }
  });
  return sums;
}

}  // namespace

absl::StatusOr<SimdColumns> SimdColumns::Create(const Instance& instance, const Model& model,
                                                size_t index,
                                                std::span<const std::vector<double>> rows,
                                                VectorLength length) {
  if (index >= model.modalities.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no modality ", index));
  }
  HEFT_RETURN_IF_ERROR(CheckCount(rows.size(), instance.params().slots(), "vectors"));
  SimdColumns out;
  out.columns_.assign(model.modalities[index].dimension, std::vector<double>(rows.size()));
  for (size_t j = 0; j < rows.size(); ++j) {
    const auto unit = NormalisedVector(rows[j], model.modalities[index], length);
    if (!unit.ok()) return AtRow(unit.status(), j);
    for (size_t d = 0; d < unit->size(); ++d) out.columns_[d][j] = (*unit)[d];
  }
  return out;
}

absl::StatusOr<ckks::Plaintext> SimdColumns::Encode(const Instance& instance, uint32_t d) const {
  if (d >= columns_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("coordinate ", d, " asked for, there are ", columns_.size()));
  }
  HEFT_ASSIGN_OR_RETURN(ckks::Plaintext plain,
                        instance.encoder->Encode(std::span<const double>(columns_[d]),
                                                 instance.plan.projection.input_scale,
                                                 instance.plan.projection.input_limbs));
  // The largest coordinate is secret, and the estimate is stored unencrypted.
  plain.noise.message = 1;
  return plain;
}

absl::StatusOr<BulkFuser> BulkFuser::Create(const Instance& instance, const Model& model,
                                            const EvaluationKeys* keys) {
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(keys->Relinearisation(plan.keys.relinearisation_limbs).status());
  HEFT_RETURN_IF_ERROR(
      keys->Galois(ckks::ConjugationElement(instance.params()), plan.projection.input_limbs)
          .status());
  BulkFuser fuser;
  fuser.instance_ = instance;
  fuser.keys_ = keys;
  fuser.modalities_ = model.modalities;
  for (const ModalitySpec& modality : model.modalities) {
    fuser.offsets_.push_back(fuser.total_);
    fuser.total_ += modality.dimension;
    fuser.added_.emplace_back(modality.dimension, false);
  }
  for (double p : model.projection) {
    const double weight = 0.5 * p * plan.projection.factor_scale;  // z + conj(z) follows
    if (std::abs(weight) >= 0x1p62) {
      return absl::InvalidArgumentError(
          absl::StrCat("the projection's factor ", p, " is too large"));
    }
    fuser.weights_.push_back(std::llround(weight));
  }
  fuser.sums_.resize(plan.gamma);
  for (Ciphertext& sum : fuser.sums_) {
    for (int p = 0; p < 2; ++p) {
      sum.parts.emplace_back(instance.context->n(), plan.projection.input_limbs);
      std::ranges::fill(sum.parts[p].values(), 0u);
    }
    sum.scale = plan.projection.input_scale * plan.projection.factor_scale;
    // A weight is rounded to an integer: an error of at most the length of the inputs, times
    // variance 1/12.
    const double rounding = std::sqrt(static_cast<double>(model.modalities.size()) / 12);
    // The norm sums the squares of all coordinates, so their root mean square matters.
    sum.noise = {std::sqrt(plan.normalisation.interval_hi / plan.gamma),
                 rounding * plan.projection.input_scale};
  }
  return fuser;
}

absl::Status BulkFuser::CheckColumns(size_t modality, uint32_t first,
                                     std::span<const Ciphertext> columns) const {
  if (modality >= modalities_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no modality ", modality));
  }
  const auto& [name, dimension] = modalities_[modality];
  if (first > dimension || columns.size() > dimension - first) {
    return absl::InvalidArgumentError(absl::StrCat("coordinates ", first, " to ",
                                                   first + columns.size(), " of ", name,
                                                   ", which has ", dimension));
  }
  for (size_t d = 0; d < columns.size(); ++d) {
    HEFT_RETURN_IF_ERROR(CheckInput(instance_.plan, columns[d], name));
    if (added_[modality][first + d]) {
      return absl::InvalidArgumentError(
          absl::StrCat("coordinate ", first + d, " of ", name, " was added before"));
    }
  }
  return absl::OkStatus();
}

absl::Status BulkFuser::Add(size_t modality, uint32_t first, std::span<const Ciphertext> columns) {
  HEFT_RETURN_IF_ERROR(CheckColumns(modality, first, columns));
  internal::AddScalarSums(*instance_.context, sums_, columns,
                          weights_.data() + offsets_[modality] + first, total_);
  for (size_t d = 0; d < columns.size(); ++d) added_[modality][first + d] = true;
  return absl::OkStatus();
}

absl::Status BulkFuser::CheckComplete() const {
  size_t present = 0;
  for (size_t m = 0; m < modalities_.size(); ++m) {
    const auto added = static_cast<size_t>(std::count(added_[m].begin(), added_[m].end(), true));
    if (added == 0) continue;
    ++present;
    if (added != modalities_[m].dimension) {
      return absl::InvalidArgumentError(absl::StrCat(added, " coordinates of ", modalities_[m].name,
                                                     " were added, it has ",
                                                     modalities_[m].dimension));
    }
  }
  return present > 0 ? absl::OkStatus() : absl::InvalidArgumentError("no modality given");
}

// Sums degree-2 products lazily, and relinearises once.
absl::StatusOr<Ciphertext> BulkFuser::SquaredNorm(std::span<const Ciphertext> z) const {
  const Context& context = *instance_.context;
  HEFT_ASSIGN_OR_RETURN(Ciphertext s, ckks::InnerProduct(context, z, z));
  HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(context, &s, s, *keys_));
  s.noise.message = instance_.plan.normalisation.interval_hi;
  return s;
}

absl::StatusOr<TemplateBatch> BulkFuser::Finish(uint32_t count) {
  const Context& context = *instance_.context;
  const FusionPlan& plan = instance_.plan;
  HEFT_RETURN_IF_ERROR(CheckComplete());
  HEFT_RETURN_IF_ERROR(CheckCount(count, context.slots(), "samples"));
  TemplateBatch batch;
  batch.count = count;
  std::vector<Ciphertext>& z = batch.coordinates;
  z.resize(plan.gamma);
  // The real part, because an imaginary part would end up in another person's template.
  const uint32_t real[] = {1, ckks::ConjugationElement(instance_.params())};
  HEFT_RETURN_IF_ERROR(TryParallelFor(z.size(), [&](size_t r) {
    return ckks::SumGaloisAndRescale(context, &z[r], sums_[r], real, *keys_);
  }));
  HEFT_ASSIGN_OR_RETURN(const Ciphertext s, SquaredNorm(z));
  HEFT_ASSIGN_OR_RETURN(const NormFactors factors,
                        MakeNormFactors(context, s, plan.normalisation.polynomial, *keys_));
  HEFT_RETURN_IF_ERROR(TryParallelFor(z.size(), [&](size_t r) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(
        Ciphertext normalised,
        ApplyNormFactors(context, factors, z[r], plan.normalisation.polynomial, *keys_));
    SetNormalisedNoise(instance_, z[r], s, &normalised);
    return ckks::DropLimbs(context, &z[r], normalised, TemplateLimbs(instance_.params()));
  }));
  return batch;
}

absl::Status MoveBatch(const Instance& instance, TemplateBatch* batch, uint32_t first,
                       const EvaluationKeys& keys) {
  const uint32_t slots = instance.params().slots();
  if (first >= slots) return absl::InvalidArgumentError(absl::StrCat("there is no slot ", first));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint32_t> path,
                        RotationPath(instance, (batch->first + slots - first) % slots));
  std::vector<Ciphertext> moved(batch->coordinates.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(moved.size(), [&](size_t r) -> absl::Status {
    moved[r] = batch->coordinates[r];
    for (uint32_t steps : path) {
      HEFT_RETURN_IF_ERROR(ckks::Rotate(*instance.context, &moved[r], moved[r], steps, keys));
    }
    return absl::OkStatus();
  }));
  batch->coordinates = std::move(moved);
  batch->first = first;
  return absl::OkStatus();
}

absl::Status SplitBatch(const Rings& rings, const ckks::SwitchKey& ring_switch,
                        TemplateBatch* batch) {
  if (!rings.thin()) return absl::OkStatus();
  std::vector<ckks::RingHalves> halves(batch->coordinates.size());
  HEFT_RETURN_IF_ERROR(TryParallelFor(halves.size(), [&](size_t r) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(halves[r], ckks::SplitRing(*rings.switching, *rings.matching.context,
                                                     batch->coordinates[r], ring_switch));
    return absl::OkStatus();
  }));
  batch->odd.resize(halves.size());
  for (size_t r = 0; r < halves.size(); ++r) {
    batch->coordinates[r] = std::move(halves[r].even);
    batch->odd[r] = std::move(halves[r].odd);
  }
  return absl::OkStatus();
}

absl::Status AddBatchToBlock(const Instance& instance, TiledCiphertexts* block,
                             const TemplateBatch& batch, uint32_t slot, uint32_t count,
                             uint32_t lane, const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma, slots = context.slots();
  HEFT_RETURN_IF_ERROR(internal::CheckTiles(instance, *block, "a gallery block"));
  const bool split = !batch.odd.empty();
  if (batch.coordinates.size() != gamma || lane > 1 ||
      !Holds(batch, split ? 2 * slots : slots, slot, count) || slot % slots + count > slots ||
      (!batch.left_out.empty() && batch.left_out.size() != batch.count)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch of ", batch.coordinates.size(), " coordinates and ", batch.count,
                     " samples from slot ", batch.first, " cannot fill slots ", slot, " to ",
                     slot + count, " of lane ", lane));
  }
  std::vector<const Ciphertext*> terms;
  for (const Ciphertext& c : batch.coordinates) terms.push_back(&c);
  for (const Ciphertext& c : batch.odd) terms.push_back(&c);
  for (const Ciphertext* c : terms) {
    HEFT_RETURN_IF_ERROR(internal::CheckTemplate(instance.plan, *c));
  }
  const auto of_mask = SlotsByMask(instance, batch, split ? 2 * slots : slots, slot, count);
  if (of_mask.empty()) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const std::vector<Mask> masks,
                        EncodeMasks(instance, of_mask, lane, split, slot >= slots));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Turn> turns, BackTurns(instance, keys));
  std::vector<std::array<ring::RnsPoly, 2>> sums = MaskedSums(context, gamma, masks, terms);
  ParallelFor(gamma, [&](size_t at) {
    const auto k = static_cast<uint32_t>(at);
    const uint32_t back = instance.plan.GiantSteps(k);
    if (back == 0) {
      for (ring::RnsPoly& sum : sums[k]) {
        ckks::DivideByLimbs(context, &sum, context.params().level_primes());
      }
      return internal::AddTiled(context, gamma, k, sums[k], block);
    }
    const Turn& turn = turns[back / instance.plan.ProbeRotations()];
    internal::AddTiled(context, gamma, k,
                       internal::Rotated(context, sums[k], turn.key, turn.element), block);
  });
  // The products are summed for each k, and the sum joins the block.
  const uint64_t products = uint64_t{gamma} * masks.size();
  ckks::CountOperations({.additions = products,
                         .plain_products = products,
                         .rotations = gamma - instance.plan.ProbeRotations(),
                         .rescales = gamma});
  return absl::OkStatus();
}

}  // namespace heft
