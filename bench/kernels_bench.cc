// SPDX-License-Identifier: Apache-2.0
// Kernels, once for each instruction set of this machine: kernels_bench --benchmark_filter=Ntt
#include <benchmark/benchmark.h>

#include <random>

#include "base/aligned.h"
#include "ring/kernels.h"
#include "ring/ntt.h"

namespace heft::ring {
namespace {

constexpr uint32_t kN = 8192;
constexpr size_t kDigits = 7;
constexpr size_t kGamma = 32;

AlignedVector<uint32_t> RandomResidues(size_t size, const Modulus& q) {
  std::mt19937 rng(1);
  AlignedVector<uint32_t> v(size);
  for (uint32_t& x : v) x = rng() % q.value();
  return v;
}

void Ntt(benchmark::State& state, const Kernels* kernels, uint32_t n, bool forward) {
  const Modulus q((*GeneratePrimes(n, {30}))[0]);
  const NttTables tables(q, n);
  AlignedVector<uint32_t> a = RandomResidues(n, q);
  for (auto _ : state) {
    forward ? kernels->ntt_forward(a.data(), tables, nullptr)
            : kernels->ntt_inverse(a.data(), tables, nullptr);
    benchmark::ClobberMemory();
  }
}

void Switch(benchmark::State& state, const Kernels* kernels) {
  const Modulus q((*GeneratePrimes(kN, {30}))[0]);
  const auto digits = RandomResidues(kN * kDigits, q), key = RandomResidues(2 * kN * kDigits, q);
  AlignedVector<uint32_t> out0(kN), out1(kN);
  for (auto _ : state) {
    kernels->switch_products(out0.data(), out1.data(), digits.data(), key.data(), kDigits, kDigits,
                             kN, q);
    benchmark::ClobberMemory();
  }
}

void LiftOne(benchmark::State& state, const Kernels* kernels) {
  const std::vector<uint32_t> primes = *GeneratePrimes(kN, {30, 28});
  const Modulus from(primes[0]), to(primes[1]);
  const LiftConstants constants(from, to);
  const auto a = RandomResidues(kN, from);
  AlignedVector<uint32_t> out(kN);
  for (auto _ : state) {
    kernels->lift(out.data(), a.data(), constants, kN, to);
    benchmark::ClobberMemory();
  }
}

void PermuteOne(benchmark::State& state, const Kernels* kernels, uint32_t element) {
  const Modulus q((*GeneratePrimes(kN, {30}))[0]);
  const auto a = RandomResidues(kN, q);
  const auto p = GaloisPermutation(kN, element);
  AlignedVector<uint32_t> out(kN);
  for (auto _ : state) {
    kernels->permute(out.data(), a.data(), p, kN);
    benchmark::ClobberMemory();
  }
}

void MatchLimb(benchmark::State& state, const Kernels* kernels) {
  const Modulus q((*GeneratePrimes(kN, {29}))[0]);
  const auto probe = RandomResidues(kN * kGamma * 2, q);
  const auto gallery = RandomResidues(kN * kGamma * 2, q);
  AlignedVector<uint32_t> c0(kN), c1(kN), c2(kN);
  uint32_t* const out[] = {c0.data(), c1.data(), c2.data()};
  const uint32_t* const galleries[] = {gallery.data()};
  constexpr size_t kStride = kGamma * 2 * kTile;
  for (auto _ : state) {
    kernels->match(out, probe.data(), kStride, galleries, kStride, 1, kGamma, kN, q);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * gallery.size() * sizeof(uint32_t));
}

void RegisterAll() {
  for (const Kernels* kernels : AllKernels()) {
    const std::string name = kernels->name;
    for (uint32_t n : {4096u, 8192u, 16384u, 32768u}) {
      const std::string size = std::to_string(n) + "/" + name;
      benchmark::RegisterBenchmark(("NttForward/" + size).c_str(), Ntt, kernels, n, true);
      benchmark::RegisterBenchmark(("NttInverse/" + size).c_str(), Ntt, kernels, n, false);
    }
    benchmark::RegisterBenchmark(("SwitchProducts7/" + name).c_str(), Switch, kernels);
    benchmark::RegisterBenchmark(("Lift/" + name).c_str(), LiftOne, kernels);
    benchmark::RegisterBenchmark(("Permute/" + name).c_str(), PermuteOne, kernels, 3);
    benchmark::RegisterBenchmark(("MatchLimb/" + name).c_str(), MatchLimb, kernels);
  }
}

}  // namespace
}  // namespace heft::ring

int main(int argc, char** argv) {
  heft::ring::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
