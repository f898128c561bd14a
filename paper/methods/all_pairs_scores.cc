// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/key_switch.h"
#include "experiment/encrypted_scores.h"
#include "paper/methods/route.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;

// AllPairs: matching of all pairs of packed templates. Position p of a gallery ciphertext is its
// slots [p gamma, (p + 1) gamma); a product of two rotations scores the template of each position
// with the one `shift` positions further on.
class AllPairs {
 public:
  AllPairs(const ckks::Params& params, uint32_t gamma)
      : gamma_(gamma), positions_(params.slots() / gamma) {
    while (baby_ * baby_ < positions_) baby_ *= 2;
  }

  KeyNeeds Needs(const ckks::Params& params, size_t limbs) const {
    KeyNeeds needs;
    for (uint32_t j = 1; j < baby_; ++j) needs.Rotation(params, int64_t{j} * gamma_, limbs);
    for (uint32_t k = 1; k < positions_ / baby_; ++k) {
      needs.Rotation(params, -int64_t{k} * baby_ * gamma_, limbs);
    }
    return needs;
  }

  // `gallery` as PackedMatcher::Pack made it of n templates.
  absl::StatusOr<FeatureMatrix> Score(const PaperEngine& engine, Progress& progress,
                                      std::span<const Ciphertext> gallery, size_t n,
                                      double* predicted) const {
    const PackedPlan& packing = *engine.plan().packing;
    FeatureMatrix scores = FeatureMatrix::Zero(n, n);
    std::vector<std::vector<int>> at(gallery.size(), std::vector<int>(positions_, -1));
    for (size_t i = 0; i < n; ++i) {
      const uint32_t slot = packing.Slot(static_cast<uint32_t>(i % packing.templates));
      at[i / packing.templates][slot / gamma_] = static_cast<int>(i);
    }
    for (size_t a = 0; a < gallery.size(); ++a) {
      for (size_t b = a; b < gallery.size(); ++b) {
        HEFT_RETURN_IF_ERROR(
            progress.Step(a * gallery.size() + b, gallery.size() * gallery.size()));
        HEFT_RETURN_IF_ERROR(
            ScoreTwo(engine, gallery[a], gallery[b], at[a], at[b], a == b, &scores, predicted));
      }
    }
    return scores;
  }

 private:
  // Shifts at which some template of `first` meets one of `second`; within one ciphertext only the
  // smaller of the two of a pair. Giant step -> baby steps.
  std::map<uint32_t, std::vector<uint32_t>> Steps(const std::vector<int>& first,
                                                  const std::vector<int>& second, bool same) const {
    std::set<uint32_t> shifts;
    for (uint32_t p = 0; p < positions_; ++p) {
      for (uint32_t q = 0; q < positions_; ++q) {
        const uint32_t shift = (q + positions_ - p) % positions_;
        if (first[p] < 0 || second[q] < 0) continue;
        if (!same || (shift > 0 && shift <= positions_ / 2)) shifts.insert(shift);
      }
    }
    std::map<uint32_t, std::vector<uint32_t>> steps;
    for (uint32_t shift : shifts) steps[shift / baby_].push_back(shift % baby_);
    return steps;
  }

