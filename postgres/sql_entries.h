// SPDX-License-Identifier: Apache-2.0
// SqlEntries: the store's tables as rows: entries by key, read in one transaction, and written.
#ifndef HEFT_POSTGRES_SQL_ENTRIES_H_
#define HEFT_POSTGRES_SQL_ENTRIES_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gallery/store.h"
#include "postgres/blob_cache.h"
#include "postgres/sql_session.h"

namespace heft {

// SqlEntry: its bytes, or which blob has them.
struct SqlEntry {
  std::shared_ptr<const Blob> value;
  Hash hash{};
  uint64_t size = 0;
};

// SqlEntries: one thread at a time.
class SqlEntries {
 public:
  // Without a cache blobs are in memory alone.
  SqlEntries(SqlSession* session, std::shared_ptr<BlobCache> cache)
      : session_(session), cache_(std::move(cache)) {}
  SqlSession& session() const { return *session_; }

  // Read: up to `most` entries of keys >= `from` (alone: of that key), in order, to `use`.
  absl::Status Read(Table table, ByteSpan from, size_t most, bool alone,
                    const std::function<void(ByteSpan key, SqlEntry entry)>& use) const;
  // Fetch: the bytes of an entry, of the cache or the database. kDataLoss where it is not there.
  absl::StatusOr<std::shared_ptr<const Blob>> Fetch(const SqlEntry& entry) const;
  // Of the first half alone: what the cache has; and what the database has, kept there.
  std::shared_ptr<const Blob> FindCached(const SqlEntry& entry) const;
  absl::StatusOr<std::shared_ptr<const Blob>> FetchBlob(const Hash& hash) const;

  // Changes: of one table, by key: a value, or nothing, to delete it.
  using Changes = std::map<std::string, std::shared_ptr<const Blob>, std::less<>>;
  absl::Status Write(Table table, const Changes& changes);
  // DropUnused: blobs that this transaction's changes have left without an entry.
  absl::Status DropUnused();

 private:
  absl::StatusOr<Hash> AddBlob(ByteSpan bytes);
  absl::Status ReleaseBlobs(Table table, SqlBytesArray keys);

  SqlSession* const session_;
  const std::shared_ptr<BlobCache> cache_;
  std::set<Hash> added_;     // not in the cache: the transaction may not be committed
  std::set<Hash> released_;  // some of whose uses have gone
};

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_ENTRIES_H_
