// SPDX-License-Identifier: Apache-2.0
#include "base/csprng.h"

#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/constant_time.h"
#include "base/public_stream.h"
#include "base/sodium.h"

namespace heft {
namespace {

using Generation = std::atomic<uint64_t>;
static_assert(Generation::is_always_lock_free);

// NewPage: memory that is zero in every child, however it was forked; nullptr if the kernel lacks
// the feature (before Linux 4.14).
Generation* NewPage() {
  const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, size, MADV_WIPEONFORK) == 0) return new (page) Generation(0);
  munmap(page, size);
  return nullptr;
}

}  // namespace

uint64_t ForkGeneration() {
  static Generation* const page = NewPage();
  static Generation last(0);
  if (page == nullptr) return static_cast<uint64_t>(getpid());
  uint64_t now = page->load(std::memory_order_acquire);
  if (now != 0) return now;
  // The first call in this process; one thread wins.
  const uint64_t next = last.fetch_add(1) + 1;
  return page->compare_exchange_strong(now, next) ? next : now;
}

Csprng::Csprng() { KeyAnew(); }

void Csprng::KeyAnew() {
  if (sodium_init() < 0) std::abort();  // No randomness: nothing safe can follow.
  process_ = ForkGeneration();
  randombytes_buf(key_.data(), key_.size());
  block_ = 0;
  used_ = buffer_.size();
}

Csprng::Csprng(const Seed& seed, uint64_t stream) : key_(seed) {
  StartSodium();  // no randomness is needed here
  std::memcpy(nonce_.data(), &stream, sizeof(stream));
}

Csprng::~Csprng() {
  sodium_memzero(key_.data(), key_.size());
  sodium_memzero(buffer_.data(), buffer_.size());
}

void Csprng::Stream(std::span<uint8_t> out) {
  if (out.empty()) return;
  std::ranges::fill(out, uint8_t{0});
  if (process_ == 0) {
    PublicStream(out, key_, nonce_, block_);
    block_ += out.size() / 64;
    return;
  }
  crypto_stream_chacha20_xor_ic(out.data(), out.data(), out.size(), nonce_.data(), block_,
                                key_.data());
  block_ += out.size() / 64;
}

void Csprng::Refill() {
  Stream(buffer_);
  used_ = 0;
}

void Csprng::Fill(std::span<uint8_t> out) {
  // The parent also has the rest of the buffer.
  if (process_ != 0 && process_ != ForkGeneration()) KeyAnew();
  while (!out.empty()) {
    if (used_ == buffer_.size()) {
      // Whole buffers are written directly to `out`.
      const size_t whole = out.size() / buffer_.size() * buffer_.size();
      Stream(out.first(whole));
      out = out.subspan(whole);
      if (out.empty()) break;
      Refill();
    }
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
