// SPDX-License-Identifier: Apache-2.0
// Galleries by name: their content, page by page, and removals.
#include "heft/gallery.h"

#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "python/erasure.h"
#include "python/values.h"

namespace heft::python {
namespace {

constexpr uint64_t kPage = 10000;  // templates that are listed at once, of an iteration

// A page of templates, and the position of the next page.
py::tuple Page(const GalleryHandle& self, uint64_t from, uint64_t count, const py::object& where) {
  self.Check();
  ListOptions options{from, count, ConditionsOf(where)};
  std::vector<ListedTemplate> found;
  const auto next = Call([&] {
    return ListTemplates(self.name(), options, [&](const ListedTemplate& t) {
      found.push_back(t);
      return absl::OkStatus();
    });
  });
  return py::make_tuple(py::cast(std::move(found)), next);
}

py::object TemplateFrame(const GalleryHandle& self, const py::object& where) {
  py::dict columns;
  constexpr const char* kColumns[] = {"position", "identity", "enrolled", "expires"};
  for (const char* name : kColumns) columns[name] = py::list();
  for (uint64_t from = 0;;) {
    const py::tuple page = Page(self, from, kPage, where);
    for (const py::handle t : page[0]) {
      for (const char* name : kColumns) {
        columns[name].cast<py::list>().append(t.attr(name));
      }
    }
    if (page[1].is_none()) break;
    from = page[1].cast<uint64_t>();
  }
  return py::module_::import("pandas").attr("DataFrame")(columns);
}

void DefineLook(GalleryClass& c) {
  c.def_property_readonly("name", &GalleryHandle::name,
                          "Name of the gallery: FOLDER or FOLDER:NAME.");
  const auto newest = [](const GalleryHandle& self) { return Call([&] { return self.Newest(); }); };
  c.def("__len__", [newest](const GalleryHandle& self) { return newest(self).size(); });
  c.def_property_readonly(
      "gallery_id", [newest](const GalleryHandle& self) { return HexOf(newest(self).id()); },
      "Random id of the gallery; 32 hexadecimal digits.");
  c.def_property_readonly(
      "generation", [newest](const GalleryHandle& self) { return newest(self).generation(); },
      "Number of the gallery's state; each change increases it.");
  c.def_property_readonly(
      "key_id", [newest](const GalleryHandle& self) { return HexOf(newest(self).key_id()); },
      "Id of the secret key of its templates.");
  c.def_property_readonly(
      "params_id", [newest](const GalleryHandle& self) { return HexOf(newest(self).params_id()); },
      "Id of the encryption parameters, as FileInfo.params_id.");
  c.def_property_readonly(
      "server_key",
      [](const GalleryHandle& self) {
        return HexOf(Call([&] { return self.Signer(); })->public_key());
      },
      "Public key of the gallery's server; it is made if there is none.");
  Method(
      c, "identities",
      [](const GalleryHandle& self) {
        std::vector<std::string> all = Call([&]() -> absl::StatusOr<std::vector<std::string>> {
          auto gallery = self.Newest();
          if (!gallery.ok()) return gallery.status();
          return gallery->identities();
        });
        return all;
      },
      "Identity of each template, by position; empty for a free position.");
  Method(c, "page", &Page,
         "Templates ordered by position, at most count (0: all), that meet the conditions\n"
         "(\"site=berlin\", \"age=18..30\"). Returns them and the position to continue from, or\n"
         "None.",
         py::arg("start") = 0, py::arg("count") = 1000, py::arg("where") = py::none());
  Method(c, "to_dataframe", &TemplateFrame, "All templates as a pandas DataFrame.",
         py::arg("where") = py::none());
  Method(
      c, "person",
      [](const GalleryHandle& self, const std::string& identity) {
        self.Check();
        return Call([&] { return DescribePerson(self.name(), identity); });
      },
      "The templates of an identity, and the number of pending ones.", py::arg("identity"));
  Method(
      c, "pending",
      [](const GalleryHandle& self) {
        self.Check();
        return Call([&] { return PendingEnrolments(self.name()); });
      },
      "Pending enrolments.");
}

py::bytes AskForRenewal(const GalleryHandle& self, const MatcherHandle& matcher, bool compact,
                        bool sign, const py::object& progress) {
  self.Check();
  const auto server = matcher.Get();
  Watch watch(progress);
  return BytesOf(Call([&] {
    return self.At({*server, nullptr, matcher.key_owner()})
        .AskRenewal(self.name(), {compact}, {.sign = sign}, watch.monitor());
  }));
}

void DefineRemoval(GalleryClass& c) {
  Method(
      c, "remove",
      [](const GalleryHandle& self, const MatcherHandle& matcher, const py::object& identities,
         const py::object& authorisation, const std::optional<Trust>& trust) {
        self.Check();
        const auto server = matcher.Get();
        const std::vector<std::string> names = LabelsOf(identities);
        std::vector<uint8_t> allowed;
        if (!authorisation.is_none()) allowed = Source(authorisation, "authorisation").Release();
        const Desk desk(*server, trust ? &*trust : nullptr, matcher.key_owner());
        return Call([&] { return desk.Remove(self.name(), names, std::move(allowed)); });
      },
      "Removes all templates of one or several identities for good, in one change. If trust\n"
      "lists registrars, one of them must have allowed it (SigningKey.authorise). NotFound,\n"
      "FailedPrecondition, Unavailable.",
      py::arg("matcher"), py::arg("identities"), py::kw_only(),
      py::arg("authorisation") = py::none(), py::arg("trust") = py::none());
  Method(
      c, "remove_expired",
      [](const GalleryHandle& self, const MatcherHandle& matcher) {
        self.Check();
        const auto server = matcher.Get();
        return Call([&] { return RemoveExpired(*server, self.name()); });
      },
      "Removes all templates that have expired.", py::arg("matcher"));
  Method(
      c, "reject_pending",
      [](const GalleryHandle& self, const MatcherHandle& matcher, const py::object& entries) {
        self.Check();
        const auto server = matcher.Get();
        const std::vector<Digest> which = EntriesOf(entries);
        return Call([&] { return RejectPending(*server, self.name(), which); });
      },
      "Deletes pending enrolments by PendingEnrolment.entry, one or several: those that are\n"
      "damaged, which the key owner cannot decide. NotFound.",
      py::arg("matcher"), py::arg("entries"));
  Method(
      c, "roll_back",
      [](const GalleryHandle& self, const MatcherHandle& matcher, uint64_t generation) {
        self.Check();
        const auto server = matcher.Get();
        return Call([&] { return RollBack(*server, self.name(), generation); });
      },
      "Removes all templates that were enrolled after a generation. FailedPrecondition if some\n"
      "of them are older than the journal keeps: use remove instead.",
      py::arg("matcher"), py::arg("generation"));
  Method(c, "ask_renewal", &AskForRenewal,
         "A signed request for KeyOwner.renew, to rebuild blocks without the removed templates.\n"
         "NotFound if there is nothing to renew.",
         py::arg("matcher"), py::kw_only(), py::arg("compact") = false, py::arg("sign") = true,
         py::arg("progress") = py::none());
  Method(
      c, "renew",
      [](const GalleryHandle& self, const MatcherHandle& matcher, const py::object& answer,
         const Trust& trust) {
        self.Check();
        const auto server = matcher.Get();
        const Source source(answer, "renewal");
        const Desk desk(*server, &trust, matcher.key_owner());
        return Call([&] { return desk.Renew(self.name(), source.bytes(), source.what()); });
      },
      "Replaces the blocks by those in the key owner's answer, which a key owner that trust\n"
      "lists must have signed.",
      py::arg("matcher"), py::arg("answer"), py::arg("trust"));
}

}  // namespace

absl::StatusOr<Gallery> GalleryHandle::Newest() const {
  std::shared_ptr<const Gallery> base;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed)
      return absl::FailedPreconditionError("this gallery is closed: open it again");
    base = state_->base;
  }
  auto newest = base != nullptr ? base->Newest() : Gallery::Open(state_->name);
  if (!newest.ok() || base != nullptr) return newest;
  const std::lock_guard lock(state_->mutex);
  if (state_->base == nullptr && !state_->closed) {
    state_->base = std::make_shared<const Gallery>(newest->Unread());
  }
  return newest;
}

