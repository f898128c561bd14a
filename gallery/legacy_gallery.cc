// SPDX-License-Identifier: Apache-2.0
#include "gallery/legacy_gallery.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/identity.h"
#include "ckks/serialization.h"
#include "gallery/gallery_impl.h"
#include "gallery/merkle.h"

namespace heft {
namespace {

constexpr std::string_view kManifestKind = "GALM";
// 1, without revoked keys and id; 2, without id; 3, without digests of samples; 4, without hashes
// of blocks and root; 5, without means.
constexpr uint32_t kManifestVersion = 6;
constexpr std::string_view kBlockKind = "GBLK";
constexpr uint32_t kBlockVersion = 1;
constexpr uint64_t kMaxLegacyTemplates = uint64_t{1} << 28;
constexpr uint64_t kMaxRevoked = 1 << 16;
// kMaxManifestSize: about ten million names, which are in memory.
constexpr uint64_t kMaxManifestSize = uint64_t{1} << 30;
constexpr size_t kBlockDataOffset = 128;

std::string ManifestPath(const std::string& folder) { return folder + "/manifest.heft"; }

// The id of a gallery that was started before galleries had ids.
GalleryId IdOfOld(const GalleryBinding& binding) {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT gallery without an id"));
  WriteBinding(writer, binding);
  return Shortened(HashBytes(writer.bytes()));
}

// The hash at the end of a file of ours covers all of it.
Digest FileHash(ByteSpan file) {
  Digest hash{};
  if (file.size() >= hash.size()) std::ranges::copy(file.last(hash.size()), hash.begin());
  return hash;
}

void ReadLists(ByteReader& reader, uint32_t version, LegacyGallery* gallery) {
  const uint64_t blocks = reader.Count(sizeof(uint64_t), kMaxLegacyTemplates);
  for (uint64_t b = 0; b < blocks; ++b) gallery->generations.push_back(reader.U64());
  const uint64_t templates = reader.Count(sizeof(uint64_t), kMaxLegacyTemplates);
  for (uint64_t i = 0; i < templates && reader.ok(); ++i) {
    gallery->identities.push_back(reader.String(256));
  }
  const uint64_t revoked = version == 1 ? 0 : reader.Count(sizeof(ckks::KeyId), kMaxRevoked);
  for (uint64_t i = 0; i < revoked; ++i) gallery->revoked.push_back(ckks::ReadId(reader));
  gallery->id = version < 3 ? IdOfOld(gallery->binding) : ckks::ReadId(reader);
  gallery->samples.resize(gallery->identities.size());
  for (SampleDigest& sample : gallery->samples) {
    if (version >= 4) sample = ckks::ReadId(reader);
  }
  gallery->hashes.resize(gallery->generations.size());
  if (version >= 5) {
    for (Digest& hash : gallery->hashes) hash = ReadDigest(reader);
    gallery->root = ReadDigest(reader);
  }
  if (version < 6) return;
  gallery->parts.resize(reader.Count(sizeof(SampleDigest), kMaxLegacyTemplates));
  for (SampleDigest& part : gallery->parts) part = ckks::ReadId(reader);
  if (gallery->parts.empty()) reader.Fail("means are announced, and there are none");
}

}  // namespace

bool IsLegacyGallery(const std::string& folder) {
  if (FileExists(ManifestPath(folder))) return true;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("block-") && name.ends_with(".heft")) return true;
  }
  return false;
}

absl::StatusOr<LegacyGallery> LegacyGallery::Read(const std::string& folder) {
  const std::string path = ManifestPath(folder);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxManifestSize));
  const uint32_t declared = EnvelopeVersion(bytes);
  const uint32_t version =
      declared >= 1 && declared < kManifestVersion ? declared : kManifestVersion;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kManifestKind, version, path));
  ByteReader reader(payload, path);
  LegacyGallery gallery;
  gallery.folder = folder;
  gallery.binding = ReadBinding(reader);
  gallery.generation = reader.U64();
  ReadLists(reader, version, &gallery);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  for (size_t i = 0; i < gallery.identities.size(); ++i) {
    HEFT_RETURN_IF_ERROR(CheckIdentityAt(gallery.identities[i], path, i));
  }
  return gallery;
}

absl::Status LegacyGallery::CheckRoot(const Instance& instance) const {
  const uint64_t per_block = 2 * uint64_t{instance.params().slots()};
  if (generations.size() != (identities.size() + per_block - 1) / per_block) {
    return absl::DataLossError(absl::StrCat("gallery ", folder, ": its manifest has ",
                                            identities.size(), " templates in ", generations.size(),
                                            " blocks of ", per_block));
  }
  if (!root) return absl::OkStatus();
  const Digest of_all = MerkleRoot(identities.size(), [&](uint64_t position) {
    const uint64_t block = position / per_block;
    ByteWriter leaf;
    leaf.U64(position);
    leaf.String(identities[position]);
    leaf.Raw(hashes[block]);
    leaf.U64(generations[block]);
    return LeafHash(leaf.bytes());
  });
  if (of_all == *root) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("gallery ", folder, ": the root of its names and blocks is not the manifest's"));
}

absl::StatusOr<TiledCiphertexts> LegacyGallery::ReadBlock(const Instance& instance,
                                                          size_t block) const {
  const std::string path = absl::StrCat(folder, "/block-", block, "-", generations[block], ".heft");
  const size_t words = TiledSize(*instance.context, binding.gamma);
  const uint64_t size = kBlockDataOffset + words * sizeof(uint32_t) + sizeof(Digest);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, size));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kBlockKind, kBlockVersion, path));
  ByteReader reader(payload, path);
  const GalleryBinding of = ReadBinding(reader);
  if (reader.ok() && !(of == binding)) reader.Fail("is of another gallery");
  if (reader.U64() != block) reader.Fail("holds another block");
  if (hashes[block] != Digest{} && hashes[block] != FileHash(bytes)) {
    reader.Fail(
        "is not the file that the manifest names: it was exchanged, or is from an earlier state");
  }
  const ByteSpan padding =
      reader.Raw(kBlockDataOffset - kEnvelopeHeaderSize - (payload.size() - reader.remaining()));
  if (std::ranges::any_of(padding, [](uint8_t byte) { return byte != 0; })) {
    reader.Fail("bytes that must be zero are not");
  }
  if (reader.ok() && reader.remaining() != words * sizeof(uint32_t)) {
    reader.Fail("has another size than a block of this gallery");
  }
  HEFT_RETURN_IF_ERROR(reader.status());
  TiledCiphertexts data(words);
  reader.U32Array(data);
  HEFT_RETURN_IF_ERROR(CheckResidueRange(*instance.context, data, path));
  return data;
}

absl::StatusOr<std::vector<std::string>> LegacyGallery::QuarantinedFiles() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/quarantine", error)) {
    // A killed writer's leftover has another ending.
    if (entry.path().extension() == ".heft") paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  if (!error || error == std::errc::no_such_file_or_directory) return paths;
  return absl::UnavailableError(
      absl::StrCat("cannot read ", folder, "/quarantine: ", error.message()));
}

}  // namespace heft
