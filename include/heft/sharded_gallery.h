// SPDX-License-Identifier: Apache-2.0
// A gallery in buckets within one store (heft/shards.h): creating it, opening it and enrolling into
// it as a whole. If buckets are on several machines, each bucket is queried on its own machine; the
// list names the buckets. Link heft::server.
//
//   auto shards = heft::CreateShards(*server, "store:people", 8);   // store:people.000 to .007
//   auto waiting = heft::EnrolInShards(*server, "store:people", *shards, people);
//   auto buckets = heft::OpenBuckets("store:people", *shards);
//   auto first = server->Identify((*buckets)[0], probe);            // all: KeyOwner::Open
#ifndef HEFT_SHARDED_GALLERY_H_
#define HEFT_SHARDED_GALLERY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "heft/shards.h"

namespace heft {

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

#endif  // HEFT_SHARDED_GALLERY_H_
