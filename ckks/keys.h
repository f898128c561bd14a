// SPDX-License-Identifier: Apache-2.0
// PublicKey, SwitchKey, EvaluationKeys: for encryption, and for key switching on the server.
// Nothing here can decrypt.
#ifndef HEFT_CKKS_KEYS_H_
#define HEFT_CKKS_KEYS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/csprng.h"
#include "base/status.h"
#include "ckks/context.h"
#include "ckks/noise.h"
#include "ring/rns_poly.h"

namespace heft::ckks {

// KeyId: identifies a secret key. All objects for the key carry it, so that objects of different
// keys are never mixed.
using KeyId = std::array<uint8_t, 16>;

// PublicKey: (b, a) with b = -(a s + e) modulo all primes; a is expanded from the seed, unless the
// key is from another program (such as SEAL).
struct PublicKey {
  KeyId key_id{};
  bool seeded = true;
  Seed seed{};
  ring::RnsPoly b;
  ring::RnsPoly a;
};

// SeededSwitchKey: a switching key in its stored form: for each digit j < limbs, b_j = -(a_j s +
// e_j) + P t in limb j; a_j is expanded from the seed. A key cut to `limbs` data primes works for
// ciphertexts of at most as many.
struct SeededSwitchKey {
  size_t limbs = 0;
  Seed seed{};
  std::vector<ring::RnsPoly> b;  // for each digit, limbs + 1 limbs, the special prime last
};

// FullSwitchKey: the same with a_j itself instead of the seed, for keys of other programs.
struct FullSwitchKey {
  std::vector<ring::RnsPoly> b, a;  // for each digit, limbs + 1 limbs, the special prime last
  size_t limbs() const { return b.size(); }
};

// ExpandUniform: the uniform polynomial of a digit modulo one prime (the special one at
// special_index()). Each pair has its own ChaCha20 stream, so that a cut key has the same
// polynomials.
void ExpandUniform(const Context& context, std::span<uint32_t> out, const Seed& seed, size_t digit,
                   size_t prime);

// SwitchKey: a switching key expanded for use, in the order of reading: for each limb, the special
// prime's last, the layout of ring::Kernels::switch_products. The values of a Galois key are
// permuted by the inverse automorphism, so that the product with hoisted digits comes first and the
// result is permuted once.
class SwitchKey {
 public:
  SwitchKey() = default;
  // `element`: the Galois element, 1 for relinearisation.
  SwitchKey(const Context& context, const SeededSwitchKey& seeded, uint32_t element);
  // From both parts, digit by digit (keys of other programs, such as SEAL).
  SwitchKey(const Context& context, std::span<const ring::RnsPoly> b,
            std::span<const ring::RnsPoly> a, uint32_t element);
  // Mapped: from values() of a key that was expanded before, with one limb for each digit. The
  // pointer keeps them alive; copies share it. There are ValueCount values, on a cache line, below
  // their primes.
  static SwitchKey Mapped(size_t n, size_t limbs, std::shared_ptr<const uint32_t> values);
  static size_t ValueCount(size_t n, size_t limbs) { return n * 2 * limbs * (limbs + 1); }

  // limbs: data primes.
  size_t limbs() const { return limbs_; }
  // digits: each of one or two limbs; the stored form has one for each limb.
  size_t digits() const { return sizes_.size(); }
  const DigitSizes& sizes() const { return sizes_; }
  size_t bytes() const { return values().size_bytes(); }
  // values: limb() of all limbs, one after another.
  std::span<const uint32_t> values() const {
    return {mapped_ ? mapped_.get() : data_.data(), n_ * 2 * digits() * (limbs_ + 1)};
  }
  // limb: in [0, limbs()] with the special prime at limbs(). Values contain the factor 2^32, as
  // switch_products requires.
  const uint32_t* limb(size_t limb) const { return values().data() + limb * digits() * 2 * n_; }
  // WithoutLimb: the key without one of the data primes, as a limb and as a digit (subchain.h).
  // Only for keys with one limb for each digit.
  SwitchKey WithoutLimb(size_t limb) const;
  // WithDigits: a key for digits of `sizes`, from a key with one limb for each digit. The sum of
  // two digits' keys is the key of the digit of both primes. Fewer digits need fewer transforms and
  // fewer bytes to read, but the error grows by a factor of a prime's size (DigitsWithin).
  // `context` must be the key's own.
  SwitchKey WithDigits(const Context& context, const DigitSizes& sizes) const;

 private:
  void Allocate(const Context& context, size_t limbs);
  // `permutation`: nullptr, or a permutation of the stored values.
  void Place(const Context& context, std::span<const uint32_t> values,
             const ring::Permutation* permutation, size_t limb, size_t digit, size_t part);

  size_t n_ = 0;
  size_t limbs_ = 0;
  DigitSizes sizes_;
  AlignedVector<uint32_t> data_;
  std::shared_ptr<const uint32_t> mapped_;  // instead of data_
};

// EvaluationKeys: a server's keys: a relinearisation key and the Galois keys of the elements in
// use.
struct EvaluationKeys {
  KeyId key_id{};
  SwitchKey relinearisation;  // limbs() == 0 if there is none
  std::map<uint32_t, SwitchKey> galois;

  // Galois, Relinearisation: kFailedPrecondition if there is no key (for `element`) for `limbs`
  // limbs.
  absl::StatusOr<const SwitchKey*> Galois(uint32_t element, size_t limbs) const;
  absl::StatusOr<const SwitchKey*> Relinearisation(size_t limbs) const;
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_KEYS_H_
