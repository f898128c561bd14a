// SPDX-License-Identifier: Apache-2.0
#include "heft/client.h"

#include "python/owner.h"

namespace heft::python {
namespace {

using Class = py::class_<Client>;

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
    "A model and an encryption key: bytes, or the path of a key file. With a trust file the key\n"
    "must be signed by a key owner that it lists. DataLoss, FailedPrecondition, NotFound.";
constexpr char kEncrypt[] =
    "Vectors of one modality as one file for the matcher.\n\n"
    "vectors: float32 or float64 of shape (dimension,) or (rows, dimension); contiguous float32 "
    "is\n"
    "not copied. They are scaled to unit length here. labels: an identity a row, or None.\n"
    "use: \"enrolment\" (and verifications) or \"identification\", whose files are a fifth of the\n"
    "size. encoding: \"compact\"; \"bulk\", for hundreds of rows to be enrolled, at most 4096;\n"
    "\"partial\", which projects here. average: the rows of one label become one.\n\n"
    "InvalidArgument for another dimension, NaN, infinity, zeros, or a bad label.";

}  // namespace

void DefineOwnersSamples(OwnerClass& c) {
  Method(c, "encrypt", &OwnerEncrypts,
         "Client.encrypt with the secret key: half the bytes and less noise.", py::arg("modality"),
         py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
         py::arg("use") = "enrolment", py::arg("encoding") = "compact", py::arg("average") = false);
  Method(c, "encrypt_fused", &OwnerEncryptsFused, "Client.encrypt_fused with the secret key.",
         py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
         py::arg("use") = "enrolment", py::arg("average") = false);
}

void DefineClient(py::module_& m) {
  Class c(
      m, "Client",
      "Encrypts feature vectors under the key owner's encryption key; what it encrypts it cannot\n"
      "decrypt. Any number of threads may use one.");
  Init(
      c,
      [](const Model& model, const py::object& key, const std::optional<Trust>& trust) {
        const Source source(key, "encryption key", kMaxKeysSize);
        CheckSigned(trust, source.bytes(), Role::kKeyOwner, "PUBK", source.what());
        return Call([&] { return Client::Create(model, source.bytes(), source.what()); });
      },
      kInit, py::arg("model"), py::arg("encryption_key"), py::kw_only(),
      py::arg("trust") = py::none());
  c.def_property_readonly("model", &Client::model, "What it was made with.");
  Method(c, "encrypt", &Encrypt, kEncrypt, py::arg("modality"), py::arg("vectors"),
         py::arg("labels") = py::none(), py::kw_only(), py::arg("use") = "enrolment",
         py::arg("encoding") = "compact", py::arg("average") = false);
  Method(c, "encrypt_each", &EncryptEach,
         "encrypt of each modality of a mapping; a mapping of the same names to files.",
         py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
         py::arg("use") = "enrolment", py::arg("encoding") = "compact", py::arg("average") = false);
  Method(
      c, "encrypt_fused", &EncryptFused,
      "Fuses row i of all modalities here and encrypts what comes out, one file; a modality that\n"
      "is absent counts as missing. Profiles thin and flooded alone.",
      py::arg("vectors"), py::arg("labels") = py::none(), py::kw_only(),
      py::arg("use") = "enrolment", py::arg("average") = false);
  RefuseCopies(c, "a Client is not pickled or copied: make one from the model and the key");
}

}  // namespace heft::python
