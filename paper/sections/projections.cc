// SPDX-License-Identifier: Apache-2.0
// Encodings and projection methods under encryption, each against plain numbers.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ckks/operation_counts.h"
#include "experiment/roles.h"
#include "fusion/profile.h"
#include "paper/methods/projection.h"
#include "paper/sections/sections.h"

namespace heft::paper {

using experiment::KeyedContext;
using experiment::Vectors;

namespace {

using ckks::Ciphertext;

// ProjectionProfile: a ring of the compact profile's degree with the few primes that a projection
// takes: times of the methods compare, and the diagonal method's thousand keys fit into memory.
absl::StatusOr<Profile> ProjectionProfile(ProjectionMethod method) {
  if (method == ProjectionMethod::kCompact) return FindProfile("compact");
  Profile profile;
  profile.name = "projection";
  profile.spec.n = 8192;
  profile.spec.data_bits = {30, 28, 28};
  profile.spec.special_bits = 30;
  profile.scale = 0x1p28;
  return profile;
}

// ProjectionTrial: what one method did on random vectors.
struct ProjectionTrial {
  ProjectionPlan plan;
  double error = 0, predicted = 0;  // largest over all samples and rows
  double concatenate_ms = 0, project_ms = 0;
  ckks::OperationCounts concatenation, projection;
  std::string parameters;
};

// CountOf: what `work` executed.
template <typename Work>
absl::StatusOr<ckks::OperationCounts> CountOf(const Work& work) {
  const ckks::OperationCounts before = ckks::TotalOperations();
  HEFT_RETURN_IF_ERROR(work());
  return ckks::TotalOperations() - before;
}

// RunTimed: the projected batch, with counts and times.
absl::StatusOr<std::vector<Ciphertext>> RunTimed(
    const Monitor& monitor, const Projector& projector,
    const std::vector<std::vector<Ciphertext>>& encrypted, int repetitions, ProjectionTrial* trial) {
  absl::StatusOr<std::vector<Ciphertext>> joined, z;
  const auto concatenate = [&] { return (joined = projector.Concatenate(encrypted)).status(); };
  const auto project = [&] { return (z = projector.Project(*joined)).status(); };
  HEFT_ASSIGN_OR_RETURN(trial->concatenate_ms, MedianMs(monitor, repetitions, concatenate));
  HEFT_ASSIGN_OR_RETURN(trial->project_ms, MedianMs(monitor, repetitions, project));
  HEFT_ASSIGN_OR_RETURN(trial->concatenation, CountOf(concatenate));
  HEFT_ASSIGN_OR_RETURN(trial->projection, CountOf(project));
  return z;
}

// Error: the largest difference of the projected values from the product in plain.
double Error(const Model& model, const std::vector<Vectors>& samples,
             const std::vector<std::vector<double>>& rows) {
  Model linear = model;
  linear.approximation.stages = {Polynomial{{1.0}}};
  double error = 0;
  for (size_t j = 0; j < samples.size(); ++j) {
    const std::vector<double> expected = experiment::FusePlain(linear, samples[j]);
    for (uint32_t r = 0; r < model.gamma; ++r) {
      error = std::max(error, std::abs(rows[j][r] - expected[r]));
    }
  }
  return error;
}

absl::StatusOr<ProjectionTrial> Try(const Monitor& monitor, ProjectionMethod method,
                          const std::vector<uint32_t>& dimensions, uint32_t gamma,
                          int repetitions) {
  const Model model = experiment::RandomModel(dimensions, gamma, 2);
  HEFT_ASSIGN_OR_RETURN(const Profile profile, ProjectionProfile(method));
  HEFT_ASSIGN_OR_RETURN(const auto world, KeyedContext::Create(profile.spec));
  ProjectionTrial trial;
  HEFT_ASSIGN_OR_RETURN(trial.plan, PlanProjection(world->params(), method, model, 0, profile.scale,
                                                   profile.scale / 2));
  world->MakeKeys(trial.plan.keys);
  HEFT_ASSIGN_OR_RETURN(const Projector projector,
                        Projector::Create(world->shared_context(), world->encoder(), trial.plan,
                                          model, &world->keys()));
  // Enough to check every window, and some of SIMD's thousands of slots.
  std::mt19937_64 random(11);
  std::vector<Vectors> samples(std::min(trial.plan.vectors, 8u));
  for (Vectors& sample : samples) sample = experiment::RandomSample(model, random);
  std::vector<std::vector<Ciphertext>> encrypted;
  for (size_t m = 0; m < dimensions.size(); ++m) {
    std::vector<std::vector<double>> vectors;
    for (const Vectors& sample : samples) vectors.push_back(sample[m]);
    HEFT_ASSIGN_OR_RETURN(const std::vector<ckks::Plaintext> plain,
                          EncodeForProjection(world->encoder(), trial.plan, model, m, vectors));
    encrypted.push_back(world->Encrypt(plain));
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> z,
                        RunTimed(monitor, projector, encrypted, repetitions, &trial));
  std::vector<std::vector<ckks::Complex>> slots;
  for (const Ciphertext& c : z) {
    slots.push_back(world->Open(c));
    trial.predicted =
        std::max(trial.predicted, ckks::SlotErrorBound(world->params(), c.noise, c.scale));
  }
  trial.error = Error(model, samples,
                      ReadProjection(trial.plan, slots, static_cast<uint32_t>(samples.size())));
  trial.parameters = world->params().Describe();
  return trial;
}

// Columns of the projections' table.
Table ProjectionTable() {
  return {.id = "projections",
          .caption =
              "N = 8192 with three primes, the compact method with its profile’s seven; CPU time. "
              "Dense and SIMD batches hold more than one sample: time a sample is what compares.",
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
}

// ProjectionCase: one row of it.
struct ProjectionCase {
  ProjectionMethod method;
  std::vector<uint32_t> dimensions;
  uint32_t gamma;
};

std::vector<ProjectionCase> ProjectionCases(bool quick) {
  std::vector<std::vector<uint32_t>> shapes = {{192, 512}, {512, 512}, {128, 128}};
  std::vector<uint32_t> gammas = {16, 32, 64};
  if (quick) {
    shapes = {{128, 128}};
    gammas = {32};
  }
  std::vector<ProjectionCase> cases;
  for (const std::vector<uint32_t>& shape : shapes) {
    for (uint32_t gamma : gammas) {
      for (ProjectionMethod method : kAllProjectionMethods) {
        const bool square = method == ProjectionMethod::kDiagonalSquare;
        // It does not reduce the dimension: gamma is delta, once, where a model can be so wide.
        if (square && (gamma != 32 || shape[0] != 128)) continue;
        cases.push_back({method, shape, square ? 256 : gamma});
      }
    }
  }
  return cases;
}

}  // namespace

absl::StatusOr<Section> Encodings(const Study& study) {
  Section section{.id = "encodings",
                  .title = "Encodings and concatenation",
                  .paper = "Section “Input Encoding and Vector Packing”, figure 2"};
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
    HEFT_ASSIGN_OR_RETURN(const ProjectionTrial t,
                          Try(study.monitor, method, dimensions, 32, study.effort.repetitions));
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
  Section section{.id = "projection",
                  .title = "Projection methods",
                  .paper = "Section “Encrypted Linear Projection”, figures 3, 4, 7 and 8"};
  section.text = {
      "Every method on random unit vectors and a random matrix, against the plain product: the "
      "largest error over all rows and up to 8 samples, beside the bound that the noise estimator "
      "predicts for it."};
  Table table = ProjectionTable();
  const std::vector<ProjectionCase> cases = ProjectionCases(study.quick);
  Progress progress(study.monitor, "projection methods");
  bool all_within = true;
  for (const auto& [method, shape, gamma] : cases) {
    const std::string name = ProjectionMethodName(method);
    HEFT_RETURN_IF_ERROR(progress.Step(table.rows.size(), cases.size(), name));
    HEFT_ASSIGN_OR_RETURN(const ProjectionTrial t, Try(study.monitor, method, shape, gamma, 1));
    const bool within = t.error <= t.predicted;
    all_within = all_within && within;
    table.rows.push_back({name, absl::StrCat(shape[0], " + ", shape[1]), gamma, t.plan.vectors,
                          t.projection.rotations, t.projection.plain_products,
                          t.plan.input_limbs - t.plan.output_limbs, t.project_ms,
                          t.project_ms / t.plan.vectors, t.error, t.predicted, within});
  }
  section.text.push_back(all_within ? "Every error is within its bound."
                                    : "NOT every error is within its bound: see the last column.");
  section.tables.push_back(std::move(table));
  section.notes = {"192 + 512 is padded to 1,024: the methods fold by halves.",
                   "The square diagonal method needs gamma = delta; it is shown at 256, once."};
  return section;
}

}  // namespace heft::paper
