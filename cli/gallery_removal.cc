// SPDX-License-Identifier: Apache-2.0
// remove, compact and renew: removal of people from a gallery, and of their remains. The key
// owner's part in a renewal is heft answer; heft-server apply ends it.
#include <optional>
#include <string>
#include <vector>

#include "cli/gallery_commands.h"
#include "heft/desk.h"
#include "heft/results.h"

namespace heft::cli {
namespace {

using Receipt = std::vector<uint8_t>;

struct RemovalFlags : ServerOptions {
  std::vector<std::string> identities, entries;
  bool expired = false, compact = false;
  std::string authorisation, receipts, out;
  std::optional<size_t> generation;  // to roll back to
  uint64_t life = kAdmissionLife;
};

// Receipts into a folder, which is made if need be, a file each: the files.
absl::StatusOr<std::vector<std::string>> Write(const std::string& folder,
                                               const std::vector<Receipt>& receipts) {
  std::vector<std::string> files;
  if (!receipts.empty()) HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  for (const Receipt& receipt : receipts) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt says, ReadReceipt(receipt, "the gallery's receipt"));
    files.push_back(absl::StrCat(folder, "/", HexString(says.gallery_id).substr(0, 8), "-",
                                 says.generation, ".receipt"));
    HEFT_RETURN_IF_ERROR(WriteResult(files.back(), receipt));
  }
  return files;
}

// TellChange: the result of a change: whether the erased bytes are overwritten, or why not, and
// receipts.
template <typename Result>
absl::Status TellChange(const Common& common, const RemovalFlags& options, const Result& done,
                        Json json, std::string text) {
  Remember(common, options.gallery);
  const std::string remains = ErasureRemains(options.gallery).value_or("");
  json["overwritten"] = done.overwritten.ok() && remains.empty();
  if (done.overwritten.ok() && !remains.empty()) {
    json["remains"] = remains;
    absl::StrAppend(&text, "\nremaining data: ", remains);
  }
  if (!done.overwritten.ok()) {
    Warn(common, absl::StrCat("the erased data could not be overwritten yet, so there is no "
                              "receipt (run `heft-server gallery compact` to try again): ",
                              done.overwritten.message()));
  }
  if (!options.receipts.empty()) {
    const auto files = Write(options.receipts, done.receipts);
    if (files.ok()) {
      json["files"] = *files;
      for (const std::string& file : *files) absl::StrAppend(&text, "\nreceipt: ", file);
    } else {
      Warn(common, absl::StrCat("the receipts could not be written (`heft-server gallery list "
                                "--erased` lists them): ",
                                files.status().message()));
    }
  }
  Print(common, json, text);
  return absl::OkStatus();
}

absl::Status TellRemoved(const Common& common, const RemovalFlags& options,
                         const RemoveResult& done) {
  SayNevertheless("the removal itself is complete");
  return TellChange(
      common, options, done, ToJson(done),
      absl::StrCat("removed ", done.removed, " templates: ", done.erased, " are erased, ",
                   done.leaving, " wait for the key owner (heft-server gallery renew); ",
                   done.rejected, " pending templates were removed"));
}

absl::Status RunRemove(const Common& common, const RemovalFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  if (options.generation) {
    HEFT_ASSIGN_OR_RETURN(const RemoveResult done,
                          RollBack(loaded.server, options.gallery, *options.generation));
    return TellRemoved(common, options, done);
  }
  if (options.expired) {
    HEFT_ASSIGN_OR_RETURN(const RemoveResult done, RemoveExpired(loaded.server, options.gallery));
    return TellRemoved(common, options, done);
  }
  if (!options.entries.empty()) {
    HEFT_ASSIGN_OR_RETURN(const auto entries, ParseEntries("--entry", options.entries));
    HEFT_ASSIGN_OR_RETURN(const RemoveResult done,
                          RejectPending(loaded.server, options.gallery, entries));
    return TellRemoved(common, options, done);
  }
  std::vector<uint8_t> authorisation;
  if (!options.authorisation.empty()) {
    HEFT_ASSIGN_OR_RETURN(authorisation, ReadFile(options.authorisation));
  }
  HEFT_ASSIGN_OR_RETURN(
      const RemoveResult done,
      Desk(loaded).Remove(options.gallery, options.identities, std::move(authorisation)));
  return TellRemoved(common, options, done);
}

