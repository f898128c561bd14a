// SPDX-License-Identifier: Apache-2.0
#include "gallery/checked_store.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "base/envelope.h"
#include "base/status.h"

namespace heft {
namespace {

constexpr size_t kChecksumBytes = 8;
// kCopyMark: the first byte of a copy's key. Names of galleries do not begin with it, and
// galleries' numbers are smaller. So copies are far from what they are copies of.
constexpr uint8_t kCopyMark = 0xFF;

bool IsChecked(Table table) { return table != Table::kBlocks; }
bool IsCopy(ByteSpan key) { return !key.empty() && key[0] == kCopyMark; }

StoreKey Copied(ByteSpan key) {
  StoreKey copy(key.size() + 1, kCopyMark);
  std::ranges::copy(key, copy.begin() + 1);
  return copy;
}

StoreKey Owned(ByteSpan key) { return {key.begin(), key.end()}; }
bool Less(ByteSpan a, ByteSpan b) { return std::ranges::lexicographical_compare(a, b); }

// The bytes of a gallery's number, with which all keys but the catalogue's begin.
constexpr size_t kNumberBytes = 4;

// The checksum of a record covers its table and key too, with the gallery's number: a record at a
// wrong key, or of another gallery, is damaged.
uint64_t ChecksumOf(Table table, ByteSpan key, ByteSpan payload) {
  if (IsStoredTwice(table) && IsCopy(key)) key = key.subspan(1);
  ByteWriter writer;
  writer.U8(static_cast<uint8_t>(table));
  writer.U64(FastChecksum(payload));
  writer.Raw(key);
  return FastChecksum(writer.bytes());
}

// The payload of a record; nothing if it is damaged.
std::optional<ByteSpan> PayloadOf(Table table, ByteSpan key, ByteSpan value) {
  if (!IsChecked(table)) return value;
  if (value.size() < kChecksumBytes) return std::nullopt;
  const ByteSpan payload = value.first(value.size() - kChecksumBytes);
  uint64_t sum = 0;
  std::memcpy(&sum, value.data() + payload.size(), kChecksumBytes);
  if (sum != ChecksumOf(table, key, payload)) return std::nullopt;
  return payload;
}

// RightKey: the key that a damaged record is intact at, if one bit of its key is wrong; with the
// mark of a copy.
std::optional<StoreKey> RightKey(Table table, ByteSpan key, ByteSpan value) {
  StoreKey of = {key.begin(), key.end()};
  for (size_t bit = 0; bit < 8 * key.size(); ++bit) {
    const auto flip = static_cast<uint8_t>(1 << bit % 8);
    of[bit / 8] ^= flip;
    if (PayloadOf(table, of, value)) return of;
    of[bit / 8] ^= flip;
  }
  return std::nullopt;
}

// OwnKey: without the mark of a copy.
ByteSpan OwnKey(Table table, ByteSpan key) {
  return IsStoredTwice(table) && IsCopy(key) ? key.subspan(1) : key;
}

// IsStray: whether a damaged record is intact but for one bit of its gallery's number: it belongs
// to another gallery, and this one has no record there.
bool IsStray(Table table, ByteSpan key, ByteSpan value) {
  const ByteSpan own = OwnKey(table, key);
  if (table == Table::kCatalog || own.size() < kNumberBytes) return false;
  const auto right = RightKey(table, key, value);
  return right &&
         !std::ranges::equal(ByteSpan(*right).subspan(key.size() - own.size(), kNumberBytes),
                             own.first(kNumberBytes));
}

std::vector<uint8_t> WithChecksum(Table table, ByteSpan key, ByteSpan payload) {
  const uint64_t sum = ChecksumOf(table, key, payload);
  std::vector<uint8_t> value(payload.size() + kChecksumBytes);
  std::ranges::copy(payload, value.begin());
  std::memcpy(value.data() + payload.size(), &sum, kChecksumBytes);
  return value;
}

void NoteIn(const std::shared_ptr<DamageLog>& log, Table table, ByteSpan key, bool intact) {
  if (log != nullptr) log->Note({table, Owned(key), intact});
}

// ButUnread: an error, unless it says that a part of a table cannot be read.
absl::Status ButUnread(const absl::Status& status) {
  return absl::IsDataLoss(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::optional<ByteSpan>> GetChecked(const StoreReader& reader, Table table,
                                                   ByteSpan key,
                                                   const std::shared_ptr<DamageLog>& log) {
  const auto read = reader.Get(table, key);
  HEFT_RETURN_IF_ERROR(ButUnread(read.status()));
  auto value = read.value_or(std::nullopt);
  if (value) {
    const auto payload = PayloadOf(table, key, *value);
    if (payload) return payload;
    if (IsStray(table, key, *value)) {
      NoteIn(log, table, key, /*intact=*/true);
      value.reset();
    }
  }
  if (!value && !IsStoredTwice(table)) return read.ok() ? std::optional<ByteSpan>() : read;
  if (IsStoredTwice(table)) {
    const StoreKey copy = Copied(key);
    const auto read_copy = reader.Get(table, copy);
    if (!read.ok() || !absl::IsDataLoss(read_copy.status())) {
      HEFT_RETURN_IF_ERROR(read_copy.status());
    }
    const auto second = read_copy.value_or(std::nullopt);
    const auto payload = second ? PayloadOf(table, copy, *second) : std::nullopt;
    if (payload) {
      NoteIn(log, table, key, /*intact=*/true);
      return payload;
    }
    if (!value && !second) return std::optional<ByteSpan>();
  }
  NoteIn(log, table, key, /*intact=*/false);
  return absl::DataLossError(Describe({table, Owned(key), false}));
}

// LookChecked: false, without a call of `use`, if the first record is not there or not intact.
absl::StatusOr<bool> LookChecked(const StoreReader& reader, Table table, ByteSpan key,
                                 const std::function<void(ByteSpan value)>& use) {
  bool intact = false;
  const auto there = reader.Look(table, key, [&](ByteSpan value) {
    const auto payload = PayloadOf(table, key, value);
    intact = payload.has_value();
    if (intact) use(*payload);
  });
  if (!there.ok()) HEFT_RETURN_IF_ERROR(OfStore(ButUnread(there.status())));
  return intact;
}

// The keys of intact copies from `from` on: of one gallery, or of all if `from` has no gallery.
absl::StatusOr<std::vector<StoreKey>> CopiesFrom(const StoreReader& reader, Table table,
                                                 ByteSpan from) {
  const bool all = table == Table::kCatalog || from.size() < kNumberBytes;
  const StoreKey gallery = all ? StoreKey() : Owned(from.first(kNumberBytes));
  std::vector<StoreKey> keys;
  const absl::Status status = reader.Scan(table, Copied(from), [&](ByteSpan key, ByteSpan value) {
    if (!IsCopy(key)) return false;
    const ByteSpan of = key.subspan(1);
    if (!all &&
        (of.size() < kNumberBytes || !std::ranges::equal(of.first(kNumberBytes), gallery))) {
      return false;
    }
    if (PayloadOf(table, key, value)) keys.push_back(Owned(of));
    return true;
  });
  HEFT_RETURN_IF_ERROR(ButUnread(status));
  return keys;
}

// Walk: a scan that stops at each record which must be read from its copy, because `use` must not
// call the reader.
class Walk {
 public:
  Walk(const StoreReader& reader, Table table, const std::shared_ptr<DamageLog>& log,
       const std::function<bool(ByteSpan, ByteSpan)>& use)
      : reader_(reader), table_(table), log_(log), use_(use) {}

  // kDataLoss, after all records that can be read, if a part of the table cannot.
  absl::Status From(ByteSpan from) {
    if (IsStoredTwice(table_)) {
      HEFT_ASSIGN_OR_RETURN(copies_, CopiesFrom(reader_, table_, from));
    }
    StoreKey next = Owned(from);
    absl::Status unread;
    while (!over_) {
      std::optional<StoreKey> from_copy;
      const absl::Status status = reader_.Scan(table_, next, [&](ByteSpan key, ByteSpan value) {
        return Step(key, value, &from_copy, &next);
      });
      HEFT_RETURN_IF_ERROR(ButUnread(status));
      unread.Update(status);
      if (!from_copy) break;
      HEFT_RETURN_IF_ERROR(Take(*from_copy));
    }
    for (; !over_ && at_ < copies_.size();) HEFT_RETURN_IF_ERROR(Take(copies_[at_]));
    return unread;
  }

 private:
  bool Step(ByteSpan key, ByteSpan value, std::optional<StoreKey>* from_copy, StoreKey* next) {
    if (IsStoredTwice(table_) && IsCopy(key)) return false;
    const bool missing = at_ < copies_.size() && Less(copies_[at_], key);
    if (missing) {
      *from_copy = copies_[at_];
      *next = Owned(key);
      return false;
    }
    const bool twice = at_ < copies_.size() && std::ranges::equal(copies_[at_], key);
    if (const auto payload = PayloadOf(table_, key, value)) {
      if (twice) ++at_;
      over_ = !use_(key, *payload);
      return !over_;
    }
    if (!twice) {
      NoteIn(log_, table_, key, /*intact=*/IsStray(table_, key, value));
      return true;
    }
    *from_copy = Owned(key);
    *next = Owned(key);
    next->push_back(0);
    return false;
  }

  // Takes a record from its copy, which is the next one.
  absl::Status Take(const StoreKey& key) {
    ++at_;
    const StoreKey copy = Copied(key);
    HEFT_ASSIGN_OR_RETURN(const auto value, reader_.Get(table_, copy));
    const auto payload = value ? PayloadOf(table_, copy, *value) : std::nullopt;
    NoteIn(log_, table_, key, payload.has_value());
    if (payload) over_ = !use_(key, *payload);
    return absl::OkStatus();
  }

  const StoreReader& reader_;
  const Table table_;
  const std::shared_ptr<DamageLog>& log_;
  const std::function<bool(ByteSpan, ByteSpan)>& use_;
  std::vector<StoreKey> copies_;
  size_t at_ = 0;
  bool over_ = false;
};

// The numbers of the galleries that intact entries of the catalogue list.
absl::StatusOr<std::set<uint32_t>> ListedNumbers(const StoreReader& reader) {
  std::set<uint32_t> numbers;
  const std::function<bool(ByteSpan, ByteSpan)> use = [&](ByteSpan, ByteSpan value) {
    numbers.insert(ByteReader(value, "the catalogue").U32());
    return true;
  };
  HEFT_RETURN_IF_ERROR(ButUnread(Walk(reader, Table::kCatalog, nullptr, use).From({})));
  return numbers;
}

// Numbers: of galleries in a check.
struct Numbers {
  std::set<uint32_t> skipped;  // these are left out
  std::set<uint32_t> known;    // records of others are at wrong keys; empty: all may be right
};

// The damage of one table.
class TableCheck {
 public:
  TableCheck(const StoreReader& reader, Table table, const Numbers& numbers)
      : reader_(reader), table_(table), numbers_(numbers) {}

  absl::Status Run(std::vector<Damage>* out) {
    const absl::Status status = Look();
    HEFT_RETURN_IF_ERROR(ButUnread(status));
    if (!status.ok()) out->push_back({table_, {}, IsStoredTwice(table_)});
    std::vector<std::string> single;  // with one intact record of two
    std::ranges::set_symmetric_difference(intact_, copies_, std::back_inserter(single));
    for (const std::string& key : strays_) out->push_back({table_, Owned(AsBytes(key)), true});
    for (const auto& [key, right] : broken_) {
      // One at a wrong key is the second one of another.
      const bool intact = std::ranges::binary_search(single, key) ||
                          (!right.empty() && std::ranges::binary_search(single, right));
      out->push_back({table_, Owned(AsBytes(key)), IsStoredTwice(table_) && intact});
    }
    for (const std::string& key : single) {
      if (!broken_.contains(key)) out->push_back({table_, Owned(AsBytes(key)), true});
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Look() {
    std::optional<StoreKey> from = StoreKey();
    absl::Status unread;
    while (from) {
      const StoreKey start = *std::move(from);
      from.reset();
      const absl::Status status = reader_.Scan(table_, start, [&](ByteSpan key, ByteSpan value) {
        const bool copy = IsStoredTwice(table_) && IsCopy(key);
        const ByteSpan own = OwnKey(table_, key);
        bool wrong = !PayloadOf(table_, key, value);
        if (table_ != Table::kCatalog && own.size() >= kNumberBytes) {
          const auto number = static_cast<uint32_t>(NumberOf(own.first(kNumberBytes)));
          if (numbers_.skipped.contains(number)) {
            from = HeadKey(number + 1);
            if (copy) from = Copied(*from);
            return false;
          }
          wrong = wrong || (!numbers_.known.empty() && !numbers_.known.contains(number));
        }
        if (wrong && IsStray(table_, key, value)) {
          strays_.emplace(own.begin(), own.end());
        } else if (wrong) {
          const auto right = RightKey(table_, key, value);
          const ByteSpan at = right ? OwnKey(table_, *right) : ByteSpan();
          const auto [it, first] = broken_.try_emplace(std::string(own.begin(), own.end()),
                                                       std::string(at.begin(), at.end()));
          if (!first) it->second.clear();  // two records: neither is dropped
        } else if (IsStoredTwice(table_)) {
          (copy ? copies_ : intact_).emplace(own.begin(), own.end());
        }
        return true;
      });
      HEFT_RETURN_IF_ERROR(ButUnread(status));
      unread.Update(status);
    }
    return unread;
  }

  const StoreReader& reader_;
  const Table table_;
  const Numbers& numbers_;
  std::set<std::string> strays_, intact_, copies_;  // keys
  std::map<std::string, std::string> broken_;  // keys, and the right ones of those at wrong ones
};

std::string NameOf(Table table, ByteSpan key) {
  if (key.empty()) return absl::StrCat("a page of records (", std::string(TableName(table)), ")");
  const ByteSpan rest = key.subspan(std::min<size_t>(key.size(), 4));
  const uint64_t number = NumberOf(rest);
  switch (table) {
    case Table::kCatalog:
      return absl::StrCat("the catalogue's entry \"", std::string(key.begin(), key.end()), "\"");
    case Table::kHead:
      return rest.empty() ? "the gallery's head" : "the record of the key owner's journal";
    case Table::kBlockInfo:
      return absl::StrCat("the record of block ", number);
    case Table::kRoster:
      return absl::StrCat("run ", number, " of the roster (positions ", number * kRunPlaces, " to ",
                          number * kRunPlaces + kRunPlaces - 1, ")");
    case Table::kJournal:
      return absl::StrCat("entry ", number, " of the journal");
    case Table::kFolds:
      return absl::StrCat("the record of the fold up to entry ", number);
    case Table::kFree:
      return absl::StrCat("the record of free position ", number);
    case Table::kPendingFile:
    case Table::kPending:
      return absl::StrCat("the pending enrolment ", HexString(rest));
    case Table::kReceipts:
      return absl::StrCat("the receipt of generation ", number & ~kDueReceipt);
    case Table::kNames:
      return absl::StrCat("entry ", HexString(rest), " of the index of names");
    case Table::kSamples:
      return absl::StrCat("entry ", HexString(rest), " of the index of samples");
    case Table::kExchanges:
      return absl::StrCat("the open renewal ", HexString(rest));
    case Table::kRequests:
      return absl::StrCat("the stored answer ", HexString(rest));
    case Table::kBlocks:
      break;
  }
  return "a record";
}

std::string RemedyOf(const Damage& damage) {
  if (damage.intact) return "nothing is lost; `heft-server gallery compact` mends it";
  if (damage.key.empty()) {
    return "`heft-server gallery compact` makes it again from what can be read; restore what is "
           "then missing from a snapshot";
  }
  switch (damage.table) {
    case Table::kCatalog:
    case Table::kHead:
    case Table::kBlockInfo:
    case Table::kRoster:
    case Table::kReceipts:
      return "restore the gallery from a snapshot (`heft-server gallery restore`)";
    case Table::kPendingFile:
    case Table::kPending:
      return "reject it (`heft-server gallery remove --entry`), and enrol again";
    case Table::kJournal:
      return "its template can no longer be taken back alone; `heft-server gallery compact` drops "
             "it";
    case Table::kExchanges:
      return "ask for the renewal again; `heft-server gallery compact` drops it";
    default:
      return "`heft-server gallery compact` makes it again or drops it";
  }
}

}  // namespace

std::string Describe(const Damage& damage) {
  return absl::StrCat(NameOf(damage.table, damage.key), " is damaged: ", RemedyOf(damage));
}

bool IsStoredTwice(Table table) {
  switch (table) {
    case Table::kCatalog:
    case Table::kHead:
    case Table::kBlockInfo:
    case Table::kRoster:
    case Table::kPending:
    case Table::kReceipts:
      return true;
    default:
      return false;
  }
}

void DamageLog::Note(Damage damage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_[{damage.table, std::move(damage.key)}] = damage.intact;
}

void DamageLog::Forget(const Damage& damage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.erase({damage.table, damage.key});
}

std::vector<Damage> DamageLog::All() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Damage> all;
  for (const auto& [record, intact] : known_) all.push_back({record.first, record.second, intact});
  return all;
}

absl::StatusOr<std::vector<Damage>> FindDamage(const StoreReader& reader,
                                               std::optional<uint32_t> gallery) {
  Numbers numbers;
  if (gallery) {
    HEFT_ASSIGN_OR_RETURN(numbers.skipped, ListedNumbers(reader));
    const absl::Status catalogue = CheckCatalogue(reader);
    if (!catalogue.ok() && !absl::IsDataLoss(catalogue)) return catalogue;
    if (catalogue.ok()) {
      numbers.known = numbers.skipped;
      // Rows of an interrupted import (gallery/unlisted.h).
      numbers.known.insert(numbers.known.empty() ? 1 : *numbers.known.rbegin() + 1);
    }
    numbers.skipped.erase(*gallery);
  }
  std::vector<Damage> out;
  for (size_t i = 0; i < kTables; ++i) {
    const Table table = static_cast<Table>(i);
    if (!IsChecked(table)) continue;
    HEFT_RETURN_IF_ERROR(TableCheck(reader, table, numbers).Run(&out));
  }
  return out;
}

absl::StatusOr<std::optional<Damage>> DamageAt(const StoreReader& reader, Table table,
                                               const StoreKey& key) {
  std::optional<Damage> none;
  if (!IsChecked(table)) return none;
  if (key.empty()) {
    const absl::Status status = reader.Scan(table, {}, [](ByteSpan, ByteSpan) { return true; });
    HEFT_RETURN_IF_ERROR(ButUnread(status));
    return status.ok() ? none : Damage{table, key, IsStoredTwice(table)};
  }
  size_t there = 0, intact = 0;
  std::vector<StoreKey> keys = {key};
  if (IsStoredTwice(table)) keys.push_back(Copied(key));
  for (const StoreKey& at : keys) {
    HEFT_ASSIGN_OR_RETURN(const auto value, reader.Get(table, at));
    if (value && !PayloadOf(table, at, *value) && IsStray(table, at, *value)) {
      return std::optional<Damage>(Damage{table, key, true});
    }
    there += value ? 1 : 0;
    intact += value && PayloadOf(table, at, *value) ? 1 : 0;
  }
  if (there == 0 || intact == keys.size()) return none;
  return std::optional<Damage>(Damage{table, key, intact > 0});
}

absl::StatusOr<std::optional<ByteSpan>> CheckedReader::Get(Table table, ByteSpan key) const {
  return OfStore(GetChecked(*reader_, table, key, log_));
}

absl::StatusOr<bool> CheckedReader::Look(Table table, ByteSpan key,
                                         const std::function<void(ByteSpan value)>& use) const {
  HEFT_ASSIGN_OR_RETURN(const bool intact, LookChecked(*reader_, table, key, use));
  return intact ? true : StoreReader::Look(table, key, use);
}

absl::Status CheckedReader::Scan(Table table, ByteSpan from,
                                 const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  const absl::Status status = Walk(*reader_, table, log_, use).From(from);
  if (absl::IsDataLoss(status)) NoteIn(log_, table, {}, IsStoredTwice(table));
  return OfStore(ButUnread(status));
}

absl::StatusOr<std::optional<ByteSpan>> CheckedWriter::Get(Table table, ByteSpan key) const {
  return OfStore(GetChecked(*writer_, table, key, log_));
}

absl::StatusOr<bool> CheckedWriter::Look(Table table, ByteSpan key,
                                         const std::function<void(ByteSpan value)>& use) const {
  HEFT_ASSIGN_OR_RETURN(const bool intact, LookChecked(*writer_, table, key, use));
  return intact ? true : StoreReader::Look(table, key, use);
}

absl::Status CheckedWriter::Scan(Table table, ByteSpan from,
                                 const std::function<bool(ByteSpan, ByteSpan)>& use) const {
  return OfStore(Walk(*writer_, table, log_, use).From(from));
}

absl::Status CheckedWriter::Put(Table table, ByteSpan key, ByteSpan value) {
  if (!IsChecked(table)) return writer_->Put(table, key, value);
  const std::vector<uint8_t> bytes = WithChecksum(table, key, value);
  if (!IsStoredTwice(table)) return writer_->Put(table, key, bytes);
  const StoreKey own = Owned(key);
  HEFT_RETURN_IF_ERROR(writer_->Put(table, own, bytes));
  return writer_->Put(table, Copied(own), bytes);
}

absl::Status CheckedWriter::Delete(Table table, ByteSpan key) {
  const StoreKey copy = Copied(key);
  HEFT_RETURN_IF_ERROR(writer_->Delete(table, key));
  return IsStoredTwice(table) ? writer_->Delete(table, copy) : absl::OkStatus();
}

absl::Status CheckCatalogue(const StoreReader& reader) {
  std::vector<Damage> damage;
  const Numbers all;
  HEFT_RETURN_IF_ERROR(TableCheck(reader, Table::kCatalog, all).Run(&damage));
  for (const Damage& one : damage) {
    if (!one.intact) return OfStore(absl::DataLossError(Describe(one)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CheckedReader>> ReadChecked(const Store& store,
                                                           std::shared_ptr<DamageLog> log) {
  HEFT_ASSIGN_OR_RETURN(auto reader, store.Read());
  return std::make_unique<CheckedReader>(std::move(reader), std::move(log));
}

absl::StatusOr<std::unique_ptr<CheckedWriter>> WriteChecked(Store* store, const StoreLock& lock,
                                                            std::shared_ptr<DamageLog> log) {
  HEFT_ASSIGN_OR_RETURN(auto writer, store->Write(lock));
  return std::make_unique<CheckedWriter>(std::move(writer), std::move(log));
}

}  // namespace heft
