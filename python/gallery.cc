// SPDX-License-Identifier: Apache-2.0
// Galleries by name: their content, page by page, and removals.
#include "heft/gallery.h"

#include "heft/audit.h"
#include "heft/gallery_admin.h"
#include "heft/removal.h"
#include "python/erasure.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Class = py::class_<GalleryHandle>;

constexpr uint64_t kPage = 10000;  // templates that are listed at once, of an iteration

void DefineResults(py::module_& m) {
  Record<ListedTemplate>(m, "Template", "Who stands at a position of a gallery.")
      .Field("position", &ListedTemplate::position, "From 0.")
      .Field("identity", &ListedTemplate::identity, "As it was enrolled.")
      .Field("person", &ListedTemplate::person, "By this, receipts of erasure name it.")
      .Field("generation", &ListedTemplate::generation, "In which it came.")
      .Field("enrolled", &ListedTemplate::enrolled, "Unix seconds; 0: unknown.")
      .Field("expires", &ListedTemplate::expires, "Unix seconds; 0: never.")
      .Field(
          "metadata", [](const ListedTemplate& t) { return MetadataDict(t.metadata); },
          "Lists of values by key.");
  Record<PersonInfo>(m, "PersonInfo", "An identity's templates.")
      .Field("templates", &PersonInfo::templates, "In the order of positions.")
      .Field("waiting", &PersonInfo::waiting, "Templates that nobody has admitted.");
  Record<PendingEnrolment>(m, "PendingEnrolment", "What was enrolled and is decided together.")
      .Field(
          "entry", [](const PendingEnrolment& e) { return HexOf(e.entry); },
          "Names it, for KeyOwner.admit; 64 hexadecimal digits.")
      .Field(
          "client",
          [](const PendingEnrolment& e) {
            return e.client == SignerKey{} ? std::string() : HexOf(e.client);
          },
          "The key of who sent it; empty if not signed.")
      .Field("bytes", &PendingEnrolment::bytes, "In quarantine.")
      .Field("identities", &PendingEnrolment::identities, "One a template.");
  Record<RemoveResult>(m, "RemoveResult", "Who answers nobody any more, and what is left of them.")
      .Field("removed", &RemoveResult::removed, "Templates that answer no more.")
      .Field("erased", &RemoveResult::erased, "Of which nothing is left.")
      .Field("leaving", &RemoveResult::leaving, "Until ask_renewal and renew.")
      .Field("rejected", &RemoveResult::rejected, "Enrolments that waited, and are gone.")
      .Field("generation", &RemoveResult::generation, "Of the gallery from now on.")
      .Field("persons", &RemoveResult::persons, "By these, receipts name them.")
      .Field(
          "receipts", [](const RemoveResult& r) { return ReceiptsOf(r.receipts); },
          "Signed receipts of what is erased.")
      .Field(
          "overwritten", [](const RemoveResult& r) { return r.overwritten.ok(); },
          "False where somebody still reads an older generation: done with the next change.");
  Record<RenewResult>(m, "RenewResult", "What the key owner's answer to ask_renewal has changed.")
      .Field("blocks", &RenewResult::blocks, "Renewed.")
      .Field("freed", &RenewResult::freed, "Blocks that hold nothing any more.")
      .Field("moved", &RenewResult::moved, "Templates that stand elsewhere.")
      .Field("erased", &RenewResult::erased, "Templates that are gone.")
      .Field("leaving", &RenewResult::leaving, "Templates that still wait for a renewal.")
      .Field(
          "receipts", [](const RenewResult& r) { return ReceiptsOf(r.receipts); },
          "Signed receipts of what is erased.")
      .Field(
          "overwritten", [](const RenewResult& r) { return r.overwritten.ok(); },
          "As RemoveResult.overwritten.")
      .Field("generation", &RenewResult::generation, "Of the gallery from now on.");
}

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

py::object Frame(const GalleryHandle& self, const py::object& where) {
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

void DefineLook(Class& c) {
  c.def_property_readonly("name", &GalleryHandle::name, "FOLDER or FOLDER:NAME.");
  const auto newest = [](const GalleryHandle& self) { return Call([&] { return self.Newest(); }); };
  c.def("__len__", [newest](const GalleryHandle& self) { return newest(self).size(); });
  c.def_property_readonly(
      "id", [newest](const GalleryHandle& self) { return HexOf(newest(self).id()); },
      "Drawn when it was started; 32 hexadecimal digits.");
  c.def_property_readonly(
      "generation", [newest](const GalleryHandle& self) { return newest(self).generation(); },
      "Counts the changes.");
  c.def_property_readonly(
      "key_id", [newest](const GalleryHandle& self) { return HexOf(newest(self).key_id()); },
      "Of the secret key that its templates are under.");
  c.def_property_readonly(
      "params_id", [newest](const GalleryHandle& self) { return HexOf(newest(self).params_id()); },
      "Of the encryption parameters, as FileInfo.params_id.");
  c.def_property_readonly(
      "server_key",
      [](const GalleryHandle& self) {
        return HexOf(Call([&] { return self.Signer(); })->public_key());
      },
      "Public key that its server signs with; made where there is none.");
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
      "Identity of each template, by position; empty where nobody stands.");
  Method(c, "page", &Page,
         "Templates in the order of positions, count of them at most (0: all), that fit the\n"
         "conditions (\"site=berlin\", \"age=18..30\"); and the position to go on from, or None.",
         py::arg("start") = 0, py::arg("count") = 1000, py::arg("where") = py::none());
  Method(c, "to_dataframe", &Frame, "All templates, as a pandas DataFrame.",
         py::arg("where") = py::none());
  Method(
      c, "person",
      [](const GalleryHandle& self, const std::string& identity) {
        self.Check();
        return Call([&] { return DescribePerson(self.name(), identity); });
      },
      "An identity's templates, and how many wait.", py::arg("identity"));
  Method(
      c, "waiting",
      [](const GalleryHandle& self) {
        self.Check();
        return Call([&] { return WaitingEnrolments(self.name()); });
      },
      "Enrolments that nobody has admitted.");
}

