// SPDX-License-Identifier: Apache-2.0
#include "ckks/owner/flooding.h"

#include <cmath>
#include <numbers>

#include "absl/strings/str_format.h"
#include "base/secure.h"

namespace heft::ckks {
namespace {

constexpr int kLeastSecurity = 30;
// kTail: the most standard deviations of a Gaussian from 53 random bits, rounded up.
constexpr double kTail = 9;

// SampleGaussian: n rounded values, by Box and Muller. Its time depends slightly on the values,
// because that of the mathematical library does.
std::vector<int64_t> SampleGaussian(size_t n, double deviation, Csprng& rng) {
  std::vector<int64_t> out(n);
  auto uniform = [&] { return (static_cast<double>(rng.U64() >> 11) + 0.5) * 0x1p-53; };
  for (size_t i = 0; i < n; i += 2) {
    const double radius = deviation * std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    out[i] = std::llround(radius * std::cos(angle));
    if (i + 1 < n) out[i + 1] = std::llround(radius * std::sin(angle));
  }
  return out;
}

}  // namespace

double FloodingDeviation(const Params& params, double slot_error, const FloodingOptions& options) {
  return std::sqrt(12.0 * options.queries) * std::exp2(options.security_bits / 2.0) * slot_error *
         std::sqrt(options.secrets) / std::sqrt(params.n());
}

absl::Status CheckFloodingRoom(const Params& params, const Ciphertext& ciphertext,
                               const FloodingOptions& options) {
  if (options.security_bits < kLeastSecurity || options.queries < 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("noise flooding for %d bits and %d queries: at least %d bits and 1 query",
                        options.security_bits, options.queries, kLeastSecurity));
  }
  const double deviation =
      std::sqrt(options.parts) * FloodingDeviation(params, ciphertext.noise.error, options);
  const double slot_error = std::sqrt(params.n()) * deviation / ciphertext.scale;
  if (slot_error > options.largest_error) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "no room for noise flooding: hiding an error of 2^%.1f for %d bits and %d queries takes "
        "noise of %.2g in a value, %.2g is allowed; it takes parameters with %.1f more bits of "
        "precision",
        std::log2(ciphertext.noise.error / ciphertext.scale), options.security_bits,
        options.queries, slot_error, options.largest_error,
        std::log2(slot_error / options.largest_error)));
  }
  const double largest = std::log2(ciphertext.noise.message * ciphertext.scale + kTail * deviation);
  if (largest >= params.Bits(ciphertext.limbs()) - 1 || largest >= 62) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "no room for noise flooding: values of %.1f bits would wrap around a modulus of %.1f bits",
        largest + 1, params.Bits(ciphertext.limbs())));
  }
  return absl::OkStatus();
}

void AddFlood(const Context& context, double deviation, Csprng& rng, ring::RnsPoly* poly) {
  std::vector<int64_t> flood = SampleGaussian(context.n(), deviation, rng);
  AlignedVector<uint32_t> residues(context.n());
  for (size_t l = 0; l < poly->limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    for (size_t i = 0; i < residues.size(); ++i) residues[i] = q.ReduceSigned(flood[i]);
    context.ntt(l).Forward(residues);
    uint32_t* v = poly->limb(l).data();
    ring::ActiveKernels().add(v, v, residues.data(), residues.size(), q);
  }
  SecureWipe(flood.data(), flood.size() * sizeof(flood[0]));
  SecureWipe(residues.data(), residues.size() * sizeof(residues[0]));
}

absl::StatusOr<Plaintext> DecryptFlooded(const Context& context, const Ciphertext& ciphertext,
                                         const SecretKey& secret, const FloodingOptions& options) {
  const Params& params = context.params();
  HEFT_RETURN_IF_ERROR(CheckFloodingRoom(params, ciphertext, options));
  const double deviation = FloodingDeviation(params, ciphertext.noise.error, options);
  Plaintext out = Decrypt(context, ciphertext, secret);
  Csprng rng;
  AddFlood(context, deviation, rng, &out.poly);
  out.noise.error = Combine(out.noise.error, std::sqrt(params.n()) * deviation);
  return out;
}

}  // namespace heft::ckks
