// SPDX-License-Identifier: Apache-2.0
#include "bench/routes.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "bench/world.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"
#include "experiment/machine.h"
#include "fusion/bulk.h"
#include "fusion/compact.h"
#include "fusion/fuser.h"
#include "fusion/matching.h"
#include "fusion/owner/keygen.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/probe.h"
#include "fusion/profile.h"
#include "fusion/testing.h"
#include "gallery/scores.h"
#include "paper/route.h"
#include "ring/kernels.h"

namespace heft::bench {
using namespace experiment;  // NOLINT
using namespace paper;       // NOLINT

namespace {

using ckks::Ciphertext;

double PeakMegabytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024.0;
}

// The keys' size on disk.
absl::Status MeasureKeys(const World& world, Json* result) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> key_bytes,
                        MakeEvaluationKeys(world.instance, *world.secret));
  (*result)["eval_key_bytes"] = key_bytes.size();
  return absl::OkStatus();
}

// Our route: fusing one pair, matching it, accuracy against plain arithmetic.
absl::Status RunCompact(World* world, const BenchOptions& options,
                        const std::function<bool(std::string_view)>& stage, Json* result) {
  const Instance& instance = world->instance;
  const ProbeFuser& prober = *world->prober;
  // A gallery of distinct templates costs seconds to fill; 16 distinct ones repeated time the same.
  constexpr uint32_t kDistinct = 16;
  std::vector<std::vector<double>> plain;
  std::vector<Normalised> fused;
  for (uint32_t i = 0; i < std::min(kDistinct, options.templates); ++i) {
    const auto sample = world->Sample();
    plain.push_back(testing::FusePlain(world->model, sample));
    HEFT_ASSIGN_OR_RETURN(const auto encrypted, world->EncryptSample(sample));
    HEFT_ASSIGN_OR_RETURN(Normalised z, world->fuser->Fuse(Pointers(encrypted)));
    fused.push_back(std::move(z));
  }
  TiledCiphertexts block = EmptyBlock(*instance.context, options.gamma);
  constexpr uint32_t kStep = 64;
  for (uint32_t start = 0; start < options.templates; start += kStep) {
    std::vector<NewTemplate> added;
    for (uint32_t i = start; i < std::min(start + kStep, options.templates); ++i) {
      added.push_back({&fused[i % fused.size()].z, PositionOf(i, instance.params().slots())});
    }
    HEFT_RETURN_IF_ERROR(AddToBlock(instance, &block, added, world->keys));
    if (!stage("filling the gallery")) return absl::CancelledError("interrupted");
  }
  const auto probe_sample = world->Sample();
  const std::vector<double> probe_plain = testing::FusePlain(world->model, probe_sample);
  HEFT_ASSIGN_OR_RETURN(const auto probe, world->EncryptSample(probe_sample));
  Timings fuse, match, both;
  Ciphertext scores;
  for (int i = 0; i < options.iterations; ++i) {
    if (!stage("fusing and matching")) return absl::CancelledError("interrupted");
    Normalised z;
    HEFT_RETURN_IF_ERROR(Time(&both, [&]() -> absl::Status {
      HEFT_RETURN_IF_ERROR(Time(&fuse, [&]() -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(z, world->prober->Fuse(Pointers(probe)));
        return absl::OkStatus();
      }));
      return Time(&match, [&]() -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(const auto prepared,
                              PrepareProbe(prober.instance(), z.z, prober.keys()));
        HEFT_ASSIGN_OR_RETURN(scores,
                              MatchBlock(prober.instance(), block, prepared, prober.keys()));
        return absl::OkStatus();
      });
    }));
  }
  const std::string templates = absl::StrCat(options.templates);
  (*result)["fuse_ms"] = fuse.Median();
  (*result)["match_" + templates + "_ms"] = match.Median();
  (*result)["fuse_match_" + templates + "_ms"] = both.Median();
  (*result)["spread"]["fuse_ms"] = fuse.Spread();
  (*result)["spread"]["match_" + templates + "_ms"] = match.Spread();
  (*result)["spread"]["fuse_match_" + templates + "_ms"] = both.Spread();

  const auto opened =
      instance.encoder->Decode(ckks::Decrypt(*instance.context, scores, *world->secret));
  double worst = 0, squares = 0;
  for (uint32_t i = 0; i < options.templates; ++i) {
    const Position at = PositionOf(i, instance.params().slots());
    const double score = at.lane == 0 ? opened[at.slot].real() : opened[at.slot].imag();
    const double error = score - testing::Dot(probe_plain, plain[i % plain.size()]);
    worst = std::max(worst, std::abs(error));
    squares += error * error;
  }
  (*result)["score_error_max"] = worst;
  (*result)["score_error_rms"] = std::sqrt(squares / options.templates);
  (*result)["score_error_bound"] =
      ckks::SlotErrorBound(instance.params(), scores.noise, scores.scale);
  EncryptedScores reply;
  reply.templates = 2 * instance.params().slots();
  reply.replies.push_back({{}, scores});
  (*result)["score_bytes"] = SerializeScores(*instance.context, reply).size();
  const double per_block = 2.0 * instance.params().slots();
  (*result)["gallery_bytes_per_template"] = block.size() * sizeof(block[0]) / per_block;
  return absl::OkStatus();
}

