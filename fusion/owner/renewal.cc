// SPDX-License-Identifier: Apache-2.0
#include "fusion/owner/renewal.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/csprng.h"
#include "base/secure.h"
#include "base/threads.h"
#include "ckks/arithmetic.h"
#include "ckks/digits.h"
#include "ckks/keys.h"
#include "fusion/renewal_internal.h"
#include "ring/kernels.h"
#include "ring/sampling.h"

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

// Kept: the slots of a target of `moves`, at their new places, from what `open(source, k)` gives
// for ciphertext k of each source: values of at most `bound`.
template <typename Open>
std::vector<BlockSlots> Kept(const Instance& instance, const ckks::BoundedEncoder& encoder,
                             std::span<const Move> moves, size_t sources, const Open& open) {
  const uint32_t gamma = instance.plan.gamma;
  std::vector<BlockSlots> kept(gamma, encoder.NewSlots());
  for (uint32_t source = 0; source < sources; ++source) {
    if (std::ranges::none_of(moves, [&](const Move& m) { return m.source == source; })) continue;
    ParallelFor(gamma, [&](size_t k) {
      BlockSlots slots = open(source, k);
      internal::CarryMoves(instance, moves, source, static_cast<uint32_t>(k), slots, kept);
      internal::WipeSlots(&slots);
    });
  }
  return kept;
}

// Bound: limits values to those of a valid request, so that all inputs can be encoded.
void Bound(double most, BlockSlots* slots) {
  auto bound = [&](double v) { return std::min(std::max(v, -most), most); };
  for (ckks::Complex& v : slots->high) v = {bound(v.real()), bound(v.imag())};
}

absl::Status CheckSources(const Instance& instance, std::span<const Move> moves,
                          std::span<const PaddedBlock> sources) {
  HEFT_RETURN_IF_ERROR(CheckMoves(instance.params(), moves, sources.size()));
  for (const Move& move : moves) HEFT_RETURN_IF_ERROR(CheckSource(instance, sources[move.source]));
  return absl::OkStatus();
}

// Moved: whether any template of a source is kept.
bool Moved(RenewalTargets targets, size_t source) {
  return std::ranges::any_of(targets, [&](const std::vector<Move>& moves) {
    return std::ranges::any_of(moves, [&](const Move& m) { return m.source == source; });
  });
}

// TargetSeed: of the uniform part of a ciphertext of a target.
Seed TargetSeed(const Hash& reference, size_t target, size_t k) {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT renewal by several owners, version 1"));
  writer.Raw(reference);
  writer.U64(target);
  writer.U64(k);
  return HashBytes(writer.bytes());
}

void AddTo(const ckks::Context& context, size_t prime, std::span<uint32_t> sum,
           std::span<const uint32_t> term) {
  ring::ActiveKernels().add(sum.data(), sum.data(), term.data(), sum.size(),
                            context.modulus(prime));
}

// AddRemainder: adds a fresh polynomial, uniform modulo the special prime, in the extended basis.
void AddRemainder(const ckks::Context& context, ring::RnsPoly* out) {
  const ring::Modulus& special = context.modulus(context.special_index());
  const size_t n = context.n(), limbs = out->limbs() - 1;
  AlignedVector<uint32_t> uniform(n), residues(n);
  Csprng rng;
  ring::SampleUniform(uniform, special, rng);
  for (size_t l = 0; l <= limbs; ++l) {
    const size_t prime = ckks::ExtendedPrime(context, l, limbs);
    const ring::Modulus& q = context.modulus(prime);
    for (size_t i = 0; i < n; ++i) {
      residues[i] = q.ReduceSigned(int64_t{uniform[i]} - special.value() / 2);
    }
    context.ntt(prime).Forward(residues);
    AddTo(context, prime, out->limb(l), residues);
  }
  SecureWipe(uniform.data(), n * sizeof(uint32_t));
  SecureWipe(residues.data(), n * sizeof(uint32_t));
}

