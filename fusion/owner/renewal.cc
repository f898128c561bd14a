// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/renewal.h"

#include <algorithm>

#include "base/secure.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "fusion/renewal_internal.h"
#include "ring/kernels.h"

namespace heft {
namespace {

using internal::BlockSlots;

absl::Status CheckSource(const Instance& instance, const PaddedBlock& source) {
  const ckks::Params& params = instance.params();
  bool sound = source.ciphertexts.size() == instance.plan.gamma;
  for (const PaddedBlock::Parts& c : source.ciphertexts) {
    for (const ring::RnsPoly& part : c.part) {
      sound = sound && part.n() == params.n() && part.limbs() == MatchLimbs(params) + 1;
    }
  }
  return sound ? absl::OkStatus() : absl::InvalidArgumentError("not a padded block of this model");
}

// Opened: round((c0 + c1 s) / P), the padded values. The encryption of zero that hides c1 decrypts
// to less than P / 2.
ring::RnsPoly Opened(const ckks::Context& context, const ckks::SecretKey& secret,
                     const PaddedBlock::Parts& c) {
  const size_t n = c.part[0].n(), limbs = c.part[0].limbs() - 1;
  const ring::Kernels& kernels = ring::ActiveKernels();
  ring::RnsPoly raised(n, limbs + 1), out(n, limbs);
  for (size_t l = 0; l <= limbs; ++l) {
    const size_t prime = ckks::ExtendedPrime(context, l, limbs);
    const ring::Modulus& q = context.modulus(prime);
    uint32_t* v = raised.limb(l).data();
    kernels.multiply(v, c.part[1].limb(l).data(), secret.residues(prime).data(), n, q);
    kernels.add(v, v, c.part[0].limb(l).data(), n, q);
  }
  ckks::DivideByLast(context, &out, raised, context.special_index());
  SecureWipe(raised.values().data(), raised.values().size_bytes());
  return out;
}

// Bound: limits values to those of a valid request, so that all inputs can be encoded.
void Bound(double most, BlockSlots* slots) {
  auto bound = [&](double v) { return std::min(std::max(v, -most), most); };
  for (ckks::Complex& v : slots->high) v = {bound(v.real()), bound(v.imag())};
}

}  // namespace

absl::StatusOr<std::vector<ckks::SeededCiphertext>> RenewBlock(const Instance& instance,
                                                               const ckks::SecretKey& secret,
                                                               std::span<const PaddedBlock> sources,
                                                               std::span<const Move> moves) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  HEFT_RETURN_IF_ERROR(CheckMoves(instance.params(), moves, sources.size()));
  HEFT_ASSIGN_OR_RETURN(const double range, PadRange(instance));
  const ckks::BoundedEncoder encoder(instance.context);
  const double bound = range + internal::kPadRoom;
  std::vector<BlockSlots> kept(gamma, encoder.NewSlots());
  for (uint32_t source = 0; source < sources.size(); ++source) {
    if (std::ranges::none_of(moves, [&](const Move& m) { return m.source == source; })) continue;
    HEFT_RETURN_IF_ERROR(CheckSource(instance, sources[source]));
    ParallelFor(gamma, [&](size_t k) {
      BlockSlots slots = internal::DecodeBlock(
          instance, encoder, Opened(context, secret, sources[source].ciphertexts[k]));
      Bound(bound, &slots);
      internal::CarryMoves(instance, moves, source, static_cast<uint32_t>(k), slots, kept);
      internal::WipeSlots(&slots);
    });
  }
  std::vector<ckks::SeededCiphertext> out(gamma);
  HEFT_RETURN_IF_ERROR(TryParallelFor(gamma, [&](size_t k) -> absl::Status {
    ckks::Plaintext plain;
    HEFT_ASSIGN_OR_RETURN(plain.poly, internal::EncodeBlock(instance, encoder, kept[k], bound));
    plain.scale = instance.plan.matching.block_scale;
    plain.noise = {range, ckks::EncodingError(instance.params())};
    Csprng rng;
    out[k] = ckks::EncryptSymmetric(context, plain, secret, rng);
    internal::WipeSlots(&kept[k]);
    SecureWipe(plain.poly.values().data(), plain.poly.values().size_bytes());
    return absl::OkStatus();
  }));
  return out;
}

}  // namespace heft
