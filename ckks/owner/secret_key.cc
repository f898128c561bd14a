// SPDX-License-Identifier: Apache-2.0
#include "ckks/owner/secret_key.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/constant_time.h"
#include "ckks/shape.h"
#include "ring/sampling.h"

namespace heft::ckks {
namespace {

using ring::ActiveKernels;

// ErrorSampler: a fresh error polynomial in NTT form modulo one prime; the buffer's owner wipes it.
class ErrorSampler {
 public:
  ErrorSampler(const Context& context, Csprng& rng) : context_(context), values_(context.n()) {
    ring::SampleError(values_, rng);
  }
  ~ErrorSampler() { SecureWipe(values_.data(), values_.size()); }
  ErrorSampler(const ErrorSampler&) = delete;
  ErrorSampler& operator=(const ErrorSampler&) = delete;

  void Residues(size_t prime, std::span<uint32_t> out) const {
    ring::ToResidues(out, values_, context_.modulus(prime));
    context_.ntt(prime).Forward(out);
  }

 private:
  const Context& context_;
  std::vector<int8_t> values_;
};

// Mask: out = -(a s + e) modulo one prime.
void Mask(const Context& context, std::span<uint32_t> out, std::span<const uint32_t> a,
          const SecretView& secret, const ErrorSampler& error, size_t prime) {
  const size_t n = context.n();
  const ring::Modulus& q = context.modulus(prime);
  AlignedVector<uint32_t> e(n);
  error.Residues(prime, e);
  ActiveKernels().multiply(out.data(), a.data(), secret.residues(prime).data(), n, q);
  ActiveKernels().add(out.data(), out.data(), e.data(), n, q);
  ActiveKernels().negate(out.data(), out.data(), n, q);
  SecureWipe(e.data(), n * sizeof(uint32_t));
}

// MakeSwitchKey: `target(digit, out)` writes the residues of the polynomial to switch from, modulo
// prime `digit`.
template <typename Target>
SeededSwitchKey MakeSwitchKey(const Context& context, const SecretView& secret, size_t limbs,
                              Csprng& rng, const Seed* common, const Target& target) {
  HEFT_DCHECK(limbs >= 1 && limbs <= context.params().limbs(), "a key of 1 to all data primes");
  const size_t n = context.n();
  SeededSwitchKey key;
  key.limbs = limbs;
  key.seed = common != nullptr ? *common : rng.NewSeed();
  AlignedVector<uint32_t> a(n), t(n);
  for (size_t digit = 0; digit < limbs; ++digit) {
    const ErrorSampler error(context, rng);
    ring::RnsPoly b(n, limbs + 1);
    for (size_t l = 0; l <= limbs; ++l) {
      const size_t prime = l < limbs ? l : context.special_index();
      ExpandUniform(context, a, key.seed, digit, prime);
      Mask(context, b.limb(l), a, secret, error, prime);
    }
    const ring::Modulus& q = context.modulus(digit);
    target(digit, std::span<uint32_t>(t));
    const uint32_t special = q.Reduce(context.params().special().value());
    ActiveKernels().multiply_scalar(t.data(), t.data(), q.Shoup(special), n, q);
    uint32_t* v = b.limb(digit).data();
    ActiveKernels().add(v, v, t.data(), n, q);
    key.b.push_back(std::move(b));
  }
  SecureWipe(t.data(), n * sizeof(uint32_t));
  return key;
}

}  // namespace

absl::StatusOr<SecretKey> SecretKey::Generate(const Context& context, Csprng& rng) {
  HEFT_ASSIGN_OR_RETURN(auto coefficients, SecureVector<int8_t>::Create(context.n()));
  ring::SampleTernary(coefficients.span(), rng);
  KeyId id;
  rng.Fill(id);
  return FromCoefficients(context, id, coefficients.span());
}

absl::StatusOr<SecretKey> SecretKey::FromCoefficients(const Context& context, const KeyId& id,
                                                      std::span<const int8_t> coefficients) {
  const size_t n = context.n();
  bool ternary = coefficients.size() == n;
  for (int8_t c : coefficients) ternary &= (c >= -1) & (c <= 1);
  // Whether it is a valid key is public.
  if (!Declassified(ternary))
    return absl::DataLossError("not the coefficients of a secret key of this size");
  SecretKey key;
  key.key_id_ = id;
  HEFT_ASSIGN_OR_RETURN(key.coefficients_, SecureVector<int8_t>::Create(n));
  const size_t primes = context.special_index() + 1;
  HEFT_ASSIGN_OR_RETURN(key.residues_, SecureVector<uint32_t>::Create(n * primes));
  std::copy(coefficients.begin(), coefficients.end(), key.coefficients_.data());
  for (size_t i = 0; i < primes; ++i) {
    const std::span<uint32_t> limb(key.residues_.data() + i * n, n);
    ring::ToResidues(limb, coefficients, context.modulus(i));
    context.ntt(i).Forward(limb);
  }
  return key;
}

absl::Status CheckUniformTernary(std::span<const int8_t> coefficients, std::string_view what) {
  constexpr double kDeviations = 7;
  int64_t weight = 0, sum = 0;
  for (const int8_t c : coefficients) {
    weight += c * c;
    sum += c;
  }
  const auto n = static_cast<double>(coefficients.size());
  const auto most_weight = static_cast<int64_t>(kDeviations * std::sqrt(n * 2 / 9));
  const auto most_sum = static_cast<int64_t>(kDeviations * std::sqrt(n * 2 / 3));
  const int64_t expected = static_cast<int64_t>(2 * coefficients.size() / 3);
  const bool uniform = (weight - expected <= most_weight) & (expected - weight <= most_weight) &
                       (sum <= most_sum) & (-sum <= most_sum);
  // Whether it is a valid key is public.
  if (Declassified(uniform)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      std::string(what),
      ": not a uniform ternary secret key, the only kind that the parameters are secure "
      "for (too many or too few zeros, or too many of one sign): make a new key"));
}

