// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/server_files.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  std::string out;
  std::string identity;  // verify only
  bool verify = false;
  bool no_identities = false;
  bool degree_two = false;
  bool all = false;
  Server::ProbeOptions probe;
};

// Every sample of the files, one reply each, into a new folder: all of them or none.
absl::Status RunAll(const Common& common, const Options& options, const LoadedServer& loaded,
                    const Gallery& gallery, const Server::ProbeOptions& probe) {
  std::filesystem::path out = options.out;
  if (!out.has_filename()) out = out.parent_path();  // FOLDER/ means FOLDER
  std::error_code error;
  if (std::filesystem::exists(out, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.out, " exists: with --all, --out names a folder that is made"));
  }
  // A new name beside it: nothing that is already there may be lost.
  std::string partial = out.string() + ".XXXXXX";
  if (mkdtemp(partial.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a folder beside ", options.out));
  }
  const Progress progress(common.monitor, "identifying samples");
  size_t files = 0, bytes = 0;
  auto write = [&](size_t row, const EncryptedScores& scores) -> absl::Status {
    const std::vector<uint8_t> reply = SerializeScores(*loaded.server->instance().context, scores);
    ++files;
    bytes += reply.size();
    return WriteFileAtomic(absl::StrFormat("%s/%05d.ct", partial, row), reply);
  };
  absl::Status status =
      loaded.server->IdentifyAll(gallery, loaded.samples, probe, write, progress.Callback());
  if (status.ok()) {
    using std::filesystem::perms;
    constexpr perms kReadable = perms::owner_all | perms::group_read | perms::group_exec |
                                perms::others_read | perms::others_exec;
    std::filesystem::permissions(partial, kReadable, error);
    if (!error) std::filesystem::rename(partial, out, error);
    if (error) status = absl::InternalError(absl::StrCat(options.out, ": ", error.message()));
  }
  if (!status.ok()) {
    std::filesystem::remove_all(partial, error);
    return status;
  }
  Print(common,
        {{"out", options.out}, {"replies", files}, {"bytes", bytes}, {"templates", gallery.size()}},
        absl::StrCat(files, " samples against ", gallery.size(), " templates: ", options.out, ", ",
                     HumanBytes(bytes)));
  return absl::OkStatus();
}

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const LoadedServer loaded, LoadServer(options));
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery,
                        loaded.server->OpenGallery(options.gallery, /*create=*/false));
  Server::ProbeOptions probe = options.probe;
  probe.with_identities = !options.no_identities;
  probe.relinearise = !options.degree_two;
  if (options.all) return RunAll(common, options, loaded, gallery, probe);
  const Progress progress(common.monitor, "matching blocks");
  HEFT_ASSIGN_OR_RETURN(
      const EncryptedScores scores,
      options.verify
          ? loaded.server->Verify(gallery, loaded.samples, options.identity, probe)
          : loaded.server->Identify(gallery, loaded.samples, probe, progress.Callback()));
  const std::vector<uint8_t> bytes = SerializeScores(*loaded.server->instance().context, scores);
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  Json json = {{"out", options.out}, {"bytes", bytes.size()}, {"templates", gallery.size()}};
  std::string text;
  if (options.verify) {
    json["claimed"] = options.identity;
    text = absl::StrCat("encrypted scores against \"", options.identity, "\"");
  } else {
    text = absl::StrCat("encrypted scores against ", gallery.size(), " templates");
  }
  Print(common, json, absl::StrCat(text, ": ", options.out, ", ", HumanBytes(bytes.size())));
  return absl::OkStatus();
}

Command Add(Command app, bool verify) {
  auto options = std::make_shared<Options>();
  options->verify = verify;
  const std::string name = verify ? "verify" : "identify";
  const Command command = AddCommand(
      app, name,
      verify ? "score an encrypted probe against one claimed identity, 1:1 (server)"
             : "score an encrypted probe against a whole gallery, 1:N (server)",
      "heft " + name +
          " --model m.heft --keys evaluation.keys --gallery gallery --in face.ct --in voice.ct" +
          (verify ? " --identity ann" : "") + " --out scores.ct",
      [options](const Common& common) { return Run(common, *options); });
  AddServerOptions(command, options.get());
  command.Add("-o,--out", &options->out, "file for the encrypted scores").Required();
  const Option row =
      command.Add("--row", &options->probe.row, "which sample of the files, from 0").ShowDefault();
  command.Add("--norm", &options->probe.with_squared_norm,
              "add the probe's encrypted squared norm, for the key owner's interval check");
  if (verify) {
    command.Add("--identity", &options->identity, "the claimed identity").Required();
  } else {
    command
        .Add("--all", &options->all,
             "every sample of the files, reading the gallery once for up to 64 of them; "
             "--out is then a folder, made with one file a sample")
        .Excludes(row);
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
