// SPDX-License-Identifier: Apache-2.0
// Fusion of a 1:N probe. One ring: only enrolment and verification mask, so a probe is fused
// without the mask's prime, with a quarter fewer key bytes and transforms. Two rings: a thin probe
// in the small ring, which is projected and not normalised. Both match the same gallery.
#ifndef HEFT_FUSION_PROBE_H_
#define HEFT_FUSION_PROBE_H_

#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "ckks/keys.h"
#include "fusion/fuser.h"
#include "fusion/matching.h"
#include "fusion/rings.h"
#include "fusion/thin_fuser.h"

namespace heft {

// WidenRelinearisation: changes the relinearisation key to digits of two primes: half of the key's
// bytes, and a quarter of the transforms. Their larger error is negligible at the scale of products
// of probes. Call it once, for the matching ring's keys. Does nothing if the norms of thin probes
// are proven carefully with this key (fusion/norm_proof.h).
void WidenRelinearisation(const Instance& instance, ckks::EvaluationKeys* keys);

class ProbeFuser {
 public:
  // `keys` are the matching ring's. One ring: they are copied without the mask's prime. Two rings:
  // they must outlive the fuser. kFailedPrecondition if a key of the plan is missing. `samples` as
  // in Fuser.
  static absl::StatusOr<ProbeFuser> Create(const Rings& rings, const Model& model,
                                           const ckks::EvaluationKeys& keys, size_t samples = 1);

  // ToMatch: for one ring: only MatchBlock's instance and relinearisation key, bit for bit the
  // same, without the fuser's keys. For servers that fuse with the mask's prime: no other key is
  // copied.
  static absl::StatusOr<ProbeFuser> ToMatch(const Model& model, const ckks::EvaluationKeys& keys);

  // For PrepareProbe and MatchBlock with its probes.
  const Instance& instance() const { return *instance_; }
  const ckks::EvaluationKeys& keys() const { return *keys_; }

  // Fuse: from fresh ciphertexts of the enrolment ring, or of the small one of two, a probe in
  // MatchLimbs limbs. Two rings: z is not normalised. `norm` proves its squared norm under the
  // factor `sigma` or a drawn one (ThinFuser); the key owner divides by its root. One ring: z is
  // normalised, and `norm` is empty: a probe without the mask's prime has no level for a factor, so
  // Server uses the fuser of verifications (Fuser).
  absl::StatusOr<ProvenProbe> Fuse(std::span<const ckks::Ciphertext* const> modalities,
                                   std::optional<double> sigma = {}) const;
  // PrepareFactor: two rings: ThinFuser's.
  void PrepareFactor(double sigma) const { thin_->PrepareFactor(sigma); }

  // One ring: both halves of Fuse, as in Fuser.
  absl::StatusOr<ckks::Ciphertext> Project(
      std::span<const ckks::Ciphertext* const> modalities) const;
  absl::StatusOr<Normalised> Normalise(const ckks::Ciphertext& z) const;

 private:
  ProbeFuser() = default;
  // The instance, with the error of digits of two primes added to a probe's.
  absl::Status MakeShortInstance(const Model& model, const ckks::EvaluationKeys& keys);

  FusionPlan enrolment_plan_;  // one ring
  std::vector<std::string> names_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<ckks::EvaluationKeys> own_keys_;  // one ring
  const ckks::EvaluationKeys* keys_ = nullptr;
  std::unique_ptr<Fuser> fuser_;     // one ring
  std::unique_ptr<ThinFuser> thin_;  // two
};

}  // namespace heft

#endif  // HEFT_FUSION_PROBE_H_
