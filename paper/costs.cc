// SPDX-License-Identifier: Apache-2.0
// Table 1 of the paper, predicted and counted, and its figures of time and memory against the
// number of samples.
#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ckks/operation_counts.h"
#include "fusion/testing.h"
#include "inverse_sqrt/fit.h"
#include "paper/engine.h"
#include "paper/operation_formulae.h"
#include "paper/sections.h"

namespace heft::paper {

namespace {

using ckks::Ciphertext;
using ckks::OperationCounts;

constexpr uint32_t kGamma = 32;

absl::StatusOr<NormalisationSpec> DegreeTwo() {
  HEFT_ASSIGN_OR_RETURN(const Approximation f, FitLeastSquares(2, kPaperInterval));
  return NormalisationSpec::Polynomials(f);
}

const char* EncodingName(TableEncoding encoding) {
  return encoding == TableEncoding::kDense ? "Dense" : "SIMD";
}

// Unit vectors of each modality, a row each.
std::vector<FeatureMatrix> RandomSamples(uint32_t samples,
                                         const std::vector<uint32_t>& dimensions) {
  std::mt19937_64 random(8);
  std::vector<FeatureMatrix> rows;
  for (uint32_t dimension : dimensions) {
    FeatureMatrix units(samples, dimension);
    for (uint32_t i = 0; i < samples; ++i) {
      const std::vector<double> unit = testing::RandomUnit(dimension, random);
      std::copy(unit.begin(), unit.end(), units.row(i).begin());
    }
    rows.push_back(std::move(units));
  }
  return rows;
}

// What the engine counts while it takes samples through the stages of an encoding.
class StageCounter {
 public:
  absl::Status Run(TableEncoding encoding, uint32_t samples,
                   const std::vector<uint32_t>& dimensions) {
    const bool dense = encoding == TableEncoding::kDense;
    HEFT_ASSIGN_OR_RETURN(const NormalisationSpec normalisation, DegreeTwo());
    Model model = testing::RandomModel(dimensions, kGamma, 2);
    model.approximation.interval = kPaperInterval;
    HEFT_ASSIGN_OR_RETURN(
        engine_, MakePaperEngine(model, normalisation,
                                 dense ? ProjectionMethod::kHybrid : ProjectionMethod::kSimd));
    shape_ = {samples, params().slots(), route().plan().projection.delta, kGamma};
    const std::vector<FeatureMatrix> rows = RandomSamples(samples, dimensions);
    const uint32_t batch = route().plan().projection.vectors;
    for (uint32_t first = 0; first < samples; first += batch) {
      HEFT_RETURN_IF_ERROR(Fuse(rows, first, std::min(batch, samples - first)));
    }
    return dense ? PackAndMatch() : MatchSimd();
  }

  const TableShape& shape() const { return shape_; }
  StageCost Cost(PipelineStage stage) const {
    const Stage& own = stages_[static_cast<std::size_t>(stage)];
    return CountedCost(own.executed, own.limbs_in, own.limbs_out, own.ciphertexts, own.plaintexts);
  }

 private:
  struct Stage {
    OperationCounts executed;
    std::size_t limbs_in = 0, limbs_out = 0;
    uint64_t ciphertexts = 0, plaintexts = 0;
  };

  const PaperRoute& route() const { return *engine_->route; }
  const ckks::Params& params() const { return engine_->world->context->params(); }
  Stage& At(PipelineStage stage) { return stages_[static_cast<std::size_t>(stage)]; }

  // Runs `work`, which gives the ciphertexts that the stage leaves behind, on some with `limbs_in`.
  template <typename Work>
  absl::StatusOr<std::vector<Ciphertext>> Count(PipelineStage stage, std::size_t limbs_in,
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

  absl::Status Fuse(const std::vector<FeatureMatrix>& rows, std::size_t first, std::size_t count) {
    HEFT_ASSIGN_OR_RETURN(const auto batch, engine_->EncryptBatch(rows, first, count));
    const std::size_t limbs = route().plan().input_limbs();
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
                                         MatchCoordinates(*engine_->world->context, results_,
                                                          results_, engine_->world->keys));
                   return Vector{std::move(score)};
                 })
        .status();
  }

  TableShape shape_;
  std::unique_ptr<PaperEngine> engine_;
  std::vector<Ciphertext> results_;
  Stage stages_[std::size(kAllPipelineStages)];
};

Json AdditionsAndMore(const StageCost& c) {
  return absl::StrCat(c.additions, " / ", c.plain_products, " / ", c.ciphertext_products, " / ",
                      c.rotations);
}

// Milliseconds of single operations at the top of the paper's chain, and bytes of a ciphertext.
struct OperationTimes {
  double addition = 0, plain_product = 0, integer_product = 0, ciphertext_product = 0, rotation = 0;
  double bytes = 0;
  std::string parameters;
};

