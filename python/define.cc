// SPDX-License-Identifier: Apache-2.0
#include "python/define.h"

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

namespace heft::python {
namespace {

// Sibling: the overloads of that name so far.
py::sibling Sibling(const py::object& scope, const std::string& name) {
  return py::sibling(py::getattr(scope, name.c_str(), py::none()));
}

py::arg_v NoFirst() { return py::arg("_") = py::ellipsis(); }

auto RefuseAll(const WrongArguments& wrong) {
  return [wrong](const Anything& first, const py::args& rest, const py::kwargs& named) {
    wrong.Refuse(first, rest, named);
  };
}

}  // namespace

std::string Documented(const std::string& name, const std::string& first,
                       const std::string& parameters, const char* text) {
  const char* comma = first.empty() || parameters.empty() ? "" : ", ";
  return name + "(" + first + comma + parameters + ")\n--\n\n" + text;
}

void WrongArguments::Refuse(const Anything& first, const py::args& rest,
                            const py::kwargs& named) const {
  std::string given;
  const auto add = [&](const std::string& key, const py::handle& value) {
    given += (given.empty() ? "" : ", ") + key +
             py::type::of(value).attr("__name__").cast<std::string>();
  };
  if (!first.object.is(py::ellipsis())) add("", first.object);
  for (const py::handle value : rest) add("", value);
  for (const auto& [key, value] : named) add(key.cast<std::string>() + "=", value);
  throw py::type_error(name + "(" + parameters + ") cannot take (" + given + ")");
}

void RefuseInMethod(const py::object& c, const WrongArguments& wrong) {
  const auto refuse = [wrong](const py::object&, const Anything& first, const py::args& rest,
                              const py::kwargs& named) { wrong.Refuse(first, rest, named); };
  c.attr(wrong.name.c_str()) = py::cpp_function(
      refuse, py::name(wrong.name.c_str()), py::is_method(c), Sibling(c, wrong.name), NoFirst());
}

void RefuseInStaticMethod(const py::object& c, const WrongArguments& wrong) {
  c.attr(wrong.name.c_str()) =
      py::staticmethod(py::cpp_function(RefuseAll(wrong), py::name(wrong.name.c_str()),
                                        py::scope(c), Sibling(c, wrong.name), NoFirst()));
}

void RefuseInFunction(py::module_& m, const WrongArguments& wrong) {
  m.def(wrong.name.c_str(), RefuseAll(wrong), NoFirst());
}

void AddField(const py::object& c, const char* name, FieldGetter getter, const char* text) {
  const py::handle type = c;
  const py::cpp_function get([type, getter = std::move(getter)](const py::object& self) {
    if (!py::isinstance(self, type)) throw py::type_error("this is a field of another class");
    return getter(self);
  });
  const py::handle property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  c.attr(name) = property(get, py::none(), py::none(), text);
}

void AddRecordMethods(const py::object& c, const std::vector<std::string>& fields) {
  const std::string name = c.attr("__name__").cast<std::string>();
  c.attr("__repr__") = py::cpp_function(
      [name, fields](const py::object& self) {
        std::string out = name + "(";
        for (const std::string& field : fields) {
          if (out.back() != '(') out += ", ";
          out += field + "=" + py::repr(self.attr(field.c_str())).cast<std::string>();
        }
        return out + ")";
      },
      py::name("__repr__"), py::is_method(c));
  c.attr("to_dict") = py::cpp_function(
      [fields](const py::object& self) {
        py::dict out;
        for (const std::string& field : fields) {
          out[field.c_str()] = PlainOf(self.attr(field.c_str()));
        }
        return out;
      },
      py::name("to_dict"), py::is_method(c),
      Documented(
          "to_dict", "self", "",
          "All fields by name, in a form for JSON: records are dicts, and files base64 text.")
          .c_str());
  RefuseInMethod(c, {"to_dict", ""});
  c.attr("_repr_html_") = py::cpp_function(
      [name, fields](const py::object& self) {
        const py::object escape = py::module_::import("html").attr("escape");
        std::string out = "<table><caption>" + name + "</caption>";
        for (const std::string& field : fields) {
          const py::object shown = escape(py::repr(PlainOf(self.attr(field.c_str()))));
          out += "<tr><th>" + field + "</th><td>" + shown.cast<std::string>() + "</td></tr>";
        }
        return out + "</table>";
      },
      py::name("_repr_html_"), py::is_method(c));
}

}  // namespace heft::python
