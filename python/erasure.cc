// SPDX-License-Identifier: Apache-2.0
// Receipts of erasure, remains of erased templates, damaged blocks, and galleries from elsewhere.
#include "python/erasure.h"

#include "heft/gallery_admin.h"
#include "python/values.h"

namespace heft::python {
namespace {

void DefineReceipts(py::module_& m, GalleryClass& c) {
  Function(
      m, "read_receipt",
      [](const py::object& receipt) {
        const Source source(receipt, "receipt");
        return Take(ReadReceipt(source.bytes(), source.what()));
      },
      "Reads a receipt of erasure, without checking its signature. DataLoss.", py::arg("receipt"));
  Method(
      c, "receipts",
      [](const GalleryHandle& self) {
        self.Check();
        return ReceiptsOf(Call([&] { return Receipts(self.name()); }));
      },
      "All receipts of erasure of the gallery, oldest first.");
  Method(
      c, "erase_remains",
      [](const GalleryHandle& self) {
        self.Check();
        return ReceiptsOf(Call([&] { return EraseRemains(self.name()); }));
      },
      "Overwrites erased data that could not be overwritten before; returns the receipts that\n"
      "were due.");
  Method(
      c, "erasure_remains",
      [](const GalleryHandle& self) {
        self.Check();
        return Call([&] { return ErasureRemains(self.name()); });
      },
      "A sentence on the remains of erased data: where they are and for how long. Empty for a\n"
      "store in a folder.");
}

void DefineState(GalleryClass& c) {
  Method(
      c, "damaged_records",
      [](const GalleryHandle& self) {
        return Call([&]() -> absl::StatusOr<std::vector<std::string>> {
          const auto newest = self.Newest();
          if (!newest.ok()) return newest.status();
          return DamagedRecords(*newest);
        });
      },
      "Other damaged records that this object has found so far: what each is, and what to do.");
  Method(
      c, "damaged_blocks",
      [](const GalleryHandle& self) {
        return Call([&]() -> absl::StatusOr<std::vector<DamagedBlock>> {
          const auto newest = self.Newest();
          if (!newest.ok()) return newest.status();
          return DamagedBlocks(*newest);
        });
      },
      "The damaged blocks that this object has found so far.");
  Method(
      c, "remember_generation",
      [](const GalleryHandle& self) {
        self.Check();
        Call([&] { return RememberGeneration(self.name()); });
      },
      "Records the gallery's generation in this user's state folder now, so that an older copy\n"
      "is detected. Every change of a gallery does this from time to time.");
  StaticMethod(
      c, "import_gallery",
      [](const py::object& source, const py::object& path, const py::object& progress) {
        const std::string from = PathOf(source), to = PathOf(path);
        Watch watch(progress);
        return Call([&] { return ImportGallery(from, to, watch.monitor()); });
      },
      "Copies a gallery that export wrote, or any other gallery of a store, to path.\n"
      "AlreadyExists; FailedPrecondition for a gallery older than its recorded generation.",
      py::arg("source"), py::arg("path"), py::kw_only(), py::arg("progress") = py::none());
}

}  // namespace

py::list ReceiptsOf(const std::vector<std::vector<uint8_t>>& receipts) {
  py::list out;
  for (const auto& receipt : receipts) out.append(BytesOf(receipt));
  return out;
}

void DefineErasure(py::module_& m) {
  auto c = m.attr("Gallery").cast<GalleryClass>();
  DefineReceipts(m, c);
  DefineState(c);
}

}  // namespace heft::python
