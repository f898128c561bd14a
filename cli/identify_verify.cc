// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "heft/client.h"
#include "heft/desk.h"
#include "heft/inspect.h"
#include "program/metadata_options.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct MatchFlags : ServerOptions {
  std::optional<uint64_t> row;
  std::string out;
  std::string identity;  // verify only
  bool verify = false;
  bool no_identities = false;
  bool degree_two = false;
  bool all = false;
  ProbeOptions probe;
  std::vector<std::string> where;  // identify only
  uint64_t life = kLife;
};

absl::StatusOr<MatchRequest> RequestOf(const MatchFlags& options) {
  MatchRequest request = {
      .gallery = options.gallery, .row = options.row, .all = options.all, .probe = options.probe};
  HEFT_ASSIGN_OR_RETURN(request.shards, LoadShards(options));
  HEFT_ASSIGN_OR_RETURN(request.probe.where, ParseConditions(options.where));
  request.probe.with_identities = !options.no_identities;
  request.probe.relinearise = !options.degree_two;
  request.life = options.life;
  if (options.verify) request.claimed = options.identity;
  HEFT_ASSIGN_OR_RETURN(request.files, ReadSamples(options));
  return request;
}

// Describes the question, in words and in `json`.
std::string Asked(const MatchFlags& options, const std::vector<Condition>& where, bool buckets,
                  const Answered& answered, Json* json) {
  if (options.verify) {
    (*json)["claimed"] = options.identity;
    return absl::StrCat("\"", options.identity, "\"");
  }
  AddWhereTo(json, where);
  return absl::StrCat(answered.templates, " templates",
                      buckets ? absl::StrCat(" in ", answered.replies, " buckets") : "",
                      RestrictionText(where));
}

// WithFlags: an error about the row names the flags that give it.
absl::StatusOr<Answered> WithFlags(absl::StatusOr<Answered> done) {
  if (!absl::StrContains(done.status().message(), "give the row of the probe")) return done;
  return absl::InvalidArgumentError(
      absl::StrCat(done.status().message(), " (--row, --all, --average)"));
}

absl::Status RunMatch(const Common& common, const MatchFlags& options) {
  HEFT_ASSIGN_OR_RETURN(MatchRequest request, RequestOf(options));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer server, LoadServer(common, options, options.verify));
  TakeHeadBeside(common, server, options, request.shards);
  const std::vector<Condition> where = request.probe.where;
  const bool buckets = request.shards && !options.verify, several = options.all || buckets;
  std::optional<NewFolder> folder;  // of several replies: all of them or none
  if (several) {
    HEFT_ASSIGN_OR_RETURN(NewFolder made, NewFolder::Create(options.out));
    folder.emplace(std::move(made));
  } else {
    HEFT_RETURN_IF_ERROR(CheckOutput(options.out));
  }
  const auto write = [&](const SignedReply& reply) {
    if (!folder) return WriteResult(options.out, reply.bytes);
    return folder->Write(absl::StrFormat("%0*d.ct", buckets ? 3 : 5, reply.number), reply.bytes);
  };
  const Desk desk(server);
  auto done = options.verify ? desk.Verify(std::move(request), write, common.monitor)
                             : desk.Identify(std::move(request), write, common.monitor);
  HEFT_ASSIGN_OR_RETURN(const Answered answered, WithFlags(std::move(done)));
  if (folder) HEFT_RETURN_IF_ERROR(folder->Commit());
  Described out{{{"out", options.out}}};
  if (several) out.json["replies"] = answered.replies;
  out.json["bytes"] = answered.bytes;
  out.json["templates"] = answered.templates;
  for (const DamagedBlock& damaged : answered.damaged) {
    out.json["damaged_blocks"].push_back(damaged.block);
    out.warnings.push_back(
        absl::StrCat(damaged.why, ". No template in it was matched; all other blocks were"));
  }
  const std::string asked = Asked(options, where, buckets, answered, &out.json);
  out.text = absl::StrCat(
      options.all ? absl::StrCat(answered.replies, " samples") : std::string("encrypted scores"),
      " against ", asked, ": ", options.out, ", ", HumanBytes(answered.bytes));
  Print(common, out);
  return absl::OkStatus();
}

Command AddMatching(Command app, bool verify) {
  const std::string name = verify ? "verify" : "identify";
  const auto [command, options] = AddCommand(
      app, name,
      verify ? "score an encrypted probe against one claimed identity, 1:1 (server)"
             : "score an encrypted probe against a whole gallery, 1:N (server)",
      "heft-server " + name +
          " --model m.heft --keys evaluation.keys --gallery gallery --in face.ct --in voice.ct" +
          (verify ? " --identity ann" : "") + " --out scores.ct",
      RunMatch);
  options->verify = verify;
  AddServerOptions(command, options.get());
  command.Add("-o,--out", &options->out, "file for the encrypted scores").Required();
  AddLife(command, &options->life);
  const Option row = command.Add("--row", &options->row,
                                 "index of the sample in the files, from 0 (needed if they "
                                 "hold several)");
  const Option all =
      command.Add("--all", &options->all,
                  absl::StrCat("match every sample of the files ",
                               verify ? "against the one claimed identity"
                                      : "with one pass over the gallery for up to 64 of them",
                               "; --out is then a new folder with one file per sample"));
  all.Excludes(row);
  const Option shards = AddShards(command, options.get());
  if (!verify) shards.Excludes(all);  // --out is then a folder, one reply a bucket
  const Option average = command.Add("--average", &options->probe.average,
                                     absl::StrCat("all samples of the files, up to ", kMaxSamples,
                                                  ", become one probe of one person: their mean"));
  average.Excludes(row);
  average.Excludes(all);
  if (verify) {
    AddEnrolmentKeys(command, options.get());
    command.Add("--identity", &options->identity, "the claimed identity").Required();
  } else {
    AddWhere(command, &options->where);
    command.Add("--degree-two", &options->degree_two,
                "up to 64 dimensions, do not relinearise: less work for the server, three "
                "times as much to send");
    command.Add("--no-identities", &options->no_identities,
                "leave names out of the reply; candidates are then positions");
  }
  return command;
}

}  // namespace

void AddIdentify(Command app) { AddMatching(app, /*verify=*/false); }
void AddVerify(Command app) { AddMatching(app, /*verify=*/true); }

}  // namespace heft::cli
