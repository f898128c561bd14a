// SPDX-License-Identifier: Apache-2.0
#include "ckks/owner/secret_share.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "ckks/shape.h"
#include "ring/kernels.h"
#include "ring/sampling.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;

// Scaled: out = in * factor modulo prime `prime`.
void Scale(const Context& context, size_t prime, std::span<const uint32_t> in, uint32_t factor,
           std::span<uint32_t> out) {
  const ring::Modulus& q = context.modulus(prime);
  ActiveKernels().multiply_scalar(out.data(), in.data(), q.Shoup(factor), out.size(), q);
}

// SplitPrime: writes f(1) ... f(owners) modulo one prime, f(0) = `secret`, by Horner's rule.
absl::Status SplitPrime(const Context& context, size_t prime, std::span<const uint32_t> secret,
                        const Sharing& sharing, Csprng& rng, std::vector<SecretShare>* out) {
  const size_t n = context.n();
  const ring::Modulus& q = context.modulus(prime);
  const uint32_t degree = sharing.threshold - 1;
  HEFT_ASSIGN_OR_RETURN(auto coefficients, SecureVector<uint32_t>::Create(n * degree));
  const auto coefficient = [&](uint32_t k) { return coefficients.span().subspan(k * n, n); };
  for (uint32_t k = 0; k < degree; ++k) ring::SampleUniform(coefficient(k), q, rng);
  for (SecretShare& share : *out) {
    const std::span<uint32_t> value = share.residues(prime);
    std::ranges::copy(coefficient(degree - 1), value.begin());
    for (uint32_t k = degree; k-- > 0;) {
      Scale(context, prime, value, share.owner(), value);
      const uint32_t* next = k == 0 ? secret.data() : coefficient(k - 1).data();
      ActiveKernels().add(value.data(), value.data(), next, n, q);
    }
  }
  return absl::OkStatus();
}

// Split: `secret(prime)` gives the residues to share.
template <typename Secret>
absl::StatusOr<std::vector<SecretShare>> Split(const Context& context, const Sharing& sharing,
                                               Csprng& rng, const Secret& secret) {
  HEFT_RETURN_IF_ERROR(CheckSharing(sharing));
  std::vector<SecretShare> out;
  for (uint32_t owner = 1; owner <= sharing.owners; ++owner) {
    HEFT_ASSIGN_OR_RETURN(SecretShare share, SecretShare::Create(context, owner));
    out.push_back(std::move(share));
  }
  for (size_t prime = 0; prime <= context.special_index(); ++prime) {
    HEFT_RETURN_IF_ERROR(SplitPrime(context, prime, secret(prime), sharing, rng, &out));
  }
  return out;
}

}  // namespace

absl::Status CheckSharing(const Sharing& sharing) {
  if (sharing.threshold >= 2 && sharing.threshold <= sharing.owners &&
      sharing.owners <= kMaxOwners) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "a key shared by %d owners, of whom %d open: 2 to %d owners, of whom at least 2 open",
      sharing.owners, sharing.threshold, kMaxOwners));
}

absl::Status CheckOwnerSet(const Sharing& sharing, const OwnerSet& set) {
  bool good = set.size() == sharing.threshold;
  for (size_t i = 0; i < set.size(); ++i) {
    good = good && set[i] >= 1 && set[i] <= sharing.owners && (i == 0 || set[i - 1] < set[i]);
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "an opening takes exactly %d different owners, of 1 to %d, in ascending order",
      sharing.threshold, sharing.owners));
}

absl::StatusOr<SecretShare> SecretShare::Create(const Context& context, uint32_t owner) {
  SecretShare share;
  share.owner_ = owner;
  share.n_ = context.n();
  share.primes_ = context.special_index() + 1;
  HEFT_ASSIGN_OR_RETURN(share.residues_, SecureVector<uint32_t>::Create(share.n_ * share.primes_));
  return share;
}

absl::StatusOr<std::vector<SecretShare>> ShareSecret(const Context& context,
                                                     const SecretKey& secret,
                                                     const Sharing& sharing, Csprng& rng) {
  return Split(context, sharing, rng, [&](size_t prime) { return secret.residues(prime); });
}

