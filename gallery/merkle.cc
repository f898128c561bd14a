// SPDX-License-Identifier: Apache-2.0
#include "gallery/merkle.h"

#include <algorithm>
#include <vector>

namespace heft {
namespace {

constexpr uint8_t kLeaf = 0, kNode = 1;

}  // namespace

Digest LeafHash(ByteSpan leaf) {
  ByteWriter writer;
  writer.U8(kLeaf);
  writer.Raw(leaf);
  return HashBytes(writer.bytes());
}

Digest NodeHash(const Digest& left, const Digest& right) {
  ByteWriter writer;
  writer.U8(kNode);
  writer.Raw(left);
  writer.Raw(right);
  return HashBytes(writer.bytes());
}

// Leaves come in order, so it is enough to keep the roots of full subtrees, the largest first: one
// per binary digit of the number of leaves so far.
Digest MerkleRoot(uint64_t count, const std::function<Digest(uint64_t)>& leaf) {
  if (count == 0) return HashBytes({});
  std::vector<Digest> full;
  for (uint64_t i = 0; i < count; ++i) {
    full.push_back(leaf(i));
    for (uint64_t size = i + 1; size % 2 == 0; size /= 2) {
      const Digest right = full.back();
      full.pop_back();
      full.back() = NodeHash(full.back(), right);
    }
  }
  while (full.size() > 1) {
    const Digest right = full.back();
    full.pop_back();
    full.back() = NodeHash(full.back(), right);
  }
  return full.front();
}

Digest BlockLeaf(uint64_t block, const Digest& checkpoint, const Digest& pending,
                 const Digest& roster) {
  ByteWriter writer;
  writer.U64(block);
  writer.Raw(checkpoint);
  writer.Raw(pending);
  writer.Raw(roster);
  return LeafHash(writer.bytes());
}

}  // namespace heft