absl::StatusOr<OperationTimes> TimeOperations(int repetitions) {
  HEFT_ASSIGN_OR_RETURN(const auto world, MakeKeyedContext("paper"));
  const ckks::Context& context = *world->context;
  const std::size_t limbs = context.params().limbs();
  KeyNeeds needs;
  needs.Rotation(context.params(), 1, limbs);
  needs.Relinearisation(limbs);
  world->MakeKeys(needs);
  std::mt19937_64 random(2);
  const std::vector<double> values = testing::RandomUnit(context.params().slots(), random);
  HEFT_ASSIGN_OR_RETURN(
      const ckks::Plaintext plain,
      world->encoder->Encode(std::span<const double>(values), world->profile.scale, limbs));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> a, world->Encrypt({&plain, 1}));
  Ciphertext out, product;
  const auto time = [&](const auto& work) -> absl::StatusOr<double> {
    std::vector<double> ms;
    for (int i = 0; i < repetitions; ++i) {
      const CpuStopwatch watch;
      HEFT_RETURN_IF_ERROR(work());
      ms.push_back(watch.Milliseconds());
    }
    return Median(ms);
  };
  OperationTimes t;
  HEFT_ASSIGN_OR_RETURN(t.addition, time([&] { return ckks::Add(context, &out, a[0], a[0]); }));
  HEFT_ASSIGN_OR_RETURN(t.plain_product,
                        time([&] { return ckks::MultiplyPlain(context, &out, a[0], plain); }));
  HEFT_ASSIGN_OR_RETURN(t.integer_product, time([&] {
                          ckks::MultiplyInteger(context, &out, a[0], 12345);
                          return absl::OkStatus();
                        }));
  HEFT_ASSIGN_OR_RETURN(t.ciphertext_product, time([&]() -> absl::Status {
                          HEFT_RETURN_IF_ERROR(ckks::Multiply(context, &product, a[0], a[0]));
                          return ckks::Relinearise(context, &out, product, world->keys);
                        }));
  HEFT_ASSIGN_OR_RETURN(t.rotation,
                        time([&] { return ckks::Rotate(context, &out, a[0], 1, world->keys); }));
  t.bytes = 2.0 * limbs * context.n() * sizeof(uint32_t);
  t.parameters = context.params().Describe();
  return t;
}

// Seconds and bytes of the whole pipeline for n samples.
struct Total {
  double seconds = 0, bytes = 0;
};
using CostFunction = std::function<StageCost(TableEncoding, PipelineStage, const TableShape&)>;
Total Sum(TableEncoding encoding, const TableShape& shape, const OperationTimes& t,
          bool integer_products, const CostFunction& cost) {
  Total total;
  for (PipelineStage stage : kAllPipelineStages) {
    const StageCost c = cost(encoding, stage, shape);
    // SIMD's factors are scalars, which this engine multiplies as integers.
    const double product =
        integer_products && encoding == TableEncoding::kSimd ? t.integer_product : t.plain_product;
    total.seconds +=
        1e-3 * (c.additions * t.addition + c.plain_products * product +
                c.ciphertext_products * t.ciphertext_product + c.rotations * t.rotation);
    // Stages follow each other: the largest counts.
    total.bytes = std::max(total.bytes, (c.ciphertexts + 0.5 * c.plaintexts) * t.bytes);
  }
  return total;
}

// The first n from which `b` stays below `a`; 0 if there is none.
double Crossover(const std::vector<std::pair<double, double>>& a,
                 const std::vector<std::pair<double, double>>& b) {
  double crossover = 0;
  for (std::size_t i = a.size(); i-- > 0 && b[i].second < a[i].second;) crossover = a[i].first;
  return crossover;
}

}  // namespace

absl::StatusOr<Section> OperationCounting(const Study& study) {
  Section section;
  section.id = "table1";
  section.title = "Operations, predicted and counted";
  section.paper = "Table 1";
  const std::vector<uint32_t> dimensions = {128, 128};
  const uint32_t samples = study.quick ? 32 : 64;
  section.text = {
      absl::StrFormat("%d samples of 128 + 128 dimensions to 32, degree 2. Each cell: additions / "
                      "plaintext products / ciphertext products / rotations. The paper’s formulae, "
                      "what this engine should execute, and what it counted while it did.",
                      samples)};
  HEFT_ASSIGN_OR_RETURN(const NormalisationSpec normalisation, DegreeTwo());
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
    HEFT_RETURN_IF_ERROR(counter.Run(encoding, samples, dimensions));
    const TableShape& shape = counter.shape();
    for (PipelineStage stage : kAllPipelineStages) {
      if (encoding == TableEncoding::kSimd && stage == PipelineStage::kPreprocessing) continue;
      const StageCost paper = PaperCost(encoding, stage, shape, 2);
      const StageCost predicted = EngineCost(encoding, stage, shape, normalisation);
      const StageCost counted = counter.Cost(stage);
      const bool equal = counted == predicted;
      all_equal = all_equal && equal;
      table.rows.push_back({EncodingName(encoding), PipelineStageName(stage),
                            AdditionsAndMore(paper), AdditionsAndMore(predicted),
                            AdditionsAndMore(counted), equal, counted == paper, counted.depth,
                            paper.depth, counted.ciphertexts, counted.plaintexts});
      const std::string why = WhyCostsDiffer(encoding, stage, normalisation);
      if (!why.empty()) {
        section.notes.push_back(
            absl::StrCat(EncodingName(encoding), ", ", PipelineStageName(stage), ": ", why));
      }
    }
  }
  section.text.push_back(all_equal ? "Every count equals its prediction."
                                   : "NOT every count equals its prediction: see the table.");
  section.tables.push_back(std::move(table));
  return section;
}

