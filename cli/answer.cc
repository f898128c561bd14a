// SPDX-License-Identifier: Apache-2.0
// answer, of the key owner; authorise, of the registrar.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/commands.h"
#include "heft/inspect.h"
#include "heft/openings.h"
#include "heft/server.h"
#include "program/common.h"
#include "program/owner/key_owner_answer.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct AnswerFlags : AnswerOptions {
  ApprovalPolicy policy;
  std::vector<std::string> reject, entries;
  std::string shards;
  std::vector<uint32_t> owners;    // gives a part, for the others of these
  std::vector<std::string> parts;  // of other owners
};

// TakeRejected: identities, and entry=DIGITS for one pending enrolment.
absl::Status TakeRejected(const std::vector<std::string>& rejected, ApprovalPolicy* policy) {
  std::vector<std::string> entries;
  for (absl::string_view one : rejected) {
    (absl::ConsumePrefix(&one, "entry=") ? entries : policy->reject).push_back(std::string(one));
  }
  HEFT_ASSIGN_OR_RETURN(policy->reject_entries, ParseEntries("--reject", entries));
  return absl::OkStatus();
}

// WritePart: of a shared key, for another owner.
absl::Status WritePart(const Common& common, const AnswerFlags& options,
                       const absl::StatusOr<std::vector<uint8_t>>& part) {
  HEFT_RETURN_IF_ERROR(part.status());
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, *part));
  Print(common, {{"out", options.out}, {"bytes", part->size()}, {"owners", options.owners}},
        absl::StrCat("partial opening, for the owner who combines: ", options.out));
  return absl::OkStatus();
}

// Blocks of the gallery without the removed templates.
absl::Status Renew(const Common& common, const AnswerFlags& options, const Asked& asked) {
  if (!options.owners.empty()) {
    return WritePart(common, options,
                     asked.owner.RenewPart(asked.request, options.in, options.owners));
  }
  HEFT_ASSIGN_OR_RETURN(const auto given, ReadSampleFiles(options.parts, kMaxReplySize));
  std::vector<ReplyFile> parts;
  for (const SampleFile& file : given) parts.push_back({file.bytes, file.name});
  HEFT_ASSIGN_OR_RETURN(const RenewedBlocks done,
                        asked.owner.Renew(asked.request, options.in, parts));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, done.signed_renewal));
  Print(common, {{"out", options.out}, {"blocks", done.blocks}, {"templates", done.templates}},
        absl::StrCat("encrypted ", done.templates, " templates again, in ", done.blocks,
                     " blocks; for the server: ", options.out));
  return absl::OkStatus();
}

absl::Status Approve(const Common& common, const AnswerFlags& options, const Asked& asked) {
  ApprovalPolicy policy = options.policy;
  HEFT_ASSIGN_OR_RETURN(policy.entries, ParseEntries("--entry", options.entries));
  HEFT_RETURN_IF_ERROR(TakeRejected(options.reject, &policy));
  if (!options.shards.empty()) {
    HEFT_ASSIGN_OR_RETURN(policy.shards, ShardList::Load(options.shards));
  }
  if (!options.owners.empty()) {
    return WritePart(common, options,
                     asked.owner.ApprovePart(asked.request, options.in, options.owners, policy));
  }
  HEFT_ASSIGN_OR_RETURN(const auto given, ReadSampleFiles(options.parts, kMaxReplySize));
  std::vector<ReplyFile> parts;
  for (const SampleFile& file : given) parts.push_back({file.bytes, file.name});
  HEFT_ASSIGN_OR_RETURN(const Admissions done,
                        asked.owner.Approve(asked.request, options.in, policy, parts));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, done.signed_admission));
  Described told = DescribeAdmissions(done);
  Json json = {{"out", options.out}};
  json.update(told.json);
  told.json = std::move(json);
  absl::StrAppend(&told.text, "for the server: ", options.out);
  Print(common, told);
  return absl::OkStatus();
}

// Whether an option is given that only pending templates have.
bool IsForPending(const AnswerFlags& options) {
  return options.policy.put_back || !options.shards.empty() || !options.policy.only.empty() ||
         !options.reject.empty() || !options.entries.empty();
}

