// SPDX-License-Identifier: Apache-2.0
#include "postgres/sql_transactions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

// kFollowing: entries read together with the requested one, if they are small and requested in
// order. kPage: the most entries read at once in a scan.
constexpr size_t kFollowing = 512, kFirstPage = 64, kPage = 2048;
// kMaxChanged: bytes of changes that are buffered before they are sent. kMaxSqlValue: PostgreSQL
// takes a gigabyte, but less in a message.
constexpr size_t kMaxChanged = size_t{64} << 20, kMaxSqlValue = size_t{900} << 20;

absl::Status CheckFrom(ByteSpan from) {
  return from.size() <= kMaxKey ? absl::OkStatus()
                                : absl::InvalidArgumentError("a key is too long");
}

// After: the least key greater than this one.
std::string After(ByteSpan key) {
  std::string after(key.begin(), key.end());
  after.push_back('\0');
  return after;
}

using Page = std::vector<std::pair<std::string, SqlEntry>>;

absl::StatusOr<Page> ReadPage(const SqlEntries& entries, Table table, ByteSpan from, size_t most) {
  Page page;
  HEFT_RETURN_IF_ERROR(
      entries.Read(table, from, most, /*alone=*/false, [&](ByteSpan key, SqlEntry entry) {
        page.emplace_back(std::string(key.begin(), key.end()), std::move(entry));
      }));
  return page;
}

// ScanPages: `read` returns the next page from a key on; `use` takes an entry.
absl::Status ScanPages(ByteSpan from,
                       const std::function<absl::StatusOr<Page>(ByteSpan, size_t)>& read,
                       const std::function<absl::StatusOr<bool>(std::string&, SqlEntry&)>& use) {
  HEFT_RETURN_IF_ERROR(CheckFrom(from));
  std::string next(from.begin(), from.end());
  for (size_t most = kFirstPage;; most = std::min(2 * most, kPage)) {
    HEFT_ASSIGN_OR_RETURN(Page page, read(AsBytes(next), most));
    const bool last = page.size() < most;
    if (!last) next = After(AsBytes(page.back().first));
    for (auto& [key, entry] : page) {
      HEFT_ASSIGN_OR_RETURN(const bool more, use(key, entry));
      if (!more) return absl::OkStatus();
    }
    if (last) return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreReader>> SqlReader::Begin(
    std::shared_ptr<const SqlDatabase> database) {
  HEFT_ASSIGN_OR_RETURN(auto session, database->Session([](SqlSession& s) {
    return s.Begin(SqlSession::Mode::kRead);
  }));
  return std::unique_ptr<StoreReader>(new SqlReader(std::move(database), std::move(session)));
}

SqlReader::SqlReader(std::shared_ptr<const SqlDatabase> database,
                     std::unique_ptr<SqlSession> session)
    : database_(std::move(database)),
      session_(std::move(session)),
      entries_(session_.get(), database_->options().cache) {}

SqlReader::~SqlReader() {
  session_->Rollback();
  database_->Done(std::move(session_));
}

// Find: reads ahead, since blocks are requested in order and their entries are small.
absl::StatusOr<std::optional<SqlEntry>> SqlReader::Find(Table table, ByteSpan key) const {
  auto& known = known_[static_cast<size_t>(table)];
  const std::string text(key.begin(), key.end());
  const auto look = [&]() -> std::optional<SqlEntry> {
    const std::lock_guard<std::mutex> lock(known_mutex_);
    const auto it = known.find(text);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  };
  if (auto entry = look()) return entry;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (auto entry = look()) return entry;  // read by another thread meanwhile
  const bool ahead = table == Table::kBlocks;
  HEFT_RETURN_IF_ERROR(entries_.Read(
      table, key, ahead ? kFollowing : 1, !ahead, [&](ByteSpan found, SqlEntry entry) {
        const std::lock_guard<std::mutex> guard(known_mutex_);
        known.emplace(std::string(found.begin(), found.end()), std::move(entry));
      }));
  return look();
}

absl::StatusOr<ByteSpan> SqlReader::Bytes(const SqlEntry& entry) const {
  if (entry.value != nullptr) return entry.value->bytes();
  {
    const std::lock_guard<std::mutex> lock(known_mutex_);
    if (const auto it = blobs_.find(entry.hash); it != blobs_.end()) return it->second->bytes();
  }
  auto blob = entries_.FindCached(entry);
  if (blob == nullptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    HEFT_ASSIGN_OR_RETURN(blob, entries_.Fetch(entry));
  }
  const std::lock_guard<std::mutex> lock(known_mutex_);
  return blobs_.emplace(entry.hash, std::move(blob)).first->second->bytes();
}

absl::StatusOr<std::optional<ByteSpan>> SqlReader::Get(Table table, ByteSpan key) const {
  if (key.empty() || key.size() > kMaxKey) return std::nullopt;
  const auto entry = Find(table, key);
  if (!entry.ok()) return database_->Named(entry.status());
  if (!entry->has_value()) return std::nullopt;
  const auto bytes = Bytes(**entry);
  if (!bytes.ok()) return database_->Named(bytes.status());
  return *bytes;
}

absl::Status SqlReader::Scan(Table table, ByteSpan from,
                             const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  auto& known = known_[static_cast<size_t>(table)];
  const auto read = [&](ByteSpan next, size_t most) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ReadPage(entries_, table, next, most);
  };
  return database_->Named(
      ScanPages(from, read, [&](std::string& key, SqlEntry& entry) -> absl::StatusOr<bool> {
        const std::pair<const std::string, SqlEntry>* kept = nullptr;
        {
          const std::lock_guard<std::mutex> lock(known_mutex_);
          kept = &*known.emplace(std::move(key), std::move(entry)).first;
        }
        HEFT_ASSIGN_OR_RETURN(const ByteSpan bytes, Bytes(kept->second));
        return use(AsBytes(kept->first), bytes);
      }));
}

absl::Status SqlWriter::CheckOpen() const {
  if (open_) return failure_;
  return absl::FailedPreconditionError("this transaction has ended: begin another");
}

// Fail: a transaction that failed in part is not committed.
absl::Status SqlWriter::Fail(const absl::Status& status) const {
  if (!status.ok() && failure_.ok()) failure_ = hold_->database().Named(status);
  return failure_;
}

// Begin: at the first read or write of the database. A writer locks the store's row, even if the
// lock was bypassed.
absl::Status SqlWriter::Begin() const {
  if (entries_) return absl::OkStatus();
  const auto begin = [&]() -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(SqlSession * session, hold_->Session());
    absl::Status begun = session->Begin(SqlSession::Mode::kWrite);
    if (!begun.ok() && session->Lost()) {  // lost since its last use
      HEFT_ASSIGN_OR_RETURN(session, hold_->Session());
      begun = session->Begin(SqlSession::Mode::kWrite);
    }
    HEFT_RETURN_IF_ERROR(begun);
    entries_.emplace(session, hold_->database().options().cache);
    HEFT_ASSIGN_OR_RETURN(const SqlRows rows,
                          session->Execute("UPDATE heft.store SET generation = generation + 1 "
                                           "RETURNING generation"));
    if (rows.size() != 1) return absl::DataLossError("the table heft.store must have one row");
    HEFT_ASSIGN_OR_RETURN(const int64_t generation, SqlInteger(rows.at(0, 0)));
    if (generation == hold_->generation() + 1) return absl::OkStatus();
    return absl::UnavailableError(
        "other processes have written since the lock was taken: begin again");
  };
  return Fail(begin());
}

