// SPDX-License-Identifier: Apache-2.0
// Which places of a gallery answer an identification. A place is a position, block * 2 slots + lane
// * slots + slot. A place does not answer if it is free, or if its template is leaving, has expired
// or does not fit the request's conditions. Its score is then not used.
#ifndef HEFT_GALLERY_RESTRICTION_H_
#define HEFT_GALLERY_RESTRICTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "heft/gallery.h"

namespace heft {

// PlaceSet: a set of places, one bit each.
class PlaceSet {
 public:
  PlaceSet() = default;
  // None: none of `places` places is in the set. All: each of them is.
  static PlaceSet None(uint64_t places);
  static PlaceSet All(uint64_t places);

  void Add(uint64_t place) { bits_[place / 8] |= static_cast<uint8_t>(1 << place % 8); }
  // AddRun: adds those of the 64 places from `first`, a multiple of 64, whose bits are set.
  void AddRun(uint64_t first, uint64_t places);
  void Remove(uint64_t place) { bits_[place / 8] &= static_cast<uint8_t>(~(1 << place % 8)); }
  bool Contains(uint64_t place) const { return bits_[place / 8] >> place % 8 & 1; }

  uint64_t places() const { return places_; }  // in the set or not
  uint64_t count() const;                      // in the set
  // Whether a place of [first, end) is in the set. Places that do not exist are ignored.
  bool ContainsAny(uint64_t first, uint64_t end) const;
  // The blocks, of `per_block` places, that contain a place of the set, ascending.
  std::vector<uint64_t> Blocks(uint64_t per_block) const;

  // Write: bit i % 8 of byte i / 8 is place i. Read: a set of `places` places; it refuses a bit
  // beyond.
  void Write(ByteWriter& writer) const { writer.Raw(bits_); }
  static PlaceSet Read(ByteReader& reader, uint64_t places);

  bool operator==(const PlaceSet&) const = default;

 private:
  uint64_t places_ = 0;
  std::vector<uint8_t> bits_;  // zero beyond places_
};

// Restriction: of an identification that not all places answer.
struct Restriction {
  PlaceSet answering;
  uint64_t time = 0;             // Unix seconds; templates that expire by then do not answer
  std::vector<Condition> where;  // the request's conditions; may be empty
  bool operator==(const Restriction&) const = default;
};
void WriteRestriction(ByteWriter& writer, const Restriction& restriction);
// ReadRestriction: of a gallery of `places` places; it refuses a set of all of them.
Restriction ReadRestriction(ByteReader& reader, uint64_t places);

}  // namespace heft

#endif  // HEFT_GALLERY_RESTRICTION_H_
