// SPDX-License-Identifier: Apache-2.0
#include "ckks/context.h"

#include "base/check.h"

namespace heft::ckks {

Context::Context(const Params& params) : params_(params), primes_(params.limbs() + 1) {
  ntt_.reserve(primes_);
  for (size_t i = 0; i < primes_; ++i) ntt_.emplace_back(params.modulus(i), params.n());
  for (size_t from = 0; from < primes_; ++from) {
    for (size_t to = 0; to < primes_; ++to) {
      const ring::Modulus& p = params.modulus(from);
      const ring::Modulus& q = params.modulus(to);
      lifts_.emplace_back(p, q);
      inverses_.push_back(from == to ? ring::ShoupFactor{}
                                     : q.Shoup(q.Inverse(q.Reduce(p.value()))));
    }
  }
}

const ring::Permutation& Context::permutation(uint32_t element) const {
  HEFT_DCHECK(element % 2 == 1 && element < 2 * n(), "a Galois element is odd and below 2n");
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = permutations_.find(element);
  if (it == permutations_.end()) {
    it = permutations_.emplace(element, ring::GaloisPermutation(n(), element)).first;
  }
  return it->second;
}

uint32_t RotationElement(const Params& params, int64_t steps) {
  const int64_t slots = params.slots();
  int64_t power = ((steps % slots) + slots) % slots;
  const uint64_t mask = 2 * uint64_t{params.n()} - 1;
  uint64_t element = 1;
  for (uint64_t base = 3; power != 0; power >>= 1, base = base * base & mask) {
    if (power & 1) element = element * base & mask;
  }
  return static_cast<uint32_t>(element);
}

uint32_t ConjugationElement(const Params& params) { return 2 * params.n() - 1; }

}  // namespace heft::ckks
