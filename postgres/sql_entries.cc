// SPDX-License-Identifier: Apache-2.0
#include "postgres/sql_entries.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "postgres/schema.h"

namespace heft {
namespace {

absl::StatusOr<Hash> HashOf(const std::optional<ByteSpan>& bytes) {
  Hash hash;
  if (!bytes || bytes->size() != hash.size()) {
    return absl::DataLossError("an entry of the database has a hash of another length");
  }
  std::ranges::copy(*bytes, hash.begin());
  return hash;
}

// Aligned: copies long values to an address that the store promises; short ones may stay in the
// rows' memory.
std::shared_ptr<const Blob> Aligned(ByteSpan bytes, const std::shared_ptr<const void>& memory) {
  if (bytes.size() >= kLongValue) return Blob::Copied(bytes);
  return std::make_shared<Blob>(bytes, memory);
}

// Statement: made once per table.
template <typename Make>
const std::string& Statement(Table table, const Make& make) {
  static const auto* const all = [&] {
    auto* made = new std::array<std::string, kTables>;
    for (size_t i = 0; i < kTables; ++i) (*made)[i] = make(SqlTableName(static_cast<Table>(i)));
    return made;
  }();
  return (*all)[static_cast<size_t>(table)];
}

}  // namespace

absl::Status SqlEntries::Read(Table table, ByteSpan from, size_t most, bool alone,
                              const std::function<void(ByteSpan, SqlEntry)>& use) const {
  const std::string& one = Statement(table, [](const std::string& name) {
    return absl::StrCat("SELECT key, value, hash, length FROM ", name, " WHERE key = $1");
  });
  const std::string& many = Statement(table, [](const std::string& name) {
    return absl::StrCat("SELECT key, value, hash, length FROM ", name,
                        " WHERE key >= $1 ORDER BY key LIMIT $2");
  });
  const std::vector<SqlParameter> parameters = {from, static_cast<int64_t>(most)};
  HEFT_ASSIGN_OR_RETURN(
      const SqlRows rows,
      session_->Execute(alone ? one : many, std::span(parameters).first(alone ? 1 : 2)));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows.at(i, 0)) return absl::DataLossError("an entry of the database has no key");
    SqlEntry entry;
    if (rows.at(i, 1)) {
      entry.value = Aligned(*rows.at(i, 1), rows.memory);
      entry.size = entry.value->bytes().size();
    } else {
      HEFT_ASSIGN_OR_RETURN(entry.hash, HashOf(rows.at(i, 2)));
      HEFT_ASSIGN_OR_RETURN(const int64_t size, SqlInteger(rows.at(i, 3)));
      entry.size = static_cast<uint64_t>(size);
    }
    use(*rows.at(i, 0), std::move(entry));
  }
  return absl::OkStatus();
}

std::shared_ptr<const Blob> SqlEntries::FindCached(const SqlEntry& entry) const {
  if (entry.value != nullptr || cache_ == nullptr) return entry.value;
  return cache_->Find(entry.hash, entry.size);
}

absl::StatusOr<std::shared_ptr<const Blob>> SqlEntries::FetchBlob(const Hash& hash) const {
  const std::vector<SqlParameter> parameters = {ByteSpan(hash)};
  HEFT_ASSIGN_OR_RETURN(
      const SqlRows rows,
      session_->Execute("SELECT bytes FROM heft.blobs WHERE hash = $1", parameters));
  if (rows.size() == 0 || !rows.at(0, 0)) {
    return absl::DataLossError(absl::StrCat("the database's blob ", HexString(hash),
                                            " is missing: restore the database from a backup"));
  }
  if (cache_ != nullptr && !added_.contains(hash)) return cache_->Keep(hash, *rows.at(0, 0));
  if (HashBytes(*rows.at(0, 0)) != hash) {
    return absl::DataLossError(
        absl::StrCat("the database's blob ", HexString(hash), " is damaged"));
  }
  return Blob::Copied(*rows.at(0, 0));
}

absl::StatusOr<std::shared_ptr<const Blob>> SqlEntries::Fetch(const SqlEntry& entry) const {
  if (auto cached = FindCached(entry)) return cached;
  HEFT_ASSIGN_OR_RETURN(auto blob, FetchBlob(entry.hash));
  if (blob->bytes().size() == entry.size) return blob;
  return absl::DataLossError(absl::StrCat("the database's blob ", HexString(entry.hash),
                                          " has another length than its entry says"));
}

