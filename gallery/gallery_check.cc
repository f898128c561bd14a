// SPDX-License-Identifier: Apache-2.0
// Checks a gallery for consistency: every block, every name.
#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checksum.h"
#include "base/threads.h"
#include "gallery/gallery_impl.h"
#include "gallery/merkle.h"

namespace heft {
namespace {

constexpr size_t kMaxComplaints = 100;

using Finding = Gallery::Impl::Finding;

void Complain(Finding* finding, std::string what) {
  if (finding->complaints.size() < kMaxComplaints) finding->complaints.push_back(std::move(what));
}

// The contents of a block's runs.
struct BlockRoster {
  uint32_t live = 0, leaving = 0;
  Digest digest{};
};

// IndexEntry: an entry that an index must have by the roster: its key without the gallery, and a
// position.
struct IndexEntry {
  std::array<uint8_t, 16> key{};
  uint64_t position = 0;
  auto operator<=>(const IndexEntry&) const = default;
};
// kEntriesAWalk: the number of entries that are sorted in memory (100 MB) per walk through the
// indices.
constexpr size_t kEntriesAWalk = size_t{1} << 22;

// Found: the findings about some blocks.
struct Found {
  Finding finding;
  uint64_t live = 0, leaving = 0;
  std::vector<IndexEntry> names, samples;
};

void Append(Found&& from, Found* to) {
  to->finding.damaged.insert(to->finding.damaged.end(), from.finding.damaged.begin(),
                             from.finding.damaged.end());
  for (std::string& what : from.finding.complaints) Complain(&to->finding, std::move(what));
  to->live += from.live;
  to->leaving += from.leaving;
  to->names.insert(to->names.end(), from.names.begin(), from.names.end());
  to->samples.insert(to->samples.end(), from.samples.begin(), from.samples.end());
}

class Checker {
 public:
  Checker(const Gallery::Impl& gallery, Found* found)
      : gallery_(gallery), finding_(&found->finding), found_(found) {}

  absl::Status CheckBlock(const Instance* instance, size_t block) {
    const BlockInfo& info = gallery_.infos()[block];
    const std::string what = absl::StrCat("block ", block);
    const absl::Status residues = CheckResidues(instance, block, what);
    if (absl::IsUnavailable(residues)) return residues;
    if (!residues.ok()) {
      finding_->damaged.push_back(block);
      Complain(finding_, std::string(residues.message()));
    }
    HEFT_ASSIGN_OR_RETURN(const BlockRoster roster, CheckRuns(block));
    if (roster.live != info.live || roster.leaving != info.leaving) {
      Complain(finding_,
               absl::StrCat(what, ": ", roster.live, " templates are in it and ", roster.leaving,
                            " leave it, but its record says ", info.live, " and ", info.leaving));
    }
    if (roster.digest != info.roster) {
      Complain(finding_, absl::StrCat(what, ": its roster does not match its root"));
    }
    if (BlockLeaf(block, info.checkpoint, info.pending, info.roster) != info.leaf) {
      Complain(finding_, absl::StrCat(what, ": its digest is wrong"));
    }
    found_->live += roster.live;
    found_->leaving += roster.leaving;
    return absl::OkStatus();
  }

  // CheckIndices: checks the entries found so far.
  absl::Status CheckIndices() {
    HEFT_RETURN_IF_ERROR(WalkIndex(
        Table::kNames, &found_->names,
        [](ByteSpan value, uint64_t position) -> absl::StatusOr<bool> {
          HEFT_ASSIGN_OR_RETURN(const NamedPlaces named, ParseNamed(value, "the index of names"));
          return std::ranges::binary_search(named.places, position);
        },
        "the index of names does not list it"));
    return WalkIndex(
        Table::kSamples, &found_->samples,
        [](ByteSpan value, uint64_t position) -> absl::StatusOr<bool> {
          ByteReader reader(value, "the index of samples");
          const uint64_t place = reader.U64();
          HEFT_RETURN_IF_ERROR(reader.Finish());
          return place == position;
        },
        "the index of samples does not list its samples");
  }

  void CheckTotals() {
    const GalleryHead& head = gallery_.head();
    if (found_->live != head.live || found_->leaving != head.leaving) {
      Complain(finding_,
               absl::StrCat("the roster has ", found_->live, " templates and ", found_->leaving,
                            " that leave, but the head says ", head.live, " and ", head.leaving));
    }
    const auto& infos = gallery_.infos();
    if (MerkleRoot(infos.size(), [&](uint64_t b) { return infos[b].leaf; }) != head.root) {
      Complain(finding_, "the root does not match the blocks");
    }
  }

