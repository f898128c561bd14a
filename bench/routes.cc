// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/threads.h"
#include "bench/bulk.h"
#include "bench/jobs.h"
#include "bench/thin.h"
#include "ckks/key_switch.h"
#include "experiment/roles.h"
#include "experiment/stopwatch.h"
#include "fusion/norm_factor.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/profile.h"
#include "gallery/scores.h"
#include "heft/evaluate.h"
#include "ring/kernels.h"

namespace heft::bench {
namespace {

using ckks::Ciphertext;
using experiment::KeyedContext;
using experiment::Pointers;
using experiment::RandomSample;
using experiment::Roles;
using experiment::Timings;
using experiment::Vectors;

double PeakMegabytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024.0;
}

// SmallGallery: one block and the plain templates in it. A gallery of distinct templates costs
// seconds to fill; 16 distinct ones repeated time the same.
struct SmallGallery {
  TiledCiphertexts block;
  Vectors plain;
};

absl::StatusOr<SmallGallery> FillGallery(Bench& bench, const Roles& roles) {
  constexpr uint32_t kDistinct = 16, kStep = 64;
  const uint32_t templates = bench.options.templates;
  SmallGallery gallery{EmptyBlock(roles.context(), roles.model().gamma), {}};
  std::vector<Ciphertext> fused;
  for (uint32_t i = 0; i < std::min(kDistinct, templates); ++i) {
    const Vectors sample = RandomSample(roles.model(), bench.random);
    gallery.plain.push_back(experiment::FusePlain(roles.model(), sample));
    HEFT_ASSIGN_OR_RETURN(const auto encrypted, roles.EncryptSample(sample));
    HEFT_ASSIGN_OR_RETURN(Ciphertext z, roles.FuseTemplate(Pointers(encrypted)));
    fused.push_back(std::move(z));
  }
  for (uint32_t start = 0; start < templates; start += kStep) {
    std::vector<NewTemplate> added;
    for (uint32_t i = start; i < std::min(start + kStep, templates); ++i) {
      added.push_back({&fused[i % fused.size()], PositionOf(i, roles.params().slots())});
    }
    HEFT_RETURN_IF_ERROR(roles.Enrol(&gallery.block, added));
    HEFT_RETURN_IF_ERROR(Step(bench.progress, "filling the gallery"));
  }
  return gallery;
}

// Identified: the results of one timed identification, the fused probe and its scores.
struct Identified {
  ProvenProbe probe;
  Ciphertext scores;
};

// Errors of the scores against plain arithmetic, as they leave the server: cosines with the probe
// as the route normalises it.
absl::Status MeasureAccuracy(Bench& bench, const SmallGallery& gallery, const Vectors& sample,
                             const Identified& identified) {
  const Roles& roles = *bench.roles;
  std::vector<double> probe = experiment::FusePlain(roles.model(), sample);
  const bool thin = roles.rings().thin();
  if (thin) {
    const double length = std::sqrt(experiment::Dot(probe, probe));
    for (double& v : probe) v /= length;
  }
  HEFT_ASSIGN_OR_RETURN(const Ciphertext sent, roles.Sent(identified.scores));
  const std::vector<double> opened =
      roles.OpenScores(sent, thin ? &identified.probe.norm : nullptr);
  double worst = 0, squares = 0;
  for (uint32_t i = 0; i < bench.options.templates; ++i) {
    const double error =
        opened[i] - experiment::Dot(probe, gallery.plain[i % gallery.plain.size()]);
    worst = std::max(worst, std::abs(error));
    squares += error * error;
  }
  bench.result["score_error_max"] = worst;
  bench.result["score_error_rms"] = std::sqrt(squares / bench.options.templates);
  bench.result["score_error_bound"] = ckks::SlotErrorBound(roles.params(), sent.noise, sent.scale);
  return absl::OkStatus();
}

// Bytes of the reply of one full block. `score_bytes` is all of it, with the norm where the route
// sends one: once a probe, however many blocks; `reply_bytes_per_score` is the block's own part.
absl::Status MeasureReply(Bench& bench, const Identified& identified) {
  const Roles& roles = *bench.roles;
  const FusionPlan& plan = roles.instance().plan;
  EncryptedScores reply;
  reply.templates = roles.TemplatesPerBlock();
  const size_t empty = SerializeScores(roles.context(), reply).size();
  reply.replies.push_back({{}, identified.scores, {}});
  if (plan.matching.short_replies) {
    HEFT_ASSIGN_OR_RETURN(reply.replies[0].brief, ckks::Shorten(roles.context(), identified.scores,
                                                                plan.matching.reply_form));
  }
  const size_t block = SerializeScores(roles.context(), reply).size() - empty;
  bench.result["reply_bytes_per_score"] =
      static_cast<double>(block) / static_cast<double>(reply.templates);
  if (roles.rings().thin()) {
    reply.norm_form = NormForm::kProof;
    reply.norm = identified.probe.norm;
  }
  bench.result["score_bytes"] = SerializeScores(roles.context(), reply).size();
  return absl::OkStatus();
}

// Route: an identification, ready to be timed.
struct Route {
  const Roles& roles;
  SmallGallery gallery;
  std::vector<Ciphertext> probe;
  Timings fuse = {}, match = {}, both = {}, factor = {};

