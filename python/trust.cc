// SPDX-License-Identifier: Apache-2.0
#include "heft/trust.h"

#include <algorithm>

#include "heft/inspect.h"
#include "heft/server.h"
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
  Record<Opened>(m, "SignedFile", "The content of a signed file, its signer and its audience.")
      .Field(
          "file", [](const Opened& o) { return py::bytes(o.file); }, "The file that was signed.")
      .Field(
          "kind", [](const Opened& o) { return o.statement.kind; },
          "Kind of the file, four letters.")
      .Field(
          "role", [](const Opened& o) { return std::string(RoleName(o.statement.role)); },
          "Role of the signer.")
      .Field("signer", &Opened::signer, "Public key of the signer, 64 hexadecimal digits.")
      .Field("signer_name", &Opened::signer_name,
             "Name of the signer in the given trust file, if any.")
      .Field(
          "audience", [](const Opened& o) { return HexOrEmpty(o.statement.audience); },
          "Public key of the intended reader; empty: for any reader.")
      .Field(
          "subject", [](const Opened& o) { return HexOrEmpty(o.statement.subject); },
          "For a reply, the public key of the client that asked; empty: unknown.")
      .Field(
          "gallery", [](const Opened& o) { return HexOrEmpty(o.statement.gallery); },
          "Id of the gallery; empty: of none.")
      .Field(
          "generation", [](const Opened& o) { return o.statement.generation; },
          "Generation of the gallery.")
      .Field(
          "nonce", [](const Opened& o) { return HexOrEmpty(o.statement.nonce); },
          "Random nonce of the request; 32 hexadecimal digits.")
      .Field(
          "request", [](const Opened& o) { return HexOrEmpty(o.statement.request); },
          "For a reply, request_digest of its request; otherwise empty.")
      .Field(
          "issued", [](const Opened& o) { return o.statement.issued; },
          "Unix seconds of the signature.")
      .Field(
          "expires", [](const Opened& o) { return o.statement.expires; },
          "Unix seconds of the end; 0: no end.");
}

void DefineSigningKey(py::module_& m) {
  py::class_<HeldSigner> c(
      m, "SigningKey",
      "An Ed25519 key pair, with the secret key in locked memory. It is not pickled, copied or\n"
      "printed.");
  StaticMethod(
      c, "generate", [] { return HeldSigner(Take(SigningKey::Generate()), "this signing key"); },
      "Makes a new key pair.");
  StaticMethod(
      c, "load",
      [](const py::object& path, const py::object& passphrase) {
        const std::string file = PathOf(path);
        const PassphraseSource source = PassphraseOf(passphrase);
        return HeldSigner(Call([&] { return SigningKey::Load(file, source); }), "this signing key");
      },
      "Loads a file that save wrote. passphrase: a str, or a function that returns one and is\n"
      "called if the file is sealed. FailedPrecondition for a file that other users can read,\n"
      "InvalidArgument for a wrong passphrase, DataLoss, NotFound.",
      py::arg("path"), py::arg("passphrase") = py::none());
  Method(
      c, "save",
      [](const HeldSigner& self, const py::object& path, const py::object& passphrase) {
        const auto key = self.Get();
        const std::string file = PathOf(path);
        const PassphraseSource source = PassphraseOf(passphrase);
        Call([&] { return key->Save(file, source); });
      },
      "Writes the key with mode 0600, sealed if a passphrase is given. AlreadyExists.",
      py::arg("path"), py::arg("passphrase") = py::none());
  c.def_property_readonly(
      "public_key", [](const HeldSigner& self) { return HexOf(self.Get()->public_key()); },
      "The public key, 64 hexadecimal digits.");
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
      "Signs one of HEFT's files. role: key-owner, server, client, registrar or trainer.\n"
      "audience: a public key, or empty for any reader. life: seconds; 0: without end.\n"
      "InvalidArgument.",
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
      "A registrar's authorisation for a change to a person who is enrolled in the gallery (its\n"
      "id).",
      py::arg("gallery"), py::arg("identity"), py::arg("act") = "add", py::kw_only(),
      py::arg("life") = 86400);
  c.def("__repr__", [](const HeldSigner& self) {
    return self.closed() ? std::string("<heft.SigningKey, closed>")
                         : "<heft.SigningKey " + HexOf(self.Get()->public_key()) + ">";
  });
  ContextManager(c, "Wipes the secret key after the calls that use it have returned.");
  RefuseCopies(c, "a SigningKey is a secret: it is not pickled or copied; save it to a file");
}

