// SPDX-License-Identifier: Apache-2.0
// Csprng: a ChaCha20 stream (libsodium) keyed by the operating system. Not copyable, so that no
// stream is used twice by accident; wiped when destroyed. A process that forks has two: the child's
// takes a new key from the operating system before it gives another byte.
#ifndef HEFT_BASE_CSPRNG_H_
#define HEFT_BASE_CSPRNG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heft {

// Seed: the key of a stream.
using Seed = std::array<uint8_t, 32>;

// ForkGeneration: at least 1, another number in a child than in the process that forked it.
uint64_t ForkGeneration();

class Csprng {
 public:
  // Keyed by the operating system's generator.
  Csprng();
  ~Csprng();
  Csprng(const Csprng&) = delete;
  Csprng& operator=(const Csprng&) = delete;

  // OfPublicSeed expands a seed that everybody may know: the same stream for the same seed, on
  // every machine. For public polynomials, which travel as their seed, and nothing else. `stream`
  // separates independent streams of one seed.
  static Csprng OfPublicSeed(const Seed& seed, uint64_t stream) { return Csprng(seed, stream); }

  // Fill, U32, U64: the next bytes of the stream.
  void Fill(std::span<uint8_t> out);
  uint32_t U32();
  uint64_t U64();
  // NewSeed: a seed to expand public polynomials from; it is no secret.
  Seed NewSeed();

 private:
  // TestCsprng is in base/testing.h, which is not shipped: a known seed is for tests alone.
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
