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

// Rows of both tables: additions, plaintext products, ciphertext products, depth, rotations,
// ciphertexts, plaintexts; a row a stage.
StageCost PaperCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                    int degree) {
  const uint64_t b = Batches(encoding, shape), packed = GalleryCiphertexts(shape);
  const uint64_t gamma = shape.gamma, delta = shape.delta, d = static_cast<uint64_t>(degree);
  const uint64_t lg = Log2(gamma), projected = gamma + Log2(delta) - lg - 1;
  const StageCost dense[] = {{b, 0, 0, 0, b, b, 0},
                             {(projected - 1) * b, gamma * b, 0, 1, projected * b, b, gamma},
                             {lg * b, d * b, 2 * b, 2 + d, lg * b, b, 0},
                             {b - packed, b, 0, 1, b - packed, b + packed, 0},
                             {lg * packed, 0, packed, 1, lg * packed, packed, 0}};
  const StageCost simd[] = {
      {},
      {gamma * (delta - 1) * b, delta * gamma * b, 0, 1, 0, gamma * b, delta * gamma},
      {(gamma - 1) * b, d * b, 2 * gamma * b, 2 + d, 0, gamma * b, 0},
      {},
      {(lg - 1) * b, 0, gamma * b, 1, 0, gamma * b, 0}};
  return (encoding == TableEncoding::kDense ? dense : simd)[static_cast<size_t>(stage)];
}

StageCost EngineCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                     const NormalisationSpec& normalisation) {
  const uint64_t b = Batches(encoding, shape), packed = GalleryCiphertexts(shape);
  const uint64_t gamma = shape.gamma, delta = shape.delta, depth = normalisation.Levels();
  const uint64_t lg = Log2(gamma), projected = gamma + Log2(delta) - lg - 1;
  const auto [f, factors] = CostOfFactors(normalisation);
  const uint64_t plain = f.plain_products * b, products = f.ciphertext_products;
  const StageCost dense[] = {
      {b, 0, 0, 0, b, b, 0},
      {projected * b, gamma * b, 0, 1, projected * b, b, gamma},
      {(f.additions + lg) * b, plain, (products + 1 + factors) * b, depth, lg * b, b, 0},
      {b - packed, b, 0, 1, b - packed, packed, 1},
      {lg * packed, 0, packed, 1, lg * packed, packed, 0}};
  const StageCost simd[] = {{0, 0, 0, 0, 0, delta * b, 0},
                            {gamma * delta * b, gamma * delta * b, 0, 1, 0, gamma * b, 0},
                            {(f.additions + gamma - 1) * b, plain,
                             (products + gamma * (1 + factors)) * b, depth, 0, gamma * b, 0},
                            {},
                            {(gamma - 1) * b, 0, gamma * b, 1, 0, b, 0}};
  return (encoding == TableEncoding::kDense ? dense : simd)[static_cast<size_t>(stage)];
}

std::string WhyCostsDiffer(TableEncoding encoding, PipelineStage stage,
                           const NormalisationSpec& normalisation) {
  if (stage == PipelineStage::kNormalisation) {
    return WhyNormalisationsDiffer(encoding, normalisation);
  }
  constexpr const char* kDense[] = {
      "",
      "Adding up gamma products takes gamma - 1 additions and each of the log(delta) - log(gamma) "
      "folds one more: gamma + log(delta) - log(gamma) - 1, as many as rotations. The paper's "
      "formula has one less.",
      "",
      "The gallery's ciphertexts replace the results that they were made of; the paper counts "
      "both. There is one mask.",
      ""};
  constexpr const char* kSimd[] = {
      "Nothing is executed. The paper leaves the space open; the delta ciphertexts of the input "
      "are counted here.",
      "Sums start from zero, so that a coordinate joins all gamma of them in one pass: gamma delta "
      "additions instead of gamma (delta - 1). The factors are integers, so no plaintext is "
      "encoded or kept.",
      "", "",
      "Adding up gamma products takes gamma - 1 additions; the paper's log(gamma) - 1 would fold "
      "slots, but the coordinates stand in different ciphertexts. One ciphertext of scores is "
      "left; the paper counts the gallery."};
  return (encoding == TableEncoding::kDense ? kDense : kSimd)[static_cast<size_t>(stage)];
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
