// SPDX-License-Identifier: Apache-2.0
// Checking a server: its replies once more, bit for bit, from a copy of the gallery.
#include "heft/audit.h"

#include "heft/audit_log.h"
#include "heft/gallery_admin.h"
#include "python/values.h"

namespace heft::python {
namespace {

constexpr uint64_t kMaxSeedSize = 1 << 12;

std::vector<std::vector<SampleFile>> RequestsOf(const py::object& requests) {
  if (py::isinstance<py::str>(requests) || py::isinstance<py::dict>(requests) ||
      PyObject_CheckBuffer(requests.ptr()) != 0) {
    throw py::type_error("requests: a list of requests, each as Matcher.identify takes its files");
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

AuditFinding State(const MatcherHandle& self, const py::object& copy, const Trust& trust,
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

void DefineServer(py::class_<GalleryHandle>& c) {
  Method(
      c, "make_audit_key",
      [](const GalleryHandle& self) {
        self.Check();
        Call([&] { return MakeAuditKey(self.name()); });
      },
      "The secret that the seeds of replies are derived from, audit.key in the folder, where "
      "there\n"
      "is none. Signing makes it anyway. Unavailable, DataLoss.");
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
      "What the random choices of one of this gallery's replies follow from, for who audits it "
      "and\n"
      "nobody else (SECURITY.md, \"Checking the server\").\n"
      "server_key: that signed it, if not the gallery's. FailedPrecondition for another's reply;\n"
      "NotFound without an audit key.",
      py::arg("reply"), py::kw_only(), py::arg("server_key") = "");
  c.def_property_readonly(
      "state_file", [](const GalleryHandle& self) { return StateFile(self.name()); },
      "Where Matcher.admit keeps what the key owner signed of it last.");
}

void DefineAuditor(py::class_<MatcherHandle>& c) {
  Method(
      c, "audit_reply", &Reply,
      "Whether a server of trust has made this reply from the gallery of which copy (a Gallery or "
      "its\n"
      "name) is a copy, as it was when it answered. seed: Gallery.reveal_seed's. requests: a list "
      "of\n"
      "requests as they were sent, of the one that it answers and any others. An AuditFinding, "
      "false\n"
      "if the reply is not what it should be. FailedPrecondition, DataLoss for what cannot be "
      "judged.",
      py::arg("copy"), py::arg("reply"), py::arg("seed"), py::arg("requests"), py::arg("trust"));
  Method(c, "audit_gallery", &State,
         "Whether a key owner of trust has signed this very gallery, block by block; state: the "
         "admission\n"
         "that says so, Gallery.state_file if there is none given. Reads all. Errors as "
         "audit_reply's.",
         py::arg("copy"), py::arg("trust"), py::arg("state") = py::none());
}

// HeadOf: "LINES:HASH", or nothing.
std::optional<AuditHead> HeadOf(const std::optional<std::string>& text, const char* name) {
  if (!text) return std::nullopt;
  return Call([&] { return ParseAuditHead(*text, name); });
}

void DefineLogs(py::module_& m) {
  Record<AuditHead> head(m, "AuditHead", "How far an audit log goes; its str is LINES:HASH.");
  head.Field("lines", &AuditHead::lines, "How many there are.")
      .Field("hash", &AuditHead::hash, "Of the last one, hexadecimal.");
  head.object().def("__str__", [](const AuditHead& self) {
    return std::to_string(self.lines) + ":" + self.hash;
  });
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
      "Whether audit logs of the services, the oldest first, hold together as one chain. noted: a\n"
      "head noted earlier, LINES:HASH, which must be on it; after: the one that the first line\n"
      "follows, where files before it are not given. DataLoss says which line is wrong;\n"
      "InvalidArgument, NotFound, Unavailable.",
      py::arg("files"), py::kw_only(), py::arg("noted") = py::none(),
      py::arg("after") = py::none());
}

}  // namespace

void DefineAudit(py::module_& m) {
  DefineLogs(m);
  Record<AuditFinding> finding(m, "AuditFinding", "What an audit has found; false if it is wrong.");
  finding.Field("right", &AuditFinding::right, "Whether all is as it should be.")
      .Field("reason", &AuditFinding::reason, "What is wrong; empty if nothing is.");
  finding.object().def("__bool__", [](const AuditFinding& self) { return self.right; });
  auto gallery = m.attr("Gallery").cast<py::class_<GalleryHandle>>();
  DefineServer(gallery);
  auto matcher = m.attr("Matcher").cast<py::class_<MatcherHandle>>();
  DefineAuditor(matcher);
  Function(m, "choose_for_audit", &ChooseForAudit,
           "Which of so many replies to audit, one in one_in of them and one at least, by fresh\n"
           "randomness, so that no server knows which. Rising.",
           py::arg("replies"), py::arg("one_in"));
}

}  // namespace heft::python
