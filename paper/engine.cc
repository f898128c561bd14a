// SPDX-License-Identifier: Apache-2.0
#include "paper/engine.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/threads.h"
#include "ckks/encryptor.h"
#include "ckks/key_switch.h"

namespace heft::paper {

namespace {

using ckks::Ciphertext;

std::vector<std::vector<double>> Rows(const FeatureMatrix& matrix, std::size_t first,
                                      std::size_t count) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = first; i < first + count; ++i) {
    rows.emplace_back(matrix.row(i).begin(), matrix.row(i).end());
  }
  return rows;
}

// Matching of all pairs of packed templates. Position p of a gallery ciphertext is its slots
// [p gamma, (p + 1) gamma); a product of two rotations scores the template of each position with
// the one `shift` positions further on.
class AllPairs {
 public:
  AllPairs(const ckks::Params& params, uint32_t gamma)
      : gamma_(gamma), positions_(params.slots() / gamma) {
    while (baby_ * baby_ < positions_) baby_ *= 2;
  }

  KeyNeeds Needs(const ckks::Params& params, std::size_t limbs) const {
    KeyNeeds needs;
    for (uint32_t j = 1; j < baby_; ++j) needs.Rotation(params, int64_t{j} * gamma_, limbs);
    for (uint32_t k = 1; k < positions_ / baby_; ++k) {
      needs.Rotation(params, -int64_t{k} * baby_ * gamma_, limbs);
    }
    return needs;
  }

