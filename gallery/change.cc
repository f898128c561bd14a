// SPDX-License-Identifier: Apache-2.0
#include "gallery/change.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "base/csprng.h"
#include "base/identity.h"
#include "ckks/serialization.h"
#include "fusion/errors.h"
#include "fusion/key_files.h"
#include "gallery/merkle.h"
#include "gallery/wear.h"

namespace heft {
namespace {

std::atomic<int64_t> writer_wait_seconds{60};

constexpr uint64_t kRemembered = 7 * 86400;
// Entries of the journal that a change retires at most.
constexpr size_t kRetiredAChange = 256;

}  // namespace

void SetWriterWait(int seconds) { writer_wait_seconds = std::max(0, seconds); }
absl::Duration WriterWait() { return absl::Seconds(writer_wait_seconds.load()); }

GalleryChange::GalleryChange(GalleryChange&&) noexcept = default;
GalleryChange::~GalleryChange() {
  writer_.reset();  // before the lock
}

absl::StatusOr<GalleryChange> GalleryChange::Begin(Gallery::Impl of, bool start) {
  of = of.Unread();
  HEFT_ASSIGN_OR_RETURN(std::shared_ptr<Store> store,
                        OpenStore(of.directory(), start ? StoreMode::kCreate : StoreMode::kWrite));
  HEFT_ASSIGN_OR_RETURN(auto lock, store->Lock(WriterWait()));
  auto before = Gallery::Impl::Open(store, of.address());
  const bool fresh = absl::IsNotFound(before.status());
  if (!before.ok() && !(fresh && start)) return before.status();
  GalleryChange change(fresh ? of : *before);
  change.store_ = std::move(store);
  change.lock_ = std::move(lock);
  HEFT_ASSIGN_OR_RETURN(change.writer_, change.store_->Write(*change.lock_));
  change.now_ = UnixTime();
  if (fresh) {
    HEFT_RETURN_IF_ERROR(change.Start(of));
  } else {
    HEFT_RETURN_IF_ERROR(change.before_.CheckBinding(of.binding()));
    if (of.cache_ != nullptr) change.before_.cache_ = of.cache_;
    change.number_ = change.before_.number();
    change.head_ = change.before_.head();
    change.infos_ = change.before_.infos();
    HEFT_RETURN_IF_ERROR(change.LoadExchanges());
  }
  return change;
}

absl::Status GalleryChange::Start(const Gallery::Impl& of) {
  number_ = 1;
  HEFT_RETURN_IF_ERROR(writer_->Scan(Table::kCatalog, {}, [&](ByteSpan, ByteSpan value) {
    number_ = std::max(number_, ByteReader(value, "the catalogue").U32() + 1);
    return true;
  }));
  ByteWriter number;
  number.U32(number_);
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kCatalog, AsBytes(of.address().name), number.bytes()));
  head_ = of.head();
  head_.started = head_.key_since = now_;
  infos_.clear();
  before_.store_ = store_;
  before_.number_ = number_;
  HEFT_ASSIGN_OR_RETURN(before_.reader_, store_->Read());
  return absl::OkStatus();
}

absl::StatusOr<NamedPlaces> GalleryChange::Find(const std::string& identity) const {
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        writer_->Get(Table::kNames, NameKey(number_, head_.id, identity)));
  if (!bytes) return NamedPlaces{};
  HEFT_ASSIGN_OR_RETURN(NamedPlaces named, ParseNamed(*bytes, "the index of names"));
  if (!named.places.empty() && named.places.back() >= head_.places) {
    return absl::DataLossError("the index of names has a place that is not there");
  }
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
  if (named.places.empty() && named.waiting == 0) return writer_->Delete(Table::kNames, key);
  return writer_->Put(Table::kNames, key, SerializeNamed(named));
}

void GalleryChange::Extend(uint64_t places) {
  head_.places = places;
  infos_.resize((places + head_.block_places - 1) / head_.block_places);
}

