// SPDX-License-Identifier: Apache-2.0
#include "gallery/gallery_impl.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/csprng.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/identity.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"
#include "fusion/samples.h"
#include "gallery/merkle.h"
#include "ring/kernels.h"

namespace heft {
namespace {

constexpr std::string_view kBlockKind = "GBLK";
constexpr uint32_t kBlockVersion = 1;
constexpr uint64_t kMaxBlockSize = uint64_t{1} << 31;
// Block data starts here in its file, so that a mapped file is aligned for the kernels.
constexpr size_t kBlockDataOffset = 128;

// Takes digits from the front of `name`; false where there are none.
bool ConsumeDigits(absl::string_view* name) {
  const size_t digits = std::min(name->find_first_not_of("0123456789"), name->size());
  name->remove_prefix(digits);
  return digits > 0;
}

// "block-B-G.heft": nothing else in a gallery's folder is ever removed as a block.
bool IsBlockName(absl::string_view name) {
  return absl::ConsumePrefix(&name, "block-") && ConsumeDigits(&name) &&
         absl::ConsumePrefix(&name, "-") && ConsumeDigits(&name) && name == ".heft";
}

// What a writer that was killed leaves of a block, a manifest or the server's keys
// (WriteFileAtomic).
bool IsTemporaryName(absl::string_view name) {
  constexpr size_t kSuffix = 7;  // ".XXXXXX"
  if (name.size() <= kSuffix || name[name.size() - kSuffix] != '.') return false;
  name.remove_suffix(kSuffix);
  return IsBlockName(name) || name == "manifest.heft" || name == "stand-in.key" ||
         name == "server.key" || name == "server.pub" || name == "audit.key" ||
         name == "state.heft";
}

}  // namespace

Gallery::Impl Gallery::Impl::New(std::string directory, const GalleryBinding& binding) {
  Impl gallery;
  gallery.directory_ = std::move(directory);
  gallery.binding_ = binding;
  Csprng().Fill(gallery.id_);
  gallery.root_ = MerkleRoot(0, {});
  return gallery;
}

bool Gallery::Impl::Exists(const std::string& directory) {
  return FileExists(Gallery::Impl::ManifestPath(directory));
}

absl::Status Gallery::Impl::CheckVacant(const std::string& directory) {
  std::error_code ignored;
  if (FileExists(directory) && !std::filesystem::is_directory(directory, ignored)) {
    return absl::InvalidArgumentError(absl::StrCat(directory, " is a file: a gallery is a folder"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    if (IsBlockName(entry.path().filename().string())) {
      return absl::DataLossError(absl::StrCat("gallery ", directory,
                                              ": its manifest.heft is missing: put it back, or "
                                              "choose another folder"));
    }
  }
  return absl::OkStatus();
}

std::string Gallery::Impl::BlockPath(size_t block, uint64_t generation) const {
  return absl::StrCat(directory_, "/block-", block, "-", generation, ".heft");
}

absl::StatusOr<ByteSpan> Gallery::Impl::OpenBlock(ByteSpan file, size_t block,
                                                  const std::string& path) const {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(file, kBlockKind, kBlockVersion, path));
  ByteReader reader(payload, path);
  const GalleryBinding binding = ReadBinding(reader);
  HEFT_RETURN_IF_ERROR(reader.status());
  HEFT_RETURN_IF_ERROR(CheckBinding(binding));
  if (reader.U64() != block) reader.Fail("holds another block");
  if (hashes_[block] != Digest{} && hashes_[block] != FileHash(file)) {
    reader.Fail("not the file that the manifest names: exchanged, or put back from before");
  }
  const ByteSpan padding =
      reader.Raw(kBlockDataOffset - kEnvelopeHeaderSize - (payload.size() - reader.remaining()));
  if (std::any_of(padding.begin(), padding.end(), [](uint8_t byte) { return byte != 0; })) {
    reader.Fail("bytes that must be zero are not");
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  return payload.last(reader.remaining());
}

absl::Status Gallery::Impl::CheckBlockFiles() const {
  for (size_t block = 0; block < blocks(); ++block) {
    const std::string path = BlockPath(block, generations_[block]);
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxBlockSize));
    HEFT_RETURN_IF_ERROR(OpenBlock(bytes, block, path).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<TiledCiphertexts> Gallery::Impl::ReadBlock(const Instance& instance,
                                                          size_t block) const {
  if (block >= blocks()) {
    return absl::InvalidArgumentError(absl::StrCat("the gallery has no block ", block));
  }
  const std::string path = BlockPath(block, generations_[block]);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxBlockSize));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan residues, OpenBlock(bytes, block, path));
  const ckks::Context& context = *instance.context;
  // Before memory is taken: gamma comes from the same files.
  if (residues.size() != TiledSize(context, binding_.gamma) * sizeof(uint32_t)) {
    return absl::DataLossError(
        absl::StrCat(path, ": has another size than a block of this gallery"));
  }
  TiledCiphertexts data(TiledSize(context, binding_.gamma));
  ByteReader(residues, path).U32Array(data);
  const size_t limbs = MatchLimbs(context.params()), per_limb = data.size() / limbs;
  for (size_t l = 0; l < limbs; ++l) {
    const uint32_t* first = data.data() + l * per_limb;
    if (*std::max_element(first, first + per_limb) >= context.modulus(l).value()) {
      return absl::DataLossError(absl::StrCat(path, ": a residue is not below its prime"));
    }
  }
  return data;
}

absl::Status Gallery::Impl::WriteBlock(size_t block, uint64_t generation,
                                       const TiledCiphertexts& data) {
  ByteWriter writer;
  WriteBinding(writer, binding_);
  writer.U64(block);
  const std::vector<uint8_t> padding(kBlockDataOffset - kEnvelopeHeaderSize -
                                     writer.bytes().size());
  writer.Raw(padding);
  writer.U32Array(data);
  const std::vector<uint8_t> file = SealEnvelope(kBlockKind, kBlockVersion, writer.bytes());
  hashes_[block] = FileHash(file);
  return WriteFileAtomic(BlockPath(block, generation), file);
}

void Gallery::Impl::RemoveStaleFiles() const {
  std::set<std::string> current;
  for (size_t b = 0; b < blocks(); ++b) current.insert(BlockPath(b, generations_[b]));
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool stale_block = IsBlockName(name) && !current.contains(directory_ + "/" + name);
    if (stale_block || IsTemporaryName(name)) std::filesystem::remove(entry.path(), ignored);
  }
}

