// SPDX-License-Identifier: Apache-2.0
#include "fusion/matching.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ckks/operation_counts.h"
#include "fusion/block_internal.h"
#include "fusion/errors.h"
#include "ring/kernels.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using ckks::Complex;
using ckks::Context;
using ckks::EvaluationKeys;
using internal::CheckProbe;
using internal::CheckTiles;
using internal::ProbeOffset;
using internal::ProbeStride;
using internal::TileOffset;
using ring::kTile;

// Form: the kinds of prepared probes.
enum class Form { kProbe, kMasked };

double ScaleOf(const FusionPlan& plan, Form form) {
  return form == Form::kMasked ? plan.matching.masked_scale : plan.matching.probe_scale;
}

// SetProducts: scale and noise of the inner products of a probe and one giant of a block.
void SetProducts(const Instance& instance, Form form, Ciphertext* c) {
  const FusionPlan& plan = instance.plan;
  c->scale = ScaleOf(plan, form) * plan.matching.block_scale;
  const double giants = plan.matching.giants;
  const double error = ProductError(instance.params(), plan, form == Form::kMasked) * c->scale;
  c->noise = {1 / giants, error / std::sqrt(giants)};
}

// GiantElements: the automorphisms that move the sums of a block's giants to their slots.
std::vector<uint32_t> GiantElements(const Instance& instance) {
  const FusionPlan& plan = instance.plan;
  std::vector<uint32_t> elements;
  for (uint32_t k = 0; k < plan.gamma; k += plan.ProbeRotations()) {
    elements.push_back(ckks::RotationElement(instance.params(), k));
  }
  return elements;
}

// Finish: the scores of a block from the sums of its giants.
absl::Status Finish(const Instance& instance, Ciphertext* out, std::span<const Ciphertext> sums,
                    const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  if (sums.size() == 1) return ckks::RelineariseAndRescale(context, out, sums[0], keys);
  return ckks::SumImagesAndRescale(context, out, sums, GiantElements(instance), keys);
}

// ProbeCount: ciphertexts of a prepared probe. A mask is different for each giant.
uint32_t ProbeCount(const FusionPlan& plan, Form form) {
  return form == Form::kMasked ? plan.gamma : plan.ProbeRotations();
}

// Sum over i of rot(z, i) G_(j + i) for each giant j of each block: degree 2, MatchLimbs limbs,
// [block][giant].
std::vector<Ciphertext> InnerProducts(const Instance& instance, std::span<const BlockView> blocks,
                                      const TiledCiphertexts& probe, Form form) {
  const FusionPlan& plan = instance.plan;
  const size_t n = instance.context->n(), limbs = MatchLimbs(instance.params());
  const uint32_t giants = plan.matching.giants, each = plan.ProbeRotations();
  const uint32_t length = ProbeCount(plan, form);
  std::vector<Ciphertext> out(blocks.size() * giants);
  for (Ciphertext& c : out) {
    for (int p = 0; p < 3; ++p) c.parts.emplace_back(n, limbs);
    SetProducts(instance, form, &c);
  }
  const size_t stride = TileOffset(n, plan.gamma, 0, 1, 0, 0);
  // Each giant has its own part of a masked probe; otherwise all giants share the probe.
  const uint32_t at_once = length == each ? giants : 1;
  std::vector<uint32_t*> parts(3 * blocks.size() * at_once);
  std::vector<const uint32_t*> galleries(blocks.size() * at_once);
  for (size_t l = 0; l < limbs; ++l) {
    for (uint32_t first = 0; first < giants; first += at_once) {
      for (size_t i = 0; i < galleries.size(); ++i) {
        const size_t block = i / at_once, giant = first + i % at_once;
        Ciphertext& c = out[block * giants + giant];
        for (size_t p = 0; p < 3; ++p) parts[3 * i + p] = c.parts[p].limb(l).data();
        galleries[i] = blocks[block].data() + TileOffset(n, plan.gamma, l, 0, giant * each, 0);
      }
      const size_t start = at_once == 1 ? size_t{first} * each : 0;
      ring::ActiveKernels().match(
          parts.data(), probe.data() + ProbeOffset(n, length, l, 0, start, 0), ProbeStride(length),
          galleries.data(), stride, galleries.size(), each, n, instance.context->modulus(l));
    }
  }
  ckks::CountOperations({.additions = blocks.size() * (plan.gamma - 1),
                         .ciphertext_products = blocks.size() * plan.gamma});
  return out;
}

}  // namespace

