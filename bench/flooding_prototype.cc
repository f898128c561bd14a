// SPDX-License-Identifier: Apache-2.0
// What a profile for IND-CPA-D would cost: noise, sizes and times of the prototype in
// bench/flooding.h, beside profile thin.
//
//   flooding_prototype [--json] [ITERATIONS]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/progress.h"
#include "base/threads.h"
#include "bench/bulk.h"
#include "bench/flooding.h"
#include "ckks/serialization.h"
#include "experiment/stopwatch.h"
#include "heft/json.h"

namespace heft::bench::flooding {
namespace {

using ckks::Ciphertext;
using ckks::Complex;
using experiment::Roles;
using experiment::Timings;

// Root mean square of the scores' errors, not divided by |z|.
double Rms(std::span<const Complex> opened, std::span<const double> expected) {
  double squares = 0;
  for (size_t j = 0; j < expected.size(); ++j) {
    squares += (opened[j].real() - expected[j]) * (opened[j].real() - expected[j]);
  }
  return std::sqrt(squares / static_cast<double>(expected.size()));
}

std::vector<double> Projected(const Model& model, const experiment::Vectors& sample) {
  std::vector<double> z(kGamma, 0);
  for (uint32_t r = 0; r < kGamma; ++r) {
    const double* row = model.projection.data() + size_t{r} * 2 * kDimension;
    for (size_t m = 0; m < 2; ++m) {
      z[r] += experiment::Dot({row + m * kDimension, kDimension}, sample[m]);
    }
  }
  return z;
}

// What flooding for `queries` openings makes of `scores`.
absl::Status Flood(const Prototype& prototype, const Ciphertext& scores,
                   std::span<const double> expected, uint32_t queries, Json* result) {
  const double relative = scores.noise.error / scores.scale;
  const double flooded = ckks::FloodingDeviation(prototype.params(), relative, {30, queries}) *
                         std::sqrt(prototype.params().n());
  const std::string name = absl::StrCat("openings_", queries);
  (*result)[name] = {{"flooded_error_by_formula", flooded},
                     {"bits_missing", std::max(0.0, std::log2(flooded / 1e-3))}};
  const auto opened = prototype.OpenFlooded(scores, {30, queries, 1e-3});
  if (opened.ok()) {
    (*result)[name]["flooded_error_measured"] = Rms(*opened, expected);
  } else if (opened.status().code() != absl::StatusCode::kFailedPrecondition) {
    return opened.status();
  }
  return absl::OkStatus();
}

// Thin: the product's profile, timed in turn with the prototype.
struct Thin {
  std::unique_ptr<Roles> roles;
  std::vector<Ciphertext> probe;
  std::vector<TiledCiphertexts> gallery;
};

absl::StatusOr<Thin> MakeThin(const Model& model, const experiment::Vectors& sample) {
  Thin thin;
  const Monitor nobody;
  const Progress progress(nobody, "gallery");
  HEFT_ASSIGN_OR_RETURN(thin.roles, Roles::Create(model));
  HEFT_ASSIGN_OR_RETURN(thin.probe, thin.roles->EncryptProbe(sample));
  HEFT_ASSIGN_OR_RETURN(thin.gallery, RandomGallery(thin.roles->instance(), kTemplates, progress));
  return thin;
}

absl::Status Time(const Prototype& prototype, std::span<const Ciphertext> probe, const Thin& thin,
                  int iterations, Json* result) {
  Timings fuse, whole, thin_fuse, thin_whole;
  for (int i = 0; i < iterations; ++i) {
    HEFT_RETURN_IF_ERROR(whole.Time([&]() -> absl::Status {
      Ciphertext z;
      HEFT_RETURN_IF_ERROR(fuse.Time([&]() -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(z, prototype.Project(probe));
        return prototype.Norm(z).status();
      }));
      return prototype.Match(z).status();
    }));
    HEFT_RETURN_IF_ERROR(thin_whole.Time([&]() -> absl::Status {
      ProvenProbe z;
      HEFT_RETURN_IF_ERROR(thin_fuse.Time([&]() -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(z, thin.roles->prober().Fuse(experiment::Pointers(thin.probe)));
        return absl::OkStatus();
      }));
      return thin.roles->Match(thin.gallery[0], z.z).status();
    }));
  }
  (*result)["fuse_ms"] = fuse.Spread();
  (*result)["fuse_match_1024_ms"] = whole.Spread();
  (*result)["thin_fuse_ms"] = thin_fuse.Spread();
  (*result)["thin_fuse_match_1024_ms"] = thin_whole.Spread();
  auto ratio = [&](const char* one, const char* other) {
    const Json& r = *result;
    return r[one]["cpu_median"].get<double>() / r[other]["cpu_median"].get<double>();
  };
  // Of CPU times, which what else the machine does moves least.
  (*result)["ratio_fuse"] = ratio("fuse_ms", "thin_fuse_ms");
  (*result)["ratio_fuse_match_1024"] = ratio("fuse_match_1024_ms", "thin_fuse_match_1024_ms");
  return absl::OkStatus();
}

