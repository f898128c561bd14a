// SPDX-License-Identifier: Apache-2.0
#include "gallery/import.h"

#include "absl/strings/str_cat.h"
#include "gallery/change.h"
#include "gallery/gallery_copies.h"
#include "gallery/remembered.h"

namespace heft {

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
                                            const Monitor& monitor) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl source, Gallery::Impl::Open(from));
  return ImportFromStore(source, gallery, Progress(monitor, "importing blocks"));
}

}  // namespace heft
