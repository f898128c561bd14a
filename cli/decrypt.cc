// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iostream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/secret_file.h"
#include "gallery/owner/key_owner.h"

namespace heft::cli {
namespace {

struct Options {
  std::string model, secret_key, passphrase_file, budget_file, in;
  size_t top = 10;
  std::optional<double> threshold, fmr;
  bool decision = false;
  std::optional<int> flood_bits;
  uint32_t flood_queries = kDefaultQueryBudget;
};

// Why the model's threshold for this FMR should not be relied on; empty if it may be.
std::string ThresholdWarning(const Model& model, const Options& options) {
  constexpr double kFalseMatchesNeeded = 30;  // evaluation/thresholds.h
  for (const DecisionThreshold& t : model.thresholds) {
    if (!options.fmr || std::abs(t.fmr - *options.fmr) > 1e-9 * t.fmr) continue;
    if (static_cast<double>(t.impostor_pairs) * t.fmr >= kFalseMatchesNeeded) return "";
    return absl::StrFormat(
        "the threshold for FMR %g rests on %d impostor comparisons; %.0f are needed to trust it",
        t.fmr, t.impostor_pairs, std::ceil(kFalseMatchesNeeded / t.fmr));
  }
  return "";
}

// The threshold asked for: given, or by name from the model; none where neither is.
absl::StatusOr<std::optional<double>> ChooseThreshold(const Model& model, const Options& options) {
  if (!options.fmr) {
    if (options.threshold && !std::isfinite(*options.threshold)) {
      return absl::InvalidArgumentError("--threshold is not a finite number");
    }
    return options.threshold;
  }
  std::vector<std::string> known;
  for (const DecisionThreshold& t : model.thresholds) {
    if (std::abs(t.fmr - *options.fmr) <= 1e-9 * t.fmr) return t.score;
    known.push_back(absl::StrCat(t.fmr));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the model has no threshold for FMR ", *options.fmr,
      "; it has: ", known.empty() ? "none" : absl::StrJoin(known, ", "), ". Use --threshold"));
}

const char* KindName(ScoreKind kind) {
  return kind == ScoreKind::kVerification ? "verification" : "identification";
}

// Accepted or not, and of whom: no score.
absl::Status PrintDecision(const Common& common, const KeyOwner& owner, ByteSpan scores,
                           const std::string& what, double threshold, const OpenOptions& open) {
  HEFT_ASSIGN_OR_RETURN(const Decision decision, owner.Decide(scores, what, threshold, open));
  Json json = {{"kind", KindName(decision.kind)}};
  if (!decision.probe.empty()) json["probe"] = decision.probe;
  if (decision.in_interval) json["norm_in_interval"] = *decision.in_interval;
  json["threshold"] = threshold;
  json["accept"] = decision.accepted;
  if (decision.accepted) json["identity"] = decision.identity;
  Print(common, json, decision.accepted ? absl::StrCat("accept ", decision.identity) : "reject");
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const std::optional<double> threshold, ChooseThreshold(model, options));
  if (options.decision && !threshold) {
    return absl::InvalidArgumentError("--decision needs --fmr or --threshold");
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> scores, ReadFile(options.in));
  HEFT_ASSIGN_OR_RETURN(const Instance instance, MakeInstance(model));
  HEFT_ASSIGN_OR_RETURN(ckks::SecretKey key, LoadSecretKey(*instance.context, options.secret_key,
                                                           options.passphrase_file));
  const std::string budget_path = BudgetPath(options.secret_key, options.budget_file);
  const bool fresh = !FileExists(budget_path);
  HEFT_ASSIGN_OR_RETURN(auto budget,
                        QueryBudget::Open(budget_path, instance.params().id(), key.key_id()));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner,
                        KeyOwner::Create(model, std::move(key), std::move(budget)));
  OpenOptions open;
  if (options.flood_bits) {
    open.flooding.emplace();
    open.flooding->security_bits = *options.flood_bits;
    open.flooding->queries = options.flood_queries;
  }
  if (options.decision) return PrintDecision(common, owner, scores, options.in, *threshold, open);
  HEFT_ASSIGN_OR_RETURN(const OpenedScores opened, owner.Open(scores, options.in, open));
  if (fresh && !common.quiet) {
    std::cerr << "heft: began a record of this key's queries: " << budget_path << "\n";
  }

  const bool verification = opened.kind == ScoreKind::kVerification;
  Json json = {{"kind", KindName(opened.kind)}};
  if (!opened.probe.empty()) json["probe"] = opened.probe;
  if (verification) json["claimed"] = opened.claimed;
  if (opened.in_interval) json["norm_in_interval"] = *opened.in_interval;
  if (threshold) json["threshold"] = *threshold;
  const std::string warning = ThresholdWarning(model, options);
  if (!warning.empty()) {
    json["threshold_warning"] = warning;
    if (!common.quiet) std::cerr << "heft: warning: " << warning << "\n";
  }
  const std::optional<ScoreCalibration>& calibration = model.calibration;
  std::string text;
  if (opened.in_interval && !*opened.in_interval) {
    absl::StrAppend(&text,
                    "WARNING: the probe's norm lies outside the model's interval; "
                    "its scores cannot be trusted\n");
  }
  const double best = opened.candidates.empty() ? -2 : opened.candidates[0].score;
  if (threshold) {
    // A probe outside the interval is never accepted: its score means nothing.
    const bool accept = best >= *threshold && opened.in_interval.value_or(true);
    json["accept"] = accept;
    absl::StrAppend(&text, accept ? "accept" : "reject",
                    absl::StrFormat(" (threshold %.3f)\n", *threshold));
  }
  json["candidates"] = Json::array();
  for (size_t i = 0; i < opened.candidates.size() && i < options.top; ++i) {
    const Candidate& c = opened.candidates[i];
    json["candidates"].push_back({{"rank", i + 1},
                                  {"identity", c.identity},
                                  {"score", std::round(c.score * 1000) / 1000},
                                  {"templates", c.templates}});
    std::string evidence;
    if (calibration) {
      // Of the rounded score: what is published must not tell more than it.
      const double ratio = std::round(100 * calibration->LogLikelihoodRatio(c.score)) / 100;
      json["candidates"].back()["log_likelihood_ratio"] = ratio;
      evidence = absl::StrFormat("  LLR %+7.2f", ratio);
    }
    absl::StrAppendFormat(&text, "%4d  %6.3f%s  %s\n", i + 1, c.score, evidence, c.identity);
  }
  if (opened.candidates.empty()) absl::StrAppend(&text, "no candidates\n");
  Print(common, json, text);
  return absl::OkStatus();
}

}  // namespace

