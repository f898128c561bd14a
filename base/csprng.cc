// SPDX-License-Identifier: Apache-2.0
#include "base/csprng.h"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/constant_time.h"

namespace heft {

Csprng::Csprng() {
  if (sodium_init() < 0) std::abort();  // No randomness: nothing safe can follow.
  randombytes_buf(key_.data(), key_.size());
}

Csprng::Csprng(const Seed& seed, uint64_t stream) : key_(seed) {
  std::memcpy(nonce_.data(), &stream, sizeof(stream));
}

Csprng::~Csprng() {
  sodium_memzero(key_.data(), key_.size());
  sodium_memzero(buffer_.data(), buffer_.size());
}

void Csprng::Refill() {
  buffer_.fill(0);
  crypto_stream_chacha20_xor_ic(buffer_.data(), buffer_.data(), buffer_.size(), nonce_.data(),
                                block_, key_.data());
  block_ += buffer_.size() / 64;
  used_ = 0;
}

void Csprng::Fill(std::span<uint8_t> out) {
  while (!out.empty()) {
    if (used_ == buffer_.size()) Refill();
    const size_t n = std::min(out.size(), buffer_.size() - used_);
    std::memcpy(out.data(), buffer_.data() + used_, n);
    used_ += n;
    out = out.subspan(n);
  }
}

uint32_t Csprng::U32() {
  uint32_t v;
  Fill({reinterpret_cast<uint8_t*>(&v), sizeof(v)});
  return v;
}

uint64_t Csprng::U64() {
  uint64_t v;
  Fill({reinterpret_cast<uint8_t*>(&v), sizeof(v)});
  return v;
}

Seed Csprng::NewSeed() {
  Seed seed;
  Fill(seed);
  return Declassified(seed);  // of a public polynomial, and sent along with it
}

}  // namespace heft
