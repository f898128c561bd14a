// SPDX-License-Identifier: Apache-2.0
#include "ckks/params.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/hash.h"

namespace heft::ckks {
namespace {

struct SecurityRow {
  uint32_t n;
  int classical_2024, quantum_2024, classical_2018;
};

// Uniform ternary secret. Classical 2024: Bossuat et al., "Security Guidelines for Implementing
// Homomorphic Encryption", ePrint 2024/463; quantum 2024: the same source's search, starting values;
// 2018: Albrecht et al., "Homomorphic Encryption Standard", HomomorphicEncryption.org.
// Degrees that are not here have a bound of 0: always insecure, for tests.
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
  if (secure_2024_quantum()) return "128-bit quantum (2024)";
  if (secure_2024_classical()) return "128-bit classical (2024)";
  if (secure_2018_classical()) return "128-bit classical (2018 standard only)";
  return "below 128 bits: INSECURE";
}

absl::StatusOr<Params> Params::Create(const ParamsSpec& spec) {
  HEFT_RETURN_IF_ERROR(CheckDegree(spec.n));
  if (spec.data_bits.empty()) return absl::InvalidArgumentError("no data primes given");
  // The special prime first, then the base: equal sizes take descending primes.
  std::vector<int> bits = {spec.special_bits};
  bits.insert(bits.end(), spec.data_bits.begin(), spec.data_bits.end());
  HEFT_ASSIGN_OR_RETURN(std::vector<uint32_t> primes, ring::GeneratePrimes(spec.n, bits));
  std::rotate(primes.begin(), primes.begin() + 1, primes.end());
  return FromPrimes(spec.n, primes, spec.allow_insecure);
}

absl::StatusOr<Params> Params::FromPrimes(uint32_t n, const std::vector<uint32_t>& primes,
                                          bool allow_insecure) {
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
  Params params;
  params.n_ = n;
  for (uint32_t q : primes) params.moduli_.emplace_back(q);
  ByteWriter writer;
  writer.U32(n);
  writer.U32Array(primes);
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
                      special_bits);
}

static Profile MakeProfile(std::string_view name, uint32_t n, std::vector<int> data_bits,
                           int special_bits, double scale, std::string_view purpose) {
  Profile profile;
  profile.name = name;
  profile.spec.n = n;
  profile.spec.data_bits = std::move(data_bits);
  profile.spec.special_bits = special_bits;
  profile.scale = scale;
  profile.purpose = purpose;
  return profile;
}

// A base prime and `levels` primes of one size.
static std::vector<int> Chain(int base, int levels, int bits) {
  std::vector<int> chain(levels + 1, bits);
  chain[0] = base;
  return chain;
}

const std::vector<Profile>& AllProfiles() {
  static const std::vector<Profile> profiles = [] {
    std::vector<Profile> all;
    // Base first: base, match, mask, apply, square, s, projection.
    all.push_back(MakeProfile("compact", 8192, {30, 29, 20, 28, 28, 28, 20}, 30, 0x1p28,
                              "degree 2 or 3 normalisation, enrolment, 1:N, 1:1; 128-bit"));
    all.push_back(MakeProfile("compact-pq", 8192, {30, 27, 18, 26, 26, 26, 20}, 29, 0x1p26,
                              "as compact at 128-bit quantum, with larger errors"));
    all.push_back(
        MakeProfile("paper", 16384, Chain(30, 8, 28), 30, 0x1p28,
                    "the paper's schedule: dense encoding, hybrid projection, ten primes"));
    all.push_back(MakeProfile("deep", 16384, Chain(30, 12, 29), 30, 0x1p29,
                              "composites and minimax polynomials of degree 6 to 15"));
    all.push_back(MakeProfile("deepest", 32768, Chain(30, 27, 29), 30, 0x1p29,
                              "Goldschmidt's iteration, encrypted thresholds"));
    return all;
  }();
  return profiles;
}

absl::StatusOr<Profile> FindProfile(std::string_view name) {
  std::vector<std::string> names;
  for (const Profile& profile : AllProfiles()) {
    if (profile.name == name) return profile;
    names.push_back(profile.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("no profile \"", std::string(name),
                                                 "\": there are ", absl::StrJoin(names, ", ")));
}

}  // namespace heft::ckks
