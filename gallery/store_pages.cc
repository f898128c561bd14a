// SPDX-License-Identifier: Apache-2.0
#include "gallery/store_pages.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0xBEEFC0DE, kPagesVersion = 1;
constexpr uint64_t kNone = ~uint64_t{0};  // root of an empty tree
constexpr size_t kHeader = 16, kNodeHeader = 8, kTreeSize = 48, kMetaSize = 152;
constexpr uint16_t kBranch = 1, kLeafPage = 2, kOverflow = 4, kMeta = 8;
constexpr uint16_t kBigData = 1, kSubData = 2;
constexpr size_t kMostDepth = 32;

template <typename T>
T Load(ByteSpan bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

PageTree LoadTree(ByteSpan bytes) {
  return {.page_size = Load<uint32_t>(bytes, 0),
          .flags = Load<uint16_t>(bytes, 4),
          .depth = Load<uint16_t>(bytes, 6),
          .branch_pages = Load<uint64_t>(bytes, 8),
          .leaf_pages = Load<uint64_t>(bytes, 16),
          .overflow_pages = Load<uint64_t>(bytes, 24),
          .entries = Load<uint64_t>(bytes, 32),
          .root = Load<uint64_t>(bytes, 40)};
}

}  // namespace

absl::StatusOr<MetaPage> ReadMeta(ByteSpan page) {
  if (page.size() < kMetaSize || (Load<uint16_t>(page, 10) & kMeta) == 0 ||
      Load<uint32_t>(page, kHeader) != kMagic ||
      Load<uint32_t>(page, kHeader + 4) != kPagesVersion) {
    return absl::DataLossError("a page that should describe the file does not");
  }
  MetaPage meta = {.state = Load<uint64_t>(page, 144),
                   .last_page = Load<uint64_t>(page, 136),
                   .free_pages = LoadTree(page.subspan(40)),
                   .names = LoadTree(page.subspan(40 + kTreeSize))};
  const uint32_t size = meta.free_pages.page_size;
  if (!std::has_single_bit(size) || size < 4096 || size > 32768 || meta.last_page < 1 ||
      meta.last_page >> 44 != 0) {
    return absl::DataLossError("a page that describes the file is wrong");
  }
  return meta;
}

// Node: of a checked page.
struct PageWalk::Node {
  uint64_t page = 0;  // its page
  uint16_t flags = 0;
  uint64_t child = 0;  // of a branch
  uint32_t size = 0;   // of the value
  size_t at = 0;       // of the value, from the beginning of the file
  size_t in_page = 0;  // bytes of the value there
  ByteSpan key;
};

PageWalk::PageWalk(ByteSpan map, size_t page_size) : map_(map), page_size_(page_size) {}

absl::Status PageWalk::Damaged(uint64_t number, std::string_view why) const {
  return absl::DataLossError(absl::StrCat("page ", number, " ", std::string(why)));
}

// Begin: all pages that a state may reach must be in the file.
void PageWalk::Begin(const MetaPage& meta) {
  pages_ = meta.last_page + 1;
  const uint64_t there = std::min<uint64_t>(pages_, map_.size() / page_size_);
  if (reached_.size() < there) reached_.resize(there);
}

absl::Status PageWalk::Walk(const MetaPage& meta) {
  Begin(meta);
  HEFT_RETURN_IF_ERROR(Tree(meta.free_pages, Kind::kFree));
  HEFT_RETURN_IF_ERROR(Tree(meta.names, Kind::kNames));
  if (!strict) return absl::OkStatus();
  for (const uint64_t number : freed_) {
    if (number < reached_.size() && reached_[number])
      return Damaged(number, "is in use, but listed as free");
  }
  return absl::OkStatus();
}

// CheckTree: LMDB treats a tree as its flags say; our trees have no flags of their own.
absl::Status PageWalk::CheckTree(const PageTree& tree, Kind kind) const {
  constexpr uint16_t kKinds = 0x7e, kNumbers = 0x08;  // of keys and values; keys are numbers
  if (tree.root != kNone && (tree.depth < 1 || tree.depth > kMostDepth)) {
    return Damaged(tree.root, "belongs to no tree");
  }
  if ((tree.flags & kKinds) != (kind == Kind::kFree ? kNumbers : 0)) {
    return Damaged(tree.root, "belongs to another kind of tree");
  }
  return absl::OkStatus();
}

