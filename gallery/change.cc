// SPDX-License-Identifier: Apache-2.0
#include "gallery/change.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/status.h"
#include "gallery/merkle.h"
#include "gallery/remembered.h"
#include "gallery/unlisted.h"

namespace heft {
namespace {

std::atomic<int64_t> writer_wait_seconds{60};

}  // namespace

void SetWriterWait(int seconds) { writer_wait_seconds = std::max(0, seconds); }
absl::Duration WriterWait() { return absl::Seconds(writer_wait_seconds.load()); }

GalleryChange::GalleryChange(GalleryChange&&) noexcept = default;
GalleryChange::~GalleryChange() {
  writer_.reset();  // before the lock
}

absl::StatusOr<GalleryChange> GalleryChange::Begin(Gallery::Impl of, bool start, bool set_back) {
  of = of.Unread();
  HEFT_ASSIGN_OR_RETURN(
      std::shared_ptr<Store> store,
      OpenStore(of.address().at(), start ? StoreMode::kCreate : StoreMode::kWrite));
  HEFT_ASSIGN_OR_RETURN(auto lock, store->Lock(WriterWait()));
  auto before = Gallery::Impl::Open(store, of.address());
  const bool fresh = absl::IsNotFound(before.status());
  if (!before.ok() && !(fresh && start)) return before.status();
  if (before.ok() && !set_back) HEFT_RETURN_IF_ERROR(before->CheckNotSetBack());
  GalleryChange change(fresh ? of : *before);
  if (of.cache_ != nullptr) change.before_.cache_ = of.cache_;
  change.store_ = std::move(store);
  change.lock_ = std::move(lock);
  HEFT_RETURN_IF_ERROR(change.BeginWriting());
  change.now_ = UnixTime();
  if (fresh) {
    HEFT_RETURN_IF_ERROR(change.Start(of));
  } else {
    HEFT_RETURN_IF_ERROR(change.before_.CheckBinding(of.binding()));
    change.number_ = change.before_.number();
    change.head_ = change.before_.head();
    change.infos_ = change.before_.infos();
    HEFT_RETURN_IF_ERROR(change.LoadExchanges());
  }
  return change;
}

absl::Status GalleryChange::BeginWriting() {
  writer_.reset();
  HEFT_ASSIGN_OR_RETURN(writer_, WriteChecked(store_.get(), *lock_, before_.cache_->records()));
  return absl::OkStatus();
}

absl::Status GalleryChange::Start(const Gallery::Impl& of) {
  HEFT_ASSIGN_OR_RETURN(number_, FreeNumber(*writer_));
  unlisted_ = true;
  head_ = of.head();
  head_.started = head_.key_since = now_;
  infos_.clear();
  before_.store_ = store_;
  before_.number_ = number_;
  HEFT_ASSIGN_OR_RETURN(before_.reader_, ReadChecked(*store_, before_.cache_->records()));
  return absl::OkStatus();
}

absl::StatusOr<NamedPlaces> GalleryChange::Find(const std::string& identity) const {
  const auto bytes = writer_->Get(Table::kNames, NameKey(number_, head_.id, identity));
  if (absl::IsDataLoss(bytes.status())) return FindInRoster(identity);
  HEFT_RETURN_IF_ERROR(bytes.status());
  if (!*bytes) return NamedPlaces{};
  HEFT_ASSIGN_OR_RETURN(NamedPlaces named, ParseNamed(**bytes, "the index of names"));
  if (!named.places.empty() && named.places.back() >= head_.places) {
    return OfStore(
        absl::DataLossError("the index of names contains a position that does not exist"));
  }
  return named;
}

// Where the index of names is damaged. Reads the whole roster.
absl::StatusOr<NamedPlaces> GalleryChange::FindInRoster(const std::string& identity) const {
  NamedPlaces named;
  for (uint64_t first = 0; first < head_.places; first += kRunPlaces) {
    HEFT_ASSIGN_OR_RETURN(const Run run, PeekRun(first / kRunPlaces));
    for (size_t i = 0; i < kRunPlaces; ++i) {
      if (run[i].state != PlaceState::kLive || run[i].identity != identity) continue;
      named.places.push_back(first + i);
    }
  }
  HEFT_RETURN_IF_ERROR(
      writer_->Scan(Table::kPending, HeadKey(number_), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        const auto pending = ParsePending(value, "a pending enrolment");
        if (pending.ok()) {
          named.pending += static_cast<uint32_t>(std::ranges::count(pending->identities, identity));
        }
        return true;
      }));
  return named;
}

