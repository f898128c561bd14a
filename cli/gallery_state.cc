// SPDX-License-Identifier: Apache-2.0
// create; stats: the state of a gallery, and whether it is intact; list: its templates, or the
// people that it has erased.
#include <algorithm>
#include <iostream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/gallery_commands.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "heft/results.h"
#include "program/metadata_options.h"

namespace heft::cli {
namespace {

struct CreateOptions : ServerOptions {
  uint64_t retention = Retained().seconds;
  uint32_t buckets = 0;

  Retained Kept() const { return {.seconds = retention}; }
};

// A gallery in buckets, and its shard list, which every client of the buckets needs.
absl::Status CreateInBuckets(const Common& common, const CreateOptions& options, const Desk& desk) {
  HEFT_ASSIGN_OR_RETURN(const ShardList shards,
                        desk.CreateInBuckets(options.gallery, options.buckets, options.Kept()));
  SayNevertheless("the buckets exist: repeat the command, and it uses them");
  HEFT_RETURN_IF_ERROR(WriteResult(options.shards, shards.Serialize()));
  Json json = {{"gallery", options.gallery}, {"shards", options.shards}};
  json["buckets"] = Json::array();
  for (const GalleryId& id : shards.buckets()) json["buckets"].push_back(HexString(id));
  Print(common, json,
        absl::StrCat("made ", options.gallery, " in ", options.buckets, " buckets, ",
                     BucketAddress(options.gallery, 0), " to ",
                     BucketAddress(options.gallery, options.buckets - 1),
                     "; for the key owner: ", options.shards));
  return absl::OkStatus();
}

absl::Status RunCreate(const Common& common, const CreateOptions& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  if (options.buckets > 0) return CreateInBuckets(common, options, loaded);
  HEFT_ASSIGN_OR_RETURN(const GalleryId id, Desk(loaded).Create(options.gallery, options.Kept()));
  SayNevertheless("the gallery itself was made");
  Print(common, {{"gallery", options.gallery}, {"gallery_id", HexString(id)}},
        absl::StrCat("made gallery ", options.gallery, ", id ", HexString(id)));
  return absl::OkStatus();
}

struct StateFlags {
  std::string gallery, model, out;
  ListOptions list;
  bool verify = false, erased = false;
  std::vector<std::string> where;
  int wait = kWriterWait;
};

absl::StatusOr<GalleryInfo> Read(const StateFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const auto model, LoadModelIfGiven(options.model));
  return DescribeGallery(options.gallery, model ? &*model : nullptr);
}

std::string HeadText(const GalleryInfo& info) {
  return absl::StrCat(
      "gallery ", info.name, ", id ", HexString(info.gallery_id), ", made ", TimeText(info.started),
      "\nmodel ", HexString(info.model_id), ", key ", HexString(info.key_id), ", ", info.gamma,
      " dimensions\ngeneration ", info.generation, ", root ", HexString(info.root), "\n",
      info.templates, " templates in ", info.places, " places of ", info.blocks, " blocks; ",
      info.pending, " are pending, ", info.leaving,
      " are leaving\ngalleries of the store: ", absl::StrJoin(info.galleries, ", "));
}

// The bytes of the store's files that its newest state does not use.
uint64_t FreeBytes(const GalleryInfo& info) {
  return info.store_bytes - std::min(info.store_bytes, info.store_live_bytes);
}

// Reads all of the gallery and records the result in it.
absl::Status Verify(const Common& common, const StateFlags& options) {
  SetWriterWait(options.wait);
  HEFT_ASSIGN_OR_RETURN(const auto model, LoadModelIfGiven(options.model));
  HEFT_ASSIGN_OR_RETURN(const VerifyResult found,
                        VerifyGallery(options.gallery, model ? &*model : nullptr, common.monitor));
  if (!found.recorded.ok()) {
    Warn(common, absl::StrCat("the result could not be recorded in the gallery: ",
                              found.recorded.message()));
  }
  Print(common, ToJson(found),
        found.intact
            ? absl::StrCat("intact: ", found.blocks, " blocks, generation ", found.generation)
            : absl::StrJoin(found.complaints, "\n"));
  if (found.intact) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      options.gallery, ": damaged",
      found.damaged.empty() ? ""
                            : absl::StrCat(" (blocks ", absl::StrJoin(found.damaged, ", "), ")"),
      ": `heft-server gallery compact` mends what it can; otherwise restore it from a snapshot "
      "(`heft-server gallery restore`). Everything else still works"));
}

absl::Status RunStats(const Common& common, const StateFlags& options) {
  if (options.verify) return Verify(common, options);
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, Read(options));
  std::string text = absl::StrCat(
      HeadText(info), "\n", info.freed, " places freed; journal: ", info.journal_entries,
      " entries, ", info.journal_bytes, " bytes, ", info.unfolded,
      " in no block yet\nstore: ", info.store_bytes, " bytes on disk, ", info.store_live_bytes,
      " in use, ", FreeBytes(info), " free, ", info.readers, " readers\nkey: since ",
      TimeText(info.key_since), "; verified: ", TimeText(info.verified));
  if (info.intact) absl::StrAppend(&text, *info.intact ? ", intact" : ", DAMAGED");
  absl::StrAppend(&text, "\nkey owner's journal: ",
                  info.owner_journal_entry == 0
                      ? std::string("no signed end of it was seen")
                      : absl::StrCat("signed up to entry ", info.owner_journal_entry));
  if (!info.owner_journal_fork.empty()) {
    absl::StrAppend(&text, "\nALARM: ", info.owner_journal_fork);
  }
  absl::StrAppend(&text, "\nnoise margin: ",
                  info.noise_margin ? absl::StrCat(*info.noise_margin) : "give --model");
  Print(common, ToJson(info), text);
  return absl::OkStatus();
}

