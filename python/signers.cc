// SPDX-License-Identifier: Apache-2.0
// Keys that sign elsewhere, and the statements of signed requests.
#include <algorithm>

#include "heft/server.h"
#include "heft/trust.h"
#include "python/inspection.h"
#include "python/values.h"

namespace heft::python {
namespace {

// SignerOf: a function from a message to its signature. Its exception ends the call, if the call is
// on this thread. The function is never released, as the library may keep it for the whole process.
OutsideSigner SignerOf(const py::object& sign) {
  if (PyCallable_Check(sign.ptr()) == 0) {
    throw py::type_error("sign: a function from a message to its Ed25519 signature");
  }
  PyObject* const function = py::object(sign).release().ptr();
  return [function](std::span<const uint8_t> message) -> absl::StatusOr<std::array<uint8_t, 64>> {
    const py::gil_scoped_acquire acquire;
    try {
      const py::object given = py::reinterpret_borrow<py::object>(function)(BytesOf(message));
      const std::vector<uint8_t> signature = Source(given, "signature", 64).Release();
      std::array<uint8_t, 64> out{};
      if (signature.size() != out.size()) {
        return absl::UnavailableError("sign must return a signature of 64 bytes");
      }
      std::ranges::copy(signature, out.begin());
      return out;
    } catch (py::error_already_set& e) {
      const std::string why = py::str(e.value()).cast<std::string>();
      return absl::UnavailableError("the function sign failed: " + why);
    } catch (const std::exception& e) {
      return absl::UnavailableError(std::string("the function sign failed: ") + e.what());
    }
  };
}

}  // namespace

void DefineOutsideSigners(py::module_& m) {
  auto key = m.attr("SigningKey").cast<py::class_<HeldSigner>>();
  StaticMethod(
      key, "outside",
      [](const std::string& public_key, const py::object& sign) {
        const SignerKey half = Take(ParseSignerKey(public_key));
        return HeldSigner(Take(OutsideSigningKey(half, SignerOf(sign))), "this signing key");
      },
      "A key in a token or a service: sign(message) returns the Ed25519 signature of 64 bytes,\n"
      "which is checked with the public key. It cannot be saved. Calls that need it raise\n"
      "Unavailable if sign fails.",
      py::arg("public_key"), py::arg("sign"));
  Function(
      m, "use_gallery_signer",
      [](const py::object& folder, const std::string& public_key, const py::object& sign) {
        const std::string path = PathOf(folder);
        const SignerKey half = Take(ParseSignerKey(public_key));
        const OutsideSigner signer = SignerOf(sign);
        const py::gil_scoped_release release;
        UseGallerySigner(path, half, signer);
      },
      "From here on this process signs for the galleries of the store in folder with such a\n"
      "key; no server.key is read or made.",
      py::arg("folder"), py::arg("public_key"), py::arg("sign"));
  Function(
      m, "check_authorised",
      [](const py::object& authorisation, const Trust& trust, const std::string& act,
         const std::string& gallery, const std::string& identity) {
        const Source source(authorisation, "authorisation");
        const AuthorisedAct what = Take(ParseAuthorisedAct(act));
        const GalleryId id = Take(ParseGalleryId(gallery));
        Take(CheckAuthorised(source.bytes(), trust, what, id, identity));
      },
      "Checks that a registrar that trust lists has allowed this act for this identity in this\n"
      "gallery (its id), by SigningKey.authorise. DataLoss, FailedPrecondition if not.",
      py::arg("authorisation"), py::arg("trust"), py::arg("act"), py::arg("gallery"),
      py::arg("identity"));
  Function(
      m, "request_digest",
      [](const py::object& samples, uint64_t row) {
        const std::vector<SampleFile> files = SampleFilesOf(samples);
        std::vector<std::span<const uint8_t>> views;
        for (const SampleFile& file : files) views.emplace_back(file.bytes);
        return HexOf(RequestDigest(FilesDigest(views), row));
      },
      "The hash that binds a reply to the files of a request, as they were sent, and to a row\n"
      "of them: SignedFile.request of the reply.",
      py::arg("samples"), py::arg("row") = 0);
}

}  // namespace heft::python
