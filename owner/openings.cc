// SPDX-License-Identifier: Apache-2.0
#include "heft/openings.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/inside.h"
#include "base/status.h"
#include "fusion/recovery_figures.h"
#include "heft/results.h"
#include "owner/budget_use.h"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

absl::Status CheckOne(const ReplyFile& reply, const ExpectedAnswer& expected,
                      const std::optional<Digest>& request) {
  const std::string what(reply.what);
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(reply.bytes, what));
  if (expected.gallery && file.statement.gallery != *expected.gallery) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": of another gallery, ", HexString(file.statement.gallery)));
  }
  if (!request || file.statement.request == *request) return absl::OkStatus();
  const std::string row =
      expected.row == kAllRows ? std::string("the mean") : absl::StrCat("row ", expected.row);
  const auto name = [](std::string* out, const SampleFile& f) { absl::StrAppend(out, f.name); };
  return absl::FailedPreconditionError(absl::StrCat(what, ": answers another request than ", row,
                                                    " of ",
                                                    absl::StrJoin(*expected.request, ", ", name)));
}

void AddWarning(const std::string& warning, Described* out) {
  if (!warning.empty()) out->warnings.push_back(warning);
}

// "face + voice".
std::string SetText(const std::vector<std::string>& modalities) {
  return absl::StrJoin(modalities, " + ");
}

// BoundTo: the subject of a decision: a claim or a search, its gallery and its rate.
template <typename Opened>
std::string BoundTo(const Opened& opened, const ChosenThreshold& at) {
  const bool verification = opened.kind == ScoreKind::kVerification;
  const std::string rate =
      at.rate == 0 ? std::string("no rate")
                   : absl::StrFormat("%s %g", at.of == RateOf::kSearches ? "FPIR" : "FMR", at.rate);
  return absl::StrFormat(
      " (%s gallery %s, %s, threshold %.3f for probes with %s)",
      verification ? absl::StrCat("claim of ", opened.claimed, " in") : std::string("search of"),
      HexString(opened.gallery_id), rate, at.score, SetText(opened.modalities));
}

const char* Verdict(bool accepted) { return accepted ? "accept" : "reject"; }

std::string CandidateText(const Candidate& candidate, size_t rank) {
  const std::string evidence =
      candidate.log_likelihood_ratio
          ? absl::StrFormat("  LLR %+7.2f", *candidate.log_likelihood_ratio)
          : std::string();
  return absl::StrFormat("%4d  %6.3f%s  %s  (scores left: %d)\n", rank, candidate.score, evidence,
                         candidate.identity, candidate.scores_left);
}

std::string NameOf(const ClientId& client) {
  return client == kUnlistedClient ? "unlisted" : HexString(client);
}

void AddClients(const BudgetUse& use, std::string* text) {
  for (const BudgetUse::Client& client : use.clients) {
    absl::StrAppend(text, "\nclient ", NameOf(client.client), ": ", client.openings, " openings, ",
                    client.slots, " slots published; may be told ", client.bits_left,
                    " bits now, all of ", ClientBits(use.limits, client.client), " from ",
                    UtcText(client.full_at), "; may be rejected ", client.rejections_left,
                    " times more about one person (the fewest of all)");
  }
}

void AddRestarts(const BudgetUse& use, std::string* text) {
  for (const BudgetUse::Restart& restart : use.restarts) {
    absl::StrAppend(text, "\nrestarted ", UtcText(restart.time), ": ", restart.reason);
  }
  if (use.restart_count > use.restarts.size()) {
    absl::StrAppend(text, "\nrestarted ", use.restart_count,
                    " times in all: those before are lost with their journals");
  }
}

std::string ScoresText(const Model& model, const BudgetUse& use) {
  if (use.limits.scores == 0) {
    return absl::StrFormat("scores: 0 of an identity (the one with the most has given %d): %s",
                           use.scores, WhyNoScores(model));
  }
  return absl::StrFormat(
      "scores: %d of an identity, for good, one client half of them; the one with the most has "
      "given %d. All of them tell a template to a cosine of at least %.2f",
      use.limits.scores, use.scores, use.reconstruction_cosine);
}

}  // namespace

