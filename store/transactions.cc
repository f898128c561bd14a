// SPDX-License-Identifier: Apache-2.0
// States of a store, and the next one.
#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/file_size_signal.h"
#include "store/sqlite.h"
#include "store/vfs.h"

namespace heft {

template <typename Base>
absl::StatusOr<std::optional<ByteSpan>> SqliteReads<Base>::Get(Table table, ByteSpan key) const {
  std::optional<ByteSpan> value;
  HEFT_RETURN_IF_ERROR(With([&](const StoreTables& tables) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(auto found, tables.Get(table, key));
    if (found && found->short_value) {
      values_.push_back(*std::move(found->short_value));
      value = ByteSpan(values_.back()).subspan(found->skipped);
    } else if (found) {
      value = found->block;
    }
    return absl::OkStatus();
  }));
  return value;
}

template <typename Base>
absl::StatusOr<bool> SqliteReads<Base>::Look(Table table, ByteSpan key,
                                             const std::function<void(ByteSpan)>& use) const {
  std::optional<StoreTables::Found> found;
  HEFT_RETURN_IF_ERROR(With([&](const StoreTables& tables) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(found, tables.Get(table, key));
    return absl::OkStatus();
  }));
  if (found) use(found->bytes());
  return found.has_value();
}

// Scan: the tables are held for some entries at a time, and never while these are used.
template <typename Base>
absl::Status SqliteReads<Base>::Scan(Table table, ByteSpan from,
                                     const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  if (from.size() > kMaxKey) return absl::InvalidArgumentError("a key is too long");
  constexpr size_t kFewest = 8, kMax = 1024;
  std::vector<uint8_t> place(from.begin(), from.end());
  bool after = false;
  absl::Status unread;
  for (size_t count = kFewest;; count = std::min(2 * count, kMax)) {
    std::vector<StoreTables::Entry> entries;
    HEFT_RETURN_IF_ERROR(With([&](const StoreTables& tables) -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(entries, tables.Next(table, place, after, count, &unread));
      return absl::OkStatus();
    }));
    for (const auto& [key, value] : entries) {
      if (!use(key, value.bytes())) return absl::OkStatus();
    }
    if (entries.size() < count) return unread;
    place = entries.back().first;
    after = true;
  }
}

SqliteReader::SqliteReader(std::shared_ptr<StoreEnvironment> environment,
                           std::shared_ptr<Snapshot> snapshot)
    : environment_(std::move(environment)),
      snapshot_(std::move(snapshot)),
      mark_(environment_->BeginReader()) {}

SqliteReader::~SqliteReader() { environment_->EndReader(mark_); }

absl::Status SqliteReader::With(const std::function<absl::Status(const StoreTables&)>& use) const {
  const std::lock_guard<std::mutex> lock(snapshot_->mutex);
  if (snapshot_->database != nullptr) {
    return use(StoreTables(snapshot_->database.get(), environment_->blocks()));
  }
  return absl::UnavailableError(absl::StrCat("a state of the store in ", environment_->folder(),
                                             " was lost as its disk failed: try again"));
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

absl::Status SqliteWriter::With(const std::function<absl::Status(const StoreTables&)>& use) const {
  HEFT_RETURN_IF_ERROR(CheckOpen());
  const std::lock_guard<std::mutex> lock(mutex_);
  return use(tables_);
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
