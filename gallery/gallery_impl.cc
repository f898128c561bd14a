// SPDX-License-Identifier: Apache-2.0
#include "gallery/gallery_impl.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "base/csprng.h"
#include "base/files.h"
#include "base/threads.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "gallery/legacy_gallery.h"
#include "gallery/merkle.h"

namespace heft {
namespace {

constexpr size_t kLongestName = 64;

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
}

absl::Status NotImported(const std::string& folder) {
  return absl::FailedPreconditionError(
      absl::StrCat("gallery ", folder,
                   ": made by version 0.1; bring it into a store with `heft-server gallery import "
                   "--from ",
                   folder, " --gallery FOLDER`"));
}

}  // namespace

absl::StatusOr<Address> ParseAddress(const std::string& text) {
  std::error_code ignored;
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::is_directory(text, ignored)) {
    return Address{text, std::string(kDefaultName)};
  }
  Address address = {text.substr(0, colon), text.substr(colon + 1)};
  if (address.folder.empty() || !IsName(address.name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no gallery can be called \"", address.name,
        "\": give FOLDER or FOLDER:NAME, a name being 1 to 64 of a-z, 0-9, '.', '_' and '-'"));
  }
  return address;
}

std::string FolderOf(const std::string& address) {
  const auto parsed = ParseAddress(address);
  return parsed.ok() ? parsed->folder : address;
}

Gallery::Impl Gallery::Impl::New(const std::string& address, const GalleryBinding& binding) {
  Impl gallery;
  const auto parsed = ParseAddress(address);
  gallery.address_ = parsed.ok() ? *parsed : Address{address, std::string(kDefaultName)};
  gallery.head_.binding = binding;
  gallery.head_.root = MerkleRoot(0, {});
  gallery.cache_ = std::make_shared<GalleryCache>();
  Csprng().Fill(gallery.head_.id);
  return gallery;
}

bool Gallery::Impl::Exists(const std::string& address) { return Open(address).ok(); }

