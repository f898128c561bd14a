// SPDX-License-Identifier: Apache-2.0
// Sharded galleries: one that is divided into a fixed number of buckets, each an ordinary gallery
// with an id, a generation and signatures of its own, on whatever machine. Who is enrolled where
// follows from the identity alone. The shard list says which galleries are the buckets of one; the
// key owner has it over a way of his own, as the trust file, and so sees that he has the replies of
// the whole (KeyOwner::Open). Link heft::server.
//
//   auto list = heft::ShardList::Load("people.shards");
//   const uint32_t bucket = list->BucketOf("ann");          // 2 of 8
//   heft::BucketAddress("store:people", bucket);            // "store:people.002"
#ifndef HEFT_SHARDS_H_
#define HEFT_SHARDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/trust.h"

namespace heft {

// kMostBuckets: of a gallery, so that three digits count them.
inline constexpr uint32_t kMostBuckets = 1000;

// BucketOf: the bucket of `identity` among `buckets`, at least 1: the first eight bytes of
// BLAKE2b-256 of the identity's bytes, as a little-endian integer, modulo `buckets`.
HEFT_EXPORT uint32_t BucketOf(std::string_view identity, uint32_t buckets);

// BucketAddress: GALLERY.007 of GALLERY, which is a gallery's name, or FOLDER:NAME.
HEFT_EXPORT std::string BucketAddress(std::string_view gallery, uint32_t bucket);

class HEFT_EXPORT ShardList {
 public:
  // kInvalidArgument unless `gallery` could be an identity's name, and `buckets` are 1 to
  // kMostBuckets ids, none of them zeros and no two the same.
  static absl::StatusOr<ShardList> Make(std::string gallery, std::vector<GalleryId> buckets);
  // A text file (docs/formats.md). kDataLoss for what is no shard list, and `what` names it; Load:
  // also kNotFound, kUnavailable.
  static absl::StatusOr<ShardList> Parse(std::string_view text, std::string_view what);
  static absl::StatusOr<ShardList> Load(const std::string& path);
  std::string Serialize() const;
  // Replaces the file.
  absl::Status Save(const std::string& path) const;

  const std::string& gallery() const { return gallery_; }
  // Id: of the gallery as a whole, by which decisions on it name it (docs/formats.md).
  GalleryId Id() const;
  // The ids, in the order of the buckets.
  const std::vector<GalleryId>& buckets() const { return buckets_; }
  uint32_t size() const { return static_cast<uint32_t>(buckets_.size()); }
  uint32_t BucketOf(std::string_view identity) const { return heft::BucketOf(identity, size()); }
  // Which bucket a gallery is; none of them: nothing.
  std::optional<uint32_t> Find(const GalleryId& id) const;
  bool operator==(const ShardList&) const = default;

 private:
  ShardList(std::string gallery, std::vector<GalleryId> buckets)
      : gallery_(std::move(gallery)), buckets_(std::move(buckets)) {}
  std::string gallery_;
  std::vector<GalleryId> buckets_;
};

}  // namespace heft

#endif  // HEFT_SHARDS_H_