absl::StatusOr<std::optional<uint64_t>> GalleryChange::TakeFreed(const WearCosts& costs) {
  const uint64_t per_block = head_.block_places;
  for (size_t b = 0; b < infos_.size(); ++b) {
    const BlockInfo& info = infos_[b];
    const uint64_t filled = std::min(per_block, head_.places - b * per_block);
    if (info.live + info.leaving >= filled || exchanging_.contains(b)) continue;
    std::optional<uint64_t> position;
    HEFT_RETURN_IF_ERROR(
        writer_->Scan(Table::kFree, NumberKey(number_, b * per_block), [&](ByteSpan key, ByteSpan) {
          if (OfGallery(number_, key)) position = NumberOf(key);
          return false;
        }));
    if (!position || *position >= (b + 1) * per_block) continue;
    HEFT_ASSIGN_OR_RETURN(const Resident* place, Place(*position));
    if (!MayAdd(costs, info.wear, place->clean, costs.addition)) continue;
    HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kFree, NumberKey(number_, *position)));
    return position;
  }
  return std::optional<uint64_t>();
}

absl::Status GalleryChange::CloseBlock() {
  const uint64_t end = infos_.size() * uint64_t{head_.block_places};
  for (; head_.places < end; ++head_.places) {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, NumberKey(number_, head_.places), {}));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> GalleryChange::TakePosition(const WearCosts& costs) {
  HEFT_ASSIGN_OR_RETURN(const auto freed, TakeFreed(costs));
  if (freed) return *freed;
  if (head_.places % head_.block_places != 0) {
    HEFT_ASSIGN_OR_RETURN(const Resident* next, Place(head_.places));
    // The rest of a worn block waits until those in it have gone.
    if (exchanging_.contains(infos_.size() - 1) ||
        !MayAdd(costs, infos_.back().wear, next->clean, costs.addition)) {
      HEFT_RETURN_IF_ERROR(CloseBlock());
    }
  }
  Extend(head_.places + 1);
  return head_.places - 1;
}

absl::Status GalleryChange::Settle(uint64_t position, const Enrolment& enrolment,
                                   const Digest& contribution) {
  HEFT_RETURN_IF_ERROR(CheckIdentity(enrolment.identity));
  PersonId person{};
  if (const auto known = persons_.find(enrolment.identity); known != persons_.end()) {
    person = known->second;
  } else {
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, Find(enrolment.identity));
    if (named.places.empty()) {
      Csprng().Fill(person);
    } else {
      HEFT_ASSIGN_OR_RETURN(const Resident* other, Place(named.places.front()));
      person = other->person;
    }
    persons_[enrolment.identity] = person;
  }
  HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(position));
  if (resident->state != PlaceState::kFree) {
    return absl::DataLossError("a position that is to be filled is not free");
  }
  BlockInfo& info = infos_[position / head_.block_places];
  const bool first = info.live + info.leaving == 0;
  info.wear.least_clean =
      first ? resident->clean : std::min(info.wear.least_clean, resident->clean);
  resident->state = PlaceState::kLive;
  resident->person = person;
  resident->identity = enrolment.identity;
  resident->sample = enrolment.sample;
  resident->parts = enrolment.parts;
  resident->contribution = contribution;
  resident->entry = contribution == Digest{} ? 0 : head_.next_entry;
  resident->generation = head_.generation + 1;
  resident->enrolled = now_;
  resident->expires = enrolment.expires;
  resident->metadata = enrolment.metadata;
  ++info.live;
  ++head_.live;
  changed_.insert(position / head_.block_places);
  HEFT_RETURN_IF_ERROR(Name(enrolment.identity, [&](NamedPlaces* named) {
    named->places.insert(std::ranges::lower_bound(named->places, position), position);
  }));
  ByteWriter place;
  place.U64(position);
  if (enrolment.sample != SampleDigest{}) {
    HEFT_RETURN_IF_ERROR(
        writer_->Put(Table::kSamples, DigestKey(number_, enrolment.sample), place.bytes()));
  }
  for (const SampleDigest& part : enrolment.parts) {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kSamples, DigestKey(number_, part), place.bytes()));
  }
  return absl::OkStatus();
}

