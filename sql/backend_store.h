// SPDX-License-Identifier: Apache-2.0
// The store of this backend's database: its tables over SPI, its cache of blocks, and the server's
// own files in the folder heft.state_directory.
#ifndef HEFT_SQL_BACKEND_STORE_H_
#define HEFT_SQL_BACKEND_STORE_H_

#include <cstdint>
#include <string>

#include "heft/gallery.h"

namespace heft::sql {

// UseBackendStore: for the database of this name. The server's own files are below `folder`
// (heft.state_directory), in stores/postgres/NAME. `cache_bytes`: 0 for no cache.
void UseBackendStore(const std::string& folder, const std::string& database, uint64_t cache_bytes);
// LocalFolder: that folder.
std::string LocalFolder();
// AddressOf: the address of a gallery of this name, for heft/gallery.h.
std::string AddressOf(const std::string& gallery);
// OpenGallery: the gallery at this address in the state that the calling query sees. Earlier
// results of checks of its blocks are reused.
absl::StatusOr<Gallery> OpenGallery(const std::string& address);

}  // namespace heft::sql

#endif  // HEFT_SQL_BACKEND_STORE_H_
