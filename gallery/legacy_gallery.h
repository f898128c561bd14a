// SPDX-License-Identifier: Apache-2.0
// LegacyGallery: a gallery of version 0.1: a folder with a manifest (kind GALM), a file per block
// (GBLK) and one per pending enrolment. It is only read, for import (gallery/import.cc).
#ifndef HEFT_GALLERY_LEGACY_GALLERY_H_
#define HEFT_GALLERY_LEGACY_GALLERY_H_

#include <optional>
#include <string>
#include <vector>

#include "fusion/matching.h"
#include "fusion/plan.h"
#include "gallery/records.h"

namespace heft {

// IsLegacyGallery: whether the folder has a manifest, or blocks without one.
bool IsLegacyGallery(const std::string& folder);

struct LegacyGallery {
  std::string folder;
  GalleryBinding binding;
  GalleryId id{};
  uint64_t generation = 0;
  std::vector<std::string> identities;  // by position
  std::vector<SampleDigest> samples;    // one per identity
  std::vector<SampleDigest> parts;      // of samples in means, without their identities
  std::vector<uint64_t> generations;    // of each block's file
  std::vector<Digest> hashes;           // the same; zeros: unknown
  std::optional<Digest> root;           // of all that; old manifests have none
  std::vector<ckks::KeyId> revoked;

  // kNotFound if there is no manifest, kDataLoss if it is damaged.
  static absl::StatusOr<LegacyGallery> Read(const std::string& folder);
  // kDataLoss unless the numbers of names and blocks fit each other, and both fit the manifest's
  // root, if it has one.
  absl::Status CheckRoot(const Instance& instance) const;
  // One block's residues, checked: hash, binding, every residue below its prime.
  absl::StatusOr<TiledCiphertexts> ReadBlock(const Instance& instance, size_t block) const;
  // QuarantinedFiles: paths of the pending enrolments.
  absl::StatusOr<std::vector<std::string>> QuarantinedFiles() const;
};

}  // namespace heft

#endif  // HEFT_GALLERY_LEGACY_GALLERY_H_
