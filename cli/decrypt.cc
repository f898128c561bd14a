// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/openings.h"
#include "program/common.h"
#include "program/owner/key_options.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct DecryptFlags {
  KeyOptions key;
  std::vector<std::string> in;
  std::string shards;
  uint32_t top = kPublishedCandidates;
  bool beyond_cap = false;
  DecisionRule rule;
  bool scores = false;
  TrustOptions trust;
  std::vector<std::string> request;
  uint64_t row = 0;
  std::string gallery;
  bool average = false;
  bool signed_gallery = false;
  std::vector<uint32_t> owners;    // gives a part, for the others of these
  std::vector<std::string> parts;  // of other owners
  std::string out;
};

// Expectation: the question that the replies must answer.
absl::StatusOr<ExpectedAnswer> Expectation(const DecryptFlags& options) {
  ExpectedAnswer expected;
  if (!options.gallery.empty()) {
    HEFT_ASSIGN_OR_RETURN(expected.gallery, ParseGalleryId(options.gallery));
  }
  if (!options.request.empty()) {
    HEFT_ASSIGN_OR_RETURN(expected.request, ReadSampleFiles(options.request));
  }
  expected.row = options.average ? kAllRows : options.row;
  return expected;
}

// The key owner, which only accepts replies of trusted servers.
absl::StatusOr<KeyOwner> LoadStrictOwner(const Model& model, const DecryptFlags& options,
                                         std::optional<Trust> trust) {
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, LoadKeyOwner(model, options.key));
  // A gallery that is named here is as one that the trust file pins, if it pins none.
  if (trust && !options.gallery.empty() && trust->galleries().empty()) {
    HEFT_ASSIGN_OR_RETURN(const GalleryId gallery, ParseGalleryId(options.gallery));
    trust->Pin(gallery);
  }
  if (trust) HEFT_RETURN_IF_ERROR(owner.RequireSigned(*std::move(trust)));
  if (options.signed_gallery) owner.RequireSignedGallery();
  return owner;
}

bool HasRule(const DecisionRule& rule) { return rule.score || rule.fmr || rule.fpir; }

absl::Status Check(const DecryptFlags& options) {
  if (!options.scores && !HasRule(options.rule)) {
    return WrongUsage(
        "a decision needs a rate: give --fmr for a claim, --fpir for a search, or a --threshold "
        "(--scores publishes scores instead, which give templates away)");
  }
  if (options.shards.empty() && options.in.size() > 1) {
    return WrongUsage(
        "several replies need --shards, the shard list of their gallery; otherwise give one");
  }
  if (options.top <= kPublishedCandidates || options.beyond_cap) return absl::OkStatus();
  return WrongUsage(
      absl::StrCat("--top ", options.top, ": at most ", kPublishedCandidates,
                   " candidates can be published, because each reveals a score for good; "
                   "--beyond-cap allows more"));
}

// GivePart: this owner's part of what Open would open, for another owner.
absl::Status GivePart(const Common& common, const DecryptFlags& options, const KeyOwner& owner,
                      const Replies& replies) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> part,
                        options.scores ? owner.OpenPart(replies, options.owners, options.top)
                                       : owner.OpenPart(replies, options.owners, options.rule));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, part));
  Print(common, {{"out", options.out}, {"bytes", part.size()}, {"owners", options.owners}},
        absl::StrCat("partial opening, for the owner who combines: ", options.out));
  return absl::OkStatus();
}

absl::StatusOr<Described> Open(const Common& common, const DecryptFlags& options,
                               const KeyOwner& owner, const Replies& replies) {
  if (!options.scores) {
    HEFT_ASSIGN_OR_RETURN(const Decision decision, owner.Decide(replies, options.rule));
    return DescribeDecision(decision);
  }
  std::optional<ChosenThreshold> threshold;
  if (HasRule(options.rule)) {
    HEFT_ASSIGN_OR_RETURN(threshold, owner.ThresholdFor(replies, options.rule));
  }
  HEFT_ASSIGN_OR_RETURN(const BudgetUse use, owner.Budget());
  if (use.limits.scores > 0) Warn(common, DescribeCost(use, options.top));
  HEFT_ASSIGN_OR_RETURN(const OpenedScores opened, owner.Open(replies, {}, options.top));
  return DescribeScores(opened, threshold);
}

