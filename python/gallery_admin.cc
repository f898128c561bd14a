// SPDX-License-Identifier: Apache-2.0
// Maintenance of galleries: their state, checks, copies and restoring.
#include "heft/gallery_admin.h"

#include "heft/desk.h"
#include "python/erasure.h"
#include "python/values.h"

namespace heft::python {
namespace {

// ModelOf: None, or a model, which the caller keeps.
const Model* ModelOf(const py::object& model) {
  return model.is_none() ? nullptr : &model.cast<const Model&>();
}

void DefineChecks(GalleryClass& c) {
  Method(
      c, "info",
      [](const GalleryHandle& self, const py::object& model) {
        self.Check();
        const Model* known = ModelOf(model);
        return Call([&] { return DescribeGallery(self.name(), known); });
      },
      "Ids, sizes and dates; with a model also the noise margin. Reads only a few records.",
      py::arg("model") = py::none());
  Method(
      c, "verify",
      [](const GalleryHandle& self, const py::object& model, const py::object& progress) {
        self.Check();
        const Model* known = ModelOf(model);
        Watch watch(progress);
        return Call([&] { return VerifyGallery(self.name(), known, watch.monitor()); });
      },
      "Checks all data of the gallery against each other. Reads everything.",
      py::arg("model") = py::none(), py::kw_only(), py::arg("progress") = py::none());
  Method(
      c, "compact",
      [](const GalleryHandle& self, const MatcherHandle& matcher) {
        self.Check();
        const auto server = matcher.Get();
        return Call([&] { return CompactGallery(*server, self.name()); });
      },
      "Rebuilds damaged blocks from the journal, moves the journal into the blocks, and\n"
      "overwrites deleted data.",
      py::arg("matcher"));
  Method(
      c, "fold",
      [](const GalleryHandle& self, const MatcherHandle& matcher) {
        self.Check();
        const auto server = matcher.Get();
        Call([&] { return server->Fold(self.name()); });
      },
      "Moves templates that are only in the journal into the blocks.", py::arg("matcher"));
}

void DefineCopies(GalleryClass& c) {
  Method(
      c, "snapshot",
      [](const GalleryHandle& self, const py::object& out, bool with_keys,
         const py::object& progress) {
        self.Check();
        const std::string folder = PathOf(out);
        Watch watch(progress);
        return Call([&] { return Snapshot(self.name(), folder, with_keys, watch.monitor()); });
      },
      "Copies the store, with all its galleries in one state, into a new folder. AlreadyExists.",
      py::arg("out"), py::kw_only(), py::arg("with_keys") = false,
      py::arg("progress") = py::none());
  Method(
      c, "export",
      [](const GalleryHandle& self, const py::object& out, const py::object& progress) {
        self.Check();
        const std::string folder = PathOf(out);
        Watch watch(progress);
        return Call([&] { return ExportGallery(self.name(), folder, watch.monitor()); });
      },
      "Copies only this gallery, into the store of a new folder. AlreadyExists.", py::arg("out"),
      py::kw_only(), py::arg("progress") = py::none());
  Method(
      c, "rekey",
      [](const GalleryHandle& self, const Model& model, const py::object& key,
         const py::object& progress) {
        const Source source(key, "re-keying key", kMaxKeysSize);
        Watch watch(progress);
        const auto done = Call([&]() -> absl::StatusOr<Gallery::Rekeyed> {
          auto gallery = self.Newest();
          if (!gallery.ok()) return gallery.status();
          auto moved = gallery->Rekey(model, source.bytes(), source.what(), watch.monitor());
          if (moved.ok() && !moved->overwritten.ok()) return moved->overwritten;
          return moved;
        });
        return py::make_tuple(HexOf(done.from), HexOf(done.to));
      },
      "Moves all templates to another key without decrypting them, and revokes the old key.\n"
      "Returns the ids of both keys. FailedPrecondition, Cancelled, Unavailable; also if it has\n"
      "moved, but its data under the old key cannot be overwritten yet (Gallery.compact).",
      py::arg("model"), py::arg("key"), py::kw_only(), py::arg("progress") = py::none());
}

}  // namespace

void DefineGalleryAdmin(py::module_& m) {
  DefineErasure(m);
  auto c = m.attr("Gallery").cast<GalleryClass>();
  StaticMethod(
      c, "create",
      [](const py::object& path, const MatcherHandle& matcher, uint64_t seconds, uint64_t bytes) {
        const GalleryHandle handle(PathOf(path));
        const auto server = matcher.Get();
        const Desk desk(*server, nullptr, matcher.key_owner());
        Call([&] { return desk.Create(handle.name(), {seconds, bytes}); });
        return handle;
      },
      "Makes an empty gallery for templates with the matcher's model and keys.\n"
      "retention_seconds, retention_bytes: how long, and up to which size, templates stay in the\n"
      "journal, from which they can be removed exactly. AlreadyExists.",
      py::arg("path"), py::arg("matcher"), py::kw_only(), py::arg("retention_seconds") = 3600,
      py::arg("retention_bytes") = uint64_t{1} << 30);
  DefineChecks(c);
  DefineCopies(c);
  StaticMethod(
      c, "names",
      [](const py::object& folder) {
        const std::string path = PathOf(folder);
        return Call([&] { return GalleryNames(path); });
      },
      "Names of all galleries in a store's folder.", py::arg("folder"));
  StaticMethod(
      c, "restore",
      [](const py::object& snapshot, const py::object& folder, const py::object& matcher,
         bool accept_older, const std::optional<Trust>& trust, const py::list& receipts,
         bool without_receipts, const py::object& progress) {
        const std::string from = PathOf(snapshot), to = PathOf(folder);
        std::shared_ptr<Server> server;
        if (!matcher.is_none()) server = matcher.cast<const MatcherHandle&>().Get();
        RestoreOptions options;
        options.accept_older = accept_older;
        options.server = server.get();
        if (trust) options.trust = &*trust;
        for (const py::handle receipt : receipts) {
          options.receipts.push_back(Source(receipt, "receipt").Release());
        }
        options.without_receipts = without_receipts;
        Watch watch(progress);
        return Call([&] { return Restore(from, to, options, watch.monitor()); });
      },
      "Replaces the store in folder by that of a snapshot. People who were erased since are\n"
      "removed again, which needs the matcher.\n\n"
      "receipts: receipts of erasure that the replaced store lacks. accept_older: accept a copy\n"
      "that is older than the replaced store. without_receipts: accept it even if the receipts\n"
      "of a damaged store cannot be read. FailedPrecondition for an older copy, unless\n"
      "accept_older.",
      py::arg("snapshot"), py::arg("folder"), py::kw_only(), py::arg("matcher") = py::none(),
      py::arg("accept_older") = false, py::arg("trust") = py::none(),
      py::arg("receipts") = py::list(), py::arg("without_receipts") = false,
      py::arg("progress") = py::none());
  Function(m, "set_writer_wait", &SetWriterWait,
           "Seconds for which a change waits for other writers of a gallery, before it fails with\n"
           "Unavailable.",
           py::arg("seconds"));
}

}  // namespace heft::python
