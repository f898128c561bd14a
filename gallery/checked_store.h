// SPDX-License-Identifier: Apache-2.0
// CheckedReader, CheckedWriter: a store's records with checksums, as galleries use them. A damaged
// record is noticed when it is read, is named, and is left out. Records that a whole gallery needs
// (its catalogue entry, head, facts about blocks, roster, pending list, receipts) are stored twice:
// the copy is used where the first one is damaged or missing.
//
// Blocks have checksums of their own (gallery/records.h).
#ifndef HEFT_GALLERY_CHECKED_STORE_H_
#define HEFT_GALLERY_CHECKED_STORE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "gallery/records.h"
#include "store/store.h"

namespace heft {

// Damage: a record whose checksum is wrong, or one of two copies that is missing, or a part of a
// table that cannot be read.
struct Damage {
  Table table = Table::kCatalog;
  StoreKey key;         // as it is found, without the mark of a copy; empty: a part of the table
  bool intact = false;  // the other copy is used, or the record is one of another gallery
  bool operator==(const Damage&) const = default;
};
// Describe: names it, with the consequence and the way out, in one sentence.
std::string Describe(const Damage& damage);

// DamageLog: the damage that the readers of a process have met. Any number of threads.
class DamageLog {
 public:
  void Note(Damage damage);
  void Forget(const Damage& damage);
  std::vector<Damage> All() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<Table, StoreKey>, bool> known_;  // and whether the other copy is intact
};

// IsStoredTwice: whether a table's records have copies.
bool IsStoredTwice(Table table);

// FindDamage: all damage of a store in one state, but not in blocks. With `gallery`, without other
// galleries that the catalogue lists. `reader` is the store's own.
absl::StatusOr<std::vector<Damage>> FindDamage(const StoreReader& reader,
                                               std::optional<uint32_t> gallery);

// DamageAt: the damage of one record now; nothing if it is intact or was deleted.
absl::StatusOr<std::optional<Damage>> DamageAt(const StoreReader& reader, Table table,
                                               const StoreKey& key);

// CheckCatalogue: kDataLoss, naming the entry, if an entry of the catalogue is damaged and has no
// intact copy: a gallery of the store has lost its name.
absl::Status CheckCatalogue(const StoreReader& reader);

class CheckedReader : public StoreReader {
 public:
  CheckedReader(std::unique_ptr<StoreReader> reader, std::shared_ptr<DamageLog> log)
      : reader_(std::move(reader)), log_(std::move(log)) {}

  // Get: kDataLoss for a damaged record without an intact copy. Nothing for a record of another
  // gallery whose number has one flipped bit.
  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override;
  absl::StatusOr<bool> Look(Table table, ByteSpan key,
                            const std::function<void(ByteSpan value)>& use) const override;
  // Scan: leaves out damaged records without an intact copy, and what cannot be read.
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan key, ByteSpan value)>& use) const override;
  // The store's own, for FindDamage.
  const StoreReader& raw() const { return *reader_; }

 private:
  const std::unique_ptr<StoreReader> reader_;
  const std::shared_ptr<DamageLog> log_;
};

class CheckedWriter : public StoreWriter {
 public:
  CheckedWriter(std::unique_ptr<StoreWriter> writer, std::shared_ptr<DamageLog> log)
      : writer_(std::move(writer)), log_(std::move(log)) {}

  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override;
  absl::StatusOr<bool> Look(Table table, ByteSpan key,
                            const std::function<void(ByteSpan value)>& use) const override;
  // Scan: as CheckedReader, but kDataLoss at the end if a part cannot be read: a change that misses
  // records could leave data that it must erase.
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan key, ByteSpan value)>& use) const override;
  absl::StatusOr<std::optional<std::vector<uint64_t>>> FindTemplates(
      uint32_t gallery, const TemplateMarks& marks, uint64_t states) const override {
    return writer_->FindTemplates(gallery, marks, states);
  }
  absl::Status Put(Table table, ByteSpan key, ByteSpan value) override;
  absl::Status Delete(Table table, ByteSpan key) override;
  absl::Status Commit() override { return writer_->Commit(); }
  const StoreWriter& raw() const { return *writer_; }

 private:
  const std::unique_ptr<StoreWriter> writer_;
  const std::shared_ptr<DamageLog> log_;
};

// ReadChecked, WriteChecked: Store::Read and Store::Write. Without `log`, damage is not noted.
absl::StatusOr<std::unique_ptr<CheckedReader>> ReadChecked(const Store& store,
                                                           std::shared_ptr<DamageLog> log = {});
absl::StatusOr<std::unique_ptr<CheckedWriter>> WriteChecked(Store* store, const StoreLock& lock,
                                                            std::shared_ptr<DamageLog> log = {});

}  // namespace heft

#endif  // HEFT_GALLERY_CHECKED_STORE_H_
