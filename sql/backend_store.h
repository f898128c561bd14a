// SPDX-License-Identifier: Apache-2.0
// The store of the database that this backend is of: its tables over SPI, its cache of blocks and
// the server's own files in the folder heft.state_directory.
#ifndef HEFT_SQL_BACKEND_STORE_H_
#define HEFT_SQL_BACKEND_STORE_H_

#include <cstdint>
#include <string>

#include "heft/gallery.h"

namespace heft::sql {

// UseBackendStore: of the database of this name; the server's own files are in `folder`, which is
// heft.state_directory, below stores/postgres/NAME. `cache_bytes`: 0 for no cache.
void UseBackendStore(const std::string& folder, const std::string& database, uint64_t cache_bytes);
// LocalFolder: that folder.
std::string LocalFolder();
// AddressOf: of a gallery of this name, as heft/gallery.h takes it.
std::string AddressOf(const std::string& gallery);
// OpenGallery: the state that the calling query sees; what was found out about its blocks before is
// not found out again.
absl::StatusOr<Gallery> OpenGallery(const std::string& gallery);

}  // namespace heft::sql

#endif  // HEFT_SQL_BACKEND_STORE_H_
