// SPDX-License-Identifier: Apache-2.0
// Store::Scrub. LMDB never overwrites a page in use, so a deleted value stays where it was: in
// pages that are free now, and in the free space of pages of small entries. LMDB also keeps buffers
// of pages in memory, and writes later pages from them together with the old contents of their free
// space. And its branches repeat keys, which stay there when their entries are deleted.
//
// So Scrub drops the buffers. One more transaction makes both of LMDB's metas forget the earlier
// state. When that state has no readers, Scrub writes zeros over its free pages and over the free
// space of pages in use. It writes no byte that any state refers to, so a crash at any time harms
// nothing. If a branch contains a deleted key, Scrub takes the entries below it out, puts them
// back, and starts again.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gallery/store_lmdb.h"
#include "gallery/store_pages.h"

namespace heft {
namespace {

constexpr std::string_view kScrubsKey = "heft scrubs";

bool IsZero(ByteSpan bytes) {
  return bytes.empty() ||
         (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Eraser writes zeros over bytes that are not zero.
class Eraser {
 public:
  Eraser(ByteSpan map, int fd) : map_(map), fd_(fd) {}

  // Add: `size` bytes at `at`, up to the end of the file.
  void Add(uint64_t at, size_t size) {
    if (at >= map_.size()) return;
    size = std::min<uint64_t>(size, map_.size() - at);
    if (!IsZero(map_.subspan(at, size))) places_.emplace_back(at, size);
  }

  // Erase: 0, or the system's error. Durable.
  int Erase() {
    constexpr size_t kZeros = size_t{1} << 20;
    const std::vector<uint8_t> zeros(places_.empty() ? 0 : kZeros);
    std::ranges::sort(places_);
    for (size_t i = 0; i < places_.size();) {
      uint64_t at = places_[i].first, end = at;
      for (; i < places_.size() && places_[i].first <= end; ++i) {
        end = std::max(end, places_[i].first + places_[i].second);
      }
      while (at < end) {
        const ssize_t n = pwrite(fd_, zeros.data(), std::min<uint64_t>(kZeros, end - at), at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        at += n;
      }
    }
    return places_.empty() || fdatasync(fd_) == 0 ? 0 : errno;
  }

 private:
  const ByteSpan map_;
  const int fd_;
  std::vector<std::pair<uint64_t, uint64_t>> places_;
};

MDB_val ScrubsKey() { return {kScrubsKey.size(), const_cast<char*>(kScrubsKey.data())}; }

// Scrubs: the number of scrubs of this store.
uint64_t Scrubs(const LmdbTransaction& transaction) {
  MDB_val key = ScrubsKey(), value;
  uint64_t scrubs = 0;
  if (mdb_get(transaction.get(), transaction.file().names(), &key, &value) == 0 &&
      value.mv_size == sizeof(scrubs)) {
    std::memcpy(&scrubs, value.mv_data, sizeof(scrubs));
  }
  return scrubs;
}

// PutScrubs: `place`: the address of the record in memory.
int PutScrubs(MDB_txn* txn, MDB_dbi names, uint64_t scrubs, const void** place) {
  MDB_val key = ScrubsKey(), value = {sizeof(scrubs), &scrubs};
  int rc = mdb_put(txn, names, &key, &value, 0);
  if (rc == 0) rc = mdb_get(txn, names, &key, &value);
  *place = value.mv_data;
  return rc;
}

// DropBuffers: makes LMDB free the buffers from which it would write pages. The commit of a nested
// transaction frees the buffers of pages that both transactions have changed. It takes new ones
// from the list of used buffers until that is empty. So no buffer is left that the system could
// return with old contents.
int DropBuffers(const LmdbTransaction& transaction, uint64_t scrubs, size_t most) {
  MDB_txn* const parent = transaction.get();
  const MDB_dbi names = transaction.file().names();
  std::set<const void*> places;
  const void* place = nullptr;
  int rc = PutScrubs(parent, names, scrubs, &place);
  for (size_t i = 0; rc == 0 && i < most && places.insert(place).second; ++i) {
    MDB_txn* child = nullptr;
    rc = mdb_txn_begin(mdb_txn_env(parent), parent, 0, &child);
    if (rc != 0) break;
    rc = PutScrubs(child, names, scrubs, &place);
    if (rc != 0) {
      mdb_txn_abort(child);
    } else {
      rc = mdb_txn_commit(child);
    }
  }
  return rc;
}

// WaitForReaders: waits until no reader has a state before `state`.
bool WaitForReaders(LmdbEnvironment& environment, uint64_t state, absl::Duration wait) {
  const absl::Time end = absl::Now() + wait;
  while (true) {
    const auto readers = environment.Readers();
    if (std::ranges::none_of(readers, [&](const auto& r) { return r.state < state; })) return true;
    if (absl::Now() >= end) return false;
    environment.CheckReaders();
    absl::SleepFor(absl::Milliseconds(1));
  }
}

// NextState: commits one more transaction. Then no meta reaches a page that the state before the
// newest has freed. Returns the newest state before it.
absl::StatusOr<uint64_t> NextState(LmdbEnvironment& environment) {
  HEFT_ASSIGN_OR_RETURN(LmdbTransaction transaction, environment.Begin(true));
  const NoFileSizeSignal no_signal;
  const uint64_t state = mdb_txn_id(transaction.get()), scrubs = Scrubs(transaction) + 1;
  int rc = DropBuffers(transaction, scrubs, environment.buffers);
  if (rc == 0) rc = transaction.Commit();
  if (rc != 0) {
    environment.pages = {};
    return LmdbError("scrub", environment.folder(), rc);
  }
  environment.buffers = LmdbEnvironment::kFewBuffers;
  environment.scrubs = scrubs;
  PagesCommitted(environment, state);
  return state - 1;
}

// Stale: entries of a table, from a deleted key that its branches still contain.
struct Stale {
  Table table;
  std::vector<uint8_t> from;
  std::optional<std::vector<uint8_t>> to;
};

void AddStale(ByteSpan name, ByteSpan from, std::optional<ByteSpan> to, std::vector<Stale>& all) {
  for (size_t i = 0; i < kTables; ++i) {
    const Table table = static_cast<Table>(i);
    if (!std::ranges::equal(name, AsBytes(TableName(table)))) continue;
    all.push_back({table, {from.begin(), from.end()}, std::nullopt});
    if (to.has_value()) all.back().to.emplace(to->begin(), to->end());
  }
}

// Renew: takes such entries out and puts them back, so that LMDB writes the branch again.
absl::Status Renew(LmdbEnvironment& environment, const std::vector<Stale>& all) {
  HEFT_ASSIGN_OR_RETURN(LmdbTransaction transaction, environment.Begin(true));
  LmdbWriter writer(std::move(transaction), [] {});
  for (const Stale& stale : all) {
    std::vector<std::pair<std::vector<uint8_t>, std::vector<uint8_t>>> entries;
    HEFT_RETURN_IF_ERROR(writer.Scan(stale.table, stale.from, [&](ByteSpan key, ByteSpan value) {
      if (stale.to.has_value() && !std::ranges::lexicographical_compare(key, *stale.to))
        return false;
      entries.emplace_back(std::vector<uint8_t>(key.begin(), key.end()),
                           std::vector<uint8_t>(value.begin(), value.end()));
      return true;
    }));
    for (const auto& [key, value] : entries) {
      HEFT_RETURN_IF_ERROR(writer.Delete(stale.table, key));
    }
    for (const auto& [key, value] : entries) {
      HEFT_RETURN_IF_ERROR(writer.Put(stale.table, key, value));
    }
  }
  return writer.Commit();
}

// Sweep: erases the free pages of the newest state but one, and the free space of pages in use.
absl::Status Sweep(LmdbEnvironment& environment, const LmdbFile& file, uint64_t state,
                   std::vector<Stale>& stale) {
  HEFT_ASSIGN_OR_RETURN(const FileMap file_map, FileMap::Make(file.descriptor()));
  const ByteSpan map = file_map.bytes();
  const size_t page = file.page();
  LmdbEnvironment::Pages& known = environment.pages;
  if (known.state != state + 1) known = {};
  const auto is = [](const std::vector<bool>& pages, uint64_t n) {
    return n < pages.size() && pages[n];
  };
  Eraser eraser(map, file.descriptor());
  PageWalk walk(map, page);
  walk.leaf = [&](uint64_t number) { return !is(known.kept, number); };
  walk.unused = [&](uint64_t at, size_t size) { eraser.Add(at, size); };
  walk.stale = [&](ByteSpan table, ByteSpan from, std::optional<ByteSpan> to) {
    AddStale(table, from, to, stale);
  };
  std::vector<uint64_t> wiped;
  std::vector<bool> kept;
  uint64_t newest = state + 1;
  walk.free = [&](uint64_t since, std::span<const uint64_t> numbers) {
    if (newest != state + 1 || since > state) return;
    for (const uint64_t number : numbers) {
      if (!is(known.wiped, number)) eraser.Add(number * page, page);
      wiped.push_back(number);
    }
  };
  for (; newest >= state; --newest) {
    HEFT_ASSIGN_OR_RETURN(const MetaPage meta, ReadMeta(map.subspan(newest % 2 * page, page)));
    if (meta.state != newest) return absl::DataLossError("its states are not in order");
    HEFT_RETURN_IF_ERROR(walk.Walk(meta));
    if (newest == state + 1) kept = walk.reached();
    walk.stale = nullptr;
  }
  known = {};
  const int rc = eraser.Erase();
  if (rc != 0) return LmdbError("scrub", environment.folder(), rc);
  known.state = known.scrubbed = state + 1;
  known.kept = std::move(kept);
  known.wiped.assign(known.kept.size(), false);
  for (const uint64_t number : wiped) {
    if (number < known.wiped.size()) known.wiped[number] = true;
  }
  return absl::OkStatus();
}

}  // namespace

void PagesCommitted(LmdbEnvironment& environment, uint64_t state) {
  LmdbEnvironment::Pages& known = environment.pages;
  if (known.state == 0) return;
  const auto forget = [&] { known = {}; };
  const auto transaction = environment.Begin(false);
  if (!transaction.ok()) return forget();
  const uint64_t newest = mdb_txn_id(transaction->get());
  if (newest == known.state) return;  // nothing had changed
  if (newest != state || state != known.state + 1) return forget();
  MDB_cursor* cursor = nullptr;
  if (mdb_cursor_open(transaction->get(), 0, &cursor) != 0) return forget();  // 0: of free pages
  size_t number = state;
  MDB_val key = {sizeof(number), &number}, value;
  const int rc = mdb_cursor_get(cursor, &key, &value, MDB_SET);
  mdb_cursor_close(cursor);
  if (rc != 0 && rc != MDB_NOTFOUND) return forget();
  if (rc == 0) {
    std::vector<uint64_t> freed(value.mv_size / 8);
    std::memcpy(freed.data(), value.mv_data, 8 * freed.size());
    if (freed.empty() || freed[0] >= freed.size()) return forget();
    for (size_t i = 1; i <= freed[0]; ++i) {
      if (freed[i] >= known.kept.size()) continue;
      known.kept[freed[i]] = known.wiped[freed[i]] = false;
    }
  }
  known.state = state;
}

int BeginClean(LmdbEnvironment& environment, const LmdbTransaction& transaction) {
  const uint64_t scrubs = Scrubs(transaction);
  if (environment.scrubs == scrubs) return 0;
  if (environment.scrubs.has_value()) {
    const int rc = DropBuffers(transaction, scrubs, environment.buffers);
    if (rc != 0) return rc;
    environment.buffers = LmdbEnvironment::kFewBuffers;
  }
  environment.scrubs = scrubs;
  return 0;
}

namespace {

absl::StatusOr<std::vector<Stale>> ScrubOnce(LmdbEnvironment& environment, absl::Time end) {
  HEFT_ASSIGN_OR_RETURN(const uint64_t state, NextState(environment));
  if (!WaitForReaders(environment, state, end - absl::Now())) {
    return absl::UnavailableError(absl::StrCat(
        "data that was deleted from the store in ", environment.folder(),
        " is still read by a process: it stays on the disk until the store is scrubbed again"));
  }
  // Held to keep the file open.
  HEFT_ASSIGN_OR_RETURN(const LmdbTransaction transaction, environment.Begin(false));
  std::vector<Stale> stale;
  const absl::Status swept = Sweep(environment, transaction.file(), state, stale);
  if (absl::IsDataLoss(swept)) {
    return DamagedStore(environment.folder(), std::string(swept.message()));
  }
  if (!swept.ok()) return swept;
  return stale;
}

}  // namespace

absl::Status ScrubStore(LmdbEnvironment& environment, absl::Duration wait) {
  const absl::Time end = absl::Now() + wait;
  uint64_t state = 0;
  {
    HEFT_ASSIGN_OR_RETURN(const LmdbTransaction newest, environment.Begin(false));
    state = mdb_txn_id(newest.get());
  }
  if (environment.pages.scrubbed == state) return absl::OkStatus();  // nothing since
  // Once; as a rule twice if branches contain deleted keys.
  constexpr int kMostTimes = 8;
  for (int i = 1;; ++i) {
    HEFT_ASSIGN_OR_RETURN(const auto stale, ScrubOnce(environment, end));
    if (stale.empty()) return absl::OkStatus();
    if (i == kMostTimes) {
      return absl::UnavailableError(
          absl::StrCat("keys that were deleted from the store in ", environment.folder(),
                       " are still in it: copy it (Store::Copy), and use the copy"));
    }
    HEFT_RETURN_IF_ERROR(Renew(environment, stale));
  }
}

}  // namespace heft