absl::StatusOr<std::shared_ptr<const SigningKey>> GalleryHandle::Signer() const {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed) {
      return absl::FailedPreconditionError("this gallery is closed: open it again");
    }
    if (state_->signer != nullptr) return state_->signer;
  }
  // Without the mutex: this may wait for another process, and ask the interpreter meanwhile.
  auto key = GallerySigner(state_->name);
  if (!key.ok()) return key.status();
  auto signer = std::make_shared<const SigningKey>(*std::move(key));
  const std::lock_guard lock(state_->mutex);
  if (!state_->closed) state_->signer = signer;
  return signer;
}

Desk GalleryHandle::At(Desk desk) const {
  desk.open = [at = *this](const std::string&) { return at.Newest(); };
  desk.signer = [at = *this](const std::string&) { return at.Signer(); };
  return desk;
}

void GalleryHandle::Close() {
  const py::gil_scoped_release release;
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->base = nullptr;
  state_->signer = nullptr;
}

void GalleryHandle::Check() const {
  if (closed()) Throw(absl::FailedPreconditionError("this gallery is closed: open it again"));
}

GalleryHandle HandleOf(const py::object& gallery) {
  if (!py::isinstance<GalleryHandle>(gallery)) return GalleryHandle(PathOf(gallery));
  const auto& handle = gallery.cast<const GalleryHandle&>();
  handle.Check();
  return handle;
}

void DefineGallery(py::module_& m) {
  GalleryClass c(
      m, "Gallery",
      "Enrolled, encrypted templates in a store: FOLDER, or FOLDER:NAME for one of several.\n"
      "Each call sees the newest state. Any number of processes may read; one at a time\n"
      "changes.");
  Init(
      c,
      [](const py::object& path) {
        GalleryHandle handle(PathOf(path));
        Call([&] { return handle.Newest(); });
        return handle;
      },
      "Opens an existing gallery; the first enrolment, or create, makes one. NotFound,\n"
      "DataLoss.",
      py::arg("path"));
  DefineLook(c);
  DefineRemoval(c);
  c.def("__repr__", [](const GalleryHandle& self) {
    return "<heft.Gallery " + self.name() + (self.closed() ? ", closed>" : ">");
  });
  ContextManager(c, "Closes its files.");
  RefuseCopies(c, "a Gallery is not pickled or copied: open it again by its name");
}

}  // namespace heft::python
