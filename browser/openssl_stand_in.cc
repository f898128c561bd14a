// SPDX-License-Identifier: Apache-2.0
// Stands for base/hash.cc and base/public_stream.cc, with libsodium, which the module has anyway.
#include <sodium.h>

#include "base/hash.h"
#include "base/public_stream.h"

namespace heft {

struct Hasher::State : crypto_hash_sha256_state {};

Hasher::Hasher() : state_(std::make_unique<State>()) { crypto_hash_sha256_init(state_.get()); }

Hasher::Hasher(const Hasher& other) : state_(std::make_unique<State>(*other.state_)) {}

Hasher::~Hasher() = default;

void Hasher::Update(ByteSpan bytes) {
  crypto_hash_sha256_update(state_.get(), bytes.data(), bytes.size());
}

Hash Hasher::Finish() {
  Hash hash;
  crypto_hash_sha256_final(state_.get(), hash.data());
  return hash;
}

Hash HashBytes(ByteSpan bytes) {
  Hash hash;
  crypto_hash_sha256(hash.data(), bytes.data(), bytes.size());
  return hash;
}

void PublicStream(std::span<uint8_t> out, const std::array<uint8_t, 32>& key,
                  const std::array<uint8_t, 8>& nonce, uint64_t block) {
  crypto_stream_chacha20_xor_ic(out.data(), out.data(), out.size(), nonce.data(), block,
                                key.data());
}

}  // namespace heft
