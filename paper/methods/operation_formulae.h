// SPDX-License-Identifier: Apache-2.0
// The formulae of the paper's table 1, ours for what this engine executes at the same stages, and
// why they differ where they do.
#ifndef HEFT_PAPER_METHODS_OPERATION_FORMULAE_H_
#define HEFT_PAPER_METHODS_OPERATION_FORMULAE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ckks/operation_counts.h"
#include "heft/model.h"
#include "paper/methods/normalisation.h"

namespace heft::paper {

enum class TableEncoding { kDense, kSimd };
// TableEncodingName: "Dense" and "SIMD".
std::string TableEncodingName(TableEncoding encoding);

enum class PipelineStage { kConcatenation, kProjection, kNormalisation, kPreprocessing, kMatching };
inline constexpr PipelineStage kAllPipelineStages[] = {
    PipelineStage::kConcatenation, PipelineStage::kProjection, PipelineStage::kNormalisation,
    PipelineStage::kPreprocessing, PipelineStage::kMatching};
// PipelineStageName: "concatenation", ...
std::string PipelineStageName(PipelineStage stage);

// StageCost: a row of table 1. Space: ciphertexts that the stage leaves behind, and encoded
// plaintexts that it needs.
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

// CountedCost: the counts of one stage: `executed` between two totals, limbs of its input and
// output (a level is a limb), and the ciphertexts and plaintexts that it left behind.
StageCost CountedCost(const ckks::OperationCounts& executed, size_t limbs_in, size_t limbs_out,
                      uint64_t ciphertexts, uint64_t plaintexts);

struct TableShape {
  uint64_t samples = 1;   // n; for matching, of the gallery
  uint64_t slots = 8192;  // m
  uint64_t delta = 1024;  // dense: padded to a power of two; SIMD: the sum of the dimensions
  uint64_t gamma = 32;
};

// PaperCost: the paper's formula, with d the degree of its polynomial: table 1, taken literally.
StageCost PaperCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                    int degree);

// EngineCost: what the engine executes, for the hybrid method with two modalities (dense) or SIMD,
// and this normalisation. Tests hold it equal to the counts.
StageCost EngineCost(TableEncoding encoding, PipelineStage stage, const TableShape& shape,
                     const NormalisationSpec& normalisation);

// WhyCostsDiffer: why the two differ at a stage, in plain words; empty where they agree for all
// shapes.
std::string WhyCostsDiffer(TableEncoding encoding, PipelineStage stage,
                           const NormalisationSpec& normalisation);

// StageCounts: a stage by both.
struct StageCounts {
  TableEncoding encoding;
  PipelineStage stage;
  StageCost paper, engine;
  std::string why;  // WhyCostsDiffer's
};

// CountStages: table 1 for a model and so many samples, at the paper's 8,192 slots (more where a
// window of the dense encoding needs them).
std::vector<StageCounts> CountStages(const Model& model, uint64_t samples);

// PlaintextBytes: of a plaintext with `limbs` limbs; a ciphertext (the paper's p) takes two.
uint64_t PlaintextBytes(const ckks::Params& params, size_t limbs);

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_OPERATION_FORMULAE_H_
