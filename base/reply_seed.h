// SPDX-License-Identifier: Apache-2.0
// ReplySeed: the source of all random choices of one reply of a server. An auditor that receives
// the seed later can compute the same reply again, bit for bit. It is the only generator in HEFT
// whose seed does not come directly from the operating system: the seed is derived from a secret of
// the server and a number in the reply, and is used only for replies. The seed of a reply reveals
// its secret factor and the noise that hides other people's scores (SECURITY.md).
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
  // Derive: the seed of the reply with `nonce`, 32 random bytes, under a server's key.
  static ReplySeed Derive(const Seed& audit_key, const Digest& nonce);
  // Revealed: a seed from outside; compare its Commitment with the reply's.
  static ReplySeed Revealed(const Seed& seed) { return ReplySeed(seed); }

  ReplySeed(const ReplySeed&) = default;
  ReplySeed& operator=(const ReplySeed&) = default;
  ~ReplySeed();

  const Seed& bytes() const { return seed_; }
  // Commitment: the value in a reply that commits to its seed. Different seeds have different ones.
  Digest Commitment(const Digest& nonce) const;

  // Fill: the bytes of one choice, the same each time. `purpose` and `index` separate choices.
  void Fill(std::span<uint8_t> out, std::string_view purpose, uint64_t index = 0) const;
  uint32_t U32(std::string_view purpose) const;

 private:
  explicit ReplySeed(const Seed& seed) : seed_(seed) {}
  Seed seed_;
};

}  // namespace heft

#endif  // HEFT_BASE_REPLY_SEED_H_
