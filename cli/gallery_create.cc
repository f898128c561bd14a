// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "cli/gallery_commands.h"
#include "heft/sharded_gallery.h"

namespace heft::cli {
namespace {

struct Options : ServerOptions {
  size_t seconds = Retained{}.seconds, bytes = Retained{}.bytes;
  uint32_t buckets = 0;
};

// A gallery in buckets, and its list, which whoever asks them is to have.
absl::Status CreateInBuckets(const Common& common, const Options& options, const Server& server) {
  HEFT_ASSIGN_OR_RETURN(
      const ShardList shards,
      CreateShards(server, options.gallery, options.buckets, {options.seconds, options.bytes}));
  SayNevertheless("the buckets were made all the same: ask again, and they are taken");
  HEFT_RETURN_IF_ERROR(EquipGallery(BucketAddress(options.gallery, 0)).status());
  const std::string list = shards.Serialize();
  HEFT_RETURN_IF_ERROR(
      WriteResult(options.shards, {reinterpret_cast<const uint8_t*>(list.data()), list.size()}));
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

absl::Status Run(const Common& common, const Options& options) {
  HEFT_ASSIGN_OR_RETURN(const TrustedServer loaded, LoadServer(common, options, /*enrols=*/false));
  if (options.buckets > 0) return CreateInBuckets(common, options, loaded.server);
  HEFT_ASSIGN_OR_RETURN(const GalleryId id, CreateGallery(loaded.server, options.gallery,
                                                          {options.seconds, options.bytes}));
  SayNevertheless("the gallery was made all the same");
  HEFT_RETURN_IF_ERROR(EquipGallery(options.gallery).status());
  Print(common, {{"gallery", options.gallery}, {"gallery_id", HexString(id)}},
        absl::StrCat("made gallery ", options.gallery, ", id ", HexString(id)));
  return absl::OkStatus();
}

}  // namespace

void AddGalleryCreate(Command group) {
  const auto [command, options] = AddCommand(
      group, "create", "make an empty gallery for templates under a model and keys",
      "heft-server gallery create --model m.heft --keys evaluation.keys --gallery store:visitors",
      Run);
  AddGalleryOptions(command, options.get());
  AddWait(command, &options->wait);
  const Option buckets =
      command
          .Add("--buckets", &options->buckets,
               "divide it: so many galleries, NAME.000 and on, each with those of whom it is the "
               "bucket; for a gallery that is to lie on several machines (docs/scale.md)")
          .Range(1, kMostBuckets);
  const Option shards =
      command.Add("--shards", &options->shards,
                  "shard list to write: the key owner and whoever asks the buckets need it");
  shards.Needs(buckets);
  buckets.Needs(shards);
  command
      .Add("--retention", &options->seconds,
           "seconds for which enrolments can be rolled back, and removed by the server alone")
      .ShowDefault();
  command.Add("--retention-bytes", &options->bytes, "of them, so many bytes at most").ShowDefault();
}

}  // namespace heft::cli
