// SPDX-License-Identifier: Apache-2.0
// Gallery::Impl: the folder of a gallery. A manifest (kind GALM) names the identities
// and the block files (kind GBLK); replacing the manifest is what commits a change, so a crash or a
// full disk leaves the gallery as it was. One writer at a time (a lock file), any number of
// readers; a reader whose block a later commit replaced gets kNotFound and opens the gallery again.
#ifndef HEFT_GALLERY_GALLERY_IMPL_H_
#define HEFT_GALLERY_GALLERY_IMPL_H_

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "fusion/bulk.h"
#include "fusion/matching.h"
#include "fusion/plan.h"
#include "fusion/rekey.h"
#include "heft/gallery.h"
#include "heft/model.h"

namespace heft {

// What all templates of a gallery have in common.
struct GalleryBinding {
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  ModelId model_id{};
  uint32_t gamma = 0;
  bool operator==(const GalleryBinding&) const = default;
};
void WriteBinding(ByteWriter& writer, const GalleryBinding& binding);
GalleryBinding ReadBinding(ByteReader& reader);

// BindingOf: of templates that `model` fuses under a key; `instance` is the matching ring's.
GalleryBinding BindingOf(const Instance& instance, const Model& model, const KeyId& key_id);

// SampleDigest: of the encrypted samples that a template was made of, by which they are recognised
// when they are sent again: the first 16 bytes of a BLAKE2b-256. Zeros: unknown, of galleries of
// 0.1.
using SampleDigest = std::array<uint8_t, 16>;

// A fused template with the identity that it is enrolled for.
struct Enrolment {
  std::string identity;
  ckks::Ciphertext z;  // TemplateLimbs limbs
  SampleDigest sample{};
  std::vector<SampleDigest> parts{};  // of a mean: of each sample in it
};

class Gallery::Impl {
 public:
  // An empty gallery in memory, with an id of its own; the folder comes into being with the first
  // commit.
  static Impl New(std::string directory, const GalleryBinding& binding);
  // kNotFound if there is none, kDataLoss if it is damaged.
  static absl::StatusOr<Impl> Open(std::string directory);
  static bool Exists(const std::string& directory);
  // Whether a gallery may be started in `directory`: kDataLoss where there are blocks whose
  // manifest is gone, which a new gallery would remove; kInvalidArgument for a file.
  static absl::Status CheckVacant(const std::string& directory);

  const std::string& directory() const { return directory_; }
  const GalleryBinding& binding() const { return binding_; }
  // Identity of each template, by position; a position is block * 2 slots + lane * slots + slot.
  const std::vector<std::string>& identities() const { return identities_; }
  // Of the samples of each template, by position.
  const std::vector<SampleDigest>& samples() const { return samples_; }
  // Of the samples that stand in means, each by itself, in no order.
  const std::vector<SampleDigest>& parts() const { return parts_; }
  size_t size() const { return identities_.size(); }
  size_t blocks() const { return generations_.size(); }
  uint64_t generation() const { return generation_; }
  const GalleryId& id() const { return id_; }
  // What is signed of this generation (gallery/merkle.h), as the manifest says; zeros: unknown, of
  // a gallery that has not changed since version 4 of it.
  const Digest& root() const { return root_; }
  // The root that names and blocks' hashes have.
  Digest ComputeRoot(const Instance& instance) const;

  // kFailedPrecondition, saying what differs, unless `binding` is this gallery's.
  absl::Status CheckBinding(const GalleryBinding& binding) const;

  // CheckBinding; and kDataLoss unless the blocks are as many as the templates need.
  absl::Status CheckFits(const Instance& instance, const GalleryBinding& binding) const;

  // kDataLoss or kNotFound unless every block's file is there, intact, of this gallery and the one
  // that the manifest names.
  absl::Status CheckBlockFiles() const;

  // One block's ciphertexts, checked: hash, binding, every residue below its prime.
  absl::StatusOr<TiledCiphertexts> ReadBlock(const Instance& instance, size_t block) const;

