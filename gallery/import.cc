// SPDX-License-Identifier: Apache-2.0
#include "gallery/import.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "gallery/admission.h"
#include "gallery/change.h"
#include "gallery/legacy_gallery.h"

namespace heft {
namespace {

// The server's files, which are not the store's: what they are, and whether they are secret.
constexpr std::pair<const char*, mode_t> kServerFiles[] = {{"server.key", 0600},
                                                           {"server.pub", 0644},
                                                           {"stand-in.key", 0600},
                                                           {"audit.key", 0600},
                                                           {"requests.heft", 0600}};

absl::Status CopyFileTo(const std::string& from, const std::string& to, mode_t mode) {
  // Of a folder with galleries already, its server's stay.
  if (FileExists(to)) return absl::OkStatus();
  const auto bytes = ReadFile(from);
  if (absl::IsNotFound(bytes.status())) return absl::OkStatus();
  HEFT_RETURN_IF_ERROR(bytes.status());
  return WriteFileAtomic(to, *bytes, mode);
}

absl::Status CopyServerFiles(const std::string& from, const std::string& to) {
  const std::string folder = FolderOf(to);
  HEFT_RETURN_IF_ERROR(CopyFileTo(StatePath(from), StatePath(to), 0644));
  std::error_code error;
  if (std::filesystem::equivalent(from, folder, error)) return absl::OkStatus();
  for (const auto& [name, mode] : kServerFiles) {
    HEFT_RETURN_IF_ERROR(
        CopyFileTo(absl::StrCat(from, "/", name), absl::StrCat(folder, "/", name), mode));
  }
  return absl::OkStatus();
}

absl::Status ImportQuarantine(const LegacyGallery& old, const Rings& rings, GalleryChange* change) {
  HEFT_ASSIGN_OR_RETURN(const auto paths, old.QuarantinedFiles());
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
    HEFT_ASSIGN_OR_RETURN(const QuarantinedEnrolment e,
                          ParseQuarantined(rings, old.binding, bytes, path));
    std::vector<Enrolment> templates;
    for (const WaitingTemplate& t : e.templates) {
      templates.push_back({t.identity, {}, t.sample, t.parts, kNoTime, {}});
    }
    HEFT_RETURN_IF_ERROR(change->PutQuarantined(bytes, templates));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportLegacyGallery(const std::string& from, const std::string& to, const Model& model,
                                 const std::function<bool(size_t, size_t)>& progress) {
  HEFT_ASSIGN_OR_RETURN(const LegacyGallery old, LegacyGallery::Read(from));
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  const Instance& instance = rings.matching;
  const GalleryBinding expected = BindingOf(instance, model, old.binding.key_id);
  if (!(expected == old.binding)) {
    return absl::FailedPreconditionError(
        absl::StrCat("gallery ", from, ": made with another model or other parameters"));
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(from, FolderOf(to), ignored)) {
    return absl::InvalidArgumentError(
        "import into another folder: files of version 0.1 in this one would stay, and with them "
        "what is removed later");
  }
  if (Gallery::Impl::Exists(to)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a gallery in ", to, " already"));
  }
  HEFT_RETURN_IF_ERROR(old.CheckRoot(instance));
  HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                        GalleryChange::Begin(Gallery::Impl::New(to, old.binding), /*start=*/true));
  // Somebody else may have imported it, or another one, while this waited for its turn.
  if (Gallery::Impl::Exists(to)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a gallery in ", to, " already"));
  }
  HEFT_RETURN_IF_ERROR(change.AddImported(old, instance, progress));
  HEFT_RETURN_IF_ERROR(ImportQuarantine(old, rings, &change));
  HEFT_RETURN_IF_ERROR(CopyServerFiles(from, to));
  return change.Commit();
}

absl::Status GalleryChange::AddImported(const LegacyGallery& old, const Instance& instance,
                                        const std::function<bool(size_t, size_t)>& progress) {
  head_.id = old.id;
  head_.revoked = old.revoked;
  head_.generation = old.generation;
  head_.block_places = 2 * instance.params().slots();
  Extend(old.identities.size());
  for (size_t block = 0; block < infos_.size(); ++block) {
    if (progress && !progress(block, infos_.size())) return absl::CancelledError("interrupted");
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts data, old.ReadBlock(instance, block));
    HEFT_RETURN_IF_ERROR(WriteCheckpoint(block, data));
  }
  for (size_t i = 0; i < old.identities.size(); ++i) {
    Enrolment enrolment;
    enrolment.identity = old.identities[i];
    enrolment.sample = old.samples[i];
    HEFT_RETURN_IF_ERROR(Settle(i, enrolment, Digest{}));
  }
  // Whose the samples in means were, nobody wrote down.
  ByteWriter nowhere;
  nowhere.U64(kUnknownPlace);
  for (const SampleDigest& part : old.parts) {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kSamples, DigestKey(number_, part), nowhere.bytes()));
  }
  // Each may have come by itself.
  const WearCosts costs = WearCostsOf(instance);
  for (BlockInfo& info : infos_) info.wear.wear = info.live * costs.addition;
  if (progress && !progress(infos_.size(), infos_.size())) {
    return absl::CancelledError("interrupted");
  }
  return absl::OkStatus();
}

}  // namespace heft
