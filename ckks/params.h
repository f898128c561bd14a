// SPDX-License-Identifier: Apache-2.0
// Params: the ring degree and the primes of a CKKS instance. Validated once, here; immutable.
//
// The data primes are q_0 (base) ... q_{L-1}; a ciphertext "with k limbs" is modulo q_0 ...
// q_{k-1}. A level is one prime, or two if a scale must be larger than a prime. A rescale divides
// by the last level and drops it. The special prime is for key switching only. This is SEAL's
// order, with the special prime last.
#ifndef HEFT_CKKS_PARAMS_H_
#define HEFT_CKKS_PARAMS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "ring/modulus.h"

namespace heft::ckks {

// ParamsId: identifies degree and primes.
using ParamsId = std::array<uint8_t, 16>;

// Security: the known bounds for a parameter set with a uniform ternary secret.
struct Security {
  double total_bits = 0;         // log2 of the product of all primes, the special one included
  int bound_2024_classical = 0;  // largest total for 128 bits, ePrint 2024/463
  int bound_2024_quantum = 0;    // the same, quantum: start of that source's search; unconfirmed
  int bound_2018_classical = 0;  // HomomorphicEncryption.org standard 2018
  bool secure_2024_classical() const { return total_bits <= bound_2024_classical; }
  bool secure_2024_quantum() const { return total_bits <= bound_2024_quantum; }
  bool secure_2018_classical() const { return total_bits <= bound_2018_classical; }
  // Describe: "128-bit classical (2024)", ..., "below 128 bits"; a quantum bound as unconfirmed.
  std::string Describe() const;
};

// ParamsSpec: an unchecked literal; Params::Create validates it.
struct ParamsSpec {
  uint32_t n = 8192;
  std::vector<int> data_bits;  // sizes of the data primes, base first
  int special_bits = 30;
  bool allow_insecure = false;  // tests only: accept sets below 128 bits
  size_t level_primes = 1;      // of each level, the base included: one or two
};

// Params: a value; equal if degree, primes and levels are equal.
class Params {
 public:
  // Create: selects the primes (ring::GeneratePrimes; primes of the special and base primes' size
  // first, so that these are the largest). kInvalidArgument for a degree that is not a power of two
  // in [8, 32768], sizes outside 10 to 30 bits, data primes that do not form whole levels, or a
  // total above the 2024 128-bit classical bound.
  static absl::StatusOr<Params> Create(const ParamsSpec& spec);
  // FromPrimes: uses the given primes, data primes first and the special one last; the same checks,
  // and a check of primality.
  static absl::StatusOr<Params> FromPrimes(uint32_t n, const std::vector<uint32_t>& primes,
                                           bool allow_insecure = false, size_t level_primes = 1);

  uint32_t n() const { return n_; }
  uint32_t slots() const { return n_ / 2; }
  // limbs: the number of data primes, and of the limbs of a fresh ciphertext.
  size_t limbs() const { return moduli_.size() - 1; }
  // modulus: i in [0, limbs()] with the special prime at limbs().
  const ring::Modulus& modulus(size_t i) const { return moduli_[i]; }
  const ring::Modulus& special() const { return moduli_.back(); }
  size_t special_index() const { return moduli_.size() - 1; }
  std::vector<uint32_t> primes() const;
  // level_primes: the limbs of a level. LevelModulus: the product of the last level's primes of
  // `limbs` limbs, the divisor of a rescale.
  size_t level_primes() const { return level_primes_; }
  double LevelModulus(size_t limbs) const;
  // Bits: log2 of q_0 ... q_{limbs - 1}.
  double Bits(size_t limbs) const;

  Security security() const;
  // id: the first 16 bytes of SHA-256 over degree, primes and, if it is not one, the number of
  // primes of a level.
  const ParamsId& id() const { return id_; }
  // Describe: "N = 8192, data primes 30+29+20+... bits, special 30".
  std::string Describe() const;

  friend bool operator==(const Params& a, const Params& b) { return a.id_ == b.id_; }

 private:
  Params() = default;
  uint32_t n_ = 0;
  size_t level_primes_ = 1;
  std::vector<ring::Modulus> moduli_;
  ParamsId id_{};
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_PARAMS_H_
