// SPDX-License-Identifier: Apache-2.0
// The columns of a store's tables (store/layout.h) and the records of a gallery agree.
#include "store/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gallery/checked_store.h"
#include "gallery/records.h"

namespace heft {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kGallery = 0x01020304;

std::vector<uint8_t> Summed(std::vector<uint8_t> record) {
  for (uint8_t i = 1; i <= 8; ++i) record.push_back(i);
  return record;
}

template <size_t N>
std::array<uint8_t, N> Bytes(uint8_t first) {
  std::array<uint8_t, N> bytes;
  for (size_t i = 0; i < N; ++i) bytes[i] = static_cast<uint8_t>(first + i);
  return bytes;
}

std::string TextIn(const Cell& cell) {
  const ByteSpan bytes = std::get<ByteSpan>(cell);
  return {bytes.begin(), bytes.end()};
}

int64_t NumberIn(const Cell& cell) { return std::get<int64_t>(cell); }

// Column: of a row, by its name.
const Cell& ColumnOf(const Layout& layout, const Cells& row, std::string_view name) {
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.columns[i].name == name) return row[i];
  }
  ADD_FAILURE() << "no column " << name;
  return row[0];
}

// Splits: checks that a record fits its table, is given back, and returns it.
SplitEntry Splits(Table table, const StoreKey& key, const std::vector<uint8_t>& value) {
  auto entry = Split(table, key, value);
  EXPECT_TRUE(entry.has_value()) << LayoutOf(table).name;
  if (!entry) return {};
  EXPECT_EQ(JoinKey(table, entry->row), key) << LayoutOf(table).name;
  if (!LayoutOf(table).opaque) {
    EXPECT_EQ(JoinValue(table, entry->row, entry->templates), value) << LayoutOf(table).name;
  }
  EXPECT_EQ(entry->row.size(), LayoutOf(table).columns.size()) << LayoutOf(table).name;
  return *std::move(entry);
}

Run SomeRun(bool times) {
  Run run;
  for (uint32_t i = 0; i < 40; ++i) {
    Resident& r = run[i];
    r.clean = i == 7 ? 0 : 0.1 * i;
    r.state = i % 5 == 0   ? PlaceState::kFree
              : i % 7 == 3 ? PlaceState::kLeaving
                           : PlaceState::kLive;
    if (r.state == PlaceState::kFree) continue;
    r.person = Bytes<16>(i);
    if (r.state == PlaceState::kLeaving) {
      if (times) r.left = 1700000000 + i;
      if (times) r.name = Bytes<16>(2 * i);
      continue;
    }
    r.identity = absl::StrCat("Müller \"", i, "\"\\");
    r.sample = Bytes<16>(3 * i);
    for (uint32_t p = 0; p < i % 3; ++p) r.parts.push_back(Bytes<16>(p));
    r.contribution = Bytes<32>(i);
    r.entry = i;
    r.generation = 100 + i;
    r.enrolled = 1700000000;
    r.expires = i % 2 == 0 ? kNoTime : ~uint64_t{0};
    if (i % 2 == 0) r.metadata = {{"floor", "3"}, {"list", "staff, \"night\""}};
  }
  return run;
}