absl::Status GalleryChange::AddSingles(const Instance& instance,
                                       std::span<const Enrolment> templates,
                                       const ckks::EvaluationKeys& keys) {
  head_.block_places = 2 * instance.params().slots();
  const WearCosts costs = WearCostsOf(instance);
  for (const Enrolment& t : templates) {
    HEFT_ASSIGN_OR_RETURN(const uint64_t position, TakePosition(costs));
    ByteWriter fused;
    ckks::WriteCiphertext(fused, *instance.context, t.z);
    const JournalEntry entry = {position, head_.generation + 1, now_, HashBytes(fused.bytes()),
                                fused.bytes()};
    HEFT_RETURN_IF_ERROR(Settle(position, t, entry.contribution));
    BlockInfo& info = infos_[position / head_.block_places];
    ByteWriter chain;
    chain.Raw(info.pending);
    chain.U64(position);
    chain.Raw(entry.contribution);
    info.pending = HashBytes(chain.bytes());
    const std::vector<uint8_t> bytes = SerializeEntry(entry);
    HEFT_RETURN_IF_ERROR(
        writer_->Put(Table::kJournal, NumberKey(number_, head_.next_entry), bytes));
    head_.entry_bytes += bytes.size();
    ++head_.next_entry;
  }
  Touch();
  if (head_.next_entry - 1 - head_.folded <= kMostPending) return absl::OkStatus();
  return Fold(instance, keys);
}

absl::Status GalleryChange::AddBatch(const Rings& rings, std::span<const Enrolment> of,
                                     TemplateBatch batch, const RingKeys& keys) {
  if (of.size() != batch.count) {
    return absl::InvalidArgumentError(
        absl::StrCat(of.size(), " identities for a batch of ", batch.count));
  }
  const Instance& instance = rings.matching;
  const uint32_t slots = instance.params().slots();
  const uint32_t batch_slots = rings.enrolment.params().slots();
  head_.block_places = 2 * slots;
  HEFT_RETURN_IF_ERROR(Fold(instance, keys.matching));
  const WearCosts costs = WearCostsOf(instance);
  if (head_.places % head_.block_places != 0) {
    HEFT_ASSIGN_OR_RETURN(const Resident* next, Place(head_.places));
    if (exchanging_.contains(infos_.size() - 1) ||
        !MayAdd(costs, infos_.back().wear, next->clean, costs.batch)) {
      HEFT_RETURN_IF_ERROR(CloseBlock());
    }
  }
  const auto first_slot = static_cast<uint32_t>(head_.places % slots);
  HEFT_RETURN_IF_ERROR(MoveBatch(rings.enrolment, &batch, first_slot,
                                 rings.thin() ? keys.enrolment : keys.matching));
  HEFT_RETURN_IF_ERROR(SplitBatch(rings, keys.ring_switch, &batch));
  for (size_t done = 0; done < of.size();) {
    const uint64_t position = head_.places;
    const size_t block = position / head_.block_places;
    const auto index = static_cast<uint32_t>(position % head_.block_places);
    const Position at = PositionOf(index, slots);
    // A batch may go over into the next lane, and the next block.
    const auto count = static_cast<uint32_t>(std::min<size_t>(of.size() - done, slots - at.slot));
    Extend(position + count);
    HEFT_ASSIGN_OR_RETURN(TiledCiphertexts data, ReadCheckpoint(instance, block));
    const auto slot = static_cast<uint32_t>((first_slot + done) % batch_slots);
    HEFT_RETURN_IF_ERROR(AddBatchToBlock(instance, &data, batch, slot, count, at.lane));
    for (size_t i = 0; i < count; ++i) {
      HEFT_RETURN_IF_ERROR(Settle(position + i, of[done + i], Digest{}));
    }
    infos_[block].wear.wear += costs.batch;
    HEFT_RETURN_IF_ERROR(WriteCheckpoint(block, data));
    done += count;
  }
  Touch();
  return absl::OkStatus();
}

