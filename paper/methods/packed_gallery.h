// SPDX-License-Identifier: Apache-2.0
// The paper's gallery, for comparison with diagonal blocks (fusion/matching.h): gamma slots a
// template, slots / gamma templates a ciphertext. Preprocessing masks and rotates dense results
// together; matching is a product, a relinearisation and log2(gamma) fold rotations a gallery
// ciphertext. Paper, table 1. Also matching of SIMD coordinates.
#ifndef HEFT_PAPER_METHODS_PACKED_GALLERY_H_
#define HEFT_PAPER_METHODS_PACKED_GALLERY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "ckks/encoder.h"
#include "ckks/keys.h"
#include "paper/methods/projection.h"

namespace heft::paper {

struct PackedPlan {
  uint32_t gamma = 0, delta = 0, slots = 0;
  uint32_t vectors = 0;       // templates of one dense result: floor(slots / 2 delta)
  uint32_t groups = 0;        // dense results a gallery ciphertext: 2 delta / gamma
  uint32_t templates = 0;     // a gallery ciphertext: vectors * groups
  size_t template_limbs = 0;  // of dense results; one level for the mask, one for the product
  double template_scale = 0;
  KeyNeeds keys;

  // Slot that holds template i of a gallery (its number in order of enrolment, modulo
  // `templates`) and, after matching, its score.
  uint32_t Slot(uint32_t i) const;
};

// PlanPackedGallery: for dense results of `projection` with `template_limbs` limbs, at least 3.
absl::StatusOr<PackedPlan> PlanPackedGallery(const ckks::Params& params,
                                             const ProjectionPlan& projection,
                                             size_t template_limbs, double template_scale);

class PackedMatcher {
 public:
  static absl::StatusOr<PackedMatcher> Create(std::shared_ptr<const ckks::Context> context,
                                              const ckks::Encoder& encoder, const PackedPlan& plan,
                                              const ckks::EvaluationKeys* keys);

  // Pack, the preprocessing: dense results, plan.vectors templates each (the last may hold fewer),
  // into ceil(results / groups) gallery ciphertexts one limb below.
  absl::StatusOr<std::vector<ckks::Ciphertext>> Pack(
      std::span<const ckks::Ciphertext> results) const;

  // Match: scores of a probe (a result for one vector that filled all windows) against each gallery
  // ciphertext: slot plan.Slot(i) holds template i's inner product, two limbs below the templates.
  absl::StatusOr<std::vector<ckks::Ciphertext>> Match(
      const ckks::Ciphertext& probe, std::span<const ckks::Ciphertext> gallery) const;

  // SquaredNorms: |g|^2 of every template, in the slots of their scores: for deferred
  // normalisation.
  absl::StatusOr<std::vector<ckks::Ciphertext>> SquaredNorms(
      std::span<const ckks::Ciphertext> gallery) const;

 private:
  PackedMatcher() = default;
  absl::StatusOr<ckks::Ciphertext> FoldProduct(const ckks::Ciphertext& a,
                                               const ckks::Ciphertext& b) const;

  std::shared_ptr<const ckks::Context> context_;
  PackedPlan plan_;
  const ckks::EvaluationKeys* keys_ = nullptr;
  ckks::Plaintext mask_;
};

// MatchCoordinates, for SIMD: coordinates of a probe that fills all slots times those of a batch of
// templates, summed and relinearised once; slot j holds the score of template j. gamma coordinates
// each, of equal limbs and scale.
absl::StatusOr<ckks::Ciphertext> MatchCoordinates(const ckks::Context& context,
                                                  std::span<const ckks::Ciphertext> probe,
                                                  std::span<const ckks::Ciphertext> gallery,
                                                  const ckks::EvaluationKeys& keys);

}  // namespace heft::paper

#endif  // HEFT_PAPER_METHODS_PACKED_GALLERY_H_
