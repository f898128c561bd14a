// SPDX-License-Identifier: Apache-2.0
#include "gallery/restriction.h"

#include <algorithm>
#include <bit>

#include "gallery/metadata_format.h"

namespace heft {

PlaceSet PlaceSet::None(uint64_t places) {
  PlaceSet out;
  out.places_ = places;
  out.bits_.resize(places / 8 + (places % 8 > 0 ? 1 : 0));
  return out;
}

PlaceSet PlaceSet::All(uint64_t places) {
  PlaceSet out = None(places);
  std::ranges::fill(out.bits_, uint8_t{0xff});
  if (places % 8 > 0) out.bits_.back() = static_cast<uint8_t>((1 << places % 8) - 1);
  return out;
}

void PlaceSet::AddRun(uint64_t first, uint64_t places) {
  for (size_t i = first / 8; places != 0 && i < bits_.size(); ++i, places >>= 8) {
    bits_[i] |= static_cast<uint8_t>(places);
  }
}

uint64_t PlaceSet::count() const {
  uint64_t count = 0;
  for (const uint8_t bits : bits_) count += static_cast<uint64_t>(std::popcount(bits));
  return count;
}

bool PlaceSet::ContainsAny(uint64_t first, uint64_t end) const {
  end = std::min(end, places_);
  for (uint64_t place = first; place < end; ++place) {
    if (place % 8 == 0 && bits_[place / 8] == 0) {
      place += 7;  // a whole byte of none
    } else if (Contains(place)) {
      return true;
    }
  }
  return false;
}

std::vector<uint64_t> PlaceSet::Blocks(uint64_t per_block) const {
  std::vector<uint64_t> blocks;
  for (uint64_t first = 0; first < places_; first += per_block) {
    if (ContainsAny(first, first + per_block)) blocks.push_back(first / per_block);
  }
  return blocks;
}

PlaceSet PlaceSet::Read(ByteReader& reader, uint64_t places) {
  const ByteSpan raw = reader.Raw(places / 8 + (places % 8 > 0 ? 1 : 0));
  if (!reader.ok()) return {};
  PlaceSet out;
  out.places_ = places;
  out.bits_.assign(raw.begin(), raw.end());
  if (places % 8 > 0 && out.bits_.back() >> places % 8 != 0) {
    reader.Fail("an answer of a place that is not there");
  }
  return out;
}

void WriteRestriction(ByteWriter& writer, const Restriction& restriction) {
  restriction.answering.Write(writer);
  writer.U64(restriction.time);
  WriteConditions(writer, restriction.where);
}

Restriction ReadRestriction(ByteReader& reader, uint64_t places) {
  Restriction out;
  out.answering = PlaceSet::Read(reader, places);
  out.time = reader.U64();
  out.where = ReadConditions(reader);
  if (reader.ok() && out.answering.count() == places) {
    reader.Fail("it leaves places out, and all answer");
  }
  return out;
}

}  // namespace heft
