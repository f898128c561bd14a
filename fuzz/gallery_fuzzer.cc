// SPDX-License-Identifier: Apache-2.0
// A gallery's folder of version 0.1 (gallery/legacy_gallery.h), as it is imported: a manifest, and
// the file of block 0 written by generation 1. The input is both, one after the other; the block's
// own header says where it starts.
#include <algorithm>

#include "base/envelope.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include "gallery/legacy_gallery.h"

namespace heft::fuzz {
namespace {

void CheckRead(const absl::Status& status) {
  // A manifest may name blocks that are not there.
  if (!absl::IsNotFound(status)) CheckRefusal(status);
}

void ReadFolder(const Folder& folder) {
  const auto gallery = LegacyGallery::Read(folder.path());
  if (!gallery.ok()) return CheckRead(gallery.status());
  Check(gallery->samples.size() == gallery->identities.size(), "a digest an identity");
  Check(gallery->hashes.size() == gallery->generations.size(), "a hash a block");
  const Instance& instance = SmallInstance();
  if (const auto checked = gallery->CheckRoot(instance); !checked.ok()) CheckRead(checked);
  for (size_t b = 0; b < std::min<size_t>(gallery->generations.size(), 2); ++b) {
    const auto block = gallery->ReadBlock(instance, b);
    if (!block.ok()) {
      CheckRead(block.status());
      continue;
    }
    Check(block->size() == TiledSize(*instance.context, gallery->binding.gamma),
          "a block of the gallery's size");
    for (size_t i = 0; i < block->size(); ++i) {
      const size_t limb = i / (block->size() / MatchLimbs(instance.params()));
      Check((*block)[i] < instance.context->modulus(limb).value(), "residues below their primes");
    }
  }
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const heft::fuzz::Folder folder;
  const heft::ByteSpan input(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find("HEFT\r\n\x1a\n", 1), size);
  const heft::ByteSpan manifest = input.first(cut), block = input.subspan(cut);
  folder.Write("manifest.heft", manifest);
  folder.Write("block-0-1.heft", block);
  heft::fuzz::ReadFolder(folder);
  folder.Write("manifest.heft", heft::fuzz::Resealed(manifest));
  folder.Write("block-0-1.heft", heft::fuzz::Resealed(block));
  heft::fuzz::ReadFolder(folder);
  return 0;
}