absl::Status PageWalk::Tree(const PageTree& tree, Kind kind) {
  HEFT_RETURN_IF_ERROR(CheckTree(tree, kind));
  if (tree.root == kNone) return absl::OkStatus();
  const uint64_t entries = std::exchange(entries_, 0);
  const std::vector<uint8_t> last_key = std::exchange(last_key_, {});
  HEFT_RETURN_IF_ERROR(Page(tree.root, tree.depth, kind));
  if (strict && entries_ != tree.entries) return Damaged(tree.root, "has lost entries");
  entries_ = entries;
  last_key_ = last_key;
  return absl::OkStatus();
}

absl::Status PageWalk::CheckRange(uint64_t first, uint64_t count) const {
  if (first < 2 || first >= pages_ || count > pages_ - first) {
    return Damaged(first, "should be in the file, but is missing");
  }
  if (first + count > reached_.size()) {
    return Damaged(first, "lies beyond the end of the file, which was cut off");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PageWalk::Reach(uint64_t first, uint64_t count) {
  HEFT_RETURN_IF_ERROR(CheckRange(first, count));
  bool before = false;
  for (uint64_t i = first; i < first + count; ++i) {
    before = before || reached_[i];
    reached_[i] = true;
  }
  if (before && strict) return Damaged(first, "is used twice");
  return !before;
}

// CheckPage: its header.
absl::Status PageWalk::CheckPage(uint64_t number, size_t depth, Kind kind) const {
  const ByteSpan page = map_.subspan(number * page_size_, page_size_);
  const size_t lower = Load<uint16_t>(page, 12), upper = Load<uint16_t>(page, 14);
  const size_t fewest = depth > 1 && kind != Kind::kFree ? 2 : 1;
  if (Load<uint64_t>(page, 0) != number ||
      Load<uint16_t>(page, 10) != (depth == 1 ? kLeafPage : kBranch) || lower < kHeader ||
      lower > upper || upper > page_size_ || (lower - kHeader) / 2 < fewest) {
    return Damaged(number, "has wrong content");
  }
  return absl::OkStatus();
}

absl::StatusOr<PageWalk::Node> PageWalk::NodeAt(uint64_t number, size_t depth, size_t i) const {
  const ByteSpan page = map_.subspan(number * page_size_, page_size_);
  const size_t at = Load<uint16_t>(page, kHeader + 2 * i);
  if (at < Load<uint16_t>(page, 14) || at + kNodeHeader > page_size_) {
    return Damaged(number, "has a wrong entry");
  }
  Node node;
  node.page = number;
  node.flags = Load<uint16_t>(page, at + 4);
  node.size = Load<uint32_t>(page, at);
  node.child = node.size | uint64_t{node.flags} << 32;
  const size_t key_size = Load<uint16_t>(page, at + 6);
  node.in_page = depth > 1 ? 0 : (node.flags & kBigData) != 0 ? 8 : node.size;
  if (key_size + node.in_page > page_size_ - at - kNodeHeader) {
    return Damaged(number, "has an entry beyond its end");
  }
  node.key = page.subspan(at + kNodeHeader, key_size);
  node.at = number * page_size_ + at + kNodeHeader + key_size;
  return node;
}

absl::Status PageWalk::Page(uint64_t number, size_t depth, Kind kind) {
  first_key_ = std::nullopt;
  HEFT_ASSIGN_OR_RETURN(const bool first, Reach(number, 1));
  if (!first) return absl::OkStatus();
  if (depth == 1 && kind == Kind::kTable && leaf != nullptr && !leaf(number)) {
    return absl::OkStatus();
  }
  HEFT_RETURN_IF_ERROR(CheckPage(number, depth, kind));
  const size_t at = number * page_size_;
  const size_t lower = Load<uint16_t>(map_, at + 12), upper = Load<uint16_t>(map_, at + 14);
  if (unused != nullptr && upper > lower) unused(at + lower, upper - lower);
  return depth > 1 ? Children(number, depth, kind) : Nodes(number, depth, kind);
}

// Children: of a branch. Each begins with its key in the branch, unless that was deleted.
absl::Status PageWalk::Children(uint64_t number, size_t depth, Kind kind) {
  const size_t nodes = (Load<uint16_t>(map_, number * page_size_ + 12) - kHeader) / 2;
  const std::optional<ByteSpan> end = end_;
  std::optional<ByteSpan> first_key;
  for (size_t i = 0; i < nodes; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Node node, NodeAt(number, depth, i));
    end_ = end;
    if (i + 1 < nodes) {
      HEFT_ASSIGN_OR_RETURN(const Node next, NodeAt(number, depth, i + 1));
      end_ = next.key;
    }
    const std::optional<ByteSpan> to = end_;
    HEFT_RETURN_IF_ERROR(Page(node.child, depth - 1, kind));
    if (i == 0) {
      first_key = first_key_;
    } else if (kind == Kind::kTable && stale != nullptr && first_key_.has_value() &&
               !std::ranges::equal(*first_key_, node.key)) {
      stale(table_, node.key, to);
    }
    const size_t padding = node.at;  // entries begin at even addresses
    if (padding % 2 == 1 && map_[padding] != 0 && unused != nullptr) unused(padding, 1);
  }
  end_ = end;
  first_key_ = first_key;
  return absl::OkStatus();
}

// Nodes: of a leaf.
absl::Status PageWalk::Nodes(uint64_t number, size_t depth, Kind kind) {
  const size_t nodes = (Load<uint16_t>(map_, number * page_size_ + 12) - kHeader) / 2;
  bool all_short = true;
  for (size_t i = 0; i < nodes; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Node node, NodeAt(number, depth, i));
    all_short = all_short && node.flags == 0;
    // Entries begin at even addresses.
    const size_t end = node.at + node.in_page;
    if (end % 2 == 1 && map_[end] != 0 && unused != nullptr) unused(end, 1);
    if (kind != Kind::kTable || node.flags != 0 || strict) {
      HEFT_RETURN_IF_ERROR(Leaf(node, kind));
    }
  }
  if (kind == Kind::kTable && all_short) first_key_ = NodeAt(number, 1, 0)->key;
  return absl::OkStatus();
}