 private:
  absl::Status CheckResidues(const Instance* instance, size_t block, const std::string& what) {
    const BlockInfo& info = gallery_.infos()[block];
    if (info.checkpoint == Digest{}) return absl::OkStatus();
    const GalleryHead& head = gallery_.head();
    HEFT_ASSIGN_OR_RETURN(
        const auto bytes,
        gallery_.reader().Get(Table::kBlocks, BlockKey(gallery_.number(), head.epoch, block)));
    if (!bytes) return absl::DataLossError(absl::StrCat(what, ": it is missing"));
    const size_t words = instance != nullptr
                             ? TiledSize(*instance->context, head.binding.gamma)
                             : (bytes->size() - std::min(bytes->size(), kBlockHeader)) / 4;
    BlockView view;
    HEFT_ASSIGN_OR_RETURN(const BlockHeader header, ParseBlock(*bytes, words, what, &view));
    if (header.block != block || header.hash != info.checkpoint ||
        header.generation != info.generation || header.gamma != head.binding.gamma) {
      return absl::DataLossError(
          absl::StrCat(what, ": not the one that the gallery names: exchanged, or from before"));
    }
    if (ResiduesHash(view) != header.hash ||
        FastChecksum({reinterpret_cast<const uint8_t*>(view.data()), view.size_bytes()}) !=
            header.checksum) {
      return absl::DataLossError(absl::StrCat(what, ": damaged: its hash is wrong"));
    }
    if (instance == nullptr) return absl::OkStatus();
    return CheckResidueRange(*instance->context, view, what);
  }

  absl::StatusOr<BlockRoster> CheckRuns(size_t block) {
    BlockRoster out;
    const uint64_t runs = gallery_.head().block_places / kRunPlaces;
    std::vector<uint8_t> digests;
    for (uint64_t r = 0; r < runs; ++r) {
      const uint64_t number = block * runs + r;
      HEFT_ASSIGN_OR_RETURN(
          const auto bytes,
          gallery_.reader().Get(Table::kRoster, RunKey(gallery_.number(), number)));
      const Digest digest = bytes ? RunDigest(*bytes) : Digest{};
      digests.insert(digests.end(), digest.begin(), digest.end());
      if (!bytes) continue;
      const auto run = ParseRun(*bytes, absl::StrCat("run ", number, " of the roster"));
      if (!run.ok()) {
        Complain(finding_, std::string(run.status().message()));
        continue;
      }
      for (size_t i = 0; i < kRunPlaces; ++i) {
        CheckResident(number * kRunPlaces + i, (*run)[i], &out);
      }
    }
    out.digest = HashBytes(digests);
    return out;
  }

  void CheckResident(uint64_t position, const Resident& resident, BlockRoster* roster) {
    if (resident.state == PlaceState::kLeaving) ++roster->leaving;
    if (resident.state != PlaceState::kLive) return;
    ++roster->live;
    found_->names.push_back({HashName(gallery_.id(), resident.identity), position});
    if (resident.sample != SampleDigest{}) {
      found_->samples.push_back({resident.sample, position});
    }
  }

  // WalkIndex: one walk through an index for all its expected entries, in its order; single
  // look-ups would read all over the file. `has`: whether a value contains a position.
  absl::Status WalkIndex(Table table, std::vector<IndexEntry>* wanted,
                         const std::function<absl::StatusOr<bool>(ByteSpan, uint64_t)>& has,
                         std::string_view lacks) {
    std::ranges::sort(*wanted);
    auto next = wanted->begin();
    absl::Status status;
    HEFT_RETURN_IF_ERROR(gallery_.reader().Scan(
        table, HeadKey(gallery_.number()), [&](ByteSpan key, ByteSpan value) {
          IndexEntry at;
          if (!OfGallery(gallery_.number(), key) || key.size() < at.key.size()) return false;
          std::ranges::copy(key.last(at.key.size()), at.key.begin());
          for (; next != wanted->end() && next->key < at.key; ++next) Lacks(*next, lacks);
          for (; next != wanted->end() && next->key == at.key; ++next) {
            const auto there = has(value, next->position);
            status = there.status();
            if (!status.ok()) return false;
            if (!*there) Lacks(*next, lacks);
          }
          return next != wanted->end();
        }));
    HEFT_RETURN_IF_ERROR(status);
    for (; next != wanted->end(); ++next) Lacks(*next, lacks);
    wanted->clear();
    return absl::OkStatus();
  }

  void Lacks(const IndexEntry& entry, std::string_view what) {
    if (finding_->complaints.size() >= kMaxComplaints) return;
    const auto resident = gallery_.At(entry.position);
    Complain(finding_,
             absl::StrCat("\"", resident.ok() ? resident->identity : "", "\" is at position ",
                          entry.position, ", but ", std::string(what)));
  }

