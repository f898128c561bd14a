// SPDX-License-Identifier: Apache-2.0
// Store: where galleries are kept. It has named, ordered tables of bytes, and transactions. One
// writer works at a time; other writers wait. Any number of readers each see one state and never
// wait. Code above this interface does not depend on files: a database server implements it too.
//
// Several galleries share a store: the keys of all tables but kCatalog start with a gallery's
// number (gallery/records.h).
#ifndef HEFT_STORE_STORE_H_
#define HEFT_STORE_STORE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/status.h"

namespace heft {

enum class Table : uint8_t {
  kCatalog = 0,  // names of galleries
  kHead,         // what is common to a gallery
  kBlocks,       // checkpoints: sums of templates
  kBlockInfo,    // the small facts about each block
  kRoster,       // the template at each position, by runs of positions
  kNames,        // positions of identities, by keyed hashes
  kSamples,      // digests of enrolled samples
  kJournal,      // fused templates that can be taken back exactly
  kFolds,        // which entries joined their blocks together
  kPendingFile,  // pending enrolments
  kPending,      // the small facts about each pending enrolment
  kFree,         // positions that can be filled again
  kExchanges,    // renewals that the key owner has been asked for
  kReceipts,     // of removals
  kRequests,     // idempotency keys of changes, with their results
};
inline constexpr size_t kTables = 15;
std::string_view TableName(Table table);

// kValueAlignment: every value of at least kLongValue bytes begins at an address that is
// kValueOffset modulo this. So the data behind a header of the right length is aligned for the
// kernels without a copy.
inline constexpr size_t kValueAlignment = 64;
inline constexpr size_t kValueOffset = 16;
inline constexpr size_t kLongValue = 1024;
// kMaxKey: bytes of a key, at least 1.
inline constexpr size_t kMaxKey = 255;

// StoreReader: one state of a store. Any number of threads can use it.
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // Get: nothing if the key does not exist. The bytes stay valid while the reader lives, or until
  // the next change of a StoreWriter. kDataLoss if the store is damaged.
  virtual absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const = 0;
  // Look: calls `use` with the value, if the key exists, and returns whether it does. The bytes are
  // valid during the call, so a reader of many short values does not keep them all.
  virtual absl::StatusOr<bool> Look(Table table, ByteSpan key,
                                    const std::function<void(ByteSpan value)>& use) const {
    const auto value = Get(table, key);
    if (!value.ok()) return value.status();
    if (*value) use(**value);
    return value->has_value();
  }
  // Scan: the entries with keys >= `from`, in byte order, until `use` returns false. The bytes of
  // short values are valid during the call, those of long ones as in Get. `use` must not call the
  // reader. kDataLoss, after all entries that can be read, if a part of the table cannot.
  virtual absl::Status Scan(Table table, ByteSpan from,
                            const std::function<bool(ByteSpan key, ByteSpan value)>& use) const = 0;
};

// TemplateMarks: by what the rows of templates name their people.
struct TemplateMarks {
  std::set<std::string> identities;  // of those that are matched
  std::set<std::array<uint8_t, 16>> persons;
  std::set<std::array<uint8_t, 16>> names;  // hashed, of those that are leaving
};

// StoreWriter: a transaction. Its reads see its own changes. Without Commit it changes nothing. The
// thread that began it ends it, by Commit or the destructor. Until then the values put may be in
// memory.
class StoreWriter : public StoreReader {
 public:
  // FindTemplates: the positions of a gallery's templates whose rows have one of these marks,
  // without a check of any checksum. Nothing if the store cannot tell: it has no such rows, the sum
  // of their states is not `states`, so that some are missing, or there are many marks.
  virtual absl::StatusOr<std::optional<std::vector<uint64_t>>> FindTemplates(
      uint32_t /*gallery*/, const TemplateMarks& /*marks*/, uint64_t /*states*/) const {
    return std::nullopt;
  }
  virtual absl::Status Put(Table table, ByteSpan key, ByteSpan value) = 0;
  // Delete: no error if the key does not exist.
  virtual absl::Status Delete(Table table, ByteSpan key) = 0;
  // Commit: all or nothing, durable when it returns OK. The writer cannot be used afterwards.
  // kUnavailable if the disk fails, with what to do; the store is then unchanged.
  virtual absl::Status Commit() = 0;
};