// Single operations: a rotation at the top of the chain, transforms by instruction set, a probe's
// size.
absl::Status RunOperations(World* world, const BenchOptions& options,
                           const std::function<bool(std::string_view)>& stage, Json* result) {
  if (!stage("single operations")) return absl::CancelledError("interrupted");
  const ckks::Context& context = *world->instance.context;
  const auto sample = world->Sample();
  HEFT_ASSIGN_OR_RETURN(const auto encrypted, world->EncryptSample(sample));
  // The first element whose key reaches the top level.
  uint32_t element = 0;
  for (const auto& [candidate, limbs] : world->instance.plan.galois_keys) {
    if (limbs == world->instance.plan.input_limbs) element = candidate;
  }
  Timings rotation;
  Ciphertext rotated;
  for (int i = 0; i < std::max(20, options.iterations); ++i) {
    HEFT_RETURN_IF_ERROR(Time(&rotation, [&] {
      return ckks::ApplyGalois(context, &rotated, encrypted[0], element, world->keys);
    }));
  }
  (*result)["rotate_top_ms"] = rotation.Median();
  (*result)["spread"]["rotate_top_ms"] = rotation.Spread();
  AlignedVector<uint32_t> values(context.n(), 1);
  for (const ring::Kernels* kernels : ring::AllKernels()) {
    Timings ntt;
    constexpr int kCalls = 100;
    for (int i = 0; i < std::max(20, options.iterations); ++i) {
      HEFT_RETURN_IF_ERROR(Time(&ntt, [&] {
        for (int k = 0; k < kCalls; ++k) kernels->ntt_forward(values.data(), context.ntt(0));
        return absl::OkStatus();
      }));
    }
    const std::string name = kernels == &ring::ActiveKernels()
                                 ? "ntt_8192_us"
                                 : absl::StrCat("ntt_8192_", kernels->name, "_us");
    (*result)[name] = ntt.Median() * 1e3 / kCalls;
  }
  HEFT_ASSIGN_OR_RETURN(const auto seeded,
                        EncryptSamplesSymmetric(world->instance, world->model, 0, *world->secret,
                                                std::vector<std::vector<double>>{sample[0]}, {}));
  (*result)["probe_bytes"] = seeded.size();
  return absl::OkStatus();
}

volatile uint32_t benchmark_sink;  // what a loop computes must be used, or it is left out

// Reads a block in order, as fast as memory gives it.
void ReadThrough(const TiledCiphertexts& block) {
  // Independent sums: the compiler makes them vectors, the memory is the limit.
  uint32_t sums[64] = {};
  for (size_t j = 0; j + 64 <= block.size(); j += 64) {
    for (size_t k = 0; k < 64; ++k) sums[k] ^= block[j + k];
  }
  uint32_t all = 0;
  for (uint32_t v : sums) all ^= v;
  benchmark_sink = all;
}