  const Gallery::Impl& gallery_;
  Finding* const finding_;
  Found* const found_;
};

}  // namespace

absl::Status CheckResidueRange(const ckks::Context& context, BlockView data,
                               std::string_view what) {
  const size_t limbs = MatchLimbs(context.params()), per_limb = data.size() / limbs;
  for (size_t l = 0; l < limbs; ++l) {
    const uint32_t* first = data.data() + l * per_limb;
    if (*std::max_element(first, first + per_limb) >= context.modulus(l).value()) {
      return absl::DataLossError(
          absl::StrCat(std::string(what), ": a residue is not below its prime"));
    }
  }
  return absl::OkStatus();
}

// Entries of the journal that are in no checkpoint.
absl::Status Gallery::Impl::VerifyPending(Finding* finding) const {
  std::map<size_t, Digest> chains;
  std::set<size_t> suspect;
  for (const Pending& p : pending_) {
    const size_t block = p.entry.position / head_.block_places;
    chains[block] = Chained(chains[block], p.entry.position, p.entry.contribution);
    if (Digest(HashBytes(p.entry.fused)) != p.entry.contribution) suspect.insert(block);
  }
  for (size_t block = 0; block < blocks(); ++block) {
    if (infos_[block].pending != chains[block]) suspect.insert(block);
  }
  for (const size_t block : suspect) {
    std::vector<LostEntry> lost;
    HEFT_RETURN_IF_ERROR(IntactEntries(block, &lost).status());
    for (const LostEntry& entry : lost) {
      Complain(finding, absl::StrCat("the template of \"", entry.identity, "\" at position ",
                                     entry.position, " is lost, because entry ", entry.number,
                                     " of the journal is damaged or missing: remove this person "
                                     "and enrol again, or restore the gallery from a snapshot"));
    }
    if (lost.empty()) {
      Complain(finding, absl::StrCat("block ", block, ": its journal entries have changed"));
    }
  }
  return absl::OkStatus();
}

// All other records, which only changes read.
absl::Status Gallery::Impl::VerifyRecords(Finding* finding) const {
  if (reader_ == nullptr) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const std::vector<Damage> damage, FindDamage(reader_->raw(), number_));
  std::vector<StoreKey> named;
  for (const Damage& one : damage) {
    if (one.table == Table::kPendingFile) named.push_back(one.key);
    Complain(finding, Describe(one));
  }
  HEFT_ASSIGN_OR_RETURN(const auto pending, PendingEnrolments());
  for (const PendingEntry& entry : pending) {
    const StoreKey key = DigestKey(number_, entry.digest);
    if (std::ranges::find(named, key) != named.end() || PendingFile(entry.digest).ok()) continue;
    Complain(finding, Describe({Table::kPendingFile, key, false}));
  }
  return absl::OkStatus();
}

absl::StatusOr<Gallery::Impl::Finding> Gallery::Impl::Verify(
    const Instance* instance, const std::function<bool(size_t, size_t)>& progress) const {
  // Several blocks at a time, in parallel.
  const size_t wave = 2 * static_cast<size_t>(std::max(1, ThreadCount()));
  Found all;
  for (size_t first = 0; first < blocks(); first += wave) {
    if (progress && !progress(first, blocks())) return absl::CancelledError("interrupted");
    std::vector<Found> found(std::min(wave, blocks() - first));
    HEFT_RETURN_IF_ERROR(TryParallelFor(found.size(), [&](size_t i) {
      return Checker(*this, &found[i]).CheckBlock(instance, first + i);
    }));
    for (Found& of_block : found) Append(std::move(of_block), &all);
    const bool last = first + wave >= blocks();
    if (last || all.names.size() >= kEntriesAWalk) {
      HEFT_RETURN_IF_ERROR(Checker(*this, &all).CheckIndices());
    }
  }
  Checker(*this, &all).CheckTotals();
  HEFT_RETURN_IF_ERROR(VerifyPending(&all.finding));
  HEFT_RETURN_IF_ERROR(VerifyRecords(&all.finding));
  Finding& finding = all.finding;
  if (progress && !progress(blocks(), blocks())) return absl::CancelledError("interrupted");
  return finding;
}

absl::Status Gallery::Impl::CheckIntact(const Instance* instance) const {
  if (cache_->Intact(root())) return absl::OkStatus();
  HEFT_ASSIGN_OR_RETURN(const Finding finding, Verify(instance));
  if (finding.intact()) {
    if (instance != nullptr) cache_->SetIntact(root());
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(What(), ": ", finding.complaints.front()));
}

}  // namespace heft