  // Keys that templates were once under, oldest first: no longer accepted.
  const std::vector<KeyId>& revoked_keys() const { return revoked_; }

  // Adds templates and commits: all or none. kUnavailable if another writer holds the lock or the
  // disk refuses; the gallery on disk and this object are then as before.
  absl::Status Enrol(const Instance& instance, std::span<const Enrolment> templates,
                     const ckks::EvaluationKeys& keys);
  // The same for a batch in bulk, identities[i] and samples[i] being sample i's.
  absl::Status EnrolBatch(const Rings& rings, std::span<const std::string> identities,
                          TemplateBatch batch, const RingKeys& keys,
                          std::span<const SampleDigest> samples);

  // Quarantine: keeps an enrolment's file apart, if `check`, under the lock, says so; the gallery
  // is started if there is none. Durable when it returns.
  absl::Status Quarantine(ByteSpan enrolment, const std::function<absl::Status()>& check);
  // QuarantinedFiles: their paths.
  absl::StatusOr<std::vector<std::string>> QuarantinedFiles() const;
  // Release: removes the files of these digests.
  absl::Status Release(std::span<const Hash> decided) const;

  // Moves all templates to another key, without decrypting them, and commits: all or none, as
  // Enrol, block by block, so that one is held at a time. The old key is revoked: nothing under it
  // is accepted again, and the gallery never returns to it. kFailedPrecondition for a key that does
  // not start from this gallery's or leads to a revoked one; kCancelled if `progress`, called with
  // (blocks done, all), returns false.
  absl::Status Rekey(const Instance& instance, const RekeyingKey& key,
                     const std::function<bool(size_t, size_t)>& progress = {});

 private:
  absl::Status CheckBlockCount(const Instance& instance) const;
  // Adds `count` templates, from the `done`th on, at index `first` of a block and behind it.
  using FillFunction = std::function<absl::Status(TiledCiphertexts* block, uint32_t first,
                                                  size_t done, size_t count)>;
  // Takes the lock, fills the blocks that take the templates of `identities`, and commits.
  absl::Status Commit(const Instance& instance, std::span<const std::string> identities,
                      std::span<const SampleDigest> samples, std::span<const SampleDigest> parts,
                      const FillFunction& fill);
  // Held while a gallery is changed.
  absl::StatusOr<FileLock> TakeLock() const;
  absl::Status WriteManifest() const;
  // kUnavailable if another process has committed since this object was read.
  absl::Status CheckCurrent() const;
  // Writes the blocks of `next` by `write` and then its manifest, and becomes it. If that fails the
  // folder is cleared of what was written.
  absl::Status Replace(Impl next, const std::function<absl::Status(Impl*)>& write);

  Impl() = default;
  static std::string ManifestPath(const std::string& directory);
  std::string BlockPath(size_t block, uint64_t generation) const;
  // The residues in `file`, which holds the bytes of block `block`'s file `path`: kDataLoss for
  // another than the manifest's.
  absl::StatusOr<ByteSpan> OpenBlock(ByteSpan file, size_t block, const std::string& path) const;
  absl::Status WriteBlock(size_t block, uint64_t generation, const TiledCiphertexts& data);
  // Of manifests of before, the hashes that the blocks' files end with.
  absl::Status ReadHashes();
  std::vector<uint8_t> SerializeManifest() const;
  void RemoveStaleFiles() const;

  std::string directory_;
  GalleryBinding binding_;
  GalleryId id_{};
  std::vector<std::string> identities_;
  std::vector<SampleDigest> samples_;  // one an identity
  std::vector<SampleDigest> parts_;
  std::vector<uint64_t> generations_;  // of each block's file
  std::vector<Digest> hashes_;         // the same; zeros: unknown
  Digest root_{};
  uint64_t generation_ = 0;
  std::vector<KeyId> revoked_;
};

}  // namespace heft

#endif  // HEFT_GALLERY_GALLERY_IMPL_H_
