// SPDX-License-Identifier: Apache-2.0
// Copies of galleries: snapshots of stores, single galleries out of a store and into one.
#include "gallery/gallery_copies.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/progress.h"
#include "gallery/change.h"
#include "gallery/remembered.h"
#include "gallery/request_log.h"
#include "gallery/unlisted.h"
#include "heft/gallery_admin.h"
#include "store/folder.h"
#include "store/once.h"

namespace heft {
namespace {

namespace fs = std::filesystem;

bool IsSecret(const std::string& name) {
  return name == "server.key" || name == "stand-in.key" || name == "audit.key";
}
bool IsPublic(const std::string& name) {
  // kKeysMade: so that a copy without keys is known as one.
  return name == "server.pub" || name == kKeysMade || name == "state.heft" ||
         name.ends_with(".state.heft");
}

CopiedGallery Copied(const Gallery::Impl& gallery) {
  return {gallery.address().name, gallery.id(), gallery.generation()};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> StoreNames(const StoreReader& reader) {
  std::vector<std::string> names;
  HEFT_RETURN_IF_ERROR(reader.Scan(Table::kCatalog, {}, [&](ByteSpan key, ByteSpan) {
    names.emplace_back(key.begin(), key.end());
    return true;
  }));
  return names;
}

absl::StatusOr<std::vector<Gallery::Impl>> GalleriesOf(const std::shared_ptr<Store>& store,
                                                       const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(const auto reader, ReadChecked(*store));
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> names, StoreNames(*reader));
  std::vector<Gallery::Impl> galleries;
  for (const std::string& name : names) {
    HEFT_ASSIGN_OR_RETURN(Gallery::Impl gallery, Gallery::Impl::Open(store, {folder, name}));
    galleries.push_back(std::move(gallery));
  }
  return galleries;
}

absl::Status RememberGeneration(const std::string& gallery) {
  const auto impl = Gallery::Impl::Open(gallery);
  if (absl::IsNotFound(impl.status())) return absl::OkStatus();  // it has no generation
  HEFT_RETURN_IF_ERROR(impl.status());
  return RememberGeneration(impl->id(), impl->generation());
}

absl::Status CopyServerFiles(const std::string& from, const std::string& to, ServerFiles which) {
  std::error_code error;
  // A snapshot without these gets a new key: the public half of the old one would forbid it.
  const bool anew = which == ServerFiles::kAll && !FileExists(from + "/server.key") &&
                    !FileExists(absl::StrCat(from, "/", kKeysMade));
  for (const auto& entry : fs::directory_iterator(from, error)) {
    const std::string name = entry.path().filename().string();
    if (anew && name == "server.pub") continue;
    const bool wanted = IsPublic(name) || (which != ServerFiles::kPublic && IsSecret(name)) ||
                        which == ServerFiles::kEverything;
    if (IsStoreFile(name) || name.starts_with(kOnceFile) || name.ends_with(".lock") || !wanted ||
        FileExists(absl::StrCat(to, "/", name)))
      continue;
    struct stat info;
    if (stat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(entry.path().string()));
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(absl::StrCat(to, "/", name), bytes, info.st_mode & 0777));
  }
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot read ", from, ": ", error.message()));
  }
  const bool log =
      which != ServerFiles::kPublic && !FileExists(absl::StrCat(to, "/", std::string(kOnceFile)));
  return log ? RequestLog(from).CopyTo(to) : absl::OkStatus();
}

absl::StatusOr<std::vector<CopiedGallery>> Snapshot(const std::string& folder,
                                                    const std::string& out, bool with_keys,
                                                    const Monitor& monitor) {
  const std::string from = FolderOf(folder);
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(StoreOf(folder), StoreMode::kRead));
  if (with_keys && !SigningKey::Load(from + "/server.key").ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(from,
                     "/server.key is missing or damaged, so the copy would have no usable keys: "
                     "restore it, or leave out --with-keys"));
  }
  const Progress progress(monitor, "copying bytes");
  HEFT_RETURN_IF_ERROR(
      store->Copy(out, [&](uint64_t done, uint64_t all) { return progress.Update(done, all); }));
  HEFT_RETURN_IF_ERROR(
      CopyServerFiles(from, out, with_keys ? ServerFiles::kAll : ServerFiles::kPublic));
  HEFT_ASSIGN_OR_RETURN(const auto copy, OpenStore(out, StoreMode::kRead));
  HEFT_ASSIGN_OR_RETURN(const auto galleries, GalleriesOf(copy, out));
  std::vector<CopiedGallery> copied;
  for (const Gallery::Impl& gallery : galleries) copied.push_back(Copied(gallery));
  return copied;
}

