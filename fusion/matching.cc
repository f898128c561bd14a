// SPDX-License-Identifier: Apache-2.0
#include "fusion/matching.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/key_switch.h"
#include "ckks/operation_counts.h"
#include "fusion/block_internal.h"
#include "ring/kernels.h"

namespace heft {
namespace {

using ckks::Ciphertext;
using ckks::Complex;
using ckks::Context;
using ckks::EvaluationKeys;
using ring::kTile;

// Offset of limb l, tile t, ciphertext k, part p.
size_t TileOffset(size_t n, uint32_t gamma, size_t l, size_t t, size_t k, size_t p) {
  return l * n * gamma * 2 + ((t * gamma + k) * 2 + p) * kTile;
}

// A probe's tiles keep one line's distance more: it is written ciphertext by ciphertext, and lines
// of one ciphertext a power of two apart would compete for the same cache sets.
size_t ProbeStride(uint32_t gamma) { return (size_t{gamma} * 2 + 1) * kTile; }
size_t ProbeSize(const Context& context, uint32_t gamma) {
  return kMatchLimbs * context.n() / kTile * ProbeStride(gamma);
}
TiledCiphertexts NewProbe(const Context& context, uint32_t gamma) {
  TiledCiphertexts out(ProbeSize(context, gamma));
  for (size_t row = 0; row < kMatchLimbs * context.n() / kTile; ++row) {
    std::fill_n(out.data() + (row + 1) * ProbeStride(gamma) - kTile, kTile, 0);
  }
  return out;
}
size_t ProbeOffset(size_t n, uint32_t gamma, size_t l, size_t t, size_t k, size_t p) {
  return (l * n / kTile + t) * ProbeStride(gamma) + (k * 2 + p) * kTile;
}

// Both parts of a ciphertext, kMatchLimbs limbs, tile by tile to out + place(limb, tile, part).
template <typename Place>
void StoreParts(std::span<const ring::RnsPoly> parts, uint32_t* out, const Place& place) {
  for (size_t l = 0; l < kMatchLimbs; ++l) {
    for (size_t p = 0; p < 2; ++p) {
      const uint32_t* in = parts[p].limb(l).data();
      for (size_t t = 0; t < parts[p].n() / kTile; ++t) {
        std::copy_n(in + t * kTile, kTile, out + place(l, t, p));
      }
    }
  }
}

// Ciphertext k into a probe's tiles.
void StoreProbe(const Context& context, uint32_t gamma, uint32_t k,
                std::span<const ring::RnsPoly> parts, TiledCiphertexts* out) {
  StoreParts(parts, out->data(), [&](size_t l, size_t t, size_t p) {
    return ProbeOffset(context.n(), gamma, l, t, k, p);
  });
}

}  // namespace

namespace internal {

std::vector<ring::RnsPoly> LoadTiled(const Context& context, uint32_t gamma, uint32_t k,
                                     const TiledCiphertexts& tiles) {
  const size_t n = context.n();
  std::vector<ring::RnsPoly> parts;
  for (size_t p = 0; p < 2; ++p) {
    parts.emplace_back(n, kMatchLimbs);
    for (size_t l = 0; l < kMatchLimbs; ++l) {
      uint32_t* out = parts[p].limb(l).data();
      for (size_t t = 0; t < n / kTile; ++t) {
        std::copy_n(tiles.data() + TileOffset(n, gamma, l, t, k, p), kTile, out + t * kTile);
      }
    }
  }
  return parts;
}

void StoreTiled(const Context& context, uint32_t gamma, uint32_t k,
                std::span<const ring::RnsPoly> parts, TiledCiphertexts* out) {
  StoreParts(parts, out->data(), [&](size_t l, size_t t, size_t p) {
    return TileOffset(context.n(), gamma, l, t, k, p);
  });
}

void AddTiled(const Context& context, uint32_t gamma, uint32_t k,
              std::span<const ring::RnsPoly> parts, TiledCiphertexts* out) {
  const size_t n = context.n();
  for (size_t l = 0; l < kMatchLimbs; ++l) {
    const ring::Modulus& q = context.modulus(l);
    for (size_t p = 0; p < 2; ++p) {
      const uint32_t* in = parts[p].limb(l).data();
      for (size_t t = 0; t < n / kTile; ++t) {
        uint32_t* tile = out->data() + TileOffset(n, gamma, l, t, k, p);
        for (size_t i = 0; i < kTile; ++i) tile[i] = q.Add(tile[i], in[t * kTile + i]);
      }
    }
  }
}

absl::Status CheckTemplate(const FusionPlan& plan, const Ciphertext& z) {
  if (z.size() == 2 && z.limbs() == plan.template_limbs &&
      std::abs(z.scale - plan.template_scale) <= 1e-6 * plan.template_scale) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("not a fused template of this model: ", z.size(),
                                                 " parts, ", z.limbs(), " limbs, scale 2^",
                                                 std::log2(z.scale)));
}

absl::Status CheckTiles(const Instance& instance, const TiledCiphertexts& tiles, const char* what) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  if (tiles.size() == TiledSize(context, plan.gamma)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " of ", tiles.size(), " words, ",
                                                 TiledSize(context, plan.gamma), " expected"));
}

}  // namespace internal

