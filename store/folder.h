// SPDX-License-Identifier: Apache-2.0
// The store in a folder:
//
//   store.sqlite      the tables, in SQLite, with -wal (its log) and -shm (the log's index)
//   store.blocks      long values (store/blocks.h)
//   lock              held by the writer
//
// `store/sqlite.h` has its parts.
#ifndef HEFT_STORE_FOLDER_H_
#define HEFT_STORE_FOLDER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/files.h"
#include "store/store.h"

namespace heft {

std::string StorePath(const std::string& folder);   // FOLDER/store.sqlite
std::string BlocksPath(const std::string& folder);  // FOLDER/store.blocks
// IsStoreFile: whether a file of this name in a store's folder is the store's own.
bool IsStoreFile(std::string_view name);

// OpenFolderStore, FolderStoreExists: as OpenStore and StoreExists, for a folder.
absl::StatusOr<std::shared_ptr<Store>> OpenFolderStore(const std::string& folder, StoreMode mode);
bool FolderStoreExists(const std::string& folder);

// LockStore: the writer's lock of the store in `folder`, which need not exist yet. Waiting writers
// get it in order of arrival (store/writer_queue.h). A writer that is next but does not take the
// lock for `patience` (it is suspended) is passed over.
absl::StatusOr<FileLock> LockStore(const std::string& folder, absl::Duration wait,
                                   absl::Duration patience = absl::Milliseconds(250));

// CreateStore: an empty store, unless there is one (store/build.cc).
absl::Status CreateStore(const std::string& folder);
// CopyStore: copies a state of any store, of about so many bytes, into a folder: Store::Copy.
absl::Status CopyStore(const std::string& folder, const StoreReader& from, uint64_t bytes,
                       const std::function<bool(uint64_t, uint64_t)>& progress);

}  // namespace heft

#endif  // HEFT_STORE_FOLDER_H_
