// SPDX-License-Identifier: Apache-2.0
#include "ckks/shape.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace heft::ckks {
namespace {

using ring::RnsPoly;

// CheckPoly: `limbs` limbs modulo the first primes; with `extended`, the last is modulo the special
// one. `what` names the object.
absl::Status CheckPoly(const Context& context, const RnsPoly& poly, size_t limbs, bool extended,
                       std::string_view what) {
  if (poly.n() != context.n() || poly.limbs() != limbs) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), " whose parts differ in size"));
  }
  for (size_t l = 0; l < limbs; ++l) {
    const size_t prime = extended && l + 1 == limbs ? context.special_index() : l;
    const std::span<const uint32_t> limb = poly.limb(l);
    if (*std::max_element(limb.begin(), limb.end()) >= context.modulus(prime).value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(what), " with a residue that is not below its prime, limb ", l));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLevel(const Context& context, size_t limbs, double scale, const Noise& noise,
                        std::string_view what) {
  const size_t most = context.params().limbs();
  if (limbs < 1 || limbs > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), " of ", limbs, " limbs, 1 to ", most, " expected"));
  }
  if (!std::isfinite(scale) || scale <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), " with scale ", scale));
  }
  if (!(noise.message >= 0) || !(noise.error >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(what), " with a noise estimate of ",
                                                   noise.message, " and ", noise.error));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckShape(const Context& context, const Ciphertext& a) {
  if (a.size() < 2 || a.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("a ciphertext of ", a.size(), " parts"));
  }
  HEFT_RETURN_IF_ERROR(CheckLevel(context, a.limbs(), a.scale, a.noise, "a ciphertext"));
  for (const RnsPoly& part : a.parts) {
    HEFT_RETURN_IF_ERROR(CheckPoly(context, part, a.limbs(), false, "a ciphertext"));
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const Context& context, const Plaintext& a) {
  HEFT_RETURN_IF_ERROR(CheckLevel(context, a.limbs(), a.scale, a.noise, "a plaintext"));
  return CheckPoly(context, a.poly, a.poly.limbs(), a.extended, "a plaintext");
}

absl::Status CheckShape(const Context& context, const PublicKey& key) {
  const size_t primes = context.special_index() + 1;
  HEFT_RETURN_IF_ERROR(CheckPoly(context, key.b, primes, true, "a public key"));
  return CheckPoly(context, key.a, primes, true, "a public key");
}

}  // namespace heft::ckks
