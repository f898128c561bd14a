// SPDX-License-Identifier: Apache-2.0
// The paper's figures of time and memory against the number of samples.
#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "experiment/roles.h"
#include "fusion/profile.h"
#include "paper/methods/operation_formulae.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;

// OperationTimes: milliseconds of single operations at the top of the paper's chain, and bytes of a
// ciphertext.
struct OperationTimes {
  double addition = 0, plain_product = 0, integer_product = 0, ciphertext_product = 0, rotation = 0;
  double bytes = 0;
  std::string parameters;
};

absl::StatusOr<OperationTimes> TimeOperations(const Monitor& monitor, int repetitions) {
  const OneThread one_thread;
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile("paper"));
  HEFT_ASSIGN_OR_RETURN(const auto world, experiment::KeyedContext::Create(profile.spec));
  const ckks::Context& context = world->context();
  const size_t limbs = world->params().limbs();
  KeyNeeds needs;
  needs.Rotation(world->params(), 1, limbs);
  needs.Relinearisation(limbs);
  world->MakeKeys(needs);
  std::mt19937_64 random(2);
  const std::vector<double> values = experiment::RandomUnit(world->params().slots(), random);
  HEFT_ASSIGN_OR_RETURN(
      const ckks::Plaintext plain,
      world->encoder().Encode(std::span<const double>(values), profile.scale, limbs));
  const Ciphertext a = world->Encrypt(plain);
  Ciphertext out, product;
  const auto time = [&](const auto& work) { return MedianMs(monitor, repetitions, work); };
  OperationTimes t;
  HEFT_ASSIGN_OR_RETURN(t.addition, time([&] { return ckks::Add(context, &out, a, a); }));
  HEFT_ASSIGN_OR_RETURN(t.plain_product,
                        time([&] { return ckks::MultiplyPlain(context, &out, a, plain); }));
  HEFT_ASSIGN_OR_RETURN(t.integer_product, time([&] {
                          ckks::MultiplyInteger(context, &out, a, 12345);
                          return absl::OkStatus();
                        }));
  HEFT_ASSIGN_OR_RETURN(t.ciphertext_product, time([&]() -> absl::Status {
                          HEFT_RETURN_IF_ERROR(ckks::Multiply(context, &product, a, a));
                          return ckks::Relinearise(context, &out, product, world->keys());
                        }));
  HEFT_ASSIGN_OR_RETURN(t.rotation,
                        time([&] { return ckks::Rotate(context, &out, a, 1, world->keys()); }));
  t.bytes = 2.0 * PlaintextBytes(world->params(), limbs);
  t.parameters = world->params().Describe();
  return t;
}

// Total: seconds and bytes of the whole pipeline for n samples.
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

// Crossover: the first n from which `b` stays below `a`; 0 if there is none.
double Crossover(const std::vector<std::pair<double, double>>& a,
                 const std::vector<std::pair<double, double>>& b) {
  double crossover = 0;
  for (size_t i = a.size(); i-- > 0 && b[i].second < a[i].second;) crossover = a[i].first;
  return crossover;
}

// Curves of one encoding and one way to count, up to a million samples.
struct TimeAndMemory {
  Curve time, memory;
};

TimeAndMemory Curves(TableEncoding encoding, const OperationTimes& t, bool engine,
                     const CostFunction& cost) {
  Curve curve;
  curve.label = absl::StrCat(TableEncodingName(encoding), engine ? ", this engine" : ", formulae");
  curve.colour = encoding == TableEncoding::kDense ? 0 : 1;
  curve.dashed = engine;
  TimeAndMemory both{curve, curve};
  for (int i = 0; i <= 120; ++i) {
    TableShape shape;
    shape.samples = static_cast<uint64_t>(std::llround(std::pow(10.0, i / 20.0)));
    const Total total = Sum(encoding, shape, t, engine, cost);
    const double n = static_cast<double>(shape.samples);
    both.time.points.emplace_back(n, total.seconds);
    both.memory.points.emplace_back(n, total.bytes / 1e9);
  }
  return both;
}

Chart LogChart(const std::string& id, const std::string& title, const std::string& caption,
               const std::string& y_label) {
  return {.id = id,
          .title = title,
          .caption = caption,
          .x_label = "samples n",
          .y_label = y_label,
          .log_x = true,
          .log_y = true};
}

// AddCurves draws both figures and says where the curves cross.
absl::Status AddCurves(const OperationTimes& t, Section* section) {
  HEFT_ASSIGN_OR_RETURN(const PaperNormalisations normalisations, MakePaperNormalisations());
  Chart time =
      LogChart("fig6b", "Time.", "Solid: the paper’s formulae; dashed: what this engine executes.",
               "seconds");
  Chart memory = LogChart("fig6c", "Memory.",
                          "The largest stage; a plaintext takes half a ciphertext’s room.", "GB");
  Table crossings{.id = "crossover",
                  .caption = "From this n on, SIMD takes less than dense.",
                  .columns = {{"counts", "Counts"},
                              {"time", "Time, n", Format::kCount},
                              {"memory", "Memory, n", Format::kCount},
                              {"paper_time", "paper, time", Format::kText, true},
                              {"paper_memory", "paper, memory", Format::kText, true}}};
  for (bool engine : {false, true}) {
    const CostFunction cost = [&](TableEncoding e, PipelineStage s, const TableShape& shape) {
      return engine ? EngineCost(e, s, shape, normalisations.degree2) : PaperCost(e, s, shape, 2);
    };
    const TimeAndMemory dense = Curves(TableEncoding::kDense, t, engine, cost),
                        simd = Curves(TableEncoding::kSimd, t, engine, cost);
    const auto crossover = [](const Curve& a, const Curve& b) {
      const double n = Crossover(a.points, b.points);
      return n > 0 ? Json(n) : Json("none up to 10⁶");
    };
    crossings.rows.push_back({engine ? "what this engine executes" : "the paper’s formulae",
                              crossover(dense.time, simd.time),
                              crossover(dense.memory, simd.memory), "> 1,000", "> 10,000"});
    for (const TimeAndMemory* both : {&dense, &simd}) {
      time.curves.push_back(both->time);
      memory.curves.push_back(both->memory);
    }
  }
  section->tables.push_back(std::move(crossings));
  section->charts = {std::move(time), std::move(memory)};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Section> Scaling(const Study& study) {
  Section section{.id = "fig6b",
                  .title = "Time and memory against the number of samples",
                  .paper = "Figures 6b and 6c (TimeComparison, MemoryComparison)"};
  HEFT_ASSIGN_OR_RETURN(const OperationTimes t,
                        TimeOperations(study.monitor, study.quick ? 20 : 200));
  section.text = {
      "As in the paper: single operations are timed at the top of its parameters and multiplied "
      "with the number of them, delta = 1024, gamma = 32, degree 2, from concatenation to "
      "matching. Once with the paper’s formulae, once with what this engine executes (SIMD’s "
      "factors are scalars, which it multiplies without encoding)."};
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
  HEFT_RETURN_IF_ERROR(AddCurves(t, &section));
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
