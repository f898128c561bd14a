// SPDX-License-Identifier: Apache-2.0
#include "gallery/owner/key_owner.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/secure.h"
#include "fusion/key_files.h"

namespace heft {

double RoundScore(double score) {
  if (!std::isfinite(score)) return -2;
  // Cosines; a score far outside is a sign of a wrong gallery, not something to publish bit by bit.
  return std::round(std::clamp(score, -2.0, 2.0) / kScoreStep) * kScoreStep;
}

namespace {

// The file is not authenticated, and the scale decides what a score is: whoever changes it chooses
// the step to which we round. So it must be the plan's, and the ciphertext of the form that a
// server makes.
absl::Status CheckForm(const ckks::Ciphertext& c, size_t parts, size_t limbs, double scale,
                       std::string_view what) {
  if (c.size() == parts && c.limbs() == limbs && std::abs(c.scale - scale) <= 1e-6 * scale) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(std::string(what),
                                          ": a ciphertext that is not of the form of this model's "
                                          "scores (parts, limbs or scale)"));
}

absl::Status CheckForms(const Instance& instance, const EncryptedScores& scores,
                        std::string_view what) {
  const FusionPlan& plan = instance.plan;
  for (const ScoreReply& reply : scores.replies) {
    const bool degree_two = reply.scores.size() == 3;
    HEFT_RETURN_IF_ERROR(degree_two
                             ? CheckForm(reply.scores, 3, kMatchLimbs,
                                         plan.template_scale * plan.template_scale, what)
                             : CheckForm(reply.scores, 2, kScoreLimbs, plan.score_scale, what));
  }
  if (!scores.squared_norm) return absl::OkStatus();
  const double scale =
      plan.z_scale * plan.z_scale / instance.params().modulus(plan.z_limbs - 1).value();
  return CheckForm(*scores.squared_norm, 2, kMatchLimbs, scale, what);
}

}  // namespace

absl::StatusOr<KeyOwner> KeyOwner::Create(const Model& model, ckks::SecretKey key) {
  HEFT_ASSIGN_OR_RETURN(Instance instance, MakeInstance(model));
  return KeyOwner(model, std::move(instance), std::move(key));
}

std::vector<ckks::Complex> KeyOwner::OpenSlots(const ckks::Ciphertext& ciphertext) const {
  ckks::Plaintext plain = ckks::Decrypt(*instance_.context, ciphertext, key_);
  std::vector<ckks::Complex> slots = instance_.encoder->Decode(plain);
  SecureWipe(plain.poly.values().data(), plain.poly.values().size_bytes());
  return slots;
}

absl::StatusOr<OpenedScores> KeyOwner::Open(ByteSpan bytes, std::string_view what) const {
  const ckks::Context& context = *instance_.context;
  HEFT_ASSIGN_OR_RETURN(const EncryptedScores scores, ParseScores(context, bytes, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_.key_id(), scores.key_id, what));
  if (scores.model_id != model_.Id()) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": scores of another model"));
  }
  HEFT_RETURN_IF_ERROR(CheckForms(instance_, scores, what));
  OpenedScores out;
  out.kind = scores.kind;
  out.probe = scores.probe;
  out.claimed = scores.claimed;
  std::map<std::string, Candidate> best;
  for (const ScoreReply& reply : scores.replies) {
    std::vector<ckks::Complex> slots = OpenSlots(reply.scores);
    for (const ScoreReply::Answer& answer : reply.answers) {
      const ckks::Complex slot = slots[answer.slot];
      const double score = RoundScore(answer.lane == 0 ? slot.real() : slot.imag());
      const std::string identity = scores.identities.empty() ? absl::StrCat("#", answer.identity)
                                                             : scores.identities[answer.identity];
      auto [it, fresh] = best.try_emplace(identity, Candidate{identity, score, 0});
      it->second.score = std::max(it->second.score, score);
      ++it->second.templates;
    }
    SecureWipe(slots.data(), slots.size() * sizeof(slots[0]));
  }
  for (auto& [identity, candidate] : best) out.candidates.push_back(std::move(candidate));
  std::stable_sort(out.candidates.begin(), out.candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  if (scores.squared_norm) {
    std::vector<ckks::Complex> slots = OpenSlots(*scores.squared_norm);
    const Interval& interval = model_.approximation.interval;
    out.in_interval = interval.Contains(slots[0].real());
    SecureWipe(slots.data(), slots.size() * sizeof(slots[0]));
  }
  return out;
}

}  // namespace heft
