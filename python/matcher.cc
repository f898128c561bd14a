// SPDX-License-Identifier: Apache-2.0
// The server's role: it fuses, enrols and matches encrypted samples, and can read none.
#include "heft/desk.h"
#include "heft/enrol_many.h"
#include "heft/server.h"
#include "python/values.h"

namespace heft::python {
namespace {

// Keys: a key file, or its expanded form from ExpandedKeys; `kind` as in docs/formats.md.
class Keys {
 public:
  Keys(const py::object& keys, const char* what, const char* kind,
       const std::optional<Trust>& trust)
      : what_(what) {
    if (py::isinstance<ExpandedKeys>(keys)) {
      expanded_ = &keys.cast<const ExpandedKeys&>();
      if (!trust) return;
      const Expected expected = {.roles = {Role::kKeyOwner}, .kind = kind};
      signer_ = Take(expanded_->CheckSigned(*trust, expected, what_)).signer;
    } else {
      source_.emplace(keys, what, kMaxKeysSize);
      what_ = source_->what();
      CheckSigned(trust, source_->bytes(), Role::kKeyOwner, kind, what_);
      if (IsSigned(source_->bytes())) signer_ = Take(ReadSigned(source_->bytes(), what_)).signer;
    }
  }
  KeyFile view() const {
    return {source_ ? source_->bytes() : std::span<const uint8_t>(), what_, expanded_};
  }
  const SignerKey& signer() const { return signer_; }

 private:
  std::optional<Source> source_;
  const ExpandedKeys* expanded_ = nullptr;  // the caller keeps it
  std::string what_;
  SignerKey signer_{};
};

MatcherHandle CreateMatcher(const Model& model, const py::object& evaluation,
                            const py::object& enrolment, const std::optional<Trust>& trust) {
  const Keys keys(evaluation, "evaluation keys", "EVAL", trust);
  // Profiles of one ring have none, and give nothing or no bytes.
  std::optional<Keys> more;
  const bool empty = PyBytes_Check(enrolment.ptr()) != 0 && PyBytes_GET_SIZE(enrolment.ptr()) == 0;
  if (!enrolment.is_none() && !empty) more.emplace(enrolment, "enrolment keys", "ENRK", trust);
  return {
      Call([&] { return Server::CreateFrom(model, keys.view(), more ? more->view() : KeyFile()); }),
      keys.signer()};
}

EnrolResult Enrol(const MatcherHandle& self, const py::object& gallery, const py::object& samples,
                  const std::string& identity, bool all_pairs, bool average,
                  const py::object& metadata, uint64_t expires, const py::object& authorisation,
                  const std::optional<Trust>& trust, const std::string& idempotency_key,
                  const std::optional<ShardList>& shards, const py::object& progress) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  EnrolOptions options;
  options.identity = identity, options.all_pairs = all_pairs, options.average = average;
  options.metadata = MetadataOf(metadata), options.expires = expires;
  options.idempotency_key = idempotency_key;
  if (!authorisation.is_none()) {
    options.authorisation = Source(authorisation, "authorisation").Release();
  }
  EnrolRequest request = {handle.name(), shards, SampleFilesOf(samples), std::move(options)};
  Watch watch(progress);
  return Call([&] {
    const Desk desk(*server, trust ? &*trust : nullptr, self.key_owner());
    return desk.Enrol(std::move(request), watch.monitor());
  });
}

// ApproverOf: None, a KeyOwner, or a function from a request to the answer.
auto ApproverOf(const py::object& owner) -> decltype(EnrolManyOptions::approve) {
  using Answer = absl::StatusOr<std::vector<uint8_t>>;
  if (owner.is_none()) return {};
  if (py::isinstance<OwnerHandle>(owner)) {
    const auto state = owner.cast<const OwnerHandle&>().Get();
    return [state](std::span<const uint8_t> request) -> Answer {
      const Reading reading(state);
      auto answer = state->owner.Approve(request, "pending");
      if (!answer.ok()) return answer.status();
      return std::move(answer->signed_admission);
    };
  }
  if (PyCallable_Check(owner.ptr()) == 0) {
    throw py::type_error(
        "owner: give a KeyOwner, or a function that answers requests for admission");
  }
  PyObject* function = owner.ptr();  // the caller keeps it
  return [function](std::span<const uint8_t> request) -> Answer {
    const py::gil_scoped_acquire acquire;
    try {
      const py::object answer = py::reinterpret_borrow<py::object>(function)(BytesOf(request));
      return Source(answer, "admission").Release();
    } catch (py::error_already_set& e) {
      Keep(&e);
      return absl::CancelledError("the key owner's answer failed");
    }
  };
}

// TellStart sets the attribute `start` of an exception, the row to continue with, if possible.
void TellStart(const py::error_already_set& error, size_t next) {
  if (PyObject_SetAttrString(error.value().ptr(), "start", py::int_(next).ptr()) != 0)
    PyErr_Clear();
}

EnrolManyResult EnrolThem(const MatcherHandle& self, const py::object& gallery,
                          const py::dict& vectors, const py::object& labels, const Client& client,
                          const py::object& owner, const py::object& metadata, uint64_t expires,
                          const std::optional<Trust>& trust, size_t start,
                          const py::object& progress) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  std::vector<std::string> names;
  std::vector<Matrix> rows;
  for (const auto& [name, array] : MappingOf(vectors, "vectors")) {
    names.push_back(TextOf(name, "vectors"));
    rows.push_back(MatrixOf(array, names.back()));
  }
  const std::vector<std::string> identities = LabelsOf(labels);
  std::vector<Samples> samples;
  for (size_t i = 0; i < names.size(); ++i) {
    if (rows[i].rows != identities.size()) {
      Wrong(names[i] + ": " + std::to_string(rows[i].rows) + " rows, and " +
            std::to_string(identities.size()) + " labels");
    }
    samples.push_back({names[i], rows[i].values, identities});
  }
  EnrolManyOptions options;
  options.metadata = MetadataOf(metadata), options.expires = expires;
  options.approve = ApproverOf(owner), options.from = start;
  if (trust) options.trust = &*trust;
  size_t next = start;
  options.next = &next;
  Watch watch(progress);
  try {
    return Call([&] {
      return EnrolMany(client, *server, handle.name(), samples, options, watch.monitor());
    });
  } catch (py::error_already_set& error) {
    // Ctrl-C and exceptions of callbacks keep their own messages.
    TellStart(error, next);
    throw;
  }
}

