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

// The rate that was asked for, and where it may lie on new people.
void AddRate(const ChosenThreshold& threshold, Described* out) {
  out->json["threshold"] = threshold.score;
  if (!threshold.warning.empty()) out->warnings.push_back(threshold.warning);
  if (threshold.rate == 0) return;
  out->json[threshold.of == RateOf::kSearches ? "fpir" : "fmr"] = threshold.rate;
  out->json["interval"] = {threshold.interval.lo, threshold.interval.hi};
  if (!threshold.warning.empty()) out->json["threshold_warning"] = threshold.warning;
}

// "face + voice".
std::string SetText(const std::vector<std::string>& modalities) {
  return absl::StrJoin(modalities, " + ");
}

// BoundTo: what a decision is about: a claim or a search, of which gallery, at which rate.
template <typename Opened>
std::string BoundTo(const Opened& opened, const ChosenThreshold& at) {
  const bool verification = opened.kind == ScoreKind::kVerification;
  const std::string rate =
      at.rate == 0 ? std::string("no rate")
                   : absl::StrFormat("%s %g", at.of == RateOf::kSearches ? "FPIR" : "FMR", at.rate);
  return absl::StrFormat(
      " (%s gallery %s, %s, threshold %.3f for probes with %s)",
      verification ? absl::StrCat("claim of ", opened.claimed, " in") : std::string("search of"),
      HexString(opened.gallery), rate, at.score, SetText(opened.modalities));
}

// What decisions and scores have in common.
template <typename Opened>
Json Common(const Opened& opened) {
  const bool verification = opened.kind == ScoreKind::kVerification;
  Json json = {{"kind", verification ? "verification" : "identification"},
               {"gallery", HexString(opened.gallery)}};
  if (verification) json["claimed"] = opened.claimed;
  if (!opened.probe.empty()) json["probe"] = opened.probe;
  json["modalities"] = opened.modalities;
  if (!opened.refusal.empty()) json["refused"] = opened.refusal;
  AddWhereTo(&json, opened.where);
  if (!opened.key_warning.empty()) json["key_warning"] = opened.key_warning;
  return json;
}

void AddKeyWarning(const std::string& warning, Described* out) {
  if (!warning.empty()) out->warnings.push_back(warning);
}

void AddCandidate(const Candidate& candidate, size_t rank, Described* out) {
  Json json = {{"rank", rank},
               {"identity", candidate.identity},
               {"score", candidate.score},
               {"templates", candidate.templates},
               {"scores_left", candidate.scores_left}};
  std::string evidence;
  if (candidate.log_likelihood_ratio) {
    json["log_likelihood_ratio"] = *candidate.log_likelihood_ratio;
    evidence = absl::StrFormat("  LLR %+7.2f", *candidate.log_likelihood_ratio);
  }
  out->json["candidates"].push_back(std::move(json));
  absl::StrAppendFormat(&out->text, "%4d  %6.3f%s  %s  (scores left: %d)\n", rank, candidate.score,
                        evidence, candidate.identity, candidate.scores_left);
}

std::string NameOf(const ClientId& client) {
  return client == kUnlistedClient ? "unlisted" : HexString(client);
}

void AddClients(const BudgetUse& use, Described* out) {
  out->json["clients"] = Json::array();
  for (const BudgetUse::Client& client : use.clients) {
    out->json["clients"].push_back({{"client", NameOf(client.client)},
                                    {"openings", client.openings},
                                    {"slots", client.slots},
                                    {"bits_left", client.bits},
                                    {"full_at", client.full_at},
                                    {"rejections_left", client.rejections}});
    absl::StrAppend(&out->text, "\nclient ", NameOf(client.client), ": ", client.openings,
                    " openings, ", client.slots, " slots published; may be told ", client.bits,
                    " bits now, all of ", ClientBits(use.limits, client.client), " from ",
                    UtcText(client.full_at), "; may be rejected ", client.rejections,
                    " times more about one person (the fewest of all)");
  }
}

void AddRestarts(const BudgetUse& use, Described* out) {
  out->json["restarts"] = Json::array();
  for (const BudgetUse::Restart& restart : use.restarts) {
    out->json["restarts"].push_back({{"time", restart.time}, {"reason", restart.reason}});
    absl::StrAppend(&out->text, "\nrestarted ", UtcText(restart.time), ": ", restart.reason);
  }
  if (use.restart_count > use.restarts.size()) {
    absl::StrAppend(&out->text, "\nrestarted ", use.restart_count,
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
  Described out{Common(opened)};
  AddKeyWarning(opened.key_warning, &out);
  if (opened.kind == ScoreKind::kIdentification) out.json["searched"] = opened.searched;
  if (!opened.where.empty()) {
    absl::StrAppend(&out.text, "searched ", opened.searched, " templates",
                    RestrictionText(opened.where), "\n");
  }
  if (!opened.refusal.empty()) absl::StrAppend(&out.text, "refused: ", opened.refusal, "\n");
  if (threshold) {
    AddRate(*threshold, &out);
    const std::string verdict = opened.Decide(*threshold).Verdict();
    out.json["decision"] = verdict;
    absl::StrAppend(&out.text, verdict, BoundTo(opened, *threshold), "\n");
  }
  out.json["candidates"] = Json::array();
  for (size_t i = 0; i < opened.candidates.size(); ++i) {
    AddCandidate(opened.candidates[i], i + 1, &out);
  }
  if (opened.candidates.empty() && opened.refusal.empty()) out.text += "no candidates\n";
  if (opened.withheld > 0) {
    out.json["withheld"] = opened.withheld;
    absl::StrAppend(&out.text, opened.withheld,
                    " more are not shown: their scores are spent (see heft budget)\n");
  }
  return out;
}

Described DescribeDecision(const Decision& decision) {
  Described out{Common(decision)};
  AddKeyWarning(decision.key_warning, &out);
  AddRate(decision.at, &out);
  out.json["decision"] = decision.Verdict();
  if (decision.accepted) out.json["identity"] = decision.identity;
  const std::string text = decision.accepted          ? absl::StrCat("accept ", decision.identity)
                           : decision.refusal.empty() ? "reject"
                                                      : absl::StrCat("reject: ", decision.refusal);
  out.text = absl::StrCat(text, RestrictionText(decision.where), BoundTo(decision, decision.at));
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
  out.json = {{"key_id", HexString(owner.key_id())},
              {"model_id", HexString(model.Id())},
              {"journal", owner.journal_file()},
              {"limits",
               {{"scores", use.limits.scores},
                {"decisions", use.limits.decisions},
                {"client_bits", use.limits.client_bits},
                {"rejections", use.limits.rejections}}},
              {"scores", use.scores},
              {"decisions", use.decisions},
              {"reconstruction_cosine", use.reconstruction_cosine},
              {"identifications", use.identifications},
              {"verifications", use.verifications},
              {"openings_under_key", use.openings},
              {"key_bits", use.key_bits},
              {"most_key_bits", use.most_key_bits},
              {"identities", use.identities},
              {"gallery", HexString(use.gallery)},
              {"entries", use.entries},
              {"last_entry", use.last_entry},
              {"restart_count", use.restart_count},
              {"revoked", use.successor.has_value()}};
  if (figures) out.json["recovery"] = figures->ToJson();
  AddClients(use, &out);
  AddRestarts(use, &out);
  if (!use.successor) return out;
  out.json["successor"] = HexString(*use.successor);
  absl::StrAppend(&out.text, "\nkey ", HexString(owner.key_id()),
                  " is revoked: ", HexString(*use.successor), " has taken its place");
  return out;
}

}  // namespace heft