absl::StatusOr<Json> Measure(int level_bits, const Model& model, int iterations) {
  HEFT_ASSIGN_OR_RETURN(const auto prototype, Prototype::Create(level_bits, model));
  std::mt19937_64 random(3);
  const experiment::Vectors sample = experiment::RandomSample(model, random);
  HEFT_ASSIGN_OR_RETURN(const auto probe, prototype->EncryptProbe(sample));
  std::vector<std::vector<double>> templates(kTemplates);
  for (auto& t : templates) t = experiment::RandomUnit(kGamma, random);
  HEFT_RETURN_IF_ERROR(prototype->FillBlock(templates));
  HEFT_ASSIGN_OR_RETURN(const Ciphertext z, prototype->Project(probe));
  HEFT_ASSIGN_OR_RETURN(const Ciphertext norm, prototype->Norm(z));
  HEFT_ASSIGN_OR_RETURN(const Ciphertext scores, prototype->Match(z));
  const std::vector<double> plain = Projected(model, sample);
  std::vector<double> expected;
  for (const auto& t : templates) expected.push_back(experiment::Dot(plain, t));
  const std::vector<double> squared(kTemplates, experiment::Dot(plain, plain));
  const ckks::Params& params = prototype->params();
  const ckks::Context context(params);
  Json result = {{"parameters", params.Describe()},
                 {"bits", params.security().total_bits},
                 {"security", params.security().Describe()},
                 {"score_scale_bits", std::log2(scores.scale)},
                 {"score_error", Rms(prototype->Open(scores), expected)},
                 {"score_error_estimate", scores.noise.error / scores.scale},
                 {"norm_error", Rms(prototype->Open(norm), squared)},
                 {"norm_error_estimate", norm.noise.error / norm.scale},
                 {"probe_bytes", ckks::SeededCiphertextSize(context, kInput)},
                 {"key_bytes", prototype->key_bytes()},
                 {"reply_bytes", ckks::CiphertextSize(context, 2, kScore)},
                 {"block_bytes", size_t{kZ} * params.n() * kGamma * 2 * sizeof(uint32_t)}};
  for (const uint32_t queries : {1000u, 1000000u}) {
    HEFT_RETURN_IF_ERROR(Flood(*prototype, scores, expected, queries, &result));
    Json of_norm = Json::object();
    HEFT_RETURN_IF_ERROR(Flood(*prototype, norm, squared, queries, &of_norm));
    result[absl::StrCat("norm_openings_", queries)] = of_norm[absl::StrCat("openings_", queries)];
  }
  if (iterations > 0) {
    Model thin_model = model;
    thin_model.profile = "thin";
    HEFT_ASSIGN_OR_RETURN(const Thin thin, MakeThin(thin_model, sample));
    HEFT_RETURN_IF_ERROR(Time(*prototype, probe, thin, iterations, &result));
  }
  return result;
}

absl::Status Run(bool json, int iterations) {
  SetThreadCount(1);
  const Model model = experiment::RandomModel({kDimension, kDimension}, kGamma, 3, "thin");
  Json all = {{"machine", experiment::Machine()}};
  for (const int level_bits : {23, 25, 26}) {
    const bool timed = level_bits == 26;
    HEFT_ASSIGN_OR_RETURN(Json one, Measure(level_bits, model, timed ? iterations : 0));
    if (!json) std::cout << "levels of 2 x " << level_bits << " bits: " << one.dump(2) << "\n";
    all[absl::StrCat("levels_", 2 * level_bits)] = std::move(one);
  }
  if (json) std::cout << all.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::bench::flooding

int main(int argc, char** argv) {
  bool json = false;
  int iterations = 20;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else {
      iterations = std::atoi(argv[i]);
    }
  }
  const absl::Status status = heft::bench::flooding::Run(json, iterations);
  if (status.ok()) return 0;
  std::cerr << "flooding_prototype: " << status.message() << "\n";
  return 1;
}