absl::StatusOr<std::optional<uint64_t>> GalleryChange::FindSample(
    const SampleDigest& sample) const {
  std::optional<uint64_t> place;
  if (sample == SampleDigest{}) return place;
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        writer_->Get(Table::kSamples, DigestKey(number_, sample)));
  if (!bytes) return place;
  ByteReader reader(*bytes, "the index of samples");
  place = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return place;
}

absl::StatusOr<Run> GalleryChange::PeekRun(uint64_t number) const {
  if (const auto it = runs_.find(number); it != runs_.end()) return it->second;
  return ReadRun(*writer_, number_, number);
}

absl::StatusOr<Resident*> GalleryChange::Place(uint64_t position) {
  const uint64_t number = position / kRunPlaces;
  auto it = runs_.find(number);
  if (it == runs_.end()) {
    HEFT_ASSIGN_OR_RETURN(Run run, ReadRun(*writer_, number_, number));
    it = runs_.emplace(number, std::move(run)).first;
  }
  return &it->second[position % kRunPlaces];
}

absl::Status GalleryChange::Name(const std::string& identity,
                                 const std::function<void(NamedPlaces*)>& change) {
  HEFT_ASSIGN_OR_RETURN(NamedPlaces named, Find(identity));
  change(&named);
  const StoreKey key = NameKey(number_, head_.id, identity);
  if (named.places.empty() && named.pending == 0) return writer_->Delete(Table::kNames, key);
  return writer_->Put(Table::kNames, key, SerializeNamed(named));
}

absl::Status GalleryChange::FlushRuns() {
  std::map<size_t, std::vector<uint8_t>> digests;  // by block
  std::set<size_t> differing;
  const size_t per_block = head_.block_places / kRunPlaces;
  for (const auto& [number, run] : runs_) {
    const size_t block = number / per_block;
    auto it = digests.find(block);
    if (it == digests.end()) {
      HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes,
                            ReadRunDigests(*writer_, number_, block, head_));
      it = digests.emplace(block, std::move(bytes)).first;
    }
    const std::vector<uint8_t> serialized = SerializeRun(run);
    const Digest digest = RunDigest(serialized);
    const auto known =
        it->second.begin() + static_cast<std::ptrdiff_t>(number % per_block * digest.size());
    if (std::equal(digest.begin(), digest.end(), known)) continue;  // it was only looked at
    std::ranges::copy(digest, known);
    differing.insert(block);
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kRoster, RunKey(number_, number), serialized));
  }
  for (const size_t block : differing) {
    const std::vector<uint8_t>& bytes = digests[block];
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kBlockInfo, RunDigestsKey(number_, block), bytes));
    infos_[block].roster = HashBytes(bytes);
    changed_.insert(block);
  }
  runs_.clear();
  sought_ = {};
  persons_.clear();
  return absl::OkStatus();
}

absl::Status GalleryChange::Commit() {
  HEFT_RETURN_IF_ERROR(FlushRuns());
  HEFT_RETURN_IF_ERROR(RetireEntries());
  if (touched_) ++head_.generation;
  for (const size_t block : changed_) {
    BlockInfo& info = infos_[block];
    info.leaf = BlockLeaf(block, info.checkpoint, info.pending, info.roster);
    HEFT_RETURN_IF_ERROR(
        writer_->Put(Table::kBlockInfo, InfoKey(number_, block), SerializeBlockInfo(info)));
  }
  head_.root = MerkleRoot(infos_.size(), [&](uint64_t b) { return infos_[b].leaf; });
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kHead, HeadKey(number_), SerializeHead(head_)));
  if (unlisted_) HEFT_RETURN_IF_ERROR(ListGallery(*writer_, before_.address().name, number_));
  HEFT_RETURN_IF_ERROR(writer_->Commit());
  unlisted_ = false;
  if (touched_ && store_->Final()) RememberNowAndThen(head_.id, head_.generation);
  changed_.clear();
  touched_ = false;
  writing_ = BeginWriting();
  return absl::OkStatus();
}

absl::Status GalleryChange::CommitAndGoOn() {
  HEFT_RETURN_IF_ERROR(Commit());
  return Writing();
}

absl::Status GalleryChange::EraseRemains(absl::Duration wait) {
  HEFT_RETURN_IF_ERROR(Writing());
  HEFT_RETURN_IF_ERROR(DropOtherEpochs());
  HEFT_ASSIGN_OR_RETURN(const bool dropped, DropUnlisted(*writer_));
  if (dropped) HEFT_RETURN_IF_ERROR(CommitAndGoOn());
  writer_.reset();
  // The earlier state refers to data that Scrub erases.
  HEFT_ASSIGN_OR_RETURN(before_, before_.Newest());
  HEFT_RETURN_IF_ERROR(store_->Scrub(*lock_, wait));
  HEFT_RETURN_IF_ERROR(BeginWriting());
  return absl::OkStatus();
}

}  // namespace heft