// Bulk enrolment: one batch of n / 2 samples from ciphertexts in memory, fused and put into a
// block.
absl::Status RunBulk(World* world, const std::function<bool(std::string_view)>& stage,
                     Json* result) {
  const Instance& instance = world->instance;
  const size_t count = instance.params().slots();
  HEFT_ASSIGN_OR_RETURN(const auto columns, world->EncryptBulk(stage));
  Timings timings;
  for (int i = 0; i < 5; ++i) {
    if (!stage("bulk enrolment")) return absl::CancelledError("interrupted");
    HEFT_RETURN_IF_ERROR(Time(&timings, [&] { return world->EnrolBulk(columns); }));
  }
  (*result)["enrol_bulk_per_s"] = 1e3 * static_cast<double>(count) / timings.Median();
  (*result)["spread"]["enrol_bulk_ms"] = timings.Spread();
  return absl::OkStatus();
}

// A million templates in memory.
absl::Status RunMillion(World* world, const BenchOptions& options,
                        const std::function<bool(std::string_view)>& stage, Json* result) {
  const Instance& instance = world->instance;
  const ProbeFuser& prober = *world->prober;
  HEFT_ASSIGN_OR_RETURN(const std::vector<TiledCiphertexts> gallery,
                        RandomGallery(instance, options.million_templates, stage));
  const size_t blocks = gallery.size();
  const size_t per_block = 2 * size_t{instance.params().slots()};
  std::vector<TiledCiphertexts> probes;
  for (int p = 0; p < options.batch; ++p) {
    HEFT_ASSIGN_OR_RETURN(const auto encrypted, world->EncryptSample(world->Sample()));
    HEFT_ASSIGN_OR_RETURN(const Normalised z, prober.Fuse(Pointers(encrypted)));
    HEFT_ASSIGN_OR_RETURN(auto prepared, PrepareProbe(prober.instance(), z.z, prober.keys()));
    probes.push_back(std::move(prepared));
  }
  // What is compared is interleaved: a busy machine is busy for all of them.
  Timings single, degree2, read, read_all_cores;
  for (int i = 0; i < std::max(1, options.iterations); ++i) {
    if (!stage("matching a large gallery")) return absl::CancelledError("interrupted");
    HEFT_RETURN_IF_ERROR(Time(&read, [&] {
      for (const TiledCiphertexts& block : gallery) ReadThrough(block);
      return absl::OkStatus();
    }));
    for (const bool relinearise : {true, false}) {
      HEFT_RETURN_IF_ERROR(Time(relinearise ? &single : &degree2, [&]() -> absl::Status {
        for (size_t b = 0; b < blocks; b += kBlocksATile) {
          const auto some = std::span(gallery).subspan(b, std::min(kBlocksATile, blocks - b));
          HEFT_RETURN_IF_ERROR(
              MatchBlocks(prober.instance(), some, probes[0], prober.keys(), relinearise).status());
        }
        return absl::OkStatus();
      }));
    }
    const int threads = ThreadCount();
    SetThreadCount(0);
    HEFT_RETURN_IF_ERROR(Time(&read_all_cores, [&] {
      ParallelFor(blocks, [&](size_t b) { ReadThrough(gallery[b]); });
      return absl::OkStatus();
    }));
    SetThreadCount(threads);
  }
  HEFT_ASSIGN_OR_RETURN(const ProbeBatch packed, PackProbes(prober.instance(), probes));
  Timings batch[2];  // replies of degree 2, relinearised
  for (int i = 0; i < 6; ++i) {
    if (!stage("matching a batch of probes")) return absl::CancelledError("interrupted");
    const bool relinearise = i % 2 == 1;
    const size_t stride = BlocksAPass(relinearise);
    HEFT_RETURN_IF_ERROR(Time(&batch[i % 2], [&]() -> absl::Status {
      for (size_t b = 0; b < blocks; b += stride) {
        const auto some = std::span(gallery).subspan(b, std::min(stride, blocks - b));
        HEFT_RETURN_IF_ERROR(
            MatchBlocks(prober.instance(), some, packed, prober.keys(), relinearise).status());
      }
      return absl::OkStatus();
    }));
  }
  const double bytes = static_cast<double>(blocks) * gallery[0].size() * sizeof(uint32_t);
  (*result)["match_1m_templates"] = blocks * per_block;
  (*result)["match_1m_ms"] = single.Median();
  (*result)["match_1m_degree2_ms"] = degree2.Median();
  (*result)["match_1m_bytes"] = bytes;
  (*result)["read_bandwidth_gb_s"] = bytes / read.Median() / 1e6;
  (*result)["read_bandwidth_all_cores_gb_s"] = bytes / read_all_cores.Median() / 1e6;
  (*result)["match_bandwidth_fraction"] = read.Median() / single.Median();
  (*result)["match_bandwidth_fraction_degree2"] = read.Median() / degree2.Median();
  const std::string batch_name = absl::StrCat("match_1m_batch", options.batch);
  (*result)[batch_name + "_ms_per_probe"] = batch[1].Median() / options.batch;
  (*result)[batch_name + "_degree2_ms_per_probe"] = batch[0].Median() / options.batch;
  (*result)["spread"]["match_1m_ms"] = single.Spread();
  (*result)["spread"]["match_1m_degree2_ms"] = degree2.Spread();
  (*result)["spread"]["match_batch_ms"] = batch[1].Spread();
  (*result)["spread"]["match_batch_degree2_ms"] = batch[0].Spread();
  (*result)["spread"]["read_ms"] = read.Spread();
  return absl::OkStatus();
}

