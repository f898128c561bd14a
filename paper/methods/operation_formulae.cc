// SPDX-License-Identifier: Apache-2.0
#include "paper/methods/operation_formulae.h"

#include <algorithm>
#include <bit>

namespace heft::paper {

namespace {

uint64_t CeilDivide(uint64_t a, uint64_t b) { return (a + b - 1) / b; }
uint64_t Log2(uint64_t power) { return std::bit_width(power) - 1; }

// Ciphertexts of samples: ceil(n / l) or ceil(n / m).
uint64_t Batches(TableEncoding encoding, const TableShape& shape) {
  const uint64_t a_ciphertext =
      encoding == TableEncoding::kDense ? shape.slots / (2 * shape.delta) : shape.slots;
  return CeilDivide(shape.samples, a_ciphertext);
}

// Of the packed gallery.
uint64_t GalleryCiphertexts(const TableShape& shape) {
  return CeilDivide(shape.samples * shape.gamma, shape.slots);
}

StageCost Times(StageCost cost, uint64_t batches) {
  cost.additions *= batches;
  cost.plain_products *= batches;
  cost.ciphertext_products *= batches;
  cost.rotations *= batches;
  return cost;
}

// What ckks::EvaluateChebyshev does beside the powers.
StageCost SplitCost(unsigned degree) {
  const unsigned power = std::bit_floor(degree);
  StageCost cost;
  if (degree > power) {
    cost = SplitCost(degree - power);
    ++cost.ciphertext_products;
  } else {
    ++cost.plain_products;
  }
  if (power > 1) {
    const StageCost rest = SplitCost(power - 1);
    cost.additions += rest.additions + 1;
    cost.plain_products += rest.plain_products;
    cost.ciphertext_products += rest.ciphertext_products;
  }
  return cost;
}

StageCost ChebyshevCost(unsigned degree) {
  StageCost cost = SplitCost(degree);
  // The powers T_2, T_4, ...: a square and a doubling each.
  cost.ciphertext_products += Log2(std::bit_floor(degree));
  cost.plain_products += Log2(std::bit_floor(degree));
  return cost;
}

// From s to the factors of z, and how many factors there are.
struct FactorsCost {
  StageCost cost;
  uint64_t factors = 1;
};

FactorsCost CostOfFactors(const NormalisationSpec& spec) {
  FactorsCost out;
  if (spec.method == NormalisationMethod::kDeferred) {
    out.factors = 0;
    return out;
  }
  if (spec.method == NormalisationMethod::kGoldschmidt) {
    out.cost.plain_products = 1;  // the line
    // x; then r an iteration, and x and h but for the last one.
    out.cost.ciphertext_products = 1 + 3 * spec.goldschmidt.iterations - 2;
    out.factors = 2;
    return out;
  }
  const auto& stages = spec.approximation.stages;
  for (size_t i = 0; i < stages.size(); ++i) {
    const int degree = stages[i].Degree();
    if (i + 1 == stages.size() && degree <= 3) {
      out.cost.ciphertext_products += degree == 1 ? 0 : 1;  // the square of a quadratic factor
      out.factors = degree == 3 ? 2 : 1;
      break;
    }
    const StageCost stage = ChebyshevCost(static_cast<unsigned>(degree));
    out.cost.additions += stage.additions;
    out.cost.plain_products += stage.plain_products;
    out.cost.ciphertext_products += stage.ciphertext_products;
  }
  return out;
}

StageCost EngineDense(PipelineStage stage, const TableShape& shape,
                      const NormalisationSpec& normalisation) {
  const uint64_t batches = Batches(TableEncoding::kDense, shape);
  const uint64_t gallery = GalleryCiphertexts(shape);
  const uint64_t gamma = shape.gamma, log_gamma = Log2(gamma);
  const uint64_t folds = Log2(shape.delta) - log_gamma;
  StageCost cost;
  switch (stage) {
    case PipelineStage::kConcatenation:
      cost = Times({.additions = 1, .rotations = 1}, batches);
      break;
    case PipelineStage::kProjection:
      cost = Times({.additions = gamma - 1 + folds,
                    .plain_products = gamma,
                    .depth = 1,
                    .rotations = gamma - 1 + folds},
                   batches);
      cost.plaintexts = gamma;
      break;
    case PipelineStage::kNormalisation: {
      const FactorsCost f = CostOfFactors(normalisation);
      cost = f.cost;
      cost.additions += log_gamma;
      cost.ciphertext_products += 1 + f.factors;
      cost.rotations = log_gamma;
      cost.depth = normalisation.Levels();
      cost = Times(cost, batches);
      break;
    }
    case PipelineStage::kPreprocessing:
      cost = {.additions = batches - gallery,
              .plain_products = batches,
              .depth = 1,
              .rotations = batches - gallery,
              .plaintexts = 1};
      break;
    case PipelineStage::kMatching:
      cost = Times(
          {.additions = log_gamma, .ciphertext_products = 1, .depth = 1, .rotations = log_gamma},
          gallery);
      break;
  }
  const bool packed = stage == PipelineStage::kPreprocessing || stage == PipelineStage::kMatching;
  cost.ciphertexts = packed ? gallery : batches;
  return cost;
}

StageCost EngineSimd(PipelineStage stage, const TableShape& shape,
                     const NormalisationSpec& normalisation) {
  const uint64_t batches = Batches(TableEncoding::kSimd, shape);
  const uint64_t gamma = shape.gamma;
  StageCost cost;
  switch (stage) {
    case PipelineStage::kConcatenation:
      cost.ciphertexts = shape.delta * batches;
      return cost;
    case PipelineStage::kProjection:
      cost = Times(
          {.additions = gamma * shape.delta, .plain_products = gamma * shape.delta, .depth = 1},
          batches);
      cost.ciphertexts = gamma * batches;
      return cost;
    case PipelineStage::kNormalisation: {
      const FactorsCost f = CostOfFactors(normalisation);
      cost = f.cost;
      cost.additions += gamma - 1;
      cost.ciphertext_products += gamma + gamma * f.factors;
      cost.depth = normalisation.Levels();
      cost = Times(cost, batches);
      cost.ciphertexts = gamma * batches;
      return cost;
    }
    case PipelineStage::kPreprocessing:
      return cost;
    case PipelineStage::kMatching:
      cost = Times({.additions = gamma - 1, .ciphertext_products = gamma, .depth = 1}, batches);
      cost.ciphertexts = batches;
      return cost;
  }
  return cost;
}

std::string WhyNormalisationsDiffer(TableEncoding encoding, const NormalisationSpec& spec) {
  if (spec.method == NormalisationMethod::kDeferred) {
    return "Deferred normalisation only squares z on the server; the paper has no such row.";
  }
  if (spec.method == NormalisationMethod::kGoldschmidt) {
    return "Goldschmidt's iteration is no polynomial of a degree d: an iteration is three products "
           "at two levels, and the paper's row does not cover it.";
  }
  std::string why =
      "The paper counts two ciphertext products (the square and the application to z) and d "
      "plaintext products at a level each for f. A polynomial of degree 2 or more also needs "
      "products of s with itself: those are ciphertext products. Constants go into scales or into "
      "integers beside a rescale that is needed anyway, so they take no level, and the depth is "
      "the logarithm of the degree, not the degree.";
  if (encoding == TableEncoding::kSimd) {
    why += " f is evaluated once and applied to gamma coordinates.";
  }
  return why;
}

}  // namespace

std::string TableEncodingName(TableEncoding encoding) {
  return encoding == TableEncoding::kDense ? "Dense" : "SIMD";
}

std::string PipelineStageName(PipelineStage stage) {
  constexpr const char* kNames[] = {"concatenation", "projection", "normalisation", "preprocessing",
                                    "matching"};
  return kNames[static_cast<size_t>(stage)];
}

StageCost CountedCost(const ckks::OperationCounts& executed, size_t limbs_in, size_t limbs_out,
                      uint64_t ciphertexts, uint64_t plaintexts) {
  return {.additions = executed.additions,
          .plain_products = executed.plain_products,
          .ciphertext_products = executed.ciphertext_products,
          .depth = limbs_in - limbs_out,
          .rotations = executed.rotations,
          .ciphertexts = ciphertexts,
          .plaintexts = plaintexts};
}

StageCost PaperCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                    int degree) {
  const uint64_t batches = Batches(encoding, shape), gallery = GalleryCiphertexts(shape);
  const uint64_t gamma = shape.gamma, delta = shape.delta, d = static_cast<uint64_t>(degree);
  const uint64_t log_gamma = Log2(gamma), log_delta = Log2(delta);
  const bool dense = encoding == TableEncoding::kDense;
  switch (stage) {
    case PipelineStage::kConcatenation:
      if (!dense) return {};
      return {.additions = batches, .rotations = batches, .ciphertexts = batches};
    case PipelineStage::kProjection:
      if (dense) {
        return {.additions = (gamma + log_delta - log_gamma - 2) * batches,
                .plain_products = gamma * batches,
                .depth = 1,
                .rotations = (gamma + log_delta - log_gamma - 1) * batches,
                .ciphertexts = batches,
                .plaintexts = gamma};
      }
      return {.additions = gamma * (delta - 1) * batches,
              .plain_products = delta * gamma * batches,
              .depth = 1,
              .ciphertexts = gamma * batches,
              .plaintexts = delta * gamma};
    case PipelineStage::kNormalisation:
      if (dense) {
        return {.additions = log_gamma * batches,
                .plain_products = d * batches,
                .ciphertext_products = 2 * batches,
                .depth = 2 + d,
                .rotations = log_gamma * batches,
                .ciphertexts = batches};
      }
      return {.additions = (gamma - 1) * batches,
              .plain_products = d * batches,
              .ciphertext_products = 2 * gamma * batches,
              .depth = 2 + d,
              .ciphertexts = gamma * batches};
    case PipelineStage::kPreprocessing:
      if (!dense) return {};
      return {.additions = batches - gallery,
              .plain_products = batches,
              .depth = 1,
              .rotations = batches - gallery,
              .ciphertexts = batches + gallery};
    case PipelineStage::kMatching:
      if (dense) {
        return {.additions = log_gamma * gallery,
                .ciphertext_products = gallery,
                .depth = 1,
                .rotations = log_gamma * gallery,
                .ciphertexts = gallery};
      }
      return {.additions = (log_gamma - 1) * batches,
              .ciphertext_products = gamma * batches,
              .depth = 1,
              .ciphertexts = gamma * batches};
  }
  return {};
}