void AddDecrypt(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "decrypt", "open encrypted scores: ranked candidates, or a decision (key owner)",
      "heft decrypt --model m.heft --secret-key secret.key --in scores.ct --fmr 1e-3",
      [options](const Common& common) { return Run(common, *options); });
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("--secret-key", &options->secret_key, "secret key").Required();
  command.Add("--passphrase-file", &options->passphrase_file,
              "first line: passphrase of the secret key");
  command.Add("-i,--in", &options->in, "encrypted scores").Required();
  command.Add("--top", &options->top, "candidates to show").ShowDefault();
  const Option threshold =
      command.Add("--threshold", &options->threshold, "accept at this score or above");
  command
      .Add("--fmr", &options->fmr,
           "accept at the model's threshold for this false match rate, e.g. 1e-3")
      .Excludes(threshold);
  command.Add("--decision", &options->decision,
              "print the decision alone, and no score: for what goes to others");
  command.Add("--budget-file", &options->budget_file,
              "record of queries (default: SECRET-KEY.budget; see heft budget)");
  const Option flood = command.Add("--flood-bits", &options->flood_bits,
                                   "decrypt with noise flooding for this statistical security, at "
                                   "least 30; refused where the profile has no room");
  command
      .Add("--flood-queries", &options->flood_queries,
           "decryptions that an adversary may see, for --flood-bits")
      .ShowDefault()
      .Needs(flood);
}

}  // namespace heft::cli
