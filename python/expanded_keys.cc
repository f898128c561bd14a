// SPDX-License-Identifier: Apache-2.0
// A matcher's keys, expanded once and mapped by later processes.
#include "heft/server.h"
#include "python/values.h"

namespace heft::python {
namespace {

// The key file: bytes would be taken for a path.
std::string SourceOf(const py::object& source) {
  if (PyObject_CheckBuffer(source.ptr()) != 0) {
    throw py::type_error("source: give the path of a key file, not its bytes");
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
      "Evaluation or enrolment keys in the form in which a Matcher uses them, in a file beside\n"
      "the key file that processes map and share (`heft-server prepare-keys`). A Matcher with\n"
      "them starts at once. Matchers keep the mapping.");
  StaticMethod(
      c, "make",
      [](const Model& model, const py::object& source, const py::object& path) {
        const std::string from = SourceOf(source), to = Beside(from, path);
        Call([&] { return ExpandedKeys::Make(model, from, to); });
        return Call([&] { return ExpandedKeys::Open(to, from); });
      },
      "Expands a key file into path, by default SOURCE.expanded, which is replaced as a whole,\n"
      "and opens it. This needs ten times the file's size in memory. No signature is checked:\n"
      "Matcher or check_signed does that. DataLoss, FailedPrecondition, Unavailable.",
      py::arg("model"), py::arg("source"), py::arg("path") = py::none());
  StaticMethod(
      c, "open",
      [](const py::object& source, const py::object& path) {
        const std::string from = SourceOf(source), to = Beside(from, path);
        return Call([&] { return ExpandedKeys::Open(to, from); });
      },
      "Opens such a file. DataLoss if it is damaged or source now has other keys: make it\n"
      "again. FailedPrecondition if another user could have written it; NotFound, Unavailable.\n"
      "After any of these errors the key file itself can still be used.",
      py::arg("source"), py::arg("path") = py::none());
  Method(
      c, "check_signed",
      [](const ExpandedKeys& self, const Trust& trust, const std::string& kind) {
        return SignedOf(Take(
            self.CheckSigned(trust, {.roles = {Role::kKeyOwner}, .kind = kind}, "expanded keys")));
      },
      "Checks as open_signed, without the file, that a key owner that trust lists signed the\n"
      "key file. kind: \"EVAL\" or \"ENRK\"; empty: any. FailedPrecondition.",
      py::arg("trust"), py::kw_only(), py::arg("kind") = "");
  c.def_property_readonly("size", &ExpandedKeys::bytes, "Bytes that a process maps.");
  c.def("__repr__", [](const ExpandedKeys& self) {
    return "<heft.ExpandedKeys, " + std::to_string(self.bytes()) + " bytes>";
  });
  RefuseCopies(c, "ExpandedKeys are not pickled or copied: open them again from their file");
}

}  // namespace heft::python
