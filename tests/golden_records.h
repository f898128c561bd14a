// SPDX-License-Identifier: Apache-2.0
// The records of tests/golden/records/, as a gallery's store holds them (gallery/records.h), shared
// by the program that wrote them and the test that reads them. tests/golden/read_golden.py has the
// same values.
#ifndef HEFT_TESTS_GOLDEN_RECORDS_H_
#define HEFT_TESTS_GOLDEN_RECORDS_H_

#include <map>
#include <string>
#include <vector>

#include "gallery/journal_head.h"
#include "gallery/records.h"

namespace heft::golden {

inline constexpr uint64_t kRecordTime = 1800000000;
inline const std::vector<uint8_t> kFusedBytes = {1, 2, 3, 4, 5};
inline const std::vector<uint32_t> kResidues = {0, 1, 0xfffffffe, 7};

inline GalleryHead GoldenHead() {
  GalleryHead head;
  head.binding = {{1}, {2}, {3}, 16};
  head.id = {4};
  head.generation = 5;
  head.root = {6};
  head.places = 70;
  head.live = 60;
  head.leaving = 2;
  head.block_places = 128;
  head.epoch = 1;
  head.next_entry = 9;
  head.folded = 7;
  head.retired = 3;
  head.entry_bytes = 1000;
  head.started = kRecordTime;
  head.key_since = kRecordTime + 1;
  head.verified = kRecordTime + 2;
  head.intact = true;
  head.retention = {600, 1 << 20};
  head.revoked = {{7}, {8}};
  return head;
}

inline BlockInfo GoldenInfo() {
  BlockInfo info;
  info.generation = 5;
  info.checkpoint = {1};
  info.pending = {2};
  info.roster = {3};
  info.leaf = {4};
  info.live = 60;
  info.leaving = 2;
  info.error = {0.5, 0.25};
  return info;
}

// Ann, whose template is a mean, is at 0. The person at 2 is leaving.
inline Run GoldenRun() {
  Run run;
  Resident& ann = run[0];
  ann.state = PlaceState::kLive;
  ann.clean = 0.125;
  ann.person = {1};
  ann.identity = "ann";
  ann.sample = {2};
  ann.parts = {{3}, {4}};
  ann.contribution = {5};
  ann.entry = 8;
  ann.generation = 5;
  ann.enrolled = kRecordTime;
  ann.expires = kRecordTime + 60;
  ann.metadata = {{"site", "berlin"}};
  run[2].state = PlaceState::kLeaving;
  run[2].clean = 0.25;
  run[2].person = {6};
  return run;
}

// The same run, with the time at which the person at 2 began to leave.
inline Run GoldenRunLeft() {
  Run run = GoldenRun();
  run[2].left = kRecordTime + 3;
  run[2].name = {7};
  return run;
}

inline ExchangeRecord GoldenExchange() {
  ExchangeRecord exchange;
  exchange.seed = {1};
  exchange.asked = kRecordTime;
  exchange.sources = {{0, {2}}, {3, {4}}};
  exchange.targets = {{3, {{0, 5, 6}, {1, 7, 7}}}};
  return exchange;
}

inline ReceiptRecord GoldenReceipt() {
  return {5, kRecordTime, kRecordTime + 1, {{{1}, 2}, {{3}, 1}}, {9, 8, 7}};
}

// Receipts of people who were removed at different times.
inline ReceiptRecord GoldenReceiptTimes() {
  ReceiptRecord receipt = GoldenReceipt();
  receipt.items[0].removed = kRecordTime - 60;
  return receipt;
}

inline PendingRecord GoldenPending() { return {{"ann", "bob"}, {{1}, {2}, {3}}, {9}, 5000}; }

inline BlockHeader GoldenBlock() { return {3, 5, 16, 0x0102030405060708, ResiduesHash(kResidues)}; }

// The files of the records, by name.
inline std::map<std::string, std::vector<uint8_t>> GoldenRecords() {
  return {{"head", SerializeHead(GoldenHead())},
          {"info", SerializeBlockInfo(GoldenInfo())},
          {"run", SerializeRun(GoldenRun())},
          {"run-left", SerializeRun(GoldenRunLeft())},
          {"entry", SerializeEntry({65, 5, kRecordTime, HashBytes(kFusedBytes), kFusedBytes})},
          {"fold", SerializeFold({4, kRecordTime})},
          {"exchange", SerializeExchange(GoldenExchange())},
          {"receipt", SerializeReceipt(GoldenReceipt())},
          {"receipt-times", SerializeReceipt(GoldenReceiptTimes())},
          {"waiting", SerializePending(GoldenPending())},
          {"kept-head", SerializeKeptHead({{1, 2, 3}, {4, 5}})},
          {"named", SerializeNamed({1, {0, 65}})},
          {"block", SerializeBlock(GoldenBlock(), kResidues)}};
}

}  // namespace heft::golden

#endif  // HEFT_TESTS_GOLDEN_RECORDS_H_
