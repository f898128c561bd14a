// SPDX-License-Identifier: Apache-2.0
#include "base/reply_seed.h"

#include <sodium.h>

#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/keyed_hash.h"

namespace heft {
namespace {

std::string_view Text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ReplySeed ReplySeed::Derive(const Seed& audit_key, const Digest& nonce) {
  Seed seed;
  KeyedHash(seed, audit_key, "reply", Text(nonce));
  return ReplySeed(seed);
}

ReplySeed::~ReplySeed() { sodium_memzero(seed_.data(), seed_.size()); }

Digest ReplySeed::Commitment(const Digest& nonce) const {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT seed of a reply, version 1"));
  writer.Raw(nonce);
  writer.Raw(seed_);
  return HashBytes(writer.bytes());
}

void ReplySeed::Fill(std::span<uint8_t> out, std::string_view purpose, uint64_t index) const {
  ByteWriter writer;
  writer.U64(index);
  KeyedHash(out, seed_, purpose, Text(writer.bytes()));
}

uint32_t ReplySeed::U32(std::string_view purpose) const {
  uint32_t value = 0;
  Fill({reinterpret_cast<uint8_t*>(&value), sizeof(value)}, purpose);
  return value;
}

}  // namespace heft
