// SPDX-License-Identifier: Apache-2.0
#include "heft/trust.h"

#include <algorithm>

#include "heft/authorisation.h"
#include "heft/inspect.h"
#include "python/values.h"

namespace heft::python {
namespace {

SignerKey KeyOf(const std::string& text) { return Take(ParseSignerKey(text)); }
SignerKey KeyOrNobody(const std::string& text) { return text.empty() ? SignerKey{} : KeyOf(text); }
GalleryId GalleryOrNone(const std::string& text) {
  return text.empty() ? GalleryId{} : Take(ParseGalleryId(text));
}
// Hexadecimal digits; empty for zeros, which mean no signer.
std::string HexOrEmpty(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t b) { return b == 0; }) ? "" : HexOf(bytes);
}

// Opened: a signed file and its signer; `file` is a copy.
struct Opened {
  Statement statement;
  std::string signer, signer_name, file;

  explicit Opened(const SignedFile& from)
      : statement(from.statement),
        signer(HexOf(from.signer)),
        signer_name(from.signer_name),
        file(from.file.begin(), from.file.end()) {}
};

void DefineSignedFile(py::module_& m) {
  Record<Opened>(m, "SignedFile", "What was signed, by whom and for whom.")
      .Field(
          "file", [](const Opened& o) { return py::bytes(o.file); }, "The bytes in it.")
      .Field(
          "kind", [](const Opened& o) { return o.statement.kind; }, "Of the file.")
      .Field(
          "role", [](const Opened& o) { return std::string(RoleName(o.statement.role)); },
          "That the signer acts in.")
      .Field("signer", &Opened::signer, "Public key, 64 hexadecimal digits.")
      .Field("signer_name", &Opened::signer_name, "In the trust file that was asked, if any.")
      .Field(
          "audience", [](const Opened& o) { return HexOrEmpty(o.statement.audience); },
          "For whom; empty: for anybody.")
      .Field(
          "subject", [](const Opened& o) { return HexOrEmpty(o.statement.subject); },
          "Of whom; empty: unknown.")
      .Field(
          "gallery", [](const Opened& o) { return HexOrEmpty(o.statement.gallery); },
          "Its id; empty: of none.")
      .Field(
          "generation", [](const Opened& o) { return o.statement.generation; }, "Of that gallery.")
      .Field(
          "nonce", [](const Opened& o) { return HexOrEmpty(o.statement.nonce); },
          "Drawn for it; 32 hexadecimal digits.")
      .Field(
          "request", [](const Opened& o) { return HexOrEmpty(o.statement.request); },
          "A reply's: request_digest of what it answers; otherwise empty.")
      .Field(
          "issued", [](const Opened& o) { return o.statement.issued; }, "Unix seconds.")
      .Field(
          "expires", [](const Opened& o) { return o.statement.expires; },
          "Unix seconds; 0: it has no end.");
}

void DefineSigningKey(py::module_& m) {
  py::class_<HeldSigner> c(
      m, "SigningKey",
      "An Ed25519 key pair, the secret half in locked memory. It is not pickled,\n"
      "copied or printed.");
  StaticMethod(
      c, "generate", [] { return HeldSigner(Take(SigningKey::Generate()), "this signing key"); },
      "A new one.");
  StaticMethod(
      c, "load",
      [](const py::object& path, const py::object& passphrase) {
        const std::string file = PathOf(path);
        const PassphraseSource source = PassphraseOf(passphrase);
        return HeldSigner(Call([&] { return SigningKey::Load(file, source); }), "this signing key");
      },
      "A file that save wrote. passphrase: a str, or a function that returns one and is asked if "
      "the\n"
      "file is sealed. FailedPrecondition for a file that others may read, InvalidArgument for a\n"
      "wrong passphrase, DataLoss, NotFound.",
      py::arg("path"), py::arg("passphrase") = py::none());
  Method(
      c, "save",
      [](const HeldSigner& self, const py::object& path, const py::object& passphrase) {
        const auto key = self.Get();
        const std::string file = PathOf(path);
        const PassphraseSource source = PassphraseOf(passphrase);
        Call([&] { return key->Save(file, source); });
      },
      "Writes it with mode 0600, sealed where there is a passphrase. AlreadyExists.",
      py::arg("path"), py::arg("passphrase") = py::none());
  c.def_property_readonly(
      "public_key", [](const HeldSigner& self) { return HexOf(self.Get()->public_key()); },
      "64 hexadecimal digits.");
}