absl::Status RunDecrypt(const Common& common, const DecryptFlags& options) {
  HEFT_RETURN_IF_ERROR(Check(options));
  HEFT_ASSIGN_OR_RETURN(auto trust, LoadTrust(options.trust, options.key.secret_key));
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadTrustedModel(options.key.model, trust));
  std::optional<ShardList> shards;
  if (!options.shards.empty()) {
    HEFT_ASSIGN_OR_RETURN(shards, ShardList::Load(options.shards));
  }
  HEFT_ASSIGN_OR_RETURN(const auto given, ReadSampleFiles(options.in, kMaxReplySize));
  std::vector<ReplyFile> files;
  for (const SampleFile& file : given) files.push_back({file.bytes, file.name});
  HEFT_ASSIGN_OR_RETURN(const auto given_parts, ReadSampleFiles(options.parts, kMaxReplySize));
  std::vector<ReplyFile> parts;
  for (const SampleFile& file : given_parts) parts.push_back({file.bytes, file.name});
  const Replies replies = {files, shards ? &*shards : nullptr, parts};
  HEFT_ASSIGN_OR_RETURN(const ExpectedAnswer expected, Expectation(options));
  HEFT_RETURN_IF_ERROR(CheckAnswer(replies, expected));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, LoadStrictOwner(model, options, std::move(trust)));
  if (!options.out.empty()) HEFT_RETURN_IF_ERROR(CheckOutput(options.out));
  if (!options.owners.empty()) return GivePart(common, options, owner, replies);
  HEFT_ASSIGN_OR_RETURN(const Described described, Open(common, options, owner, replies));
  Print(common, described);
  return absl::OkStatus();
}

// AddRule: the options for the score from which a person is accepted.
void AddRule(Command command, DecisionRule* rule) {
  const Option threshold =
      command.Add("--threshold", &rule->score, "accept from this score on").Range(-2, 2);
  command
      .Add("--fmr", &rule->fmr,
           "verification: accept at the model's threshold for this false match rate (FMR), e.g. "
           "1e-3; of a search restricted by conditions (--where) the stricter of this and --fpir")
      .Range(0, 1)
      .Excludes(threshold);
  command
      .Add("--fpir", &rule->fpir,
           "identification: accept at the model's threshold for this false positive identification "
           "rate (FPIR) in a gallery of this size, e.g. 1e-2")
      .Range(0, 1)
      .Excludes(threshold);
}

// AddParts: of a shared key.
void AddParts(Command command, DecryptFlags* options) {
  const Option owners = command.Add(
      "--owners", &options->owners,
      "shared key: give a partial opening to one of these owners, this one among them, instead");
  owners.Needs(command.Add("-o,--out", &options->out, "the partial opening's file").Needs(owners));
  command
      .Add("--part", &options->parts,
           "shared key: the partial openings of the other owners, made with the same options")
      .Excludes(owners);
}

}  // namespace

void AddDecrypt(Command app) {
  const auto [command, options] = AddCommand(
      app, "decrypt", "decide on a server's reply, or publish its scores (key owner)",
      "heft decrypt --model m.heft --secret-key secret.key --in scores.ct --fmr 1e-3", RunDecrypt);
  AddKeyOptions(command, &options->key, "secret key");
  command
      .Add("-i,--in", &options->in,
           "encrypted scores; with --shards one file per bucket, in any order")
      .Required();
  const Option shards =
      command.Add("--shards", &options->shards,
                  "shard list of a gallery in buckets: require the replies of all buckets");
  AddTrustOptions(command, &options->trust, "the secret key");
  const Option request =
      command.Add("--request", &options->request,
                  "the encrypted samples of the request: refuse a reply to any other");
  const Option row =
      command.Add("--row", &options->row, "index of the sample in them, from 0").ShowDefault();
  row.Needs(request);
  command.Add("--average", &options->average, "the request was for their mean (--average)")
      .Needs(request)
      .Excludes(row);
  command
      .Add("--gallery-id", &options->gallery,
           "id of the gallery: refuse a reply of any other; without it the gallery must be "
           "one that the trust file pins or, if it pins none, the first that this key saw")
      .Excludes(shards);
  command.Add("--signed-gallery", &options->signed_gallery,
              "refuse a reply of a state that the key owner has not signed (heft answer)");
  AddRule(command, &options->rule);
  const Option scores =
      command.Add("--scores", &options->scores,
                  "publish scores instead of a decision: they give templates away, and an identity "
                  "has as many of them, ever, as training measured to be safe, mostly none (heft "
                  "budget)");
  command
      .Add("--top", &options->top,
           "number of candidates to publish; each costs a score of the budget")
      .Range(1, std::numeric_limits<uint32_t>::max())
      .ShowDefault()
      .Needs(scores);
  command
      .Add("--beyond-cap", &options->beyond_cap,
           absl::StrCat("publish more than ", kPublishedCandidates, " candidates"))
      .Needs(scores);
  AddParts(command, options.get());
}

}  // namespace heft::cli
