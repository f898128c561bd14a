// SPDX-License-Identifier: Apache-2.0
// ReplySeed: what all random choices of one reply of a server follow from, so that somebody to whom
// it is revealed later can make the same reply again, bit for bit. The one generator in HEFT whose
// seed is not drawn from the operating system for itself: it is derived from a secret of the server
// and a number that the reply carries, for replies and nothing else. Whoever has the seed of a
// reply knows its secret factor and the noise that hides other people's scores (SECURITY.md).
#ifndef HEFT_BASE_REPLY_SEED_H_
#define HEFT_BASE_REPLY_SEED_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "base/csprng.h"
#include "heft/trust.h"

namespace heft {

class ReplySeed {
 public:
  // Derive: of the reply that carries `nonce`, 32 random bytes, under a key of the server's.
  static ReplySeed Derive(const Seed& audit_key, const Digest& nonce);
  // Revealed: one that somebody says it was. Commitment tells.
  static ReplySeed Revealed(const Seed& seed) { return ReplySeed(seed); }

  ReplySeed(const ReplySeed&) = default;
  ReplySeed& operator=(const ReplySeed&) = default;
  ~ReplySeed();

  const Seed& bytes() const { return seed_; }
  // Commitment: what a reply says of its seed. Another seed has another one.
  Digest Commitment(const Digest& nonce) const;

  // Fill: the bytes of one choice, the same each time. `purpose` and `index` keep choices apart.
  void Fill(std::span<uint8_t> out, std::string_view purpose, uint64_t index = 0) const;
  uint32_t U32(std::string_view purpose) const;

 private:
  explicit ReplySeed(const Seed& seed) : seed_(seed) {}
  Seed seed_;
};

}  // namespace heft

#endif  // HEFT_BASE_REPLY_SEED_H_
