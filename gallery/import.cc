// SPDX-License-Identifier: Apache-2.0
#include "gallery/import.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "gallery/admission.h"
#include "gallery/change.h"
#include "gallery/gallery_copies.h"
#include "gallery/legacy_gallery.h"
#include "gallery/remembered.h"

namespace heft {
namespace {

// The server's files, which are not the store's: what they are, and whether they are secret.
constexpr std::pair<const char*, mode_t> kServerFiles[] = {
    {"server.key", 0600}, {"server.pub", 0644}, {"stand-in.key", 0600},
    {"audit.key", 0600},  {"keys.made", 0644},  {"requests.heft", 0600}};

// Of one enrolment, and of a server's file: larger ones are refused before memory is taken.
constexpr uint64_t kMostQuarantined = uint64_t{1} << 31;
constexpr uint64_t kMostServerFile = uint64_t{1} << 28;

absl::Status CopyFileTo(const std::string& from, const std::string& to, mode_t mode) {
  // Of a folder with galleries already, its server's stay.
  if (FileExists(to)) return absl::OkStatus();
  const auto bytes = ReadFile(from, kMostServerFile);
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

absl::Status ImportQuarantine(const LegacyGallery& old, const Rings& rings, uint64_t step,
                              GalleryChange* change) {
  HEFT_ASSIGN_OR_RETURN(const auto paths, old.QuarantinedFiles());
  uint64_t written = 0;
  for (const std::string& path : paths) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMostQuarantined));
    HEFT_ASSIGN_OR_RETURN(const QuarantinedEnrolment e,
                          ParseQuarantined(rings, old.binding, bytes, path));
    std::vector<Enrolment> templates;
    for (const WaitingTemplate& t : e.templates) {
      templates.push_back({t.identity, {}, t.sample, t.parts, kNoTime, {}});
    }
    HEFT_RETURN_IF_ERROR(change->PutQuarantined(bytes, templates, SignerKey{}));
    written += bytes.size();
    if (written < step) continue;
    written = 0;
    HEFT_RETURN_IF_ERROR(change->CommitStep());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportLegacyGallery(const std::string& from, const std::string& to, const Model& model,
                                 const std::function<bool(size_t, size_t)>& progress,
                                 uint64_t step) {
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
        "import into another folder: the files of version 0.1 would stay in this one, with "
        "templates that are removed later");
  }
  if (Gallery::Impl::Exists(to)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a gallery in ", to, " already"));
  }
  HEFT_RETURN_IF_ERROR(old.CheckRoot(instance));
  HEFT_ASSIGN_OR_RETURN(GalleryChange change,
                        GalleryChange::Begin(Gallery::Impl::New(to, old.binding), /*start=*/true));
  // Another process may have imported a gallery while this one waited.
  if (Gallery::Impl::Exists(to)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a gallery in ", to, " already"));
  }
  HEFT_RETURN_IF_ERROR(CheckNotListed(change.writer(), old.id, change.before().address().name));
  const auto fill = [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(change.AddImported(old, instance, step, progress));
    HEFT_RETURN_IF_ERROR(ImportQuarantine(old, rings, step, &change));
    HEFT_RETURN_IF_ERROR(CopyServerFiles(from, to));
    return change.Commit();
  };
  const absl::Status filled = fill();
  // Where that cannot be either, the next who makes a gallery does it.
  if (!filled.ok()) change.DropStarted().IgnoreError();
  return filled;
}

