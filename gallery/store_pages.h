// SPDX-License-Identifier: Apache-2.0
// The pages of a store's file, as LMDB 0.9 lays them out on a 64-bit little-endian machine. They
// are read without LMDB, which does not check them. This finds damage, and remains that nothing
// refers to.
//
//   meta page, 0 and 1    16 bytes, magic and version (u32), address, size of the map (u64), two
//                         trees (of free pages, of names), last page, state
//   tree, 48 bytes        page size, or nothing (u32), flags, depth (u16), its branch, leaf and
//                         overflow pages, entries, root
//   page                  number (u64), 0, flags (u16), where the free space begins and ends (u16),
//                         offsets of the nodes (u16), free space, nodes
//   node                  length of the value or number of a page (48 bits for the latter), flags,
//                         length of the key (u16), key, value; a value that does not fit is the
//                         number of its first overflow page
//   overflow pages        as a page, but with their count (u32) where the free space is;
//                         then the value
//
// Two metas keep the last two states. LMDB never overwrites a page that either reaches.
#ifndef HEFT_GALLERY_STORE_PAGES_H_
#define HEFT_GALLERY_STORE_PAGES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

struct PageTree {
  uint32_t page_size = 0;  // in the first tree only
  uint16_t flags = 0, depth = 0;
  uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0, entries = 0, root = 0;
};

struct MetaPage {
  uint64_t state = 0, last_page = 0;
  PageTree free_pages, names;
};

// ReadMeta: the meta from page 0 or 1 of a file; for page 0, its beginning is enough. kDataLoss,
// without the store's name, as for all errors here.
absl::StatusOr<MetaPage> ReadMeta(ByteSpan page);

// PageWalk: a walk over all pages that a state reaches. Each page is read once, even over several
// states. It checks everything that LMDB assumes about these pages.
class PageWalk {
 public:
  // `map`: the file. `page_size`: a power of two, at least 4096.
  PageWalk(ByteSpan map, size_t page_size);

  // Leaf: whether to read a table's leaf, by its page number. Without it, all are read.
  std::function<bool(uint64_t)> leaf;
  // Unused: called with offset and length of bytes in read pages that nothing refers to.
  std::function<void(uint64_t, size_t)> unused;
  // Stale: called with a table's name and the bounds of a subtree of short entries. Its key `from`
  // was deleted and remains only in a branch. For leaves that are read.
  std::function<void(ByteSpan table, ByteSpan from, std::optional<ByteSpan> to)> stale;
  // Free: called with a state, and the pages that it freed.
  std::function<void(uint64_t, std::span<const uint64_t>)> free;
  // Strict: it is an error if a page is reached twice or is also free, or if keys are out of order.
  // Only for a walk over one state.
  bool strict = false;

  absl::Status Walk(const MetaPage& meta);

  // Find: a state's tree with this name. FindPath: checks the pages that LMDB reads for `key`, and
  // the pages beside them, which LMDB reads when it makes changes. Each page is checked once.
  absl::StatusOr<PageTree> Find(const MetaPage& meta, std::string_view name);
  struct Path {
    size_t entries = 0;            // of keys >= `key` in its leaf
    std::optional<ByteSpan> next;  // first bytes of the next leaf's keys, if there is one
  };
  absl::StatusOr<Path> FindPath(const PageTree& tree, ByteSpan key);

  // Reached: the pages reached so far, by number.
  const std::vector<bool>& reached() const { return reached_; }

 private:
  enum class Kind { kFree, kNames, kTable };
  struct Node;
  void Begin(const MetaPage& meta);
  absl::Status CheckTree(const PageTree& tree, Kind kind) const;
  absl::Status Tree(const PageTree& tree, Kind kind);
  absl::Status Page(uint64_t number, size_t depth, Kind kind);
  absl::Status CheckPage(uint64_t number, size_t depth, Kind kind) const;
  absl::StatusOr<Node> NodeAt(uint64_t number, size_t depth, size_t i) const;
  absl::Status Nodes(uint64_t number, size_t depth, Kind kind);
  absl::Status Children(uint64_t number, size_t depth, Kind kind);
  absl::Status CheckOnce(uint64_t number, size_t depth, Kind kind);
  absl::StatusOr<uint64_t> CheckOverflow(const Node& node, Kind kind) const;
  absl::Status Leaf(const Node& node, Kind kind);
  absl::Status Overflow(const Node& node, Kind kind);
  absl::Status FreePages(const Node& node, ByteSpan value);
  absl::Status CheckRange(uint64_t first, uint64_t count) const;
  // Reach: false if the pages were reached before.
  absl::StatusOr<bool> Reach(uint64_t first, uint64_t count);
  absl::Status Damaged(uint64_t number, std::string_view why) const;

  const ByteSpan map_;
  const size_t page_size_;
  uint64_t pages_ = 0;  // of the state
  std::vector<bool> reached_;
  std::vector<uint8_t> last_key_;
  // The table in the walk: its name, the end of the subtree, and the first key of the last subtree,
  // if that was read and its leaf has no long values.
  ByteSpan table_;
  std::optional<ByteSpan> end_, first_key_;
  uint64_t entries_ = 0;
  std::vector<uint64_t> freed_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_STORE_PAGES_H_
