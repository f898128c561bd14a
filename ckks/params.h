// SPDX-License-Identifier: Apache-2.0
// Params: the ring degree and the primes of a CKKS instance. Validated once, here; immutable.
//
// The data primes are q_0 (base) ... q_{L-1}; a ciphertext "with k limbs" lives modulo q_0 ...
// q_{k-1}. A level is one prime, or two where a scale is to be larger than a prime: a rescale
// divides by the last level and drops it. The special prime serves key switching only. This is
// SEAL's order with the special prime last.
#ifndef HEFT_CKKS_PARAMS_H_
#define HEFT_CKKS_PARAMS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "ring/modulus.h"

namespace heft::ckks {

// ParamsId identifies degree and primes.
using ParamsId = std::array<uint8_t, 16>;

// Security: what is known about the hardness of a parameter set with a uniform ternary secret.
struct Security {
  double total_bits = 0;         // log2 of the product of all primes, the special one included
  int bound_2024_classical = 0;  // largest total for 128 bits, ePrint 2024/463
  int bound_2024_quantum = 0;  // the same, quantum: where that source's search starts; unconfirmed
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

// Params: a value; equal where degree, primes and levels are.
class Params {
 public:
  // Create chooses the primes (ring::GeneratePrimes; those of the special and base primes' size
  // first, so that they are the largest). kInvalidArgument for a degree that is no power of two in
  // [8, 32768], sizes outside 10 to 30 bits, data primes that make no whole levels, or a total
  // above the 2024 128-bit classical bound.
  static absl::StatusOr<Params> Create(const ParamsSpec& spec);
  // FromPrimes takes given ones, data primes first and the special one last; the same checks, and
  // primality.
  static absl::StatusOr<Params> FromPrimes(uint32_t n, const std::vector<uint32_t>& primes,
                                           bool allow_insecure = false, size_t level_primes = 1);

  uint32_t n() const { return n_; }
  uint32_t slots() const { return n_ / 2; }
  // limbs: the number of data primes, which is that of the limbs of a fresh ciphertext.
  size_t limbs() const { return moduli_.size() - 1; }
  // modulus: i in [0, limbs()] with the special prime at limbs().
  const ring::Modulus& modulus(size_t i) const { return moduli_[i]; }
  const ring::Modulus& special() const { return moduli_.back(); }
  size_t special_index() const { return moduli_.size() - 1; }
  std::vector<uint32_t> primes() const;
  // level_primes: how many limbs a level has. LevelModulus: the product of the last level's primes
  // of `limbs` limbs, by which a rescale divides.
  size_t level_primes() const { return level_primes_; }
  double LevelModulus(size_t limbs) const;
  // Bits: log2 of q_0 ... q_{limbs - 1}.
  double Bits(size_t limbs) const;

  Security security() const;
  // id: BLAKE2b-256 over degree, primes and, where it is not one, the primes of a level; the first
  // 16 bytes.
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
