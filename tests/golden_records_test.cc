// SPDX-License-Identifier: Apache-2.0
// Golden records (tests/golden/records/): the records of a gallery's store stay readable, and are
// written unchanged.
#include "tests/golden_records.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"

namespace heft::golden {
namespace {

std::vector<uint8_t> GoldenRecord(const std::string& name) {
  auto bytes = ReadFile(testing::SourcePath("tests/golden/records/") + name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *std::move(bytes);
}

TEST(GoldenRecordsTest, AreWrittenAsTheyWere) {
  for (const auto& [name, bytes] : GoldenRecords()) EXPECT_EQ(bytes, GoldenRecord(name)) << name;
}

// A record that was read is written identically (fuzz/records_fuzzer.cc), so comparing bytes
// compares values.
TEST(GoldenRecordsTest, AreReadAsTheyWere) {
  EXPECT_EQ(SerializeHead(*ParseHead(GoldenRecord("head"), "head")), GoldenRecord("head"));
  EXPECT_EQ(ParseHead(GoldenRecord("head"), "head")->revoked, GoldenHead().revoked);
  EXPECT_EQ(SerializeBlockInfo(*ParseBlockInfo(GoldenRecord("info"), "info")),
            GoldenRecord("info"));
  const auto run = ParseRun(GoldenRecord("run"), "run");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(SerializeRun(*run), GoldenRecord("run"));
  EXPECT_EQ((*run)[0].identity, "ann");
  EXPECT_EQ((*run)[1].state, PlaceState::kFree);
  EXPECT_EQ((*run)[2].state, PlaceState::kLeaving);
  const auto left = ParseRun(GoldenRecord("run-left"), "run");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(SerializeRun(*left), GoldenRecord("run-left"));
  EXPECT_EQ((*left)[2].left, kRecordTime + 3);
  const std::vector<uint8_t> entry = GoldenRecord("entry");
  EXPECT_EQ(SerializeEntry(*ParseEntry(entry, "entry")), entry);
  EXPECT_EQ(SerializeFold(*ParseFold(GoldenRecord("fold"), "fold")), GoldenRecord("fold"));
  EXPECT_EQ(SerializeExchange(*ParseExchange(GoldenRecord("exchange"), "exchange")),
            GoldenRecord("exchange"));
  EXPECT_EQ(SerializeReceipt(*ParseReceipt(GoldenRecord("receipt"), "receipt")),
            GoldenRecord("receipt"));
  const auto times = ParseReceipt(GoldenRecord("receipt-times"), "receipt");
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(SerializeReceipt(*times), GoldenRecord("receipt-times"));
  EXPECT_EQ(times->items[0].removed, kRecordTime - 60);
  EXPECT_EQ(SerializePending(*ParsePending(GoldenRecord("waiting"), "waiting")),
            GoldenRecord("waiting"));
  EXPECT_EQ(ParseNamed(GoldenRecord("named"), "named")->places, (std::vector<uint64_t>{0, 65}));
  const auto kept = ParseKeptHead(GoldenRecord("kept-head"), "kept head");
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->newest, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(kept->fork, (std::vector<uint8_t>{4, 5}));
  const std::vector<uint8_t> block = GoldenRecord("block");
  std::span<const uint32_t> residues;
  const auto header = ParseBlock(block, kResidues.size(), "block", &residues);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(std::vector<uint32_t>(residues.begin(), residues.end()), kResidues);
  EXPECT_EQ(header->hash, ResiduesHash(residues));
}

}  // namespace
}  // namespace heft::golden
