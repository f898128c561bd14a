// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iostream>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/key_options.h"
#include "cli/trust_options.h"

namespace heft::cli {
namespace {

struct Options {
  KeyOptions key;
  std::string in;
  uint32_t top = kPublishedCandidates;
  bool beyond_cap = false;
  std::optional<double> threshold, fmr;
  bool decision = false;
  std::optional<int> flood_bits;
  Flooding flooding;
  TrustOptions trust;
  std::vector<std::string> request;
  uint64_t row = 0;
  std::string gallery;
  bool signed_gallery = false;
};

// What the reply says of itself must be what is asked for: the answer to these files, of this
// gallery. Its signature is checked when it is opened.
absl::Status CheckStatement(const Options& options, std::span<const uint8_t> reply) {
  if (options.request.empty() && options.gallery.empty()) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(reply, options.in));
  if (!options.gallery.empty()) {
    HEFT_ASSIGN_OR_RETURN(const GalleryId id, ParseGalleryId(options.gallery));
    if (file.statement.gallery != id) {
      return absl::FailedPreconditionError(
          absl::StrCat(options.in, ": of another gallery, ", HexString(file.statement.gallery)));
    }
  }
  if (options.request.empty()) return absl::OkStatus();
  std::vector<std::vector<uint8_t>> files;
  for (const std::string& path : options.request) {
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(path, kMaxSamplesSize));
    files.push_back(std::move(bytes));
  }
  const std::vector<std::span<const uint8_t>> views(files.begin(), files.end());
  if (file.statement.request == RequestDigest(FilesDigest(views), options.row)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(options.in, ": answers another request than row ", options.row, " of ",
                   absl::StrJoin(options.request, ", ")));
}

// The key owner, who takes replies of trusted servers alone.
absl::StatusOr<KeyOwner> LoadStrictOwner(const Model& model, const Options& options,
                                         std::optional<Trust> trust) {
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  if (trust) HEFT_RETURN_IF_ERROR(owner.RequireSigned(*std::move(trust)));
  if (options.signed_gallery) owner.RequireSignedGallery();
  return owner;
}

// The threshold asked for: given, or the model's; none where neither is.
absl::StatusOr<std::optional<ChosenThreshold>> Choose(const Model& model, const Options& options) {
  if (options.fmr) return model.ThresholdFor(*options.fmr);
  if (!options.threshold) return std::nullopt;
  return ChosenThreshold{*options.threshold, ""};
}

// What decisions and scores have in common.
template <typename Opened>
Json Describe(const Opened& opened, const std::optional<ChosenThreshold>& threshold) {
  const bool verification = opened.kind == ScoreKind::kVerification;
  Json json = {{"kind", verification ? "verification" : "identification"}};
  if (!opened.probe.empty()) json["probe"] = opened.probe;
  if (!opened.refusal.empty()) json["refused"] = opened.refusal;
  if (threshold) json["threshold"] = threshold->score;
  return json;
}

// Accepted or not, and of whom: no score.
void PrintDecision(const Common& common, const Decision& decision,
                   const ChosenThreshold& threshold) {
  Json json = Describe(decision, threshold);
  json["accept"] = decision.accepted;
  if (decision.accepted) json["identity"] = decision.identity;
  Print(common, json,
        decision.accepted          ? absl::StrCat("accept ", decision.identity)
        : decision.refusal.empty() ? "reject"
                                   : absl::StrCat("reject: ", decision.refusal));
}