  absl::Status ScoreTwo(const PaperEngine& engine, const Ciphertext& a, const Ciphertext& b,
                        const std::vector<int>& first, const std::vector<int>& second, bool same,
                        FeatureMatrix* scores, double* predicted) const {
    const ckks::Params& params = engine.world->params();
    std::map<uint32_t, Ciphertext> babies;
    for (const auto& [giant_step, baby_steps] : Steps(first, second, same)) {
      HEFT_ASSIGN_OR_RETURN(const Ciphertext giant,
                            Rotated(engine, a, -int64_t{giant_step} * baby_ * gamma_));
      std::vector<Ciphertext> meeting;
      for (uint32_t j : baby_steps) {
        if (babies.count(j) == 0) {
          HEFT_ASSIGN_OR_RETURN(babies[j], Rotated(engine, b, int64_t{j} * gamma_));
        }
        meeting.push_back(babies[j]);
      }
      std::vector<double> bounds(meeting.size());
      const auto match = [&, step = giant_step, &steps = baby_steps](size_t i) -> absl::Status {
        HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> product,
                              engine.route->matcher().Match(giant, {&meeting[i], 1}));
        // No pair of templates meets twice, so no score is written twice.
        Read(engine, product[0], first, second, baby_ * step, steps[i], scores);
        bounds[i] = ckks::SlotErrorBound(params, product[0].noise, product[0].scale);
        return absl::OkStatus();
      };
      HEFT_RETURN_IF_ERROR(TryParallelFor(meeting.size(), match));
      for (double bound : bounds) *predicted = std::max(*predicted, bound);
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Ciphertext> Rotated(const PaperEngine& engine, const Ciphertext& g,
                                            int64_t steps) {
    if (steps == 0) return g;
    Ciphertext rotated;
    HEFT_RETURN_IF_ERROR(
        ckks::Rotate(engine.world->context(), &rotated, g, steps, engine.world->keys()));
    return rotated;
  }

  // Position p of the product holds the first operand's template of position p - back and the
  // second's of p + ahead.
  void Read(const PaperEngine& engine, const Ciphertext& product, const std::vector<int>& first,
            const std::vector<int>& second, uint32_t back, uint32_t ahead,
            FeatureMatrix* scores) const {
    const std::vector<ckks::Complex> slots = engine.world->Open(product);
    for (uint32_t p = 0; p < positions_; ++p) {
      const int x = first[(p + positions_ - back) % positions_];
      const int y = second[(p + ahead) % positions_];
      if (x < 0 || y < 0) continue;
      (*scores)(x, y) = slots[p * gamma_].real();
      (*scores)(y, x) = (*scores)(x, y);
    }
  }

  uint32_t gamma_, positions_, baby_ = 1;
};

// FuseAll: the fused batches of all samples.
absl::StatusOr<std::vector<Ciphertext>> FuseAll(const PaperEngine& engine, const Progress& progress,
                                                const std::vector<FeatureMatrix>& modalities) {
  const size_t n = modalities[0].rows(), batch = engine.plan().projection.vectors;
  std::vector<Ciphertext> fused((n + batch - 1) / batch);
  HEFT_RETURN_IF_ERROR(experiment::ForAll(progress, fused.size(), [&](size_t i) -> absl::Status {
    const size_t first = i * batch;
    HEFT_ASSIGN_OR_RETURN(const auto encrypted,
                          engine.EncryptBatch(modalities, first, std::min(batch, n - first)));
    HEFT_ASSIGN_OR_RETURN(Fused z, engine.route->Fuse(encrypted));
    fused[i] = std::move(z.z[0]);
    return absl::OkStatus();
  }));
  return fused;
}

// SetDiagonal writes |g|^2 of every template.
absl::Status SetDiagonal(const PaperEngine& engine, std::span<const Ciphertext> gallery,
                         FeatureMatrix* scores) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> norms,
                        engine.route->matcher().SquaredNorms(gallery));
  const PackedPlan& packing = *engine.plan().packing;
  std::vector<ckks::Complex> slots;
  for (uint32_t i = 0; i < scores->rows(); ++i) {
    if (i % packing.templates == 0) slots = engine.world->Open(norms[i / packing.templates]);
    (*scores)(i, i) = slots[packing.Slot(i % packing.templates)].real();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PaperScores> ScoreByPaperRoute(const Monitor& monitor, const std::string& name,
                                              const Model& model,
                                              const NormalisationSpec& normalisation,
                                              const std::vector<FeatureMatrix>& modalities) {
  Progress progress(monitor, absl::StrCat("encrypted: ", name));
  progress.Update(0, 1, "making keys");
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<PaperEngine> engine,
                        MakePaperEngine(model, normalisation));
  const ckks::Params& params = engine->world->params();
  const AllPairs all_pairs(params, model.gamma);
  const size_t packed_limbs = engine->plan().packing->template_limbs - 1;
  engine->world->MakeKeys(all_pairs.Needs(params, packed_limbs).Lacking(engine->world->keys()));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> fused,
                        FuseAll(*engine, progress, modalities));
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> gallery,
                        engine->route->matcher().Pack(fused));
  PaperScores result;
  Progress matching(monitor, absl::StrCat("encrypted: ", name, ", matching"));
  HEFT_ASSIGN_OR_RETURN(
      result.scores,
      all_pairs.Score(*engine, matching, gallery, modalities[0].rows(), &result.predicted_error));
  if (normalisation.method == NormalisationMethod::kDeferred) {
    HEFT_RETURN_IF_ERROR(SetDiagonal(*engine, gallery, &result.scores));
  }
  result.parameters = params.Describe();
  result.security = params.security().Describe();
  return result;
}

}  // namespace heft::paper