void DefineTrustFile(py::module_& m) {
  py::class_<Trust> c(m, "Trust", "The public keys whose signatures are accepted, by role.");
  Init(
      c, [] { return Trust(); }, "A trust file that lists no key.");
  StaticMethod(
      c, "load",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return Trust::Load(file); });
      },
      "Loads a trust file. NotFound, DataLoss.", py::arg("path"));
  StaticMethod(
      c, "load_guarded",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return Trust::LoadGuarded(file); });
      },
      "As load, for a file on which decisions depend: FailedPrecondition if other users can\n"
      "write it.",
      py::arg("path"));
  StaticMethod(
      c, "parse", [](const std::string& text) { return Take(Trust::Parse(text, "trust")); },
      "Reads the text of a trust file. DataLoss.", py::arg("text"));
  Method(
      c, "save",
      [](const Trust& self, const py::object& path) {
        const std::string file = PathOf(path);
        Call([&] { return self.Save(file); });
      },
      "Writes or replaces the file.", py::arg("path"));
  Method(
      c, "add",
      [](Trust& self, const std::string& role, const std::string& name, const std::string& key) {
        Take(self.Add(Take(ParseRole(role)), name, KeyOf(key)));
      },
      "Accepts a public key (64 hexadecimal digits, or the text of a .pub file) in a role.\n"
      "AlreadyExists, FailedPrecondition for a revoked key, InvalidArgument.",
      py::arg("role"), py::arg("name"), py::arg("key"));
  Method(
      c, "revoke", [](Trust& self, const std::string& key) { Take(self.Revoke(KeyOf(key))); },
      "Refuses a key from now on, in every role. NotFound.", py::arg("key"));
  Method(
      c, "pin",
      [](Trust& self, const std::string& gallery, uint64_t generation) {
        self.Pin(Take(ParseGalleryId(gallery)), generation);
      },
      "Pins galleries (ids): only replies of pinned galleries are accepted, from a generation\n"
      "on.",
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
      "Names and public keys in a role.", py::arg("role"));
  c.def_property_readonly(
      "galleries",
      [](const Trust& self) {
        py::dict out;
        for (const auto& pinned : self.galleries())
          out[py::str(HexOf(pinned.id))] = pinned.generation;
        return out;
      },
      "The pinned galleries, and the generations from which they are accepted.");
  c.def_property_readonly(
      "revoked",
      [](const Trust& self) {
        std::vector<std::string> out;
        for (const Trust::Key& key : self.revoked()) out.push_back(HexOf(key.key));
        return out;
      },
      "The revoked public keys.");
  c.def("__str__", &Trust::Serialize);
  c.def("__reduce__", [](const Trust& self) {
    return py::make_tuple(py::module_::import("heft._restore").attr("trust"),
                          py::make_tuple(self.Serialize()));
  });
}

void DefineOpenSigned(py::module_& m) {
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
      "Checks a signed file and returns its content: trust must list the signer, and the file\n"
      "must be as expected. DataLoss for damage and false signatures, FailedPrecondition for\n"
      "all other reasons to refuse it.",
      py::arg("file"), py::arg("trust"), py::kw_only(), py::arg("roles") = py::tuple(),
      py::arg("kind") = "", py::arg("audience") = "", py::arg("gallery") = "");
  Function(
      m, "read_signed",
      [](const py::object& file) {
        const Source source(file, "file");
        return SignedOf(Take(ReadSigned(source.bytes(), source.what())));
      },
      "Reads a signed file to show it, without checking that the signer is trusted. DataLoss.",
      py::arg("file"));
  Function(
      m, "is_signed", [](const py::object& file) { return IsSigned(Source(file, "file").bytes()); },
      "Whether the bytes are the start of a signed file.", py::arg("file"));
  Function(
      m, "inspect",
      [](const py::object& file) {
        const Source source(file, "file");
        return Call([&] { return InspectFile(source.bytes(), source.what()); });
      },
      "Reads the header of a file. DataLoss for bytes that are not a HEFT file.", py::arg("file"));
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
    throw py::type_error("passphrase: give a str, or a function that returns one");
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
      return absl::CancelledError("the function for the passphrase failed");
    } catch (const py::cast_error&) {
      return absl::InvalidArgumentError("the function for the passphrase did not return a str");
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
  DefineOpenSigned(m);
}

}  // namespace heft::python
