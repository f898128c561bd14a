// SPDX-License-Identifier: Apache-2.0
// Encodings, projection methods and normalisations under encryption, each against plain numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ckks/operation_counts.h"
#include "fusion/profile.h"
#include "fusion/testing.h"
#include "inverse_sqrt/fit.h"
#include "paper/engine.h"
#include "paper/sections.h"

namespace heft::paper {

namespace {

using ckks::Ciphertext;
using Samples = std::vector<std::vector<std::vector<double>>>;  // [modality][sample]

// A ring of the compact profile's degree with the few primes that a projection takes: times of the
// methods compare, and the diagonal method's thousand keys fit into memory.
absl::StatusOr<std::unique_ptr<KeyedContext>> ProjectionContext(ProjectionMethod method) {
  if (method == ProjectionMethod::kCompact) return MakeKeyedContext("compact");
  Profile profile;
  profile.name = "projection";
  profile.spec.n = 8192;
  profile.spec.data_bits = {30, 28, 28};
  profile.spec.special_bits = 30;
  profile.scale = 0x1p28;
  return MakeKeyedContext(profile);
}

// What one method did on random vectors.
struct Trial {
  ProjectionPlan plan;
  uint32_t samples = 0;
  double error = 0, predicted = 0;  // largest over all samples and rows
  double concatenate_ms = 0, project_ms = 0;
  ckks::OperationCounts concatenation, projection;
  std::string parameters;
};

absl::StatusOr<Trial> Try(ProjectionMethod method, const std::vector<uint32_t>& dimensions,
                          uint32_t gamma, int repetitions) {
  const Model model = testing::RandomModel(dimensions, gamma, 2);
  HEFT_ASSIGN_OR_RETURN(const auto world, ProjectionContext(method));
  Trial trial;
  HEFT_ASSIGN_OR_RETURN(trial.plan, PlanProjection(world->context->params(), method, model, 0,
                                                   world->profile.scale, world->profile.scale / 2));
  world->MakeKeys(trial.plan.keys);
  HEFT_ASSIGN_OR_RETURN(
      const Projector projector,
      Projector::Create(world->context, *world->encoder, trial.plan, model, &world->keys));
  // Enough to check every window, and some of SIMD's thousands of slots.
  trial.samples = std::min(trial.plan.vectors, 8u);
  std::mt19937_64 random(11);
  Samples samples(dimensions.size());
  std::vector<std::vector<Ciphertext>> encrypted;
  for (std::size_t m = 0; m < dimensions.size(); ++m) {
    for (uint32_t j = 0; j < trial.samples; ++j) {
      samples[m].push_back(testing::RandomUnit(dimensions[m], random));
    }
    HEFT_ASSIGN_OR_RETURN(const std::vector<ckks::Plaintext> plain,
                          EncodeForProjection(*world->encoder, trial.plan, model, m, samples[m]));
    HEFT_ASSIGN_OR_RETURN(encrypted.emplace_back(), world->Encrypt(plain));
  }
  std::vector<double> concatenate_ms, project_ms;
  std::vector<Ciphertext> z;
  for (int i = 0; i < std::max(1, repetitions); ++i) {
    const ckks::OperationCounts start = ckks::TotalOperations();
    const CpuStopwatch concatenating;
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> joined, projector.Concatenate(encrypted));
    concatenate_ms.push_back(concatenating.Milliseconds());
    const ckks::OperationCounts middle = ckks::TotalOperations();
    const CpuStopwatch projecting;
    HEFT_ASSIGN_OR_RETURN(z, projector.Project(joined));
    project_ms.push_back(projecting.Milliseconds());
    trial.concatenation = middle - start;
    trial.projection = ckks::TotalOperations() - middle;
  }
  trial.concatenate_ms = Median(concatenate_ms);
  trial.project_ms = Median(project_ms);
  std::vector<std::vector<ckks::Complex>> slots;
  for (const Ciphertext& c : z) {
    slots.push_back(world->Open(c));
    trial.predicted =
        std::max(trial.predicted, ckks::SlotErrorBound(world->context->params(), c.noise, c.scale));
  }
  const auto rows = ReadProjection(trial.plan, slots, trial.samples);
  Model linear = model;
  linear.approximation.stages = {Polynomial{{1.0}}};
  for (uint32_t j = 0; j < trial.samples; ++j) {
    std::vector<std::vector<double>> sample;
    for (const auto& modality : samples) sample.push_back(modality[j]);
    const std::vector<double> expected = testing::FusePlain(linear, sample);
    for (uint32_t r = 0; r < gamma; ++r) {
      trial.error = std::max(trial.error, std::abs(rows[j][r] - expected[r]));
    }
  }
  trial.parameters = world->context->params().Describe();
  return trial;
}

std::string ShapeName(const std::vector<uint32_t>& dimensions) {
  return absl::StrCat(dimensions[0], " + ", dimensions[1]);
}

// What one normalisation did on vectors whose squared norms cover its interval.
struct NormalisationTrial {
  double error = 0, predicted = 0;  // of a coordinate, against the same f in plain
  double exact_error = 0;           // of the length, against 1
  double ms = 0;
  std::string parameters;
};

absl::StatusOr<NormalisationTrial> TryNormalisation(const NormalisationSpec& spec, uint32_t gamma,
                                                    int repetitions) {
  std::unique_ptr<KeyedContext> world;
  NormalisationPlan plan;
  absl::Status last;
  for (const char* name : {"paper", "deep", "deepest"}) {
    HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(name));
    HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(profile.spec));
    const std::size_t limbs = std::min(params.limbs(), spec.Levels() + 3);
    auto fits = PlanNormalisation(params, spec, gamma, limbs, profile.scale);
    last = fits.status();
    if (!fits.ok()) continue;
    plan = *std::move(fits);
    HEFT_ASSIGN_OR_RETURN(world, MakeKeyedContext(name));
    break;
  }
  if (world == nullptr) return last;
  world->MakeKeys(plan.keys);
  HEFT_ASSIGN_OR_RETURN(const Normaliser normaliser,
                        Normaliser::Create(world->context, plan, &world->keys));
  // Windows of two periods; the first one of each is right.
  const uint32_t slots = world->context->params().slots(), windows = slots / (2 * gamma);
  const Interval& interval = spec.Range();
  std::mt19937_64 random(5);
  std::vector<double> layout(slots);
  for (uint32_t w = 0; w < windows; ++w) {
    const double s =
        interval.lo * std::pow(interval.hi / interval.lo, static_cast<double>(w) / (windows - 1));
    const std::vector<double> unit = testing::RandomUnit(gamma, random);
    for (uint32_t t = 0; t < 2 * gamma; ++t) {
      layout[w * 2 * gamma + t] = std::sqrt(s) * unit[t % gamma];
    }
  }
  HEFT_ASSIGN_OR_RETURN(
      const ckks::Plaintext plain,
      world->encoder->Encode(std::span<const double>(layout), plan.input_scale, plan.input_limbs));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> z, world->Encrypt({&plain, 1}));
  NormalisationTrial trial;
  std::vector<double> ms;
  Normalised result;
  for (int i = 0; i < std::max(1, repetitions); ++i) {
    const CpuStopwatch watch;
    HEFT_ASSIGN_OR_RETURN(result, normaliser.Apply(z[0]));
    ms.push_back(watch.Milliseconds());
  }
  trial.ms = Median(ms);
  const std::vector<ckks::Complex> opened = world->Open(result.z);
  for (uint32_t w = 0; w < windows; ++w) {
    double s = 0, length = 0;
    for (uint32_t t = 0; t < gamma; ++t) s += std::pow(layout[w * 2 * gamma + t], 2);
    for (uint32_t t = 0; t < gamma; ++t) {
      const double value = opened[w * 2 * gamma + t].real();
      trial.error = std::max(trial.error, std::abs(value - layout[w * 2 * gamma + t] * spec(s)));
      length += value * value;
    }
    trial.exact_error = std::max(trial.exact_error, std::abs(std::sqrt(length) - 1));
  }
  trial.predicted = ckks::SlotErrorBound(world->context->params(), result.z.noise, result.z.scale);
  trial.parameters = world->context->params().Describe();
  return trial;
}

}  // namespace

