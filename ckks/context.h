// SPDX-License-Identifier: Apache-2.0
// Context: parameters with all values that are computed from them once. Immutable except for a
// cache of permutations; safe to share between threads.
#ifndef HEFT_CKKS_CONTEXT_H_
#define HEFT_CKKS_CONTEXT_H_

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/aligned.h"
#include "ckks/params.h"
#include "ring/kernels.h"
#include "ring/ntt.h"

namespace heft::ckks {

// Context: not copyable; all objects of the same parameters share one.
class Context {
 public:
  explicit Context(const Params& params);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Params& params() const { return params_; }
  uint32_t n() const { return params_.n(); }
  uint32_t slots() const { return params_.slots(); }
  const ring::Modulus& modulus(size_t i) const { return params_.modulus(i); }
  size_t special_index() const { return params_.special_index(); }
  const ring::NttTables& ntt(size_t i) const { return ntt_[i]; }
  // inverse: q_from^-1 modulo q_to, from != to.
  ring::ShoupFactor inverse(size_t from, size_t to) const { return inverses_[from * primes_ + to]; }
  // lift: from residues modulo q_from to residues modulo q_to.
  const ring::LiftConstants& lift(size_t from, size_t to) const {
    return lifts_[from * primes_ + to];
  }
  // permutation: ring::GaloisPermutation, computed at the first use. `element` is odd and below 2n.
  const ring::Permutation& permutation(uint32_t element) const;

 private:
  Params params_;
  size_t primes_;
  std::vector<ring::NttTables> ntt_;
  std::vector<ring::ShoupFactor> inverses_;
  std::vector<ring::LiftConstants> lifts_;
  mutable std::mutex mutex_;
  mutable std::map<uint32_t, ring::Permutation> permutations_;
};

// RotationElement: the Galois element of a rotation to the left by `steps` slots (slot i takes slot
// i + steps); any integer. 0 gives 1.
uint32_t RotationElement(const Params& params, int64_t steps);
// ConjugationElement: the Galois element of complex conjugation, 2n - 1.
uint32_t ConjugationElement(const Params& params);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_CONTEXT_H_