absl::Status Gallery::Impl::Enrol(const Instance& instance, std::span<const Enrolment> templates,
                                  const ckks::EvaluationKeys& keys) {
  HEFT_RETURN_IF_ERROR(CheckKeyId(binding_.key_id, keys.key_id, "evaluation keys"));
  std::vector<std::string> identities;
  std::vector<SampleDigest> samples, parts;
  for (const Enrolment& t : templates) {
    identities.push_back(t.identity);
    samples.push_back(t.sample);
    parts.insert(parts.end(), t.parts.begin(), t.parts.end());
  }
  const uint32_t slots = instance.params().slots();
  return Commit(instance, identities, samples, parts,
                [&](TiledCiphertexts* block, uint32_t first, size_t done, size_t count) {
                  std::vector<NewTemplate> added;
                  for (size_t i = 0; i < count; ++i) {
                    const uint32_t index = first + static_cast<uint32_t>(i);
                    added.push_back({&templates[done + i].z, PositionOf(index, slots)});
                  }
                  return AddToBlock(instance, block, added, keys);
                });
}

absl::Status Gallery::Impl::EnrolBatch(const Rings& rings, std::span<const std::string> identities,
                                       TemplateBatch batch, const RingKeys& keys,
                                       std::span<const SampleDigest> samples) {
  HEFT_RETURN_IF_ERROR(CheckKeyId(binding_.key_id, keys.matching.key_id, "evaluation keys"));
  if (identities.size() != batch.count || samples.size() != identities.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(identities.size(), " identities for a batch of ", batch.count));
  }
  const Instance& instance = rings.matching;
  const uint32_t slots = instance.params().slots();
  const uint32_t batch_slots = rings.enrolment.params().slots();
  const auto first_slot = static_cast<uint32_t>(size() % slots);
  HEFT_RETURN_IF_ERROR(MoveBatch(rings.enrolment, &batch, first_slot,
                                 rings.thin() ? keys.enrolment : keys.matching));
  HEFT_RETURN_IF_ERROR(SplitBatch(rings, keys.ring_switch, &batch));
  return Commit(
      instance, identities, samples, {},
      [&](TiledCiphertexts* block, uint32_t first, size_t done, size_t count) -> absl::Status {
        // A batch may go over into the next lane.
        const auto end = static_cast<uint32_t>(first + count);
        while (first < end) {
          const Position at = PositionOf(first, slots);
          const uint32_t in_lane = std::min(end - first, slots - at.slot);
          const auto slot = static_cast<uint32_t>((first_slot + done) % batch_slots);
          HEFT_RETURN_IF_ERROR(AddBatchToBlock(instance, block, batch, slot, in_lane, at.lane));
          first += in_lane;
          done += in_lane;
        }
        return absl::OkStatus();
      });
}