absl::StatusOr<std::optional<ByteSpan>> SqlWriter::Get(Table table, ByteSpan key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (key.empty() || key.size() > kMaxKey) return std::nullopt;
  const SqlEntries::Changes& changes = changes_[static_cast<size_t>(table)];
  if (const auto it = changes.find(std::string(key.begin(), key.end())); it != changes.end()) {
    if (it->second == nullptr) return std::nullopt;
    return it->second->bytes();
  }
  HEFT_RETURN_IF_ERROR(Begin());
  std::shared_ptr<const Blob> value;
  const auto get = [&]() -> absl::Status {
    std::optional<SqlEntry> found;
    HEFT_RETURN_IF_ERROR(
        entries_->Read(table, key, 1, /*alone=*/true,
                       [&](ByteSpan, SqlEntry entry) { found = std::move(entry); }));
    if (!found) return absl::OkStatus();
    HEFT_ASSIGN_OR_RETURN(value, entries_->Fetch(*found));
    return absl::OkStatus();
  };
  HEFT_RETURN_IF_ERROR(Fail(get()));
  if (value == nullptr) return std::nullopt;
  read_.push_back(value);
  return value->bytes();
}

absl::Status SqlWriter::Scan(Table table, ByteSpan from,
                             const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  HEFT_RETURN_IF_ERROR(CheckFrom(from));
  std::unique_lock<std::mutex> lock(mutex_);
  HEFT_RETURN_IF_ERROR(CheckOpen());
  HEFT_RETURN_IF_ERROR(Begin());
  HEFT_RETURN_IF_ERROR(Flush(table));
  const auto read = [&](ByteSpan next, size_t most) {
    return ReadPage(*entries_, table, next, most);
  };
  return Fail(ScanPages(from, read, [&](std::string& key, SqlEntry& entry) -> absl::StatusOr<bool> {
    HEFT_ASSIGN_OR_RETURN(auto value, entries_->Fetch(entry));
    read_.push_back(Blob::Copied(AsBytes(key)));
    const ByteSpan kept = read_.back()->bytes();
    read_.push_back(value);
    return use(kept, value->bytes());
  }));
}

