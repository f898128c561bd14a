// SPDX-License-Identifier: Apache-2.0
// A gallery's move to another key.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "fusion/key_files.h"
#include "fusion/rekey.h"
#include "gallery/gallery_impl.h"

namespace heft {

absl::Status Gallery::Impl::Rekey(const Instance& instance, const RekeyingKey& key,
                                  const std::function<bool(size_t, size_t)>& progress) {
  HEFT_RETURN_IF_ERROR(CheckKeyId(binding_.key_id, key.from, "the re-keying key"));
  if (std::ranges::count(revoked_, key.to) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the re-keying key leads back to key ", HexString(key.to),
                     ", which was revoked: make a new one with `heft rekey`"));
  }
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, TakeLock());
  HEFT_RETURN_IF_ERROR(CheckCurrent());
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> waiting, QuarantinedFiles());
  if (!waiting.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "enrolments wait in the quarantine of ", directory_,
        ", under the old key: admit or reject them first (heft-server pending, heft admit)"));
  }
  Impl next = *this;
  ++next.generation_;
  next.binding_.key_id = key.to;
  next.revoked_.push_back(key.from);
  return Replace(std::move(next), [&](Impl* changed) -> absl::Status {
    for (size_t block = 0; block < blocks(); ++block) {
      if (progress && !progress(block, blocks())) return absl::CancelledError("interrupted");
      HEFT_ASSIGN_OR_RETURN(TiledCiphertexts data, ReadBlock(instance, block));
      HEFT_RETURN_IF_ERROR(RekeyBlock(instance, &data, key.key));
      changed->generations_[block] = changed->generation_;
      HEFT_RETURN_IF_ERROR(changed->WriteBlock(block, changed->generation_, data));
    }
    if (progress && !progress(blocks(), blocks())) return absl::CancelledError("interrupted");
    changed->root_ = changed->ComputeRoot(instance);
    return absl::OkStatus();
  });
}

}  // namespace heft