absl::Status PageWalk::Leaf(const Node& node, Kind kind) {
  if (strict) {
    // LMDB compares the keys of its list of free pages as numbers.
    const bool ordered =
        kind == Kind::kFree
            ? last_key_.empty() || (node.key.size() == 8 &&
                                    Load<uint64_t>(last_key_, 0) < Load<uint64_t>(node.key, 0))
            : std::ranges::lexicographical_compare(last_key_, node.key);
    if (!ordered) return Damaged(node.page, "has its entries out of order");
    last_key_.assign(node.key.begin(), node.key.end());
    ++entries_;
  }
  if (kind == Kind::kFree && node.key.size() != 8) return Damaged(node.page, "lists no free pages");
  if (node.flags == kBigData && kind != Kind::kNames) return Overflow(node, kind);
  if ((node.flags & kBigData) != 0) return Damaged(node.page, "has an entry of an unknown kind");
  const ByteSpan value = map_.subspan(node.at, node.size);
  if (node.flags == kSubData && kind == Kind::kNames && node.size == kTreeSize) {
    table_ = node.key;
    end_ = std::nullopt;
    return Tree(LoadTree(value), Kind::kTable);
  }
  if (node.flags != 0) return Damaged(node.page, "has an entry of an unknown kind");
  return kind == Kind::kFree ? FreePages(node, value) : absl::OkStatus();
}

// CheckOverflow: the number of pages of the value.
absl::StatusOr<uint64_t> PageWalk::CheckOverflow(const Node& node, Kind kind) const {
  const uint64_t first = Load<uint64_t>(map_, node.at);
  const uint64_t needed = (kHeader + uint64_t{node.size} + page_size_ - 1) / page_size_;
  HEFT_RETURN_IF_ERROR(CheckRange(first, needed));
  const size_t at = first * page_size_;
  // A list that was shortened in one transaction keeps its pages in LMDB.
  const uint64_t count = Load<uint32_t>(map_, at + 12);
  if (Load<uint64_t>(map_, at) != first || Load<uint16_t>(map_, at + 10) != kOverflow ||
      count < needed || (kind != Kind::kFree && count > needed)) {
    return Damaged(first, "should begin a value, but does not");
  }
  return count;
}

absl::Status PageWalk::Overflow(const Node& node, Kind kind) {
  HEFT_ASSIGN_OR_RETURN(const uint64_t count, CheckOverflow(node, kind));
  const uint64_t first = Load<uint64_t>(map_, node.at);
  HEFT_ASSIGN_OR_RETURN(const bool fresh, Reach(first, count));
  if (!fresh) return absl::OkStatus();
  const size_t at = first * page_size_, end = at + kHeader + node.size;
  if (unused != nullptr && end < at + count * page_size_) {
    unused(end, at + count * page_size_ - end);
  }
  if (kind != Kind::kFree) return absl::OkStatus();
  Node value = node;
  value.at = at + kHeader;
  return FreePages(value, map_.subspan(value.at, node.size));
}

