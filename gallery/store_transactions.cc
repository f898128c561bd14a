// SPDX-License-Identifier: Apache-2.0
// States of a store, and the next one: values in and out of LMDB's tables.
#include <algorithm>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gallery/store_lmdb.h"

namespace heft {
namespace {

constexpr size_t kPageHeader = kValueOffset;  // LMDB's
constexpr size_t kLengthBytes = 8;

// StoredSize: of a long value.
size_t StoredSize(size_t size, size_t page) {
  const size_t pages = (kPageHeader + size + kLengthBytes + page - 1) / page;
  return std::max<size_t>(pages, 2) * page - kPageHeader;
}

MDB_val Val(ByteSpan bytes) { return {bytes.size(), const_cast<uint8_t*>(bytes.data())}; }
ByteSpan Bytes(const MDB_val& value) {
  return {static_cast<const uint8_t*>(value.mv_data), value.mv_size};
}

// View: how a transaction reads. `map`: what the file has. `pages`: while its owner holds a lock.
struct View {
  const LmdbTransaction& transaction;
  ByteSpan map;
  LmdbPages& pages;
  bool changes;  // so that leaves may be other ones than those that it began with

  absl::Status Damaged(Table table, std::string_view why) const {
    return DamagedStore(transaction.environment().folder(),
                        absl::StrCat(std::string(TableName(table)), ", ", std::string(why)));
  }
  // Value: the value as it was put, from its stored form.
  absl::StatusOr<ByteSpan> Value(Table table, const MDB_val& stored) const {
    const ByteSpan bytes = Bytes(stored);
    if (transaction.file().InMap(bytes.data())) {
      const size_t at = bytes.data() - map.data();
      if (at > map.size() || map.size() - at < bytes.size()) {
        return Damaged(table, "a value beyond the end of the file");
      }
    }
    if (bytes.size() < kLongValue) return bytes;
    uint64_t size = 0;
    std::memcpy(&size, bytes.last(kLengthBytes).data(), kLengthBytes);
    if (size < kLongValue || size > bytes.size() - kLengthBytes ||
        StoredSize(size, transaction.file().page()) != bytes.size()) {
      return Damaged(table, "a value of a wrong length");
    }
    return bytes.first(size);
  }

  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const {
    if (key.empty() || key.size() > kMostKey) return std::optional<ByteSpan>();
    HEFT_RETURN_IF_ERROR(pages.Check(table, key).status());
    MDB_val name = Val(key), stored;
    const int rc = mdb_get(transaction.get(), transaction.file().table(table), &name, &stored);
    if (rc == MDB_NOTFOUND) return std::optional<ByteSpan>();
    if (rc != 0) return LmdbError("read", transaction.environment().folder(), rc);
    HEFT_ASSIGN_OR_RETURN(const ByteSpan value, Value(table, stored));
    return std::optional<ByteSpan>(value);
  }

  // Place: keys from `from` on, but for `from` itself if `after`.
  struct Place {
    ByteSpan from;
    bool after = false;
  };
  using Entries = std::vector<std::pair<ByteSpan, ByteSpan>>;

  // Next: up to `count` entries of one leaf, and where the next ones are; false if there are none.
  absl::StatusOr<bool> Next(Table table, size_t count, Place& place, Entries& entries) const {
    entries.clear();
    HEFT_ASSIGN_OR_RETURN(PageWalk::Path path, pages.Check(table, place.from));
    if (changes) path.entries = SIZE_MAX;
    MDB_cursor* raw = nullptr;
    int rc = mdb_cursor_open(transaction.get(), transaction.file().table(table), &raw);
    if (rc != 0) return LmdbError("read", transaction.environment().folder(), rc);
    const std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)> cursor(raw, mdb_cursor_close);
    MDB_val key = Val(place.from), stored;
    MDB_cursor_op move = place.from.empty() ? MDB_FIRST : MDB_SET_RANGE;
    const ByteSpan from = place.from;
    for (; path.entries > 0 && entries.size() < count; --path.entries, move = MDB_NEXT) {
      rc = mdb_cursor_get(cursor.get(), &key, &stored, move);
      if (rc == MDB_NOTFOUND) return false;
      if (rc != 0) return LmdbError("read", transaction.environment().folder(), rc);
      if (move == MDB_SET_RANGE && place.after && std::ranges::equal(Bytes(key), from)) continue;
      HEFT_ASSIGN_OR_RETURN(const ByteSpan value, Value(table, stored));
      entries.emplace_back(Bytes(key), value);
      place = {Bytes(key), true};
    }
    if (path.entries > 0) return true;
    if (!path.next.has_value()) return false;
    place = {*path.next, false};
    return true;
  }