absl::Status CheckAnswer(const Replies& replies, const ExpectedAnswer& expected) {
  std::optional<Digest> request;
  if (expected.request) {
    if (expected.request->empty()) {
      return absl::InvalidArgumentError("a request without files: give those that were sent");
    }
    std::vector<std::span<const uint8_t>> files;
    for (const SampleFile& file : *expected.request) files.emplace_back(file.bytes);
    request = RequestDigest(FilesDigest(files), expected.row);
  }
  if (!request && !expected.gallery) return absl::OkStatus();
  for (const ReplyFile& reply : replies.files) {
    HEFT_RETURN_IF_ERROR(CheckOne(reply, expected, request));
  }
  return absl::OkStatus();
}

std::string DescribeCost(const BudgetUse& use, uint32_t candidates) {
  return absl::StrFormat(
      "scores are published for good: each of up to %d candidates gives one of the %d that an "
      "identity may ever give (one client: %d), which tell a template to a cosine of at least "
      "%.2f; the "
      "identity with the most has given %d",
      candidates, use.limits.scores, Share(use.limits.scores), use.reconstruction_cosine,
      use.scores);
}

Described DescribeScores(const OpenedScores& opened,
                         const std::optional<ChosenThreshold>& threshold) {
  Described out{ToJson(opened)};
  AddWarning(opened.key_warning, &out);
  if (!opened.where.empty()) {
    absl::StrAppend(&out.text, "searched ", opened.searched, " templates",
                    RestrictionText(opened.where), "\n");
  }
  if (!opened.refusal.empty()) absl::StrAppend(&out.text, "refused: ", opened.refusal, "\n");
  if (threshold) {
    const bool accepted = opened.Decide(*threshold).accepted;
    AddWarning(threshold->warning, &out);
    out.json["threshold"] = ToJson(*threshold);
    out.json["accepted"] = accepted;
    absl::StrAppend(&out.text, Verdict(accepted), BoundTo(opened, *threshold), "\n");
  }
  for (size_t i = 0; i < opened.candidates.size(); ++i) {
    out.text += CandidateText(opened.candidates[i], i + 1);
  }
  if (opened.candidates.empty() && opened.refusal.empty()) out.text += "no candidates\n";
  if (opened.withheld > 0) {
    absl::StrAppend(&out.text, opened.withheld,
                    " more are not shown: their scores are spent (see heft budget)\n");
  }
  return out;
}

Described DescribeDecision(const Decision& decision) {
  Described out{ToJson(decision)};
  AddWarning(decision.key_warning, &out);
  AddWarning(decision.threshold.warning, &out);
  const std::string text = decision.accepted          ? absl::StrCat("accept ", decision.identity)
                           : decision.refusal.empty() ? "reject"
                                                      : absl::StrCat("reject: ", decision.refusal);
  out.text =
      absl::StrCat(text, RestrictionText(decision.where), BoundTo(decision, decision.threshold));
  return out;
}

Described DescribeBudget(const KeyOwner& owner, const BudgetUse& use) {
  Described out;
  const Model& model = Inside::Of(owner).model();
  const auto figures = FiguresOf(model);
  out.text = ScoresText(model, use);
  if (figures) {
    absl::StrAppend(&out.text, "\nmeasured on ", figures->people, " people: ", figures->Describe());
  }
  absl::StrAppendFormat(
      &out.text,
      "\naccepted decisions: %d on an identity a day, one client half of them; %d on the one with "
      "the most\n"
      "rejected claims: %d of an identity by one client; each accepted one gives one back, each "
      "day "
      "a sixteenth\n"
      "opened: %d identifications, %d verifications, %d of anything under this key; something is "
      "known of %d identities",
      use.limits.decisions, use.decisions, use.limits.rejections, use.identifications,
      use.verifications, use.openings, use.identities);
  if (use.most_proofs > 0) {
    absl::StrAppend(&out.text, "\nproofs of enrolments: ", use.proofs, " of ", use.most_proofs,
                    " opened, for which this key's noise suffices");
  }
  out.json = {{"key_id", HexString(owner.key_id())},
              {"model_id", HexString(model.Id())},
              {"journal", owner.journal_file()}};
  out.json.update(ToJson(use));
  if (figures) out.json["recovery"] = figures->ToJson();
  AddClients(use, &out.text);
  AddRestarts(use, &out.text);
  if (!use.successor) return out;
  absl::StrAppend(&out.text, "\nkey ", HexString(owner.key_id()),
                  " is revoked: ", HexString(*use.successor), " has taken its place");
  return out;
}

}  // namespace heft