absl::Status Gallery::Impl::CheckVacant(const std::string& address) {
  HEFT_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  std::error_code ignored;
  if (FileExists(parsed.folder) && !std::filesystem::is_directory(parsed.folder, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat(parsed.folder, " is a file: a gallery is a folder"));
  }
  if (IsLegacyGallery(parsed.folder)) return NotImported(parsed.folder);
  if (!StoreExists(parsed.folder) && FileExists(parsed.folder + "/server.key")) {
    return absl::DataLossError(
        absl::StrCat("gallery ", parsed.folder,
                     ": its server's key is there, and its store is not: put it back (`heft-server "
                     "gallery restore`), or choose another folder"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Gallery::Impl> Gallery::Impl::Open(const std::string& address) {
  HEFT_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  if (!StoreExists(parsed.folder)) {
    if (IsLegacyGallery(parsed.folder)) return NotImported(parsed.folder);
    return absl::NotFoundError(absl::StrCat("there is no gallery in ", parsed.folder,
                                            ": enrol somebody, or give the "
                                            "folder that holds store.mdb"));
  }
  HEFT_ASSIGN_OR_RETURN(std::shared_ptr<Store> store, OpenStore(parsed.folder, StoreMode::kRead));
  return Open(std::move(store), parsed);
}

absl::StatusOr<Gallery::Impl> Gallery::Impl::Open(std::shared_ptr<Store> store,
                                                  const Address& address) {
  Impl gallery;
  gallery.address_ = address;
  gallery.store_ = std::move(store);
  gallery.cache_ = std::make_shared<GalleryCache>();
  HEFT_RETURN_IF_ERROR(gallery.Load());
  return gallery;
}

absl::StatusOr<Gallery::Impl> Gallery::Impl::Newest() const {
  if (store_ == nullptr) return Open(address_.folder + ":" + address_.name);
  Impl gallery;
  gallery.address_ = address_;
  gallery.store_ = store_;
  // Another one may have taken its place, of a snapshot; generations of the two differ.
  if (StoreExists(address_.folder)) {
    HEFT_ASSIGN_OR_RETURN(gallery.store_, OpenStore(address_.folder, StoreMode::kRead));
  }
  gallery.cache_ = cache_;
  HEFT_RETURN_IF_ERROR(gallery.Load());
  return gallery;
}

Gallery::Impl Gallery::Impl::Unread() const {
  Impl gallery;
  gallery.address_ = address_;
  gallery.number_ = number_;
  gallery.store_ = store_;
  gallery.head_ = head_;
  gallery.cache_ = cache_;
  return gallery;
}

std::string Gallery::Impl::What() const {
  return absl::StrCat("gallery ", address_.folder,
                      address_.name == kDefaultName ? "" : absl::StrCat(":", address_.name));
}

absl::Status Gallery::Impl::Load() {
  HEFT_ASSIGN_OR_RETURN(std::unique_ptr<StoreReader> reader, store_->Read());
  reader_ = std::move(reader);
  HEFT_ASSIGN_OR_RETURN(const auto entry, reader_->Get(Table::kCatalog, AsBytes(address_.name)));
  if (!entry) return absl::NotFoundError(absl::StrCat("there is no ", What()));
  ByteReader number(*entry, What());
  number_ = number.U32();
  HEFT_RETURN_IF_ERROR(number.Finish());
  HEFT_ASSIGN_OR_RETURN(const auto head, reader_->Get(Table::kHead, HeadKey(number_)));
  if (!head) return absl::DataLossError(absl::StrCat(What(), ": its head is missing"));
  HEFT_ASSIGN_OR_RETURN(head_, ParseHead(*head, What()));
  absl::Status status;
  HEFT_RETURN_IF_ERROR(
      reader_->Scan(Table::kBlockInfo, InfoKey(number_, 0), [&](ByteSpan key, ByteSpan value) {
        if (key.size() != InfoKey(number_, 0).size() || !OfGallery(number_, key) || key[4] != 'i') {
          return false;
        }
        auto info = ParseBlockInfo(value, What());
        if (NumberOf(key) != infos_.size()) info = absl::DataLossError("a block is missing");
        status = info.status();
        if (status.ok()) infos_.push_back(*info);
        return status.ok();
      }));
  HEFT_RETURN_IF_ERROR(status);
  HEFT_RETURN_IF_ERROR(CheckBlockCount(head_.block_places));
  return LoadPending();
}

absl::Status Gallery::Impl::LoadPending() {
  absl::Status status;
  HEFT_RETURN_IF_ERROR(reader_->Scan(
      Table::kJournal, NumberKey(number_, head_.folded + 1), [&](ByteSpan key, ByteSpan value) {
        if (!OfGallery(number_, key)) return false;
        auto entry = ParseEntry(value, What());
        if (entry.ok() && entry->position >= head_.places) {
          entry = absl::DataLossError(absl::StrCat(What(), ": an entry for a place that is not"));
        }
        status = entry.status();
        if (status.ok()) pending_.push_back({NumberOf(key), *entry});
        return status.ok();
      }));
  return status;
}

absl::Status Gallery::Impl::CheckBlockCount(uint32_t block_places) const {
  const uint64_t needed = head_.places == 0 ? 0 : (head_.places + block_places - 1) / block_places;
  if (blocks() == needed && (head_.places == 0 || block_places == head_.block_places)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(What(), ": has ", head_.places, " places in ", blocks(),
                                          " blocks of ", head_.block_places));
}

absl::Status Gallery::Impl::CheckFits(const Instance& instance,
                                      const GalleryBinding& binding) const {
  HEFT_RETURN_IF_ERROR(CheckBinding(binding));
  return CheckBlockCount(2 * instance.params().slots());
}

absl::StatusOr<Run> ReadRun(const StoreReader& reader, uint32_t gallery, uint64_t run) {
  HEFT_ASSIGN_OR_RETURN(const auto bytes, reader.Get(Table::kRoster, RunKey(gallery, run)));
  if (!bytes) return Run{};
  return ParseRun(*bytes, absl::StrCat("run ", run, " of the roster"));
}

absl::StatusOr<std::shared_ptr<const Roster>> Gallery::Impl::ReadRoster() const {
  if (auto known = cache_->FindRoster(root())) return known;
  auto roster = std::make_shared<Roster>();
  const uint64_t per_block = head_.block_places / kRunPlaces;
  for (uint64_t first = 0; first < head_.places; first += kRunPlaces) {
    const uint64_t run = first / kRunPlaces;
    HEFT_ASSIGN_OR_RETURN(const auto digests,
                          reader_->Get(Table::kBlockInfo, RunDigestsKey(number_, run / per_block)));
    const size_t at = run % per_block * sizeof(Digest);
    if (!digests || digests->size() != per_block * sizeof(Digest)) {
      return absl::DataLossError(absl::StrCat(What(), ": digests of its roster are missing"));
    }
    Digest digest;
    std::copy_n(digests->data() + at, digest.size(), digest.begin());
    auto names = cache_->FindRun(run, digest);
    if (names == nullptr) {
      HEFT_ASSIGN_OR_RETURN(const Run residents, ReadRun(*reader_, number_, run));
      auto fresh = std::make_shared<RunNames>();
      for (size_t i = 0; i < kRunPlaces; ++i) {
        if (residents[i].state != PlaceState::kLive) continue;
        fresh->names[i] = residents[i].identity;
        if (residents[i].expires == kNoTime) continue;
        fresh->expires.resize(kRunPlaces, kNoTime);
        fresh->expires[i] = residents[i].expires;
      }
      names = std::move(fresh);
      cache_->SetRun(run, digest, names);
    }
    roster->runs.push_back(std::move(names));
  }
  cache_->SetRoster(root(), roster);
  return roster;
}

std::vector<std::string> Gallery::Impl::identities() const {
  std::vector<std::string> names;
  const auto roster = ReadRoster();
  if (!roster.ok()) return names;
  names.reserve(places());
  for (uint64_t i = 0; i < places(); ++i) names.push_back((*roster)->Name(i, 0));
  return names;
}

absl::StatusOr<std::optional<Restriction>> Gallery::Impl::Restricted(
    uint64_t time, std::span<const Condition> where) const {
  std::optional<Restriction> out;
  HEFT_ASSIGN_OR_RETURN(const std::shared_ptr<const Roster> roster, ReadRoster());
  PlaceSet answering = PlaceSet::None(places());
  for (uint64_t first = 0; first < places(); first += kRunPlaces) {
    Run run;
    if (!where.empty()) {
      HEFT_ASSIGN_OR_RETURN(run, ReadRun(*reader_, number_, first / kRunPlaces));
    }
    for (uint64_t i = first; i < std::min<uint64_t>(first + kRunPlaces, places()); ++i) {
      if (roster->Name(i, time).empty()) continue;
      if (where.empty() || Fits(run[i - first].metadata, where)) answering.Add(i);
    }
  }
  if (answering.count() == places()) return out;
  out.emplace(Restriction{std::move(answering), time, {where.begin(), where.end()}});
  return out;
}

absl::StatusOr<std::optional<Restriction>> Gallery::Impl::Intact(
    const Instance& instance, const ckks::EvaluationKeys& keys, uint64_t time,
    std::span<const Condition> where) const {
  HEFT_ASSIGN_OR_RETURN(auto restriction, Restricted(time, where));
  std::vector<absl::Status> found(blocks());
  ParallelFor(blocks(), [&](size_t block) {
    const uint64_t first = block * uint64_t{head_.block_places};
    const uint64_t end = first + head_.block_places;
    if (restriction && !restriction->answering.ContainsAny(first, end)) return;
    found[block] = Block(instance, block, keys).status();
  });
  size_t damaged = 0;
  for (size_t block = 0; block < blocks(); ++block) {
    if (found[block].ok()) continue;
    if (!absl::IsDataLoss(found[block])) return found[block];
    if (++damaged == blocks()) return found[block];
    cache_->SetDamaged(block, std::string(found[block].message()));
    if (!restriction) {
      restriction.emplace(Restriction{PlaceSet::All(places()), time, {where.begin(), where.end()}});
    }
    const uint64_t first = block * uint64_t{head_.block_places};
    for (uint64_t i = first; i < std::min(first + head_.block_places, head_.places); ++i) {
      restriction->answering.Remove(i);
    }
  }
  return restriction;
}

absl::StatusOr<NamedPlaces> Gallery::Impl::Find(const std::string& identity) const {
  if (reader_ == nullptr) return NamedPlaces{};
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader_->Get(Table::kNames, NameKey(number_, head_.id, identity)));
  if (!bytes) return NamedPlaces{};
  HEFT_ASSIGN_OR_RETURN(NamedPlaces named, ParseNamed(*bytes, What()));
  if (!named.places.empty() && named.places.back() >= head_.places) {
    return absl::DataLossError(
        absl::StrCat(What(), ": a name stands at a place that is not there"));
  }
  return named;
}

absl::StatusOr<Resident> Gallery::Impl::At(uint64_t position) const {
  HEFT_ASSIGN_OR_RETURN(Run run, ReadRun(*reader_, number_, position / kRunPlaces));
  return std::move(run[position % kRunPlaces]);
}

absl::StatusOr<std::optional<uint64_t>> Gallery::Impl::FindSample(
    const SampleDigest& sample) const {
  std::optional<uint64_t> place;
  if (reader_ == nullptr || sample == SampleDigest{}) return place;
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader_->Get(Table::kSamples, DigestKey(number_, sample)));
  if (!bytes) return place;
  ByteReader reader(*bytes, What());
  place = reader.U64();
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return place;
}

absl::StatusOr<ckks::Ciphertext> FusedOf(const Instance& instance, const JournalEntry& entry) {
  if (Digest(HashBytes(entry.fused)) != entry.contribution) {
    return absl::DataLossError("an entry of the gallery's journal is damaged");
  }
  ByteReader reader(entry.fused, "an entry of the gallery's journal");
  ckks::Ciphertext z = ckks::ReadCiphertext(reader, *instance.context);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return z;
}

namespace {

ByteSpan BytesOf(BlockView data) {
  return {reinterpret_cast<const uint8_t*>(data.data()), data.size_bytes()};
}

}  // namespace

absl::StatusOr<BlockView> Gallery::Impl::Checkpoint(const Instance& instance, size_t block) const {
  if (block >= blocks()) {
    return absl::InvalidArgumentError(absl::StrCat("the gallery has no block ", block));
  }
  const std::string what = absl::StrCat(What(), ", block ", block);
  const BlockInfo& info = infos_[block];
  if (info.checkpoint == Digest{}) return BlockView{};
  HEFT_ASSIGN_OR_RETURN(const auto bytes,
                        reader_->Get(Table::kBlocks, BlockKey(number_, head_.epoch, block)));
  if (!bytes) return absl::DataLossError(absl::StrCat(what, ": it is missing"));
  BlockView view;
  const size_t words = TiledSize(*instance.context, binding().gamma);
  HEFT_ASSIGN_OR_RETURN(const BlockHeader header, ParseBlock(*bytes, words, what, &view));
  if (header.block != block || header.hash != info.checkpoint ||
      header.generation != info.generation) {
    return absl::DataLossError(
        absl::StrCat(what, ": not the block that the gallery names: exchanged, or from before"));
  }
  if (cache_->Checked(block, info.checkpoint)) return view;
  if (FastChecksum(BytesOf(view)) != header.checksum) {
    return absl::DataLossError(absl::StrCat(
        what,
        ": damaged: its checksum is another. Bring it back from a snapshot (`heft-server "
        "gallery restore`)"));
  }
  HEFT_RETURN_IF_ERROR(CheckResidueRange(*instance.context, view, what));
  cache_->SetChecked(block, info.checkpoint);
  return view;
}

absl::StatusOr<PinnedBlock> Gallery::Impl::Block(const Instance& instance, size_t block,
                                                 const ckks::EvaluationKeys& keys) const {
  HEFT_ASSIGN_OR_RETURN(const BlockView checkpoint, Checkpoint(instance, block));
  const BlockInfo& info = infos_[block];
  if (info.pending == Digest{} && !checkpoint.empty()) return PinnedBlock{checkpoint, nullptr};
  if (auto sum = cache_->Sum(block, info.checkpoint, info.pending)) {
    return PinnedBlock{*sum, sum};
  }
  auto sum = std::make_shared<TiledCiphertexts>(
      checkpoint.empty() ? EmptyBlock(*instance.context, binding().gamma)
                         : TiledCiphertexts(checkpoint.begin(), checkpoint.end()));
  std::vector<const JournalEntry*> entries;
  for (const Pending& p : pending_) {
    if (p.entry.position / head_.block_places == block) entries.push_back(&p.entry);
  }
  HEFT_RETURN_IF_ERROR(AddEntries(instance, head_.block_places, entries, keys, sum.get()));
  cache_->SetSum(block, info.checkpoint, info.pending, sum);
  return PinnedBlock{*sum, sum};
}

absl::StatusOr<TiledCiphertexts> Gallery::Impl::ReadBlock(const Instance& instance,
                                                          size_t block) const {
  HEFT_ASSIGN_OR_RETURN(const BlockView view, Checkpoint(instance, block));
  if (infos_[block].pending != Digest{}) {
    return absl::FailedPreconditionError(
        absl::StrCat(What(), ", block ", block,
                     ": enrolments stand in its journal alone: fold them first (`heft-server "
                     "gallery compact`)"));
  }
  if (view.empty()) return EmptyBlock(*instance.context, binding().gamma);
  return TiledCiphertexts(view.begin(), view.end());
}

absl::Status AddEntries(const Instance& instance, uint32_t block_places,
                        std::span<const JournalEntry* const> entries,
                        const ckks::EvaluationKeys& keys, TiledCiphertexts* block, bool taken) {
  for (size_t first = 0; first < entries.size(); first += kTemplatesACall) {
    const auto call = entries.subspan(first, std::min(kTemplatesACall, entries.size() - first));
    std::vector<ckks::Ciphertext> fused;
    for (const JournalEntry* entry : call) {
      HEFT_ASSIGN_OR_RETURN(ckks::Ciphertext z, FusedOf(instance, *entry));
      fused.push_back(std::move(z));
    }
    std::vector<NewTemplate> added;
    for (size_t i = 0; i < call.size(); ++i) {
      const auto index = static_cast<uint32_t>(call[i]->position % block_places);
      added.push_back({&fused[i], PositionOf(index, block_places / 2)});
    }
    HEFT_RETURN_IF_ERROR(taken ? TakeFromBlock(instance, block, added, keys)
                               : AddToBlock(instance, block, added, keys));
  }
  return absl::OkStatus();
}

}  // namespace heft
