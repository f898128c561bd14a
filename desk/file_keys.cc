// SPDX-License-Identifier: Apache-2.0
#include "desk/file_keys.h"

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/inside.h"
#include "base/status.h"
#include "gallery/gallery_impl.h"
#include "heft/trust.h"
#include "matcher/server_impl.h"

namespace heft {

FileKey KeyOf(const absl::StatusOr<FileInfo>& info) {
  if (!info.ok() || info->samples == 0) return {};
  return {info->key_id.value_or(KeyId{}), info->params_id.value_or(ParamsId{})};
}

Keys KeysOf(std::span<const SampleFile> files) {
  Keys keys;
  for (const SampleFile& file : files) keys.push_back(KeyOf(InspectFile(file.bytes, file.name)));
  return keys;
}

absl::Status CheckGallery(const Server& server, const Gallery& gallery) {
  return Inside::Of(gallery).CheckBinding(Inside::Of(server).binding());
}

absl::Status CheckFiles(const Server& server, std::span<const SampleFile> files, const Keys& keys) {
  const KeyId needed = Inside::Of(server).binding().key_id;
  const Rings& rings = Inside::Of(server).rings();
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto& [key, params] = keys[i];
    if (key == needed || key == KeyId{}) continue;
    // Of other parameters: the reader says so.
    if (params != rings.enrolment.params().id() && params != rings.matching.params().id()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(files[i].name, ": made under another key (id ", HexString(key), ", ",
                     HexString(needed), " needed)"));
  }
  return absl::OkStatus();
}

absl::Status CheckGalleryAsked(std::span<const SampleFile> files, const GalleryId& served) {
  for (const SampleFile& file : files) {
    if (!IsSigned(file.bytes)) continue;
    HEFT_ASSIGN_OR_RETURN(const SignedFile read, ReadSigned(file.bytes, file.name));
    const GalleryId& named = read.statement.gallery;
    if (named == GalleryId{} || named == served) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(file.name, ": signed for another gallery (id ", HexString(named), ", ",
                     HexString(served), " asked): sign a new request for this gallery or for any"));
  }
  return absl::OkStatus();
}

}  // namespace heft
