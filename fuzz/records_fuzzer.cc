// SPDX-License-Identifier: Apache-2.0
// The records that a gallery keeps in its store (gallery/records.h). The first byte of the input
// says which of them the rest is. A program that can write to the store's file can supply any of
// them.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "gallery/journal_head.h"
#include "gallery/records.h"

namespace heft::fuzz {
namespace {

void CheckAlike(ByteSpan bytes, const std::vector<uint8_t>& again) {
  Check(std::ranges::equal(bytes, again), "what was read is written alike");
}

// Calls `check` with what `read` says, if it is not refused.
template <typename T, typename F>
void Read(const absl::StatusOr<T>& read, F check) {
  if (!read.ok()) return CheckRefusal(read.status());
  check(*read);
}

void ReadHead(ByteSpan bytes) {
  Read(ParseHead(bytes, "head"), [&](const GalleryHead& head) {
    CheckAlike(bytes, SerializeHead(head));
    Check(head.live <= head.places && head.leaving <= head.places - head.live,
          "no more stand somewhere than there are places");
    Check(head.places == 0 || head.block_places > 0, "places are in blocks");
    Check(head.retired <= head.folded && head.folded < head.next_entry, "entries in their order");
  });
}

void ReadRun(ByteSpan bytes) {
  Read(ParseRun(bytes, "run"), [&](const Run& run) {
    CheckAlike(bytes, SerializeRun(run));
    for (const Resident& resident : run) {
      Check((resident.state == PlaceState::kLive) == !resident.identity.empty(),
            "who answers has a name, and nobody else has");
    }
  });
}

void ReadEntry(ByteSpan bytes) {
  Read(ParseEntry(bytes, "entry"), [&](const JournalEntry& entry) {
    CheckAlike(bytes, SerializeEntry(entry));
    Check(entry.fused.empty() ||
              (entry.fused.data() > bytes.data() &&
               entry.fused.data() + entry.fused.size() <= bytes.data() + bytes.size()),
          "a part of the input");
  });
}

void ReadBlock(ByteSpan bytes) {
  const size_t words = (bytes.size() - std::min(bytes.size(), kBlockHeader)) / sizeof(uint32_t);
  std::span<const uint32_t> residues;
  Read(ParseBlock(bytes, words, "block", &residues), [&](const BlockHeader& header) {
    Check(residues.size() == words, "as many residues as were asked for");
    CheckAlike(bytes, SerializeBlock(header, residues));
  });
  Check(!ParseBlock(bytes, words + 1, "block", &residues).ok(), "a block of another size");
}

void ReadNamed(ByteSpan bytes) {
  Read(ParseNamed(bytes, "name"), [&](const NamedPlaces& named) {
    CheckAlike(bytes, SerializeNamed(named));
    Check(std::ranges::is_sorted(named.places), "places in their order");
  });
}

void ReadPending(ByteSpan bytes) {
  Read(ParsePending(bytes, "pending"),
       [&](const PendingRecord& pending) { CheckAlike(bytes, SerializePending(pending)); });
}

void ReadRecord(uint8_t kind, ByteSpan bytes) {
  switch (kind) {
    case 'h':
      return ReadHead(bytes);
    case 'i':
      return Read(ParseBlockInfo(bytes, "info"),
                  [&](const BlockInfo& info) { CheckAlike(bytes, SerializeBlockInfo(info)); });
    case 'r':
      return ReadRun(bytes);
    case 'j':
      return ReadEntry(bytes);
    case 'x':
      return Read(ParseExchange(bytes, "exchange"), [&](const ExchangeRecord& exchange) {
        CheckAlike(bytes, SerializeExchange(exchange));
      });
    case 'c':
      return Read(ParseReceipt(bytes, "receipt"), [&](const ReceiptRecord& receipt) {
        CheckAlike(bytes, SerializeReceipt(receipt));
      });
    case 'f':
      return Read(ParseFold(bytes, "fold"),
                  [&](const FoldRecord& fold) { CheckAlike(bytes, SerializeFold(fold)); });
    case 'b':
      return ReadBlock(bytes);
    case 'n':
      return ReadNamed(bytes);
    case 'w':
      return ReadPending(bytes);
    case 'o':
      return Read(ParseKeptHead(bytes, "kept head"), [&](const KeptHead& kept) {
        CheckAlike(bytes, SerializeKeptHead(kept));
        const absl::Status told = NewestEntry(kept).status();
        if (!told.ok()) CheckRefusal(told);
        Check(DescribeFork(kept).empty() == kept.fork.empty(), "a fork is told");
      });
    default:
      return;
  }
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // A copy, aligned as a value in a store is.
  const std::vector<uint8_t> bytes(data + 1, data + size);
  heft::fuzz::ReadRecord(data[0], bytes);
  return 0;
}
