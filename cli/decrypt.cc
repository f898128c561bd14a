// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands.h"
#include "heft/server.h"
#include "program/common.h"
#include "program/metadata_options.h"
#include "program/owner/key_options.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct Options {
  KeyOptions key;
  std::vector<std::string> in;
  std::string shards;
  uint32_t top = kPublishedCandidates;
  bool beyond_cap = false;
  DecisionRule rule;
  bool decision = false;
  std::optional<int> flood_bits;
  Flooding flooding;
  TrustOptions trust;
  std::vector<std::string> request;
  uint64_t row = 0;
  std::string gallery;
  bool average = false;
  bool signed_gallery = false;
};

// Given: the replies, and of which gallery's buckets they are to be the whole, if of any.
struct Given {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<ReplyFile> files;
  std::optional<ShardList> shards;
};

absl::StatusOr<Given> ReadReplies(const Options& options) {
  Given given;
  if (!options.shards.empty()) {
    HEFT_ASSIGN_OR_RETURN(given.shards, ShardList::Load(options.shards));
  } else if (options.in.size() > 1) {
    return absl::InvalidArgumentError(
        "one reply at a time: several are those of a gallery's buckets, of which --shards tells");
  }
  HEFT_ASSIGN_OR_RETURN(given.bytes, ReadFiles(options.in, kMaxReplySize));
  for (size_t i = 0; i < options.in.size(); ++i) {
    given.files.push_back({given.bytes[i], options.in[i]});
  }
  return given;
}

// What a reply says of itself must be what is asked for: the answer to these files, of this
// gallery. Its signature is checked when it is opened.
absl::Status CheckStatement(const Options& options, const ReplyFile& reply) {
  if (options.request.empty() && options.gallery.empty()) return absl::OkStatus();
  const std::string in(reply.what);
  HEFT_ASSIGN_OR_RETURN(const SignedFile file, ReadSigned(reply.bytes, in));
  if (!options.gallery.empty()) {
    HEFT_ASSIGN_OR_RETURN(const GalleryId id, ParseGalleryId(options.gallery));
    if (file.statement.gallery != id) {
      return absl::FailedPreconditionError(
          absl::StrCat(in, ": of another gallery, ", HexString(file.statement.gallery)));
    }
  }
  if (options.request.empty()) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const auto files, ReadFiles(options.request, kMaxSamplesSize));
  const std::vector<std::span<const uint8_t>> views(files.begin(), files.end());
  const uint64_t row = options.average ? kAllRows : options.row;
  if (file.statement.request == RequestDigest(FilesDigest(views), row)) return absl::OkStatus();
  const std::string what = options.average ? "the mean" : absl::StrCat("row ", options.row);
  return absl::FailedPreconditionError(absl::StrCat(in, ": answers another request than ", what,
                                                    " of ", absl::StrJoin(options.request, ", ")));
}

// The key owner, who takes replies of trusted servers alone.
absl::StatusOr<KeyOwner> LoadStrictOwner(const Model& model, const Options& options,
                                         std::optional<Trust> trust) {
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  if (trust) HEFT_RETURN_IF_ERROR(owner.RequireSigned(*std::move(trust)));
  if (options.signed_gallery) owner.RequireSignedGallery();
  return owner;
}

bool HasRule(const DecisionRule& rule) { return rule.score || rule.fmr || rule.fpir; }

void Warn(const Common& common, const ChosenThreshold& threshold) {
  if (!threshold.warning.empty()) Warn(common, threshold.warning);
}

// The rate that was asked for, and where it may lie on new people.
void DescribeRate(const DecisionRule& rule, const ChosenThreshold& threshold, Json* json) {
  (*json)["threshold"] = threshold.score;
  if (threshold.rate == 0) return;
  (*json)[rule.fpir ? "fpir" : "fmr"] = threshold.rate;
  (*json)["interval"] = {threshold.interval.lo, threshold.interval.hi};
  if (!threshold.warning.empty()) (*json)["threshold_warning"] = threshold.warning;
}

// What decisions and scores have in common.
template <typename Opened>
Json Describe(const Opened& opened) {
  const bool verification = opened.kind == ScoreKind::kVerification;
  Json json = {{"kind", verification ? "verification" : "identification"}};
  if (!opened.probe.empty()) json["probe"] = opened.probe;
  if (!opened.refusal.empty()) json["refused"] = opened.refusal;
  AddWhereTo(&json, opened.where);
  return json;
}

// Accepted or not, and of whom: no score.
void PrintDecision(const Common& common, const Decision& decision, const DecisionRule& rule) {
  Json json = Describe(decision);
  DescribeRate(rule, decision.at, &json);
  json["accept"] = decision.accepted;
  if (decision.accepted) json["identity"] = decision.identity;
  const std::string text = decision.accepted          ? absl::StrCat("accept ", decision.identity)
                           : decision.refusal.empty() ? "reject"
                                                      : absl::StrCat("reject: ", decision.refusal);
  Print(common, json, absl::StrCat(text, RestrictionText(decision.where)));
}