// The paper's route on our engine: dense encoding, hybrid projection, N = 16384, rotations one at a
// time, degree-2 normalisation.
absl::Status RunPaper(const BenchOptions& options,
                      const std::function<bool(std::string_view)>& stage, Json* result) {
  const Model model = testing::RandomModel(options.dimensions, options.gamma, 2, "paper");
  HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile("paper"));
  HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(profile.spec));
  const auto context = std::make_shared<ckks::Context>(params);
  const ckks::Encoder encoder(context);
  const PaperRouteSpec spec{ProjectionMethod::kHybrid,
                            NormalisationSpec::Polynomials(model.approximation)};
  HEFT_ASSIGN_OR_RETURN(const PaperRoutePlan plan,
                        PlanPaperRoute(params, profile.scale, model, spec));
  Csprng rng;
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretKey secret, ckks::SecretKey::Generate(*context, rng));
  const ckks::PublicKey public_key = ckks::MakePublicKey(*context, secret, rng);
  const ckks::EvaluationKeys keys = testing::MakeKeys(*context, plan.keys, secret, rng);
  HEFT_ASSIGN_OR_RETURN(const PaperRoute route,
                        PaperRoute::Create(context, encoder, plan, model, &keys));
  std::mt19937_64 random(9);
  std::vector<std::vector<Ciphertext>> encrypted;
  for (size_t m = 0; m < model.modalities.size(); ++m) {
    const std::vector<std::vector<double>> vectors = {
        testing::RandomUnit(model.modalities[m].dimension, random)};
    HEFT_ASSIGN_OR_RETURN(const auto plain,
                          EncodeForProjection(encoder, plan.projection, model, m, vectors));
    encrypted.push_back({ckks::Encrypt(*context, plain[0], public_key, rng)});
  }
  Timings timings;
  for (int i = 0; i < std::min(options.iterations, 20); ++i) {
    if (!stage("the paper's route")) return absl::CancelledError("interrupted");
    HEFT_RETURN_IF_ERROR(Time(&timings, [&] { return route.Fuse(encrypted).status(); }));
  }
  (*result)["paper_fuse_ms"] = timings.Median();
  (*result)["spread"]["paper_fuse_ms"] = timings.Spread();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Json> RunBench(const BenchOptions& options,
                              const std::function<bool(std::string_view)>& stage) {
  Json result = {{"version", HEFT_VERSION}, {"machine", Machine()}};
  if (!stage("making keys")) return absl::CancelledError("interrupted");
  World world;
  HEFT_RETURN_IF_ERROR(world.SetUp(options));
  HEFT_RETURN_IF_ERROR(MeasureKeys(world, &result));
  result["parameters"] = world.instance.params().Describe();
  result["security"] = world.instance.params().security().Describe();
  HEFT_RETURN_IF_ERROR(RunCompact(&world, options, stage, &result));
  HEFT_RETURN_IF_ERROR(RunOperations(&world, options, stage, &result));
  HEFT_RETURN_IF_ERROR(RunBulk(&world, stage, &result));
  if (!options.skip_million) HEFT_RETURN_IF_ERROR(RunMillion(&world, options, stage, &result));
  if (!options.skip_paper) HEFT_RETURN_IF_ERROR(RunPaper(options, stage, &result));
  result["peak_memory_mb"] = PeakMegabytes();
  return result;
}

}  // namespace heft::bench