  // Scan: `mutex` is held for some entries at a time, and never while they are used.
  absl::Status Scan(std::mutex& mutex, Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const {
    if (from.size() > kMostKey) return absl::InvalidArgumentError("a key is too long");
    constexpr size_t kFewest = 8, kMost = 1024;
    Entries entries;
    Place place = {from};
    bool more = true;
    for (size_t count = kFewest; more; count = std::min(2 * count, kMost)) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        HEFT_ASSIGN_OR_RETURN(more, Next(table, count, place, entries));
      }
      for (const auto& [key, value] : entries) {
        if (!use(key, value)) return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

// The state that a transaction begins with is the newest; its own number, if it writes, is one
// more.
LmdbPages::LmdbPages(const LmdbTransaction& transaction)
    : folder_(transaction.environment().folder()),
      walk_(transaction.file().Map(), transaction.file().page()),
      meta_(absl::AbortedError("not known")) {
  if (!transaction.file().mapped()) return;  // a file that is being made
  meta_ = transaction.file().Meta(mdb_txn_id(transaction.get()) - transaction.writes());
}

absl::StatusOr<PageWalk::Path> LmdbPages::Find(Table table, ByteSpan key) {
  HEFT_RETURN_IF_ERROR(meta_.status());
  auto& tree = trees_[static_cast<size_t>(table)];
  if (!tree.has_value()) {
    HEFT_ASSIGN_OR_RETURN(tree, walk_.Find(*meta_, TableName(table)));
  }
  return walk_.FindPath(*tree, key);
}

absl::StatusOr<PageWalk::Path> LmdbPages::Check(Table table, ByteSpan key) {
  auto path = Find(table, key);
  if (path.ok()) return path;
  // Others have committed twice since the state was taken, which only happens at once: its pages
  // are as they were, and cannot be found without LMDB.
  if (absl::IsAborted(path.status())) return PageWalk::Path{.entries = SIZE_MAX, .next = {}};
  return DamagedStore(folder_, std::string(path.status().message()));
}

LmdbReader::LmdbReader(LmdbTransaction transaction)
    : transaction_(std::move(transaction)), map_(transaction_.file().Map()), pages_(transaction_) {}

absl::StatusOr<std::optional<ByteSpan>> LmdbReader::Get(Table table, ByteSpan key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return View{transaction_, map_, pages_, false}.Get(table, key);
}

absl::Status LmdbReader::Scan(Table table, ByteSpan from,
                              const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  return View{transaction_, map_, pages_, false}.Scan(mutex_, table, from, use);
}

LmdbWriter::LmdbWriter(LmdbTransaction transaction, std::function<void()> done)
    : transaction_(std::move(transaction)),
      folder_(transaction_->environment().folder()),
      done_(std::move(done)),
      pages_(*transaction_) {
  MDB_stat free_pages;
  if (mdb_stat(transaction_->get(), 0, &free_pages) == 0) {
    free_pages_ = free_pages.ms_branch_pages + free_pages.ms_leaf_pages;
  }
}

LmdbWriter::~LmdbWriter() {
  // Of many changes some may be on the disk already, in pages that nothing refers to.
  constexpr size_t kMany = 4096;
  if (transaction_.has_value() && (changes_ > kMany || !failure_.ok())) {
    transaction_->environment().pages = {};
  }
  End();
}

void LmdbWriter::End() {
  if (!transaction_.has_value()) return;
  // A change of an entry changes pages on its way from the root and beside it; a commit, those of
  // the list of free pages.
  constexpr size_t kMostPages = 32;
  size_t& buffers = transaction_->environment().buffers;
  buffers =
      std::max(buffers, LmdbEnvironment::kFewBuffers + kMostPages * changes_ + 2 * free_pages_);
  transaction_.reset();
  aligned_.clear();
  done_();
}

absl::Status LmdbWriter::CheckOpen() const {
  if (transaction_.has_value()) return failure_;
  return absl::FailedPreconditionError("this transaction has ended: begin another");
}

absl::StatusOr<std::optional<ByteSpan>> LmdbWriter::Get(Table table, ByteSpan key) const {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  std::lock_guard<std::mutex> lock(mutex_);
  HEFT_ASSIGN_OR_RETURN(
      const auto value,
      (View{*transaction_, transaction_->file().Map(), pages_, true}.Get(table, key)));
  if (!value.has_value()) return value;
  return std::optional<ByteSpan>(Aligned(*value));
}

absl::Status LmdbWriter::Scan(Table table, ByteSpan from,
                              const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  return View{*transaction_, transaction_->file().Map(), pages_, true}.Scan(
      mutex_, table, from, [&](ByteSpan key, ByteSpan value) { return use(key, Aligned(value)); });
}

ByteSpan LmdbWriter::Aligned(ByteSpan value) const {
  if (value.size() < kLongValue) return value;
  if (transaction_->file().InMap(value.data())) return value;
  std::vector<uint8_t>& copy = aligned_.emplace_back(value.size() + kValueAlignment);
  const size_t at = (kValueAlignment + kValueOffset -
                     reinterpret_cast<uintptr_t>(copy.data()) % kValueAlignment) %
                    kValueAlignment;
  std::ranges::copy(value, copy.begin() + at);
  return ByteSpan(copy).subspan(at, value.size());
}

absl::Status LmdbWriter::Failed(std::string_view action, int rc) {
  failure_ = LmdbError(action, folder_, rc);
  return failure_;
}

absl::Status LmdbWriter::Put(Table table, ByteSpan key, ByteSpan value) {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (key.empty() || key.size() > kMostKey) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key has 1 to ", kMostKey, " bytes, this one ", key.size()));
  }
  if (value.size() > kMostValue) {
    return absl::InvalidArgumentError(
        absl::StrCat("a value has at most ", kMostValue, " bytes, this one ", value.size()));
  }
  HEFT_RETURN_IF_ERROR(CheckPath(table, key));
  const NoFileSizeSignal no_signal;  // LMDB writes before the commit where there is much
  ++changes_;
  // Of what may lie in the page that changes, a copy.
  std::array<uint8_t, kMostKey> key_copy;
  std::array<uint8_t, kLongValue> value_copy;
  std::ranges::copy(key, key_copy.begin());
  MDB_val name = {key.size(), key_copy.data()};
  if (value.size() < kLongValue) {
    std::ranges::copy(value, value_copy.begin());
    HEFT_RETURN_IF_ERROR(Shorten(table, name, value.size()));
    aligned_.clear();
    MDB_val stored = {value.size(), value_copy.data()};
    const int rc =
        mdb_put(transaction_->get(), transaction_->file().table(table), &name, &stored, Order());
    return rc == 0 ? absl::OkStatus() : Failed("write to", rc);
  }
  return PutLong(table, name, value);
}

// Order: a file that is made gets its entries in order.
unsigned LmdbWriter::Order() const { return transaction_->file().mapped() ? 0 : MDB_APPEND; }

// Shorten: LMDB would leave a value of this transaction the pages that it had.
absl::Status LmdbWriter::Shorten(Table table, MDB_val key, size_t size) {
  if (Order() != 0) return absl::OkStatus();
  MDB_val old;
  const MDB_dbi dbi = transaction_->file().table(table);
  int rc = mdb_get(transaction_->get(), dbi, &key, &old);
  if (rc == 0 && old.mv_size > size && old.mv_size >= kLongValue) {
    rc = mdb_del(transaction_->get(), dbi, &key, nullptr);
  }
  return rc == 0 || rc == MDB_NOTFOUND ? absl::OkStatus() : Failed("write to", rc);
}

absl::Status LmdbWriter::PutLong(Table table, MDB_val key, ByteSpan value) {
  MDB_val stored = {StoredSize(value.size(), transaction_->file().page()), nullptr};
  // Values of this transaction that are put again go from under their readers.
  std::vector<std::vector<uint8_t>> keep = std::exchange(aligned_, {});
  HEFT_RETURN_IF_ERROR(Shorten(table, key, stored.mv_size));
  const int rc = mdb_put(transaction_->get(), transaction_->file().table(table), &key, &stored,
                         MDB_RESERVE | Order());
  if (rc != 0) return Failed("write to", rc);
  const std::span<uint8_t> room(static_cast<uint8_t*>(stored.mv_data), stored.mv_size);
  const uint64_t size = value.size();
  std::memcpy(room.data(), value.data(), size);
  std::memset(room.data() + size, 0, room.size() - size);
  std::memcpy(room.last(kLengthBytes).data(), &size, kLengthBytes);
  return absl::OkStatus();
}

absl::Status LmdbWriter::CheckPath(Table table, ByteSpan key) {
  const auto path = pages_.Check(table, key);
  if (!path.ok()) failure_ = path.status();
  return path.status();
}

absl::Status LmdbWriter::Delete(Table table, ByteSpan key) {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (key.empty() || key.size() > kMostKey) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(CheckPath(table, key));
  const NoFileSizeSignal no_signal;
  ++changes_;
  std::array<uint8_t, kMostKey> copy;
  std::ranges::copy(key, copy.begin());
  MDB_val name = {key.size(), copy.data()};
  aligned_.clear();
  const int rc = mdb_del(transaction_->get(), transaction_->file().table(table), &name, nullptr);
  return rc == 0 || rc == MDB_NOTFOUND ? absl::OkStatus() : Failed("write to", rc);
}

absl::Status LmdbWriter::Commit() {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (std::this_thread::get_id() != thread_) {
    return absl::FailedPreconditionError("a transaction must be ended by the thread that began it");
  }
  const uint64_t state = mdb_txn_id(transaction_->get());
  const int rc = transaction_->Commit();
  LmdbEnvironment& environment = transaction_->environment();
  if (rc != 0) {
    failure_ = LmdbError("write to", folder_, rc);
    environment.pages = {};
  } else {
    PagesCommitted(environment, state);
  }
  End();
  return failure_;
}

}  // namespace heft
