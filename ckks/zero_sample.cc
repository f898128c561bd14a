// SPDX-License-Identifier: Apache-2.0
#include "ckks/zero_sample.h"

#include <algorithm>

#include "base/check.h"
#include "base/secure.h"
#include "ckks/digits.h"
#include "ring/kernels.h"
#include "ring/sampling.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;

// kWideBits: of e0.
constexpr int kWideBits = 21;

// Wide: uniform in [-2^20, 2^20).
std::vector<int32_t> Wide(size_t n, Csprng& rng) {
  std::vector<uint32_t> raw(n);
  rng.Fill({reinterpret_cast<uint8_t*>(raw.data()), n * sizeof(raw[0])});
  std::vector<int32_t> out(n);
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<int32_t>(raw[i] >> (32 - kWideBits)) - (1 << (kWideBits - 1));
  }
  SecureWipe(raw.data(), n * sizeof(raw[0]));
  return out;
}

}  // namespace

absl::StatusOr<ZeroSample> ZeroSample::Of(const Context& context, const SwitchKey& key,
                                          uint32_t element, size_t limbs) {
  const size_t digits = key.digits();
  size_t before = 0;  // limbs of the digits before the last one
  for (size_t i = 0; i + 1 < digits; ++i) before += key.sizes()[i];
  if (digits == 0 || before < limbs) {
    return absl::FailedPreconditionError(
        "the evaluation keys have no digit to make encryptions of zero from: make them with `heft "
        "keygen` for this model");
  }
  const size_t n = context.n();
  const size_t tile = std::min<size_t>(n, ring::kTile);
  ZeroSample out;
  for (size_t part = 0; part < 2; ++part) {
    ring::RnsPoly& poly = part == 0 ? out.b_ : out.a_;
    poly = ring::RnsPoly(n, limbs + 1);
    AlignedVector<uint32_t> values(n);
    for (size_t l = 0; l <= limbs; ++l) {
      const ring::Modulus& q = context.modulus(ExtendedPrime(context, l, limbs));
      const uint32_t* in = key.limb(l < limbs ? l : key.limbs()) + ((digits - 1) * 2 + part) * tile;
      for (size_t i = 0; i < n; i += tile, in += digits * 2 * tile) {
        std::copy_n(in, tile, values.data() + i);
      }
      // A key's values contain 2^32 and the inverse automorphism.
      const ring::ShoupFactor inverse = q.Shoup(q.Inverse(q.two32().value));
      ActiveKernels().multiply_scalar(values.data(), values.data(), inverse, n, q);
      uint32_t* to = poly.limb(l).data();
      if (element == 1) {
        std::copy_n(values.data(), n, to);
      } else {
        ActiveKernels().permute(to, values.data(), context.permutation(element), n);
      }
    }
  }
  return out;
}

void ZeroSample::Hide(const Context& context, ring::RnsPoly* part0, ring::RnsPoly* part1,
                      Csprng& rng) const {
  HEFT_DCHECK(part0->limbs() == b_.limbs() && part1->limbs() == a_.limbs(), "the extended basis");
  const size_t n = context.n(), limbs = b_.limbs() - 1;
  const ring::Kernels& kernels = ActiveKernels();
  std::vector<int8_t> u(n), e1(n);
  ring::SampleTernary(u, rng);
  ring::SampleError(e1, rng);
  std::vector<int32_t> e0 = Wide(n, rng);
  AlignedVector<uint32_t> factor(n), term(n);
  for (size_t l = 0; l <= limbs; ++l) {
    const size_t prime = ExtendedPrime(context, l, limbs);
    const ring::Modulus& q = context.modulus(prime);
    ring::ToResidues(factor, u, q);
    context.ntt(prime).Forward(factor);
    for (size_t part = 0; part < 2; ++part) {
      if (part == 0) {
        for (size_t i = 0; i < n; ++i) term[i] = q.ReduceSigned(e0[i]);
      } else {
        ring::ToResidues(term, e1, q);
      }
      context.ntt(prime).Forward(term);
      uint32_t* out = (part == 0 ? part0 : part1)->limb(l).data();
      kernels.add(out, out, term.data(), n, q);
      const uint32_t* sample = (part == 0 ? b_ : a_).limb(l).data();
      kernels.multiply(term.data(), factor.data(), sample, n, q);
      kernels.add(out, out, term.data(), n, q);
    }
  }
  SecureWipe(u.data(), n);
  SecureWipe(e1.data(), n);
  SecureWipe(e0.data(), n * sizeof(e0[0]));
  SecureWipe(factor.data(), n * sizeof(factor[0]));
  SecureWipe(term.data(), n * sizeof(term[0]));
}

}  // namespace heft::ckks
