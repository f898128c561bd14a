// SPDX-License-Identifier: Apache-2.0
// A matcher's keys, expanded once and mapped by later processes.
#include "heft/expanded_keys.h"

#include "python/values.h"

namespace heft::python {
namespace {

// The key file: bytes would be taken for a path.
std::string SourceOf(const py::object& source) {
  if (PyObject_CheckBuffer(source.ptr()) != 0) {
    throw py::type_error("source: the path of a key file, not its bytes");
  }
  return PathOf(source);
}

// The default path of the tools, unless `path` is given.
std::string Beside(const std::string& source, const py::object& path) {
  return path.is_none() ? source + ".expanded" : PathOf(path);
}

}  // namespace

void DefineExpandedKeys(py::module_& m) {
  py::class_<ExpandedKeys> c(
      m, "ExpandedKeys",
      "Evaluation or enrolment keys as a Matcher reads them, in a file beside theirs that "
      "processes map\n"
      "and share (`heft-server prepare-keys`): a Matcher of them is there at once. Matchers keep "
      "the\n"
      "mapping.");
  StaticMethod(
      c, "make",
      [](const Model& model, const py::object& source, const py::object& path) {
        const std::string from = SourceOf(source), to = Beside(from, path);
        Call([&] { return ExpandedKeys::Make(model, from, to); });
        return Call([&] { return ExpandedKeys::Open(to, from); });
      },
      "Expands a key file into path, by default SOURCE.expanded, which is replaced whole, and "
      "opens\n"
      "it; ten times its size in memory meanwhile. Asks no signature: Matcher does, or "
      "check_signed.\n"
      "DataLoss, FailedPrecondition, Unavailable.",
      py::arg("model"), py::arg("source"), py::arg("path") = py::none());
  StaticMethod(
      c, "open",
      [](const py::object& source, const py::object& path) {
        const std::string from = SourceOf(source), to = Beside(from, path);
        return Call([&] { return ExpandedKeys::Open(to, from); });
      },
      "That file. DataLoss where it is damaged or of other keys than are in source now: make it "
      "anew.\n"
      "FailedPrecondition where somebody else could have written it; NotFound, Unavailable. "
      "Whatever\n"
      "it raises, the key file itself is good to take.",
      py::arg("source"), py::arg("path") = py::none());
  Method(
      c, "check_signed",
      [](const ExpandedKeys& self, const Trust& trust, const std::string& kind) {
        return SignedOf(Take(
            self.CheckSigned(trust, {.roles = {Role::kKeyOwner}, .kind = kind}, "expanded keys")));
      },
      "Who signed the key file, as open_signed, without the file: a key owner whom trust lists. "
      "kind:\n"
      "\"EVAL\" or \"ENRK\"; empty: any. FailedPrecondition.",
      py::arg("trust"), py::kw_only(), py::arg("kind") = "");
  c.def_property_readonly("size", &ExpandedKeys::bytes, "Bytes that a process maps.");
  c.def("__repr__", [](const ExpandedKeys& self) {
    return "<heft.ExpandedKeys, " + std::to_string(self.bytes()) + " bytes>";
  });
  RefuseCopies(c, "ExpandedKeys are not pickled or copied: open them again by their file");
}

}  // namespace heft::python
