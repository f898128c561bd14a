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

// KeyId names one secret key; everything made for it carries the id, so that objects under
// different keys are told apart before they are mixed.
using KeyId = std::array<uint8_t, 16>;

// PublicKey: (b, a) with b = -(a s + e) modulo all primes; a is expanded from the seed, unless the
// key was made elsewhere (SEAL's, for example).
struct PublicKey {
  KeyId key_id{};
  bool seeded = true;
  Seed seed{};
  ring::RnsPoly b;
  ring::RnsPoly a;
};

// SeededSwitchKey: a switching key as it travels, for each digit j < limbs, b_j = -(a_j s + e_j) +
// P t in limb j; a_j is expanded from the seed. A key cut to `limbs` data primes serves ciphertexts
// of at most as many.
struct SeededSwitchKey {
  size_t limbs = 0;
  Seed seed{};
  std::vector<ring::RnsPoly> b;  // per digit, limbs + 1 limbs, the special prime last
};

// FullSwitchKey: the same with both parts in full, a_j in the place of the seed: keys made
// elsewhere.
struct FullSwitchKey {
  std::vector<ring::RnsPoly> b, a;  // per digit, limbs + 1 limbs, the special prime last
  size_t limbs() const { return b.size(); }
};

// ExpandUniform: the uniform polynomial of a digit modulo one prime (the special one at
// special_index()), one ChaCha20 stream for each pair, so that a cut key keeps its polynomials.
void ExpandUniform(const Context& context, std::span<uint32_t> out, const Seed& seed, size_t digit,
                   size_t prime);

// SwitchKey: a switching key expanded for use, in the order in which it is read: for each limb, the
// special prime's last, the layout of ring::Kernels::switch_products. For a Galois key the values
// are permuted by the inverse automorphism, so that the product with hoisted digits comes first and
// one permutation of the result follows.
class SwitchKey {
 public:
  SwitchKey() = default;
  // `element`: the Galois element, 1 for relinearisation.
  SwitchKey(const Context& context, const SeededSwitchKey& seeded, uint32_t element);
  // From both parts as they stand, digit by digit (keys made elsewhere, SEAL's for example).
  SwitchKey(const Context& context, std::span<const ring::RnsPoly> b,
            std::span<const ring::RnsPoly> a, uint32_t element);
  // Mapped: expanded before, with a digit a limb: values() of that key, kept alive by the pointer
  // and shared by copies. ValueCount of them, on a cache line, below their primes.
  static SwitchKey Mapped(size_t n, size_t limbs, std::shared_ptr<const uint32_t> values);
  static size_t ValueCount(size_t n, size_t limbs) { return n * 2 * limbs * (limbs + 1); }

  // limbs: data primes.
  size_t limbs() const { return limbs_; }
  // digits: of one or two limbs; as it travels, a key has one for each.
  size_t digits() const { return sizes_.size(); }
  const DigitSizes& sizes() const { return sizes_; }
  size_t bytes() const { return values().size_bytes(); }
  // values: limb() of all of them, one after the other.
  std::span<const uint32_t> values() const {
    return {mapped_ ? mapped_.get() : data_.data(), n_ * 2 * digits() * (limbs_ + 1)};
  }
  // limb: in [0, limbs()] with the special prime at limbs(). Values carry the factor 2^32, as
  // switch_products wants them.
  const uint32_t* limb(size_t limb) const { return values().data() + limb * digits() * 2 * n_; }
  // WithoutLimb: without one of the data primes, as a limb and as a digit (subchain.h). For keys
  // whose digits have one limb each.
  SwitchKey WithoutLimb(size_t limb) const;
  // WithDigits: from a key with one digit a limb, one for digits of `sizes`; the sum of two digits'
  // keys is the key of the digit of both primes. Fewer digits are fewer transforms and fewer bytes
  // to read, for errors larger by a prime's size (DigitsWithin). `context` is the one that the key
  // is for.
  SwitchKey WithDigits(const Context& context, const DigitSizes& sizes) const;

 private:
  void Allocate(const Context& context, size_t limbs);
  // `permutation`: nullptr, or what to store the values under.
  void Place(const Context& context, std::span<const uint32_t> values,
             const ring::Permutation* permutation, size_t limb, size_t digit, size_t part);

  size_t n_ = 0;
  size_t limbs_ = 0;
  DigitSizes sizes_;
  AlignedVector<uint32_t> data_;
  std::shared_ptr<const uint32_t> mapped_;  // in the place of data_
};

// EvaluationKeys: what a server needs, a relinearisation key and the Galois keys of the elements it
// uses.
struct EvaluationKeys {
  KeyId key_id{};
  SwitchKey relinearisation;  // limbs() == 0 where there is none
  std::map<uint32_t, SwitchKey> galois;

  // Galois, Relinearisation: kFailedPrecondition where there is no key (for `element`) that serves
  // `limbs` limbs.
  absl::StatusOr<const SwitchKey*> Galois(uint32_t element, size_t limbs) const;
  absl::StatusOr<const SwitchKey*> Relinearisation(size_t limbs) const;
};

}  // namespace heft::ckks

#endif  // HEFT_CKKS_KEYS_H_
