// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "bench/bulk.h"
#include "bench/jobs.h"
#include "fusion/matching.h"
#include "ring/kernels.h"

namespace heft::bench {
namespace {

using experiment::Pointers;
using experiment::Timings;

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

// Prepared random probes, as many as one batch takes.
absl::StatusOr<std::vector<TiledCiphertexts>> PrepareProbes(Bench& bench) {
  const ProbeFuser& prober = bench.prober();
  std::vector<TiledCiphertexts> probes;
  for (int p = 0; p < bench.options.batch; ++p) {
    HEFT_ASSIGN_OR_RETURN(const auto encrypted, bench.EncryptRandom());
    HEFT_ASSIGN_OR_RETURN(const ProvenProbe z, prober.Fuse(Pointers(encrypted)));
    HEFT_ASSIGN_OR_RETURN(auto prepared, PrepareProbe(prober.instance(), z.z, prober.keys()));
    probes.push_back(std::move(prepared));
  }
  return probes;
}

// Matches `probe`, one or a batch, with all of the gallery, `stride` blocks at a time.
template <typename Probe>
absl::Status MatchAll(const ProbeFuser& prober, std::span<const TiledCiphertexts> gallery,
                      const Probe& probe, size_t stride, bool relinearise) {
  for (size_t b = 0; b < gallery.size(); b += stride) {
    const auto some = gallery.subspan(b, std::min(stride, gallery.size() - b));
    HEFT_RETURN_IF_ERROR(
        MatchBlocks(prober.instance(), Views(some), probe, prober.keys(), relinearise).status());
  }
  return absl::OkStatus();
}

// The same under each instruction set of this processor but the active one, which is back when this
// returns.
absl::Status MatchByInstructionSet(Bench& bench, std::span<const TiledCiphertexts> gallery,
                                   const TiledCiphertexts& probe, Json* times) {
  const std::string active = ring::ActiveKernels().name;
  for (const ring::Kernels* kernels : ring::AllKernels()) {
    if (kernels->name == active || kernels->name == std::string("reference")) continue;
    HEFT_RETURN_IF_ERROR(Step(bench.progress, absl::StrCat("matching with ", kernels->name)));
    ring::ForceKernels(kernels->name);
    Timings timings;
    absl::Status status;
    for (int i = 0; i < 3 && status.ok(); ++i) {
      status = timings.Time(
          [&] { return MatchAll(bench.prober(), gallery, probe, kBlocksATile, true); });
    }
    ring::ForceKernels(active);
    HEFT_RETURN_IF_ERROR(status);
    (*times)[kernels->name]["match_large_ms"] = timings.Median();
  }
  return absl::OkStatus();
}

// Times one probe against a large gallery, and plain reading of the gallery's memory. The
// measurements alternate, so that load on the machine affects all of them alike.
absl::Status MatchOne(Bench& bench, std::span<const TiledCiphertexts> gallery,
                      const TiledCiphertexts& probe) {
  Timings single, degree2, read, read_all_cores;
  for (int i = 0; i < std::max(1, bench.options.iterations); ++i) {
    HEFT_RETURN_IF_ERROR(Step(bench.progress, "matching a large gallery"));
    HEFT_RETURN_IF_ERROR(read.Time([&] {
      for (const TiledCiphertexts& block : gallery) ReadThrough(block);
      return absl::OkStatus();
    }));
    for (const bool relinearise : {true, false}) {
      HEFT_RETURN_IF_ERROR((relinearise ? single : degree2).Time([&] {
        return MatchAll(bench.prober(), gallery, probe, kBlocksATile, relinearise);
      }));
    }
    const int threads = ThreadCount();
    SetThreadCount(0);
    HEFT_RETURN_IF_ERROR(read_all_cores.Time([&] {
      ParallelFor(gallery.size(), [&](size_t b) { ReadThrough(gallery[b]); });
      return absl::OkStatus();
    }));
    SetThreadCount(threads);
  }
  const double bytes = static_cast<double>(gallery.size() * gallery[0].size() * sizeof(uint32_t));
  bench.result["match_large_templates"] = gallery.size() * bench.roles->TemplatesPerBlock();
  bench.Add("match_large_ms", single);
  bench.Add("match_large_degree2_ms", degree2);
  bench.AddSpread("read_ms", read);
  bench.result["match_large_bytes"] = bytes;
  bench.result["read_bandwidth_gb_s"] = bytes / read.Median() / 1e6;
  bench.result["read_bandwidth_all_cores_gb_s"] = bytes / read_all_cores.Median() / 1e6;
  bench.result["match_bandwidth_fraction"] = read.Median() / single.Median();
  bench.result["match_bandwidth_fraction_degree2"] = read.Median() / degree2.Median();
  bench.result["match_1m_ms"] =
      single.Median() * 1e6 /
      static_cast<double>(gallery.size() * bench.roles->TemplatesPerBlock());
  return MatchByInstructionSet(bench, gallery, probe, &bench.result["by_instruction_set"]);
}

// A batch of probes in one pass over a large gallery.
absl::Status MatchBatch(Bench& bench, std::span<const TiledCiphertexts> gallery,
                        std::span<const TiledCiphertexts> probes) {
  HEFT_ASSIGN_OR_RETURN(const ProbeBatch packed, PackProbes(bench.prober().instance(), probes));
  Timings times[2];  // replies of degree 2, relinearised
  for (int i = 0; i < 6; ++i) {
    HEFT_RETURN_IF_ERROR(Step(bench.progress, "matching a batch of probes"));
    const bool relinearise = i % 2 == 1;
    HEFT_RETURN_IF_ERROR(times[i % 2].Time([&] {
      return MatchAll(bench.prober(), gallery, packed,
                      BlocksAPass(bench.prober().instance().plan, relinearise), relinearise);
    }));
  }
  const std::string name = absl::StrCat("match_large_batch", bench.options.batch);
  bench.result[name + "_ms_per_probe"] = times[1].Median() / bench.options.batch;
  bench.result["ratio_batch_alone"] =
      times[1].Median() / bench.options.batch / bench.result["match_large_ms"].get<double>();
  bench.result[name + "_degree2_ms_per_probe"] = times[0].Median() / bench.options.batch;
  bench.AddSpread("match_batch_ms", times[1]);
  bench.AddSpread("match_batch_degree2_ms", times[0]);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLarge(Bench& bench) {
  constexpr size_t kMaxBytes = size_t{2} << 30;
  const Instance& instance = bench.roles->instance();
  const size_t block = TiledSize(*instance.context, instance.plan.gamma) * sizeof(uint32_t);
  const size_t templates =
      std::min(bench.options.large_templates, kMaxBytes / block * bench.roles->TemplatesPerBlock());
  HEFT_ASSIGN_OR_RETURN(const std::vector<TiledCiphertexts> gallery,
                        RandomGallery(instance, templates, bench.progress));
  HEFT_ASSIGN_OR_RETURN(const std::vector<TiledCiphertexts> probes, PrepareProbes(bench));
  HEFT_RETURN_IF_ERROR(MatchOne(bench, gallery, probes[0]));
  return MatchBatch(bench, gallery, probes);
}

}  // namespace heft::bench
