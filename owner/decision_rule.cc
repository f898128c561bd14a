// SPDX-License-Identifier: Apache-2.0
// The threshold that a rule means for a reply, or for those of all buckets of a gallery.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

// How many people answer a search, and with how many templates at most. An empty answer counts as
// one person: no threshold can accept anybody then.
struct Searched {
  uint64_t people = 1;
  uint32_t templates = 1;
};

Searched Count(const std::vector<ReadReply>& replies, const std::optional<Canaries>& canaries,
               const std::string& besides) {
  uint64_t unnamed = 0;  // each its own
  absl::flat_hash_map<std::string_view, uint32_t> templates;
  Searched out;
  for (const ReadReply& reply : replies) {
    const EncryptedScores& scores = reply.scores;
    if (scores.identities.empty()) unnamed += scores.AnsweringTemplates();
    for (const std::string& identity : scores.identities) {
      if (identity.empty() || identity == besides) continue;
      if (canaries && canaries->Names(identity)) continue;
      out.templates = std::max(out.templates, ++templates[identity]);
    }
  }
  out.people = std::max<uint64_t>(unnamed + templates.size(), 1);
  return out;
}

// Restricted: by conditions. A place that was removed or has expired restricts too, and is no
// choice of the client.
bool Restricted(const std::vector<ReadReply>& replies) {
  return std::ranges::any_of(replies, [](const ReadReply& reply) {
    return reply.scores.restriction && !reply.scores.restriction->where.empty();
  });
}

absl::Status CheckRule(const DecisionRule& rule) {
  if (rule.score.has_value() == (rule.fmr || rule.fpir)) {
    return absl::InvalidArgumentError(
        "a decision is by a score, or by an FMR, an FPIR or both, each for what it is of");
  }
  if (rule.score && std::isnan(*rule.score)) {
    return absl::InvalidArgumentError("the score to reach is not a number: give a cosine");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> KeyOwner::Impl::FewAsked(const std::vector<ReadReply>& replies,
                                                  const std::string& besides) const {
  if (!Restricted(replies)) return {};
  std::set<std::string> few;
  for (const ReadReply& reply : replies) {
    for (const ScoreReply& block : reply.scores.replies) {
      for (const ScoreReply::Answer& answer : block.answers) {
        const std::string name = reply.scores.identities.empty()
                                     ? PositionName(reply.bucket, answer.identity)
                                     : reply.scores.identities[answer.identity];
        if (name != besides && !(canaries_ && canaries_->Names(name))) few.insert(name);
        if (few.size() >= kFewPeople) return {};
      }
    }
  }
  return {few.begin(), few.end()};
}

absl::StatusOr<ChosenThreshold> KeyOwner::Impl::ThresholdFor(const Replies& replies,
                                                             const DecisionRule& rule) const {
  HEFT_RETURN_IF_ERROR(CheckRule(rule));
  if (rule.score) return ChosenThreshold{*rule.score};
  HEFT_ASSIGN_OR_RETURN(const std::vector<TrustedReply> trusted, CheckReplies(replies));
  HEFT_ASSIGN_OR_RETURN(const std::vector<ReadReply> read, Read(replies, trusted));
  return ThresholdOf(read, rule);
}

absl::Status KeyOwner::Impl::CheckDecidable(const EncryptedScores& scores, std::string_view name,
                                            const DecisionRule& rule) const {
  HEFT_RETURN_IF_ERROR(CheckRule(rule));
  const std::string what(name);
  const bool verification = scores.kind == ScoreKind::kVerification;
  const uint32_t set = scores.modalities;
  if (rule.others && (verification || scores.probe.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, verification
                  ? ": a verification is of the claimed identity alone: there are no others"
                  : ": the probe has no label, so nobody knows who the others are: encrypt "
                    "with --labels"));
  }
  if (rule.likelihood) {
    HEFT_ASSIGN_OR_RETURN(const DecisionTable* table, model_.TableFor(set));
    if (!table->calibration) {
      return absl::FailedPreconditionError(
          "the decision table of these modalities has no calibration, so it does not say how "
          "likely: decide without likelihood");
    }
  }
  if (rule.score) return absl::OkStatus();
  if (verification && rule.fmr) return model_.ThresholdFor(*rule.fmr, set).status();
  if (!verification && !rule.fpir) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": a search compares with everybody, so a false match rate ",
        "of one comparison says nothing of it: give the rate of searches by strangers ",
        "that may name somebody, --fpir"));
  }
  if (verification) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": a verification is one comparison: give its false match rate, --fmr"));
  }
  return model_.TableFor(set).status();
}

absl::StatusOr<ChosenThreshold> KeyOwner::Impl::ThresholdOf(const std::vector<ReadReply>& replies,
                                                            const DecisionRule& rule) const {
  const EncryptedScores& first = replies[0].scores;  // of the kind and set of all (CheckComplete)
  HEFT_RETURN_IF_ERROR(CheckDecidable(first, replies[0].what, rule));
  if (rule.score) return ChosenThreshold{*rule.score};
  const uint32_t set = first.modalities;
  if (first.kind == ScoreKind::kVerification) return model_.ThresholdFor(*rule.fmr, set);
  const Searched searched = Count(replies, canaries_, rule.others ? first.probe : std::string());
  const bool restricted = Restricted(replies);
  if (restricted && !rule.fmr && searched.people < kFewPeople) {
    return absl::FailedPreconditionError(absl::StrCat(
        std::string(replies[0].what),
        ": the conditions of this search, which its client chose, leave fewer than ", kFewPeople,
        " people, who are as good as claimed: give --fmr too, the false match rate of "
        "a claim; the stricter of both decides"));
  }
  HEFT_ASSIGN_OR_RETURN(
      ChosenThreshold chosen,
      model_.ThresholdForSearch(*rule.fpir, searched.people, searched.templates, set));
  if (!restricted || !rule.fmr) return chosen;
  HEFT_ASSIGN_OR_RETURN(const ChosenThreshold claim, model_.ThresholdFor(*rule.fmr, set));
  if (claim.score > chosen.score) {
    chosen.score = claim.score;
    chosen.warning = claim.warning;
  }
  return chosen;
}

}  // namespace heft