TEST(LayoutTest, RecordsFitTheirTables) {
  GalleryHead head;
  head.binding.gamma = 128;
  head.places = 77;
  head.block_places = 1024;
  head.next_entry = 9;
  head.revoked = {Bytes<16>(1), Bytes<16>(2)};
  const SplitEntry state = Splits(Table::kHead, HeadKey(kGallery), Summed(SerializeHead(head)));
  EXPECT_EQ(NumberIn(ColumnOf(LayoutOf(Table::kHead), state.row, "places")), 77);
  Splits(Table::kBlocks, BlockKey(kGallery, 2, 7), {1, 2, 3});
  BlockInfo info;
  info.error.added = 0.125;
  Splits(Table::kBlockInfo, InfoKey(kGallery, 7), Summed(SerializeBlockInfo(info)));
  const SplitEntry named = Splits(Table::kNames, DigestKey(kGallery, Bytes<16>(5)),
                                  Summed(SerializeNamed({3, {0, 7, uint64_t{1} << 31}})));
  EXPECT_EQ(TextIn(ColumnOf(LayoutOf(Table::kNames), named.row, "positions")), "[0,7,2147483648]");
  ByteWriter place;
  place.U64(kPendingPlace);
  Splits(Table::kSamples, DigestKey(kGallery, Bytes<16>(6)), Summed(place.bytes()));
  Splits(Table::kJournal, NumberKey(kGallery, 12), Summed(SerializeEntry({})));
  Splits(Table::kFolds, NumberKey(kGallery, 12), Summed(SerializeFold({3, 1700000000})));
  Splits(Table::kFree, NumberKey(kGallery, 12), Summed({}));
  Splits(Table::kPendingFile, DigestKey(kGallery, Bytes<32>(6)), Summed({1}));
  PendingRecord record;
  record.identities = {"ann", "b\"ob\\"};
  record.samples = {Bytes<16>(1)};
  const SplitEntry pending =
      Splits(Table::kPending, DigestKey(kGallery, Bytes<32>(6)), Summed(SerializePending(record)));
  EXPECT_EQ(TextIn(ColumnOf(LayoutOf(Table::kPending), pending.row, "identities")),
            R"(["ann","b\"ob\\"])");
  Splits(Table::kExchanges, DigestKey(kGallery, Bytes<16>(6)), Summed(SerializeExchange({})));
  for (const uint64_t removed : {0, 1700000000}) {
    ReceiptRecord receipt;
    receipt.items = {{Bytes<16>(1), 2, removed, {}}, {Bytes<16>(2), 1, 0, {}}};
    receipt.receipt = {1, 2, 3};
    const std::vector<uint8_t> bytes = Summed(SerializeReceipt(receipt));
    Splits(Table::kReceipts, NumberKey(kGallery, 9), bytes);
    const SplitEntry due = Splits(Table::kReceipts, DueReceiptKey(kGallery, 9), bytes);
    EXPECT_EQ(NumberIn(ColumnOf(LayoutOf(Table::kReceipts), due.row, "due")), 1);
  }
  ByteWriter once;
  once.U64(1700000000);
  once.Raw(Bytes<32>(3));
  once.Raw(AsBytes("answer"));
  Splits(Table::kRequests, DigestKey(kGallery, Bytes<32>(6)), Summed(once.bytes()));
  ByteWriter number;
  number.U32(kGallery);
  const StoreKey name = {'v', 'i', 's'};
  Splits(Table::kCatalog, name, Summed(number.bytes()));
  EXPECT_EQ(GalleryOf(Table::kCatalog, name, Summed(number.bytes())), kGallery);
}

TEST(LayoutTest, ARunIsARowForEachTemplate) {
  for (const bool times : {false, true}) {
    const std::vector<uint8_t> value = Summed(SerializeRun(SomeRun(times)));
    const SplitEntry entry = Splits(Table::kRoster, RunKey(kGallery, 3), value);
    ASSERT_EQ(entry.templates.size(), 39u);  // without position 0, which is free and clean
    const Cells& one = entry.templates[0];
    ASSERT_EQ(one.size(), TemplateLayout().columns.size());
    EXPECT_EQ(NumberIn(ColumnOf(TemplateLayout(), one, "position")), 3 * 64 + 1);
    EXPECT_EQ(TextIn(ColumnOf(TemplateLayout(), one, "identity")), "Müller \"1\"\\");
    EXPECT_EQ(TextIn(ColumnOf(TemplateLayout(), entry.templates[1], "metadata")),
              R"([["floor","3"],["list","staff, \"night\""]])");
  }
}