absl::StatusOr<Section> Scaling(const Study& study) {
  Section section;
  section.id = "fig6b";
  section.title = "Time and memory against the number of samples";
  section.paper = "Figures 6b and 6c (TimeComparison, MemoryComparison)";
  const int threads = ThreadCount();
  SetThreadCount(1);
  const auto timed = TimeOperations(study.quick ? 20 : 200);
  SetThreadCount(threads);
  HEFT_RETURN_IF_ERROR(timed.status());
  const OperationTimes& t = *timed;
  HEFT_ASSIGN_OR_RETURN(const NormalisationSpec normalisation, DegreeTwo());
  section.text = {
      "As in the paper: single operations are timed at the top of its parameters and multiplied "
      "with the number of them, delta = 1024, gamma = 32, degree 2, from concatenation to "
      "matching. "
      "Once with the paper’s formulae, once with what this engine executes (SIMD’s factors are "
      "scalars, which it multiplies without encoding)."};
  section.parameters = {{"operations timed at", t.parameters}};
  Table operations{.id = "operations",
                   .caption = "CPU time, medians.",
                   .columns = {{"operation", "Operation"}, {"ms", "ms", Format::kMilliseconds}}};
  operations.rows = {{"addition", t.addition},
                     {"plaintext product", t.plain_product},
                     {"product by a scalar", t.integer_product},
                     {"ciphertext product, relinearised", t.ciphertext_product},
                     {"rotation", t.rotation}};
  section.tables.push_back(std::move(operations));
  Chart time{.id = "fig6b",
             .title = "Time.",
             .caption = "Solid: the paper’s formulae; dashed: what this engine executes.",
             .x_label = "samples n",
             .y_label = "seconds",
             .log_x = true,
             .log_y = true,
             .key_at = "top left"};
  Chart memory{.id = "fig6c",
               .title = "Memory.",
               .caption = "The largest stage; a plaintext takes half a ciphertext’s room.",
               .x_label = "samples n",
               .y_label = "GB",
               .log_x = true,
               .log_y = true,
               .key_at = "bottom right"};
  Table crossings{.id = "crossover",
                  .caption = "From this n on, SIMD takes less than dense.",
                  .columns = {{"counts", "Counts"},
                              {"time", "Time, n", Format::kCount},
                              {"memory", "Memory, n", Format::kCount},
                              {"paper_time", "paper, time", Format::kText, true},
                              {"paper_memory", "paper, memory", Format::kText, true}}};
  int colour = 0;
  for (bool engine : {false, true}) {
    const CostFunction cost = [&](TableEncoding e, PipelineStage s, const TableShape& shape) {
      return engine ? EngineCost(e, s, shape, normalisation) : PaperCost(e, s, shape, 2);
    };
    Curve curves[2][2];
    for (int e = 0; e < 2; ++e) {
      const TableEncoding encoding = e == 0 ? TableEncoding::kDense : TableEncoding::kSimd;
      for (int i = 0; i <= 120; ++i) {
        TableShape shape;
        shape.samples = static_cast<uint64_t>(std::llround(std::pow(10.0, i / 20.0)));
        const Total total = Sum(encoding, shape, t, engine, cost);
        const double n = static_cast<double>(shape.samples);
        curves[e][0].points.emplace_back(n, total.seconds);
        curves[e][1].points.emplace_back(n, total.bytes / 1e9);
      }
      for (int what = 0; what < 2; ++what) {
        Curve& curve = curves[e][what];
        curve.label = absl::StrCat(EncodingName(encoding), engine ? ", this engine" : ", formulae");
        curve.colour = e;
        curve.dashed = engine;
        (what == 0 ? time : memory).curves.push_back(curve);
      }
    }
    const auto number = [](double n) { return n > 0 ? Json(n) : Json("none up to 10⁶"); };
    crossings.rows.push_back({engine ? "what this engine executes" : "the paper’s formulae",
                              number(Crossover(curves[0][0].points, curves[1][0].points)),
                              number(Crossover(curves[0][1].points, curves[1][1].points)),
                              "> 1,000", "> 10,000"});
    ++colour;
  }
  section.tables.push_back(std::move(crossings));
  section.charts = {std::move(time), std::move(memory)};
  section.notes = {
      absl::StrFormat(
          "Where the curves cross depends on how many products a rotation costs: %.0f by "
          "an encoded plaintext here. The paper gives no times of its operations, so "
          "its ratio is not known; its crossover at a larger n says that it is smaller.",
          t.rotation / t.plain_product),
      "Memory by the paper’s formulae keeps SIMD’s delta gamma plaintexts; this engine’s factors "
      "are scalars and need none, so its crossover comes earlier."};
  return section;
}

}  // namespace heft::paper
