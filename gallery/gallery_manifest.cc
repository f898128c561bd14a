// SPDX-License-Identifier: Apache-2.0
// The manifest of a gallery, read and written.
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
// Still read: 1, without revoked keys and id; 2, without id; 3, without digests of samples; 4,
// without hashes of blocks and root; 5, without means, which is what a gallery without them writes.
constexpr uint32_t kManifestVersion = 6;
constexpr uint32_t kWithoutMeans = 5;
constexpr uint64_t kMaxTemplates = uint64_t{1} << 28;
constexpr uint64_t kMaxRevoked = 1 << 16;

Digest ReadDigest(ByteReader& reader) {
  const ByteSpan raw = reader.Raw(sizeof(Digest));
  return reader.ok() ? FileHash(raw) : Digest{};
}

// The id of a gallery that was started without one; it keeps it from its next change on.
GalleryId IdOfOld(const GalleryBinding& binding) {
  ByteWriter writer;
  writer.Raw(AsBytes("HEFT gallery without an id"));
  WriteBinding(writer, binding);
  const Hash hash = HashBytes(writer.bytes());
  GalleryId id;
  std::copy_n(hash.begin(), id.size(), id.begin());
  return id;
}

}  // namespace

std::string Gallery::Impl::ManifestPath(const std::string& directory) {
  return directory + "/manifest.heft";
}

absl::StatusOr<Gallery::Impl> Gallery::Impl::Open(std::string directory) {
  const std::string path = ManifestPath(directory);
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  const uint32_t declared = EnvelopeVersion(bytes);
  const uint32_t version =
      declared >= 1 && declared < kManifestVersion ? declared : kManifestVersion;
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kManifestKind, version, path));
  ByteReader reader(payload, path);
  Impl gallery;
  gallery.directory_ = std::move(directory);
  gallery.binding_ = ReadBinding(reader);
  gallery.generation_ = reader.U64();
  const uint64_t blocks = reader.Count(sizeof(uint64_t), kMaxTemplates);
  for (uint64_t b = 0; b < blocks; ++b) gallery.generations_.push_back(reader.U64());
  const uint64_t templates = reader.Count(sizeof(uint64_t), kMaxTemplates);
  for (uint64_t i = 0; i < templates && reader.ok(); ++i) {
    gallery.identities_.push_back(reader.String(256));
  }
  const uint64_t revoked = version == 1 ? 0 : reader.Count(sizeof(ckks::KeyId), kMaxRevoked);
  for (uint64_t i = 0; i < revoked; ++i) gallery.revoked_.push_back(ckks::ReadId(reader));
  gallery.id_ = version < 3 ? IdOfOld(gallery.binding_) : ckks::ReadId(reader);
  gallery.samples_.resize(gallery.identities_.size());
  for (SampleDigest& sample : gallery.samples_) {
    if (version >= 4) sample = ckks::ReadId(reader);
  }
  gallery.hashes_.resize(gallery.generations_.size());
  if (version >= 5) {
    for (Digest& hash : gallery.hashes_) hash = ReadDigest(reader);
    gallery.root_ = ReadDigest(reader);
  }
  if (version >= 6) {
    gallery.parts_.resize(reader.Count(sizeof(SampleDigest), kMaxTemplates));
    for (SampleDigest& part : gallery.parts_) part = ckks::ReadId(reader);
    if (gallery.parts_.empty()) reader.Fail("means are announced, and there are none");
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  for (size_t i = 0; i < gallery.identities_.size(); ++i) {
    HEFT_RETURN_IF_ERROR(CheckIdentityAt(gallery.identities_[i], path, i));
  }
  return gallery;
}

std::vector<uint8_t> Gallery::Impl::SerializeManifest() const {
  ByteWriter writer;
  WriteBinding(writer, binding_);
  writer.U64(generation_);
  writer.U64(generations_.size());
  for (uint64_t g : generations_) writer.U64(g);
  writer.U64(identities_.size());
  for (const std::string& identity : identities_) writer.String(identity);
  writer.U64(revoked_.size());
  for (const ckks::KeyId& key : revoked_) ckks::WriteId(writer, key);
  ckks::WriteId(writer, id_);
  for (const SampleDigest& sample : samples_) ckks::WriteId(writer, sample);
  for (const Digest& hash : hashes_) writer.Raw(hash);
  writer.Raw(root_);
  if (parts_.empty()) return SealEnvelope(kManifestKind, kWithoutMeans, writer.bytes());
  writer.U64(parts_.size());
  for (const SampleDigest& part : parts_) ckks::WriteId(writer, part);
  return SealEnvelope(kManifestKind, kManifestVersion, writer.bytes());
}

}  // namespace heft