// Every entry that is not exactly what its columns say stays as it is, as bytes.
TEST(LayoutTest, DamagedRecordsAreSplitExactlyOrNotAtAll) {
  PendingRecord record;
  record.identities = {"ann"};
  ReceiptRecord receipt;
  receipt.items = {{Bytes<16>(1), 2, 1700000000, {}}};
  const std::vector<std::tuple<Table, StoreKey, std::vector<uint8_t>>> records = {
      {Table::kHead, HeadKey(kGallery), SerializeHead({})},
      {Table::kBlockInfo, InfoKey(kGallery, 7), SerializeBlockInfo({})},
      {Table::kNames, DigestKey(kGallery, Bytes<16>(5)), SerializeNamed({3, {0, 7}})},
      {Table::kPending, DigestKey(kGallery, Bytes<32>(6)), SerializePending(record)},
      {Table::kReceipts, NumberKey(kGallery, 9), SerializeReceipt(receipt)},
      {Table::kRoster, RunKey(kGallery, 3), SerializeRun(SomeRun(true))}};
  size_t split = 0, kept = 0;
  for (const auto& [table, key, bytes] : records) {
    const std::vector<uint8_t> value = Summed(bytes);
    const size_t step = table == Table::kRoster ? 13 : 1;
    for (size_t bit = 0; bit < 8 * value.size(); bit += step) {
      std::vector<uint8_t> bad = value;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const auto entry = Split(table, key, bad);
      ++(entry ? split : kept);
      if (!entry) continue;
      ASSERT_EQ(JoinValue(table, entry->row, entry->templates), bad) << bit;
    }
    for (size_t size = 0; size < value.size(); size += step) {
      const auto entry = Split(table, key, ByteSpan(value).first(size));
      if (!entry) continue;
      const auto joined = JoinValue(table, entry->row, entry->templates);
      ASSERT_TRUE(std::ranges::equal(joined, ByteSpan(value).first(size))) << size;
    }
    for (size_t size = 0; size <= key.size() + 1; ++size) {
      StoreKey other = key;
      other.resize(size);
      EXPECT_EQ(SplitKey(table, other).has_value(), size == key.size()) << LayoutOf(table).name;
    }
  }
  EXPECT_GT(split, 1000u);
  EXPECT_GT(kept, 1000u);
}

// A row that another program has changed: its value is damaged, and nothing else happens.
TEST(LayoutTest, OddRowsHaveAValue) {
  const std::vector<uint8_t> run = Summed(SerializeRun(SomeRun(true)));
  SplitEntry entry = Splits(Table::kRoster, RunKey(kGallery, 3), run);
  for (size_t i = 1; i < TemplateLayout().columns.size(); ++i) {
    std::vector<Cells> templates = entry.templates;
    Cell& cell = templates[10][i];  // position 11: matched, with an end
    if (std::holds_alternative<std::monostate>(cell)) continue;
    cell = Cell();
    EXPECT_NE(JoinValue(Table::kRoster, entry.row, templates), run)
        << TemplateLayout().columns[i].name;
  }
  const auto left = std::ranges::find(TemplateLayout().columns, "left_at", &Column::name);
  const size_t at = left - TemplateLayout().columns.begin();
  ASSERT_EQ(NumberIn(entry.templates[2][at]), 1700000003) << "position 3 leaves";
  entry.templates[2][at] = Cell();
  EXPECT_TRUE(JoinValue(Table::kRoster, entry.row, entry.templates).empty())
      << "of those that leave, all have times or none has one";
  entry =
      Splits(Table::kNames, DigestKey(kGallery, Bytes<16>(5)), Summed(SerializeNamed({3, {7}})));
  for (const std::string_view text :
       {"", "[", "[7", "[7,", "[7]]", "[7,]", "[x]", "[\"7\"]", "7"}) {
    entry.row[3] = AsBytes(text);
    EXPECT_TRUE(JoinValue(Table::kNames, entry.row, entry.templates).empty()) << text;
  }
}

TEST(LayoutTest, BoundsAreThoseOfBytes) {
  const auto from = [](const StoreKey& key, bool after) {
    const Bound bound = BoundOf(Table::kReceipts, key, after);
    std::string text = bound.after ? ">" : ">=";
    for (const Cell& cell : bound.key) absl::StrAppend(&text, " ", std::get<int64_t>(cell));
    return text;
  };
  EXPECT_EQ(from({}, false), ">= 0 0 0");
  EXPECT_EQ(from(HeadKey(kGallery), false), ">= 16909060 0 0");
  EXPECT_EQ(from(NumberKey(kGallery, 5), false), ">= 16909060 0 5");
  EXPECT_EQ(from(NumberKey(kGallery, 5), true), "> 16909060 0 5");
  EXPECT_EQ(from(DueReceiptKey(kGallery, 5), false), ">= 16909060 1 5");
  StoreKey longer = NumberKey(kGallery, 5);
  longer.push_back(0);
  EXPECT_EQ(from(longer, false), "> 16909060 0 5");
  EXPECT_TRUE(BoundOf(Table::kFree, NumberKey(kGallery, kDueReceipt), false).after);
  const Bound digests = BoundOf(Table::kBlockInfo, RunDigestsKey(kGallery, 5), false);
  EXPECT_TRUE(digests.after) << "of this gallery no block's facts are behind its digests of runs";
  EXPECT_EQ(std::get<int64_t>(digests.key[1]), INT64_MAX);
}

}  // namespace
}  // namespace heft