absl::Status GalleryChange::AddImported(const LegacyGallery& old, const Instance& instance,
                                        uint64_t step,
                                        const std::function<bool(size_t, size_t)>& progress) {
  constexpr uint64_t kOfATemplate = 512, kOfAPart = 64;  // bytes in all tables, about
  const auto stop = [&](size_t done) {
    return progress && !progress(done, infos_.size()) ? absl::CancelledError("interrupted")
                                                      : absl::OkStatus();
  };
  uint64_t written = 0;
  const auto count = [&](uint64_t bytes) -> absl::Status {
    written += bytes;
    if (written < step) return absl::OkStatus();
    written = 0;
    return CommitStep();
  };
  head_.id = old.id;
  head_.revoked = old.revoked;
  head_.generation = old.generation;
  head_.block_places = 2 * instance.params().slots();
  Extend(old.identities.size());
  for (size_t block = 0; block < infos_.size(); ++block) {
    HEFT_RETURN_IF_ERROR(stop(block));
    HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts data, old.ReadBlock(instance, block));
    HEFT_RETURN_IF_ERROR(WriteCheckpoint(block, data));
    const size_t first = block * size_t{head_.block_places};
    const size_t end = std::min(first + head_.block_places, old.identities.size());
    for (size_t i = first; i < end; ++i) {
      Enrolment enrolment;
      enrolment.identity = old.identities[i];
      enrolment.sample = old.samples[i];
      HEFT_RETURN_IF_ERROR(Settle(i, enrolment, Digest{}));
    }
    HEFT_RETURN_IF_ERROR(count(data.size() * sizeof(uint32_t) + (end - first) * kOfATemplate));
  }
  // The format did not record whose the samples in means were.
  ByteWriter nowhere;
  nowhere.U64(kUnknownPlace);
  for (const SampleDigest& part : old.parts) {
    HEFT_RETURN_IF_ERROR(writer_->Put(Table::kSamples, DigestKey(number_, part), nowhere.bytes()));
    HEFT_RETURN_IF_ERROR(count(kOfAPart));
  }
  // Each may have come by itself.
  const WearCosts costs = WearCostsOf(instance);
  for (BlockInfo& info : infos_) info.wear.wear = info.live * costs.addition;
  return stop(infos_.size());
}

absl::StatusOr<CopiedGallery> ImportFromStore(const Gallery::Impl& from, const std::string& to,
                                              const Progress& progress, uint64_t step) {
  HEFT_ASSIGN_OR_RETURN(const auto remembered, RememberedGeneration(from.id()));
  if (remembered && *remembered > from.generation()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this copy of the gallery is of generation ", from.generation(),
                     ", but the gallery had reached ", *remembered,
                     ": people who were removed since would be enrolled again. To accept an older "
                     "copy, use `heft-server gallery restore --accept-older`"));
  }
  HEFT_ASSIGN_OR_RETURN(const Address address, ParseAddress(to));
  HEFT_RETURN_IF_ERROR(Gallery::Impl::CheckVacant(to));
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(address.at(), StoreMode::kCreate));
  HEFT_ASSIGN_OR_RETURN(const auto lock, store->Lock(WriterWait()));
  HEFT_ASSIGN_OR_RETURN(SteppedWriter writer, SteppedWriter::Begin(store.get(), lock.get(), step));
  HEFT_RETURN_IF_ERROR(CheckNotListed(writer.writer(), from.id(), address.name));
  HEFT_ASSIGN_OR_RETURN(const uint32_t number, FreeNumber(writer.writer()));
  const auto fill = [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(CopyTables(from, number, progress, &writer));
    HEFT_RETURN_IF_ERROR(ListGallery(writer.writer(), address.name, number));
    return writer.Commit();
  };
  const absl::Status filled = fill();
  if (!filled.ok()) {
    writer.Drop().IgnoreError();
    return filled;
  }
  return CopiedGallery{address.name, from.id(), from.generation()};
}

absl::StatusOr<CopiedGallery> ImportGallery(const std::string& from, const std::string& gallery,
                                            const Model* model, const Monitor& monitor) {
  const Progress progress(monitor, "importing blocks");
  HEFT_ASSIGN_OR_RETURN(const Address address, ParseAddress(from));
  if (!address.store.empty() || StoreExists(address.folder) || !IsLegacyGallery(address.folder)) {
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl impl, Gallery::Impl::Open(from));
    return ImportFromStore(impl, gallery, progress);
  }
  if (model == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(from, " is a gallery of version 0.1: give its model (--model)"));
  }
  HEFT_RETURN_IF_ERROR(ImportLegacyGallery(address.folder, gallery, *model, progress.Callback()));
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl impl, Gallery::Impl::Open(gallery));
  return CopiedGallery{impl.address().name, impl.id(), impl.generation()};
}

}  // namespace heft