  absl::StatusOr<Identified> Time() {
    return both.Time([&]() -> absl::StatusOr<Identified> {
      Identified out;
      HEFT_ASSIGN_OR_RETURN(out.probe,
                            fuse.Time([&] { return roles.prober().Fuse(Pointers(probe)); }));
      HEFT_ASSIGN_OR_RETURN(out.scores,
                            match.Time([&] { return roles.Match(gallery.block, out.probe.z); }));
      return out;
    });
  }
  // TimeFactor: the part of fusing that makes a factor of the norm's proof for one request alone.
  absl::Status TimeFactor() {
    if (!roles.rings().thin()) return absl::OkStatus();
    return factor.Time([&] {
      roles.prober().PrepareFactor(kLargestNormFactor);
      return absl::OkStatus();
    });
  }
};

// Times of fusing and matching under each instruction set of this processor.
absl::Status TimeInstructionSets(Bench& bench, Route& route) {
  const std::string active = ring::ActiveKernels().name;
  for (const ring::Kernels* kernels : ring::AllKernels()) {
    HEFT_RETURN_IF_ERROR(Step(bench.progress, absl::StrCat("fusing with ", kernels->name)));
    ring::ForceKernels(kernels->name);
    route.fuse = route.match = route.both = {};
    absl::Status status;
    for (int i = 0; i < std::min(bench.options.iterations, 5) && status.ok(); ++i) {
      status = route.Time().status();
    }
    ring::ForceKernels(active);
    HEFT_RETURN_IF_ERROR(status);
    bench.result["by_instruction_set"][kernels->name] = {
        {"fuse_ms", route.fuse.Median()},
        {absl::StrCat("fuse_match_", bench.options.templates, "_ms"), route.both.Median()}};
  }
  return absl::OkStatus();
}

// RatioOfFactor: the CPU time of fusing and matching, over the same without the making of a factor
// of the norm's proof for this request alone.
double RatioOfFactor(const Route& route) {
  const auto cpu = [](const Timings& of) { return of.Spread()["cpu_median"].get<double>(); };
  const double both = cpu(route.both);
  return both / (both - cpu(route.factor));
}

// Our route: fusing one pair, matching it, accuracy against plain arithmetic.
absl::Status RunProduct(Bench& bench) {
  const Roles& roles = *bench.roles;
  const Vectors sample = RandomSample(roles.model(), bench.random);
  HEFT_ASSIGN_OR_RETURN(SmallGallery gallery, FillGallery(bench, roles));
  HEFT_ASSIGN_OR_RETURN(auto probe, roles.EncryptProbe(sample));
  Route route{roles, std::move(gallery), std::move(probe)};
  HEFT_RETURN_IF_ERROR(route.Time().status());  // the caches are warm from here
  route.fuse = route.match = route.both = {};
  Identified identified;
  for (int i = 0; i < bench.options.iterations; ++i) {
    HEFT_RETURN_IF_ERROR(Step(bench.progress, "fusing and matching"));
    HEFT_ASSIGN_OR_RETURN(identified, route.Time());
    HEFT_RETURN_IF_ERROR(route.TimeFactor());
  }
  const std::string templates = absl::StrCat(bench.options.templates);
  bench.Add("fuse_ms", route.fuse);
  bench.Add("match_" + templates + "_ms", route.match);
  bench.Add("fuse_match_" + templates + "_ms", route.both);
  if (roles.rings().thin()) {
    bench.Add("factor_ms", route.factor);
    bench.result["ratio_factor"] = RatioOfFactor(route);
  }
  HEFT_RETURN_IF_ERROR(MeasureAccuracy(bench, route.gallery, sample, identified));
  HEFT_RETURN_IF_ERROR(MeasureReply(bench, identified));
  const size_t per_block = roles.TemplatesPerBlock();
  bench.result["gallery_bytes_per_template"] =
      static_cast<double>(route.gallery.block.size() * sizeof(uint32_t)) /
      static_cast<double>(per_block);
  return TimeInstructionSets(bench, route);
}

// Single operations: a rotation at the top of the chain, transforms by instruction set.
absl::Status RunOperations(Bench& bench) {
  HEFT_RETURN_IF_ERROR(Step(bench.progress, "single operations"));
  const Roles& roles = *bench.roles;
  // Of the ring in which samples are enrolled, as in 0.1.
  const KeyedContext& large = roles.enrolment();
  const ckks::Context& context = large.context();
  const FusionPlan& plan = roles.rings().enrolment.plan;
  const int iterations = std::max(20, bench.options.iterations);
  const Vectors sample = RandomSample(roles.model(), bench.random);
  HEFT_ASSIGN_OR_RETURN(const auto encrypted, roles.EncryptSample(sample));
  // The first element whose key reaches the top level.
  uint32_t element = 0;
  for (const auto& [candidate, limbs] : plan.keys.galois_keys) {
    if (limbs == plan.projection.input_limbs) element = candidate;
  }
  Timings rotation;
  Ciphertext rotated;
  for (int i = 0; i < iterations; ++i) {
    HEFT_RETURN_IF_ERROR(rotation.Time(
        [&] { return ckks::ApplyGalois(context, &rotated, encrypted[0], element, large.keys()); }));
  }
  bench.operations["rotate_top_ms"] = rotation.Median();
  AlignedVector<uint32_t> values(context.n(), 1);
  for (const ring::Kernels* kernels : ring::AllKernels()) {
    Timings ntt;
    constexpr int kCalls = 100;
    for (int i = 0; i < iterations; ++i) {
      HEFT_RETURN_IF_ERROR(ntt.Time([&] {
        for (int k = 0; k < kCalls; ++k)
          kernels->ntt_forward(values.data(), context.ntt(0), nullptr);
        return absl::OkStatus();
      }));
    }
    // By name: in debug builds the active table is another one, with assertions around it.
    const bool active = std::string_view(kernels->name) == ring::ActiveKernels().name;
    const std::string name =
        active ? "ntt_8192_us" : absl::StrCat("ntt_8192_", kernels->name, "_us");
    bench.operations[name] = ntt.Median() * 1e3 / kCalls;
  }
  return absl::OkStatus();
}

// Bulk enrolment: one batch of n / 2 samples from ciphertexts in memory, fused and put into a
// block.
absl::Status RunBulk(Bench& bench) {
  HEFT_ASSIGN_OR_RETURN(const BulkColumns columns,
                        EncryptBulk(*bench.roles, bench.random, bench.progress));
  Timings timings;
  for (int i = 0; i < 5; ++i) {
    HEFT_RETURN_IF_ERROR(Step(bench.progress, "bulk enrolment"));
    HEFT_RETURN_IF_ERROR(timings.Time([&] { return EnrolBulk(*bench.roles, columns); }));
  }
  bench.result["enrol_bulk_per_s"] =
      1e3 * bench.roles->enrolment().params().slots() / timings.Median();
  bench.AddSpread("enrol_bulk_ms", timings);
  return absl::OkStatus();
}

// Sizes of what travels: keys, and the sample of one modality.
absl::Status MeasureSizes(Bench& bench) {
  const Roles& roles = *bench.roles;
  bench.result["eval_key_bytes"] = roles.evaluation_keys_bytes();
  bench.result["enrol_key_bytes"] = roles.enrolment_keys_bytes();
  bench.result["probe_key_bytes"] = roles.evaluation_keys_bytes() - roles.enrolment_keys_bytes();
  const Vectors sample = RandomSample(roles.model(), bench.random);
  HEFT_ASSIGN_OR_RETURN(const auto seeded,
                        EncryptSamplesSymmetric(roles.instance(), roles.model(), 0, roles.secret(),
                                                Vectors{sample[0]}, {}));
  bench.result["probe_bytes"] = seeded.size();
  return absl::OkStatus();
}

// All jobs at one fused dimension.
absl::Status RunDimension(Bench& bench) {
  const BenchmarkOptions& options = bench.options;
  HEFT_RETURN_IF_ERROR(Step(bench.progress, absl::StrCat("making keys for ", bench.gamma)));
  HEFT_ASSIGN_OR_RETURN(bench.roles,
                        Roles::Create(experiment::RandomModel(options.dimensions, bench.gamma,
                                                              options.degree, options.profile)));
  HEFT_RETURN_IF_ERROR(MeasureSizes(bench));
  HEFT_RETURN_IF_ERROR(RunProduct(bench));
  if (bench.roles->rings().thin()) {
    HEFT_RETURN_IF_ERROR(RunClientFused(options, bench.progress, *bench.roles, &bench.result));
  }
  HEFT_RETURN_IF_ERROR(RunCold(options, bench.gamma, bench.progress, &bench.result));
  HEFT_RETURN_IF_ERROR(RunBulk(bench));
  return options.skip_large ? absl::OkStatus() : RunLarge(bench);
}

// The fused dimensions to measure.
absl::StatusOr<std::vector<uint32_t>> Gammas(const BenchmarkOptions& options) {
  if (!options.gammas.empty()) return options.gammas;
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindModelProfile(options.profile));
  const uint32_t total = std::accumulate(options.dimensions.begin(), options.dimensions.end(), 0u);
  std::vector<uint32_t> gammas;
  for (uint32_t gamma = 32; gamma <= std::min(total, profile.max_gamma); gamma *= 2) {
    gammas.push_back(gamma);
  }
  if (gammas.empty()) {
    return absl::InvalidArgumentError("the modalities have fewer than 32 dimensions: give gammas");
  }
  return gammas;
}

}  // namespace
}  // namespace heft::bench