void PrintScores(const Common& common, const OpenedScores& opened, const DecisionRule& rule,
                 const std::optional<ChosenThreshold>& threshold) {
  Json json = Describe(opened);
  const bool verification = opened.kind == ScoreKind::kVerification;
  if (verification) json["claimed"] = opened.claimed;
  std::string text;
  if (!verification) json["searched"] = opened.searched;
  if (!opened.where.empty()) {
    absl::StrAppend(&text, "searched ", opened.searched, " templates",
                    RestrictionText(opened.where), "\n");
  }
  if (!opened.refusal.empty()) absl::StrAppend(&text, "refused: ", opened.refusal, "\n");
  if (threshold) {
    DescribeRate(rule, *threshold, &json);
    const bool accept = opened.Decide(*threshold).accepted;
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

// One reply, or those of all buckets.
absl::StatusOr<Decision> Decide(const KeyOwner& owner, const Given& given, const DecisionRule& rule,
                                const std::optional<Flooding>& flooding) {
  return given.shards ? owner.DecideShards(*given.shards, given.files, rule, flooding)
                      : owner.Decide(given.files[0].bytes, given.files[0].what, rule, flooding);
}
absl::StatusOr<ChosenThreshold> ThresholdFor(const KeyOwner& owner, const Given& given,
                                             const DecisionRule& rule) {
  return given.shards ? owner.ThresholdForShards(*given.shards, given.files, rule)
                      : owner.ThresholdFor(given.files[0].bytes, given.files[0].what, rule);
}
absl::StatusOr<OpenedScores> Open(const KeyOwner& owner, const Given& given,
                                  const std::optional<Flooding>& flooding, uint32_t top) {
  return given.shards ? owner.OpenShards(*given.shards, given.files, flooding, top)
                      : owner.Open(given.files[0].bytes, given.files[0].what, flooding, top);
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(auto trust, LoadTrust(options.trust, options.key.secret_key));
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadTrustedModel(options.key.model, trust));
  if (options.decision && !HasRule(options.rule)) {
    return absl::InvalidArgumentError("--decision needs --fmr, --fpir or --threshold");
  }
  if (options.top > kPublishedCandidates && !options.beyond_cap) {
    return absl::InvalidArgumentError(
        absl::StrCat("--top ", options.top, ": at most ", kPublishedCandidates,
                     " candidates are published, as each of them gives a score away for good; "
                     "--beyond-cap if you mean it"));
  }
  HEFT_ASSIGN_OR_RETURN(const Given given, ReadReplies(options));
  for (const ReplyFile& reply : given.files) {
    HEFT_RETURN_IF_ERROR(CheckStatement(options, reply));
  }
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadStrictOwner(model, options, std::move(trust)));
  std::optional<Flooding> flooding;
  if (options.flood_bits) flooding = {*options.flood_bits, options.flooding.openings};
  if (options.decision) {
    HEFT_ASSIGN_OR_RETURN(const Decision decision, Decide(owner, given, options.rule, flooding));
    Warn(common, decision.at);
    PrintDecision(common, decision, options.rule);
    return absl::OkStatus();
  }
  std::optional<ChosenThreshold> threshold;
  if (HasRule(options.rule)) {
    HEFT_ASSIGN_OR_RETURN(threshold, ThresholdFor(owner, given, options.rule));
  }
  HEFT_ASSIGN_OR_RETURN(const OpenedScores opened, Open(owner, given, flooding, options.top));
  if (threshold) Warn(common, *threshold);
  PrintScores(common, opened, options.rule, threshold);
  return absl::OkStatus();
}

// AddRule: from which score on somebody is accepted.
void AddRule(Command command, DecisionRule* rule) {
  const Option threshold =
      command.Add("--threshold", &rule->score, "accept at this score or above").Range(-2, 2);
  const Option fmr = command
                         .Add("--fmr", &rule->fmr,
                              "verification: accept at the model's threshold for this false match "
                              "rate of one comparison, e.g. 1e-3")
                         .Range(0, 1)
                         .Excludes(threshold);
  command
      .Add("--fpir", &rule->fpir,
           "identification: accept where so few searches by strangers name somebody in a gallery "
           "of this size (false positive identification rate), e.g. 1e-2")
      .Range(0, 1)
      .Excludes(threshold)
      .Excludes(fmr);
}

// AddFlooding: how many openings noise is to hide, and how well.
void AddFlooding(Command command, Options* options) {
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

}  // namespace

void AddDecrypt(Command app) {
  const auto [command, options] = AddCommand(
      app, "decrypt", "open encrypted scores: ranked candidates, or a decision (key owner)",
      "heft decrypt --model m.heft --secret-key secret.key --in scores.ct --fmr 1e-3", Run);
  AddKeyOptions(command, &options->key, "secret key");
  command
      .Add("-i,--in", &options->in,
           "encrypted scores; with --shards those of every bucket, in any order")
      .Required();
  const Option shards =
      command.Add("--shards", &options->shards,
                  "shard list of a gallery in buckets: refuse less than the replies of the whole");
  AddTrustOptions(command, &options->trust, "the secret key");
  const Option request =
      command.Add("--request", &options->request,
                  "the encrypted samples that were sent: refuse a reply to anything else");
  const Option row =
      command.Add("--row", &options->row, "which sample of them, from 0").ShowDefault();
  row.Needs(request);
  command.Add("--average", &options->average, "of their mean, asked for with --average")
      .Needs(request)
      .Excludes(row);
  command.Add("--gallery-id", &options->gallery, "refuse a reply of any other gallery")
      .Excludes(shards);
  command.Add("--signed-gallery", &options->signed_gallery,
              "refuse a reply of a gallery's state that was not signed (heft admit)");
  command.Add("--top", &options->top, "candidates to publish; each is charged a score")
      .Range(1, std::numeric_limits<uint32_t>::max())
      .ShowDefault();
  command.Add("--beyond-cap", &options->beyond_cap,
              absl::StrCat("publish more than ", kPublishedCandidates, " candidates"));
  AddRule(command, &options->rule);
  command.Add("--decision", &options->decision,
              "print the decision alone, and no score: for what goes to others");
  AddFlooding(command, options.get());
}

}  // namespace heft::cli
