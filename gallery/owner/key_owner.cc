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
  // Cosines; a score far outside is a sign of a wrong gallery, not something to publish bit by bit.
  return std::round(std::clamp(score, -2.0, 2.0) / kScoreStep) * kScoreStep;
}

absl::StatusOr<KeyOwner> KeyOwner::Create(const Model& model, ckks::SecretKey key) {
  HEFT_ASSIGN_OR_RETURN(Instance instance, MakeInstance(model));
  return KeyOwner(model, std::move(instance), std::move(key));
}

absl::StatusOr<OpenedScores> KeyOwner::Open(ByteSpan bytes, std::string_view what) const {
  const ckks::Context& context = *instance_.context;
  HEFT_ASSIGN_OR_RETURN(const EncryptedScores scores, ParseScores(context, bytes, what));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_.key_id(), scores.key_id, what));
  if (scores.model_id != model_.Id()) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(what), ": scores of another model"));
  }
  OpenedScores out;
  out.kind = scores.kind;
  out.probe = scores.probe;
  out.claimed = scores.claimed;
  std::map<std::string, Candidate> best;
  for (const ScoreReply& reply : scores.replies) {
    std::vector<ckks::Complex> slots =
        instance_.encoder->Decode(ckks::Decrypt(context, reply.scores, key_));
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
    std::vector<ckks::Complex> slots =
        instance_.encoder->Decode(ckks::Decrypt(context, *scores.squared_norm, key_));
    const Interval& interval = model_.approximation.interval;
    out.in_interval = interval.Contains(slots[0].real());
    SecureWipe(slots.data(), slots.size() * sizeof(slots[0]));
  }
  return out;
}

}  // namespace heft