absl::Status Gallery::Impl::Commit(const Instance& instance,
                                   std::span<const std::string> identities,
                                   std::span<const SampleDigest> samples,
                                   std::span<const SampleDigest> parts, const FillFunction& fill) {
  if (identities.empty()) return absl::InvalidArgumentError("no templates to enrol");
  for (const std::string& identity : identities) HEFT_RETURN_IF_ERROR(CheckIdentity(identity));
  const bool fresh = !FileExists(directory_);
  HEFT_RETURN_IF_ERROR(MakeDirectories(directory_));
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, TakeLock());
  const bool first = !Exists(directory_);
  HEFT_RETURN_IF_ERROR(first ? CheckVacant(directory_) : CheckCurrent());
  Impl next = *this;
  ++next.generation_;
  next.parts_.insert(next.parts_.end(), parts.begin(), parts.end());
  const size_t per_block = 2 * size_t{instance.params().slots()};
  HEFT_RETURN_IF_ERROR(CheckBlockCount(instance));
  HEFT_RETURN_IF_ERROR(next.ReadHashes());
  const absl::Status status = Replace(std::move(next), [&](Impl* changed) -> absl::Status {
    // With an empty manifest from the start, a crash leaves an empty gallery, and blocks without a
    // manifest are always a manifest lost.
    if (first) {
      HEFT_RETURN_IF_ERROR(WriteManifest());
    }
    for (size_t done = 0; done < identities.size();) {
      const size_t position = changed->identities_.size();
      const size_t block = position / per_block;
      const size_t count = std::min(identities.size() - done, per_block - position % per_block);
      TiledCiphertexts data;
      if (block < blocks()) {
        HEFT_ASSIGN_OR_RETURN(data, ReadBlock(instance, block));
      } else {
        data = EmptyBlock(*instance.context, binding_.gamma);
        changed->generations_.push_back(0);
        changed->hashes_.emplace_back();
      }
      const auto added = identities.subspan(done, count);
      changed->identities_.insert(changed->identities_.end(), added.begin(), added.end());
      const auto of = samples.subspan(done, count);
      changed->samples_.insert(changed->samples_.end(), of.begin(), of.end());
      HEFT_RETURN_IF_ERROR(fill(&data, static_cast<uint32_t>(position % per_block), done, count));
      changed->generations_[block] = changed->generation_;
      HEFT_RETURN_IF_ERROR(changed->WriteBlock(block, changed->generation_, data));
      done += count;
    }
    changed->root_ = changed->ComputeRoot(instance);
    return absl::OkStatus();
  });
  if (!status.ok() && first) {  // the empty manifest goes again, if it is still that
    const auto current = Open(directory_);
    if (current.ok() ? current->generation_ > 0 : !absl::IsNotFound(current.status()))
      return status;
    std::error_code ignored;
    std::filesystem::remove(ManifestPath(directory_), ignored);
    if (fresh) std::filesystem::remove_all(directory_, ignored);
  }
  return status;
}

absl::StatusOr<FileLock> Gallery::Impl::TakeLock() const {
  return FileLock::Take(
      directory_ + "/lock", 0644,
      absl::StrCat("the gallery ", directory_, " is being changed by another process"));
}

absl::Status Gallery::Impl::WriteManifest() const {
  return WriteFileAtomic(ManifestPath(directory_), SerializeManifest());
}

absl::Status Gallery::Impl::CheckCurrent() const {
  HEFT_ASSIGN_OR_RETURN(const Impl current, Open(directory_));
  if (current.generation_ == generation_) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the gallery ", directory_, " has changed meanwhile: try again"));
}

absl::Status Gallery::Impl::Replace(Impl next, const std::function<absl::Status(Impl*)>& write) {
  absl::Status status = write(&next);
  if (status.ok()) status = WriteFileAtomic(ManifestPath(directory_), next.SerializeManifest());
  if (!status.ok() && Exists(directory_)) {
    // The manifest may have been replaced and only its flush have failed: then the change has
    // happened, and nothing must be removed. The same where it cannot be read.
    const auto current = Open(directory_);
    if (!current.ok()) return status;
    if (current->generation_ == next.generation_) {
      *this = std::move(next);
      return absl::UnavailableError(absl::StrCat(
          "the gallery ", directory_,
          " has changed, but the disk did not confirm it: ", std::string(status.message())));
    }
  }
  if (status.ok()) *this = std::move(next);
  RemoveStaleFiles();  // what was replaced, or what this attempt wrote
  return status;
}

}  // namespace heft
