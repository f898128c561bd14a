// SPDX-License-Identifier: Apache-2.0
// States of a store, and the next one.
#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/file_size_signal.h"
#include "store/sqlite.h"
#include "store/vfs.h"

namespace heft {
namespace {

// ScanTables: `mutex` is held for some entries at a time, and never while they are used.
absl::Status ScanTables(const std::function<absl::StatusOr<std::vector<StoreTables::Entry>>(
                            ByteSpan from, bool after, size_t count, absl::Status* unread)>& next,
                        ByteSpan from, const std::function<bool(ByteSpan, ByteSpan)>& use) {
  if (from.size() > kMaxKey) return absl::InvalidArgumentError("a key is too long");
  constexpr size_t kFewest = 8, kMax = 1024;
  std::vector<uint8_t> place(from.begin(), from.end());
  bool after = false;
  absl::Status unread;
  for (size_t count = kFewest;; count = std::min(2 * count, kMax)) {
    HEFT_ASSIGN_OR_RETURN(const auto entries, next(place, after, count, &unread));
    for (const auto& [key, value] : entries) {
      if (!use(key, value.bytes())) return absl::OkStatus();
    }
    if (entries.size() < count) return unread;
    place = entries.back().first;
    after = true;
  }
}

// Keep: a value's bytes; a short one's are kept in `values`.
ByteSpan Keep(StoreTables::Found found, std::deque<std::vector<uint8_t>>* values) {
  if (!found.short_value) return found.block;
  return ByteSpan(values->emplace_back(*std::move(found.short_value))).subspan(found.skipped);
}

}  // namespace

SqliteReader::SqliteReader(std::shared_ptr<StoreEnvironment> environment,
                           std::shared_ptr<Snapshot> snapshot)
    : environment_(std::move(environment)),
      snapshot_(std::move(snapshot)),
      mark_(environment_->BeginReader()) {}

SqliteReader::~SqliteReader() { environment_->EndReader(mark_); }

absl::StatusOr<StoreTables> SqliteReader::Tables() const {
  if (snapshot_->database != nullptr) {
    return StoreTables(snapshot_->database.get(), environment_->blocks());
  }
  return absl::UnavailableError(absl::StrCat("a state of the store in ", environment_->folder(),
                                             " was lost as its disk failed: try again"));
}

absl::StatusOr<std::optional<StoreTables::Found>> SqliteReader::Find(Table table,
                                                                     ByteSpan key) const {
  HEFT_ASSIGN_OR_RETURN(const StoreTables tables, Tables());
  return tables.Get(table, key);
}

absl::StatusOr<std::optional<ByteSpan>> SqliteReader::Get(Table table, ByteSpan key) const {
  const std::lock_guard<std::mutex> lock(snapshot_->mutex);
  HEFT_ASSIGN_OR_RETURN(auto found, Find(table, key));
  if (!found) return std::optional<ByteSpan>();
  return std::optional<ByteSpan>(Keep(*std::move(found), &values_));
}

absl::StatusOr<bool> SqliteReader::Look(Table table, ByteSpan key,
                                        const std::function<void(ByteSpan)>& use) const {
  std::unique_lock<std::mutex> lock(snapshot_->mutex);
  HEFT_ASSIGN_OR_RETURN(const auto found, Find(table, key));
  lock.unlock();
  if (found) use(found->bytes());
  return found.has_value();
}

absl::Status SqliteReader::Scan(Table table, ByteSpan from,
                                const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  return ScanTables(
      [&](ByteSpan place, bool after, size_t count,
          absl::Status* unread) -> absl::StatusOr<std::vector<StoreTables::Entry>> {
        const std::lock_guard<std::mutex> lock(snapshot_->mutex);
        HEFT_ASSIGN_OR_RETURN(const StoreTables tables, Tables());
        return tables.Next(table, place, after, count, unread);
      },
      from, use);
}

SqliteWriter::SqliteWriter(std::shared_ptr<StoreEnvironment> environment, Database* database,
                           uint64_t state)
    : environment_(std::move(environment)),
      tables_(database, environment_->blocks()),
      state_(state) {}

SqliteWriter::~SqliteWriter() { End(std::nullopt); }

void SqliteWriter::End(std::optional<uint64_t> state) {
  if (environment_ == nullptr) return;
  environment_->Ended(state);
  environment_->writing = false;
  environment_ = nullptr;
  values_.clear();
}

absl::Status SqliteWriter::CheckOpen() const {
  if (environment_ != nullptr) return failure_;
  return absl::FailedPreconditionError("this transaction has ended: begin another");
}

absl::StatusOr<std::optional<ByteSpan>> SqliteWriter::Get(Table table, ByteSpan key) const {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  const std::lock_guard<std::mutex> lock(mutex_);
  HEFT_ASSIGN_OR_RETURN(auto found, tables_.Get(table, key));
  if (!found) return std::optional<ByteSpan>();
  return std::optional<ByteSpan>(Keep(*std::move(found), &values_));
}

absl::StatusOr<bool> SqliteWriter::Look(Table table, ByteSpan key,
                                        const std::function<void(ByteSpan)>& use) const {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  std::unique_lock<std::mutex> lock(mutex_);
  HEFT_ASSIGN_OR_RETURN(const auto found, tables_.Get(table, key));
  lock.unlock();
  if (found) use(found->bytes());
  return found.has_value();
}

absl::Status SqliteWriter::Scan(Table table, ByteSpan from,
                                const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  return ScanTables(
      [&](ByteSpan place, bool after, size_t count, absl::Status* unread) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return tables_.Next(table, place, after, count, unread);
      },
      from, use);
}

absl::StatusOr<std::optional<std::vector<uint64_t>>> SqliteWriter::FindTemplates(
    uint32_t gallery, const TemplateMarks& marks, uint64_t states) const {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  const std::lock_guard<std::mutex> lock(mutex_);
  return tables_.FindTemplates(gallery, marks, states);
}

// Kept: an error that is not the caller's ends the transaction.
absl::Status SqliteWriter::Kept(absl::Status status) {
  if (!status.ok()) failure_ = status;
  changed_ = true;
  return status;
}

absl::Status SqliteWriter::Put(Table table, ByteSpan key, ByteSpan value) {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (key.empty() || key.size() > kMaxKey) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key has 1 to ", kMaxKey, " bytes, this one ", key.size()));
  }
  const NoFileSizeSignal no_signal;
  const auto keep = std::exchange(values_, {});  // `value` may be one of these
  return Kept(tables_.Put(table, key, value, &environment_->space));
}

absl::Status SqliteWriter::Delete(Table table, ByteSpan key) {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  const NoFileSizeSignal no_signal;
  const auto keep = std::exchange(values_, {});
  return Kept(tables_.Delete(table, key, &environment_->space));
}

absl::Status SqliteWriter::Commit() {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  if (std::this_thread::get_id() != thread_) {
    return absl::FailedPreconditionError("a transaction must be ended by the thread that began it");
  }
  const NoFileSizeSignal no_signal;
  const auto commit = [&]() -> absl::Status {
    if (!environment_->space.taken.empty()) HEFT_RETURN_IF_ERROR(environment_->blocks()->Sync());
    HEFT_RETURN_IF_ERROR(tables_.SetState(state_));
    return environment_->Commit();
  };
  if (changed_) {
    failure_ = commit();
    End(failure_.ok() ? std::optional<uint64_t>(state_) : std::nullopt);
  } else {
    End(state_ - 1);
  }
  return failure_;
}

}  // namespace heft