absl::StatusOr<Section> Encodings(const Study& study) {
  Section section;
  section.id = "encodings";
  section.title = "Encodings and concatenation";
  section.paper = "Section “Input Encoding and Vector Packing”, figure 2";
  section.text = {
      "512 + 512 dimensions to 32 at N = 8192. Dense packs floor(m / 2 delta) vectors with their "
      "wrap-around copies and concatenates by one rotation and one addition; SIMD stands the "
      "ciphertexts side by side; the compact encoding (ours) puts the second modality into the "
      "imaginary part, which costs no key switch."};
  Table table{.id = "encodings",
              .caption =
                  "CPU milliseconds, medians. Each result was projected and compared with "
                  "the plain product.",
              .columns = {{"encoding", "Encoding"},
                          {"vectors", "Samples a batch", Format::kCount},
                          {"ciphertexts", "Ciphertexts a modality", Format::kCount},
                          {"rotations", "Rotations", Format::kCount},
                          {"additions", "Additions", Format::kCount},
                          {"ms", "Concatenation, ms", Format::kMilliseconds},
                          {"error", "Error after projection", Format::kSmall},
                          {"predicted", "predicted", Format::kSmall}}};
  const std::vector<uint32_t> dimensions =
      study.quick ? std::vector<uint32_t>{128, 128} : std::vector<uint32_t>{512, 512};
  for (const auto& [name, method] : std::vector<std::pair<std::string, ProjectionMethod>>{
           {"dense", ProjectionMethod::kHybrid},
           {"SIMD", ProjectionMethod::kSimd},
           {"compact (ours)", ProjectionMethod::kCompact}}) {
    HEFT_ASSIGN_OR_RETURN(const Trial t, Try(method, dimensions, 32, study.effort.repetitions));
    if (name[0] == 'c') table.main_rows.push_back(table.rows.size());
    table.rows.push_back({name, t.plan.vectors, t.plan.InputCiphertexts(0),
                          t.concatenation.rotations, t.concatenation.additions, t.concatenate_ms,
                          t.error, t.predicted});
    section.parameters.emplace_back(name, t.parameters);
  }
  section.tables.push_back(std::move(table));
  if (study.quick) section.notes.push_back("With --quick 128 + 128 dimensions.");
  return section;
}

