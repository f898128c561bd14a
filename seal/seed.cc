// SPDX-License-Identifier: Apache-2.0
#include "seal/seed.h"

#include <blake2.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

namespace heft::seal {
namespace {

using Block = std::array<uint8_t, 4096>;

// kXofLength: of BLAKE2X (Aumasson et al., 2016); the length of the whole output stands in the
// upper half of the node offset.
constexpr uint64_t kXofLength = uint64_t{sizeof(Block)} << 32;
constexpr size_t kDigest = BLAKE2B_OUTBYTES;

Block Blake2xb(const SealSeed& seed, std::span<const uint8_t, 8> counter) {
  blake2b_param root{};
  root.digest_length = kDigest;
  root.key_length = static_cast<uint8_t>(seed.bytes.size());
  root.fanout = 1;
  root.depth = 1;
  root.node_offset = kXofLength;
  std::array<uint8_t, BLAKE2B_BLOCKBYTES> key{};
  std::copy(seed.bytes.begin(), seed.bytes.end(), key.begin());
  std::array<uint8_t, kDigest> digest;
  blake2b_state state;
  blake2b_init_param(&state, &root);
  blake2b_update(&state, key.data(), key.size());
  blake2b_update(&state, counter.data(), counter.size());
  blake2b_final(&state, digest.data(), digest.size());

  blake2b_param leaf{};
  leaf.digest_length = kDigest;
  leaf.leaf_length = kDigest;
  leaf.inner_length = kDigest;
  Block out;
  for (size_t i = 0; i < out.size() / kDigest; ++i) {
    leaf.node_offset = kXofLength | i;
    blake2b_init_param(&state, &leaf);
    blake2b_update(&state, digest.data(), digest.size());
    blake2b_final(&state, out.data() + i * kDigest, kDigest);
  }
  return out;
}

Block Shake256(const SealSeed& seed, std::span<const uint8_t, 8> counter) {
  Block out;
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_shake256(), nullptr);
  EVP_DigestUpdate(context, seed.bytes.data(), seed.bytes.size());
  EVP_DigestUpdate(context, counter.data(), counter.size());
  EVP_DigestFinalXOF(context, out.data(), out.size());
  EVP_MD_CTX_free(context);
  return out;
}

// Words: the stream as 64-bit words.
class Words {
 public:
  explicit Words(const SealSeed& seed) : seed_(seed) {}
  uint64_t Next() {
    if (used_ == block_.size()) {
      const Block block = SeedBlock(seed_, counter_++);
      std::memcpy(block_.data(), block.data(), block.size());
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  SealSeed seed_;
  uint64_t counter_ = 0;
  std::array<uint64_t, sizeof(Block) / sizeof(uint64_t)> block_;
  size_t used_ = sizeof(Block) / sizeof(uint64_t);
};

}  // namespace

std::array<uint8_t, 4096> SeedBlock(const SealSeed& seed, uint64_t counter) {
  std::array<uint8_t, 8> bytes;
  std::memcpy(bytes.data(), &counter, bytes.size());  // little-endian, as base/bytes.cc asserts
  return seed.kind == SeedKind::kBlake2xb ? Blake2xb(seed, bytes) : Shake256(seed, bytes);
}

ring::RnsPoly ExpandSeed(const ckks::Context& context, const SealSeed& seed, size_t primes) {
  const size_t n = context.n();
  Words stream(seed);
  // All words first: a rejected one is replaced by what follows them.
  std::vector<uint64_t> words(n * primes);
  for (uint64_t& word : words) word = stream.Next();
  ring::RnsPoly out(n, primes);
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t q = context.modulus(i / n).value();
    const uint64_t limit = UINT64_MAX - UINT64_MAX % q - 1;
    while (words[i] >= limit) words[i] = stream.Next();
    out.values()[i] = static_cast<uint32_t>(words[i] % q);
  }
  return out;
}

}  // namespace heft::seal
