// SPDX-License-Identifier: Apache-2.0
#include "ckks/params.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"

namespace heft::ckks {
namespace {

struct SecurityRow {
  uint32_t n;
  int classical_2024, quantum_2024, classical_2018;
};

// For a uniform ternary secret. Classical 2024: Bossuat et al., "Security Guidelines for
// Implementing Homomorphic Encryption", ePrint 2024/463. Quantum 2024: the start of that source's
// search, unconfirmed (docs/security-proofs.md). 2018: Albrecht et al., "Homomorphic Encryption
// Standard", HomomorphicEncryption.org. Other degrees have a bound of 0: always insecure, for
// tests.
constexpr SecurityRow kSecurity[] = {
    {4096, 106, 101, 109}, {8192, 214, 203, 218}, {16384, 430, 409, 438}, {32768, 868, 825, 881}};

constexpr uint32_t kMinDegree = 8;
constexpr uint32_t kMaxDegree = 32768;
constexpr size_t kMaxPrimes = 40;

absl::Status CheckDegree(uint32_t n) {
  if (!std::has_single_bit(n) || n < kMinDegree || n > kMaxDegree) {
    return absl::InvalidArgumentError(absl::StrCat("degree ", n, " is not a power of two in [",
                                                   kMinDegree, ", ", kMaxDegree, "]"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string Security::Describe() const {
  if (secure_2024_quantum())
    return "128-bit classical (2024), and below an unconfirmed quantum bound";
  if (secure_2024_classical()) return "128-bit classical (2024)";
  if (secure_2018_classical()) return "128-bit classical (2018 standard only)";
  return "below 128 bits: INSECURE";
}

absl::StatusOr<Params> Params::Create(const ParamsSpec& spec) {
  HEFT_RETURN_IF_ERROR(CheckDegree(spec.n));
  if (spec.data_bits.empty()) return absl::InvalidArgumentError("no data primes given");
  // The special prime first, then the base: equal sizes get descending primes.
  std::vector<int> bits = {spec.special_bits};
  bits.insert(bits.end(), spec.data_bits.begin(), spec.data_bits.end());
  HEFT_ASSIGN_OR_RETURN(std::vector<uint32_t> primes, ring::GeneratePrimes(spec.n, bits));
  std::rotate(primes.begin(), primes.begin() + 1, primes.end());
  return FromPrimes(spec.n, primes, spec.allow_insecure, spec.level_primes);
}

absl::StatusOr<Params> Params::FromPrimes(uint32_t n, const std::vector<uint32_t>& primes,
                                          bool allow_insecure, size_t level_primes) {
  HEFT_RETURN_IF_ERROR(CheckDegree(n));
  if (primes.size() < 2 || primes.size() > kMaxPrimes) {
    return absl::InvalidArgumentError(
        absl::StrCat(primes.size(),
                     " primes: at least one data prime and one special prime are needed, and at "
                     "most ",
                     kMaxPrimes, " are supported"));
  }
  for (uint32_t q : primes) {
    if (std::bit_width(q) < ring::kMinPrimeBits || std::bit_width(q) > ring::kMaxPrimeBits ||
        q % (2 * n) != 1 || !ring::IsPrime(q)) {
      return absl::InvalidArgumentError(absl::StrCat(q, " is not a prime of ", ring::kMinPrimeBits,
                                                     " to ", ring::kMaxPrimeBits,
                                                     " bits that is 1 modulo ", 2 * n));
    }
  }
  if (std::set<uint32_t>(primes.begin(), primes.end()).size() != primes.size()) {
    return absl::InvalidArgumentError("a prime stands twice");
  }
  if (level_primes < 1 || level_primes > 2 || (primes.size() - 1) % level_primes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(primes.size() - 1, " data primes in levels of ",
                                                   level_primes, ": a level has one or two"));
  }
  Params params;
  params.n_ = n;
  params.level_primes_ = level_primes;
  for (uint32_t q : primes) params.moduli_.emplace_back(q);
  ByteWriter writer;
  writer.U32(n);
  writer.U32Array(primes);
  if (level_primes > 1) writer.U64(level_primes);
  const Hash hash = HashBytes(writer.bytes());
  std::copy_n(hash.begin(), params.id_.size(), params.id_.begin());
  const Security security = params.security();
  if (!allow_insecure && !security.secure_2024_classical()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "insecure parameters: ", security.total_bits, " bits of primes at N = ", n, ", at most ",
        security.bound_2024_classical,
        " give 128 bits (ePrint 2024/463): use fewer or smaller primes, or a larger N"));
  }
  return params;
}

std::vector<uint32_t> Params::primes() const {
  std::vector<uint32_t> primes;
  for (const ring::Modulus& q : moduli_) primes.push_back(q.value());
  return primes;
}

double Params::Bits(size_t limbs) const {
  double bits = 0;
  for (size_t i = 0; i < limbs; ++i) bits += std::log2(modulus(i).value());
  return bits;
}

double Params::LevelModulus(size_t limbs) const {
  double product = 1;
  for (size_t i = 0; i < level_primes_; ++i) product *= modulus(limbs - 1 - i).value();
  return product;
}

Security Params::security() const {
  Security security;
  security.total_bits = Bits(moduli_.size());
  for (const SecurityRow& row : kSecurity) {
    if (row.n != n_) continue;
    security.bound_2024_classical = row.classical_2024;
    security.bound_2024_quantum = row.quantum_2024;
    security.bound_2018_classical = row.classical_2018;
  }
  return security;
}

std::string Params::Describe() const {
  std::vector<int> bits;
  for (const ring::Modulus& q : moduli_) bits.push_back(q.bits());
  const int special_bits = bits.back();
  bits.pop_back();
  return absl::StrCat("N = ", n_, ", data primes ", absl::StrJoin(bits, "+"), " bits, special ",
                      special_bits, level_primes_ == 1 ? "" : ", levels of two primes");
}

}  // namespace heft::ckks