absl::StatusOr<Section> Projections(const Study& study) {
  Section section;
  section.id = "projection";
  section.title = "Projection methods";
  section.paper = "Section “Encrypted Linear Projection”, figures 3, 4, 7 and 8";
  section.text = {
      "Every method on random unit vectors and a random matrix, against the plain product: the "
      "largest error over all rows and up to 8 samples, beside the bound that the noise estimator "
      "predicts for it."};
  Table table{.id = "projections",
              .caption =
                  "N = 8192 with three primes, the compact method with its profile’s seven; "
                  "CPU time. Dense and SIMD batches hold more than one sample: time a "
                  "sample is what compares.",
              .columns = {{"method", "Method"},
                          {"dimensions", "Dimensions"},
                          {"gamma", "gamma", Format::kCount},
                          {"samples", "Samples a batch", Format::kCount},
                          {"rotations", "Rotations", Format::kCount},
                          {"plain_products", "Plain products", Format::kCount},
                          {"depth", "Depth", Format::kCount},
                          {"ms", "Batch, ms", Format::kMilliseconds},
                          {"ms_per_sample", "a sample, ms", Format::kMilliseconds},
                          {"error", "Error", Format::kSmall},
                          {"predicted", "predicted", Format::kSmall},
                          {"within", "within"}}};
  std::vector<std::vector<uint32_t>> shapes = {{192, 512}, {512, 512}, {128, 128}};
  std::vector<uint32_t> gammas = {16, 32, 64};
  if (study.quick) {
    shapes = {{128, 128}};
    gammas = {32};
  }
  Progress progress(study.monitor, "projection methods");
  bool all_within = true;
  std::size_t done = 0;
  for (const std::vector<uint32_t>& shape : shapes) {
    for (uint32_t gamma : gammas) {
      for (ProjectionMethod method : kAllProjectionMethods) {
        const std::string name = ProjectionMethodName(method);
        if (!progress.Update(done++, shapes.size() * gammas.size() * 7, name)) {
          return absl::CancelledError("interrupted");
        }
        uint32_t rows = gamma;
        if (method == ProjectionMethod::kDiagonalSquare) {
          // It does not reduce the dimension, so gamma is delta: once, where a model can be so
          // wide.
          if (gamma != 32 || shape[0] != 128) continue;
          rows = 256;
        }
        HEFT_ASSIGN_OR_RETURN(const Trial t, Try(method, shape, rows, 1));
        const bool within = t.error <= t.predicted;
        all_within = all_within && within;
        table.rows.push_back({name, ShapeName(shape), rows, t.plan.vectors, t.projection.rotations,
                              t.projection.plain_products,
                              method == ProjectionMethod::kNaive ? 2 : 1, t.project_ms,
                              t.project_ms / t.plan.vectors, t.error, t.predicted, within});
      }
    }
  }
  section.text.push_back(all_within ? "Every error is within its bound."
                                    : "NOT every error is within its bound: see the last column.");
  section.tables.push_back(std::move(table));
  section.notes = {"192 + 512 is padded to 1,024: the methods fold by halves.",
                   "The square diagonal method needs gamma = delta; it is shown at 256, once."};
  return section;
}

