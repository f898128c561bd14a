// SPDX-License-Identifier: Apache-2.0
#include "gallery/merkle.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace heft {
namespace {

Digest Leaf(uint64_t i) { return LeafHash(AsBytes(std::to_string(i))); }

// RFC 6962, section 2.1, literally.
Digest Reference(uint64_t first, uint64_t count) {
  if (count == 0) return HashBytes({});
  if (count == 1) return Leaf(first);
  uint64_t split = 1;
  while (2 * split < count) split *= 2;
  return NodeHash(Reference(first, split), Reference(first + split, count - split));
}

TEST(MerkleTest, IsTheTreeOfRfc6962) {
  for (uint64_t count = 0; count < 70; ++count) {
    EXPECT_EQ(MerkleRoot(count, Leaf), Reference(0, count)) << count;
  }
}

// If both had one form, the node of two leaves could be presented as a leaf.
TEST(MerkleTest, LeavesAndNodesAreTwoThings) {
  const Digest a = Leaf(1), b = Leaf(2);
  std::vector<uint8_t> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  EXPECT_NE(NodeHash(a, b), LeafHash(both));
  EXPECT_NE(NodeHash(a, b), NodeHash(b, a));
  std::vector<uint8_t> raw = {0};
  raw.push_back('x');
  EXPECT_EQ(LeafHash(AsBytes("x")), HashBytes(raw));
}

TEST(MerkleTest, EveryFieldOfABlockCounts) {
  const std::set<Digest> all = {BlockLeaf(0, {1}, {1}, {1}), BlockLeaf(1, {1}, {1}, {1}),
                                BlockLeaf(0, {2}, {1}, {1}), BlockLeaf(0, {1}, {2}, {1}),
                                BlockLeaf(0, {1}, {1}, {2})};
  EXPECT_EQ(all.size(), 5u);
}

}  // namespace
}  // namespace heft