py::bytes PendingOf(const MatcherHandle& self, const py::object& gallery, uint64_t templates,
                    uint64_t bytes, bool sign) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  const PendingLimit limit = templates == 0 ? kAllPending : PendingLimit{templates, bytes};
  return BytesOf(Call([&] {
    return handle.At({*server, nullptr, self.key_owner()})
        .Pending(handle.name(), limit, {.sign = sign});
  }));
}

ActivateResult Activate(const MatcherHandle& self, const py::object& gallery,
                        const py::object& admission, const py::object& key_owner,
                        const py::object& progress) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(gallery);
  const Source source(admission, "admission");
  Trust trust;
  if (py::isinstance<Trust>(key_owner)) {
    trust = key_owner.cast<Trust>();
  } else {
    const SignerKey key = Take(ParseSignerKey(TextOf(key_owner, "key_owner")));
    Take(trust.Add(Role::kKeyOwner, "the key owner", key));
  }
  Watch watch(progress);
  return Call([&] {
    const Desk desk(*server, &trust, self.key_owner());
    return desk.Activate(handle.name(), source.bytes(), source.what(), watch.monitor());
  });
}

void DefineEnrolment(MatcherClass& c) {
  Method(
      c, "enrol", &Enrol,
      "Fuses encrypted samples, one file per modality, into pending templates of a gallery: all\n"
      "or none. They are not matched until they are activated. The gallery (a Gallery, or its "
      "name) is made\n"
      "if it does not exist.\n\n"
      "samples: a mapping from modalities to files, or files; each bytes or a path. identity:\n"
      "used instead of the samples' labels. average: one template per identity, the mean of its\n"
      "samples. metadata: stored beside each template, not encrypted. trust: if it lists\n"
      "clients, one of them must have signed the samples; its registrars authorise further\n"
      "templates of enrolled people. shards: the list of a gallery in buckets; each sample is\n"
      "enrolled in the bucket of its identity, and in each bucket all samples or none.\n"
      "AlreadyExists, FailedPrecondition, DataLoss, InvalidArgument, Unavailable, Cancelled.",
      py::arg("gallery"), py::arg("samples"), py::kw_only(), py::arg("identity") = "",
      py::arg("all_pairs") = false, py::arg("average") = false, py::arg("metadata") = py::none(),
      py::arg("expires") = 0, py::arg("authorisation") = py::none(), py::arg("trust") = py::none(),
      py::arg("idempotency_key") = "", py::arg("shards") = py::none(),
      py::arg("progress") = py::none());
  Method(
      c, "enrol_many", &EnrolThem,
      "Enrols a whole gallery in one call: encrypts with client, fuses and enrols row i of all\n"
      "arrays under labels[i], thousands at a time (docs/python.md). Rows of one identity must\n"
      "be adjacent.\n\n"
      "owner: a KeyOwner, or a function from a request to its answer, that approves each batch;\n"
      "without one all templates stay pending. start: the row to continue from. An exception\n"
      "has that row as `start`; if it is the number of rows, only the admission is missing.\n"
      "InvalidArgument; errors of encrypt, enrol and activate.",
      py::arg("gallery"), py::arg("vectors"), py::arg("labels"), py::kw_only(), py::arg("client"),
      py::arg("owner") = py::none(), py::arg("metadata") = py::none(), py::arg("expires") = 0,
      py::arg("trust") = py::none(), py::arg("start") = 0, py::arg("progress") = py::none());
  Method(
      c, "pending", &PendingOf,
      "A request for the admission of pending templates, for KeyOwner.approve, signed with the\n"
      "gallery's server key. templates: 0 for all; otherwise only the first ones, at most so many\n"
      "and within bytes.",
      py::arg("gallery"), py::kw_only(), py::arg("templates") = 0,
      py::arg("bytes") = uint64_t{64} << 20, py::arg("sign") = true);
  Method(c, "activate", &Activate,
         "Applies the key owner's answer: activated templates join the gallery, rejected ones are\n"
         "deleted. key_owner: a Trust that lists the signer, or the signer's public key.\n"
         "FailedPrecondition, DataLoss, Unavailable, Cancelled.",
         py::arg("gallery"), py::arg("admission"), py::arg("key_owner"), py::kw_only(),
         py::arg("progress") = py::none());
}

}  // namespace

void DefineMatcher(py::module_& m) {
  MatcherClass c(
      m, "Matcher",
      "The server: fuses, enrols and matches encrypted data that it cannot read. It has no key\n"
      "that decrypts. Several threads may use one; each call uses all cores.");
  Init(c, &CreateMatcher,
       "A model and the key owner's evaluation keys; enrolment keys, if the profile has them, to\n"
       "enrol and verify. Keys are bytes, paths or ExpandedKeys. With trust, a key owner that it\n"
       "lists must have signed them. Replies are for the signer of the keys; the signer of\n"
       "ExpandedKeys is known only with trust. DataLoss, FailedPrecondition.",
       py::arg("model"), py::arg("evaluation_keys"), py::arg("enrolment_keys") = py::none(),
       py::kw_only(), py::arg("trust") = py::none());
  DefineEnrolment(c);
  c.def("__repr__", [](const MatcherHandle& self) {
    return std::string(self.closed() ? "<heft.Matcher, closed>" : "<heft.Matcher>");
  });
  ContextManager(c, "Releases the keys after the calls that use them have returned.");
  RefuseCopies(c, "a Matcher is not pickled or copied: make one from the model and the keys");
}

}  // namespace heft::python