// OpenMasked: o_i. `mask` is wiped.
ring::RnsPoly OpenMasked(const ckks::Context& context, const ckks::SecretShare& term,
                         const ring::RnsPoly& c1, ring::RnsPoly* mask) {
  const size_t limbs = c1.limbs() - 1;
  ring::RnsPoly out(c1.n(), limbs + 1);
  for (size_t l = 0; l <= limbs; ++l) {
    const size_t prime = ckks::ExtendedPrime(context, l, limbs);
    ring::ActiveKernels().multiply(out.limb(l).data(), c1.limb(l).data(),
                                   term.residues(prime).data(), c1.n(), context.modulus(prime));
    if (l == limbs) continue;  // P times the mask is zero modulo P
    ckks::TimesSpecial(context, mask->limb(l).data(), mask->limb(l).data(), l);
    AddTo(context, prime, out.limb(l), mask->limb(l));
  }
  AddRemainder(context, &out);
  SecureWipe(mask->values().data(), mask->values().size_bytes());
  return out;
}

}  // namespace

absl::StatusOr<std::vector<ckks::SeededCiphertext>> RenewBlock(const Instance& instance,
                                                               const ckks::SecretKey& secret,
                                                               std::span<const PaddedBlock> sources,
                                                               std::span<const Move> moves) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  HEFT_RETURN_IF_ERROR(CheckSources(instance, moves, sources));
  HEFT_ASSIGN_OR_RETURN(const double range, PadRange(instance));
  const ckks::BoundedEncoder encoder(instance.context);
  const double bound = range + internal::kPadRoom;
  std::vector<BlockSlots> kept =
      Kept(instance, encoder, moves, sources.size(), [&](uint32_t source, size_t k) {
        BlockSlots slots = internal::DecodeBlock(
            instance, encoder, Opened(context, secret, sources[source].ciphertexts[k]));
        Bound(bound, &slots);
        return slots;
      });
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

absl::StatusOr<RenewalPart> MakeRenewalPart(const Instance& instance,
                                            const ckks::SecretShare& share,
                                            const ckks::OwnerSet& set,
                                            std::span<const PaddedBlock> sources,
                                            RenewalTargets targets, const Hash& reference) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  const size_t limbs = MatchLimbs(instance.params());
  for (const std::vector<Move>& moves : targets) {
    HEFT_RETURN_IF_ERROR(CheckSources(instance, moves, sources));
  }
  HEFT_ASSIGN_OR_RETURN(const double range, PadRange(instance));
  HEFT_ASSIGN_OR_RETURN(const ckks::SecretShare term, ckks::TermOf(context, share, set));
  const ckks::BoundedEncoder encoder(instance.context);
  HEFT_ASSIGN_OR_RETURN(auto seed, SecureVector<uint8_t>::Create(sizeof(Seed)));
  Csprng().Fill(seed.span());
  const auto masks = [&](size_t source, size_t k) {
    Seed mask;
    std::copy_n(seed.data(), mask.size(), mask.begin());
    BlockSlots slots = internal::DrawPads(encoder, mask, source, static_cast<uint32_t>(k), range);
    SecureWipe(mask.data(), mask.size());
    return slots;
  };
  // Wipes the slots.
  const auto encode = [&](BlockSlots* slots) {
    auto poly = internal::EncodeBlock(instance, encoder, *slots, range);
    internal::WipeSlots(slots);
    return poly;
  };
  RenewalPart out;
  out.opened.resize(sources.size());
  for (size_t source = 0; source < sources.size(); ++source) {
    if (!Moved(targets, source)) continue;
    out.opened[source].resize(gamma);
    HEFT_RETURN_IF_ERROR(TryParallelFor(gamma, [&](size_t k) -> absl::Status {
      BlockSlots drawn = masks(source, k);
      HEFT_ASSIGN_OR_RETURN(ring::RnsPoly mask, encode(&drawn));
      out.opened[source][k] =
          OpenMasked(context, term, sources[source].ciphertexts[k].part[1], &mask);
      return absl::OkStatus();
    }));
  }
  for (size_t target = 0; target < targets.size(); ++target) {
    std::vector<BlockSlots> kept = Kept(instance, encoder, targets[target], sources.size(), masks);
    std::vector<ring::RnsPoly>& hidden = out.hidden.emplace_back(gamma);
    HEFT_RETURN_IF_ERROR(TryParallelFor(gamma, [&](size_t k) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(ring::RnsPoly mask, encode(&kept[k]));
      ring::RnsPoly a(context.n(), limbs);
      const Seed common = TargetSeed(reference, target, k);
      for (size_t l = 0; l < limbs; ++l) {
        ckks::ExpandUniform(context, a.limb(l), common, 0, l);
      }
      Csprng rng;
      hidden[k] = ckks::MaskUniform(context, a, term, rng);
      for (size_t l = 0; l < limbs; ++l) {
        uint32_t* v = hidden[k].limb(l).data();
        ring::ActiveKernels().subtract(v, v, mask.limb(l).data(), context.n(), context.modulus(l));
      }
      SecureWipe(mask.values().data(), mask.values().size_bytes());
      return absl::OkStatus();
    }));
  }
  return out;
}

