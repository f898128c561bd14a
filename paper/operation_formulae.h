// SPDX-License-Identifier: Apache-2.0
// The formulae of the paper's table 1, ours for what this engine executes at the same stages, and
// why they differ where they do.
#ifndef HEFT_PAPER_OPERATION_FORMULAE_H_
#define HEFT_PAPER_OPERATION_FORMULAE_H_

#include <cstdint>
#include <string>

#include "ckks/operation_counts.h"
#include "paper/normalisation_methods.h"

namespace heft::paper {

enum class TableEncoding { kDense, kSimd };

enum class PipelineStage { kConcatenation, kProjection, kNormalisation, kPreprocessing, kMatching };
inline constexpr PipelineStage kAllPipelineStages[] = {
    PipelineStage::kConcatenation, PipelineStage::kProjection, PipelineStage::kNormalisation,
    PipelineStage::kPreprocessing, PipelineStage::kMatching};
// "concatenation", ...
std::string PipelineStageName(PipelineStage stage);

// A row of table 1. Space: ciphertexts that the stage leaves behind, and encoded plaintexts that it
// needs.
struct StageCost {
  uint64_t additions = 0;  // of ciphertexts; adding one number to all slots is not counted
  uint64_t plain_products = 0;
  uint64_t ciphertext_products = 0;
  uint64_t depth = 0;
  uint64_t rotations = 0;
  uint64_t ciphertexts = 0;
  uint64_t plaintexts = 0;
  bool operator==(const StageCost&) const = default;
};

// What was counted at a stage: `executed` between two totals, limbs of what went in and came out
// (a level is a limb), and what was left behind.
StageCost CountedCost(const ckks::OperationCounts& executed, size_t limbs_in, size_t limbs_out,
                      uint64_t ciphertexts, uint64_t plaintexts);

struct TableShape {
  uint64_t samples = 1;   // n; for matching, of the gallery
  uint64_t slots = 8192;  // m
  uint64_t delta = 1024;  // dense: padded to a power of two; SIMD: the sum of the dimensions
  uint64_t gamma = 32;
};

// The paper's formula, with d the degree of its polynomial: table 1, taken literally.
StageCost PaperCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                    int degree);

// What the engine executes, for the hybrid method with two modalities (dense) or SIMD, and this
// normalisation. Tests hold it equal to the counts.
StageCost EngineCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                     const NormalisationSpec& normalisation);

// Why the two differ at a stage, in plain words; empty where they agree for all shapes.
std::string WhyCostsDiffer(TableEncoding encoding, PipelineStage stage,
                           const NormalisationSpec& normalisation);

// Bytes of a two-part ciphertext (the paper's p), and of a plaintext, with `limbs` limbs.
uint64_t CiphertextBytes(const ckks::Params& params, size_t limbs);
uint64_t PlaintextBytes(const ckks::Params& params, size_t limbs);

}  // namespace heft::paper

#endif  // HEFT_PAPER_OPERATION_FORMULAE_H_
