// SPDX-License-Identifier: Apache-2.0
// BlobCache: a cache for a database's long values, in files that processes share and map. A file is
// named by the hash of its value, so it is never stale; the database says which hashes a state has.
// A fetched value is compared with its hash before it is stored, and a file with its checksum when
// a process first maps it. A damaged file is removed, and its value fetched again.
//
// A file has a header of 80 bytes and the value, so that the value is aligned as the store promises
// (kValueOffset modulo kValueAlignment). The header: "HEFTBLB1", the value's length, its hash, its
// checksum (XXH3), the header's own checksum, zeros. The checksum detects damage by crashes and
// others. It does not protect against a process that may write as this user.
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

// Blob: bytes with the alignment of a store's long values, mapped from a file or in memory.
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

// BlobCache: for any number of threads, and of processes with caches in the same folder.
class BlobCache {
 public:
  // Open: keeps at most about `most` bytes in the folder, which is created for this user only.
  // kFailedPrecondition if another user owns the folder or may write to it. If it is not writable,
  // its files are used and none is added.
  static absl::StatusOr<std::shared_ptr<BlobCache>> Open(const std::string& folder, uint64_t most);

  // Find: nothing if it is not in the cache.
  std::shared_ptr<const Blob> Find(const Hash& hash, uint64_t size);
  // Keep: stores a fetched value. kDataLoss if its hash differs. The value is in memory only if the
  // folder cannot take it.
  absl::StatusOr<std::shared_ptr<const Blob>> Keep(const Hash& hash, ByteSpan bytes);
  // Wipe: overwrites and removes files of blobs for which `live` is false. No reader may need them.
  // kUnavailable if the system refuses.
  absl::Status Wipe(const std::function<bool(const Hash&)>& live);

  struct Use {
    uint64_t found = 0, kept = 0;  // in total, by this process
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
  std::list<Hash> turns_;  // the most recently used first
  uint64_t mapped_bytes_ = 0;
  std::optional<uint64_t> in_files_;  // bytes at the last count, and added since
  uint64_t added_ = 0;
  Use use_;
};

}  // namespace heft

#endif  // HEFT_POSTGRES_BLOB_CACHE_H_
