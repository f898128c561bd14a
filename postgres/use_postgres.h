// SPDX-License-Identifier: Apache-2.0
// Galleries at "postgres:SERVICE" (docs/gallery.md, "In PostgreSQL"), for programs that support
// them.
#ifndef HEFT_POSTGRES_USE_POSTGRES_H_
#define HEFT_POSTGRES_USE_POSTGRES_H_

#include <cstdint>

namespace heft {

// kBlobCacheBytes: for each service, unless $HEFT_BLOB_CACHE_BYTES is set.
inline constexpr uint64_t kBlobCacheBytes = uint64_t{64} << 30;

// UsePostgres: enables such stores in this process. `cache`: bytes of each store's cache.
void UsePostgres(uint64_t cache = 0);

}  // namespace heft

#endif  // HEFT_POSTGRES_USE_POSTGRES_H_
