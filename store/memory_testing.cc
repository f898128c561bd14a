// SPDX-License-Identifier: Apache-2.0
// MemoryStore: tables are copied when they change; all states share values.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "store/testing.h"

namespace heft::store_testing {
namespace {

// Value: its bytes are aligned as in any store.
class Value {
 public:
  explicit Value(ByteSpan bytes) : room_(bytes.size() + kValueAlignment), size_(bytes.size()) {
    const size_t from = reinterpret_cast<uintptr_t>(room_.data()) % kValueAlignment;
    at_ = (kValueAlignment + kValueOffset - from) % kValueAlignment;
    std::ranges::copy(bytes, room_.begin() + at_);
  }
  ByteSpan bytes() const { return ByteSpan(room_).subspan(at_, size_); }

 private:
  std::vector<uint8_t> room_;
  size_t at_, size_;
};

using Entries = std::map<std::string, std::shared_ptr<const Value>>;
// State: equal tables are shared between states.
using State = std::array<std::shared_ptr<const Entries>, kTables>;

std::string Key(ByteSpan key) { return {key.begin(), key.end()}; }

std::optional<ByteSpan> GetOf(const State& state, Table table, ByteSpan key) {
  const Entries& entries = *state[static_cast<size_t>(table)];
  const auto it = entries.find(Key(key));
  if (it == entries.end()) return std::nullopt;
  return it->second->bytes();
}

absl::Status ScanOf(const State& state, Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) {
  if (from.size() > kMaxKey) return absl::InvalidArgumentError("a key is too long");
  const Entries& entries = *state[static_cast<size_t>(table)];
  for (auto it = entries.lower_bound(Key(from)); it != entries.end(); ++it) {
    if (!use(AsBytes(it->first), it->second->bytes())) break;
  }
  return absl::OkStatus();
}

// Shared: by a store and its users.
struct Shared {
  std::mutex mutex;
  std::condition_variable unlocked;
  bool locked = false, writing = false;
  std::shared_ptr<const State> state;
  std::vector<std::weak_ptr<const State>> before;  // some may have readers
  std::condition_variable read;
  int readers = 0;
};

class MemoryReader : public StoreReader {
 public:
  MemoryReader(std::shared_ptr<Shared> shared, std::shared_ptr<const State> state)
      : shared_(std::move(shared)), state_(std::move(state)) {
    ++shared_->readers;
  }
  ~MemoryReader() override {
    {
      std::lock_guard<std::mutex> lock(shared_->mutex);
      state_ = nullptr;
      --shared_->readers;
    }
    shared_->read.notify_all();
  }
  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override {
    return GetOf(*state_, table, key);
  }
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const override {
    return ScanOf(*state_, table, from, use);
  }

 private:
  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<const State> state_;
};

class MemoryWriter : public StoreWriter {
 public:
  MemoryWriter(std::shared_ptr<Shared> shared, State state)
      : shared_(std::move(shared)), state_(std::move(state)) {}
  ~MemoryWriter() override { End(); }

  absl::StatusOr<std::optional<ByteSpan>> Get(Table table, ByteSpan key) const override {
    HEFT_RETURN_IF_ERROR(CheckOpen());
    return GetOf(state_, table, key);
  }
  absl::Status Scan(Table table, ByteSpan from,
                    const std::function<bool(ByteSpan, ByteSpan)>& use) const override {
    HEFT_RETURN_IF_ERROR(CheckOpen());
    return ScanOf(state_, table, from, use);
  }
  absl::Status Put(Table table, ByteSpan key, ByteSpan value) override {
    HEFT_RETURN_IF_ERROR(CheckOpen());
    if (key.empty() || key.size() > kMaxKey) {
      return absl::InvalidArgumentError(
          absl::StrCat("a key has 1 to ", kMaxKey, " bytes, this one ", key.size()));
    }
    Change(table)[Key(key)] = std::make_shared<const Value>(value);
    return absl::OkStatus();
  }
  absl::Status Delete(Table table, ByteSpan key) override {
    HEFT_RETURN_IF_ERROR(CheckOpen());
    Change(table).erase(Key(key));
    return absl::OkStatus();
  }
  absl::Status Commit() override {
    HEFT_RETURN_IF_ERROR(CheckOpen());
    {
      std::lock_guard<std::mutex> lock(shared_->mutex);
      shared_->before.push_back(shared_->state);
      shared_->state = std::make_shared<const State>(std::move(state_));
    }
    End();
    return absl::OkStatus();
  }

