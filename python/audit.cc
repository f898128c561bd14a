// SPDX-License-Identifier: Apache-2.0
// Checking a server: its replies once more, bit for bit, from a copy of the gallery.
#include "heft/audit.h"

#include "heft/gallery_admin.h"
#include "python/values.h"

namespace heft::python {
namespace {

constexpr uint64_t kMaxSeedSize = 1 << 12;

std::vector<std::vector<SampleFile>> RequestsOf(const py::object& requests) {
  if (py::isinstance<py::str>(requests) || py::isinstance<py::dict>(requests) ||
      PyObject_CheckBuffer(requests.ptr()) != 0) {
    throw py::type_error(
        "requests: give a list of requests, each with files as for Matcher.identify");
  }
  std::vector<std::vector<SampleFile>> out;
  for (const py::handle request : py::iter(requests)) out.push_back(SampleFilesOf(request));
  return out;
}

AuditFinding Reply(const MatcherHandle& self, const py::object& copy, const py::object& reply,
                   const py::object& seed, const py::object& requests, const Trust& trust) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(copy);
  Audited audited;
  audited.reply = Source(reply, "reply", kMaxReplySize).Release();
  audited.seed = Source(seed, "seed", kMaxSeedSize).Release();
  audited.requests = RequestsOf(requests);
  return Call([&]() -> absl::StatusOr<AuditFinding> {
    const auto newest = handle.Newest();
    if (!newest.ok()) return newest.status();
    return AuditReply(*server, *newest, trust, audited);
  });
}

AuditFinding AuditState(const MatcherHandle& self, const py::object& copy, const Trust& trust,
                        const py::object& state) {
  const auto server = self.Get();
  const GalleryHandle handle = HandleOf(copy);
  const Source source(state.is_none() ? py::object(py::str(StateFile(handle.name()))) : state,
                      "state", kMaxReplySize);
  return Call([&]() -> absl::StatusOr<AuditFinding> {
    const auto newest = handle.Newest();
    if (!newest.ok()) return newest.status();
    return AuditGallery(*server, *newest, source.bytes(), trust, source.what());
  });
}

void DefineServer(GalleryClass& c) {
  Method(
      c, "make_audit_key",
      [](const GalleryHandle& self) {
        self.Check();
        Call([&] { return MakeAuditKey(self.name()); });
      },
      "Makes the secret from which the seeds of replies are derived (audit.key in the folder),\n"
      "if there is none. Signing makes it anyway. Unavailable, DataLoss.");
  Method(
      c, "reveal_seed",
      [](const GalleryHandle& self, const py::object& reply, const std::string& server_key) {
        self.Check();
        const Source source(reply, "reply", kMaxReplySize);
        std::optional<SignerKey> key;
        if (!server_key.empty()) key = Take(ParseSignerKey(server_key));
        return BytesOf(Call([&]() -> absl::StatusOr<std::vector<uint8_t>> {
          if (!key) {
            const auto signer = self.Signer();
            if (!signer.ok()) return signer.status();
            key = (*signer)->public_key();
          }
          return RevealSeed(self.name(), *key, source.bytes(), source.what());
        }));
      },
      "The seed of the random choices of one of this gallery's replies. Give it to the auditor\n"
      "of this reply and to no one else (SECURITY.md, \"Checking the server\"). server_key: the\n"
      "key that signed the reply, if not the gallery's. FailedPrecondition for another server's\n"
      "reply; NotFound without an audit key.",
      py::arg("reply"), py::kw_only(), py::arg("server_key") = "");
  c.def_property_readonly(
      "state_file", [](const GalleryHandle& self) { return StateFile(self.name()); },
      "The path where Matcher.activate keeps the state that the key owner signed last.");
}

void DefineAuditor(MatcherClass& c) {
  Method(
      c, "audit_reply", &Reply,
      "Checks whether a server that trust lists computed this reply correctly.\n\n"
      "copy: a copy of the gallery (a Gallery or its name) from the time of the answer. seed:\n"
      "from Gallery.reveal_seed. requests: a list of requests as they were sent, which includes\n"
      "the answered one. Returns an AuditFinding, which is false if the reply is wrong.\n"
      "FailedPrecondition, DataLoss if the reply cannot be checked.",
      py::arg("copy"), py::arg("reply"), py::arg("seed"), py::arg("requests"), py::arg("trust"));
  Method(c, "audit_gallery", &AuditState,
         "Checks, block by block, whether a key owner that trust lists has signed this very\n"
         "gallery. state: the admission with the signature (default: Gallery.state_file). Reads\n"
         "the whole gallery. Errors as audit_reply's.",
         py::arg("copy"), py::arg("trust"), py::arg("state") = py::none());
}

// HeadOf: "LINES:HASH", or nothing.
std::optional<AuditHead> HeadOf(const std::optional<std::string>& text, const char* name) {
  if (!text) return std::nullopt;
  return Call([&] { return ParseAuditHead(*text, name); });
}

void DefineLogs(py::module_& m) {
  auto head = m.attr("AuditHead").cast<py::class_<AuditHead>>();
  head.def("__str__",
           [](const AuditHead& self) { return std::to_string(self.lines) + ":" + self.hash; });
  Function(
      m, "verify_audit_logs",
      [](const py::object& files, const std::optional<std::string>& noted,
         const std::optional<std::string>& after) {
        std::vector<std::string> paths;
        for (const py::handle file : py::iter(files)) paths.push_back(PathOf(file));
        const auto expected = HeadOf(noted, "noted"), follows = HeadOf(after, "after");
        return Call([&] {
          return VerifyAuditLogs(paths, expected ? &*expected : nullptr,
                                 follows ? &*follows : nullptr);
        });
      },
      "Checks that audit logs of the services, oldest first, form one chain.\n\n"
      "noted: a head noted earlier, LINES:HASH, which must be in the chain. after: the head\n"
      "before the first line, if older files are not given. DataLoss names the wrong line, or\n"
      "says that the files have none; InvalidArgument, NotFound, Unavailable.",
      py::arg("files"), py::kw_only(), py::arg("noted") = py::none(),
      py::arg("after") = py::none());
}

}  // namespace

void DefineAudit(py::module_& m) {
  DefineLogs(m);
  auto finding = m.attr("AuditFinding").cast<py::class_<AuditFinding>>();
  finding.def("__bool__", [](const AuditFinding& self) { return self.right; });
  auto gallery = m.attr("Gallery").cast<GalleryClass>();
  DefineServer(gallery);
  auto matcher = m.attr("Matcher").cast<MatcherClass>();
  DefineAuditor(matcher);
  Function(
      m, "choose_for_audit", &ChooseForAudit,
      "Chooses the replies to audit: one in one_in of them, at least one, at random, so that no\n"
      "server can foresee the choice. Indices in rising order.",
      py::arg("replies"), py::arg("one_in"));
}

}  // namespace heft::python