ring::RnsPoly MaskUniform(const Context& context, const ring::RnsPoly& a, const SecretView& secret,
                          Csprng& rng) {
  HEFT_DCHECK(a.n() == context.n() && a.limbs() <= context.special_index() + 1,
              "a polynomial of this context");
  const ErrorSampler error(context, rng);
  ring::RnsPoly out(a.n(), a.limbs());
  for (size_t i = 0; i < a.limbs(); ++i) Mask(context, out.limb(i), a.limb(i), secret, error, i);
  return out;
}

PublicKey MakePublicKey(const Context& context, const SecretKey& secret, Csprng& rng,
                        const Seed* common) {
  const size_t n = context.n();
  const size_t primes = context.special_index() + 1;
  PublicKey key;
  key.key_id = secret.key_id();
  key.seed = common != nullptr ? *common : rng.NewSeed();
  key.a = ring::RnsPoly(n, primes);
  key.b = ring::RnsPoly(n, primes);
  const ErrorSampler error(context, rng);
  for (size_t i = 0; i < primes; ++i) {
    ExpandUniform(context, key.a.limb(i), key.seed, 0, i);
    Mask(context, key.b.limb(i), key.a.limb(i), secret, error, i);
  }
  return key;
}

SeededSwitchKey MakeGaloisKey(const Context& context, const SecretKey& secret, uint32_t element,
                              size_t limbs, Csprng& rng, const Seed* common) {
  const ring::Permutation& table = context.permutation(element);
  return MakeSwitchKey(
      context, secret, limbs, rng, common, [&](size_t digit, std::span<uint32_t> out) {
        ActiveKernels().permute(out.data(), secret.residues(digit).data(), table, context.n());
      });
}

SeededSwitchKey MakeRelinearisationKey(const Context& context, const SecretKey& secret,
                                       size_t limbs, Csprng& rng) {
  return MakeSwitchKey(
      context, secret, limbs, rng, nullptr, [&](size_t digit, std::span<uint32_t> out) {
        const uint32_t* s = secret.residues(digit).data();
        ActiveKernels().multiply(out.data(), s, s, context.n(), context.modulus(digit));
      });
}

