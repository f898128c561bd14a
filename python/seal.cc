// SPDX-License-Identifier: Apache-2.0
// Objects of Microsoft SEAL 4.x, in and out. A secret key goes from file to file: no Python object
// has its bytes.
#include "heft/seal.h"

#include <pybind11/numpy.h>

#include "heft/seal_key_owner.h"
#include "python/owner.h"

namespace heft::python {
namespace {

KeyId KeyIdOf(const std::string& text) {
  const auto id = ParseGalleryId(text);  // of the same form
  if (!id.ok()) Wrong("key_id: give 32 hexadecimal digits, from new_key_id() or inspect(file)");
  return *id;
}

void DefineExported(py::module_& m) {
  using Reply = SealScores::Reply;
  Record<Reply>(m, "SealReply", "One ciphertext of scores.")
      .Field(
          "ciphertext", [](const Reply& r) { return BytesOf(r.ciphertext); }, "SEAL's Ciphertext.")
      .Field(
          "answers",
          [](const Reply& r) {
            std::vector<std::pair<uint32_t, uint32_t>> out;
            for (const SealScores::Answer& a : r.answers) out.emplace_back(a.slot, a.lane);
            return out;
          },
          "The (slot, lane) of the scores, lane 0 the real part; empty: all of the block.")
      .Field("block", &Reply::block, "Number of the block, for an identification.");
}

void DefineScores(py::module_& m) {
  Record<SealScores>(m, "SealScores", "A reply as SEAL's Ciphertexts, of the matching ring.")
      .Field(
          "kind",
          [](const SealScores& s) {
            return s.kind == ScoreKind::kIdentification ? "identification" : "verification";
          },
          "identification or verification.")
      .Field("probe", &SealScores::probe, "Label of the probe.")
      .Field("claimed", &SealScores::claimed, "The claimed identity of a verification.")
      .Field("templates", &SealScores::templates, "Number of places, for an identification.")
      .Field("identities", &SealScores::identities,
             "Identities by place; empty for a place that is not matched.")
      .Field("replies", &SealScores::replies, "The ciphertexts of scores.")
      .Field(
          "squared_norm", [](const SealScores& s) { return BytesOf(s.squared_norm); },
          "Squared norm of the probe, with its proof: divide scores by its root (docs/seal.md).")
      .Field(
          "squared_norm_turned", [](const SealScores& s) { return BytesOf(s.squared_norm_turned); },
          "The same times i (-1)^j, for decoders that return real parts.")
      .Field(
          "factors",
          [](const SealScores& s) {
            return py::array_t<double>(static_cast<py::ssize_t>(s.factors.size()),
                                       s.factors.data());
          },
          "Factors for the scores, real parts first; empty if all are 1.");
}

void DefineExport(py::module_& m) {
  Function(
      m, "export_seal_parameters",
      [](const Model& model, const std::string& compression, const std::string& ring) {
        const SealCompression how = Take(ParseSealCompression(compression));
        const SealRing of = Take(ParseSealRing(ring));
        return Call([&] { return ExportSealParameters(model, how, of); });
      },
      "SEAL's parameters for a model (docs/seal.md). ring: for a profile with two rings.\n"
      "compression: \"none\", \"zlib\" or \"zstd\". FailedPrecondition for what SEAL does not\n"
      "support.",
      py::arg("model"), py::kw_only(), py::arg("compression") = "zstd",
      py::arg("ring") = "matching");
  Function(
      m, "export_seal_encryption_key",
      [](const Model& model, const py::object& key, const std::string& compression,
         const std::string& ring) {
        const Source source(key, "encryption key", kMaxKeysSize);
        const SealCompression how = Take(ParseSealCompression(compression));
        const SealRing of = Take(ParseSealRing(ring));
        return BytesOf(Call([&] {
          return ExportSealEncryptionKey(model, source.bytes(), source.what(), how, of);
        }));
      },
      "SEAL's PublicKey for one ring, from an encryption key.", py::arg("model"), py::arg("key"),
      py::kw_only(), py::arg("compression") = "zstd", py::arg("ring") = "matching");
  Function(
      m, "export_seal_samples",
      [](const Model& model, const py::object& samples, const std::string& compression,
         const py::object& progress) {
        Source source(samples, "samples", kMaxSamplesSize);
        const std::string what = source.what();
        const SealCompression how = Take(ParseSealCompression(compression));
        SampleFile file{std::move(source).Release(), what};
        Watch watch(progress);
        return Call(
            [&] { return ExportSealSamples(model, std::move(file), how, watch.monitor()); });
      },
      "Encrypted samples as SEAL's Ciphertexts. DataLoss, FailedPrecondition, Cancelled.",
      py::arg("model"), py::arg("samples"), py::kw_only(), py::arg("compression") = "zstd",
      py::arg("progress") = py::none());
  Function(
      m, "export_seal_scores",
      [](const Model& model, const py::object& reply, const std::string& compression) {
        const Source source(reply, "reply", kMaxReplySize);
        const SealCompression how = Take(ParseSealCompression(compression));
        return Call([&] { return ExportSealScores(model, source.bytes(), source.what(), how); });
      },
      "A matcher's reply as SEAL's Ciphertexts, to open it with SEAL. DataLoss,\n"
      "FailedPrecondition.",
      py::arg("model"), py::arg("reply"), py::kw_only(), py::arg("compression") = "zstd");
}

void DefineImport(py::module_& m) {
  Function(
      m, "new_key_id", [] { return HexOf(NewKeyId()); },
      "A new id for the first import under a secret key from SEAL. Use the same id for all\n"
      "other files, because SEAL's files do not name their key.");
  Function(
      m, "import_seal_encryption_key",
      [](const Model& model, const std::string& key_id, const py::object& key,
         const py::object& enrolment) {
        const KeyId id = KeyIdOf(key_id);
        const Source source(key, "public key", kMaxKeysSize);
        std::optional<Source> more;
        if (!enrolment.is_none()) more.emplace(enrolment, "enrolment public key", kMaxKeysSize);
        const SealFile second = more ? SealFile{more->bytes(), more->what()} : SealFile{};
        return BytesOf(Call([&] {
          return ImportSealEncryptionKey(model, id, source.bytes(), source.what(), second);
        }));
      },
      "An encryption key from SEAL's PublicKey; for two rings, from both public keys.",
      py::arg("model"), py::arg("key_id"), py::arg("key"), py::arg("enrolment") = py::none());
  Function(
      m, "import_seal_evaluation_keys",
      [](const Model& model, const std::string& key_id, const py::object& galois,
         const py::object& relinearisation, const py::object& progress) {
        const KeyId id = KeyIdOf(key_id);
        const Source first(galois, "Galois keys", kMaxKeysSize);
        const Source second(relinearisation, "relinearisation keys", kMaxKeysSize);
        Watch watch(progress);
        return Call([&] {
          return ImportSealEvaluationKeys(model, id, {first.bytes(), first.what()},
                                          {second.bytes(), second.what()}, watch.monitor());
        });
      },
      "Evaluation keys from SEAL's GaloisKeys and RelinKeys of the matching ring. With two\n"
      "rings they work for identification only. FailedPrecondition lists the steps of missing\n"
      "keys.",
      py::arg("model"), py::arg("key_id"), py::arg("galois"), py::arg("relinearisation"),
      py::kw_only(), py::arg("progress") = py::none());
  Function(
      m, "import_seal_samples",
      [](const Model& model, const std::string& modality, const std::string& key_id,
         const py::object& ciphertexts, const py::object& labels, const py::object& progress) {
        const KeyId id = KeyIdOf(key_id);
        const std::vector<SampleFile> files = SampleFilesOf(ciphertexts);
        const std::vector<std::string> names = LabelsOf(labels);
        Watch watch(progress);
        return BytesOf(Call(
            [&] { return ImportSealSamples(model, modality, id, files, names, watch.monitor()); }));
      },
      "Encrypted samples from SEAL's Ciphertexts, one per sample, all of one ring. labels: one\n"
      "per sample, one for all, or none.",
      py::arg("model"), py::arg("modality"), py::arg("key_id"), py::arg("ciphertexts"),
      py::arg("labels") = py::none(), py::kw_only(), py::arg("progress") = py::none());
}

void DefineSecret(py::module_& m, OwnerClass& c) {
  Function(
      m, "import_seal_secret_key",
      [](const Model& model, const std::string& key_id, const py::object& source,
         const py::object& out, const py::object& enrolment_source, const py::object& passphrase,
         const py::object& progress) {
        const KeyId id = KeyIdOf(key_id);
        const std::string from = PathOf(source), to = PathOf(out);
        const std::string more = enrolment_source.is_none() ? "" : PathOf(enrolment_source);
        const PassphraseSource asked = PassphraseOf(passphrase);
        Watch watch(progress);
        Call(
            [&] { return ImportSealSecretKey(model, id, from, to, asked, watch.monitor(), more); });
      },
      "Makes the secret key file out (mode 0600) from SEAL's SecretKey in the file source,\n"
      "which is not encrypted; for two rings, from both secret keys. Load it with KeyOwner.load\n"
      "and make the public keys. AlreadyExists, InvalidArgument; FailedPrecondition if other\n"
      "users can read source.",
      py::arg("model"), py::arg("key_id"), py::arg("source"), py::arg("out"),
      py::arg("enrolment_source") = py::none(), py::kw_only(), py::arg("passphrase") = py::none(),
      py::arg("progress") = py::none());
  Method(
      c, "export_seal_secret_key",
      [](const OwnerHandle& self, const py::object& out, const std::string& ring,
         const py::object& progress) {
        const std::string to = PathOf(out);
        const SealRing of = Take(ParseSealRing(ring));
        Watch watch(progress);
        Read(self, [&](const KeyOwner& o) -> absl::StatusOr<bool> {
          const absl::Status done = ExportSealSecretKey(o, to, watch.monitor(), of);
          return done.ok() ? absl::StatusOr<bool>(true) : done;
        });
      },
      "Writes SEAL's SecretKey of a ring into a new file of mode 0600. The file is not\n"
      "encrypted: protect it as the key itself. AlreadyExists, Unavailable.",
      py::arg("out"), py::kw_only(), py::arg("ring") = "matching",
      py::arg("progress") = py::none());
  Method(
      c, "export_seal_evaluation_keys",
      [](const OwnerHandle& self, const std::string& compression, const py::object& progress) {
        const SealCompression how = Take(ParseSealCompression(compression));
        Watch watch(progress);
        return Read(self, [&](const KeyOwner& o) {
          return ExportSealEvaluationKeys(o, how, watch.monitor());
        });
      },
      "New relinearisation and Galois keys for SEAL: all that the model needs in the matching\n"
      "ring. Cancelled.",
      py::kw_only(), py::arg("compression") = "zstd", py::arg("progress") = py::none());
}

}  // namespace

void DefineSeal(py::module_& m, OwnerClass& c) {
  DefineExported(m);
  DefineScores(m);
  DefineExport(m);
  DefineImport(m);
  DefineSecret(m, c);
}

}  // namespace heft::python
