// SPDX-License-Identifier: Apache-2.0
// The formulae of the paper's table 1, and ours for what this engine executes at the same stages.
#ifndef HEFT_FUSION_OPERATION_FORMULAE_H_
#define HEFT_FUSION_OPERATION_FORMULAE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fusion/normalisation_methods.h"

namespace heft {

enum class TableEncoding { kDense, kSimd };

enum class PipelineStage { kConcatenation, kProjection, kNormalisation, kPreprocessing, kMatching };
inline constexpr PipelineStage kAllPipelineStages[] = {
    PipelineStage::kConcatenation, PipelineStage::kProjection, PipelineStage::kNormalisation,
    PipelineStage::kPreprocessing, PipelineStage::kMatching};
// "concatenation", ...
std::string PipelineStageName(PipelineStage stage);

// A row of table 1 for a number of samples. Space in objects: ciphertexts and plaintexts of
// size p.
struct StageCost {
  uint64_t additions = 0;
  uint64_t plain_products = 0;
  uint64_t ciphertext_products = 0;
  uint64_t depth = 0;
  uint64_t rotations = 0;
  uint64_t ciphertexts = 0;
  uint64_t plaintexts = 0;
  bool operator==(const StageCost&) const = default;
};

struct TableShape {
  uint64_t samples = 1;   // n
  uint64_t slots = 8192;  // m
  uint64_t delta = 1024;
  uint64_t gamma = 32;
};

// The paper's formula, with d the degree of its polynomial.
StageCost PaperCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                    int degree);

// What the engine executes, counted one by one (ckks/operation_counts.h), for the hybrid method or
// SIMD and this normalisation. Tests hold it equal to the counts.
StageCost EngineCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                     const NormalisationSpec& normalisation);

// Why the two differ at a stage, in plain words; empty where they agree for all shapes.
std::string WhyCostsDiffer(TableEncoding encoding, PipelineStage stage,
                           const NormalisationSpec& normalisation);

}  // namespace heft

#endif  // HEFT_FUSION_OPERATION_FORMULAE_H_