absl::StatusOr<Hash> SqlEntries::AddBlob(ByteSpan bytes) {
  const Hash hash = HashBytes(bytes);
  const std::vector<SqlParameter> parameters = {ByteSpan(hash), bytes};
  HEFT_RETURN_IF_ERROR(
      session_
          ->Execute("INSERT INTO heft.blobs AS b (hash, uses, bytes) VALUES ($1, 1, $2) "
                    "ON CONFLICT (hash) DO UPDATE SET uses = b.uses + 1",
                    parameters)
          .status());
  added_.insert(hash);
  return hash;
}

// ReleaseBlobs: decreases the uses of the blobs that entries with these keys name.
absl::Status SqlEntries::ReleaseBlobs(Table table, SqlBytesArray keys) {
  const std::string& release = Statement(table, [](const std::string& name) {
    return absl::StrCat("WITH old AS (SELECT hash, count(*) AS n FROM ", name,
                        " WHERE key = ANY ($1) AND hash IS NOT NULL GROUP BY hash) "
                        "UPDATE heft.blobs AS b SET uses = b.uses - old.n FROM old "
                        "WHERE b.hash = old.hash RETURNING b.hash");
  });
  const std::vector<SqlParameter> parameters = {keys};
  HEFT_ASSIGN_OR_RETURN(const SqlRows rows, session_->Execute(release, parameters));
  for (size_t i = 0; i < rows.size(); ++i) {
    HEFT_ASSIGN_OR_RETURN(const Hash hash, HashOf(rows.at(i, 0)));
    released_.insert(hash);
  }
  return absl::OkStatus();
}

absl::Status SqlEntries::Write(Table table, const Changes& changes) {
  std::vector<std::optional<ByteSpan>> all, put, values, hashes, gone;
  std::vector<std::optional<int64_t>> sizes;
  std::vector<Hash> blobs;
  blobs.reserve(changes.size());  // spans point into it
  for (const auto& [text, value] : changes) {
    const ByteSpan key = AsBytes(text);
    all.emplace_back(key);
    if (value == nullptr) {
      gone.emplace_back(key);
      continue;
    }
    put.emplace_back(key);
    if (value->bytes().size() < kSqlBlob) {
      values.emplace_back(value->bytes());
      hashes.emplace_back();
      sizes.emplace_back();
    } else {
      HEFT_ASSIGN_OR_RETURN(const Hash hash, AddBlob(value->bytes()));
      blobs.push_back(hash);
      values.emplace_back();
      hashes.emplace_back(blobs.back());
      sizes.emplace_back(static_cast<int64_t>(value->bytes().size()));
    }
  }
  if (all.empty()) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(ReleaseBlobs(table, all));
  if (!put.empty()) {
    const std::string& upsert = Statement(table, [](const std::string& name) {
      return absl::StrCat("INSERT INTO ", name,
                          " (key, value, hash, length) SELECT * FROM unnest($1, $2, $3, $4) "
                          "ON CONFLICT (key) DO UPDATE SET value = excluded.value, "
                          "hash = excluded.hash, length = excluded.length");
    });
    const std::vector<SqlParameter> parameters = {SqlBytesArray(put), SqlBytesArray(values),
                                                  SqlBytesArray(hashes), SqlIntegerArray(sizes)};
    HEFT_RETURN_IF_ERROR(session_->Execute(upsert, parameters).status());
  }
  if (gone.empty()) return absl::OkStatus();
  const std::string& remove = Statement(table, [](const std::string& name) {
    return absl::StrCat("DELETE FROM ", name, " WHERE key = ANY ($1)");
  });
  const std::vector<SqlParameter> parameters = {SqlBytesArray(gone)};
  return session_->Execute(remove, parameters).status();
}

absl::Status SqlEntries::DropUnused() {
  if (released_.empty()) return absl::OkStatus();
  std::vector<std::optional<ByteSpan>> hashes;
  for (const Hash& hash : released_) hashes.emplace_back(hash);
  const std::vector<SqlParameter> parameters = {SqlBytesArray(hashes)};
  const absl::Status dropped =
      session_->Execute("DELETE FROM heft.blobs WHERE uses = 0 AND hash = ANY ($1)", parameters)
          .status();
  if (dropped.ok()) released_.clear();
  return dropped;
}

}  // namespace heft