void PrintScores(const Common& common, const OpenedScores& opened,
                 const std::optional<ChosenThreshold>& threshold) {
  Json json = Describe(opened, threshold);
  if (opened.kind == ScoreKind::kVerification) json["claimed"] = opened.claimed;
  std::string text;
  if (!opened.refusal.empty()) absl::StrAppend(&text, "refused: ", opened.refusal, "\n");
  if (threshold) {
    if (!threshold->warning.empty()) json["threshold_warning"] = threshold->warning;
    const bool accept = opened.Decide(threshold->score).accepted;
    json["accept"] = accept;
    absl::StrAppend(&text, accept ? "accept" : "reject",
                    absl::StrFormat(" (threshold %.3f)\n", threshold->score));
  }
  json["candidates"] = Json::array();
  for (size_t i = 0; i < opened.candidates.size(); ++i) {
    const Candidate& c = opened.candidates[i];
    json["candidates"].push_back({{"rank", i + 1},
                                  {"identity", c.identity},
                                  {"score", std::round(c.score * 1000) / 1000},
                                  {"templates", c.templates}});
    std::string evidence;
    if (c.log_likelihood_ratio) {
      json["candidates"].back()["log_likelihood_ratio"] = *c.log_likelihood_ratio;
      evidence = absl::StrFormat("  LLR %+7.2f", *c.log_likelihood_ratio);
    }
    absl::StrAppendFormat(&text, "%4d  %6.3f%s  %s\n", i + 1, c.score, evidence, c.identity);
  }
  if (opened.candidates.empty() && opened.refusal.empty())
    absl::StrAppend(&text, "no candidates\n");
  if (opened.withheld > 0) {
    json["withheld"] = opened.withheld;
    absl::StrAppend(&text, opened.withheld,
                    " more are not shown: their scores are spent (see heft budget)\n");
  }
  Print(common, json, text);
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(auto trust, LoadTrust(options.trust, options.key.secret_key));
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadTrustedModel(options.key.model, trust));
  HEFT_ASSIGN_OR_RETURN(const auto threshold, Choose(model, options));
  if (options.decision && !threshold) {
    return absl::InvalidArgumentError("--decision needs --fmr or --threshold");
  }
  if (options.top > kPublishedCandidates && !options.beyond_cap) {
    return absl::InvalidArgumentError(
        absl::StrCat("--top ", options.top, ": at most ", kPublishedCandidates,
                     " candidates are published, as each of them gives a score away for good; "
                     "--beyond-cap if you mean it"));
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> scores, ReadFile(options.in, kMaxReplySize));
  HEFT_RETURN_IF_ERROR(CheckStatement(options, scores));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadStrictOwner(model, options, std::move(trust)));
  std::optional<Flooding> flooding;
  if (options.flood_bits) flooding = {*options.flood_bits, options.flooding.openings};
  if (options.decision) {
    HEFT_ASSIGN_OR_RETURN(const Decision decision,
                          owner.Decide(scores, options.in, threshold->score, flooding));
    PrintDecision(common, decision, *threshold);
    return absl::OkStatus();
  }
  HEFT_ASSIGN_OR_RETURN(const OpenedScores opened,
                        owner.Open(scores, options.in, flooding, options.top));
  if (threshold && !threshold->warning.empty() && !common.quiet) {
    std::cerr << "heft: warning: " << threshold->warning << "\n";
  }
  PrintScores(common, opened, threshold);
  return absl::OkStatus();
}

}  // namespace

void AddDecrypt(Command app) {
  auto options = std::make_shared<Options>();
  const Command command = AddCommand(
      app, "decrypt", "open encrypted scores: ranked candidates, or a decision (key owner)",
      "heft decrypt --model m.heft --secret-key secret.key --in scores.ct --fmr 1e-3",
      [options](const Common& common) { return Run(common, *options); });
  AddKeyOptions(command, &options->key, "secret key");
  command.Add("-i,--in", &options->in, "encrypted scores").Required();
  AddTrustOptions(command, &options->trust, "the secret key");
  const Option request =
      command.Add("--request", &options->request,
                  "the encrypted samples that were sent: refuse a reply to anything else");
  command.Add("--row", &options->row, "which sample of them, from 0").ShowDefault().Needs(request);
  command.Add("--gallery-id", &options->gallery, "refuse a reply of any other gallery");
  command.Add("--signed-gallery", &options->signed_gallery,
              "refuse a reply of a gallery's state that was not signed (heft admit)");
  command.Add("--top", &options->top, "candidates to publish; each is charged a score")
      .Range(1, std::numeric_limits<uint32_t>::max())
      .ShowDefault();
  command.Add("--beyond-cap", &options->beyond_cap,
              absl::StrCat("publish more than ", kPublishedCandidates, " candidates"));
  const Option threshold =
      command.Add("--threshold", &options->threshold, "accept at this score or above").Range(-2, 2);
  command
      .Add("--fmr", &options->fmr,
           "accept at the model's threshold for this false match rate, e.g. 1e-3")
      .Range(0, 1)
      .Excludes(threshold);
  command.Add("--decision", &options->decision,
              "print the decision alone, and no score: for what goes to others");
  const Option flood = command
                           .Add("--flood-bits", &options->flood_bits,
                                "decrypt with noise flooding for this statistical security: 30 "
                                "with a model of profile flooded, in any case; refused where "
                                "there is no room")
                           .Range(30, 256);
  command
      .Add("--flood-openings", &options->flooding.openings,
           "replies that may be opened under this key, for --flood-bits; more are refused")
      .Range(1, std::numeric_limits<uint32_t>::max())
      .ShowDefault()
      .Needs(flood);
}

}  // namespace heft::cli