  // `gallery` as PackedMatcher::Pack made it of n templates.
  absl::StatusOr<FeatureMatrix> Score(const PaperEngine& engine, Progress& progress,
                                      std::span<const Ciphertext> gallery, std::size_t n,
                                      double* predicted) const {
    const PackedPlan& packing = *engine.plan().packing;
    FeatureMatrix scores = FeatureMatrix::Zero(n, n);
    std::vector<std::vector<int>> at(gallery.size(), std::vector<int>(positions_, -1));
    for (std::size_t i = 0; i < n; ++i) {
      const uint32_t slot = packing.Slot(static_cast<uint32_t>(i % packing.templates));
      at[i / packing.templates][slot / gamma_] = static_cast<int>(i);
    }
    for (std::size_t a = 0; a < gallery.size(); ++a) {
      for (std::size_t b = a; b < gallery.size(); ++b) {
        if (!progress.Update(a * gallery.size() + b, gallery.size() * gallery.size())) {
          return absl::CancelledError("interrupted");
        }
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
    const ckks::Params& params = engine.world->context->params();
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
      std::vector<absl::Status> statuses(meeting.size());
      std::vector<double> bounds(meeting.size());
      ParallelFor(meeting.size(), [&, step = giant_step, &steps = baby_steps](std::size_t i) {
        const auto product = engine.route->matcher().Match(giant, {&meeting[i], 1});
        statuses[i] = product.status();
        if (!product.ok()) return;
        // No pair of templates meets twice, so no score is written twice.
        Read(engine, (*product)[0], first, second, baby_ * step, steps[i], scores);
        bounds[i] = ckks::SlotErrorBound(params, (*product)[0].noise, (*product)[0].scale);
      });
      for (std::size_t i = 0; i < meeting.size(); ++i) {
        HEFT_RETURN_IF_ERROR(statuses[i]);
        *predicted = std::max(*predicted, bounds[i]);
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Ciphertext> Rotated(const PaperEngine& engine, const Ciphertext& g,
                                            int64_t steps) {
    if (steps == 0) return g;
    Ciphertext rotated;
    HEFT_RETURN_IF_ERROR(
        ckks::Rotate(*engine.world->context, &rotated, g, steps, engine.world->keys));
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

}  // namespace

void KeyedContext::MakeKeys(const KeyNeeds& needs) {
  keys.key_id = secret->key_id();
  if (needs.relinearisation_limbs > 0) {
    keys.relinearisation = ckks::SwitchKey(
        *context, ckks::MakeRelinearisationKey(*context, *secret, needs.relinearisation_limbs, rng),
        1);
  }
  std::vector<std::pair<uint32_t, std::size_t>> list(needs.galois_keys.begin(),
                                                     needs.galois_keys.end());
  std::vector<ckks::SwitchKey> made(list.size());
  ParallelFor(list.size(), [&](std::size_t i) {
    Csprng own;
    const auto [element, limbs] = list[i];
    made[i] = ckks::SwitchKey(*context, ckks::MakeGaloisKey(*context, *secret, element, limbs, own),
                              element);
  });
  for (std::size_t i = 0; i < list.size(); ++i) keys.galois[list[i].first] = std::move(made[i]);
}

absl::StatusOr<std::vector<Ciphertext>> KeyedContext::Encrypt(
    std::span<const ckks::Plaintext> plain) {
  std::vector<Ciphertext> encrypted;
  for (const ckks::Plaintext& p : plain) {
    encrypted.push_back(ckks::Encrypt(*context, p, public_key, rng));
  }
  return encrypted;
}

std::vector<ckks::Complex> KeyedContext::Open(const Ciphertext& ciphertext) const {
  return encoder->Decode(ckks::Decrypt(*context, ciphertext, *secret));
}

absl::StatusOr<std::unique_ptr<KeyedContext>> MakeKeyedContext(const std::string& profile) {
  HEFT_ASSIGN_OR_RETURN(const Profile found, FindProfile(profile));
  return MakeKeyedContext(found);
}

absl::StatusOr<std::unique_ptr<KeyedContext>> MakeKeyedContext(const Profile& profile) {
  auto world = std::make_unique<KeyedContext>();
  world->profile = profile;
  HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(world->profile.spec));
  world->context = std::make_shared<ckks::Context>(params);
  world->encoder = std::make_shared<ckks::Encoder>(world->context);
  HEFT_ASSIGN_OR_RETURN(world->secret, ckks::SecretKey::Generate(*world->context, world->rng));
  world->public_key = ckks::MakePublicKey(*world->context, *world->secret, world->rng);
  return world;
}

absl::StatusOr<std::vector<std::vector<Ciphertext>>> PaperEngine::EncryptBatch(
    const std::vector<FeatureMatrix>& modalities, std::size_t first, std::size_t count) {
  std::vector<std::vector<Ciphertext>> batch;
  for (std::size_t m = 0; m < modalities.size(); ++m) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<ckks::Plaintext> plain,
                          EncodeForProjection(*world->encoder, plan().projection, model, m,
                                              Rows(modalities[m], first, count)));
    HEFT_ASSIGN_OR_RETURN(batch.emplace_back(), world->Encrypt(plain));
  }
  return batch;
}

absl::StatusOr<std::unique_ptr<PaperEngine>> MakePaperEngine(const Model& model,
                                                             const NormalisationSpec& normalisation,
                                                             ProjectionMethod projection,
                                                             const KeyNeeds& more) {
  absl::Status last;
  for (const char* name : {"paper", "deep", "deepest"}) {
    HEFT_ASSIGN_OR_RETURN(const Profile profile, FindProfile(name));
    HEFT_ASSIGN_OR_RETURN(const ckks::Params params, ckks::Params::Create(profile.spec));
    auto plan = PlanPaperRoute(params, profile.scale, model, {projection, normalisation});
    last = plan.status();
    if (!plan.ok()) continue;
    auto engine = std::make_unique<PaperEngine>();
    engine->model = model;
    HEFT_ASSIGN_OR_RETURN(engine->world, MakeKeyedContext(name));
    KeyNeeds needs = plan->keys;
    needs.Merge(more);
    if (plan->packing) {
      const AllPairs all_pairs(params, plan->packing->gamma);
      needs.Merge(all_pairs.Needs(params, plan->packing->template_limbs - 1));
    }
    engine->world->MakeKeys(needs);
    HEFT_ASSIGN_OR_RETURN(PaperRoute route,
                          PaperRoute::Create(engine->world->context, *engine->world->encoder, *plan,
                                             engine->model, &engine->world->keys));
    engine->route = std::move(route);
    return engine;
  }
  return last;
}

absl::StatusOr<PaperScores> ScoreByPaperRoute(const Monitor& monitor, const std::string& name,
                                              const Model& model,
                                              const NormalisationSpec& normalisation,
                                              const std::vector<FeatureMatrix>& modalities) {
  Progress progress(monitor, absl::StrCat("encrypted: ", name));
  progress.Update(0, 1, "making keys");
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<PaperEngine> engine,
                        MakePaperEngine(model, normalisation));
  const std::size_t n = modalities[0].rows(), batch = engine->plan().projection.vectors;
  const std::size_t batches = (n + batch - 1) / batch;
  std::vector<Ciphertext> fused(batches);
  const std::size_t threads = static_cast<std::size_t>(ThreadCount());
  for (std::size_t start = 0; start < batches; start += threads) {
    const std::size_t portion = std::min(threads, batches - start);
    std::vector<std::vector<std::vector<Ciphertext>>> encrypted(portion);
    for (std::size_t i = 0; i < portion; ++i) {
      const std::size_t first = (start + i) * batch;
      HEFT_ASSIGN_OR_RETURN(encrypted[i],
                            engine->EncryptBatch(modalities, first, std::min(batch, n - first)));
    }
    std::vector<absl::Status> statuses(portion);
    ParallelFor(portion, [&](std::size_t i) {
      auto z = engine->route->Fuse(encrypted[i]);
      statuses[i] = z.status();
      if (z.ok()) fused[start + i] = std::move(z->z[0]);
    });
    for (const absl::Status& status : statuses) HEFT_RETURN_IF_ERROR(status);
    if (!progress.Update(start + portion, batches, "fusing")) {
      return absl::CancelledError("interrupted");
    }
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> gallery,
                        engine->route->matcher().Pack(fused));
  PaperScores result;
  const ckks::Params& params = engine->world->context->params();
  const AllPairs all_pairs(params, model.gamma);
  Progress matching(monitor, absl::StrCat("encrypted: ", name, ", matching"));
  HEFT_ASSIGN_OR_RETURN(result.scores,
                        all_pairs.Score(*engine, matching, gallery, n, &result.predicted_error));
  if (normalisation.method == NormalisationMethod::kDeferred) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> norms,
                          engine->route->matcher().SquaredNorms(gallery));
    const PackedPlan& packing = *engine->plan().packing;
    std::vector<ckks::Complex> slots;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % packing.templates == 0) slots = engine->world->Open(norms[i / packing.templates]);
      result.scores(i, i) =
          slots[packing.Slot(static_cast<uint32_t>(i % packing.templates))].real();
    }
  }
  result.parameters = params.Describe();
  result.security = params.security().Describe();
  return result;
}

}  // namespace heft::paper