// StoreLock: only the holder of the lock can write, among all processes, in any number of
// transactions. Released when destroyed, or when the process ends.
class StoreLock {
 public:
  virtual ~StoreLock() = default;
};

struct StoreStatistics {
  uint64_t bytes = 0;       // on disk
  uint64_t live_bytes = 0;  // that the newest state uses
  uint64_t free_bytes = 0;  // the others: of earlier states, or for later ones
  uint64_t readers = 0;     // that hold a state, in all processes
};

class Store {
 public:
  virtual ~Store() = default;

  // Read: the newest state. Never waits.
  virtual absl::StatusOr<std::unique_ptr<StoreReader>> Read() const = 0;
  // Lock: waits for other writers, up to `wait`, then kUnavailable. kFailedPrecondition in a store
  // that was opened for reading.
  virtual absl::StatusOr<std::unique_ptr<StoreLock>> Lock(absl::Duration wait) = 0;
  // Write: a transaction, one at a time, under the caller's lock. The lock must outlive it.
  virtual absl::StatusOr<std::unique_ptr<StoreWriter>> Write(const StoreLock& lock) = 0;

  // Scrub: when it returns OK, nothing is left on the disk that committed transactions deleted or
  // replaced, or that others wrote without a commit. Waits up to `wait` for readers that began
  // before it, in other processes also for those of the newest state; then kUnavailable, and the
  // caller must call it again. After any error the next call writes everything again. Call it under
  // the lock, with no transaction open. If Remains says that data is left, Scrub has done all it
  // can, and the data cannot be read through the store.
  virtual absl::Status Scrub(const StoreLock& lock, absl::Duration wait) = 0;

  // Rebuild: if the tables are damaged, makes them anew from all rows that can be read. Overwrites
  // what other programs left of deleted rows. The conditions of Scrub. Returns whether they were
  // damaged: some rows may then be missing.
  virtual absl::StatusOr<bool> Rebuild(const StoreLock&, absl::Duration) { return false; }

  // Copy: copies the newest state into an empty folder, as a store of the same kind, durable when
  // it returns OK. Readers and writers continue. kCancelled if `progress`, called with (bytes done,
  // all), returns false; then the copy is deleted. kAlreadyExists, kUnavailable.
  virtual absl::Status Copy(const std::string& folder,
                            const std::function<bool(uint64_t, uint64_t)>& progress) const = 0;

  // Final: whether a commit is final. It is not inside a caller's transaction, which may still be
  // rolled back.
  virtual bool Final() const { return true; }

  // Remains: a sentence for people that says what Scrub leaves, where, and for how long. Empty if
  // it leaves nothing.
  virtual std::string Remains() const { return {}; }

  virtual absl::StatusOr<StoreStatistics> Statistics() const = 0;

  // Check: checks that the tables of the newest state are consistent, but not long values.
  // kDataLoss names the tables that are not.
  virtual absl::Status Check() const = 0;
};

enum class StoreMode { kRead, kWrite, kCreate };

// OpenStore: the store in a folder (store/folder.h), or of another registered kind
// (store/scheme.h), as "postgres:SERVICE". All users in a process share one open store, so
// a second call is cheap. kNotFound if there is none (kCreate creates it and the folder). kDataLoss
// if it is damaged, kFailedPrecondition if its version is later. kUnavailable if the system refuses
// (permissions, a read-only file system with kWrite, too many readers). Each error says what to do.
absl::StatusOr<std::shared_ptr<Store>> OpenStore(const std::string& folder, StoreMode mode);
// StoreExists: whether OpenStore with kRead would find one. True also if this cannot be determined
// now.
bool StoreExists(const std::string& folder);

}  // namespace heft

#endif  // HEFT_STORE_STORE_H_