StageCost EngineCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                     const NormalisationSpec& normalisation) {
  return encoding == TableEncoding::kDense ? EngineDense(stage, shape, normalisation)
                                           : EngineSimd(stage, shape, normalisation);
}

std::string WhyCostsDiffer(TableEncoding encoding, PipelineStage stage,
                           const NormalisationSpec& normalisation) {
  const bool dense = encoding == TableEncoding::kDense;
  switch (stage) {
    case PipelineStage::kConcatenation:
      return dense ? ""
                   : "Nothing is executed. The paper leaves the space open; the delta ciphertexts "
                     "of the input are counted here.";
    case PipelineStage::kProjection:
      if (dense) {
        return "Adding up gamma products takes gamma - 1 additions and each of the log(delta) - "
               "log(gamma) folds one more: gamma + log(delta) - log(gamma) - 1, as many as "
               "rotations. The paper's formula has one less.";
      }
      return "Sums start from zero, so that a coordinate joins all gamma of them in one pass: "
             "gamma delta additions instead of gamma (delta - 1). The factors are integers, so no "
             "plaintext is encoded or kept.";
    case PipelineStage::kNormalisation:
      return WhyNormalisationsDiffer(encoding, normalisation);
    case PipelineStage::kPreprocessing:
      return dense ? "The gallery's ciphertexts replace the results that they were made of; the "
                     "paper counts both. There is one mask."
                   : "";
    case PipelineStage::kMatching:
      return dense ? ""
                   : "Adding up gamma products takes gamma - 1 additions; the paper's log(gamma) - "
                     "1 would fold slots, but the coordinates stand in different ciphertexts. One "
                     "ciphertext of scores is left; the paper counts the gallery.";
  }
  return "";
}

std::vector<StageCounts> CountStages(const Model& model, uint64_t samples) {
  const NormalisationSpec normalisation = NormalisationSpec::Polynomials(model.approximation);
  const uint64_t dimensions = model.TotalDimension(), padded = std::bit_ceil(dimensions);
  std::vector<StageCounts> counts;
  for (TableEncoding encoding : {TableEncoding::kDense, TableEncoding::kSimd}) {
    const TableShape shape{.samples = samples,
                           .slots = std::max<uint64_t>(TableShape{}.slots, 2 * padded),
                           .delta = encoding == TableEncoding::kDense ? padded : dimensions,
                           .gamma = model.gamma};
    for (PipelineStage stage : kAllPipelineStages) {
      counts.push_back({encoding, stage,
                        PaperCost(encoding, stage, shape, model.approximation.Degree()),
                        EngineCost(encoding, stage, shape, normalisation),
                        WhyCostsDiffer(encoding, stage, normalisation)});
    }
  }
  return counts;
}

uint64_t PlaintextBytes(const ckks::Params& params, size_t limbs) {
  return uint64_t{params.n()} * limbs * sizeof(uint32_t);
}

}  // namespace heft::paper