absl::StatusOr<TiledCiphertexts> GalleryChange::ReadCheckpoint(const Instance& instance,
                                                               size_t block) const {
  const uint32_t gamma = head_.binding.gamma;
  if (infos_[block].checkpoint == Digest{}) return EmptyBlock(*instance.context, gamma);
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        writer_->Get(Table::kBlocks, BlockKey(number_, head_.epoch, block)));
  const std::string what = absl::StrCat("block ", block, " of the gallery");
  if (!bytes) return absl::DataLossError(absl::StrCat(what, " is missing"));
  BlockView view;
  HEFT_ASSIGN_OR_RETURN(const BlockHeader header,
                        ParseBlock(*bytes, TiledSize(*instance.context, gamma), what, &view));
  // A damaged block must not spread into its successor.
  if (header.hash != infos_[block].checkpoint || ResiduesHash(view) != header.hash) {
    return absl::DataLossError(
        absl::StrCat(what,
                     " is damaged: bring it back from a snapshot (`heft-server gallery "
                     "restore`)"));
  }
  return TiledCiphertexts(view.begin(), view.end());
}

absl::Status GalleryChange::WriteCheckpoint(size_t block, const TiledCiphertexts& data) {
  BlockHeader header;
  header.block = block;
  header.generation = head_.generation + 1;
  header.gamma = head_.binding.gamma;
  header.checksum =
      FastChecksum({reinterpret_cast<const uint8_t*>(data.data()), data.size() * sizeof(uint32_t)});
  header.hash = ResiduesHash(data);
  infos_[block].checkpoint = header.hash;
  infos_[block].generation = header.generation;
  changed_.insert(block);
  Touch();
  return writer_->Put(Table::kBlocks, BlockKey(number_, head_.epoch, block),
                      SerializeBlock(header, data));
}

absl::Status GalleryChange::FoldBlock(const Instance& instance, size_t block,
                                      std::span<const uint64_t> entries,
                                      const ckks::EvaluationKeys& keys) {
  HEFT_ASSIGN_OR_RETURN(TiledCiphertexts data, ReadCheckpoint(instance, block));
  // A call at a time: their bytes may be many.
  for (size_t first = 0; first < entries.size(); first += kTemplatesACall) {
    const auto call = entries.subspan(first, std::min(kTemplatesACall, entries.size() - first));
    HEFT_RETURN_IF_ERROR(AddNumbered(instance, call, keys, &data));
    infos_[block].wear.wear += AdditionVariance(instance.params(), instance.plan, call.size());
  }
  infos_[block].pending = Digest{};
  return WriteCheckpoint(block, data);
}

absl::Status GalleryChange::AddNumbered(const Instance& instance, std::span<const uint64_t> entries,
                                        const ckks::EvaluationKeys& keys, TiledCiphertexts* data,
                                        bool taken) const {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<JournalEntry> parsed;
  for (const uint64_t number : entries) {
    HEFT_ASSIGN_OR_RETURN(const auto value,
                          writer_->Get(Table::kJournal, NumberKey(number_, number)));
    if (!value) return absl::DataLossError("an entry of the gallery's journal is missing");
    HEFT_ASSIGN_OR_RETURN(JournalEntry entry, ParseEntry(*value, "the gallery's journal"));
    if (entry.fused.empty()) continue;  // taken back
    bytes.emplace_back(entry.fused.begin(), entry.fused.end());
    entry.fused = bytes.back();
    parsed.push_back(entry);
  }
  std::vector<const JournalEntry*> pointers;
  for (const JournalEntry& entry : parsed) pointers.push_back(&entry);
  return AddEntries(instance, head_.block_places, pointers, keys, data, taken);
}

