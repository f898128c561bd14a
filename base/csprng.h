// SPDX-License-Identifier: Apache-2.0
// Csprng: a ChaCha20 stream (libsodium) with a key from the operating system. Not copyable, so that
// no stream is used twice by accident; wiped when destroyed. After a fork, the child's copy takes a
// new key from the operating system before it returns another byte.
#ifndef HEFT_BASE_CSPRNG_H_
#define HEFT_BASE_CSPRNG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heft {

// Seed: the key of a stream.
using Seed = std::array<uint8_t, 32>;

// ForkGeneration: at least 1; a child has a different number than its parent.
uint64_t ForkGeneration();

class Csprng {
 public:
  // Keyed by the operating system's generator.
  Csprng();
  ~Csprng();
  Csprng(const Csprng&) = delete;
  Csprng& operator=(const Csprng&) = delete;

  // OfPublicSeed: expands a public seed into the same stream on every machine. Only for public
  // polynomials, which are sent as their seed. `stream` separates independent streams of one seed.
  static Csprng OfPublicSeed(const Seed& seed, uint64_t stream) { return Csprng(seed, stream); }

  // Fill, U32, U64: the next bytes of the stream.
  void Fill(std::span<uint8_t> out);
  uint32_t U32();
  uint64_t U64();
  // NewSeed: a seed for public polynomials; it is not secret.
  Seed NewSeed();

 private:
  // TestCsprng is in base/testing.h, which is not shipped: known seeds are for tests only.
  friend class TestCsprng;
  Csprng(const Seed& seed, uint64_t stream);

  void KeyAnew();
  // The stream's next bytes. `out` has whole blocks of 64.
  void Stream(std::span<uint8_t> out);
  void Refill();

  uint64_t process_ =
      0;  // ForkGeneration when it was keyed; 0: of a known seed, the same everywhere
  Seed key_;
  std::array<uint8_t, 8> nonce_{};
  uint64_t block_ = 0;
  std::array<uint8_t, 4096> buffer_;
  size_t used_ = 4096;
};

}  // namespace heft

#endif  // HEFT_BASE_CSPRNG_H_
