// SPDX-License-Identifier: Apache-2.0
// The pages of a store's file, as LMDB 0.9 lays them out on a 64-bit little-endian machine, read
// without LMDB, which trusts them: to see whether they hold together, and what is left in them that
// nothing refers to.
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
//   overflow pages        as a page, with their count (u32) in place of the free space; then the
//   value
//
// Of each state two metas are kept; a page that either reaches is never written over by LMDB.
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
  uint32_t page_size = 0;  // of the first tree alone
  uint16_t flags = 0, depth = 0;
  uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0, entries = 0, root = 0;
};

struct MetaPage {
  uint64_t state = 0, last_page = 0;
  PageTree free_pages, names;
};

// ReadMeta: of page 0 or 1 of a file of pages of so many bytes, or where it begins (`page_size` 0,
// for page 0). kDataLoss, without the store's name, as all errors here.
absl::StatusOr<MetaPage> ReadMeta(ByteSpan page);

// PageWalk: over all pages that a state reaches. Pages are looked at once, whatever the number of
// states walked. Everything is checked that LMDB takes for granted about pages looked into.
class PageWalk {
 public:
  // `map`: the file; `page_size`: a power of two, from 4096.
  PageWalk(ByteSpan map, size_t page_size);

  // Leaf: whether a table's leaf is to be looked into, by its number; all are without it.
  std::function<bool(uint64_t)> leaf;
  // Unused: called for bytes, by offset in the file and length, of pages looked into, that nothing
  // refers to.
  std::function<void(uint64_t, size_t)> unused;
  // Stale: called with a table's name and the bounds of a subtree of short entries, `from` of which
  // is a key that is no more, and stands in a branch alone. Of leaves looked into.
  std::function<void(ByteSpan table, ByteSpan from, std::optional<ByteSpan> to)> stale;
  // Free: called with a state, and the pages that it left free.
  std::function<void(uint64_t, std::span<const uint64_t>)> free;
  // Strict: that a page is reached twice, or is free too, and keys out of order are errors. For one
  // state alone.
  bool strict = false;

  absl::Status Walk(const MetaPage& meta);

  // Find: a tree by its name, of a state. FindPath: checks the pages that LMDB looks into for
  // `key`, and those beside them, into which it looks where it changes something. Pages are checked
  // once.
  absl::StatusOr<PageTree> Find(const MetaPage& meta, std::string_view name);
  struct Path {
    size_t entries = 0;            // of keys >= `key` in its leaf
    std::optional<ByteSpan> next;  // what the keys of the next leaf begin with, if there is one
  };
  absl::StatusOr<Path> FindPath(const PageTree& tree, ByteSpan key);

  // Reached: by number, the pages reached so far.
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
  // Reach: false if the pages have been reached already.
  absl::StatusOr<bool> Reach(uint64_t first, uint64_t count);
  absl::Status Damaged(uint64_t number, std::string_view why) const;

  const ByteSpan map_;
  const size_t page_size_;
  uint64_t pages_ = 0;  // of the state
  std::vector<bool> reached_;
  std::vector<uint8_t> last_key_;
  // Of a table that is walked: its name, where the subtree ends, and, of the subtree that was
  // walked last, its first key, if that was looked at and its leaf has no long values.
  ByteSpan table_;
  std::optional<ByteSpan> end_, first_key_;
  uint64_t entries_ = 0;
  std::vector<uint64_t> freed_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_STORE_PAGES_H_