namespace {

// Renumbered: a key under another gallery's number.
StoreKey Renumbered(ByteSpan key, uint32_t number) {
  StoreKey out = HeadKey(number);
  out.insert(out.end(), key.begin() + out.size(), key.end());
  return out;
}

}  // namespace

absl::Status CopyTables(const Gallery::Impl& from, uint32_t number, const Progress& progress,
                        SteppedWriter* writer) {
  const size_t blocks = from.blocks();
  size_t done = 0;
  for (size_t i = 1; i < kTables; ++i) {  // all but the catalogue
    const Table table = static_cast<Table>(i);
    absl::Status status;
    HEFT_RETURN_IF_ERROR(
        from.reader().Scan(table, HeadKey(from.number()), [&](ByteSpan key, ByteSpan value) {
          if (!OfGallery(from.number(), key)) return false;
          status = writer->Put(table, Renumbered(key, number), value);
          if (status.ok() && table == Table::kBlocks && done < blocks) {
            status = progress.Step(++done, blocks);
          }
          return status.ok();
        }));
    HEFT_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

namespace {

// FillExport: writes a store with only this gallery, in steps; its name comes last.
absl::Status FillExport(const Gallery::Impl& from, const std::string& folder,
                        const Progress& progress) {
  constexpr uint32_t kFirst = 1;
  HEFT_ASSIGN_OR_RETURN(const auto store, OpenStore(folder, StoreMode::kCreate));
  HEFT_ASSIGN_OR_RETURN(const auto lock, store->Lock(WriterWait()));
  HEFT_ASSIGN_OR_RETURN(SteppedWriter writer, SteppedWriter::Begin(store.get(), lock.get()));
  HEFT_RETURN_IF_ERROR(CopyTables(from, kFirst, progress, &writer));
  HEFT_RETURN_IF_ERROR(ListGallery(writer.writer(), std::string(kDefaultName), kFirst));
  return writer.Commit();
}

// PartialFolder: a new folder under a temporary name until it is complete; deleted otherwise.
class PartialFolder {
 public:
  explicit PartialFolder(const std::string& path)
      : path_(path.substr(0, path.find_last_not_of('/') + 1)), partial_(path_ + ".partial") {}
  ~PartialFolder() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
  }
  const std::string& partial() const { return partial_; }

  absl::Status Begin() const {
    if (FileExists(path_)) {
      return absl::AlreadyExistsError(absl::StrCat(path_, " exists already: choose another name"));
    }
    std::error_code error;
    fs::remove_all(partial_, error);
    return error ? absl::UnavailableError(
                       absl::StrCat("cannot remove ", partial_, ": ", error.message()))
                 : absl::OkStatus();
  }
  absl::Status End() const {
    std::error_code error;
    fs::rename(partial_, path_, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("cannot make ", path_, ": ", error.message()));
    }
    return SyncDirectory(fs::absolute(path_).parent_path().string());
  }

 private:
  const std::string path_, partial_;
};

}  // namespace

absl::StatusOr<CopiedGallery> ExportGallery(const std::string& gallery, const std::string& out,
                                            const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl from, Gallery::Impl::Open(gallery));
  const PartialFolder folder(out);
  HEFT_RETURN_IF_ERROR(folder.Begin());
  HEFT_RETURN_IF_ERROR(FillExport(from, folder.partial(), Progress(monitor, "exporting blocks")));
  HEFT_RETURN_IF_ERROR(folder.End());
  return Copied(from);
}

}  // namespace heft