absl::Status SqlWriter::Change(Table table, ByteSpan key, std::shared_ptr<const Blob> value) {
  const size_t bytes = key.size() + (value == nullptr ? 0 : value->bytes().size());
  changes_[static_cast<size_t>(table)].insert_or_assign(std::string(key.begin(), key.end()),
                                                        std::move(value));
  read_.clear();
  changed_bytes_ += bytes;
  if (changed_bytes_ < kMaxChanged) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(Begin());
  for (size_t i = 0; i < kTables; ++i) HEFT_RETURN_IF_ERROR(Flush(static_cast<Table>(i)));
  read_.clear();
  changed_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status SqlWriter::Put(Table table, ByteSpan key, ByteSpan value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (key.empty() || key.size() > kMaxKey) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key has 1 to ", kMaxKey, " bytes, this one ", key.size()));
  }
  if (value.size() > kMaxSqlValue) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a value in a database has at most ", kMaxSqlValue, " bytes, this one ", value.size()));
  }
  return Change(table, key, Blob::Copied(value));
}

absl::Status SqlWriter::Delete(Table table, ByteSpan key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (key.empty() || key.size() > kMaxKey) return absl::OkStatus();
  return Change(table, key, nullptr);
}

absl::Status SqlWriter::Flush(Table table) const {
  SqlEntries::Changes& changes = changes_[static_cast<size_t>(table)];
  HEFT_RETURN_IF_ERROR(Fail(entries_->Write(table, changes)));
  // Values cleared here can still be read until the next change.
  for (auto& [key, value] : changes) {
    if (value != nullptr) read_.push_back(std::move(value));
  }
  changes.clear();
  return absl::OkStatus();
}

// CommitNow: writes a token, by which the commit is found if the connection is lost.
absl::Status SqlWriter::CommitNow() {
  SqlRows token;
  const auto prepare = [&]() -> absl::Status {
    for (size_t i = 0; i < kTables; ++i) HEFT_RETURN_IF_ERROR(Flush(static_cast<Table>(i)));
    HEFT_RETURN_IF_ERROR(entries_->DropUnused());
    HEFT_ASSIGN_OR_RETURN(
        token, entries_->session().Execute(
                   "WITH old AS (DELETE FROM heft.commits WHERE made < now() - interval '1 hour') "
                   "INSERT INTO heft.commits DEFAULT VALUES RETURNING uuid_send(token)"));
    if (token.size() == 1 && token.at(0, 0)) return absl::OkStatus();
    return absl::DataLossError("the database returned no token for a commit");
  };
  HEFT_RETURN_IF_ERROR(prepare());
  SqlSession& session = entries_->session();
  const absl::Status committed = session.Commit();
  if (!committed.ok() && !session.Lost()) return committed;
  if (!committed.ok()) {
    entries_.reset();  // drop the session
    HEFT_ASSIGN_OR_RETURN(const bool there, hold_->Resolve(*token.at(0, 0)));
    if (!there) {
      return absl::UnavailableError(
          absl::StrCat(committed.message(), ": nothing was changed: try again"));
    }
  }
  hold_->Committed();
  return absl::OkStatus();
}

absl::Status SqlWriter::Commit() {
  const std::lock_guard<std::mutex> lock(mutex_);
  absl::Status status = CheckOpen();
  if (!status.ok()) {
    End();
    return status;
  }
  const bool changed =
      entries_ || std::ranges::any_of(changes_, [](const auto& c) { return !c.empty(); });
  if (changed) status = Begin();
  if (changed && status.ok()) status = hold_->database().Named(CommitNow());
  if (status.ok()) entries_.reset();
  End();
  return status;
}

void SqlWriter::End() {
  if (!open_) return;
  open_ = false;
  if (entries_) entries_->session().Rollback();
  entries_.reset();
  for (auto& changes : changes_) changes.clear();
  read_.clear();
  hold_->writing = false;
}

}  // namespace heft