std::vector<BlockRun> BlockRuns(size_t blocks, size_t threads) {
  std::vector<BlockRun> runs;
  for (size_t first = 0; first < blocks;) {
    const size_t pass_end = std::min(first + threads * kBlocksATile, blocks);
    for (size_t left = std::min(threads, pass_end - first); left > 0; --left) {
      const size_t end = first + (pass_end - first + left - 1) / left;
      runs.push_back({first, end});
      first = end;
    }
  }
  return runs;
}

namespace {

// MatchBlocks for a probe of either form.
absl::StatusOr<std::vector<Ciphertext>> MatchAs(const Instance& instance, Form form,
                                                std::span<const BlockView> blocks,
                                                const TiledCiphertexts& probe,
                                                const EvaluationKeys& keys, bool relinearise) {
  for (const BlockView block : blocks) {
    HEFT_RETURN_IF_ERROR(CheckTiles(instance, block, "a gallery block"));
  }
  HEFT_RETURN_IF_ERROR(CheckProbe(instance, probe, ProbeCount(instance.plan, form)));
  const uint32_t giants = instance.plan.matching.giants;
  const size_t side_by_side = std::max<size_t>(kBlocksATile / giants, 1);
  std::vector<Ciphertext> out;
  out.reserve(blocks.size());
  while (out.size() < blocks.size()) {
    const size_t count = std::min(side_by_side, blocks.size() - out.size());
    std::vector<Ciphertext> sums =
        InnerProducts(instance, blocks.subspan(out.size(), count), probe, form);
    for (size_t b = 0; b < count; ++b) {
      const auto of = std::span(sums).subspan(b * giants, giants);
      if (giants > 1 || relinearise) {
        HEFT_RETURN_IF_ERROR(Finish(instance, &of[0], of, keys));
      }
      out.push_back(std::move(of[0]));
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<Ciphertext>> MatchBlocks(const Instance& instance,
                                                    std::span<const BlockView> blocks,
                                                    const TiledCiphertexts& probe,
                                                    const EvaluationKeys& keys, bool relinearise) {
  return MatchAs(instance, Form::kProbe, blocks, probe, keys, relinearise);
}

absl::StatusOr<Ciphertext> MatchBlock(const Instance& instance, BlockView block,
                                      const TiledCiphertexts& probe, const EvaluationKeys& keys,
                                      bool relinearise) {
  HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> out,
                        MatchBlocks(instance, {&block, 1}, probe, keys, relinearise));
  return std::move(out[0]);
}

absl::StatusOr<ProbeBatch> PackProbes(const Instance& instance,
                                      std::span<const TiledCiphertexts> probes) {
  for (const TiledCiphertexts& probe : probes) {
    HEFT_RETURN_IF_ERROR(CheckProbe(instance, probe, instance.plan.ProbeRotations()));
  }
  const uint32_t count = instance.plan.ProbeRotations();
  const size_t run = size_t{count} * 2 * kTile;  // of one probe, one tile
  const size_t rows = MatchLimbs(instance.params()) * instance.context->n() / kTile;
  ProbeBatch batch;
  batch.probes = probes.size();
  batch.tiles.resize(rows * run * probes.size());
  ParallelFor(rows, [&](size_t row) {
    for (size_t p = 0; p < probes.size(); ++p) {
      std::copy_n(probes[p].data() + row * ProbeStride(count), run,
                  batch.tiles.data() + (row * probes.size() + p) * run);
    }
  });
  return batch;
}

absl::StatusOr<std::vector<Ciphertext>> MatchBlocks(const Instance& instance,
                                                    std::span<const BlockView> blocks,
                                                    const ProbeBatch& batch,
                                                    const EvaluationKeys& keys, bool relinearise) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  const size_t n = context.n(), limbs = MatchLimbs(context.params());
  const size_t giants = plan.matching.giants;
  const uint32_t each = plan.ProbeRotations();
  const size_t run = size_t{each} * 2 * kTile;  // of one probe, or of one giant, one tile
  for (const BlockView block : blocks) {
    HEFT_RETURN_IF_ERROR(CheckTiles(instance, block, "a gallery block"));
  }
  if (batch.tiles.size() != TiledSize(context, each) * batch.probes) {
    return absl::InvalidArgumentError("a batch of probes of another model");
  }
  // [block][probe][giant].
  std::vector<Ciphertext> products(blocks.size() * batch.probes * giants);
  for (Ciphertext& c : products) {
    for (int p = 0; p < 3; ++p) c.parts.emplace_back(n, limbs);
    SetProducts(instance, Form::kProbe, &c);
  }
  // Tile by tile: the probes' tiles stay in the cache while the blocks' tiles are read once. Sums
  // go through a buffer of a few tiles. All ciphertexts start at the same offset within a page, so
  // writing to them alternately would evict each line before the next one is written.
  const size_t tiles = n / kTile;
  constexpr size_t kTilesATask = 8;
  constexpr size_t kRun = kTilesATask * kTile;
  ParallelFor(limbs * tiles / kTilesATask, [&](size_t task) {
    const size_t l = task / (tiles / kTilesATask);
    const size_t first = task % (tiles / kTilesATask) * kTilesATask;
    AlignedVector<uint32_t> sums(products.size() * 3 * kRun), scratch(2 * run);
    std::vector<const uint32_t*> at(blocks.size() * giants);
    for (size_t t = 0; t < kTilesATask; ++t) {
      const size_t row = l * tiles + first + t;
      for (size_t i = 0; i < at.size(); ++i) {
        at[i] = blocks[i / giants].data() + (row * giants + i % giants) * run;
      }
      ring::ActiveKernels().match_tile(
          sums.data() + t * kTile, kRun, batch.tiles.data() + row * batch.probes * run,
          batch.probes, at.data(), at.size(), scratch.data(), each, context.modulus(l));
    }
    // The sums lie [block][giant][probe].
    for (size_t i = 0; i < products.size(); ++i) {
      const size_t probe = i % batch.probes, of = i / batch.probes;
      Ciphertext& c = products[(of / giants * batch.probes + probe) * giants + of % giants];
      for (size_t p = 0; p < 3; ++p) {
        std::copy_n(sums.data() + (i * 3 + p) * kRun, kRun,
                    c.parts[p].limb(l).data() + first * kTile);
      }
    }
  });
  const uint64_t pairs = blocks.size() * batch.probes;
  ckks::CountOperations(
      {.additions = pairs * (plan.gamma - 1), .ciphertext_products = pairs * plan.gamma});
  if (giants == 1 && !relinearise) return products;
  std::vector<Ciphertext> out(pairs);
  HEFT_RETURN_IF_ERROR(TryParallelFor(pairs, [&](size_t i) {
    return Finish(instance, &out[i], std::span(products).subspan(i * giants, giants), keys);
  }));
  return out;
}

namespace {

// Uniform noise in the real and imaginary parts of all slots except the claimed ones. Its
// coefficients stay below a quarter of the base level (6.5 standard deviations), so that nothing
// wraps. Its steps are finer than any error of a score, so that no part of a score is visible below
// them.
absl::StatusOr<ckks::Plaintext> NoiseOutside(const Instance& instance,
                                             std::span<const uint32_t> claimed, double scale,
                                             const Drowning& drowning) {
  const double n = instance.params().n();
  const size_t limbs = ScoreLimbs(instance.params());
  const double base = instance.params().LevelModulus(limbs);
  const double deviation = base / 4.0 / 6.5 * std::sqrt(n) / scale;
  const double amplitude = deviation * std::sqrt(1.5);
  std::vector<Complex> values(instance.params().slots());
  std::vector<uint64_t> bits(2 * values.size());
  const std::span<uint8_t> raw(reinterpret_cast<uint8_t*>(bits.data()),
                               bits.size() * sizeof(bits[0]));
  if (drowning.seed != nullptr) {
    drowning.seed->Fill(raw, "drowning", drowning.part);
  } else {
    Csprng().Fill(raw);
  }
  auto uniform = [&](size_t i) {
    return amplitude * (static_cast<double>(bits[i] >> 11) * 0x1p-52 - 1);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Complex(uniform(2 * i), uniform(2 * i + 1));
  }
  for (uint32_t slot : claimed) values[slot] = 0;
  return instance.encoder->Encode(values, scale, limbs);
}

}  // namespace

absl::StatusOr<Ciphertext> VerifyBlock(const Instance& instance, BlockView block,
                                       const TiledCiphertexts& probe,
                                       std::span<const uint32_t> slots, uint32_t lane,
                                       const EvaluationKeys& keys, const Drowning& drowning) {
  const Context& context = *instance.context;
  for (uint32_t slot : slots) {
    if (slot >= context.slots()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " does not exist"));
    }
  }
  HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> matched,
                        MatchAs(instance, Form::kMasked, {&block, 1}, probe, keys, true));
  Ciphertext& out = matched[0];
  if (lane == 1) ckks::MultiplyByMonomial(context, &out, out);
  const uint32_t elements[] = {1, ckks::ConjugationElement(context.params())};
  HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &out, out, elements, keys));
  HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext noise,
                        NoiseOutside(instance, slots, out.scale, drowning));
  HEFT_RETURN_IF_ERROR(ckks::AddPlain(context, &out, out, noise));
  out.noise.message = 1;
  return std::move(out);
}

}  // namespace heft
