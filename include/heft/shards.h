// SPDX-License-Identifier: Apache-2.0
// Sharded galleries: a gallery that is divided into a fixed number of buckets. Each bucket is an
// ordinary gallery with its own id, generation and signatures, on any machine. The identity alone
// determines the bucket. The shard list names the galleries that are the buckets. The key owner
// must receive it from a trusted source, as the trust file; with it KeyOwner::Open checks that the
// replies of all buckets are present. Link heft::server.
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
#include "heft/base.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// kMaxBuckets: the largest number of buckets of a gallery; three digits number them.
inline constexpr uint32_t kMaxBuckets = 1000;

// BucketOf: the bucket of `identity` among `buckets`, at least 1: the first eight bytes of
// SHA-256 of the identity's bytes, as a little-endian integer, modulo `buckets`.
HEFT_EXPORT uint32_t BucketOf(std::string_view identity, uint32_t buckets);

// BucketAddress: GALLERY.007 for GALLERY, which is a gallery's name, or FOLDER:NAME.
HEFT_EXPORT std::string BucketAddress(std::string_view gallery, uint32_t bucket);

class HEFT_EXPORT ShardList {
 public:
  // kInvalidArgument unless `gallery` is a valid identity, and `buckets` are 1 to kMaxBuckets
  // different ids, none of them zeros.
  static absl::StatusOr<ShardList> Make(std::string gallery, std::vector<GalleryId> buckets);
  // Reads a text file (docs/formats.md). kDataLoss for other files; `what` names the text in
  // errors. Load: also kNotFound, kUnavailable.
  static absl::StatusOr<ShardList> Parse(std::string_view text, std::string_view what);
  static absl::StatusOr<ShardList> Load(const std::string& path);
  std::string Serialize() const;
  // Replaces the file.
  absl::Status Save(const std::string& path) const;

  const std::string& gallery() const { return gallery_; }
  // Id: the id of the gallery as a whole, which decisions state (docs/formats.md).
  GalleryId Id() const;
  // The ids, in the order of the buckets.
  const std::vector<GalleryId>& buckets() const { return buckets_; }
  uint32_t size() const { return static_cast<uint32_t>(buckets_.size()); }
  uint32_t BucketOf(std::string_view identity) const { return heft::BucketOf(identity, size()); }
  // The number of the bucket with this id, if there is one.
  std::optional<uint32_t> Find(const GalleryId& id) const;
  bool operator==(const ShardList&) const = default;

 private:
  ShardList(std::string gallery, std::vector<GalleryId> buckets)
      : gallery_(std::move(gallery)), buckets_(std::move(buckets)) {}
  std::string gallery_;
  std::vector<GalleryId> buckets_;
};

// A gallery in buckets within one store: creating it, opening it and enrolling into it as a whole.
// If buckets are on several machines, each bucket is queried on its own machine; the list names the
// buckets. Link heft::server.
//
//   auto shards = heft::CreateShards(*server, "store:people", 8);   // store:people.000 to .007
//   auto waiting = heft::EnrolInShards(*server, "store:people", *shards, people);
//   auto buckets = heft::OpenBuckets("store:people", *shards);
//   auto first = server->Identify((*buckets)[0], probe);            // all: KeyOwner::Open

// CreateShards: creates `buckets` empty galleries, BucketAddress(gallery, ...), and their list, for
// the key owner and all clients. Empty buckets of an earlier, unfinished call are used.
// kAlreadyExists if a bucket has templates, also pending ones; errors of CreateGallery,
// ShardList::Make.
HEFT_EXPORT absl::StatusOr<ShardList> CreateShards(const Server& server, const std::string& gallery,
                                                   uint32_t buckets, const Retained& retained = {});

// OpenBucket: the bucket of that number. OpenBuckets: all of them, in order. kFailedPrecondition if
// the list has another id for the gallery of that name; errors of Gallery::Open.
HEFT_EXPORT absl::StatusOr<Gallery> OpenBucket(const std::string& gallery, const ShardList& shards,
                                               uint32_t bucket);
HEFT_EXPORT absl::StatusOr<std::vector<Gallery>> OpenBuckets(const std::string& gallery,
                                                             const ShardList& shards);

// EnrolInShards: enrols each sample into the bucket of its identity; in each bucket all or none. A
// repetition after a failure adds the missing samples and enrols nothing twice: the default
// idempotency key is the digest of the files. `repeated`: in all buckets. kInvalidArgument for
// samples that were encrypted in bulk; errors of OpenBuckets and Server::Enrol.
HEFT_EXPORT absl::StatusOr<EnrolResult> EnrolInShards(const Server& server,
                                                      const std::string& gallery,
                                                      const ShardList& shards,
                                                      const std::vector<SampleFile>& files,
                                                      const EnrolOptions& options = {},
                                                      const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_SHARDS_H_