absl::Status PageWalk::FreePages(const Node& node, ByteSpan value) {
  const size_t room = value.size() / 8;
  const uint64_t count = room == 0 ? 0 : Load<uint64_t>(value, 0);
  if (room == 0 || count > room - 1) return Damaged(node.page, "lists no free pages");
  std::vector<uint64_t> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), value.data() + 8, 8 * count);
  for (const uint64_t number : numbers) {
    if (number < 2 || number >= pages_) {
      return Damaged(number, "is listed as free, but not in the file");
    }
  }
  if (unused != nullptr && 8 * (count + 1) < value.size()) {
    unused(node.at + 8 * (count + 1), value.size() - 8 * (count + 1));
  }
  if (strict) freed_.insert(freed_.end(), numbers.begin(), numbers.end());
  if (free != nullptr) free(Load<uint64_t>(node.key, 0), numbers);
  return absl::OkStatus();
}

absl::Status PageWalk::CheckOnce(uint64_t number, size_t depth, Kind kind) {
  HEFT_RETURN_IF_ERROR(CheckRange(number, 1));
  if (reached_[number]) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(CheckPage(number, depth, kind));
  const size_t nodes = (Load<uint16_t>(map_, number * page_size_ + 12) - kHeader) / 2;
  for (size_t i = 0; i < nodes; ++i) HEFT_RETURN_IF_ERROR(NodeAt(number, depth, i).status());
  reached_[number] = true;
  return absl::OkStatus();
}

absl::StatusOr<PageTree> PageWalk::Find(const MetaPage& meta, std::string_view name) {
  Begin(meta);
  const uint64_t root = meta.names.root;
  HEFT_RETURN_IF_ERROR(CheckOnce(root, 1, Kind::kNames));
  const size_t nodes = (Load<uint16_t>(map_, root * page_size_ + 12) - kHeader) / 2;
  for (size_t i = 0; i < nodes; ++i) {
    HEFT_ASSIGN_OR_RETURN(const Node node, NodeAt(root, 1, i));
    if (node.flags != kSubData || node.size != kTreeSize) continue;
    if (!std::ranges::equal(node.key, AsBytes(name))) continue;
    const PageTree tree = LoadTree(map_.subspan(node.at, kTreeSize));
    HEFT_RETURN_IF_ERROR(CheckTree(tree, Kind::kTable));
    return tree;
  }
  return Damaged(root, "has no such table");
}

absl::StatusOr<PageWalk::Path> PageWalk::FindPath(const PageTree& tree, ByteSpan key) {
  Path path;
  if (tree.root == kNone) return path;
  uint64_t number = tree.root;
  HEFT_RETURN_IF_ERROR(CheckOnce(number, tree.depth, Kind::kTable));
  for (size_t depth = tree.depth;; --depth) {
    const size_t nodes = (Load<uint16_t>(map_, number * page_size_ + 12) - kHeader) / 2;
    // The first key of a branch is empty: it sorts before all others.
    size_t low = depth > 1 ? 1 : 0, high = nodes;
    while (low < high) {
      const size_t i = (low + high) / 2;
      const ByteSpan other = NodeAt(number, depth, i)->key;
      const bool before = depth > 1 ? !std::ranges::lexicographical_compare(key, other)
                                    : std::ranges::lexicographical_compare(other, key);
      (before ? low : high) = before ? i + 1 : i;
    }
    if (depth == 1) {
      path.entries = nodes - low;
      if (low == nodes) return path;
      const Node node = *NodeAt(number, 1, low);
      if ((node.flags & kBigData) == 0 || !std::ranges::equal(node.key, key)) return path;
      HEFT_RETURN_IF_ERROR(CheckOverflow(node, Kind::kTable).status());
      return path;
    }
    if (low < nodes) path.next = NodeAt(number, depth, low)->key;
    for (size_t i = std::max<size_t>(low, 2) - 2; i < std::min(low + 1, nodes); ++i) {
      HEFT_RETURN_IF_ERROR(CheckOnce(NodeAt(number, depth, i)->child, depth - 1, Kind::kTable));
    }
    number = NodeAt(number, depth, low - 1)->child;
  }
}

}  // namespace heft
