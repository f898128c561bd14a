// SPDX-License-Identifier: Apache-2.0
// A store's file (gallery/store_pages.h). Whatever is in it, the pages that are found lie in the
// file, and no byte is both in a used page and left over.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "gallery/store.h"
#include "gallery/store_pages.h"

namespace heft::fuzz {
namespace {

absl::StatusOr<MetaPage> Newest(ByteSpan file) {
  HEFT_ASSIGN_OR_RETURN(const MetaPage first, ReadMeta(file));
  const size_t page = first.free_pages.page_size;
  HEFT_ASSIGN_OR_RETURN(const MetaPage second, ReadMeta(file.subspan(std::min(page, file.size()))));
  return second.state > first.state ? second : first;
}

void WalkAll(ByteSpan file, const MetaPage& meta, bool strict) {
  const size_t page = meta.free_pages.page_size;
  PageWalk walk(file, page);
  walk.strict = strict;
  size_t unused = 0;
  walk.unused = [&](uint64_t at, size_t size) {
    Check(at >= 2 * page && at < file.size() && size <= file.size() - at, "in the file");
    unused += size;
  };
  walk.free = [&](uint64_t, std::span<const uint64_t> numbers) {
    for (const uint64_t number : numbers) {
      Check(number >= 2 && number <= meta.last_page, "a page of the state");
    }
  };
  const absl::Status status = walk.Walk(meta);
  Check(walk.reached().size() * page <= file.size(), "pages of the file");
  Check(unused <= std::ranges::count(walk.reached(), true) * page, "of pages that are reached");
  if (!status.ok()) CheckRefusal(status);
}

void FindAll(ByteSpan file, const MetaPage& meta) {
  PageWalk walk(file, meta.free_pages.page_size);
  for (size_t i = 0; i < kTables; ++i) {
    const auto tree = walk.Find(meta, TableName(static_cast<Table>(i)));
    if (!tree.ok()) {
      CheckRefusal(tree.status());
      continue;
    }
    ByteSpan key;
    for (int leaves = 0; leaves < 100; ++leaves) {
      const auto path = walk.FindPath(*tree, key);
      if (!path.ok()) {
        CheckRefusal(path.status());
        break;
      }
      if (!path->next.has_value()) break;
      Check(path->next->empty() ||
                (path->next->data() >= file.data() &&
                 path->next->data() + path->next->size() <= file.data() + file.size()),
            "a key in the file");
      key = *path->next;
    }
  }
}

void Read(ByteSpan file) {
  const auto meta = Newest(file);
  if (!meta.ok()) return CheckRefusal(meta.status());
  WalkAll(file, *meta, false);
  WalkAll(file, *meta, true);
  FindAll(file, *meta);
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::Read({data, size});
  return 0;
}
