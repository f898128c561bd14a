// SPDX-License-Identifier: Apache-2.0
#include "ckks/digits.h"

#include <algorithm>

#include "base/check.h"
#include "ckks/arithmetic.h"
#include "ckks/operation_counts.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;
using ring::RnsPoly;

void AddTo(const Context& context, RnsPoly* out, const RnsPoly& a) {
  for (size_t l = 0; l < out->limbs(); ++l) {
    uint32_t* v = out->limb(l).data();
    ActiveKernels().add(v, v, a.limb(l).data(), out->n(), context.modulus(l));
  }
}

// AddTimesSpecial: adds P * a to a sum in the extended basis; the division by P turns it into a.
void AddTimesSpecial(const Context& context, RnsPoly* sum, const RnsPoly& a) {
  for (size_t l = 0; l < a.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    const uint32_t p = q.Reduce(context.params().special().value());
    ActiveKernels().add_multiply_scalar(sum->limb(l).data(), a.limb(l).data(), q.Shoup(p), a.n(),
                                        q);
  }
}

}  // namespace

size_t ExtendedPrime(const Context& context, size_t limb, size_t limbs) {
  HEFT_DCHECK(limb <= limbs && limbs <= context.params().limbs(), "a limb of the extended basis");
  return limb < limbs ? limb : context.special_index();
}

void TimesSpecial(const Context& context, uint32_t* out, const uint32_t* a, size_t limb) {
  const ring::Modulus& q = context.modulus(limb);
  const uint32_t p = q.Reduce(context.params().special().value());
  ActiveKernels().multiply_scalar(out, a, q.Shoup(p), context.n(), q);
}

RnsPoly TimesSpecial(const Context& context, const RnsPoly& a) {
  RnsPoly out(a.n(), a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    TimesSpecial(context, out.limb(l).data(), a.limb(l).data(), l);
  }
  return out;
}

void SwitchLimb(const Context& context, uint32_t* out0, uint32_t* out1, const Digits& digits,
                const SwitchKey& key, size_t limb) {
  const size_t limbs = digits.limbs();
  HEFT_DCHECK(limb <= limbs && limbs <= key.limbs(), "a key serves the limbs of its digits");
  HEFT_DCHECK(digits.count() <= key.digits(), "a key has the digits of what it switches");
  // A key with more limbs than the ciphertext stores the special prime after its own last limb.
  const size_t key_limb = limb < limbs ? limb : key.limbs();
  const ring::Modulus& q = context.modulus(ExtendedPrime(context, limb, limbs));
  ActiveKernels().switch_products(out0, out1, digits.limb(limb), key.limb(key_limb), key.digits(),
                                  digits.count(), context.n(), q);
}

std::vector<RnsPoly> CloseSwitch(const Context& context, SwitchSum& sum,
                                 const RnsPoly* const plain[2], bool rescale) {
  const size_t n = context.n();
  HEFT_DCHECK(sum.part[0].limbs() == sum.part[1].limbs(), "both parts have one level");
  const size_t level = context.params().level_primes();
  HEFT_DCHECK(sum.part[0].limbs() >= (rescale ? level + 2 : 2),
              "a limb is left after the divisions");
  const size_t limbs = sum.part[0].limbs() - 1;
  for ([[maybe_unused]] int p = 0; p < 2; ++p) {
    HEFT_DCHECK(plain[p] == nullptr || plain[p]->limbs() >= limbs, "a limb for each of the sum's");
  }
  CountOperations({.rescales = rescale ? 1u : 0u, .special_divisions = 1});
  std::vector<RnsPoly> out;
  for (int p = 0; p < 2; ++p) {
    out.emplace_back(n, limbs - (rescale ? 1 : 0));
    if (rescale) {
      if (plain[p] != nullptr) AddTimesSpecial(context, &sum.part[p], *plain[p]);
      DivideBySpecialAndLast(context, &out[p], sum.part[p]);
      DivideByLimbs(context, &out[p], level - 1);
    } else {
      DivideByLast(context, &out[p], sum.part[p], context.special_index());
      if (plain[p] != nullptr) AddTo(context, &out[p], *plain[p]);
    }
  }
  return out;
}

Digits::Digits(const Context& context, const RnsPoly& poly, std::span<const uint8_t> sizes)
    : n_(context.n()), limbs_(poly.limbs()) {
  HEFT_DCHECK(poly.n() == n_, "a polynomial of this degree");
  HEFT_DCHECK(limbs_ >= 1 && limbs_ <= context.params().limbs(), "1 to all data primes");
  for ([[maybe_unused]] const uint8_t size : sizes) {
    HEFT_DCHECK(size == 1 || size == 2, "digits of one prime or of two");
  }
  auto size_of = [&](size_t digit, size_t first) {
    return digit < sizes.size() ? std::min<size_t>(sizes[digit], limbs_ - first) : size_t{1};
  };
  for (size_t first = 0; first < limbs_; first += size_of(count_ - 1, first)) ++count_;
  data_.resize(n_ * count_ * (limbs_ + 1));
  CountOperations({.decompositions = 1});
  const ring::Kernels& kernels = ActiveKernels();
  const size_t tile = std::min<size_t>(n_, ring::kTile);
  AlignedVector<uint32_t> low(n_), high(n_), lifted(n_);
  size_t first = 0;
  for (size_t digit = 0; digit < count_; ++digit) {
    const size_t size = size_of(digit, first);
    auto coefficients = [&](AlignedVector<uint32_t>& out, size_t limb) {
      std::copy(poly.limb(limb).begin(), poly.limb(limb).end(), out.begin());
      context.ntt(limb).Inverse(out);
    };
    coefficients(low, first);
    if (size == 2) {
      // The digit is low + q_first * high, both centred (Garner).
      const ring::Modulus& q = context.modulus(first + 1);
      coefficients(high, first + 1);
      kernels.lift(lifted.data(), low.data(), context.lift(first, first + 1), n_, q);
      kernels.subtract_multiply_scalar(high.data(), high.data(), lifted.data(),
                                       context.inverse(first, first + 1), n_, q);
    }
    for (size_t limb = 0; limb <= limbs_; ++limb) {
      uint32_t* out = data_.data() + limb * count_ * n_ + digit * tile;
      if (limb >= first && limb < first + size) {  // its own residues need no lift
        const std::span<const uint32_t> own = poly.limb(limb);
        for (size_t i = 0; i < n_; i += tile) std::copy_n(&own[i], tile, out + i * count_);
        continue;
      }
      const size_t prime = ExtendedPrime(context, limb, limbs_);
      const ring::Modulus& q = context.modulus(prime);
      if (size == 2) {
        kernels.lift_sum(lifted.data(), low.data(), context.lift(first, prime), high.data(),
                         context.lift(first + 1, prime),
                         q.Shoup(q.Reduce(context.modulus(first).value())), n_, q);
      } else {
        kernels.lift(lifted.data(), low.data(), context.lift(first, prime), n_, q);
      }
      context.ntt(prime).ForwardTiled(out, count_ * tile, lifted);
    }
    first += size;
  }
}

}  // namespace heft::ckks
