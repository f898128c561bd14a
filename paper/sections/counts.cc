// SPDX-License-Identifier: Apache-2.0
// Table 1 of the paper, predicted and counted.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ckks/operation_counts.h"
#include "heft/train.h"
#include "paper/methods/operation_formulae.h"
#include "paper/methods/route.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;
using ckks::OperationCounts;

constexpr uint32_t kCountedGamma = 32;

// StageCounter: what the engine counts while it takes samples through the stages of an encoding.
class StageCounter {
 public:
  absl::Status Run(TableEncoding encoding, const NormalisationSpec& normalisation, uint32_t samples,
                   const std::vector<uint32_t>& dimensions) {
    const bool dense = encoding == TableEncoding::kDense;
    Model model = experiment::RandomModel(dimensions, kCountedGamma, 2);
    model.approximation.interval = kPaperInterval;
    HEFT_ASSIGN_OR_RETURN(
        engine_, MakePaperEngine(model, normalisation,
                                 dense ? ProjectionMethod::kHybrid : ProjectionMethod::kSimd));
    shape_ = {samples, params().slots(), route().plan().projection.delta, kCountedGamma};
    std::mt19937_64 random(8);
    std::vector<FeatureMatrix> rows;
    for (uint32_t dimension : dimensions) rows.push_back(RandomUnits(samples, dimension, random));
    const uint32_t batch = route().plan().projection.vectors;
    for (uint32_t first = 0; first < samples; first += batch) {
      HEFT_RETURN_IF_ERROR(Fuse(rows, first, std::min(batch, samples - first)));
    }
    return dense ? PackAndMatch() : MatchSimd();
  }

  const TableShape& shape() const { return shape_; }
  StageCost Cost(PipelineStage stage) const {
    const Stage& own = stages_[static_cast<size_t>(stage)];
    return CountedCost(own.executed, own.limbs_in, own.limbs_out, own.ciphertexts, own.plaintexts);
  }

 private:
  struct Stage {
    OperationCounts executed;
    size_t limbs_in = 0, limbs_out = 0;
    uint64_t ciphertexts = 0, plaintexts = 0;
  };

  const PaperRoute& route() const { return *engine_->route; }
  const ckks::Params& params() const { return engine_->world->params(); }
  Stage& At(PipelineStage stage) { return stages_[static_cast<size_t>(stage)]; }

  // Runs `work`, which gives the ciphertexts that the stage leaves behind, on some with `limbs_in`.
  template <typename Work>
  absl::StatusOr<std::vector<Ciphertext>> Count(PipelineStage stage, size_t limbs_in,
                                                const Work& work) {
    const OperationCounts before = ckks::TotalOperations();
    HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> out, work());
    Stage& own = At(stage);
    own.executed = own.executed + (ckks::TotalOperations() - before);
    own.limbs_in = limbs_in;
    own.limbs_out = out[0].limbs();
    own.ciphertexts += out.size();
    return out;
  }

  absl::Status Fuse(const std::vector<FeatureMatrix>& rows, size_t first, size_t count) {
    HEFT_ASSIGN_OR_RETURN(const auto batch, engine_->EncryptBatch(rows, first, count));
    const size_t limbs = route().plan().input_limbs();
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> joined,
                          Count(PipelineStage::kConcatenation, limbs,
                                [&] { return route().projector().Concatenate(batch); }));
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> projected,
                          Count(PipelineStage::kProjection, joined[0].limbs(),
                                [&] { return route().projector().Project(joined); }));
    At(PipelineStage::kProjection).plaintexts =
        route().projector().PlaintextBytes() / PlaintextBytes(params(), limbs);
    using Vector = std::vector<Ciphertext>;
    HEFT_ASSIGN_OR_RETURN(
        const std::vector<Ciphertext> z,
        Count(PipelineStage::kNormalisation, projected[0].limbs(), [&]() -> absl::StatusOr<Vector> {
          HEFT_ASSIGN_OR_RETURN(auto fused, route().Normalise(projected));
          return std::move(fused.z);
        }));
    results_.insert(results_.end(), z.begin(), z.end());
    return absl::OkStatus();
  }

  absl::Status PackAndMatch() {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> packed,
                          Count(PipelineStage::kPreprocessing, results_[0].limbs(),
                                [&] { return route().matcher().Pack(results_); }));
    At(PipelineStage::kPreprocessing).plaintexts = 1;
    return Count(PipelineStage::kMatching, packed[0].limbs(),
                 [&] { return route().matcher().Match(results_[0], packed); })
        .status();
  }

  absl::Status MatchSimd() {
    using Vector = std::vector<Ciphertext>;
    return Count(PipelineStage::kMatching, results_[0].limbs(),
                 [&]() -> absl::StatusOr<Vector> {
                   HEFT_ASSIGN_OR_RETURN(Ciphertext score,
                                         MatchCoordinates(engine_->world->context(), results_,
                                                          results_, engine_->world->keys()));
                   return Vector{std::move(score)};
                 })
        .status();
  }

  TableShape shape_;
  std::unique_ptr<PaperEngine> engine_;
  std::vector<Ciphertext> results_;
  Stage stages_[std::size(kAllPipelineStages)];
};

