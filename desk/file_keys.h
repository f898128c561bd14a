// SPDX-License-Identifier: Apache-2.0
// The keys under which the files of a request were made. They are checked before a signed request
// is recorded, so that a wrong file or gallery does not use up the good files beside it.
#ifndef HEFT_DESK_FILE_KEYS_H_
#define HEFT_DESK_FILE_KEYS_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/gallery.h"
#include "heft/inspect.h"
#include "heft/server.h"

namespace heft {

// FileKey: the ids of a file of samples; zeros where the reader of the file reports an error.
struct FileKey {
  KeyId key{};
  ParamsId params{};
};
using Keys = std::vector<FileKey>;

FileKey KeyOf(const absl::StatusOr<FileInfo>& info);
Keys KeysOf(std::span<const SampleFile> files);

// CheckGallery: kFailedPrecondition for a gallery of another key or model than the server's.
absl::Status CheckGallery(const Server& server, const Gallery& gallery);
// CheckFiles: kFailedPrecondition for a file of another key than the server's. `keys` are those of
// `files`.
absl::Status CheckFiles(const Server& server, std::span<const SampleFile> files, const Keys& keys);

// CheckGalleryAsked: a signature may name the only gallery that may answer; this is `served`.
absl::Status CheckGalleryAsked(std::span<const SampleFile> files, const GalleryId& served);

}  // namespace heft

#endif  // HEFT_DESK_FILE_KEYS_H_