py::bytes AskForRenewal(const GalleryHandle& self, const MatcherHandle& matcher, bool compact,
                        bool sign, const py::object& progress) {
  self.Check();
  const auto server = matcher.Get();
  Watch watch(progress);
  return BytesOf(Call([&]() -> absl::StatusOr<std::vector<uint8_t>> {
    const auto request = AskRenewal(*server, self.name(), {compact}, watch.monitor());
    if (!request.ok() || !sign) return request;
    const auto newest = self.Newest();
    if (!newest.ok()) return newest.status();
    const auto signer = self.Signer();
    if (!signer.ok()) return signer.status();
    return SignReply(**signer, *newest, {}, 0, matcher.key_owner(), *request, kAdmissionLife);
  }));
}

void DefineRemoval(Class& c) {
  Method(
      c, "remove",
      [](const GalleryHandle& self, const MatcherHandle& matcher, const py::object& identities,
         const py::object& authorisation, const std::optional<Trust>& trust) {
        self.Check();
        const auto server = matcher.Get();
        const std::vector<std::string> names = LabelsOf(identities);
        RemoveOptions options;
        if (!authorisation.is_none()) {
          options.authorisation = Source(authorisation, "authorisation").Release();
        }
        if (trust) options.trust = &*trust;
        return Call([&] { return Remove(*server, self.name(), names, options); });
      },
      "All templates of one or several identities, in one change, for good. Where trust lists\n"
      "registrars, one of them must have allowed it (SigningKey.authorise). NotFound,\n"
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
      "All whose time is over.", py::arg("matcher"));
  Method(
      c, "roll_back",
      [](const GalleryHandle& self, const MatcherHandle& matcher, uint64_t generation) {
        self.Check();
        const auto server = matcher.Get();
        return Call([&] { return RollBack(*server, self.name(), generation); });
      },
      "All who were enrolled after a generation. FailedPrecondition where some of them came too "
      "long\n"
      "ago: remove them.",
      py::arg("matcher"), py::arg("generation"));
  Method(c, "ask_renewal", &AskForRenewal,
         "A request for KeyOwner.renew, signed: blocks without those who leave. NotFound where "
         "there is "
         "nothing\n"
         "to renew.",
         py::arg("matcher"), py::kw_only(), py::arg("compact") = false, py::arg("sign") = true,
         py::arg("progress") = py::none());
  Method(
      c, "renew",
      [](const GalleryHandle& self, const MatcherHandle& matcher, const py::object& answer,
         const Trust& trust) {
        self.Check();
        const auto server = matcher.Get();
        const Source source(answer, "renewal");
        return Call(
            [&] { return Renew(*server, self.name(), source.bytes(), source.what(), trust); });
      },
      "The key owner's answer, signed by one whom trust lists, takes the place of the blocks.",
      py::arg("matcher"), py::arg("answer"), py::arg("trust"));
}

}  // namespace

absl::StatusOr<Gallery> GalleryHandle::Newest() const {
  std::shared_ptr<const Gallery> base;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closed)
      return absl::FailedPreconditionError("this gallery is closed: open it anew");
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
      return absl::FailedPreconditionError("this gallery is closed: open it anew");
    }
    if (state_->signer != nullptr) return state_->signer;
  }
  // Without the mutex: this may wait for another process, and ask the interpreter meanwhile.
  auto key = GallerySigner(state_->name);
  if (!key.ok()) return key.status();
  if (absl::Status made = MakeAuditKey(state_->name); !made.ok()) return made;
  auto signer = std::make_shared<const SigningKey>(*std::move(key));
  const std::lock_guard lock(state_->mutex);
  if (!state_->closed) state_->signer = signer;
  return signer;
}

void GalleryHandle::Close() {
  const py::gil_scoped_release release;
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->base = nullptr;
  state_->signer = nullptr;
}

void GalleryHandle::Check() const {
  if (closed()) Throw(absl::FailedPreconditionError("this gallery is closed: open it anew"));
}

GalleryHandle HandleOf(const py::object& gallery) {
  if (!py::isinstance<GalleryHandle>(gallery)) return GalleryHandle(PathOf(gallery));
  const auto& handle = gallery.cast<const GalleryHandle&>();
  handle.Check();
  return handle;
}

void DefineGallery(py::module_& m) {
  DefineResults(m);
  Class c(
      m, "Gallery",
      "Enrolled, encrypted templates in a store: FOLDER, or FOLDER:NAME for one of several.\n"
      "Each call sees the newest state; any number of processes may read, one changes at a time.");
  Init(
      c,
      [](const py::object& path) {
        GalleryHandle handle(PathOf(path));
        Call([&] { return handle.Newest(); });
        return handle;
      },
      "One that is there; the first enrolment, or create, makes one. NotFound, DataLoss.",
      py::arg("path"));
  DefineLook(c);
  DefineRemoval(c);
  c.def("__repr__", [](const GalleryHandle& self) {
    return "<heft.Gallery " + self.name() + (self.closed() ? ", closed>" : ">");
  });
  ContextManager(c, "Lets go of its files.");
  RefuseCopies(c, "a Gallery is not pickled or copied: open it again by its name");
}

}  // namespace heft::python