void DefineSigning(py::class_<HeldSigner>& c) {
  Method(
      c, "sign",
      [](const HeldSigner& self, const py::object& file, const std::string& role,
         const std::string& audience, const std::string& gallery, uint64_t life) {
        const auto key = self.Get();
        const Source source(file, "file");
        Statement statement;
        statement.role = Take(ParseRole(role));
        statement.audience = KeyOrNobody(audience);
        statement.gallery = GalleryOrNone(gallery);
        statement.issued = UnixTime();
        if (life > 0) statement.expires = statement.issued + life;
        return BytesOf(Call([&] { return key->Sign(statement, source.bytes()); }));
      },
      "One of HEFT's files, signed: role is key-owner, server, client, registrar or trainer; "
      "audience\n"
      "a public key, or empty for anybody; life seconds, 0 for ever. InvalidArgument.",
      py::arg("file"), py::arg("role"), py::kw_only(), py::arg("audience") = "",
      py::arg("gallery") = "", py::arg("life") = kLife);
  Method(
      c, "authorise",
      [](const HeldSigner& self, const std::string& gallery, const std::string& identity,
         const std::string& act, uint64_t life) {
        const auto key = self.Get();
        const GalleryId id = Take(ParseGalleryId(gallery));
        const AuthorisedAct what = Take(ParseAuthorisedAct(act));
        return BytesOf(Call([&] { return Authorise(*key, id, what, identity, life); }));
      },
      "A registrar's word for a change to somebody whom the gallery (its id) has.",
      py::arg("gallery"), py::arg("identity"), py::arg("act") = "add", py::kw_only(),
      py::arg("life") = 86400);
  c.def("__repr__", [](const HeldSigner& self) {
    return self.closed() ? std::string("<heft.SigningKey, closed>")
                         : "<heft.SigningKey " + HexOf(self.Get()->public_key()) + ">";
  });
  ContextManager(c, "Wipes the secret half, once the calls that use it are back.");
  RefuseCopies(c, "a SigningKey is a secret: it is not pickled or copied; save it to a file");
}

void DefineTrustFile(py::module_& m) {
  py::class_<Trust> c(m, "Trust", "Whose signatures to believe, by role.");
  Init(
      c, [] { return Trust(); }, "One that lists nobody.");
  StaticMethod(
      c, "load",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return Trust::Load(file); });
      },
      "A trust file. NotFound, DataLoss.", py::arg("path"));
  StaticMethod(
      c, "load_guarded",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return Trust::LoadGuarded(file); });
      },
      "The same of a file by which something is to be decided: FailedPrecondition where anybody\n"
      "may write it.",
      py::arg("path"));
  StaticMethod(
      c, "parse", [](const std::string& text) { return Take(Trust::Parse(text, "trust")); },
      "The text of one. DataLoss.", py::arg("text"));
  Method(
      c, "save",
      [](const Trust& self, const py::object& path) {
        const std::string file = PathOf(path);
        Call([&] { return self.Save(file); });
      },
      "Replaces the file.", py::arg("path"));
  Method(
      c, "add",
      [](Trust& self, const std::string& role, const std::string& name, const std::string& key) {
        Take(self.Add(Take(ParseRole(role)), name, KeyOf(key)));
      },
      "Believes a public key (64 hexadecimal digits, or the text of a .pub file) in a role.\n"
      "AlreadyExists, FailedPrecondition for a revoked key, InvalidArgument.",
      py::arg("role"), py::arg("name"), py::arg("key"));
  Method(
      c, "revoke", [](Trust& self, const std::string& key) { Take(self.Revoke(KeyOf(key))); },
      "Refused from here on, in every role. NotFound.", py::arg("key"));
  Method(
      c, "pin",
      [](Trust& self, const std::string& gallery, uint64_t generation) {
        self.Pin(Take(ParseGalleryId(gallery)), generation);
      },
      "Replies of pinned galleries (ids) alone are taken, from a generation on.",
      py::arg("gallery"), py::arg("generation") = 0);
}

void DefineTrustView(py::class_<Trust>& c) {
  Method(
      c, "keys",
      [](const Trust& self, const std::string& role) {
        py::dict out;
        for (const Trust::Key& key : self.keys(Take(ParseRole(role)))) {
          out[py::str(key.name)] = HexOf(key.key);
        }
        return out;
      },
      "Names and public keys of a role.", py::arg("role"));
  c.def_property_readonly(
      "galleries",
      [](const Trust& self) {
        py::dict out;
        for (const auto& pinned : self.galleries())
          out[py::str(HexOf(pinned.id))] = pinned.generation;
        return out;
      },
      "Those that are pinned, and from which generation on.");
  c.def_property_readonly(
      "revoked",
      [](const Trust& self) {
        std::vector<std::string> out;
        for (const Trust::Key& key : self.revoked()) out.push_back(HexOf(key.key));
        return out;
      },
      "Public keys that are refused in every role.");
  c.def("__str__", &Trust::Serialize);
  c.def("__reduce__", [](const Trust& self) {
    return py::make_tuple(py::module_::import("heft._restore").attr("trust"),
                          py::make_tuple(self.Serialize()));
  });
}

