// SPDX-License-Identifier: Apache-2.0
#include "heft/client.h"

#include "python/owner.h"

namespace heft::python {
namespace {

using ClientClass = py::class_<Client>;

// How samples are encrypted, in Python's words.
struct Form {
  Form(const std::string& use_name, const std::string& encoding_name, bool mean)
      : use(UseOf(use_name)), encoding(EncodingOf(encoding_name)), average(mean) {}
  SampleUse use;
  SampleEncoding encoding;
  bool average;
};

// The rows of several modalities, held.
struct Modalities {
  std::vector<std::string> names;
  std::vector<Matrix> rows;
  std::vector<std::string> labels;

  Modalities(const py::dict& vectors, const py::object& given) : labels(LabelsOf(given)) {
    for (const auto& [name, array] : MappingOf(vectors, "vectors")) {
      names.push_back(TextOf(name, "vectors"));
      rows.push_back(MatrixOf(array, names.back()));
    }
  }
  // Views of these.
  std::vector<Samples> All(const Form& form) const {
    std::vector<Samples> out;
    for (size_t i = 0; i < names.size(); ++i) {
      out.push_back({names[i], rows[i].values, labels, form.encoding, form.use, form.average});
    }
    return out;
  }
};

// Of one modality; the caller keeps its name.
struct OneModality {
  Form form;
  Matrix rows;
  std::vector<std::string> labels;
  Samples samples;

  OneModality(const std::string& modality, const py::object& vectors, const py::object& given,
              const Form& how)
      : form(how),
        rows(MatrixOf(vectors, modality)),
        labels(LabelsOf(given)),
        samples{modality, rows.values, labels, form.encoding, form.use, form.average} {}
  OneModality(const OneModality&) = delete;
  OneModality& operator=(const OneModality&) = delete;
};

// The library counts only values: two rows of half the dimension are not one row.
void CheckDimension(std::string_view modality, size_t dimension, size_t expected) {
  if (dimension == expected) return;
  Wrong(std::string(modality) + ": vectors of dimension " + std::to_string(dimension) +
        ", this model has " + std::to_string(expected));
}

py::bytes Encrypt(const Client& self, const std::string& modality, const py::object& vectors,
                  const py::object& labels, const std::string& use, const std::string& encoding,
                  bool average) {
  const OneModality one(modality, vectors, labels, Form(use, encoding, average));
  const size_t index = Take(self.model().FindModality(modality));
  CheckDimension(modality, one.rows.dimension, self.model().modalities[index].dimension);
  return BytesOf(Call([&] { return self.Encrypt(one.samples); }));
}

py::bytes OwnerEncrypts(const OwnerHandle& self, const std::string& modality,
                        const py::object& vectors, const py::object& labels, const std::string& use,
                        const std::string& encoding, bool average) {
  const OneModality one(modality, vectors, labels, Form(use, encoding, average));
  for (const ModalitySpec& spec : self.modalities()) {
    if (spec.name == modality) CheckDimension(modality, one.rows.dimension, spec.dimension);
  }
  return BytesOf(Read(self, [&](const KeyOwner& o) { return o.Encrypt(one.samples); }));
}

py::dict EncryptEach(const Client& self, const py::dict& vectors, const py::object& labels,
                     const std::string& use, const std::string& encoding, bool average) {
  py::dict out;
  for (const auto& [name, array] : MappingOf(vectors, "vectors")) {
    out[name] = Encrypt(self, TextOf(name, "vectors"), py::reinterpret_borrow<py::object>(array),
                        labels, use, encoding, average);
  }
  return out;
}

py::bytes EncryptFused(const Client& self, const py::dict& vectors, const py::object& labels,
                       const std::string& use, bool average) {
  const Modalities held(vectors, labels);
  const std::vector<Samples> samples = held.All(Form(use, "compact", average));
  return BytesOf(Call([&] { return self.EncryptFused(samples); }));
}

py::bytes OwnerEncryptsFused(const OwnerHandle& self, const py::dict& vectors,
                             const py::object& labels, const std::string& use, bool average) {
  const Modalities held(vectors, labels);
  const std::vector<Samples> samples = held.All(Form(use, "compact", average));
  return BytesOf(Read(self, [&](const KeyOwner& o) { return o.EncryptFused(samples); }));
}

constexpr char kInit[] =
    "A model and an encryption key (bytes, or the path of a key file). With trust, a key\n"
    "owner that it lists must have signed the key. DataLoss, FailedPrecondition, NotFound.";
constexpr char kEncrypt[] =
    "Encrypts vectors of one modality into one file for the matcher.\n\n"
    "vectors: float32 or float64 of shape (dimension,) or (rows, dimension); contiguous\n"
    "float32 is not copied. They are scaled to unit length here. labels: one identity per\n"
    "row, or None. use: \"enrolment\" (and verifications) or \"identification\", with files\n"
    "of a fifth of the size. encoding: \"compact\"; \"bulk\", for the enrolment of hundreds\n"
    "of rows, at most 4096; \"partial\", which projects here. average: the rows of one label\n"
    "become one sample.\n\n"
    "InvalidArgument for a wrong dimension, NaN, infinity, zeros, or a bad label.";

}  // namespace

void DefineOwnersSamples(OwnerClass& c) {
  Method(c, "encrypt", &OwnerEncrypts,
         "As Client.encrypt, with the secret key: half the bytes and less noise.",
         py::arg("modality"), py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
         py::arg("use") = "enrolment", py::arg("encoding") = "compact", py::arg("average") = false);
  Method(c, "encrypt_fused", &OwnerEncryptsFused, "As Client.encrypt_fused, with the secret key.",
         py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
         py::arg("use") = "enrolment", py::arg("average") = false);
}

void DefineClient(py::module_& m) {
  ClientClass c(
      m, "Client",
      "Encrypts feature vectors with the key owner's encryption key. A client cannot decrypt.\n"
      "Several threads may use one.");
  Init(
      c,
      [](const Model& model, const py::object& key, const std::optional<Trust>& trust) {
        const Source source(key, "encryption key", kMaxKeysSize);
        CheckSigned(trust, source.bytes(), Role::kKeyOwner, "PUBK", source.what());
        return Call([&] { return Client::Create(model, source.bytes(), source.what()); });
      },
      kInit, py::arg("model"), py::arg("encryption_key"), py::kw_only(),
      py::arg("trust") = py::none());
  c.def_property_readonly("model", &Client::model, "The model of this client.");
  Method(c, "encrypt", &Encrypt, kEncrypt, py::arg("modality"), py::arg("vectors"),
         py::arg("labels") = py::none(), py::kw_only(), py::arg("use") = "enrolment",
         py::arg("encoding") = "compact", py::arg("average") = false);
  Method(c, "encrypt_each", &EncryptEach,
         "Calls encrypt for each modality of a mapping; returns a mapping from the same names to\n"
         "files.",
         py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
         py::arg("use") = "enrolment", py::arg("encoding") = "compact", py::arg("average") = false);
  Method(c, "encrypt_fused", &EncryptFused,
         "Fuses row i of all modalities here and encrypts the result into one file. A modality\n"
         "that is absent counts as missing.",
         py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
         py::arg("use") = "enrolment", py::arg("average") = false);
  RefuseCopies(c, "a Client is not pickled or copied: make one from the model and the key");
}

}  // namespace heft::python