absl::Status RunAnswer(const Common& common, const AnswerFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const Asked asked, LoadAsked(options));
  HEFT_ASSIGN_OR_RETURN(const FileInfo request, InspectFile(asked.request, options.in));
  const bool renewal = request.kind == "RNRQ";
  if (!renewal && request.kind != "ADRQ") {
    return OtherKind(options.in, request.name, "a request of heft-server pending or gallery renew");
  }
  if (renewal && IsForPending(options)) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.in, ": a request for renewal, which takes no option for pending templates"));
  }
  return renewal ? Renew(common, options, asked) : Approve(common, options, asked);
}

struct AuthoriseOptions {
  std::string key, gallery, identity, act = "add", out;
  uint64_t life = 86400;
};

absl::Status RunAuthorise(const Common& common, const AuthoriseOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const AuthorisedAct act, ParseAuthorisedAct(options.act));
  const char* may = act == AuthorisedAct::kAdd       ? "add another template for"
                    : act == AuthorisedAct::kReplace ? "replace all templates of"
                                                     : "remove all templates of";
  HEFT_ASSIGN_OR_RETURN(const GalleryId gallery, ParseGalleryId(options.gallery));
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, LoadSigner(options.key));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                        Authorise(key, gallery, act, options.identity, options.life));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  Print(common, {{"out", options.out}, {"identity", options.identity}},
        absl::StrCat("the holder of ", options.out, " may ", may, " \"", options.identity, "\""));
  return absl::OkStatus();
}

}  // namespace

void AddAnswer(Command app) {
  const auto [command, options] = AddCommand(
      app, "answer",
      "answer a server's request: check the norms of pending templates and approve them, or renew "
      "blocks of a gallery without the removed people (key owner)",
      "heft answer --model m.heft --secret-key keys/secret.key --in pending.ct --out "
      "admission.heft\n"
      "  heft answer --model m.heft --secret-key keys/secret.key --in renewal-request.heft --out "
      "renewal.heft",
      RunAnswer);
  AddAnswerOptions(command, options.get(),
                   "output of heft-server pending, or of heft-server gallery renew; the options "
                   "below but --owners and --part are for pending templates",
                   "signed answer, for heft-server apply");
  const Option only = command.Add("--only", &options->policy.only,
                                  "approve only these identities; the others stay pending");
  const Option reject = command.Add(
      "--reject", &options->reject,
      "reject these identities, or entry=ENTRY, pending enrolments: their templates are removed");
  command.Add("--entry", &options->entries,
              "decide only these pending enrolments, of which heft-server pending shows the "
              "entries; chooses between several of one new identity");
  command.Add(
      "--accept-older", &options->policy.put_back,
      "the gallery was restored from a copy: sign its state although a later one was signed");
  command.Add("--shards", &options->shards,
              "shard list of the gallery to which this bucket belongs: people who belong to "
              "another bucket are rejected");
  const Option owners = command
                            .Add("--owners", &options->owners,
                                 "shared key: give a partial opening to one of these owners, this "
                                 "one among them, instead; the combining owner chooses what is "
                                 "approved")
                            .Excludes(only)
                            .Excludes(reject);
  command.Add("--part", &options->parts, "shared key: the partial openings of the other owners")
      .Excludes(owners);
}

void AddAuthorise(Command app) {
  const auto [command, options] = AddCommand(
      app, "authorise", "authorise a change to an enrolled person (registrar)",
      "heft authorise --key registrar.key --gallery-id 0123... --identity ann --out ann.auth",
      RunAuthorise);
  command.Add("-k,--key", &options->key, "the registrar's signing key (heft trust new-key)")
      .Required();
  command.Add("--gallery-id", &options->gallery, "id of the gallery (heft inspect)").Required();
  command.Add("--identity", &options->identity, "the enrolled person").Required();
  command.Add("--act", &options->act, "the allowed change: add, replace or remove").ShowDefault();
  command.Add("-o,--out", &options->out, "file to write").Required();
  AddLife(command, &options->life);
}

}  // namespace heft::cli