absl::StatusOr<std::vector<SecretShare>> Reshare(const Context& context, const SecretShare& share,
                                                 const Sharing& old, const OwnerSet& set,
                                                 const Sharing& next, Csprng& rng) {
  HEFT_RETURN_IF_ERROR(CheckOwnerSet(old, set));
  if (std::ranges::count(set, share.owner()) == 0) {
    return absl::InvalidArgumentError("an owner outside the set that shares anew");
  }
  HEFT_ASSIGN_OR_RETURN(auto own, SecureVector<uint32_t>::Create(context.n()));
  return Split(context, next, rng, [&](size_t prime) {
    const uint32_t lambda = LagrangeFactor(context.modulus(prime), share.owner(), set);
    Scale(context, prime, share.residues(prime), lambda, own.span());
    return std::span<const uint32_t>(own.span());
  });
}

void AddShare(const Context& context, const SecretShare& share, SecretShare* sum) {
  HEFT_DCHECK(share.owner() == sum->owner() && share.primes() == sum->primes(),
              "shares of one owner");
  for (size_t prime = 0; prime < share.primes(); ++prime) {
    uint32_t* v = sum->residues(prime).data();
    ActiveKernels().add(v, v, share.residues(prime).data(), context.n(), context.modulus(prime));
  }
}

uint32_t LagrangeFactor(const ring::Modulus& q, uint32_t owner, const OwnerSet& set) {
  uint32_t above = 1, below = 1;
  for (const uint32_t other : set) {
    if (other == owner) continue;
    above = q.Multiply(above, other);
    below = q.Multiply(below, q.Sub(other, owner));
  }
  return q.Multiply(above, q.Inverse(below));
}

absl::StatusOr<SecretShare> TermOf(const Context& context, const SecretShare& share,
                                   const OwnerSet& set) {
  if (std::ranges::count(set, share.owner()) != 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("owner %d is not one of those who open", share.owner()));
  }
  HEFT_ASSIGN_OR_RETURN(SecretShare term, SecretShare::Create(context, share.owner()));
  for (size_t prime = 0; prime < term.primes(); ++prime) {
    const uint32_t lambda = LagrangeFactor(context.modulus(prime), share.owner(), set);
    Scale(context, prime, share.residues(prime), lambda, term.residues(prime));
  }
  return term;
}

absl::StatusOr<ring::RnsPoly> PartiallyDecrypt(const Context& context, const Ciphertext& ciphertext,
                                               const SecretShare& share, const OwnerSet& set,
                                               FloodingOptions options) {
  HEFT_DCHECK_OK(CheckShape(context, ciphertext));
  if (ciphertext.size() != 2) {
    return absl::FailedPreconditionError(
        "a ciphertext of degree two is not opened in parts: identify without --degree-two");
  }
  if (std::ranges::count(set, share.owner()) != 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("owner %d is not one of those who open", share.owner()));
  }
  options.parts = static_cast<uint32_t>(set.size());
  HEFT_RETURN_IF_ERROR(CheckFloodingRoom(context.params(), ciphertext, options));
  const size_t n = context.n();
  ring::RnsPoly part(n, ciphertext.limbs());
  for (size_t l = 0; l < part.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    uint32_t* v = part.limb(l).data();
    ActiveKernels().multiply(v, ciphertext.parts[1].limb(l).data(), share.residues(l).data(), n, q);
    Scale(context, l, part.limb(l), LagrangeFactor(q, share.owner(), set), part.limb(l));
  }
  Csprng rng;
  AddFlood(context, FloodingDeviation(context.params(), ciphertext.noise.error, options), rng,
           &part);
  return part;
}

absl::StatusOr<Plaintext> CombineParts(const Context& context, const Ciphertext& ciphertext,
                                       std::span<const ring::RnsPoly> parts,
                                       const FloodingOptions& options) {
  HEFT_DCHECK_OK(CheckShape(context, ciphertext));
  Plaintext out;
  out.scale = ciphertext.scale;
  out.poly = ciphertext.parts.at(0);
  for (const ring::RnsPoly& part : parts) {
    if (part.n() != context.n() || part.limbs() != ciphertext.limbs()) {
      return absl::InvalidArgumentError("a partial opening of another shape than its ciphertext");
    }
    for (size_t l = 0; l < part.limbs(); ++l) {
      uint32_t* v = out.poly.limb(l).data();
      ActiveKernels().add(v, v, part.limb(l).data(), context.n(), context.modulus(l));
    }
  }
  const Params& params = context.params();
  const double deviation = FloodingDeviation(params, ciphertext.noise.error, options);
  out.noise = ciphertext.noise;
  out.noise.error = Combine(std::sqrt(options.secrets) * out.noise.error,
                            std::sqrt(static_cast<double>(parts.size()) * params.n()) * deviation);
  return out;
}

}  // namespace heft::ckks
