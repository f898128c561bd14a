// SPDX-License-Identifier: Apache-2.0
// What stands for all of a gallery.
#include "base/files.h"
#include "gallery/gallery_impl.h"
#include "gallery/merkle.h"

namespace heft {

Digest Gallery::Impl::ComputeRoot(const Instance& instance) const {
  const size_t per_block = 2 * size_t{instance.params().slots()};
  return MerkleRoot(size(), [&](uint64_t i) {
    const size_t block = i / per_block;
    return TemplateLeaf(i, identities_[i], hashes_[block], generations_[block]);
  });
}

absl::Status Gallery::Impl::ReadHashes() {
  for (size_t b = 0; b < blocks(); ++b) {
    if (hashes_[b] != Digest{}) continue;
    const std::string path = BlockPath(b, generations_[b]);
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
    HEFT_RETURN_IF_ERROR(OpenBlock(bytes, b, path).status());
    hashes_[b] = FileHash(bytes);
  }
  return absl::OkStatus();
}

}  // namespace heft
