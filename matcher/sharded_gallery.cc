// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/inside.h"
#include "base/status.h"
#include "heft/shards.h"
#include "matcher/server_impl.h"

namespace heft {
namespace {

// A bucket that was made, if it has never had a template.
absl::StatusOr<GalleryId> TakeEmpty(const Server& server, const std::string& bucket) {
  HEFT_RETURN_IF_ERROR(
      Inside::Of(server).OpenGallery(bucket, /*create=*/false).status());  // that it fits
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo info, DescribeGallery(bucket));
  if (info.places == 0 && info.pending == 0) return info.gallery_id;
  return absl::AlreadyExistsError(absl::StrCat(
      "there is a gallery ", bucket, " already, and it is not empty: choose another name"));
}

}  // namespace

absl::StatusOr<ShardList> CreateShards(const Server& server, const std::string& gallery,
                                       uint32_t buckets, const Retained& retained) {
  const std::string name = gallery.substr(gallery.rfind(':') + 1);  // npos + 1 is 0
  // Before anything is made.
  if (buckets == 0 || buckets > kMaxBuckets) {
    return absl::InvalidArgumentError(
        absl::StrCat("a gallery has 1 to ", kMaxBuckets, " buckets, and not ", buckets));
  }
  if (Gallery::Open(BucketAddress(gallery, buckets)).ok()) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is a gallery ", BucketAddress(gallery, buckets),
                     " already, with another number of buckets: choose another name"));
  }
  std::vector<GalleryId> ids;
  for (uint32_t i = 0; i < buckets; ++i) {
    const std::string bucket = BucketAddress(gallery, i);
    auto id = CreateGallery(server, bucket, retained);
    if (absl::IsAlreadyExists(id.status())) id = TakeEmpty(server, bucket);
    HEFT_RETURN_IF_ERROR(id.status());
    ids.push_back(*id);
  }
  return ShardList::Make(name, std::move(ids));
}

absl::StatusOr<Gallery> OpenBucket(const std::string& gallery, const ShardList& shards,
                                   uint32_t bucket) {
  const std::string address = BucketAddress(gallery, bucket);
  HEFT_ASSIGN_OR_RETURN(Gallery opened, Gallery::Open(address));
  if (bucket < shards.size() && opened.id() == shards.buckets()[bucket]) return opened;
  return absl::FailedPreconditionError(absl::StrCat(
      address, " is gallery ", HexString(opened.id()), ", and not bucket ", bucket, " of ",
      shards.gallery(), " as the shard list says: give the gallery's own list"));
}

absl::StatusOr<std::vector<Gallery>> OpenBuckets(const std::string& gallery,
                                                 const ShardList& shards) {
  std::vector<Gallery> out;
  for (uint32_t i = 0; i < shards.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(Gallery bucket, OpenBucket(gallery, shards, i));
    out.push_back(std::move(bucket));
  }
  return out;
}

absl::StatusOr<EnrolResult> EnrolInShards(const Server& server, const std::string& gallery,
                                          const ShardList& shards,
                                          const std::vector<SampleFile>& files,
                                          const EnrolOptions& options, const Monitor& monitor) {
  HEFT_RETURN_IF_ERROR(OpenBuckets(gallery, shards).status());
  EnrolOptions each = options;
  if (each.idempotency_key.empty()) {
    std::vector<std::span<const uint8_t>> views;
    for (const SampleFile& file : files) views.push_back(file.bytes);
    each.idempotency_key = HexString(FilesDigest(views));
  }
  EnrolResult all;
  all.repeated = true;
  for (uint32_t i = 0; i < shards.size(); ++i) {
    each.bucket = {i, shards.size()};
    const auto done = server.Enrol(BucketAddress(gallery, i), files, each, monitor);
    if (absl::IsNotFound(done.status())) continue;  // nobody belongs here
    if (!done.ok() && all.brought > 0) {
      return absl::Status(done.status().code(),
                          absl::StrCat(done.status().message(), "; ", all.brought,
                                       " templates are pending in buckets before ", i,
                                       ": ask again to enrol the rest"));
    }
    HEFT_RETURN_IF_ERROR(done.status());
    all.brought += done->brought;
    all.pending += done->pending;
    all.templates += done->templates;
    all.blocks += done->blocks;
    all.repeated = all.repeated && done->repeated;
  }
  return all;
}

}  // namespace heft
