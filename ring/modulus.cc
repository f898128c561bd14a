// SPDX-License-Identifier: Apache-2.0
#include "ring/modulus.h"

#include <algorithm>
#include <bit>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace heft::ring {

Modulus::Modulus(uint32_t q)
    : q_(q),
      bits_(std::bit_width(q)),
      barrett_(static_cast<uint32_t>((uint64_t{1} << (2 * bits_)) / q)),
      two32_(Shoup(static_cast<uint32_t>((uint64_t{1} << 32) % q))),
      one_(Shoup(1)) {
  HEFT_DCHECK(q % 2 == 1 && bits_ >= kMinPrimeBits && bits_ <= kMaxPrimeBits,
              "a modulus is odd, of 10 to 30 bits");
  const uint64_t largest = static_cast<uint64_t>(q - 1) * (q - 1);
  lazy_products_ = static_cast<int>(std::min<uint64_t>(~uint64_t{0} / largest, 1 << 20));
}

uint32_t Modulus::Power(uint32_t base, uint64_t exponent) const {
  uint32_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = Multiply(result, base);
    base = Multiply(base, base);
  }
  return result;
}

bool IsPrime(uint32_t n) {
  if (n < 2 || n % 2 == 0) return n == 2;
  // Miller-Rabin; the bases 2, 7, 61 decide every n < 4,759,123,141 (Jaeschke 1993).
  const uint64_t d = (n - 1) >> std::countr_zero(n - 1);
  for (uint64_t base : {2, 7, 61}) {
    if (base % n == 0) continue;
    uint64_t x = 1;
    uint64_t b = base;
    for (uint64_t e = d; e != 0; e >>= 1) {
      if (e & 1) x = x * b % n;
      b = b * b % n;
    }
    uint64_t power = d;
    while (power != n - 1 && x != 1 && x != n - 1) {
      x = x * x % n;
      power <<= 1;
    }
    if (x != n - 1 && power % 2 == 0) return false;
  }
  return true;
}

absl::StatusOr<std::vector<uint32_t>> GeneratePrimes(uint32_t n, const std::vector<int>& bits) {
  std::map<int, uint32_t> next;  // per size, the candidate to try next
  std::vector<uint32_t> primes;
  for (int size : bits) {
    if (size < kMinPrimeBits || size > kMaxPrimeBits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a prime of ", size, " bits is not supported: ", kMinPrimeBits, " to ", kMaxPrimeBits));
    }
    const uint32_t step = 2 * n;
    auto [it, fresh] = next.try_emplace(size, 0);
    uint32_t& candidate = it->second;
    if (fresh) candidate = ((uint32_t{1} << size) - 1) / step * step + 1;
    const uint32_t floor = uint32_t{1} << (size - 1);
    while (candidate > floor && !(std::bit_width(candidate) == size && IsPrime(candidate))) {
      candidate = candidate > step ? candidate - step : 0;
    }
    if (candidate <= floor) {
      return absl::InvalidArgumentError(absl::StrCat("not enough primes of ", size,
                                                     " bits that are 1 modulo ", step,
                                                     ": use larger or fewer primes of that size"));
    }
    primes.push_back(candidate);
    candidate = candidate > step ? candidate - step : 0;
  }
  return primes;
}

uint32_t MinimalPrimitiveRoot(const Modulus& q, uint32_t n) {
  HEFT_DCHECK(q.value() % (2 * n) == 1, "the prime has 2n-th roots of unity");
  const uint32_t group = (q.value() - 1) / (2 * n);
  uint32_t root = 0;
  for (uint32_t g = 2; root == 0; ++g) {
    const uint32_t candidate = q.Power(g, group);
    if (q.Power(candidate, n) == q.value() - 1) root = candidate;
  }
  // All primitive roots are the odd powers of one of them.
  const uint32_t square = q.Multiply(root, root);
  uint32_t smallest = root;
  for (uint32_t i = 1; i < n; ++i) {
    root = q.Multiply(root, square);
    smallest = std::min(smallest, root);
  }
  return smallest;
}

}  // namespace heft::ring