namespace heft {

absl::StatusOr<Json> RunBenchmark(const BenchmarkOptions& options, const Monitor& monitor) {
  using namespace bench;  // NOLINT: of this room
  const Progress progress(monitor, "benchmark");
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint32_t> gammas, Gammas(options));
  Json result = {{"version", HEFT_VERSION},
                 {"machine", experiment::Machine()},
                 {"profile", options.profile},
                 {"templates", options.templates}};
  for (const uint32_t gamma : gammas) {
    Bench bench{options, gamma, progress};
    HEFT_RETURN_IF_ERROR(RunDimension(bench));
    if (gamma == gammas.back()) HEFT_RETURN_IF_ERROR(RunOperations(bench));
    result["parameters"] = bench.roles->params().Describe();
    result["security"] = bench.roles->params().security().Describe();
    result["dimensions"][absl::StrCat(gamma)] = std::move(bench.result);
    result["operations"] = std::move(bench.operations);
  }
  result["peak_memory_mb"] = PeakMegabytes();
  return result;
}

std::string BenchmarkTable(const Json& result) {
  const std::string templates = absl::StrCat(result["templates"].get<uint32_t>());
  struct Column {
    std::string title, key;
    double unit;
    int digits;  // after the point; negative: in scientific notation
  };
  const std::vector<Column> columns = {
      {"fuse, ms", "fuse_ms", 1, 2},
      {"match " + templates + ", ms", "match_" + templates + "_ms", 1, 2},
      {"match 1,000,000, ms", "match_1m_ms", 1, 1},
      {"share of the bus", "match_bandwidth_fraction", 1, 2},
      {"in a batch", "ratio_batch_alone", 1, 2},
      {"bytes a template", "gallery_bytes_per_template", 1, 0},
      {"keys for probes, MB", "probe_key_bytes", 1e6, 1},
      {"for enrolment, MB", "enrol_key_bytes", 1e6, 1},
      {"cold identify, ms", "identify_cold_ms", 1, 0},
      {"cold verify, ms", "verify_cold_ms", 1, 0},
      {"enrolments a second", "enrol_bulk_per_s", 1, 0},
      {"error, rms", "score_error_rms", 1, -1},
      {"worst", "score_error_max", 1, -1}};
  std::string table = "| dimensions |", rule = "|---:|";
  for (const Column& column : columns) {
    absl::StrAppend(&table, " ", column.title, " |");
    absl::StrAppend(&rule, "---:|");
  }
  absl::StrAppend(&table, "\n", rule, "\n");
  for (const auto& [gamma, of] : result["dimensions"].members()) {
    absl::StrAppend(&table, "| ", gamma, " |");
    for (const Column& column : columns) {
      const Json* value = of.find(column.key);
      std::string text;
      if (value != nullptr) {
        const double number = value->get<double>() / column.unit;
        text = column.digits < 0 ? absl::StrFormat("%.1e", number)
                                 : absl::StrFormat("%.*f", column.digits, number);
      }
      absl::StrAppend(&table, " ", text, " |");
    }
    absl::StrAppend(&table, "\n");
  }
  return table;
}

}  // namespace heft
