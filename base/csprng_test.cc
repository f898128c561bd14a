// SPDX-License-Identifier: Apache-2.0
#include "base/csprng.h"

#include <gtest/gtest.h>
#include <sodium.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "base/bytes.h"
#include "base/public_stream.h"
#include "base/testing.h"

namespace heft {
namespace {

TEST(CsprngTest, ChaCha20KnownAnswer) {
  // Key and nonce zero, block 0: RFC 7539, appendix A.1, test vector 1 (the nonce layouts agree).
  TestCsprng rng(Seed{});
  std::array<uint8_t, 8> first;
  rng.Fill(first);
  EXPECT_EQ(HexString(first), "76b8e0ada0f13d90");
}

// The stream is that of libsodium, also where the counter's lower half overflows.
TEST(CsprngTest, PublicStreamsAreChaCha20) {
  const Seed key = {1, 2, 3};
  const std::array<uint8_t, 8> nonce = {4, 5};
  for (const uint64_t block : {uint64_t{0}, uint64_t{7}, (uint64_t{1} << 32) - 2}) {
    for (const size_t blocks : {1, 3, 4, 64, 513}) {
      std::vector<uint8_t> ours(64 * blocks, 9), expected = ours;
      PublicStream(ours, key, nonce, block);
      crypto_stream_chacha20_xor_ic(expected.data(), expected.data(), expected.size(), nonce.data(),
                                    block, key.data());
      EXPECT_EQ(ours, expected) << block << ", " << blocks;
    }
  }
}

TEST(CsprngTest, StreamsDiffer) {
  TestCsprng a(Seed{}, 0), b(Seed{}, 1);
  Csprng c, d;
  EXPECT_NE(a.U64(), b.U64());
  EXPECT_NE(c.U64(), d.U64());
}

// What a forked child draws from `rng`.
uint64_t DrawnByAChild(Csprng* rng) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    // Not the tests' own randomness, which a child would share with its siblings.
    randombytes_set_implementation(&randombytes_sysrandom_implementation);
    const uint64_t drawn = rng->U64();
    const bool written = write(ends[1], &drawn, sizeof(drawn)) == sizeof(drawn);
    _exit(written ? 0 : 1);
  }
  uint64_t drawn = 0;
  EXPECT_EQ(read(ends[0], &drawn, sizeof(drawn)), ssize_t{sizeof(drawn)});
  close(ends[0]);
  close(ends[1]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return drawn;
}

TEST(CsprngTest, ForkedProcessesDrawTheirOwn) {
  for (const size_t used : {0, 8, 4088, 4096}) {  // of the buffer, when the process forks
    Csprng rng;
    std::vector<uint8_t> before(used);
    rng.Fill(before);
    const uint64_t one = DrawnByAChild(&rng), two = DrawnByAChild(&rng);
    const uint64_t own = rng.U64();
    EXPECT_NE(one, own) << used;
    EXPECT_NE(two, own) << used;
    EXPECT_NE(one, two) << used;
  }
  // A stream of a known seed is the same everywhere.
  TestCsprng known(Seed{}), same(Seed{});
  EXPECT_EQ(DrawnByAChild(&known), same.U64());
}

TEST(CsprngTest, AParentKeepsItsStream) {
  testing::FixRandomness("parent");
  Csprng rng;
  rng.U64();
  DrawnByAChild(&rng);
  const uint64_t after = rng.U64();
  testing::FixRandomness("parent");
  Csprng again;
  again.U64();
  EXPECT_EQ(after, again.U64());
}

TEST(CsprngTest, TestsFixWhatTheSystemGives) {
  const auto draw = [](std::string_view name) {
    testing::FixRandomness(name);
    Csprng first, second;
    return std::pair(first.U64(), second.U64());
  };
  const auto one = draw("one");
  EXPECT_NE(one.first, one.second);
  EXPECT_EQ(draw("one"), one);
  EXPECT_NE(draw("two"), one);
}

}  // namespace
}  // namespace heft
