// SPDX-License-Identifier: Apache-2.0
// reveal, for the server; audit, for the checker of a server's replies and of audit logs.
#include "heft/audit.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct RevealOptions {
  std::string gallery, in, out;
};

absl::Status RunReveal(const Common& common, const RevealOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> reply, ReadFile(options.in, kMaxReplySize));
  HEFT_ASSIGN_OR_RETURN(const SigningKey key, GallerySigner(options.gallery));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> seed,
                        RevealSeed(options.gallery, key.public_key(), reply, options.in));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, seed));
  Print(common, {{"out", options.out}},
        absl::StrCat("for the auditor of ", options.in, ", and no one else: ", options.out));
  return absl::OkStatus();
}

struct AuditOptions : ServerOptions {
  AuditFiles files;
  std::vector<std::string> logs;
  std::string head, after;
};

// Whether the daemons' audit log holds together.
absl::Status AuditLogs(const Common& common, const AuditOptions& options) {
  AuditHead noted, after;
  if (!options.head.empty()) {
    HEFT_ASSIGN_OR_RETURN(noted, ParseAuditHead(options.head, "--head"));
  }
  if (!options.after.empty()) {
    HEFT_ASSIGN_OR_RETURN(after, ParseAuditHead(options.after, "--after"));
  }
  const auto head = VerifyAuditLogs(options.logs, options.head.empty() ? nullptr : &noted,
                                    options.after.empty() ? nullptr : &after);
  if (absl::IsDataLoss(head.status())) return absl::AbortedError(head.status().message());
  HEFT_RETURN_IF_ERROR(head.status());
  Print(common, {{"lines", head->lines}, {"hash", head->hash}, {"noted", !options.head.empty()}},
        absl::StrCat(head->lines, " lines form a chain",
                     options.head.empty() ? "" : ", which contains the noted head",
                     "\nhead: ", head->lines, ":", head->hash,
                     "\nnote the head elsewhere: with --head it shows whether the end was cut off "
                     "or the log was rewritten"));
  return absl::OkStatus();
}

// Without seeds: says which replies to ask the server about.
void PrintChosen(const Common& common, const AuditFiles& files) {
  Described out{{{"chosen", Json::array()}}};
  for (const size_t i : ChooseForAudit(files.replies.size(), files.one_in)) {
    out.json["chosen"].push_back(files.replies[i]);
    absl::StrAppend(&out.text, files.replies[i], "\n");
  }
  Print(common, out);
}

absl::Status RunAudit(const Common& common, const AuditOptions& options) {
  if (!options.logs.empty()) return AuditLogs(common, options);
  AuditFiles files = options.files;
  if (files.seeds.empty() && !files.replies.empty()) {
    PrintChosen(common, files);
    return absl::OkStatus();
  }
  if (options.model.empty() || options.keys.empty() || options.gallery.empty()) {
    return WrongUsage(
        "an audit needs --model, --keys and --gallery; to choose replies give only --reply");
  }
  files.copy = options.gallery;
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/true));
  HEFT_ASSIGN_OR_RETURN(const std::vector<NamedFinding> findings, AuditAll(loaded, files));
  const Described found = DescribeFindings(findings);
  Print(common, found);
  const size_t wrong = found.json["wrong"].get<size_t>();
  if (wrong == 0) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(wrong, " of ", findings.size(), " are wrong"));
}

}  // namespace

void AddReveal(Command app) {
  const auto [command, options] = AddCommand(
      app, "reveal", "reveal the seed of the random choices of one reply (server)",
      "heft-server reveal --gallery gallery --in scores.ct --out scores.seed", RunReveal);
  command.Add("-g,--gallery", &options->gallery, kGalleryHelp).Required();
  command.Add("-i,--in", &options->in, "a reply of this server").Required();
  command.Add("-o,--out", &options->out, "file to write, for the auditor of the reply").Required();
}

void AddAudit(Command app) {
  const auto [command, options] = AddCommand(
      app, "audit",
      "check replies by computing them again, bit for bit, or the audit log of a service (auditor)",
      "heft audit --reply 1.ct --reply 2.ct --one-in 10     # which to ask the server about\n"
      "  heft audit --model m.heft --keys evaluation.keys --gallery copy --request face.ct "
      "--reply 2.ct --seed 2.seed\n"
      "  heft audit /var/lib/heft-matcher/audit.log --head 812:5f...",
      RunAudit);
  const Option log = command.Add(
      "LOG", &options->logs,
      "audit log of heft-matcher or heft-decider, after its renamed older files, oldest first: "
      "check that no line was changed, left out or moved");
  command.Add("--head", &options->head, "LINES:HASH noted earlier, which must be in the log")
      .Needs(log);
  command
      .Add("--after", &options->after,
           "LINES:HASH of the line before the first one, if older files are not given")
      .Needs(log);
  command.Add("-m,--model", &options->model, "model file");
  command.Add("-k,--keys", &options->keys, "evaluation keys");
  const Option gallery = command.Add("-g,--gallery", &options->gallery,
                                     "copy of the gallery's folder from the time of the answer");
  AddEnrolmentKeys(command, options.get());
  AddKeyCache(command, options.get());
  AddTrustOptions(command, &options->trust, "the evaluation keys");
  const Option reply =
      command.Add("--reply", &options->files.replies, "signed replies of the server");
  reply.Excludes(log);
  gallery.Excludes(log);
  command.RequireOneOf(log, gallery, reply);
  command.Add("--seed", &options->files.seeds,
              "output of heft-server reveal for each of them, in the same order; without it the "
              "command only lists the replies to audit");
  command.Add("--request", &options->files.requests,
              "the request: its file, or a folder with only its files");
  command.Add("--one-in", &options->files.one_in, "audit one reply in this many, chosen at random")
      .Range(1, 1e9)
      .ShowDefault();
}

}  // namespace heft::cli
