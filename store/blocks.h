// SPDX-License-Identifier: Apache-2.0
// The long values of a store, in one file beside its database (store.blocks):
//
//   page 0        "HEFTBLK1", the store's identity (16 bytes), zeros
//   a block       the value's length (u64), 8 bytes of zeros, the value, zeros to the page's end
//
// Pages have kBlockPage bytes. Tables of the database say which pages have blocks. So a value
// begins at kValueOffset modulo kValueAlignment, in the map that all readers of a process share.
#ifndef HEFT_STORE_BLOCKS_H_
#define HEFT_STORE_BLOCKS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

inline constexpr uint64_t kBlockPage = 4096;
inline constexpr uint64_t kRangeHeader = 16;
using StoreIdentity = std::array<uint8_t, 16>;

// BlockPages: the number of pages of a value.
inline uint64_t BlockPages(uint64_t size) {
  return (kRangeHeader + size + kBlockPage - 1) / kBlockPage;
}

// PageRange: pages, by number.
struct PageRange {
  uint64_t first = 0, count = 0;
  uint64_t end() const { return first + count; }
  auto operator<=>(const PageRange&) const = default;
};

// FreePages: pages that have no block, for a writer. The file can grow without limit.
class FreePages {
 public:
  FreePages() = default;
  // `used`: in order, without overlaps.
  explicit FreePages(const std::vector<PageRange>& used);
  // Take: the smallest range that fits, or the end of the file.
  uint64_t Take(uint64_t count);
  void Give(PageRange range);
  uint64_t pages() const { return pages_; }  // before the end
  uint64_t end() const { return end_; }

 private:
  void Add(PageRange range);
  void Remove(PageRange range);
  std::set<PageRange> by_place_;
  std::set<std::pair<uint64_t, uint64_t>> by_count_;  // and first
  uint64_t pages_ = 0, end_ = 1;
};

// BlockFile: for any number of threads. One writes.
class BlockFile {
 public:
  // `folder` is for messages. kDataLoss if the file is missing, or belongs to another store.
  static absl::StatusOr<std::unique_ptr<BlockFile>> Open(const std::string& path,
                                                         const std::string& folder, bool write,
                                                         const StoreIdentity& identity);
  // Create: an empty file; replaces any other.
  static absl::StatusOr<std::unique_ptr<BlockFile>> Create(const std::string& path,
                                                           const std::string& folder,
                                                           const StoreIdentity& identity);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  // Value: valid while this exists and the pages are not given to another value. kDataLoss.
  absl::StatusOr<ByteSpan> Value(uint64_t page, uint64_t size) const;
  // Put: durable after Sync. `value` may be in this file.
  absl::Status Put(uint64_t page, ByteSpan value);
  absl::Status Sync();
  // Erase: overwrites all data in pages that are not in `used` (as in FreePages), durably, then
  // gives them back to the file system; about `most` bytes. Nothing may read them. After an error
  // the next call writes again: pages count as erased only when they were given back.
  absl::Status Erase(const std::vector<PageRange>& used, uint64_t most = UINT64_MAX);

  uint64_t Size() const;       // the file's length
  uint64_t Allocated() const;  // bytes on disk
  int descriptor() const { return fd_; }

 private:
  BlockFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}
  absl::Status Failed(std::string_view action) const;
  absl::StatusOr<ByteSpan> Map(uint64_t end) const;
  absl::StatusOr<std::vector<std::pair<uint64_t, uint64_t>>> DataIn(uint64_t from,
                                                                    uint64_t to) const;

  const int fd_;
  const std::string folder_;
  mutable std::mutex mutex_;
  // The last one serves; earlier ones have values that are still read.
  mutable std::vector<ByteSpan> maps_;
  mutable uint64_t known_size_ = 0;
};

// Messages about the store in `folder`. SystemStoreError: of an error of the system, with what to
// do.
absl::Status DamagedStore(const std::string& folder, std::string_view why);
// UnmendableStore: as DamagedStore, where no compaction helps.
absl::Status UnmendableStore(const std::string& folder, std::string_view why);
absl::Status SystemStoreError(std::string_view action, const std::string& folder, int error);

}  // namespace heft

#endif  // HEFT_STORE_BLOCKS_H_
