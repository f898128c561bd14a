// SPDX-License-Identifier: Apache-2.0
// SqlEntries: reads and writes entries of the store's tables as rows, in one transaction.
#ifndef HEFT_POSTGRES_SQL_ENTRIES_H_
#define HEFT_POSTGRES_SQL_ENTRIES_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "postgres/blob_cache.h"
#include "postgres/sql_session.h"
#include "store/layout_sql.h"
#include "store/store.h"

namespace heft {

// SqlEntry: the value, or the blob that has it.
struct SqlEntry {
  std::shared_ptr<const Blob> value;
  Hash hash{};
  uint64_t size = 0;
};

// SqlEntries: for one thread at a time.
class SqlEntries {
 public:
  // Without a cache, blobs are in memory only.
  SqlEntries(SqlSession* session, std::shared_ptr<BlobCache> cache)
      : session_(session), cache_(std::move(cache)) {}
  SqlSession& session() const { return *session_; }

  // Read: calls `use` for up to `most` entries with keys >= `from`, in order. `alone`: only that
  // key.
  absl::Status Read(Table table, ByteSpan from, size_t most, bool alone,
                    const std::function<void(ByteSpan key, SqlEntry entry)>& use) const;
  // Fetch: the bytes of an entry, from the cache or the database. kDataLoss if they are missing.
  absl::StatusOr<std::shared_ptr<const Blob>> Fetch(const SqlEntry& entry) const;
  // FindCached: the first half of Fetch, from the cache. FetchBlob: from the database into the
  // cache.
  std::shared_ptr<const Blob> FindCached(const SqlEntry& entry) const;
  absl::StatusOr<std::shared_ptr<const Blob>> FetchBlob(const Hash& hash) const;

  // Changes: of one table, by key: a value, or nullptr to delete it.
  using Changes = std::map<std::string, std::shared_ptr<const Blob>, std::less<>>;
  absl::Status Write(Table table, const Changes& changes);
  // DropUnused: deletes blobs that no entry uses after this transaction's changes.
  absl::Status DropUnused();

 private:
  using Keyed = std::pair<std::string, SqlEntry>;
  absl::StatusOr<SqlEntry> EntryOf(const SqlRows& rows, size_t row, const Layout& layout) const;
  absl::StatusOr<std::vector<SqlRows>> TemplatesOf(std::span<const Cells> runs) const;
  absl::StatusOr<std::vector<Keyed>> Typed(Table table, const SqlRows& rows) const;
  absl::Status ReadOne(Table table, ByteSpan key,
                       const std::function<void(ByteSpan, SqlEntry)>& use) const;
  absl::Status ReadMany(Table table, ByteSpan from, size_t most,
                        const std::function<void(ByteSpan, SqlEntry)>& use) const;
  absl::StatusOr<Hash> AddBlob(uint32_t gallery, ByteSpan bytes);
  absl::Status HaveGalleries(Table table, const Changes& changes);
  absl::StatusOr<bool> PutName(const Cells& row);
  absl::Status PutOpaque(size_t which, std::vector<Cells> rows);
  absl::Status Upsert(size_t which, const std::vector<Cells>& rows);
  absl::Status Remove(size_t which, const std::vector<Cells>& keys);
  absl::Status RemoveTyped(Table table, const std::vector<Cells>& keys);

  SqlSession* const session_;
  const std::shared_ptr<BlobCache> cache_;
  std::set<Hash> added_;          // not in the cache: the transaction may fail
  std::set<Hash> released_;       // that lost some of their uses
  std::set<uint32_t> galleries_;  // that have a row, as this transaction knows
};

}  // namespace heft

#endif  // HEFT_POSTGRES_SQL_ENTRIES_H_
