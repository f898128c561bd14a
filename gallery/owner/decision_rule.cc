// SPDX-License-Identifier: Apache-2.0
// The threshold that a rule means for a reply.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/signed_file.h"
#include "gallery/owner/key_owner_impl.h"

namespace heft {
namespace {

// How many people answer a search, and with how many templates at most. Where nobody does it is as
// for one: nobody can be accepted, whatever the threshold.
struct Searched {
  uint64_t people = 1;
  uint32_t templates = 1;
};

Searched Count(const EncryptedScores& scores, const std::optional<Canaries>& canaries) {
  Searched out;
  // Each its own, without a name.
  if (scores.identities.empty()) return {std::max<uint64_t>(scores.AnsweringTemplates(), 1), 1};
  std::map<std::string_view, uint32_t> templates;
  for (const std::string& identity : scores.identities) {
    if (identity.empty() || (canaries && canaries->Names(identity))) continue;
    out.templates = std::max(out.templates, ++templates[identity]);
  }
  out.people = std::max<uint64_t>(templates.size(), 1);
  return out;
}

}  // namespace

absl::StatusOr<ChosenThreshold> KeyOwner::Impl::ThresholdFor(ByteSpan bytes, std::string_view what,
                                                             const DecisionRule& rule) const {
  if (rule.score.has_value() == (rule.fmr || rule.fpir)) {
    return absl::InvalidArgumentError(
        "a decision is by a score, or by an FMR, an FPIR or both, each for what it is of");
  }
  if (rule.score && std::isnan(*rule.score)) {
    return absl::InvalidArgumentError("the score to reach is not a number: give a cosine");
  }
  if (rule.score) return ChosenThreshold{*rule.score};
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  HEFT_ASSIGN_OR_RETURN(const EncryptedScores scores,
                        ParseScores(*instance().context, bytes, what));
  const bool verification = scores.kind == ScoreKind::kVerification;
  if (verification && rule.fmr) return model_.ThresholdFor(*rule.fmr);
  if (!verification && !rule.fpir) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(what), ": a search compares with everybody, so a false match rate ",
        "of one comparison says nothing of it: give the rate of searches by strangers ",
        "that may name somebody, --fpir"));
  }
  if (verification) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(what), ": a verification is one comparison: give its false match rate, --fmr"));
  }
  const Searched searched = Count(scores, canaries_);
  return model_.ThresholdForSearch(*rule.fpir, searched.people, searched.templates);
}

}  // namespace heft