void DefineOpen(py::module_& m) {
  Function(
      m, "open_signed",
      [](const py::object& file, const Trust& trust, const std::vector<std::string>& roles,
         const std::string& kind, const std::string& audience, const std::string& gallery) {
        const Source source(file, "file");
        Expected expected;
        for (const std::string& role : roles) expected.roles.push_back(Take(ParseRole(role)));
        expected.kind = kind;
        expected.audience = KeyOrNobody(audience);
        expected.gallery = GalleryOrNone(gallery);
        return SignedOf(Take(OpenSigned(source.bytes(), trust, expected, source.what())));
      },
      "The file in a signed one, if trust lists its signer and it is as expected. DataLoss for "
      "damage\n"
      "and false signatures, FailedPrecondition for all other reasons to refuse it.",
      py::arg("file"), py::arg("trust"), py::kw_only(), py::arg("roles") = py::tuple(),
      py::arg("kind") = "", py::arg("audience") = "", py::arg("gallery") = "");
  Function(
      m, "read_signed",
      [](const py::object& file) {
        const Source source(file, "file");
        return SignedOf(Take(ReadSigned(source.bytes(), source.what())));
      },
      "The same without asking whether to believe the signer, for showing. DataLoss.",
      py::arg("file"));
  Function(
      m, "is_signed", [](const py::object& file) { return IsSigned(Source(file, "file").bytes()); },
      "Whether the bytes begin a signed file.", py::arg("file"));
  Record<FileInfo>(m, "FileInfo", "What the envelope of a file says.")
      .Field("kind", &FileInfo::kind, "Four letters (docs/formats.md).")
      .Field("name", &FileInfo::name, "In words.")
      .Field("version", &FileInfo::version, "Of the format.")
      .Field("samples", &FileInfo::samples, "Of encrypted samples: how many.")
      .Field(
          "size", [](const FileInfo& f) { return f.bytes; }, "In bytes.")
      .Field(
          "key_id",
          [](const FileInfo& f) {
            return f.key_id ? py::object(py::str(HexOf(*f.key_id))) : py::object(py::none());
          },
          "Of the secret key that it belongs to, or None.")
      .Field(
          "params_id",
          [](const FileInfo& f) {
            return f.params_id ? py::object(py::str(HexOf(*f.params_id))) : py::object(py::none());
          },
          "Of the encryption parameters (profile_of), or None.");
  Function(
      m, "inspect",
      [](const py::object& file) {
        const Source source(file, "file");
        return Call([&] { return InspectFile(source.bytes(), source.what()); });
      },
      "What a file is. DataLoss for bytes that are not HEFT's.", py::arg("file"));
}

}  // namespace

void CheckSigned(const std::optional<Trust>& trust, std::span<const uint8_t> bytes, Role role,
                 const char* kind, const std::string& what) {
  if (!trust) return;
  // Keys are always signed; models only if there are trainers.
  if (role == Role::kTrainer && !trust->Lists(role)) return;
  Take(OpenSigned(bytes, *trust, {.roles = {role}, .kind = kind}, what));
}

py::object SignedOf(const SignedFile& file) { return py::cast(Opened(file)); }

PassphraseSource PassphraseOf(const py::object& passphrase) {
  if (passphrase.is_none()) return {};
  if (!py::isinstance<py::str>(passphrase) && PyCallable_Check(passphrase.ptr()) == 0) {
    throw py::type_error("passphrase: a str, or a function that returns one");
  }
  // Called while the interpreter's lock is released; the caller keeps the object.
  PyObject* object = passphrase.ptr();
  return [object]() -> absl::StatusOr<std::string> {
    const py::gil_scoped_acquire acquire;
    const auto given = py::reinterpret_borrow<py::object>(object);
    try {
      return (py::isinstance<py::str>(given) ? given : given()).cast<std::string>();
    } catch (py::error_already_set& e) {
      Keep(&e);
      return absl::CancelledError("the passphrase could not be asked for");
    } catch (const py::cast_error&) {
      return absl::InvalidArgumentError("what returns the passphrase returned no str");
    }
  };
}

void DefineTrust(py::module_& m) {
  DefineSignedFile(m);
  DefineSigningKey(m);
  auto key = m.attr("SigningKey").cast<py::class_<HeldSigner>>();
  DefineSigning(key);
  DefineTrustFile(m);
  auto trust = m.attr("Trust").cast<py::class_<Trust>>();
  DefineTrustView(trust);
  DefineOpen(m);
}

}  // namespace heft::python
