// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "heft/audit.h"
#include "heft/client.h"
#include "heft/gallery_admin.h"
#include "heft/inspect.h"
#include "heft/sharded_gallery.h"
#include "program/metadata_options.h"
#include "program/server_options.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  std::string out;
  std::string identity;  // verify only
  bool verify = false;
  bool no_identities = false;
  bool degree_two = false;
  bool all = false;
  ProbeOptions probe;
  std::vector<std::string> where;  // identify only
  std::string server_key;
  uint64_t life = kLife;
};

// What the files ask, and what signs the answer.
absl::StatusOr<IncomingRequest> RequestOf(const Options& options, const TrustedServer& server,
                                          const std::vector<SampleFile>& samples) {
  HEFT_ASSIGN_OR_RETURN(SigningKey key, options.server_key.empty()
                                            ? GallerySigner(options.gallery)
                                            : LoadSigner(options.server_key));
  return IncomingRequest::Read(server, std::make_shared<const SigningKey>(std::move(key)), samples,
                               options.all ? kAllRows : RowOf(options.probe));
}

// Blocks that could not be matched: those who stand in them were not found, whoever they are.
void NameDamaged(const Common& common, const Gallery& gallery, Json* json) {
  for (const DamagedBlock& damaged : DamagedBlocks(gallery)) {
    (*json)["damaged_blocks"].push_back(damaged.block);
    Warn(common, absl::StrCat(damaged.why, ". Nobody in it has answered; the others have"));
  }
}

// Every sample of the files, one reply each, into a new folder: all of them or none.
absl::Status RunAll(const Common& common, const Options& options, const Server& server,
                    const Gallery& gallery, std::vector<SampleFile> samples,
                    const ProbeOptions& probe, const IncomingRequest& asked) {
  HEFT_ASSIGN_OR_RETURN(NewFolder folder, NewFolder::Create(options.out));
  size_t files = 0, bytes = 0;
  auto write = [&](size_t row, std::span<const uint8_t> scores) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> reply,
                          asked.SignRow(row, gallery, scores, options.life));
    ++files;
    bytes += reply.size();
    return folder.Write(absl::StrFormat("%05d.ct", row), reply);
  };
  HEFT_RETURN_IF_ERROR(
      options.verify
          ? server.VerifyAll(gallery, std::move(samples), options.identity, write, common.monitor)
          : server.IdentifyAll(gallery, std::move(samples), probe, write, common.monitor));
  HEFT_RETURN_IF_ERROR(folder.Commit());
  Json json = {
      {"out", options.out}, {"replies", files}, {"bytes", bytes}, {"templates", gallery.size()}};
  if (options.verify) json["claimed"] = options.identity;
  NameDamaged(common, gallery, &json);
  const std::string whom =
      options.verify ? absl::StrCat("\"", options.identity, "\"")
                     : absl::StrCat(gallery.size(), " templates", RestrictionText(probe.where));
  AddWhereTo(&json, probe.where);
  Print(common, json,
        absl::StrCat(files, " samples against ", whom, ": ", options.out, ", ", HumanBytes(bytes)));
  return absl::OkStatus();
}

// One sample to every bucket, one reply each, into a new folder: all of them or none.
absl::Status RunShards(const Common& common, const Options& options, const ShardList& shards) {
  ProbeOptions probe = options.probe;
  HEFT_ASSIGN_OR_RETURN(probe.where, ParseConditions(options.where));
  probe.with_identities = !options.no_identities;
  probe.relinearise = !options.degree_two;
  HEFT_ASSIGN_OR_RETURN(const std::vector<SampleFile> samples, ReadSamples(options));
  HEFT_ASSIGN_OR_RETURN(std::vector<Gallery> buckets, OpenBuckets(options.gallery, shards));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  Options of_first = options;
  of_first.gallery = BucketAddress(options.gallery, 0);  // one store, one server's key
  HEFT_ASSIGN_OR_RETURN(const IncomingRequest asked, RequestOf(of_first, loaded, samples));
  HEFT_RETURN_IF_ERROR(asked.Take(of_first.gallery));
  HEFT_RETURN_IF_ERROR(MakeAuditKey(of_first.gallery));
  HEFT_ASSIGN_OR_RETURN(NewFolder folder, NewFolder::Create(options.out));
  size_t bytes = 0, templates = 0;
  Json json = {{"out", options.out}, {"replies", buckets.size()}};
  uint32_t written = 0;
  HEFT_RETURN_IF_ERROR(loaded.server.IdentifySigned(
      buckets.size(), [&](size_t i) -> absl::StatusOr<Gallery> { return std::move(buckets[i]); },
      samples, probe, asked.Signer(options.life),
      [&](const Gallery& bucket, std::vector<uint8_t> reply) -> absl::Status {
        HEFT_RETURN_IF_ERROR(folder.Write(absl::StrFormat("%03d.ct", written++), reply));
        bytes += reply.size();
        templates += bucket.size();
        NameDamaged(common, bucket, &json);
        return absl::OkStatus();
      },
      common.monitor));
  HEFT_RETURN_IF_ERROR(folder.Commit());
  json["bytes"] = bytes;
  json["templates"] = templates;
  AddWhereTo(&json, probe.where);
  Print(common, json,
        absl::StrCat("encrypted scores against ", templates, " templates in ", buckets.size(),
                     " buckets", RestrictionText(probe.where), ": ", options.out, ", ",
                     HumanBytes(bytes)));
  return absl::OkStatus();
}

