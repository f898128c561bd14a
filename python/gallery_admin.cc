// SPDX-License-Identifier: Apache-2.0
// Maintenance of galleries: their state, checks, copies and restoring.
#include "heft/gallery_admin.h"

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
  Record<Info> info(m, "GalleryInfo", "What a gallery and its store say of themselves.");
  info.Field("name", &Info::name, "In its store.")
      .Field(
          "id", [](const Info& i) { return HexOf(i.id); }, "32 hexadecimal digits.")
      .Field(
          "model", [](const Info& i) { return HexOf(i.model); }, "Id of its model.")
      .Field(
          "key", [](const Info& i) { return HexOf(i.key); }, "Id of its key.")
      .Field("gamma", &Info::gamma, "Dimension of a template.")
      .Field("generation", &Info::generation, "Counts the changes.")
      .Field(
          "root", [](const Info& i) { return HexOf(i.root); },
          "Of all that replies of this generation are made of.")
      .Field("places", &Info::places, "Positions that are or were filled.")
      .Field("live", &Info::live, "Templates that answer, or have expired.")
      .Field("leaving", &Info::leaving, "That answer no more, until their blocks are renewed.")
      .Field("freed", &Info::freed, "Places to be filled again.")
      .Field("waiting", &Info::waiting, "Templates that nobody has admitted.")
      .Field("blocks", &Info::blocks, "That hold them.");
  info.Field("journal_entries", &Info::journal_entries, "Templates that can be taken back exactly.")
      .Field("journal_bytes", &Info::journal_bytes, "Of them.")
      .Field("unfolded", &Info::unfolded, "Of them, that stand in no block's checkpoint yet.")
      .Field("started", &Info::started, "Unix seconds.")
      .Field("key_since", &Info::key_since, "Unix seconds.")
      .Field("verified", &Info::verified, "When verify looked at everything; 0: never.")
      .Field("intact", &Info::intact, "What it found.")
      .Field(
          "retained_seconds", [](const Info& i) { return i.retained.seconds; },
          "For which templates stay in the journal.")
      .Field(
          "retained_bytes", [](const Info& i) { return i.retained.bytes; }, "Of them, at most.")
      .Field(
          "revoked", [](const Info& i) { return HexOfAll(i.revoked); }, "Keys, oldest first.")
      .Field("noise_margin", &Info::noise_margin,
             "With a model: what is left of a block's noise, 1 in a new gallery; otherwise None.")
      .Field("owner_journal_entry", &Info::owner_journal_entry,
             "Newest entry of the key owner's journal that this server has seen signed; 0: none.")
      .Field("owner_journal_fork", &Info::owner_journal_fork,
             "A sentence about a fork of that journal, if one was seen; otherwise empty.")
      .Field("galleries", &Info::galleries, "Names of all in the store.")
      .Field("store_bytes", &Info::store_bytes, "On disk.")
      .Field("store_live_bytes", &Info::store_live_bytes, "Of them, that hold something.")
      .Field("readers", &Info::readers, "States that are held, in all processes.");
}

