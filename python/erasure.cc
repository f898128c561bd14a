// SPDX-License-Identifier: Apache-2.0
// Receipts of erasure, remains of erased templates, damaged blocks, and galleries from elsewhere.
#include "python/erasure.h"

#include "heft/gallery_admin.h"
#include "heft/removal.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Class = py::class_<GalleryHandle>;

void DefineReceipts(py::module_& m, Class& c) {
  Record<ErasureReceipt>(m, "ErasureReceipt", "What a signed receipt says; open_signed checks it.")
      .Field(
          "gallery", [](const ErasureReceipt& r) { return HexOf(r.gallery); }, "Its id.")
      .Field("generation", &ErasureReceipt::generation, "In which they were gone.")
      .Field("erased", &ErasureReceipt::erased,
             "Unix seconds, when nothing of them was left in the store.")
      .Field("persons", &ErasureReceipt::persons, "Who, as RemoveResult.persons names them.")
      .Field("removed", &ErasureReceipt::removed,
             "Unix seconds, of each of them: when he answered no more.");
  Function(
      m, "read_receipt",
      [](const py::object& receipt) {
        const Source source(receipt, "receipt");
        return Take(ReadReceipt(source.bytes(), source.what()));
      },
      "What a receipt of erasure says. Asks no signature. DataLoss.", py::arg("receipt"));
  Method(
      c, "receipts",
      [](const GalleryHandle& self) {
        self.Check();
        return ReceiptsOf(Call([&] { return Receipts(self.name()); }));
      },
      "All receipts of erasure that the gallery has given, oldest first.");
  Method(
      c, "erase_remains",
      [](const GalleryHandle& self) {
        self.Check();
        return ReceiptsOf(Call([&] { return EraseRemains(self.name()); }));
      },
      "Overwrites what could not be overwritten before; the receipts that were due.");
  Method(
      c, "erasure_remains",
      [](const GalleryHandle& self) {
        self.Check();
        return Call([&] { return ErasureRemains(self.name()); });
      },
      "What is left, where, and for how long, of what is erased: a sentence for people, empty for "
      "a\n"
      "store in a folder.");
}

void DefineState(py::module_& m, Class& c) {
  Record<DamagedBlock>(m, "DamagedBlock", "A block whose places do not answer.")
      .Field("block", &DamagedBlock::block, "Its number.")
      .Field("why", &DamagedBlock::why, "And what to do.");
  Method(
      c, "damaged_blocks",
      [](const GalleryHandle& self) {
        return Call([&]() -> absl::StatusOr<std::vector<DamagedBlock>> {
          const auto newest = self.Newest();
          if (!newest.ok()) return newest.status();
          return DamagedBlocks(*newest);
        });
      },
      "Those that this object has found while it served.");
  Method(
      c, "remember_generation",
      [](const GalleryHandle& self) {
        self.Check();
        Call([&] { return RememberGeneration(self.name()); });
      },
      "At once, what whoever changes a gallery does now and then: that it has come so far, in "
      "this\n"
      "user's state folder: an older copy is then known for one.");
  StaticMethod(
      c, "import_gallery",
      [](const py::object& source, const py::object& path, const py::object& model,
         const py::object& progress) {
        const std::string from = PathOf(source), to = PathOf(path);
        const Model* known = model.is_none() ? nullptr : &model.cast<const Model&>();
        Watch watch(progress);
        return Call([&] { return ImportGallery(from, to, known, watch.monitor()); });
      },
      "One that export wrote, or any other gallery of a store, or, with its model, a folder of "
      "version\n"
      "0.1, as the gallery path. AlreadyExists; FailedPrecondition for one that is older than what "
      "is\n"
      "remembered of it.",
      py::arg("source"), py::arg("path"), py::arg("model") = py::none(), py::kw_only(),
      py::arg("progress") = py::none());
}

}  // namespace

py::list ReceiptsOf(const std::vector<std::vector<uint8_t>>& receipts) {
  py::list out;
  for (const auto& receipt : receipts) out.append(BytesOf(receipt));
  return out;
}

void DefineErasure(py::module_& m) {
  auto c = m.attr("Gallery").cast<Class>();
  DefineReceipts(m, c);
  DefineState(m, c);
}

}  // namespace heft::python
