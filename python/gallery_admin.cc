// SPDX-License-Identifier: Apache-2.0
// Maintenance of galleries: their state, checks, copies and restoring.
#include "heft/gallery_admin.h"

#include "heft/desk.h"
#include "python/erasure.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Class = py::class_<GalleryHandle>;
using Info = GalleryInfo;

// ModelOf: None, or a model, which the caller keeps.
const Model* ModelOf(const py::object& model) {
  return model.is_none() ? nullptr : &model.cast<const Model&>();
}

std::vector<std::string> HexOfAll(const std::vector<KeyId>& ids) {
  std::vector<std::string> out;
  for (const KeyId& id : ids) out.push_back(HexOf(id));
  return out;
}

void DefineInfo(py::module_& m) {
  Record<Info> info(m, "GalleryInfo", "Facts about a gallery and its store.");
  info.Field("name", &Info::name, "Name in its store.")
      .Field(
          "gallery_id", [](const Info& i) { return HexOf(i.id); }, "32 hexadecimal digits.")
      .Field(
          "model", [](const Info& i) { return HexOf(i.model); }, "Id of its model.")
      .Field(
          "key", [](const Info& i) { return HexOf(i.key); }, "Id of its key.")
      .Field("gamma", &Info::gamma, "Dimension of a template.")
      .Field("generation", &Info::generation,
             "Number of the gallery's state; each change increases it.")
      .Field(
          "root", [](const Info& i) { return HexOf(i.root); },
          "Hash of all data that determine replies of this generation.")
      .Field("places", &Info::places, "Positions that are or were filled.")
      .Field("live", &Info::live, "Templates that are matched, or have expired.")
      .Field("leaving", &Info::leaving,
             "Templates that are no longer matched and wait for a renewal.")
      .Field("freed", &Info::freed, "Positions that can be filled again.")
      .Field("waiting", &Info::waiting, "Pending templates.")
      .Field("blocks", &Info::blocks, "Blocks that hold the templates.");
  info.Field("journal_entries", &Info::journal_entries, "Templates that can be removed exactly.")
      .Field("journal_bytes", &Info::journal_bytes, "Size of their journal entries.")
      .Field("unfolded", &Info::unfolded, "Of them, those that are in no block's checkpoint yet.")
      .Field("started", &Info::started, "Unix seconds at which the gallery was made.")
      .Field("key_since", &Info::key_since, "Unix seconds since which it has this key.")
      .Field("verified", &Info::verified,
             "Unix seconds at which verify last checked everything; 0: never.")
      .Field("intact", &Info::intact, "The result of that check.")
      .Field(
          "retained_seconds", [](const Info& i) { return i.retained.seconds; },
          "Seconds for which templates stay in the journal.")
      .Field(
          "retained_bytes", [](const Info& i) { return i.retained.bytes; },
          "Size of the journal, at most.")
      .Field(
          "revoked", [](const Info& i) { return HexOfAll(i.revoked); },
          "Keys that were revoked, oldest first.")
      .Field(
          "noise_margin", &Info::noise_margin,
          "With a model: the least remaining share of a block's noise budget, 1 in a new gallery;\n"
          "otherwise None.")
      .Field("owner_journal_entry", &Info::owner_journal_entry,
             "Newest entry of the key owner's journal that this server has seen signed; 0: none.")
      .Field("owner_journal_fork", &Info::owner_journal_fork,
             "A sentence about a fork of that journal, if one was seen; otherwise empty.")
      .Field("galleries", &Info::galleries, "Names of all galleries of the store.")
      .Field("store_bytes", &Info::store_bytes, "Size of the store on disk.")
      .Field("store_live_bytes", &Info::store_live_bytes, "Bytes of the store that are in use.")
      .Field("readers", &Info::readers, "Generations that are held open, in all processes.");
}

void DefineResults(py::module_& m) {
  Record<VerifyResult>(m, "VerifyResult", "The result of a complete check.")
      .Field("intact", &VerifyResult::intact, "Whether nothing is damaged.")
      .Field("damaged", &VerifyResult::damaged, "Blocks that cannot be matched.")
      .Field("complaints", &VerifyResult::complaints, "What is wrong, one sentence each.")
      .Field("generation", &VerifyResult::generation, "The generation that was checked.")
      .Field(
          "recorded", [](const VerifyResult& r) { return r.recorded.ok(); },
          "Whether the result is stored in the gallery.")
      .Field("blocks", &VerifyResult::blocks, "Blocks that were read.");
  Record<CompactResult>(m, "CompactResult", "The result of maintenance without the key owner.")
      .Field("mended", &CompactResult::mended, "Damaged blocks that were rebuilt.")
      .Field("records", &CompactResult::records,
             "Damaged records that were written again or dropped.")
      .Field(
          "damaged",
          [](const CompactResult& r) {
            std::vector<size_t> out;
            for (const DamagedBlock& block : r.damaged) out.push_back(block.block);
            return out;
          },
          "Blocks that are still damaged; Gallery.damaged_blocks says why.")
      .Field(
          "receipts", [](const CompactResult& r) { return ReceiptsOf(r.receipts); },
          "Receipts of erasure that were due.")
      .Field(
          "overwritten", [](const CompactResult& r) { return r.overwritten.ok(); },
          "As RemoveResult.overwritten.")
      .Field("blocks", &CompactResult::blocks, "Blocks of the gallery.")
      .Field("sparse", &CompactResult::sparse,
             "Blocks that a renewal would merge, or free of removed templates.")
      .Field("leaving", &CompactResult::leaving, "Removed templates that wait for a renewal.");
  Record<CopiedGallery>(m, "CopiedGallery", "A gallery of a copy.")
      .Field("name", &CopiedGallery::name, "Name in its store.")
      .Field(
          "gallery_id", [](const CopiedGallery& g) { return HexOf(g.id); },
          "32 hexadecimal digits.")
      .Field("generation", &CopiedGallery::generation, "Generation of the copy.");
  Record<RestoreResult>(m, "RestoreResult", "The result of a restore.")
      .Field("galleries", &RestoreResult::galleries, "The galleries after the restore.")
      .Field("older", &RestoreResult::older, "Whether the copy was older than the replaced store.")
      .Field("erased", &RestoreResult::erased, "Templates that were removed again and erased.")
      .Field("leaving", &RestoreResult::leaving,
             "Templates that were removed again and wait for a renewal.")
      .Field("rejected", &RestoreResult::rejected,
             "Pending templates of an older copy, which were removed.");
}

void DefineChecks(Class& c) {
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

void DefineCopies(Class& c) {
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
          return gallery->Rekey(model, source.bytes(), source.what(), watch.monitor());
        });
        return py::make_tuple(HexOf(done.from), HexOf(done.to));
      },
      "Moves all templates to another key without decrypting them, and revokes the old key.\n"
      "Returns the ids of both keys. FailedPrecondition, Cancelled, Unavailable.",
      py::arg("model"), py::arg("key"), py::kw_only(), py::arg("progress") = py::none());
}

}  // namespace

void DefineGalleryAdmin(py::module_& m) {
  DefineErasure(m);
  DefineInfo(m);
  DefineResults(m);
  auto c = m.attr("Gallery").cast<Class>();
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
      "retained_seconds, retained_bytes: how long, and up to which size, templates stay in the\n"
      "journal, from which they can be removed exactly. AlreadyExists.",
      py::arg("path"), py::arg("matcher"), py::kw_only(), py::arg("retained_seconds") = 3600,
      py::arg("retained_bytes") = uint64_t{1} << 30);
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