 private:
  absl::Status CheckOpen() const {
    if (open_) return absl::OkStatus();
    return absl::FailedPreconditionError("this transaction has ended: begin another");
  }
  void End() {
    std::lock_guard<std::mutex> lock(shared_->mutex);
    if (std::exchange(open_, false)) shared_->writing = false;
  }
  // Change: this transaction's own copy of a table.
  Entries& Change(Table table) {
    const size_t i = static_cast<size_t>(table);
    if (own_[i] == nullptr) state_[i] = own_[i] = std::make_shared<Entries>(*state_[i]);
    return *own_[i];
  }

  const std::shared_ptr<Shared> shared_;
  State state_;
  std::array<std::shared_ptr<Entries>, kTables> own_;
  bool open_ = true;
};

class MemoryLock : public StoreLock {
 public:
  explicit MemoryLock(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  ~MemoryLock() override {
    {
      std::lock_guard<std::mutex> lock(shared_->mutex);
      shared_->locked = false;
    }
    shared_->unlocked.notify_one();
  }
  const Shared* owner() const { return shared_.get(); }

 private:
  const std::shared_ptr<Shared> shared_;
};

class MemoryStoreImpl : public Store {
 public:
  MemoryStoreImpl() {
    State state;
    for (auto& table : state) table = std::make_shared<const Entries>();
    shared_->state = std::make_shared<const State>(std::move(state));
  }
  absl::StatusOr<std::unique_ptr<StoreReader>> Read() const override {
    std::lock_guard<std::mutex> lock(shared_->mutex);
    return std::make_unique<MemoryReader>(shared_, shared_->state);
  }
  absl::StatusOr<std::unique_ptr<StoreLock>> Lock(absl::Duration wait) override {
    std::unique_lock<std::mutex> lock(shared_->mutex);
    if (!shared_->unlocked.wait_for(lock, absl::ToChronoNanoseconds(wait),
                                    [&] { return !shared_->locked; })) {
      return absl::UnavailableError("others write to this store: wait longer, or end them");
    }
    shared_->locked = true;
    return std::make_unique<MemoryLock>(shared_);
  }
  absl::StatusOr<std::unique_ptr<StoreWriter>> Write(const StoreLock& lock) override {
    HEFT_RETURN_IF_ERROR(CheckLock(lock));
    std::lock_guard<std::mutex> guard(shared_->mutex);
    if (shared_->writing) {
      return absl::FailedPreconditionError("another transaction of this store is open: end it");
    }
    shared_->writing = true;
    return std::make_unique<MemoryWriter>(shared_, *shared_->state);
  }
  // Scrub: freed memory needs no wiping. It waits for readers as other stores do.
  absl::Status Scrub(const StoreLock& lock, absl::Duration wait) override {
    HEFT_RETURN_IF_ERROR(CheckLock(lock));
    std::unique_lock<std::mutex> guard(shared_->mutex);
    if (shared_->writing) {
      return absl::FailedPreconditionError("a transaction of this store is open: end it");
    }
    auto& before = shared_->before;
    const auto gone = [&] {
      std::erase_if(before, [](const auto& state) { return state.expired(); });
      return before.empty();
    };
    if (shared_->read.wait_for(guard, absl::ToChronoNanoseconds(wait), gone)) {
      return absl::OkStatus();
    }
    return absl::UnavailableError("other transactions read the data to scrub: try again later");
  }
  absl::Status Copy(const std::string&,
                    const std::function<bool(uint64_t, uint64_t)>&) const override {
    return absl::UnimplementedError("a store in memory has no folder");
  }
  absl::StatusOr<StoreStatistics> Statistics() const override {
    std::lock_guard<std::mutex> lock(shared_->mutex);
    StoreStatistics statistics;
    for (const auto& table : *shared_->state) {
      for (const auto& [key, value] : *table) {
        statistics.live_bytes += key.size() + value->bytes().size();
      }
    }
    statistics.bytes = statistics.live_bytes;
    statistics.readers = shared_->readers;
    return statistics;
  }
  absl::Status Check() const override { return absl::OkStatus(); }

 private:
  absl::Status CheckLock(const StoreLock& lock) const {
    const auto* const ours = dynamic_cast<const MemoryLock*>(&lock);
    if (ours != nullptr && ours->owner() == shared_.get()) return absl::OkStatus();
    return absl::InvalidArgumentError("this lock is of another store");
  }

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace

std::shared_ptr<Store> MemoryStore() { return std::make_shared<MemoryStoreImpl>(); }

}  // namespace heft::store_testing
