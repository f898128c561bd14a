// SPDX-License-Identifier: Apache-2.0
#include "fusion/profile.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "heft/model.h"

namespace heft {
namespace {

Profile MakeProfile(std::string_view name, uint32_t n, std::vector<int> data_bits, int special_bits,
                    double scale, std::string_view purpose) {
  Profile profile;
  profile.name = name;
  profile.spec.n = n;
  profile.spec.data_bits = std::move(data_bits);
  profile.spec.special_bits = special_bits;
  profile.scale = scale;
  profile.purpose = purpose;
  return profile;
}

// With more dimensions, the proof of a template's norm has no room for flooding: at 256 it lacks
// 0.8 bits, and errors grow with the square root.
constexpr uint32_t kMaxFlooded = 64;

// Chain: a base prime and `levels` primes of one size.
std::vector<int> Chain(int base, int levels, int bits) {
  std::vector<int> chain(levels + 1, bits);
  chain[0] = base;
  return chain;
}

Profile TwoRings(Profile profile, double match_scale, uint32_t max_gamma) {
  profile.match_scale = match_scale;
  profile.max_gamma = max_gamma;
  return profile;
}

Profile Flooded(Profile profile) {
  profile.spec.level_primes = 2;
  profile.flooded = true;
  return profile;
}

// The primes of the first three levels of `enrolment` and the next one, in a ring of degree n.
absl::StatusOr<ckks::Params> FirstPrimes(const ckks::Params& enrolment, uint32_t n) {
  const size_t count = 3 * enrolment.level_primes() + 1;
  std::vector<uint32_t> primes = enrolment.primes();
  if (primes.size() < count) return absl::InvalidArgumentError("too few primes for two rings");
  primes.resize(count);
  return ckks::Params::FromPrimes(n, primes, /*allow_insecure=*/false, enrolment.level_primes());
}

absl::StatusOr<Profile> FindAmong(std::span<const Profile> profiles, std::string_view name) {
  std::vector<std::string> names;
  for (const Profile& profile : profiles) {
    if (profile.name == name) return profile;
    names.push_back(profile.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown profile \"", std::string(name),
                                                 "\": choose ", absl::StrJoin(names, ", ")));
}

}  // namespace

const std::vector<Profile>& AllProfiles() {
  static const std::vector<Profile> profiles = {
      // Base first: base, match, mask, apply, square, s, projection. The first three and the
      // fourth, 106 bits in all, are the small ring's: base, match, mask or projection, special.
      TwoRings(MakeProfile("standard", 8192, {27, 26, 25, 28, 28, 28, 20}, 30, 0x1p28,
                           "enrolment normalises with degree 2 or 3 in a large ring; 1:N and 1:1 "
                           "in a small one; 128-bit"),
               0x1p25, kMaxGamma),
      // As standard, with two primes for each level: the first six and the seventh, 202 bits in
      // all, are the small ring's.
      Flooded(TwoRings(
          MakeProfile("flooded", 16384, {30, 30, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28},
                      30, 0x1p56,
                      "as standard, with levels of two primes: openings are flooded with noise "
                      "that hides the key's; 128-bit"),
          0x1p56, kMaxFlooded)),
      MakeProfile("compact", 8192, {30, 29, 20, 28, 28, 28, 20}, 30, 0x1p28,
                  "the compact encoding in one ring"),
      MakeProfile("paper", 16384, Chain(30, 8, 28), 30, 0x1p28,
                  "the paper's schedule: dense encoding, hybrid projection, ten primes"),
      MakeProfile("deep", 16384, Chain(30, 12, 29), 30, 0x1p29,
                  "composites and minimax polynomials of degree 6 to 15"),
      MakeProfile("deepest", 32768, Chain(30, 27, 29), 30, 0x1p29,
                  "Goldschmidt's iteration as in the paper"),
  };
  return profiles;
}

absl::StatusOr<ckks::Params> MatchingParams(const ckks::Params& enrolment) {
  return FirstPrimes(enrolment, enrolment.n() / 2);
}

absl::StatusOr<ckks::Params> SwitchingParams(const ckks::Params& enrolment) {
  return FirstPrimes(enrolment, enrolment.n());
}

absl::StatusOr<Profile> FindProfile(std::string_view name) {
  return FindAmong(AllProfiles(), name);
}

absl::StatusOr<Profile> FindModelProfile(std::string_view name) {
  constexpr size_t kForModels = 2;  // the first two
  return FindAmong(std::span(AllProfiles()).first(kForModels), name);
}

}  // namespace heft
