// SPDX-License-Identifier: Apache-2.0
// The route of a 1:N probe. One ring: only enrolment and verification mask, so a probe is fused
// without the mask's prime, a quarter fewer key bytes and transforms. Two rings: a thin probe, in
// the small one, which is projected and not normalised. What comes out matches the same gallery.
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

// WidenRelinearisation: the relinearisation key for digits of two primes where the scale of what is
// relinearised, products of probes, makes their larger error count for nothing: half of the key's
// bytes, and a quarter of the transforms. For the matching ring's keys, once. Nothing where thin
// probes' norms are proven with it, carefully (fusion/norm_proof.h).
void WidenRelinearisation(const Instance& instance, ckks::EvaluationKeys* keys);

class ProbeFuser {
 public:
  // `keys` are the matching ring's. One ring: they are copied without the mask's prime; two: they
  // must outlive the fuser. kFailedPrecondition where they lack one that the plan needs. `samples`
  // as Fuser's.
  static absl::StatusOr<ProbeFuser> Create(const Rings& rings, const Model& model,
                                           const ckks::EvaluationKeys& keys, size_t samples = 1);

  // ToMatch: of one ring, what MatchBlock takes of that, bit for bit: instance and relinearisation
  // key, and nothing that fuses. For servers, who fuse with the mask's prime: no other key is
  // copied.
  static absl::StatusOr<ProbeFuser> ToMatch(const Model& model, const ckks::EvaluationKeys& keys);

  // What PrepareProbe and MatchBlock take for its probes.
  const Instance& instance() const { return *instance_; }
  const ckks::EvaluationKeys& keys() const { return *keys_; }

  // From fresh ciphertexts of the enrolment ring, or of the small one of two: what is matched, in
  // MatchLimbs limbs. Two rings: z is not normalised: `norm` proves its squared norm, by whose
  // root the key owner divides, under the factor `sigma` or one of its own (ThinFuser). One ring: z
  // is normalised, and `norm` is empty: a probe without the mask's prime
  // has no level for a factor, so Server takes verification's way (Fuser).
  absl::StatusOr<ProvenProbe> Fuse(std::span<const ckks::Ciphertext* const> modalities,
                                   std::optional<double> sigma = {}) const;

  // One ring: both halves of Fuse, as Fuser's.
  absl::StatusOr<ckks::Ciphertext> Project(
      std::span<const ckks::Ciphertext* const> modalities) const;
  absl::StatusOr<Normalised> Normalise(const ckks::Ciphertext& z) const;

 private:
  ProbeFuser() = default;
  // The instance, with what digits of two primes add to a probe's error.
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
