// SPDX-License-Identifier: Apache-2.0
// Golden records (tests/golden/records/): the records of a gallery's store stay readable, and are
// written unchanged.
#include "tests/golden_records.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"

namespace heft::golden {
namespace {

std::vector<uint8_t> Golden(const std::string& name) {
  auto bytes = ReadFile(testing::SourcePath("tests/golden/records/") + name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *std::move(bytes);
}

TEST(GoldenRecordsTest, AreWrittenAsTheyWere) {
  for (const auto& [name, bytes] : GoldenRecords()) EXPECT_EQ(bytes, Golden(name)) << name;
}

// A record that was read is written identically (fuzz/records_fuzzer.cc), so comparing bytes
// compares values.
TEST(GoldenRecordsTest, AreReadAsTheyWere) {
  EXPECT_EQ(SerializeHead(*ParseHead(Golden("head"), "head")), Golden("head"));
  EXPECT_EQ(ParseHead(Golden("head"), "head")->revoked, GoldenHead().revoked);
  EXPECT_EQ(SerializeBlockInfo(*ParseBlockInfo(Golden("info"), "info")), Golden("info"));
  const auto run = ParseRun(Golden("run"), "run");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(SerializeRun(*run), Golden("run"));
  EXPECT_EQ((*run)[0].identity, "ann");
  EXPECT_EQ((*run)[1].state, PlaceState::kFree);
  EXPECT_EQ((*run)[2].state, PlaceState::kLeaving);
  const auto left = ParseRun(Golden("run-left"), "run");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(SerializeRun(*left), Golden("run-left"));
  EXPECT_EQ((*left)[2].left, kRecordTime + 3);
  const std::vector<uint8_t> entry = Golden("entry");
  EXPECT_EQ(SerializeEntry(*ParseEntry(entry, "entry")), entry);
  EXPECT_EQ(SerializeFold(*ParseFold(Golden("fold"), "fold")), Golden("fold"));
  EXPECT_EQ(SerializeExchange(*ParseExchange(Golden("exchange"), "exchange")), Golden("exchange"));
  EXPECT_EQ(SerializeReceipt(*ParseReceipt(Golden("receipt"), "receipt")), Golden("receipt"));
  const auto times = ParseReceipt(Golden("receipt-times"), "receipt");
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(SerializeReceipt(*times), Golden("receipt-times"));
  EXPECT_EQ(times->items[0].removed, kRecordTime - 60);
  EXPECT_EQ(SerializeWaiting(*ParseWaiting(Golden("waiting"), "waiting")), Golden("waiting"));
  EXPECT_EQ(ParseNamed(Golden("named"), "named")->places, (std::vector<uint64_t>{0, 65}));
  const auto kept = ParseKeptHead(Golden("kept-head"), "kept head");
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->newest, (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(kept->fork, (std::vector<uint8_t>{4, 5}));
  const std::vector<uint8_t> block = Golden("block");
  std::span<const uint32_t> residues;
  const auto header = ParseBlock(block, kResidues.size(), "block", &residues);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(std::vector<uint32_t>(residues.begin(), residues.end()), kResidues);
  EXPECT_EQ(header->hash, ResiduesHash(residues));
}

}  // namespace
}  // namespace heft::golden