absl::Status GalleryChange::Fold(const Instance& instance, const ckks::EvaluationKeys& keys) {
  if (head_.folded + 1 == head_.next_entry) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(CheckKeyId(head_.binding.key_id, keys.key_id, "evaluation keys"));
  std::map<size_t, std::vector<uint64_t>> by_block;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(writer_->Scan(
      Table::kJournal, NumberKey(number_, head_.folded + 1), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        const auto entry = ParseEntry(value, "the gallery's journal");
        status = entry.status();
        if (status.ok()) by_block[entry->position / head_.block_places].push_back(NumberOf(key));
        return status.ok();
      }));
  HEFT_RETURN_IF_ERROR(status);
  for (const auto& [block, entries] : by_block) {
    HEFT_RETURN_IF_ERROR(FoldBlock(instance, block, entries, keys));
  }
  HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFolds, NumberKey(number_, head_.next_entry - 1),
                                    SerializeFold({head_.folded + 1, now_})));
  head_.folded = head_.next_entry - 1;
  return absl::OkStatus();
}

absl::Status GalleryChange::Vacate(uint64_t position, PlaceState state) {
  HEFT_ASSIGN_OR_RETURN(Resident * resident, Place(position));
  BlockInfo& info = infos_[position / head_.block_places];
  if (resident->state == PlaceState::kLive) {
    const Resident gone = *resident;
    persons_.erase(gone.identity);  // who comes back under that name is somebody else
    --info.live;
    --head_.live;
    HEFT_RETURN_IF_ERROR(
        Name(gone.identity, [&](NamedPlaces* named) { std::erase(named->places, position); }));
    std::vector<SampleDigest> samples = gone.parts;
    samples.push_back(gone.sample);
    for (const SampleDigest& sample : samples) {
      if (sample == SampleDigest{}) continue;
      HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kSamples, DigestKey(number_, sample)));
    }
  } else if (resident->state == PlaceState::kLeaving) {
    --info.leaving;
    --head_.leaving;
  }
  const double clean = resident->clean;
  const PersonId person = resident->person;
  *resident = Resident{};
  resident->clean = clean;
  resident->state = state;
  if (state == PlaceState::kLeaving) {
    resident->person = person;
    ++info.leaving;
    ++head_.leaving;
  } else {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kFree, NumberKey(number_, position), {}));
  }
  changed_.insert(position / head_.block_places);
  Touch();
  return absl::OkStatus();
}

absl::Status GalleryChange::FlushRuns() {
  std::map<size_t, std::vector<uint8_t>> digests;  // by block
  std::set<size_t> differing;
  const size_t per_block = head_.block_places / kRunPlaces;
  for (const auto& [number, run] : runs_) {
    const size_t block = number / per_block;
    auto it = digests.find(block);
    if (it == digests.end()) {
      HEFT_ASSIGN_OR_RETURN(const auto known,
                            writer_->Get(Table::kBlockInfo, RunDigestsKey(number_, block)));
      std::vector<uint8_t> bytes(per_block * sizeof(Digest));
      if (known && known->size() == bytes.size()) bytes.assign(known->begin(), known->end());
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
  persons_.clear();
  return absl::OkStatus();
}

absl::Status GalleryChange::DropEntry(uint64_t number) {
  const StoreKey key = NumberKey(number_, number);
  HEFT_ASSIGN_OR_RETURN(const auto value, writer_->Get(Table::kJournal, key));
  if (!value) return absl::OkStatus();
  head_.entry_bytes -= std::min<uint64_t>(head_.entry_bytes, value->size());
  return writer_->Delete(Table::kJournal, key);
}

// Whole folds: what is left of one could not be taken back exactly.
absl::Status GalleryChange::RetireEntries() {
  std::vector<std::pair<uint64_t, FoldRecord>> folds;
  absl::Status status;
  HEFT_RETURN_IF_ERROR(
      writer_->Scan(Table::kFolds, NumberKey(number_, 0), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key) || NumberOf(key) > head_.folded) return false;
        const auto fold = ParseFold(value, "the gallery's folds");
        status = fold.status();
        if (status.ok()) folds.emplace_back(NumberOf(key), *fold);
        return status.ok() && folds.size() < kRetiredAChange;
      }));
  HEFT_RETURN_IF_ERROR(status);
  size_t retired = 0;
  for (const auto& [last, fold] : folds) {
    const bool old = now_ >= fold.time && now_ - fold.time >= head_.retention.seconds;
    if (retired >= kRetiredAChange || (!old && head_.entry_bytes <= head_.retention.bytes)) break;
    if (fold.first > last || fold.first <= head_.retired) {
      return absl::DataLossError("the gallery's folds are out of order");
    }
    for (uint64_t number = fold.first; number <= last; ++number, ++retired) {
      HEFT_RETURN_IF_ERROR(DropEntry(number));
    }
    HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kFolds, NumberKey(number_, last)));
    head_.retired = last;
  }
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
  HEFT_RETURN_IF_ERROR(writer_->Commit());
  changed_.clear();
  touched_ = false;
  writer_.reset();
  HEFT_ASSIGN_OR_RETURN(writer_, store_->Write(*lock_));
  return absl::OkStatus();
}

