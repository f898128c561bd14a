// SPDX-License-Identifier: Apache-2.0
#include "browser/random.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace {

// The host fills the bytes; returns 1, or another value if it cannot.
extern "C" int heft_host_random(uint8_t* out, size_t size);

// Draws are of that size, whatever is asked for: two of them agree by chance once in 2^256.
constexpr size_t kDraw = 32;

std::array<uint8_t, kDraw> g_last{};  // hash of the draw before: the draw itself is a key
bool g_failed = false;

bool Draw(std::array<uint8_t, kDraw>* out) {
  if (g_failed) return false;
  out->fill(0);
  const bool filled = heft_host_random(out->data(), out->size()) == 1;
  const bool one_value =
      std::all_of(out->begin(), out->end(), [&](uint8_t byte) { return byte == out->front(); });
  std::array<uint8_t, kDraw> hash;
  crypto_generichash(hash.data(), hash.size(), out->data(), out->size(), nullptr, 0);
  g_failed = !filled || one_value || hash == g_last;
  g_last = hash;
  return !g_failed;
}

}  // namespace

namespace heft::browser {

bool CheckRandomness() {
  for (int i = 0; i < 2; ++i) {
    std::array<uint8_t, kDraw> draw;
    const bool good = Draw(&draw);
    sodium_memzero(draw.data(), draw.size());
    if (!good) return false;
  }
  return sodium_init() >= 0;  // draws once more
}

bool RandomnessFailed() { return g_failed; }

}  // namespace heft::browser

// ---- The functions of libsodium's randombytes.c, which is not linked.
extern "C" {

void randombytes_buf(void* const out, const size_t size) {
  auto* bytes = static_cast<uint8_t*>(out);
  for (size_t done = 0; done < size;) {
    std::array<uint8_t, kDraw> draw;
    if (!Draw(&draw)) __builtin_trap();  // nothing safe can follow
    const size_t n = std::min(kDraw, size - done);
    std::memcpy(bytes + done, draw.data(), n);
    sodium_memzero(draw.data(), draw.size());
    done += n;
  }
}

uint32_t randombytes_random() {
  uint32_t number;
  randombytes_buf(&number, sizeof(number));
  return number;
}

void randombytes_stir() {}

}  // extern "C"
