// SPDX-License-Identifier: Apache-2.0
// Operations on ciphertexts of the compact profile, by level, and the stages of fusing and
// matching.
#include <benchmark/benchmark.h>

#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/key_switch.h"
#include "experiment/roles.h"

namespace heft::bench {
namespace {

using ckks::Ciphertext;

// One key set for all benchmarks.
struct World {
  std::unique_ptr<experiment::Roles> roles =
      *experiment::Roles::Create(experiment::RandomModel({512, 512}, 32, 3));
  std::vector<Ciphertext> inputs;
  Normalised fused;
  ProvenProbe fused_probe;
  TiledCiphertexts probe, block = EmptyBlock(context(), 32);

  World() {
    std::mt19937_64 random(1);
    inputs = *roles->EncryptSample(experiment::RandomSample(roles->model(), random));
    fused = *roles->fuser().Fuse(pointers());
    fused_probe = *prober().Fuse(pointers());
    probe = *PrepareProbe(prober().instance(), fused_probe.z, prober().keys());
  }
  std::vector<const Ciphertext*> pointers() const { return experiment::Pointers(inputs); }
  const ckks::Context& context() const { return roles->context(); }
  const ProbeFuser& prober() const { return roles->prober(); }
  static World& Get() {
    static World world;
    return world;
  }
};

// A ciphertext of `limbs` limbs.
Ciphertext AtLevel(int64_t limbs) {
  World& w = World::Get();
  Ciphertext c;
  (void)ckks::DropLimbs(w.context(), &c, w.inputs[0], limbs);
  c.scale = 1;
  return c;
}

void Digits(benchmark::State& state) {
  const Ciphertext c = AtLevel(state.range(0));
  for (auto _ : state) ckks::Digits digits(World::Get().context(), c.parts[1]);
}
BENCHMARK(Digits)->DenseRange(2, 7);

void RelineariseAndRescale(benchmark::State& state) {
  World& w = World::Get();
  const Ciphertext c = AtLevel(state.range(0));
  Ciphertext product, out;
  (void)ckks::Multiply(w.context(), &product, c, c);
  for (auto _ : state) {
    (void)ckks::RelineariseAndRescale(w.context(), &out, product, w.roles->keys());
  }
}
BENCHMARK(RelineariseAndRescale)->DenseRange(2, 6);

void Rescale(benchmark::State& state) {
  World& w = World::Get();
  const Ciphertext c = AtLevel(state.range(0));
  Ciphertext out;
  for (auto _ : state) (void)ckks::Rescale(w.context(), &out, c);
}
BENCHMARK(Rescale)->DenseRange(2, 7);

// The folds of a fusion, as planned: index of the projection's fold, then those of the norm.
void Fold(benchmark::State& state) {
  World& w = World::Get();
  const FusionPlan& plan = w.roles->instance().plan;
  const size_t i = state.range(0);
  const bool norm = i >= plan.projection.folds.size();
  const auto& fold =
      norm ? plan.normalisation.folds[i - plan.projection.folds.size()] : plan.projection.folds[i];
  const size_t limbs = norm ? plan.projection.z_limbs - w.context().params().level_primes()
                       : i < plan.projection.folds_before_rescale ? plan.projection.input_limbs
                                                                  : plan.projection.z_limbs;
  const Ciphertext c = AtLevel(limbs);
  Ciphertext out;
  for (auto _ : state) (void)ckks::SumGalois(w.context(), &out, c, fold, w.roles->keys());
  state.SetLabel(std::to_string(fold.size()) + " images, " + std::to_string(limbs) + " limbs");
}
BENCHMARK(Fold)->DenseRange(0, 6);

void Project(benchmark::State& state) {
  World& w = World::Get();
  for (auto _ : state) benchmark::DoNotOptimize(w.roles->fuser().Project(w.pointers()));
}
BENCHMARK(Project);

void Fuse(benchmark::State& state) {
  World& w = World::Get();
  for (auto _ : state) benchmark::DoNotOptimize(w.roles->fuser().Fuse(w.pointers()));
}
BENCHMARK(Fuse);

void FuseProbe(benchmark::State& state) {
  World& w = World::Get();
  for (auto _ : state) benchmark::DoNotOptimize(w.prober().Fuse(w.pointers()));
}
BENCHMARK(FuseProbe);

void PrepareProbes(benchmark::State& state) {
  World& w = World::Get();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        PrepareProbe(w.prober().instance(), w.fused_probe.z, w.prober().keys()));
  }
}
BENCHMARK(PrepareProbes);

void MatchOneBlock(benchmark::State& state) {
  World& w = World::Get();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        MatchBlock(w.prober().instance(), w.block, w.probe, w.prober().keys()));
  }
}
BENCHMARK(MatchOneBlock);

void EnrolOne(benchmark::State& state) {
  World& w = World::Get();
  TiledCiphertexts block = w.block;
  const std::vector<NewTemplate> templates(state.range(0), {&w.fused.z, {0, 0}});
  for (auto _ : state) (void)w.roles->Enrol(&block, templates);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(EnrolOne)->Arg(1)->Arg(16)->Arg(64);

}  // namespace
}  // namespace heft::bench

int main(int argc, char** argv) {
  heft::SetThreadCount(1);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