void DefineResults(py::module_& m) {
  Record<VerifyResult>(m, "VerifyResult", "What a check of everything has found.")
      .Field("intact", &VerifyResult::intact, "Whether there is nothing to complain of.")
      .Field("damaged", &VerifyResult::damaged, "Blocks that cannot be matched.")
      .Field("complaints", &VerifyResult::complaints, "Sentences.")
      .Field("generation", &VerifyResult::generation, "That was looked at.")
      .Field(
          "recorded", [](const VerifyResult& r) { return r.recorded.ok(); },
          "Whether the gallery knows what was found.")
      .Field("blocks", &VerifyResult::blocks, "That were read.");
  Record<CompactResult>(m, "CompactResult", "What a server could do by itself.")
      .Field("mended", &CompactResult::mended, "Blocks that were damaged.")
      .Field(
          "damaged",
          [](const CompactResult& r) {
            std::vector<size_t> out;
            for (const DamagedBlock& block : r.damaged) out.push_back(block.block);
            return out;
          },
          "Blocks that still are; Gallery.damaged_blocks says why.")
      .Field(
          "receipts", [](const CompactResult& r) { return ReceiptsOf(r.receipts); },
          "Of erasure, that were due.")
      .Field(
          "overwritten", [](const CompactResult& r) { return r.overwritten.ok(); },
          "As RemoveResult.overwritten.")
      .Field("blocks", &CompactResult::blocks, "That there are.")
      .Field("sparse", &CompactResult::sparse, "That a renewal would make fewer.")
      .Field("leaving", &CompactResult::leaving, "Templates that wait for one.");
  Record<CopiedGallery>(m, "CopiedGallery", "A gallery of a copy.")
      .Field("name", &CopiedGallery::name, "In its store.")
      .Field(
          "id", [](const CopiedGallery& g) { return HexOf(g.id); }, "32 hexadecimal digits.")
      .Field("generation", &CopiedGallery::generation, "Of the copy.");
  Record<RestoreResult>(m, "RestoreResult", "What has come back, and who was removed again.")
      .Field("galleries", &RestoreResult::galleries, "That are there now.")
      .Field("older", &RestoreResult::older, "Whether the copy was older than what it replaced.")
      .Field("erased", &RestoreResult::erased, "Templates that were removed again.")
      .Field("leaving", &RestoreResult::leaving, "The same, until a renewal.")
      .Field("rejected", &RestoreResult::rejected, "That waited in an older copy.");
}

void DefineChecks(Class& c) {
  Method(
      c, "info",
      [](const GalleryHandle& self, const py::object& model) {
        self.Check();
        const Model* known = ModelOf(model);
        return Call([&] { return DescribeGallery(self.name(), known); });
      },
      "Ids, sizes, dates; with a model its noise margin too. Reads what is small.",
      py::arg("model") = py::none());
  Method(
      c, "verify",
      [](const GalleryHandle& self, const py::object& model, const py::object& progress) {
        self.Check();
        const Model* known = ModelOf(model);
        Watch watch(progress);
        return Call([&] { return VerifyGallery(self.name(), known, watch.monitor()); });
      },
      "Everything against everything. Reads all.", py::arg("model") = py::none(), py::kw_only(),
      py::arg("progress") = py::none());
  Method(
      c, "compact",
      [](const GalleryHandle& self, const MatcherHandle& matcher) {
        self.Check();
        const auto server = matcher.Get();
        return Call([&] { return CompactGallery(*server, self.name()); });
      },
      "Mends blocks from the journal, which joins them, and overwrites what was deleted.",
      py::arg("matcher"));
  Method(
      c, "fold",
      [](const GalleryHandle& self, const MatcherHandle& matcher) {
        self.Check();
        const auto server = matcher.Get();
        Call([&] { return server->Fold(self.name()); });
      },
      "What stands in the journal alone joins the blocks.", py::arg("matcher"));
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
      "A copy of the store, all of its galleries in one state, into a new folder. AlreadyExists.",
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
      "This gallery alone, into the store of a new folder. AlreadyExists.", py::arg("out"),
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
      "Moves all templates to another key without decrypting them, and revokes the old one; the "
      "ids\n"
      "of both. FailedPrecondition, Cancelled, Unavailable.",
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
        Call([&] { return CreateGallery(*server, handle.name(), {seconds, bytes}); });
        return handle;
      },
      "An empty gallery for templates under the matcher's model and keys; retained: for how long, "
      "and\n"
      "how many bytes of, templates can be taken back exactly. AlreadyExists.",
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
      "Of all galleries in a store's folder.", py::arg("folder"));
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
      "The store of a snapshot takes the place of the one in folder. Whoever was erased since is\n"
      "removed again, which needs the matcher. FailedPrecondition for an older copy, unless\n"
      "accept_older. receipts: of erasure, that the replaced store lacks; without_receipts: takes "
      "the\n"
      "copy also where those of a damaged store cannot be read.",
      py::arg("snapshot"), py::arg("folder"), py::kw_only(), py::arg("matcher") = py::none(),
      py::arg("accept_older") = false, py::arg("trust") = py::none(),
      py::arg("receipts") = py::list(), py::arg("without_receipts") = false,
      py::arg("progress") = py::none());
  Function(m, "set_writer_wait", &SetWriterWait,
           "Seconds for which who changes a gallery waits for others who do; then Unavailable.",
           py::arg("seconds"));
}

}  // namespace heft::python
