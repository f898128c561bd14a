// SPDX-License-Identifier: Apache-2.0
#include "gallery/restriction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "gallery/metadata_format.h"

namespace heft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<uint8_t> Bytes(const PlaceSet& set) {
  ByteWriter writer;
  set.Write(writer);
  return writer.Take();
}

TEST(PlaceSetTest, IsASet) {
  std::mt19937_64 random(1);
  for (const uint64_t places : {0, 1, 7, 8, 9, 64, 1000}) {
    PlaceSet set = PlaceSet::None(places);
    std::set<uint64_t> expected;
    for (uint64_t i = 0; i < 2 * places; ++i) {
      const uint64_t place = random() % places;
      if (random() % 3 > 0) {
        set.Add(place);
        expected.insert(place);
      } else {
        set.Remove(place);
        expected.erase(place);
      }
    }
    EXPECT_EQ(set.count(), expected.size());
    for (uint64_t i = 0; i < places; ++i) EXPECT_EQ(set.Contains(i), expected.contains(i));
    for (uint64_t first = 0; first < places; first += 1 + random() % 5) {
      for (const uint64_t end : {first, first + 1, first + 9, places + 20}) {
        const auto next = expected.lower_bound(first);
        EXPECT_EQ(set.ContainsAny(first, end), next != expected.end() && *next < end)
            << first << " to " << end;
      }
    }
    const std::vector<uint8_t> bytes = Bytes(set);
    EXPECT_EQ(bytes.size(), (places + 7) / 8);
    ByteReader reader(bytes, "bytes");
    EXPECT_EQ(PlaceSet::Read(reader, places), set);
    EXPECT_TRUE(reader.Finish().ok());
  }
}

TEST(PlaceSetTest, BlocksAndBits) {
  PlaceSet set = PlaceSet::None(37);
  for (const uint64_t place : {0, 9, 31, 36}) set.Add(place);
  EXPECT_THAT(set.Blocks(8), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(set.Blocks(16), ElementsAre(0, 1, 2));
  EXPECT_THAT(PlaceSet::None(37).Blocks(8), ElementsAre());
  EXPECT_THAT(PlaceSet::All(37).Blocks(16), ElementsAre(0, 1, 2));
  EXPECT_EQ(PlaceSet::All(37).count(), 37u);
  EXPECT_THAT(Bytes(set), ElementsAre(0x01, 0x02, 0x00, 0x80, 0x10));
  EXPECT_THAT(Bytes(PlaceSet::All(11)), ElementsAre(0xff, 0x07));
}

TEST(PlaceSetTest, WhatIsRefused) {
  const std::vector<uint8_t> beyond = {0xff, 0x08}, missing = {0xff};
  ByteReader reader(beyond, "bytes");
  PlaceSet::Read(reader, 11);
  EXPECT_THAT(std::string(reader.status().message()), HasSubstr("a place that is not there"));
  ByteReader large(missing, "bytes");
  EXPECT_EQ(PlaceSet::Read(large, ~uint64_t{0}).places(), 0u);
  EXPECT_THAT(std::string(large.status().message()), HasSubstr("truncated"));
}

Restriction Some() {
  Restriction out;
  out.answering = PlaceSet::None(20);
  out.answering.Add(3);
  out.time = 1800000000;
  out.where = {{"site", {"berlin", "paris"}}, {"age", {}, 18, std::nullopt}, {"age", {}, {}, 30}};
  return out;
}

TEST(RestrictionTest, IsReadAsItWasWritten) {
  Restriction some = Some();
  ByteWriter writer;
  WriteRestriction(writer, some);
  ByteReader reader(writer.bytes(), "bytes");
  EXPECT_EQ(ReadRestriction(reader, 20), some);
  EXPECT_TRUE(reader.Finish().ok());
  for (size_t size = 0; size < writer.bytes().size(); ++size) {
    ByteReader cut(ByteSpan(writer.bytes()).first(size), "bytes");
    ReadRestriction(cut, 20);
    EXPECT_FALSE(cut.ok()) << size;
  }
  // A set of all places is no restriction; an empty set is one.
  for (const bool all : {true, false}) {
    some.answering = all ? PlaceSet::All(20) : PlaceSet::None(20);
    ByteWriter other;
    WriteRestriction(other, some);
    ByteReader again(other.bytes(), "bytes");
    ReadRestriction(again, 20);
    EXPECT_EQ(again.ok(), !all);
  }
}

TEST(RestrictionTest, BadConditionsAreRefused) {
  auto refused = [](const std::vector<uint8_t>& bytes) {
    ByteReader reader(bytes, "bytes");
    ReadConditions(reader);
    return std::string(reader.status().message());
  };
  EXPECT_EQ(refused({1, 1, 'a', 1, 1, 'b'}), "");
  EXPECT_THAT(refused({1, 1, 'A', 1, 1, 'b'}), HasSubstr("a key"));
  EXPECT_THAT(refused({1, 1, 'a', 1, 0}), HasSubstr("0 bytes"));
  EXPECT_THAT(refused({1, 1, 'a', 0, 0}), HasSubstr("neither values nor bounds"));
  EXPECT_THAT(refused({1, 1, 'a', 0, 4}), HasSubstr("unknown form"));
  EXPECT_THAT(refused({1, 1, 'a', 0, 1, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f}), HasSubstr("finite"));
  EXPECT_THAT(refused({200, 1, 'a', 1, 1, 'b'}), HasSubstr("truncated"));
}

TEST(MetadataFormatTest, IsReadAsItWasWrittenOrRefused) {
  const Metadata metadata = {{"site", "berlin"}, {"list", std::string(255, 'v')}};
  ByteWriter writer;
  WriteMetadata(writer, metadata);
  ByteReader reader(writer.bytes(), "bytes");
  EXPECT_EQ(ReadMetadata(reader), metadata);
  EXPECT_TRUE(reader.Finish().ok());
  auto refused = [](const std::vector<uint8_t>& bytes) {
    ByteReader damaged(bytes, "bytes");
    ReadMetadata(damaged);
    return std::string(damaged.status().message());
  };
  EXPECT_EQ(refused({0}), "");
  EXPECT_THAT(refused({2, 1, 'a', 1, 'b', 1, 'a', 1, 'b'}), HasSubstr("twice"));
  EXPECT_THAT(refused({1, 1, 'a', 1, 0x1b}), HasSubstr("U+001B"));
  EXPECT_THAT(refused({1, 1, 'a', 9, 'b'}), HasSubstr("truncated"));
}

}  // namespace
}  // namespace heft
