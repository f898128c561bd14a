// SPDX-License-Identifier: Apache-2.0
// The keys of a gallery's records.
#include <algorithm>

#include "base/envelope.h"
#include "gallery/records.h"

namespace heft {
namespace {

StoreKey Prefix(uint32_t gallery) {
  StoreKey key;
  for (int shift = 24; shift >= 0; shift -= 8)
    key.push_back(static_cast<uint8_t>(gallery >> shift));
  return key;
}

void Append(StoreKey* key, uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8)
    key->push_back(static_cast<uint8_t>(number >> shift));
}

}  // namespace

StoreKey HeadKey(uint32_t gallery) { return Prefix(gallery); }

StoreKey BlockKey(uint32_t gallery, uint32_t epoch, uint64_t block) {
  StoreKey key = Prefix(gallery);
  const StoreKey second = Prefix(epoch);
  key.insert(key.end(), second.begin(), second.end());
  Append(&key, block);
  return key;
}

StoreKey InfoKey(uint32_t gallery, uint64_t block) {
  StoreKey key = Prefix(gallery);
  key.push_back('i');
  Append(&key, block);
  return key;
}

StoreKey RunDigestsKey(uint32_t gallery, uint64_t block) {
  StoreKey key = Prefix(gallery);
  key.push_back('r');
  Append(&key, block);
  return key;
}

StoreKey RunKey(uint32_t gallery, uint64_t run) { return NumberKey(gallery, run); }

StoreKey NumberKey(uint32_t gallery, uint64_t number) {
  StoreKey key = Prefix(gallery);
  Append(&key, number);
  return key;
}

StoreKey DigestKey(uint32_t gallery, ByteSpan digest) {
  StoreKey key = Prefix(gallery);
  key.insert(key.end(), digest.begin(), digest.end());
  return key;
}

HashedName HashName(const GalleryId& id, std::string_view identity) {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT name"));
  writer.Raw(id);
  writer.Raw(AsBytes(identity));
  return Shortened(HashBytes(writer.bytes()));
}

StoreKey NameKey(uint32_t gallery, const GalleryId& id, std::string_view identity) {
  return DigestKey(gallery, HashName(id, identity));
}

uint64_t NumberOf(ByteSpan key) {
  uint64_t number = 0;
  for (const uint8_t byte : key.last(std::min<size_t>(key.size(), 8))) number = number << 8 | byte;
  return number;
}

bool OfGallery(uint32_t gallery, ByteSpan key) {
  const StoreKey prefix = Prefix(gallery);
  return key.size() >= prefix.size() && std::ranges::equal(key.first(prefix.size()), prefix);
}

}  // namespace heft