SeededSwitchKey MakeRekeyingKey(const Context& context, const SecretView& old,
                                const SecretView& secret, size_t limbs, Csprng& rng,
                                const Seed* common) {
  return MakeSwitchKey(context, secret, limbs, rng, common,
                       [&](size_t digit, std::span<uint32_t> out) {
                         std::copy_n(old.residues(digit).data(), out.size(), out.data());
                       });
}

SeededSwitchKey MakeZeroKey(const Context& context, const SecretKey& secret, size_t limbs,
                            Csprng& rng, const Seed& common) {
  return MakeSwitchKey(context, secret, limbs, rng, &common,
                       [](size_t, std::span<uint32_t> out) { std::ranges::fill(out, 0); });
}

absl::StatusOr<SeededSwitchKey> MakeRingSwitchKey(const Context& from, const SecretKey& secret,
                                                  const SecretKey& half, size_t limbs, Csprng& rng,
                                                  const Seed* common) {
  if (secret.coefficients().size() != from.n() || 2 * half.coefficients().size() != from.n()) {
    return absl::InvalidArgumentError("a ring switch leads to the ring of half the degree");
  }
  HEFT_ASSIGN_OR_RETURN(const SecretKey old,
                        SecretKey::FromCoefficients(from, secret.key_id(), secret.coefficients()));
  // half(X^2): every second coefficient.
  HEFT_ASSIGN_OR_RETURN(auto lifted, SecureVector<int8_t>::Create(from.n()));
  for (size_t i = 0; i < from.n(); ++i) {
    lifted.data()[i] = i % 2 == 0 ? half.coefficients()[i / 2] : int8_t{0};
  }
  HEFT_ASSIGN_OR_RETURN(const SecretKey next,
                        SecretKey::FromCoefficients(from, half.key_id(), lifted.span()));
  return MakeRekeyingKey(from, old, next, limbs, rng, common);
}

SeededCiphertext EncryptSymmetric(const Context& context, const Plaintext& plaintext,
                                  const SecretKey& secret, Csprng& rng) {
  HEFT_DCHECK_OK(CheckShape(context, plaintext));
  HEFT_DCHECK(!plaintext.extended, "what is encrypted is not extended");
  const size_t n = context.n();
  SeededCiphertext out;
  out.seed = rng.NewSeed();
  out.scale = plaintext.scale;
  out.noise = {plaintext.noise.message,
               Combine(plaintext.noise.error, SymmetricError(context.params()))};
  out.c0 = ring::RnsPoly(n, plaintext.limbs());
  const ErrorSampler error(context, rng);
  AlignedVector<uint32_t> a(n);
  for (size_t l = 0; l < plaintext.limbs(); ++l) {
    ExpandUniform(context, a, out.seed, 0, l);
    Mask(context, out.c0.limb(l), a, secret, error, l);
    uint32_t* v = out.c0.limb(l).data();
    ActiveKernels().add(v, v, plaintext.poly.limb(l).data(), n, context.modulus(l));
  }
  return out;
}

Plaintext Decrypt(const Context& context, const Ciphertext& ciphertext, const SecretKey& secret) {
  HEFT_DCHECK_OK(CheckShape(context, ciphertext));
  const size_t n = context.n();
  const ring::Kernels& kernels = ActiveKernels();
  Plaintext out;
  out.scale = ciphertext.scale;
  out.noise = ciphertext.noise;
  out.poly = ring::RnsPoly(n, ciphertext.limbs());
  for (size_t l = 0; l < ciphertext.limbs(); ++l) {
    const ring::Modulus& q = context.modulus(l);
    const uint32_t* s = secret.residues(l).data();
    uint32_t* v = out.poly.limb(l).data();
    // Horner's rule over the parts.
    std::copy_n(ciphertext.parts.back().limb(l).data(), n, v);
    for (size_t p = ciphertext.size() - 1; p-- > 0;) {
      kernels.multiply(v, v, s, n, q);
      kernels.add(v, v, ciphertext.parts[p].limb(l).data(), n, q);
    }
  }
  return out;
}

}  // namespace heft::ckks
