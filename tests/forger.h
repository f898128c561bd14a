// SPDX-License-Identifier: Apache-2.0
// An attacker's own client: it encrypts any values as a probe or template that a client has fused.
// It has what any client has, the model and the encryption key.
#ifndef HEFT_TESTS_FORGER_H_
#define HEFT_TESTS_FORGER_H_

#include <functional>
#include <random>
#include <span>
#include <vector>

#include "ckks/encoder.h"
#include "fusion/key_files.h"
#include "fusion/rings.h"
#include "heft/client.h"
#include "heft/model.h"

namespace heft::e2e {

class Forger {
 public:
  using Slots = std::vector<ckks::Complex>;

  // The process ends if the key is not one of this model.
  Forger(const Model& model, const std::vector<uint8_t>& encryption_key);

  const Rings& rings() const { return rings_; }
  const ckks::KeyId& key_id() const { return keys_.enrolment.key_id; }
  size_t Random(size_t below) { return random_() % below; }

  // A file of `count` samples. Each sample's slots repeat the values of `make`.
  std::vector<uint8_t> Fused(SampleUse use, size_t count, const std::function<Slots()>& make) const;
  // Direction: a random unit vector of the model's dimensions.
  std::vector<double> Direction();
  // Wrapped: a direction, so long that both multiples of its squared norm wrap round to the same
  // short norm under one secret factor. Half are of few wraps, and half of the numbers of wraps
  // that pass most often (docs/security-proofs.md, "The proof of a norm").
  Slots Wrapped();
  static Slots Scaled(std::span<const double> z, ckks::Complex factor);

 private:
  const Model model_;
  const Rings rings_;
  const PublicKeys keys_;
  std::mt19937_64 random_{std::random_device()()};
};

}  // namespace heft::e2e

#endif  // HEFT_TESTS_FORGER_H_