absl::StatusOr<Section> Normalisations(const Study& study) {
  Section section;
  section.id = "normalisation";
  section.title = "Normalisation under encryption";
  section.paper = "Section “Approximate Normalization”";
  HEFT_ASSIGN_OR_RETURN(const Interval own, DataInterval(study));
  section.text = {
      "Each method on vectors of 32 coordinates whose squared norms cover its interval evenly in "
      "the logarithm. Error: a decrypted coordinate against the same f in plain, beside the bound "
      "predicted for it. Length: how far the decrypted vector’s length is from 1, which is the "
      "approximation’s error."};
  struct Case {
    std::string name, interval;
    NormalisationSpec spec;
  };
  std::vector<Case> cases;
  const std::string on_paper = "[0.05, 3]",
                    on_data = absl::StrFormat("[%.3f, %.3f]", own.lo, own.hi);
  for (int degree : {1, 2, 3}) {
    HEFT_ASSIGN_OR_RETURN(const Approximation f, FitLeastSquares(degree, kPaperInterval));
    cases.push_back({absl::StrCat("degree ", degree, ", least squares"), on_paper,
                     NormalisationSpec::Polynomials(f)});
  }
  const int cubics[] = {3, 3};
  HEFT_ASSIGN_OR_RETURN(const Approximation six,
                        FitComposite(cubics, kPaperInterval, FitKind::kLeastSquares));
  cases.push_back({"“degree 6”, least squares", on_paper, NormalisationSpec::Polynomials(six)});
  if (study.effort.slow_methods) {
    HEFT_ASSIGN_OR_RETURN(const Goldschmidt g, FitGoldschmidt(4, kPaperInterval));
    cases.push_back({"Goldschmidt, 4 iterations", on_paper, NormalisationSpec::Iteration(g)});
  }
  for (int degree : {3, 7, 15}) {
    HEFT_ASSIGN_OR_RETURN(const Approximation f, FitMinimax(degree, own));
    cases.push_back(
        {absl::StrCat("degree ", degree, ", minimax"), on_data, NormalisationSpec::Polynomials(f)});
  }
  Table table{.id = "normalisations",
              .caption = "One ciphertext, CPU milliseconds, median.",
              .columns = {{"method", "Method"},
                          {"interval", "Interval"},
                          {"levels", "Levels", Format::kCount},
                          {"ms", "ms", Format::kMilliseconds},
                          {"error", "Error", Format::kSmall},
                          {"predicted", "predicted", Format::kSmall},
                          {"within", "within"},
                          {"length", "Length off by", Format::kPercent},
                          {"parameters", "Parameters"}}};
  Progress progress(study.monitor, "normalisations");
  for (const Case& c : cases) {
    if (!progress.Update(table.rows.size(), cases.size(), c.name)) {
      return absl::CancelledError("interrupted");
    }
    HEFT_ASSIGN_OR_RETURN(const NormalisationTrial t,
                          TryNormalisation(c.spec, 32, std::min(3, study.effort.repetitions)));
    table.rows.push_back({c.name, c.interval, c.spec.Levels(), t.ms, t.error, t.predicted,
                          t.error <= t.predicted, t.exact_error, t.parameters});
  }
  section.tables.push_back(std::move(table));
  section.notes = {
      "Deferred exact normalisation computes nothing here: z and |z|² are returned and the key "
      "owner "
      "divides. Section “Matching and protocols” shows its cosines.",
      "A last stage of degree 2 or 3 is applied in factored form, its leading coefficient in the "
      "scale: no level is spent on a constant."};
  return section;
}

}  // namespace heft::paper
