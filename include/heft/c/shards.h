// SPDX-License-Identifier: Apache-2.0
// Galleries in buckets (heft/shards.h, heft/sharded_gallery.h): each bucket is an ordinary gallery,
// GALLERY.000 and so on, and the identity determines the bucket. A probe is matched against all
// buckets, and the key owner opens all replies as one search (heft_key_owner_open_shards).
#ifndef HEFT_C_SHARDS_H_
#define HEFT_C_SHARDS_H_

#include "heft/c/base.h"
#include "heft/c/gallery.h"
#include "heft/c/matcher.h"
#include "heft/c/trust.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_shards: the shard list, which names the galleries that are the buckets (ShardList). The key
// owner must receive it from a trusted source.
typedef struct heft_shards heft_shards;
// Creates a list from `count` gallery ids in the order of the buckets, from a text, which `what`
// names in errors, or from a file. Saving replaces the file.
HEFT_C_API heft_status heft_shards_make(const char* gallery, const char* const* buckets,
                                        size_t count, heft_shards** shards, heft_error** error);
HEFT_C_API heft_status heft_shards_parse(heft_bytes text, const char* what, heft_shards** shards,
                                         heft_error** error);
HEFT_C_API heft_status heft_shards_load(const char* path, heft_shards** shards, heft_error** error);
HEFT_C_API heft_status heft_shards_save(const heft_shards* shards, const char* path,
                                        heft_error** error);
HEFT_C_API void heft_shards_free(heft_shards* shards);
HEFT_C_FREE_AT(shards)
// gallery, gallery_id (of the whole, as in decisions), buckets [id], text (as saved).
HEFT_C_API heft_status heft_shards_describe(const heft_shards* shards, heft_result** result,
                                            heft_error** error);
// The bucket of an identity: bucket, gallery_id, address (the name that opens it, FOLDER:NAME.003
// for `gallery` FOLDER:NAME; BucketOf, BucketAddress).
HEFT_C_API heft_status heft_shards_find(const heft_shards* shards, const char* gallery,
                                        const char* identity, heft_result** result,
                                        heft_error** error);

// heft_shards_create: creates `buckets` empty galleries in one store, and their list
// (CreateShards). Options: "retention_seconds", "retention_bytes".
HEFT_C_API heft_status heft_shards_create(const heft_matcher* matcher, const char* gallery,
                                          uint32_t buckets, const heft_options* options,
                                          heft_shards** shards, heft_error** error);
// heft_shards_open: opens one bucket. HEFT_FAILED_PRECONDITION if the list has another id for the
// gallery of that name.
HEFT_C_API heft_status heft_shards_open(const heft_shards* shards, const char* gallery,
                                        uint32_t bucket, heft_gallery** opened, heft_error** error);
// heft_shards_enrol: enrols each sample into the bucket of its identity (EnrolInShards); in each
// bucket all or none. A repetition after a failure adds the missing samples. Options and result: as
// heft_matcher_enrol.
HEFT_C_API heft_status heft_shards_enrol(const heft_shards* shards, const heft_matcher* matcher,
                                         const char* gallery, const heft_files* files,
                                         const heft_options* options, const heft_trust* trust,
                                         heft_monitor monitor, void* user, heft_result** result,
                                         heft_error** error);
// heft_shards_identify: identifies one probe in all buckets (of one store), as one request that is
// answered once. `take` receives the reply of each bucket, by its number. Options: as
// heft_matcher_identify.
HEFT_C_API heft_status heft_shards_identify(const heft_shards* shards, const heft_matcher* matcher,
                                            const char* gallery, const heft_files* files,
                                            const heft_options* options, const heft_trust* trust,
                                            heft_take_reply take, heft_monitor monitor, void* user,
                                            heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_SHARDS_H_
