// SPDX-License-Identifier: Apache-2.0
// Prototype: the parts of a profile for IND-CPA-D: thin probes at N = 8192 with scales and a base
// of two primes each, so that scores have room for noise flooding (ckks/owner/flooding.h).
#ifndef HEFT_BENCH_FLOODING_H_
#define HEFT_BENCH_FLOODING_H_

#include <memory>
#include <span>
#include <vector>

#include "ckks/owner/flooding.h"
#include "experiment/roles.h"

namespace heft::bench::flooding {

inline constexpr uint32_t kGamma = 32, kDimension = 512, kTemplates = 1024;
inline constexpr size_t kInput = 6, kZ = 4, kScore = 2;  // limbs: a level is two primes

// Prototype: keys and steps for one set of parameters. No profile: templates are encrypted as they
// are, in a block of their own.
class Prototype {
 public:
  static absl::StatusOr<std::unique_ptr<Prototype>> Create(int level_bits, const Model& model);

  const ckks::Params& params() const { return keyed_->params(); }
  double scale() const { return scale_; }
  size_t key_bytes() const { return key_bytes_; }

  absl::StatusOr<std::vector<ckks::Ciphertext>> EncryptProbe(
      const experiment::Vectors& sample) const;
  absl::Status FillBlock(std::span<const std::vector<double>> templates);
  // Project, Norm: as of profile thin, two primes a level.
  absl::StatusOr<ckks::Ciphertext> Project(std::span<const ckks::Ciphertext> probe) const;
  absl::StatusOr<ckks::Ciphertext> Norm(const ckks::Ciphertext& z) const;
  absl::StatusOr<ckks::Ciphertext> Match(const ckks::Ciphertext& z) const;
  std::vector<ckks::Complex> Open(const ckks::Ciphertext& c) const { return keyed_->Open(c); }
  absl::StatusOr<std::vector<ckks::Complex>> OpenFlooded(
      const ckks::Ciphertext& c, const ckks::FloodingOptions& flooding) const;

 private:
  Prototype() = default;
  uint32_t Column(uint32_t slot) const;
  absl::Status EncodeFactors(const Model& model);
  KeyNeeds Needs() const;
  size_t SizeOfKeys(const KeyNeeds& needs) const;
  // Both parts, kZ limbs, into tiles of `stride` values that begin at `out`.
  void Store(const ckks::Ciphertext& c, uint32_t k, size_t stride,
             AlignedVector<uint32_t>* out) const;

  std::unique_ptr<experiment::KeyedContext> keyed_;
  double scale_ = 0, largest_norm_ = 0;
  size_t key_bytes_ = 0;
  uint32_t run_ = 0;
  std::vector<uint32_t> baby_, rotations_;
  std::vector<std::vector<uint32_t>> folds_, norm_folds_;
  std::vector<ckks::Plaintext> factors_;
  AlignedVector<uint32_t> block_;
  double block_error_ = 0;
};

}  // namespace heft::bench::flooding

#endif  // HEFT_BENCH_FLOODING_H_
