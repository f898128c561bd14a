// SPDX-License-Identifier: Apache-2.0
// Store: where galleries are kept. Named, ordered tables of bytes under transactions: one writer at
// a time, who waits for his turn, and any number of readers, who never wait and each see one state.
// Above this line nobody knows files: a database server implements the same.
//
// Several galleries share a store: the keys of all tables but kCatalog start with a gallery's
// number (gallery/records.h).
#ifndef HEFT_GALLERY_STORE_H_
#define HEFT_GALLERY_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/status.h"

namespace heft {

enum class Table : uint8_t {
  kCatalog = 0,  // names of galleries
  kHead,         // of each gallery what all of it has in common
  kBlocks,       // checkpoints: sums of templates
  kBlockInfo,    // of each block what is small
  kRoster,       // who stands where, by runs of positions
  kNames,        // where identities stand, by keyed hashes
  kSamples,      // digests of enrolled samples
  kJournal,      // fused templates that may be taken back exactly
  kFolds,        // which of them joined their blocks together
  kQuarantine,   // enrolments that nobody has admitted
  kWaiting,      // of each of them what is small
  kFree,         // positions to be filled again
  kExchanges,    // renewals that the key owner has been asked for
  kReceipts,     // of removals
  kRequests,     // idempotency keys of changes, with their results
};
inline constexpr size_t kTables = 15;
std::string_view TableName(Table table);

// kValueAlignment: every value of kLongValue bytes and more begins at an address that is
// kValueOffset modulo this, so that what follows a header of the right length is aligned for the
// kernels without a copy.
inline constexpr size_t kValueAlignment = 64;
inline constexpr size_t kValueOffset = 16;
inline constexpr size_t kLongValue = 1024;
// kMostKey: bytes of a key, at least 1.
inline constexpr size_t kMostKey = 255;

// StoreReader: one state of a store. Any number of threads.
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // Get: nothing where there is no such key. The bytes stay as they are for as long as the reader
  // lives; a StoreWriter's until its next change. kDataLoss where the store is damaged.
  virtual absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const = 0;
  // Scan: the entries of keys >= `from` in the order of their bytes, until `use` returns false.
  // Bytes as Get's. `use` must not call the reader.
  virtual absl::Status Scan(Table table, ByteSpan from,
                            const std::function<bool(ByteSpan key, ByteSpan value)>& use) const = 0;
};

// StoreWriter: a transaction. Reads see its own changes. Without Commit nothing has happened.
// Ended, by Commit or the destructor, by the thread that began it. Until then what was put may be
// in memory.
class StoreWriter : public StoreReader {
 public:
  virtual absl::Status Put(Table table, ByteSpan key, ByteSpan value) = 0;
  // Delete: no error where there is none.
  virtual absl::Status Delete(Table table, ByteSpan key) = 0;
  // Commit: all or nothing, durable when it returns OK; the writer is good for nothing afterwards.
  // kUnavailable where the disk refuses, with what to do: then the store is as before.
  virtual absl::Status Commit() = 0;
};

// StoreLock: whoever holds it is the only one who writes, in this process and all others, over as
// many transactions as he likes. Released when destroyed, or when the process ends.
class StoreLock {
 public:
  virtual ~StoreLock() = default;
};

struct StoreStatistics {
  uint64_t bytes = 0;       // on disk
  uint64_t live_bytes = 0;  // of what the newest state reaches
  uint64_t readers = 0;     // that hold a state, in all processes
};

class Store {
 public:
  virtual ~Store() = default;

  // Read: the newest state. Never waits.
  virtual absl::StatusOr<std::unique_ptr<StoreReader>> Read() const = 0;
  // Lock: waits for others who write, up to `wait`; then kUnavailable. kFailedPrecondition in a
  // store that was opened for reading.
  virtual absl::StatusOr<std::unique_ptr<StoreLock>> Lock(absl::Duration wait) = 0;
  // Write: a transaction, one at a time, under the caller's lock, which outlives it.
  virtual absl::StatusOr<std::unique_ptr<StoreWriter>> Write(const StoreLock& lock) = 0;

  // Scrub: of all that was deleted or replaced by committed transactions nothing is left on the
  // disk when it returns OK, but that keys may, next to values of kLongValue bytes and more. Waits
  // up to `wait` for readers who still see it; then kUnavailable, and it is to be called again.
  // Under the caller's lock, with no transaction open. A store of which Remains says that something
  // is left has done what it can: nobody can read it through the store any more.
  virtual absl::Status Scrub(const StoreLock& lock, absl::Duration wait) = 0;

  // Copy: the newest state into an empty folder, a store like this one, durable when it returns OK;
  // readers and writers go on. kCancelled if `progress`, called with (bytes done, all), returns
  // false: then nothing is left of the copy. kAlreadyExists, kUnavailable.
  virtual absl::Status Copy(const std::string& folder,
                            const std::function<bool(uint64_t, uint64_t)>& progress) const = 0;

  // Final: whether what a writer has committed stays so; not where it is part of a transaction of
  // the caller's, who may still roll it back.
  virtual bool Final() const { return true; }

  // Remains: what Scrub leaves, where, and for how long: a sentence for people; empty: nothing.
  virtual std::string Remains() const { return {}; }

  virtual absl::StatusOr<StoreStatistics> Statistics() const = 0;

  // Check: whether the newest state holds together, whatever is in it: its tables, not its long
  // values. kDataLoss, saying where not.
  virtual absl::Status Check() const = 0;
};

enum class StoreMode { kRead, kWrite, kCreate };

// OpenStore: the store in a folder (gallery/store_lmdb.cc), or of another kind, which this program
// has been told of (gallery/store_scheme.h): "postgres:SERVICE". Cheap when the process has it open
// already, and all who do share one. kNotFound if there is none (kCreate: makes it, and the
// folder), kDataLoss where it is damaged, kFailedPrecondition for one of a later version,
// kUnavailable where the system refuses (permissions, a read-only file system with kWrite, too many
// readers), each with what to do.
absl::StatusOr<std::shared_ptr<Store>> OpenStore(const std::string& folder, StoreMode mode);
// StoreExists: whether OpenStore with kRead would find one; also where it cannot say now.
bool StoreExists(const std::string& folder);

// MemoryStore: for tests: the same promises, kept in memory, for as long as it lives (Copy:
// kUnimplemented).
std::shared_ptr<Store> MemoryStore();

}  // namespace heft

#endif  // HEFT_GALLERY_STORE_H_