// Columns of fixed width, as a gallery is listed while it is read; a longer name moves its row.
constexpr char kColumns[] = "%-24s  %-20s  %-7s  %-20s  %8s  %s\n";

std::string HeaderText() {
  return absl::StrFormat(kColumns, "identity", "enrolled at", "state", "expires", "position",
                         "metadata");
}

std::string TemplateText(const ListedTemplate& t) {
  const bool pending = t.state == TemplateState::kPending;
  std::vector<std::string> metadata;
  for (const MetadataPair& pair : t.metadata) metadata.push_back(pair.key + "=" + pair.value);
  return absl::StrFormat(kColumns, t.identity, pending ? "-" : TimeText(t.enrolled, "unknown"),
                         TemplateStateName(t.state), pending ? "-" : TimeText(t.expires),
                         pending ? "-" : absl::StrCat(t.position), absl::StrJoin(metadata, " "));
}

absl::Status ListErased(const Common& common, const StateFlags& options) {
  HEFT_ASSIGN_OR_RETURN(const auto receipts, Receipts(options.gallery));
  Json json = {{"receipts", Json::array()}};
  std::string text;
  for (const std::vector<uint8_t>& receipt : receipts) {
    HEFT_ASSIGN_OR_RETURN(const ErasureReceipt says, ReadReceipt(receipt, "the gallery's receipt"));
    json["receipts"].push_back(ToJson(says));
    absl::StrAppend(&text, "generation ", says.generation, ": erased ", TimeText(says.erased), ":");
    for (size_t i = 0; i < says.persons.size(); ++i) {
      absl::StrAppend(&text, " ", says.persons[i], " (removed ", TimeText(says.removed[i]), ")");
    }
    text += '\n';
  }
  if (!options.out.empty()) {
    HEFT_ASSIGN_OR_RETURN(json["files"], WriteReceipts(options.out, receipts));
  }
  Print(common, json, text.empty() ? "no person has been erased" : text);
  return absl::OkStatus();
}

// Written while it is read, because a gallery may be larger than memory.
absl::Status RunList(const Common& common, const StateFlags& options) {
  if (options.erased) return ListErased(common, options);
  ListOptions list = options.list;
  HEFT_ASSIGN_OR_RETURN(list.where, ParseConditions(options.where));
  list.pending = true;
  const char* before = common.json ? "{\"templates\": [\n" : "";
  if (!common.json) std::cout << HeaderText();
  const auto next = ListTemplates(options.gallery, list, [&](const ListedTemplate& t) {
    std::cout << before << (common.json ? ToJson(t).dump(-1) : TemplateText(t));
    before = common.json ? ",\n" : "";
    if (Interrupted()) return absl::CancelledError("interrupted");
    return std::cout ? absl::OkStatus() : absl::UnavailableError("cannot write to stdout");
  });
  HEFT_RETURN_IF_ERROR(next.status());
  if (common.json) {
    std::cout << (*before == ',' ? "" : before)
              << "\n], \"next\": " << (*next ? absl::StrCat(**next) : "null") << "}\n";
  } else if (*next) {
    std::cerr << "heft: there are more: --from " << **next << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddGalleryCreate(Command group) {
  const auto [command, options] =
      AddChange(group, "create", "make an empty gallery for templates under a model and keys",
                "store:visitors", RunCreate);
  const Option buckets = command
                             .Add("--buckets", &options->buckets,
                                  "divide it into this many buckets, NAME.000 and on, for a "
                                  "gallery on several machines (docs/scale.md)")
                             .Range(1, kMaxBuckets);
  const Option shards =
      command.Add("--shards", &options->shards,
                  "shard list to write, for the key owner and for searches of the buckets");
  shards.Needs(buckets);
  buckets.Needs(shards);
  command
      .Add("--retention", &options->retention,
           "seconds for which enrolments can be rolled back, or removed without the key owner")
      .ShowDefault();
}

void AddGalleryStats(Command group) {
  const auto [command, options] = AddReading(
      group, "stats",
      "show a gallery's sizes, journal, noise, age of the key and last check, or check it now",
      " --model m.heft --json\n"
      "  heft-server gallery stats --gallery gallery --model m.heft --verify",
      RunStats);
  command.Add(
      "-m,--model", &options->model,
      "model file: needed for the noise margin; with --verify, residues are checked against "
      "its primes");
  const Option verify =
      command.Add("--verify", &options->verify,
                  "read all of the gallery, check it against its hashes, and name damaged parts");
  AddWait(command, &options->wait).Needs(verify);
}

void AddGalleryList(Command group) {
  const auto [command, options] =
      AddReading(group, "list", "list who is enrolled in a gallery, since when and in which state",
                 " --from 0 --count 100 --where site=berlin\n"
                 "  heft-server gallery list --gallery gallery --erased --out receipts",
                 RunList);
  const Option from = command.Add("--from", &options->list.from, "first position").ShowDefault();
  const Option count =
      command.Add("--count", &options->list.count, "maximum number; 0: all").ShowDefault();
  const Option where = AddWhere(command, &options->where);
  const Option erased =
      command
          .Add("--erased", &options->erased,
               "list the people who were erased instead, by the gallery's signed receipts")
          .Excludes(from)
          .Excludes(count)
          .Excludes(where);
  command.Add("-o,--out", &options->out, "with --erased: folder for the receipts, one file each")
      .Needs(erased);
}

}  // namespace heft::cli
