// SPDX-License-Identifier: Apache-2.0
// Canaries: synthetic people with which the key owner checks the server. The server must not learn
// which they are, so sets of them are not pickled, copied or printed.
#include <pybind11/numpy.h>

#include <algorithm>

#include "heft/key_owner.h"
#include "python/owner.h"

namespace heft::python {
namespace {

// A synthetic person, with the names of the model's modalities.
struct Person {
  std::string label;
  std::vector<std::pair<std::string, std::vector<float>>> vectors;
};
struct Set {
  std::vector<Person> people, probes;
  std::vector<uint8_t> file;
};

constexpr char kSecret[] =
    "canaries are secret from the server and are not pickled or copied: keep the vectors only\n"
    "until they are encrypted, and keep the sealed file";

std::vector<Person> Named(std::vector<CanarySet::Person> people,
                          const std::vector<ModalitySpec>& modalities) {
  std::vector<Person> out;
  for (CanarySet::Person& person : people) {
    Person& named = out.emplace_back();
    named.label = std::move(person.label);
    for (size_t m = 0; m < modalities.size(); ++m) {
      named.vectors.emplace_back(modalities[m].name, std::move(person.vectors[m]));
    }
  }
  return out;
}

Set MakeCanaries(const OwnerHandle& self, size_t triples, const py::object& names) {
  const std::vector<std::string> labels = LabelsOf(names);
  CanarySet set = Read(self, [&](const KeyOwner& o) { return o.MakeCanaries(triples, labels); });
  return {Named(std::move(set.people), self.modalities()),
          Named(std::move(set.probes), self.modalities()), std::move(set.file)};
}

py::dict Vectors(const Person& person) {
  py::dict out;
  for (const auto& [modality, values] : person.vectors) {
    py::array_t<float> array(static_cast<py::ssize_t>(values.size()));
    std::copy(values.begin(), values.end(), array.mutable_data());
    out[py::str(modality)] = array;
  }
  return out;
}

void DefineSets(py::module_& m) {
  py::class_<Person> person(
      m, "CanaryPerson",
      "A synthetic person: enrol client.encrypt_each(person.vectors, person.label).");
  person.def_readonly("label", &Person::label, "The identity to enrol.");
  person.def_property_readonly("vectors", &Vectors,
                               "One vector of unit length for each modality, as a copy.");
  person.def("__repr__", [](const Person&) { return "<heft.CanaryPerson>"; });
  RefuseCopies(person, kSecret);
  py::class_<Set> set(
      m, "CanarySet",
      "Canaries, and probes with answers that the key owner knows. Only the client and the key\n"
      "owner may see them.");
  set.def_readonly("people", &Set::people, "The people to enrol, three for each triple.");
  set.def_readonly("probes", &Set::probes, "The probes, one for each triple.");
  set.def_property_readonly(
      "file", [](const Set& s) { return BytesOf(s.file); },
      "The list for KeyOwner.register_canaries, sealed with the secret key.");
  set.def("__repr__", [](const Set& s) {
    return "<heft.CanarySet of " + std::to_string(s.people.size()) + " people>";
  });
  RefuseCopies(set, kSecret);
}

}  // namespace

void DefineCanaries(py::module_& m, OwnerClass& c) {
  DefineSets(m);
  Method(
      c, "make_canaries", &MakeCanaries,
      "Makes synthetic people in triples. Enrol them among other people, so that the server\n"
      "cannot recognise them. In each triple, the score of the third follows from the scores of\n"
      "the other two, for any probe.\n\n"
      "names: identities for all of them (default: random). InvalidArgument; FailedPrecondition\n"
      "if no such people fit the model's interval.",
      py::arg("triples") = 3, py::arg("names") = py::none());
  const auto source = [](const py::object& file) { return Source(file, "canaries", 1 << 25); };
  Method(
      c, "require_canaries",
      [source](const OwnerHandle& self, const py::object& file) {
        const Source held = source(file);
        Write(self,
              [&](KeyOwner& owner) { return owner.RequireCanaries(held.bytes(), held.what()); });
      },
      "From here on every identification must contain these canaries (CanarySet.file, or the\n"
      "file of `heft canary`) with the correct scores; other replies are refused. Canaries are\n"
      "never candidates. DataLoss; FailedPrecondition for canaries of another key or model.",
      py::arg("file"));
  Method(
      c, "register_canaries",
      [source](const OwnerHandle& self, const py::object& file) {
        const Source held = source(file);
        Write(self,
              [&](KeyOwner& owner) { return owner.RegisterCanaries(held.bytes(), held.what()); });
      },
      "As require_canaries, for every user of this key: the list is kept beside the key file,\n"
      "as by `heft canary --require`. FailedPrecondition also for a key without a file.",
      py::arg("file"));
}

}  // namespace heft::python
