// SPDX-License-Identifier: Apache-2.0
#include "base/reply_seed.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/keyed_hash.h"

namespace heft {
namespace {

using Bytes = std::array<uint8_t, 48>;

Bytes Fill(const ReplySeed& seed, std::string_view purpose, uint64_t index = 0) {
  Bytes out;
  seed.Fill(out, purpose, index);
  return out;
}

TEST(ReplySeedTest, FollowsFromKeyAndNonceAlone) {
  const ReplySeed seed = ReplySeed::Derive({1}, {2});
  EXPECT_EQ(seed.bytes(), ReplySeed::Derive({1}, {2}).bytes());
  EXPECT_NE(seed.bytes(), ReplySeed::Derive({1}, {3}).bytes());
  EXPECT_NE(seed.bytes(), ReplySeed::Derive({2}, {2}).bytes());
  EXPECT_EQ(seed.bytes(), ReplySeed::Revealed(seed.bytes()).bytes());
}

TEST(ReplySeedTest, ChoicesAreIndependent) {
  const ReplySeed seed = ReplySeed::Derive({1}, {2});
  const std::set<Bytes> all = {Fill(seed, "norm"), Fill(seed, "drown"), Fill(seed, "drown", 1),
                               Fill(ReplySeed::Derive({1}, {3}), "drown")};
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(Fill(seed, "norm"), Fill(seed, "norm"));
  // The first bytes of a choice are the choice of fewer bytes.
  uint32_t first = 0;
  const Bytes norm = Fill(seed, "norm");
  for (int i = 3; i >= 0; --i) first = first << 8 | norm[i];
  EXPECT_EQ(seed.U32("norm"), first);
}

TEST(ReplySeedTest, ACommitmentFitsOneSeedAndNonce) {
  const ReplySeed seed = ReplySeed::Derive({1}, {2});
  EXPECT_EQ(seed.Commitment({2}), ReplySeed::Revealed(seed.bytes()).Commitment({2}));
  EXPECT_NE(seed.Commitment({2}), seed.Commitment({3}));
  EXPECT_NE(seed.Commitment({2}), ReplySeed::Revealed({7}).Commitment({2}));
}

}  // namespace
}  // namespace heft
