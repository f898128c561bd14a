// SPDX-License-Identifier: Apache-2.0
// BlobCache: long values of a database beside the server, in files that processes share and map.
// They are named by the hash of what they hold, so none is ever stale: which of them a state has,
// the database says. What was fetched is held against its hash before it is kept, and a file
// against its checksum when a process maps it first; what does not fit is removed, and fetched
// anew.
//
// A file is 80 bytes, so that the value begins as the store promises (kValueOffset modulo
// kValueAlignment), and the value: "HEFTBLB1", the value's length, its hash, its checksum (XXH3)
// and the header's own, zeros. Of a crash or another's hand the checksum tells; whoever may write
// as this user may do worse.
#ifndef HEFT_POSTGRES_BLOB_CACHE_H_
#define HEFT_POSTGRES_BLOB_CACHE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// Blob: bytes that begin where a store's long values do, mapped from a file or in memory.
class Blob {
 public:
  // Copied: in memory.
  static std::shared_ptr<const Blob> Copied(ByteSpan bytes);
  Blob(ByteSpan bytes, std::shared_ptr<const void> memory)
      : bytes_(bytes), memory_(std::move(memory)) {}
  ByteSpan bytes() const { return bytes_; }

 private:
  const ByteSpan bytes_;
  const std::shared_ptr<const void> memory_;
};

// BlobCache: any number of threads, and of processes with caches in the same folder.
class BlobCache {
 public:
  // Open: at most about `most` bytes in the folder, which is made, for this user alone.
  // kFailedPrecondition for a folder that is another's or that others may write to. Where it cannot
  // be written, what is in it serves, and nothing is added.
  static absl::StatusOr<std::shared_ptr<BlobCache>> Open(const std::string& folder, uint64_t most);

  // Find: nothing where it is not there.
  std::shared_ptr<const Blob> Find(const Hash& hash, uint64_t size);
  // Keep: what was fetched. kDataLoss where that has another hash. In memory alone where the folder
  // does not take it.
  absl::StatusOr<std::shared_ptr<const Blob>> Keep(const Hash& hash, ByteSpan bytes);
  // Wipe: files of blobs that `live` does not know are overwritten and removed. Of a blob that
  // nobody reads any more. kUnavailable where the system refuses.
  absl::Status Wipe(const std::function<bool(const Hash&)>& live);

  struct Use {
    uint64_t found = 0, kept = 0;  // in all, by this process
    uint64_t damaged = 0;          // files that were removed
    uint64_t refused = 0;          // not kept: no room, or no permission
  };
  Use use() const;

 private:
  struct Mapped {
    std::shared_ptr<const Blob> blob;
    uint64_t inode;  // of the file when it was mapped
    absl::Time touched;
    std::list<Hash>::iterator turn;
  };
  BlobCache(std::string folder, uint64_t most) : folder_(std::move(folder)), most_(most) {}
  std::string Path(const Hash& hash) const;
  std::shared_ptr<const Blob> FindMapped(const Hash& hash, uint64_t size);
  absl::StatusOr<std::shared_ptr<const Blob>> Map(const Hash& hash, uint64_t size);
  absl::Status Write(const Hash& hash, ByteSpan bytes);
  void Remember(const Hash& hash, std::shared_ptr<const Blob> blob, uint64_t inode);
  void Forget(std::map<Hash, Mapped>::iterator it);
  void MakeRoom(uint64_t size);

  const std::string folder_;
  const uint64_t most_;
  mutable std::mutex mutex_;
  std::map<Hash, Mapped> mapped_;
  std::list<Hash> turns_;  // those that were asked for last stand first
  uint64_t mapped_bytes_ = 0;
  std::optional<uint64_t> in_files_;  // bytes, when last counted, and what was added since
  uint64_t added_ = 0;
  Use use_;
};

}  // namespace heft

#endif  // HEFT_POSTGRES_BLOB_CACHE_H_