namespace {

using internal::AddTiled;
using internal::CheckTemplate;
using internal::CheckTiles;

absl::Status CheckProbe(const Instance& instance, const TiledCiphertexts& probe) {
  const size_t expected = ProbeSize(*instance.context, instance.plan.gamma);
  if (probe.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a probe of ", probe.size(), " words, ", expected, " expected"));
}

absl::StatusOr<ckks::Plaintext> EncodeMask(const Instance& instance,
                                           std::span<const Complex> mask) {
  if (instance.plan.template_limbs != kTemplateLimbs) {
    return absl::InvalidArgumentError(
        "a probe's instance has no prime left for a mask: use MakeInstance's");
  }
  // At the scale of the prime that the rescale divides by: the template's scale comes back.
  return instance.encoder->Encode(mask, instance.plan.mask_scale, kTemplateLimbs,
                                  /*extended=*/true);
}

// A template with the mask of the slots that it is to fill.
struct Masked {
  const Ciphertext* z;
  ckks::Plaintext mask;  // kTemplateLimbs limbs and the special prime
};

// sum over templates of mask * rot(z, k), rescaled to kMatchLimbs limbs, for every k < gamma; `use`
// takes k and both parts, on any thread. The masks multiply in the extended basis, so that each k
// costs one division however many templates there are.
template <typename Use>
absl::Status MaskedRotations(const Instance& instance, std::span<const Masked> templates,
                             const EvaluationKeys& keys, const Use& use) {
  const Context& context = *instance.context;
  const size_t n = context.n();
  const std::vector<uint32_t>& rotations = instance.plan.gallery_rotations;
  std::vector<const ckks::SwitchKey*> switch_keys(rotations.size(), nullptr);
  for (size_t k = 0; k < rotations.size(); ++k) {
    if (rotations[k] == 1) continue;
    HEFT_ASSIGN_OR_RETURN(switch_keys[k], keys.Galois(rotations[k], kTemplateLimbs));
  }
  std::vector<std::unique_ptr<ckks::Digits>> digits(templates.size());
  ParallelFor(templates.size(), [&](size_t t) {
    digits[t] = std::make_unique<ckks::Digits>(context, templates[t].z->parts[1]);
  });
  const uint64_t products = templates.size() * rotations.size();
  ckks::CountOperations({.additions = products,
                         .plain_products = products,
                         .rotations = products - templates.size()});
  const ring::Kernels& kernels = ring::ActiveKernels();
  ParallelFor(rotations.size(), [&](size_t k) {
    ckks::SwitchSum sum(n, kTemplateLimbs);
    ring::RnsPoly plain[2] = {ring::RnsPoly(n, kTemplateLimbs), ring::RnsPoly(n, kTemplateLimbs)};
    for (ring::RnsPoly* poly : {&sum.part[0], &sum.part[1], &plain[0], &plain[1]}) {
      std::fill(poly->values().begin(), poly->values().end(), 0);
    }
    AlignedVector<uint32_t> term[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
    AlignedVector<uint32_t> permuted(n);
    // out += mask * image of `in`, modulo one prime.
    auto accumulate = [&](std::span<uint32_t> out, const uint32_t* in,
                          std::span<const uint32_t> mask, const ring::Modulus& q) {
      const uint32_t* image = in;
      if (switch_keys[k] != nullptr) {
        kernels.permute(permuted.data(), in, context.permutation(rotations[k]), n);
        image = permuted.data();
      }
      kernels.multiply(permuted.data(), image, mask.data(), n, q);
      kernels.add(out.data(), out.data(), permuted.data(), n, q);
    };
    for (size_t t = 0; t < templates.size(); ++t) {
      const Ciphertext& z = *templates[t].z;
      for (size_t l = 0; l <= kTemplateLimbs; ++l) {
        const ring::Modulus& q = context.modulus(ckks::ExtendedPrime(context, l, kTemplateLimbs));
        const std::span<const uint32_t> mask = templates[t].mask.poly.limb(l);
        if (switch_keys[k] != nullptr) {
          ckks::SwitchLimb(context, term[0].data(), term[1].data(), *digits[t], *switch_keys[k], l);
          accumulate(sum.part[0].limb(l), term[0].data(), mask, q);
          accumulate(sum.part[1].limb(l), term[1].data(), mask, q);
        }
        if (l == kTemplateLimbs) break;
        accumulate(plain[0].limb(l), z.parts[0].limb(l).data(), mask, q);
        if (switch_keys[k] == nullptr) {
          accumulate(plain[1].limb(l), z.parts[1].limb(l).data(), mask, q);
        }
      }
    }
    const ring::RnsPoly* const plain_parts[2] = {&plain[0], &plain[1]};
    use(k, ckks::CloseSwitch(context, sum, plain_parts, /*rescale=*/true));
  });
  return absl::OkStatus();
}

// sum_k rot(z, k) G_k for each block: degree 2, two limbs.
std::vector<Ciphertext> InnerProducts(const Instance& instance,
                                      std::span<const TiledCiphertexts* const> blocks,
                                      const TiledCiphertexts& probe) {
  const FusionPlan& plan = instance.plan;
  const size_t n = instance.context->n();
  std::vector<Ciphertext> out(blocks.size());
  for (Ciphertext& c : out) {
    for (int p = 0; p < 3; ++p) c.parts.emplace_back(n, kMatchLimbs);
    c.scale = plan.template_scale * plan.template_scale;
  }
  std::vector<uint32_t*> parts(3 * blocks.size());
  std::vector<const uint32_t*> galleries(blocks.size());
  for (size_t l = 0; l < kMatchLimbs; ++l) {
    for (size_t b = 0; b < blocks.size(); ++b) {
      for (size_t p = 0; p < 3; ++p) parts[3 * b + p] = out[b].parts[p].limb(l).data();
      galleries[b] = blocks[b]->data() + TileOffset(n, plan.gamma, l, 0, 0, 0);
    }
    ring::ActiveKernels().match(parts.data(), probe.data() + ProbeOffset(n, plan.gamma, l, 0, 0, 0),
                                ProbeStride(plan.gamma), galleries.data(), galleries.size(),
                                plan.gamma, n, instance.context->modulus(l));
  }
  ckks::CountOperations({.additions = blocks.size() * (plan.gamma - 1),
                         .ciphertext_products = blocks.size() * plan.gamma});
  return out;
}

// Error of one entry of a template after masking into a block that is full.
ckks::Noise BlockNoise(const Instance& instance) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  const ckks::Params& params = context.params();
  const double masks = 2.0 * params.slots();
  // Each mask's rounding times its template's coordinate (rms 1 / sqrt(gamma)), summed.
  const double rounding = std::sqrt(masks / plan.gamma) * ckks::EncodingError(params) *
                          plan.template_scale / plan.mask_scale;
  return {1, ckks::Combine(rounding, ckks::RoundingError(params))};
}

}  // namespace

size_t TiledSize(const Context& context, uint32_t gamma) {
  return kMatchLimbs * context.n() * gamma * 2;
}

TiledCiphertexts EmptyBlock(const Context& context, uint32_t gamma) {
  TiledCiphertexts block;
  block.assign(TiledSize(context, gamma), 0);
  return block;
}

absl::Status AddToBlock(const Instance& instance, TiledCiphertexts* block,
                        std::span<const NewTemplate> templates, const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  HEFT_RETURN_IF_ERROR(CheckTiles(instance, *block, "a gallery block"));
  for (const NewTemplate& t : templates) HEFT_RETURN_IF_ERROR(CheckTemplate(instance.plan, *t.z));
  // In chunks: digits of all templates of a chunk are held.
  constexpr size_t kChunk = 64;
  TiledCiphertexts next = *block;
  for (size_t start = 0; start < templates.size(); start += kChunk) {
    std::vector<Masked> chunk;
    for (const NewTemplate& t :
         templates.subspan(start, std::min(kChunk, templates.size() - start))) {
      std::vector<Complex> values(context.slots(), 0);
      values[t.position.slot] = t.position.lane == 0 ? Complex(1, 0) : Complex(0, 1);
      HEFT_ASSIGN_OR_RETURN(ckks::Plaintext mask, EncodeMask(instance, values));
      chunk.push_back({t.z, std::move(mask)});
    }
    HEFT_RETURN_IF_ERROR(MaskedRotations(instance, chunk, keys,
                                         [&](uint32_t k, const std::vector<ring::RnsPoly>& parts) {
                                           AddTiled(context, gamma, k, parts, &next);
                                         }));
  }
  *block = std::move(next);
  return absl::OkStatus();
}

absl::StatusOr<TiledCiphertexts> PrepareProbe(const Instance& instance, const Ciphertext& z,
                                              const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(CheckTemplate(plan, z));
  const size_t n = context.n();
  Ciphertext low;
  HEFT_RETURN_IF_ERROR(ckks::DropLimbs(context, &low, z, kMatchLimbs));
  std::vector<const ckks::SwitchKey*> switch_keys(plan.gamma, nullptr);
  for (uint32_t k = 0; k < plan.gamma; ++k) {
    if (plan.gallery_rotations[k] == 1) continue;
    HEFT_ASSIGN_OR_RETURN(switch_keys[k], keys.Galois(plan.gallery_rotations[k], kMatchLimbs));
  }
  ckks::CountOperations({.rotations = plan.gamma - 1});
  const ckks::Digits digits(context, low.parts[1]);
  TiledCiphertexts out = NewProbe(context, plan.gamma);
  ParallelFor(plan.gamma, [&](size_t k) {
    if (switch_keys[k] == nullptr) return StoreProbe(context, plan.gamma, k, low.parts, &out);
    ckks::SwitchSum sum(n, kMatchLimbs);
    for (size_t l = 0; l <= kMatchLimbs; ++l) {
      ckks::SwitchLimb(context, sum.part[0].limb(l).data(), sum.part[1].limb(l).data(), digits,
                       *switch_keys[k], l);
    }
    const ring::RnsPoly* const plain[2] = {&low.parts[0], nullptr};
    const auto parts = ckks::CloseSwitch(context, sum, plain, /*rescale=*/false);
    const ring::Permutation& permutation = context.permutation(plan.gallery_rotations[k]);
    for (size_t l = 0; l < kMatchLimbs; ++l) {
      for (size_t p = 0; p < 2; ++p) {
        ring::ActiveKernels().permute_tiled(out.data() + ProbeOffset(n, plan.gamma, l, 0, k, p),
                                            ProbeStride(plan.gamma), parts[p].limb(l).data(),
                                            permutation, n);
      }
    }
  });
  return out;
}

namespace {

// Scores' error: that of a coordinate of the probe and of the gallery, |z| and |t| being about 1.
ckks::Noise ProductNoise(const Instance& instance) {
  const ckks::Params& params = instance.params();
  const double probe =
      ckks::Combine(ckks::KeySwitchError(params, kMatchLimbs), ckks::RoundingError(params));
  return {1, instance.plan.template_scale * ckks::Combine(BlockNoise(instance).error, probe)};
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

absl::StatusOr<std::vector<Ciphertext>> MatchBlocks(const Instance& instance,
                                                    std::span<const TiledCiphertexts* const> blocks,
                                                    const TiledCiphertexts& probe,
                                                    const EvaluationKeys& keys, bool relinearise) {
  for (const TiledCiphertexts* block : blocks) {
    HEFT_RETURN_IF_ERROR(CheckTiles(instance, *block, "a gallery block"));
  }
  HEFT_RETURN_IF_ERROR(CheckProbe(instance, probe));
  std::vector<Ciphertext> out;
  out.reserve(blocks.size());
  while (out.size() < blocks.size()) {
    const size_t count = std::min(kBlocksATile, blocks.size() - out.size());
    for (Ciphertext& c : InnerProducts(instance, blocks.subspan(out.size(), count), probe)) {
      c.noise = ProductNoise(instance);
      if (relinearise) {
        HEFT_RETURN_IF_ERROR(ckks::RelineariseAndRescale(*instance.context, &c, c, keys));
      }
      out.push_back(std::move(c));
    }
  }
  return out;
}

absl::StatusOr<Ciphertext> MatchBlock(const Instance& instance, const TiledCiphertexts& block,
                                      const TiledCiphertexts& probe, const EvaluationKeys& keys,
                                      bool relinearise) {
  const TiledCiphertexts* const blocks[] = {&block};
  HEFT_ASSIGN_OR_RETURN(std::vector<Ciphertext> out,
                        MatchBlocks(instance, blocks, probe, keys, relinearise));
  return std::move(out[0]);
}

absl::StatusOr<ProbeBatch> PackProbes(const Instance& instance,
                                      std::span<const TiledCiphertexts> probes) {
  for (const TiledCiphertexts& probe : probes) {
    HEFT_RETURN_IF_ERROR(CheckProbe(instance, probe));
  }
  const size_t run = size_t{instance.plan.gamma} * 2 * kTile;  // of one probe, one tile
  const size_t rows = kMatchLimbs * instance.context->n() / kTile;
  ProbeBatch batch;
  batch.probes = probes.size();
  batch.tiles.resize(rows * run * probes.size());
  ParallelFor(rows, [&](size_t row) {
    for (size_t p = 0; p < probes.size(); ++p) {
      std::copy_n(probes[p].data() + row * ProbeStride(instance.plan.gamma), run,
                  batch.tiles.data() + (row * probes.size() + p) * run);
    }
  });
  return batch;
}

absl::StatusOr<std::vector<Ciphertext>> MatchBlocks(const Instance& instance,
                                                    std::span<const TiledCiphertexts* const> blocks,
                                                    const ProbeBatch& batch,
                                                    const EvaluationKeys& keys, bool relinearise) {
  const Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  const size_t n = context.n();
  const size_t run = size_t{gamma} * 2 * kTile;
  for (const TiledCiphertexts* block : blocks) {
    HEFT_RETURN_IF_ERROR(CheckTiles(instance, *block, "a gallery block"));
  }
  if (batch.tiles.size() != TiledSize(context, gamma) * batch.probes) {
    return absl::InvalidArgumentError("a batch of probes of another model");
  }
  std::vector<Ciphertext> out(blocks.size() * batch.probes);
  for (Ciphertext& c : out) {
    for (int p = 0; p < 3; ++p) c.parts.emplace_back(n, kMatchLimbs);
    c.scale = instance.plan.template_scale * instance.plan.template_scale;
    c.noise = ProductNoise(instance);
  }
  // Tile by tile: the probes' tiles stay in the cache while the blocks' stream past them. Sums go
  // through a buffer of a few tiles: all ciphertexts start at the same offset within a page, and
  // writing to them in turn would evict each line before the next one is written.
  const size_t tiles = n / kTile;
  constexpr size_t kTilesATask = 8;
  constexpr size_t kRun = kTilesATask * kTile;
  ParallelFor(kMatchLimbs * tiles / kTilesATask, [&](size_t task) {
    const size_t l = task / (tiles / kTilesATask);
    const size_t first = task % (tiles / kTilesATask) * kTilesATask;
    AlignedVector<uint32_t> sums(out.size() * 3 * kRun), scratch(2 * run);
    std::vector<const uint32_t*> at(blocks.size());
    for (size_t t = 0; t < kTilesATask; ++t) {
      const size_t row = l * tiles + first + t;
      for (size_t b = 0; b < blocks.size(); ++b) at[b] = blocks[b]->data() + row * run;
      ring::ActiveKernels().match_tile(
          sums.data() + t * kTile, kRun, batch.tiles.data() + row * batch.probes * run,
          batch.probes, at.data(), at.size(), scratch.data(), gamma, context.modulus(l));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      for (size_t p = 0; p < 3; ++p) {
        std::copy_n(sums.data() + (i * 3 + p) * kRun, kRun,
                    out[i].parts[p].limb(l).data() + first * kTile);
      }
    }
  });
  ckks::CountOperations(
      {.additions = out.size() * (gamma - 1), .ciphertext_products = out.size() * gamma});
  if (!relinearise) return out;
  std::vector<absl::Status> statuses(out.size());
  ParallelFor(out.size(), [&](size_t i) {
    statuses[i] = ckks::RelineariseAndRescale(context, &out[i], out[i], keys);
  });
  for (const absl::Status& status : statuses) HEFT_RETURN_IF_ERROR(status);
  return out;
}

absl::StatusOr<TiledCiphertexts> PrepareMaskedProbe(const Instance& instance, const Ciphertext& z,
                                                    std::span<const uint32_t> slots, uint32_t lane,
                                                    const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  const FusionPlan& plan = instance.plan;
  HEFT_RETURN_IF_ERROR(CheckTemplate(plan, z));
  std::vector<Complex> values(context.slots(), 0);
  for (uint32_t slot : slots) {
    if (slot >= context.slots()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " does not exist"));
    }
    // Half, because adding the conjugate doubles; in lane 1 also the sign that X^(n/2) brings.
    values[slot] = lane == 0 ? 0.5 : (slot % 2 == 0 ? -0.5 : 0.5);
  }
  std::vector<Masked> masked(1);
  masked[0].z = &z;
  HEFT_ASSIGN_OR_RETURN(masked[0].mask, EncodeMask(instance, values));
  TiledCiphertexts out = NewProbe(context, plan.gamma);
  HEFT_RETURN_IF_ERROR(MaskedRotations(instance, masked, keys,
                                       [&](uint32_t k, const std::vector<ring::RnsPoly>& parts) {
                                         StoreProbe(context, plan.gamma, k, parts, &out);
                                       }));
  return out;
}

namespace {

// Uniform noise in the real and imaginary parts of all slots but the claimed ones. Its coefficients
// stay below a quarter of the base prime (6.5 standard deviations), so that nothing wraps.
absl::StatusOr<ckks::Plaintext> NoiseOutside(const Instance& instance,
                                             std::span<const uint32_t> claimed, double scale) {
  const double n = instance.params().n();
  const double deviation = instance.params().modulus(0).value() / 4.0 / 6.5 * std::sqrt(n) / scale;
  const double amplitude = deviation * std::sqrt(1.5);
  Csprng rng;
  auto uniform = [&] { return amplitude * (rng.U32() * 0x1p-31 - 1); };
  std::vector<Complex> values(instance.params().slots());
  for (Complex& v : values) v = Complex(uniform(), uniform());
  for (uint32_t slot : claimed) values[slot] = 0;
  return instance.encoder->Encode(values, scale, kScoreLimbs);
}

}  // namespace

absl::StatusOr<Ciphertext> VerifyBlock(const Instance& instance, const TiledCiphertexts& block,
                                       const TiledCiphertexts& probe,
                                       std::span<const uint32_t> slots, uint32_t lane,
                                       const EvaluationKeys& keys) {
  const Context& context = *instance.context;
  for (uint32_t slot : slots) {
    if (slot >= context.slots()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", slot, " does not exist"));
    }
  }
  HEFT_ASSIGN_OR_RETURN(Ciphertext out, MatchBlock(instance, block, probe, keys));
  if (lane == 1) ckks::MultiplyByMonomial(context, &out, out);
  const uint32_t elements[] = {1, ckks::ConjugationElement(context.params())};
  HEFT_RETURN_IF_ERROR(ckks::SumGalois(context, &out, out, elements, keys));
  HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext noise, NoiseOutside(instance, slots, out.scale));
  HEFT_RETURN_IF_ERROR(ckks::AddPlain(context, &out, out, noise));
  out.noise.message = 1;
  return out;
}

}  // namespace heft
