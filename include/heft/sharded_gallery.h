// SPDX-License-Identifier: Apache-2.0
// A gallery in buckets that lie in one store (heft/shards.h): made, opened and enrolled into as a
// whole. On several machines each bucket is asked where it lies, and the list says which they are.
// Link heft::server.
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

// CreateShards: `buckets` empty galleries, BucketAddress(gallery, ...), and their list, for the key
// owner and all who ask them. Of one that was begun and not finished, buckets that are there and
// empty are taken. kAlreadyExists for one in which somebody is enrolled or waits; errors of
// CreateGallery, ShardList::Make.
HEFT_EXPORT absl::StatusOr<ShardList> CreateShards(const Server& server, const std::string& gallery,
                                                   uint32_t buckets, const Retained& retained = {});

// OpenBucket: the bucket of that number. OpenBuckets: all of them, in order. kFailedPrecondition
// where the gallery of that name is not the one that the list says; errors of Gallery::Open.
HEFT_EXPORT absl::StatusOr<Gallery> OpenBucket(const std::string& gallery, const ShardList& shards,
                                               uint32_t bucket);
HEFT_EXPORT absl::StatusOr<std::vector<Gallery>> OpenBuckets(const std::string& gallery,
                                                             const ShardList& shards);

// EnrolInShards: each sample into the bucket of its identity: in each bucket all or none of them.
// Who asks again after a failure brings what is missing, and nothing twice: without an idempotency
// key it is the digest of the files. `repeated`: of all buckets. kInvalidArgument for samples that
// were encrypted in bulk; otherwise errors of OpenBuckets and Server::Enrol.
HEFT_EXPORT absl::StatusOr<EnrolResult> EnrolInShards(const Server& server,
                                                      const std::string& gallery,
                                                      const ShardList& shards,
                                                      const std::vector<SampleFile>& files,
                                                      const EnrolOptions& options = {},
                                                      const Monitor& monitor = {});

}  // namespace heft

#endif  // HEFT_SHARDED_GALLERY_H_
