// SPDX-License-Identifier: Apache-2.0
// The cost of giant steps in the gallery (docs/design.md, "Giant steps in the gallery"): a
// prototype that makes the products, key switches and memory accesses of such a match on random
// residues. Its scores mean nothing. One thread; prints milliseconds a probe for 1, 20 and 250
// blocks.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/threads.h"
#include "bench/bulk.h"
#include "ckks/digits.h"
#include "experiment/roles.h"
#include "experiment/stopwatch.h"
#include "fusion/block_internal.h"
#include "fusion/matching.h"
#include "ring/kernels.h"

namespace heft::bench {
namespace {

using ckks::Ciphertext;
using experiment::Roles;
using experiment::Timings;

// What a match with giants needs: `babies` rotations of the probe, and keys.
struct Giants {
  const Roles& roles;
  uint32_t babies, count;                    // count * babies = gamma
  TiledCiphertexts probe;                    // `babies` rotations
  std::vector<const ckks::SwitchKey*> keys;  // 2 count - 1 different ones
};

// sum_i rot(z, i) G'_{bj+i} for each giant j of a block, whose tiles lie giant by giant.
std::vector<Ciphertext> Products(const Giants& giants, BlockView block) {
  const ckks::Context& context = giants.roles.context();
  const size_t n = context.n(), limbs = MatchLimbs(context.params());
  std::vector<Ciphertext> sums(giants.count);
  std::vector<uint32_t*> out;
  for (Ciphertext& sum : sums) {
    for (int p = 0; p < 3; ++p) sum.parts.emplace_back(n, limbs);
  }
  const size_t one = size_t{giants.babies} * 2 * n;  // of one giant, one limb
  for (size_t l = 0; l < limbs; ++l) {
    const uint32_t* probe =
        giants.probe.data() + internal::ProbeOffset(n, giants.babies, l, 0, 0, 0);
    for (uint32_t first = 0; first < giants.count; first += kBlocksATile) {
      const uint32_t some = std::min<uint32_t>(kBlocksATile, giants.count - first);
      std::vector<const uint32_t*> at(some);
      out.clear();
      for (uint32_t j = 0; j < some; ++j) {
        at[j] = block.data() + (l * giants.count + first + j) * one;
        for (auto& part : sums[first + j].parts) out.push_back(part.limb(l).data());
      }
      ring::ActiveKernels().match(out.data(), probe, internal::ProbeStride(giants.babies),
                                  at.data(), some, giants.babies, n, context.modulus(l));
    }
  }
  return sums;
}

// Adds the image of what `poly` becomes under `key` to both parts of `sum`.
void AddSwitched(const ckks::Context& context, const ring::RnsPoly& poly,
                 const ckks::SwitchKey& key, const ring::Permutation* image, ckks::SwitchSum* sum) {
  const size_t n = context.n(), limbs = poly.limbs();
  const ckks::Digits digits(context, poly);
  AlignedVector<uint32_t> term[2] = {AlignedVector<uint32_t>(n), AlignedVector<uint32_t>(n)};
  const ring::Kernels& kernels = ring::ActiveKernels();
  for (size_t l = 0; l <= limbs; ++l) {
    const ring::Modulus& q = context.modulus(ckks::ExtendedPrime(context, l, limbs));
    ckks::SwitchLimb(context, term[0].data(), term[1].data(), digits, key, l);
    for (size_t p = 0; p < 2; ++p) {
      uint32_t* to = sum->part[p].limb(l).data();
      if (image == nullptr) {
        kernels.add(to, to, term[p].data(), n, q);
      } else {
        kernels.permute_add(to, term[p].data(), *image, n, q);
      }
    }
  }
}

// One block: every giant is rotated and relinearised by one key switch, and all share the
// divisions.
std::vector<ring::RnsPoly> MatchGiants(const Giants& giants, BlockView block) {
  const ckks::Context& context = giants.roles.context();
  const size_t n = context.n(), limbs = MatchLimbs(context.params());
  const std::vector<Ciphertext> sums = Products(giants, block);
  ckks::SwitchSum sum(n, limbs);
  for (ring::RnsPoly& part : sum.part) std::ranges::fill(part.values(), 0u);
  ring::RnsPoly plain[2] = {sums[0].parts[0], sums[0].parts[1]};
  AddSwitched(context, sums[0].parts[2], *giants.keys[0], nullptr, &sum);
  for (uint32_t j = 1; j < giants.count; ++j) {
    const uint32_t element = ckks::RotationElement(context.params(), int64_t{j} * giants.babies);
    const ring::Permutation& image = context.permutation(element);
    for (size_t l = 0; l < limbs; ++l) {
      ring::ActiveKernels().permute_add(plain[0].limb(l).data(), sums[j].parts[0].limb(l).data(),
                                        image, n, context.modulus(l));
    }
    AddSwitched(context, sums[j].parts[1], *giants.keys[2 * j - 1], &image, &sum);
    AddSwitched(context, sums[j].parts[2], *giants.keys[2 * j], &image, &sum);
  }
  const ring::RnsPoly* const parts[2] = {&plain[0], &plain[1]};
  return ckks::CloseSwitch(context, sum, parts, /*rescale=*/true);
}

// Every key of the matching ring, over and over where there are fewer than `count`.
std::vector<const ckks::SwitchKey*> SomeKeys(const Roles& roles, size_t count) {
  const RotationGrid& grid = roles.instance().plan.matching.grid;
  std::vector<uint32_t> elements = grid.BabyElements(roles.params());
  for (const uint32_t giant : grid.GiantElements(roles.params())) elements.push_back(giant);
  std::erase(elements, 1u);
  std::vector<const ckks::SwitchKey*> keys;
  for (size_t i = 0; i < count; ++i) {
    keys.push_back(*roles.keys().Galois(elements[i % elements.size()], MatchLimbs(roles.params())));
  }
  return keys;
}

absl::Status Run(uint32_t gamma) {
  std::mt19937_64 random(3);
  HEFT_ASSIGN_OR_RETURN(const auto roles,
                        Roles::Create(experiment::RandomModel({512, 512}, gamma, 3, "thin")));
  const Monitor nobody;
  const Progress quiet(nobody, "");
  HEFT_ASSIGN_OR_RETURN(const auto gallery,
                        RandomGallery(roles->instance(), 20 * roles->TemplatesPerBlock(), quiet));
  HEFT_ASSIGN_OR_RETURN(const auto encrypted,
                        roles->EncryptProbe(experiment::RandomSample(roles->model(), random)));
  HEFT_ASSIGN_OR_RETURN(const ProvenProbe z, roles->prober().Fuse(experiment::Pointers(encrypted)));
  Timings prepare, flat;
  TiledCiphertexts probe;
  const auto all = Views(gallery);
  for (int i = 0; i < 15; ++i) {
    HEFT_RETURN_IF_ERROR(prepare.Time([&]() -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(probe, PrepareProbe(roles->instance(), z.z, roles->keys()));
      return absl::OkStatus();
    }));
    HEFT_RETURN_IF_ERROR(
        flat.Time([&] { return MatchBlocks(roles->instance(), all, probe, roles->keys()); })
            .status());
  }
  const double blocks = static_cast<double>(gallery.size());
  const double rotation = prepare.Median() / (gamma - 1), block = flat.Median() / blocks;
  std::printf("%4u dimensions: a rotation %.4f ms, a block %.3f ms\n", gamma, rotation, block);
  std::printf("  %-10s %10s %10s %10s %10s\n", "giants", "a block", "1 block", "20", "250");
  std::printf("  %-10s %10.3f %10.2f %10.2f %10.2f\n", "none", block, prepare.Median() + block,
              prepare.Median() + 20 * block, prepare.Median() + 250 * block);
  for (uint32_t count = 2; count <= 16; count *= 2) {
    Giants giants{*roles, gamma / count, count, {}, SomeKeys(*roles, 2 * count - 1)};
    giants.probe.assign(internal::ProbeStride(giants.babies) * roles->context().n() / ring::kTile *
                            MatchLimbs(roles->params()),
                        7);
    Timings time;
    for (int i = 0; i < 15; ++i) {
      HEFT_RETURN_IF_ERROR(time.Time([&] {
        for (const TiledCiphertexts& one : gallery) MatchGiants(giants, one);
        return absl::OkStatus();
      }));
    }
    const double own = time.Median() / blocks, rotations = rotation * (giants.babies - 1);
    std::printf("  %-10u %10.3f %10.2f %10.2f %10.2f\n", count, own, rotations + own,
                rotations + 20 * own, rotations + 250 * own);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::bench

int main() {
  heft::SetThreadCount(1);
  for (const uint32_t gamma : {32, 128, 256}) {
    const absl::Status status = heft::bench::Run(gamma);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}