absl::Status CheckRenewalPart(const Instance& instance, const RenewalPart& part, size_t sources,
                              RenewalTargets targets) {
  const size_t limbs = MatchLimbs(instance.params());
  const auto sound = [&](const std::vector<ring::RnsPoly>& polys, size_t count, size_t of) {
    return polys.size() == count && std::ranges::all_of(polys, [&](const ring::RnsPoly& poly) {
             return poly.n() == instance.params().n() && poly.limbs() == of;
           });
  };
  bool good = part.opened.size() == sources && part.hidden.size() == targets.size();
  for (size_t i = 0; good && i < sources; ++i) {
    good = sound(part.opened[i], Moved(targets, i) ? instance.plan.gamma : 0, limbs + 1);
  }
  for (size_t i = 0; good && i < targets.size(); ++i) {
    good = sound(part.hidden[i], instance.plan.gamma, limbs);
  }
  return good ? absl::OkStatus() : absl::DataLossError("a part of another renewal");
}

absl::StatusOr<std::vector<std::vector<ckks::SeededCiphertext>>> CombineRenewal(
    const Instance& instance, std::span<const PaddedBlock> sources, RenewalTargets targets,
    std::span<const RenewalPart> parts, const Hash& reference) {
  const ckks::Context& context = *instance.context;
  const uint32_t gamma = instance.plan.gamma;
  for (const std::vector<Move>& moves : targets) {
    HEFT_RETURN_IF_ERROR(CheckSources(instance, moves, sources));
  }
  for (const RenewalPart& part : parts) {
    HEFT_RETURN_IF_ERROR(CheckRenewalPart(instance, part, sources.size(), targets));
  }
  HEFT_ASSIGN_OR_RETURN(const double range, PadRange(instance));
  const ckks::BoundedEncoder encoder(instance.context);
  const double bound = (1.0 + static_cast<double>(parts.size())) * range + internal::kPadRoom;
  // The padded values plus all masks.
  const auto open = [&](uint32_t source, size_t k) {
    ring::RnsPoly sum = sources[source].ciphertexts[k].part[0];
    const size_t limbs = sum.limbs() - 1;
    for (const RenewalPart& part : parts) {
      for (size_t l = 0; l <= limbs; ++l) {
        AddTo(context, ckks::ExtendedPrime(context, l, limbs), sum.limb(l),
              part.opened[source][k].limb(l));
      }
    }
    ring::RnsPoly poly(context.n(), limbs);
    ckks::DivideByLast(context, &poly, sum, context.special_index());
    BlockSlots slots = internal::DecodeBlock(instance, encoder, std::move(poly));
    Bound(bound, &slots);
    return slots;
  };
  std::vector<std::vector<ckks::SeededCiphertext>> out;
  for (size_t target = 0; target < targets.size(); ++target) {
    std::vector<BlockSlots> kept = Kept(instance, encoder, targets[target], sources.size(), open);
    std::vector<ckks::SeededCiphertext>& renewed = out.emplace_back(gamma);
    HEFT_RETURN_IF_ERROR(TryParallelFor(gamma, [&](size_t k) -> absl::Status {
      ckks::SeededCiphertext& c = renewed[k];
      HEFT_ASSIGN_OR_RETURN(c.c0, internal::EncodeBlock(instance, encoder, kept[k], bound));
      internal::WipeSlots(&kept[k]);
      for (const RenewalPart& part : parts) {
        for (size_t l = 0; l < c.c0.limbs(); ++l) {
          AddTo(context, l, c.c0.limb(l), part.hidden[target][k].limb(l));
        }
      }
      c.seed = TargetSeed(reference, target, k);
      c.scale = instance.plan.matching.block_scale;
      return absl::OkStatus();
    }));
  }
  return out;
}

}  // namespace heft