absl::Status RunOne(const Common& common, const Options& options) {
  ProbeOptions probe = options.probe;
  HEFT_ASSIGN_OR_RETURN(probe.where, ParseConditions(options.where));
  HEFT_ASSIGN_OR_RETURN(std::vector<SampleFile> samples, ReadSamples(options));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(options.gallery));
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, options.verify));
  HEFT_ASSIGN_OR_RETURN(const IncomingRequest asked, RequestOf(options, loaded, samples));
  HEFT_RETURN_IF_ERROR(asked.Take(options.gallery));
  HEFT_RETURN_IF_ERROR(MakeAuditKey(options.gallery));
  const Server& server = loaded.server;
  probe.with_identities = !options.no_identities;
  probe.relinearise = !options.degree_two;
  if (options.all) {
    return RunAll(common, options, server, gallery, std::move(samples), probe, asked);
  }
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> scores,
                        options.verify
                            ? server.Verify(gallery, std::move(samples), options.identity, probe)
                            : server.Identify(gallery, std::move(samples), probe, common.monitor));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> reply,
                        asked.Sign(gallery, scores, options.life));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, reply));
  Json json = {{"out", options.out}, {"bytes", reply.size()}, {"templates", gallery.size()}};
  NameDamaged(common, gallery, &json);
  std::string text;
  if (options.verify) {
    json["claimed"] = options.identity;
    text = absl::StrCat("encrypted scores against \"", options.identity, "\"");
  } else {
    text = absl::StrCat("encrypted scores against ", gallery.size(), " templates",
                        RestrictionText(probe.where));
    AddWhereTo(&json, probe.where);
  }
  Print(common, json, absl::StrCat(text, ": ", options.out, ", ", HumanBytes(reply.size())));
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const auto shards, LoadShards(options));
  if (!shards) return RunOne(common, options);
  if (!options.verify) return RunShards(common, options, *shards);
  Options of_bucket = options;
  const uint32_t bucket = shards->BucketOf(options.identity);
  HEFT_RETURN_IF_ERROR(OpenBucket(options.gallery, *shards, bucket).status());
  of_bucket.gallery = BucketAddress(options.gallery, bucket);
  return RunOne(common, of_bucket);
}

Command Add(Command app, bool verify) {
  const std::string name = verify ? "verify" : "identify";
  const auto [command, options] = AddCommand(
      app, name,
      verify ? "score an encrypted probe against one claimed identity, 1:1 (server)"
             : "score an encrypted probe against a whole gallery, 1:N (server)",
      "heft " + name +
          " --model m.heft --keys evaluation.keys --gallery gallery --in face.ct --in voice.ct" +
          (verify ? " --identity ann" : "") + " --out scores.ct",
      Run);
  options->verify = verify;
  AddServerOptions(command, options.get());
  command.Add("-o,--out", &options->out, "file for the encrypted scores").Required();
  AddLife(command, &options->life);
  command.Add("--server-key", &options->server_key,
              "signing key (default: server.key in the gallery's folder, made with it)");
  const Option row =
      command.Add("--row", &options->probe.row, "which sample of the files, from 0").ShowDefault();
  const Option all =
      command.Add("--all", &options->all,
                  absl::StrCat("every sample of the files, ",
                               verify ? "against the one claimed identity"
                                      : "reading the gallery once for up to 64 of them",
                               "; --out is then a folder, made with one file a sample"));
  all.Excludes(row);
  const Option shards = AddShards(command, options.get());
  if (!verify) shards.Excludes(all);  // --out is then a folder, one reply a bucket
  const Option average = command.Add("--average", &options->probe.average,
                                     absl::StrCat("all samples of the files, up to ", kMostSamples,
                                                  ", are one person's and one probe: their mean"));
  average.Excludes(row);
  average.Excludes(all);
  if (verify) {
    AddEnrolmentKeys(command, options.get());
    command.Add("--identity", &options->identity, "the claimed identity").Required();
  } else {
    AddWhere(command, &options->where);
    command.Add("--degree-two", &options->degree_two,
                "do not relinearise: less work for the server, three times as much to send");
    command.Add("--no-identities", &options->no_identities,
                "leave the names out of the reply; candidates are then positions");
  }
  return command;
}

}  // namespace

void AddIdentify(Command app) { Add(app, /*verify=*/false); }
void AddVerify(Command app) { Add(app, /*verify=*/true); }

}  // namespace heft::cli