absl::Status GalleryChange::EraseRemains() {
  HEFT_RETURN_IF_ERROR(DropOtherEpochs());
  writer_.reset();
  // The state before refers to what is to be erased.
  HEFT_ASSIGN_OR_RETURN(before_, before_.Newest());
  HEFT_RETURN_IF_ERROR(store_->Scrub(*lock_, WriterWait()));
  HEFT_ASSIGN_OR_RETURN(writer_, store_->Write(*lock_));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::vector<uint8_t>>> RecallRequest(const StoreReader& reader,
                                                                  uint32_t gallery,
                                                                  std::string_view key,
                                                                  const Digest& request,
                                                                  uint64_t now) {
  std::optional<std::vector<uint8_t>> answer;
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader.Get(Table::kRequests, DigestKey(gallery, HashBytes(AsBytes(key)))));
  if (!bytes) return answer;
  ByteReader fields(*bytes, "the gallery's idempotency keys");
  const uint64_t until = fields.U64();
  const Digest same = ReadDigest(fields);
  HEFT_RETURN_IF_ERROR(fields.status());
  if (until < now) return answer;
  if (same != request) {
    return absl::AlreadyExistsError(
        "this idempotency key was given before, with another request: give each request its own");
  }
  const ByteSpan rest = fields.Raw(fields.remaining());
  answer.emplace(rest.begin(), rest.end());
  return answer;
}

absl::Status GalleryChange::Remember(std::string_view key, const Digest& request, ByteSpan answer) {
  // A few of those whose time is over go with each that comes.
  constexpr size_t kForgotten = 16, kLookedAt = 256;
  std::vector<StoreKey> over;
  size_t looked = 0;
  StoreKey from = DigestKey(number_, HashBytes(AsBytes(key)));
  HEFT_RETURN_IF_ERROR(writer_->Scan(Table::kRequests, from, [&](ByteSpan at, ByteSpan value) {
    if (!OfGallery(number_, at) || ++looked > kLookedAt) return false;
    if (ByteReader(value, "an idempotency key").U64() < now_)
      over.emplace_back(at.begin(), at.end());
    return over.size() < kForgotten;
  }));
  for (const StoreKey& gone : over) HEFT_RETURN_IF_ERROR(writer_->Delete(Table::kRequests, gone));
  ByteWriter writer;
  writer.U64(now_ + kRemembered);
  writer.Raw(request);
  writer.Raw(answer);
  return writer_->Put(Table::kRequests, DigestKey(number_, HashBytes(AsBytes(key))),
                      writer.bytes());
}

}  // namespace heft