// FourCounts: a cell of the table.
std::string FourCounts(const StageCost& c) {
  return absl::StrCat(c.additions, " / ", c.plain_products, " / ", c.ciphertext_products, " / ",
                      c.rotations);
}

}  // namespace

absl::StatusOr<Section> OperationCounting(const Study& study) {
  Section section{.id = "table1", .title = "Operations, predicted and counted", .paper = "Table 1"};
  const std::vector<uint32_t> dimensions = {128, 128};
  const uint32_t samples = study.quick ? 32 : 64;
  section.text = {
      absl::StrFormat("%d samples of 128 + 128 dimensions to 32, degree 2. Each cell: additions / "
                      "plaintext products / ciphertext products / rotations. The paper’s formulae, "
                      "what this engine should execute, and what it counted while it did.",
                      samples)};
  HEFT_ASSIGN_OR_RETURN(const PaperNormalisations paper_normalisations, MakePaperNormalisations());
  const NormalisationSpec& normalisation = paper_normalisations.degree2;
  Table table{.id = "operations",
              .caption =
                  "Counted: totals of the engine’s own counters before and after each stage; "
                  "equality is of all columns, depth and space included. Space: ciphertexts that a "
                  "stage leaves behind, plaintexts that it needs.",
              .columns = {{"encoding", "Encoding"},
                          {"stage", "Stage"},
                          {"paper", "Paper’s formula", Format::kText, true},
                          {"predicted", "Predicted"},
                          {"counted", "Counted"},
                          {"equal", "= predicted"},
                          {"as_paper", "= paper’s"},
                          {"depth", "Depth", Format::kCount},
                          {"paper_depth", "paper", Format::kCount, true},
                          {"ciphertexts", "Ciphertexts", Format::kCount},
                          {"plaintexts", "Plaintexts", Format::kCount}}};
  bool all_equal = true;
  for (TableEncoding encoding : {TableEncoding::kDense, TableEncoding::kSimd}) {
    StageCounter counter;
    HEFT_RETURN_IF_ERROR(counter.Run(encoding, normalisation, samples, dimensions));
    const TableShape& shape = counter.shape();
    for (PipelineStage stage : kAllPipelineStages) {
      if (encoding == TableEncoding::kSimd && stage == PipelineStage::kPreprocessing) continue;
      const StageCost paper = PaperCost(encoding, stage, shape, 2);
      const StageCost predicted = EngineCost(encoding, stage, shape, normalisation);
      const StageCost counted = counter.Cost(stage);
      const bool equal = counted == predicted;
      all_equal = all_equal && equal;
      table.rows.push_back({TableEncodingName(encoding), PipelineStageName(stage),
                            FourCounts(paper), FourCounts(predicted), FourCounts(counted), equal,
                            counted == paper, counted.depth, paper.depth, counted.ciphertexts,
                            counted.plaintexts});
      const std::string why = WhyCostsDiffer(encoding, stage, normalisation);
      if (!why.empty()) {
        section.notes.push_back(
            absl::StrCat(TableEncodingName(encoding), ", ", PipelineStageName(stage), ": ", why));
      }
    }
  }
  section.text.push_back(all_equal ? "Every count equals its prediction."
                                   : "NOT every count equals its prediction: see the table.");
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace heft::paper