absl::Status RunCompact(const Common& common, const RemovalFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  HEFT_ASSIGN_OR_RETURN(const CompactResult done, CompactGallery(loaded.server, options.gallery));
  for (const DamagedBlock& block : done.damaged) Warn(common, block.why);
  std::string text = absl::StrCat("the journal has joined ", done.blocks, " blocks");
  if (done.mended > 0) {
    absl::StrAppend(&text, "; ", done.mended, " damaged blocks were rebuilt from it");
  }
  if (done.records > 0) {
    absl::StrAppend(&text, "; ", done.records, " damaged records were written again or dropped");
  }
  if (done.sparse > 0) {
    absl::StrAppend(&text, "; ", done.sparse, " of them are sparse, or hold ", done.leaving,
                    " leaving templates: `heft-server gallery renew --compact` asks the key owner "
                    "to join them");
  }
  HEFT_RETURN_IF_ERROR(TellChange(common, options, done, ToJson(done), std::move(text)));
  return done.overwritten;
}

absl::Status RunRenew(const Common& common, const RemovalFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  HEFT_RETURN_IF_ERROR(CheckOutput(options.out));
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                        Desk(loaded).AskRenewal(options.gallery, {.compact = options.compact},
                                                {.life = options.life}, common.monitor));
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  Print(common, {{"out", options.out}, {"bytes", bytes.size()}},
        absl::StrCat("for the key owner (heft answer): ", options.out));
  return absl::OkStatus();
}

}  // namespace

void AddReceiptFolder(Command command, std::string* folder) {
  command.Add(
      "--receipts", folder,
      "folder for the signed receipts of erasure, one file each; the gallery also keeps them");
}

absl::Status InstallRenewal(const Common& common, const TrustedServer& server,
                            const ServerOptions& where, const std::string& receipts,
                            std::span<const uint8_t> answer, const std::string& name) {
  RemovalFlags options;
  options.gallery = where.gallery;
  options.receipts = receipts;
  HEFT_ASSIGN_OR_RETURN(const RenewResult done, Desk(server).Renew(where.gallery, answer, name));
  SayNevertheless("the renewal itself is complete");
  return TellChange(common, options, done, ToJson(done),
                    absl::StrCat("renewed ", done.blocks, " blocks, freed ", done.freed,
                                 "; erased ", done.erased, " templates, moved ", done.moved, ", ",
                                 done.leaving, " still wait for a renewal"));
}

absl::StatusOr<std::vector<std::string>> WriteReceipts(
    const std::string& folder, const std::vector<std::vector<uint8_t>>& receipts) {
  return Write(folder, receipts);
}

void AddGalleryRemove(Command group) {
  const auto [command, options] =
      AddChange(group, "remove",
                "remove people for good: they are no longer matched, and their data is erased",
                "gallery --identity ann --receipts receipts\n"
                "  heft-server gallery remove --model m.heft --keys evaluation.keys --gallery "
                "gallery --generation 41     # whoever was enrolled since",
                RunRemove);
  const Option identity =
      command.Add("--identity", &options->identities, "one or several identities");
  const Option expired =
      command.Add("--expired", &options->expired, "all expired people").Excludes(identity);
  const Option entry = command
                           .Add("--entry", &options->entries,
                                "pending enrolments, by their entries: those that are damaged, "
                                "which the key owner cannot decide (heft-server pending)")
                           .Excludes(identity)
                           .Excludes(expired);
  const Option generation =
      command
          .Add("--generation", &options->generation,
               "undo all enrolments after this generation, while the journal has them")
          .Excludes(identity)
          .Excludes(expired)
          .Excludes(entry);
  command.RequireOneOf(identity, expired, entry, generation);
  command
      .Add("--authorisation", &options->authorisation,
           "the registrar's authorisation, if the trust file lists a registrar (heft authorise "
           "--act remove)")
      .Needs(identity);
  AddReceiptFolder(command, &options->receipts);
}

void AddGalleryCompact(Command group) {
  const auto [command, options] =
      AddChange(group, "compact", "fold the journal into blocks and overwrite deleted data",
                "gallery", RunCompact);
  AddReceiptFolder(command, &options->receipts);
}

void AddGalleryRenew(Command group) {
  const auto [command, options] =
      AddChange(group, "renew", "ask the key owner to renew blocks without their leaving templates",
                "gallery --out request.heft", RunRenew);
  command.Add("-o,--out", &options->out, "file for the key owner (heft answer)").Required();
  command.Add("--compact", &options->compact, "also join sparse blocks");
  AddLife(command, &options->life);
}

}  // namespace heft::cli
