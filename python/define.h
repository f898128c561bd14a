// SPDX-License-Identifier: Apache-2.0
// Definitions that carry their signature in Python's own form, so that help(), inspect and
// stubtest see them; and results, which are records with a repr and a dict.
#ifndef HEFT_PYTHON_DEFINE_H_
#define HEFT_PYTHON_DEFINE_H_

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "python/errors.h"

namespace heft::python {

namespace py = pybind11;

// Anything: an argument of any type, once conversions are tried: pybind11 first looks for an
// overload that needs none.
struct Anything {
  py::object object;
};

}  // namespace heft::python

namespace pybind11::detail {

template <>
struct type_caster<heft::python::Anything> {
  PYBIND11_TYPE_CASTER(heft::python::Anything, const_name("object"));
  bool load(handle source, bool convert) {
    value.object = reinterpret_borrow<object>(source);
    return convert;
  }
  static handle cast(const heft::python::Anything& source, return_value_policy, handle) {
    return source.object.inc_ref();
  }
};

}  // namespace pybind11::detail

namespace heft::python {

inline void AddParameter(std::string* out, const py::arg& argument) {
  *out += std::string(", ") + argument.name;
}
inline void AddParameter(std::string* out, const py::arg_v& argument) {
  *out += std::string(", ") + argument.name + "=" + py::repr(argument.value).cast<std::string>();
}
inline void AddParameter(std::string* out, const py::kw_only&) { *out += ", *"; }
template <typename Other>
void AddParameter(std::string*, const Other&) {}

// ParametersOf: the parameters of a definition, as Python writes them.
template <typename... Extra>
std::string ParametersOf(const Extra&... extra) {
  std::string parameters;
  (AddParameter(&parameters, extra), ...);
  return parameters.rfind(", ", 0) == 0 ? parameters.substr(2) : parameters;
}

// Documented: "NAME(FIRST, PARAMETERS)\n--\n\nTEXT", a form that CPython turns into a signature.
std::string Documented(const std::string& name, const std::string& first,
                       const std::string& parameters, const char* text);

// WrongArguments: the last overload of a definition, for arguments of other types: says which were
// given by their types. pybind11 would show their values, and those may be megabytes of ciphertext.
struct WrongArguments {
  std::string name, parameters;

  [[noreturn]] void Refuse(const Anything& first, const py::args& rest,
                           const py::kwargs& named) const;
};
// Add that overload. They are no templates, because each function for Python is long to compile.
void RefuseInMethod(const py::object& c, const WrongArguments& wrong);
void RefuseInStaticMethod(const py::object& c, const WrongArguments& wrong);
void RefuseInFunction(py::module_& m, const WrongArguments& wrong);

// Method, StaticMethod, Function: a definition with text and parameters.
template <typename Class, typename F, typename... Extra>
void Method(Class& c, const char* name, F&& f, const char* text, const Extra&... extra) {
  const std::string parameters = ParametersOf(extra...);
  c.def(name, std::forward<F>(f), extra..., Documented(name, "self", parameters, text).c_str());
  RefuseInMethod(c, {name, parameters});
}
template <typename Class, typename F, typename... Extra>
void StaticMethod(Class& c, const char* name, F&& f, const char* text, const Extra&... extra) {
  const std::string parameters = ParametersOf(extra...);
  c.def_static(name, std::forward<F>(f), extra..., Documented(name, "", parameters, text).c_str());
  RefuseInStaticMethod(c, {name, parameters});
}
template <typename F, typename... Extra>
void Function(py::module_& m, const char* name, F&& f, const char* text, const Extra&... extra) {
  const std::string parameters = ParametersOf(extra...);
  m.def(name, std::forward<F>(f), extra..., Documented(name, "", parameters, text).c_str());
  RefuseInFunction(m, {name, parameters});
}
// Init: __init__ by a function that returns the object.
template <typename Class, typename F, typename... Extra>
void Init(Class& c, F&& f, const char* text, const Extra&... extra) {
  const std::string parameters = ParametersOf(extra...);
  c.def(py::init(std::forward<F>(f)), extra...,
        Documented("__init__", "self", parameters, text).c_str());
  const WrongArguments wrong{c.attr("__name__").template cast<std::string>(), parameters};
  c.def(py::init([wrong](const Anything& first, const py::args& rest, const py::kwargs& named) ->
                 typename Class::type { wrong.Refuse(first, rest, named); }),
        py::arg("_") = py::ellipsis());
}

// PlainOf: a field's value as JSON has it: dicts, lists, texts and numbers.
py::object PlainOf(const py::object& value);

// FieldGetter: of a record in Python, the value of a field.
using FieldGetter = std::function<py::object(const py::object&)>;
// AddField: a read-only property. AddRecordMethods: __repr__, _repr_html_ and to_dict, by the names
// of the fields.
void AddField(const py::object& c, const char* name, FieldGetter getter, const char* text);
void AddRecordMethods(const py::object& c, const std::vector<std::string>& fields);

// Record: a class of plain results: read-only fields, a repr of them, as text and for notebooks,
// and to_dict().
template <typename T>
class Record {
 public:
  Record(py::module_& m, const char* name, const char* text) : class_(m, name, text) {}
  ~Record() { AddRecordMethods(class_, fields_); }

  // `getter`: a member of T, or a function of const T&.
  template <typename Getter>
  Record& Field(const char* name, Getter getter, const char* text) {
    AddField(
        class_, name,
        [getter](const py::object& self) -> py::object {
          const T& record = self.cast<const T&>();
          if constexpr (std::is_base_of_v<py::object, std::invoke_result_t<Getter, const T&>>) {
            return std::invoke(getter, record);
          } else {
            return py::cast(std::invoke(getter, record));
          }
        },
        text);
    fields_.emplace_back(name);
    return *this;
  }
  py::class_<T>& object() { return class_; }

 private:
  py::class_<T> class_;
  std::vector<std::string> fields_;
};

// RefuseCopies: refuses pickle and copy for objects with secrets; `why` says what to do instead.
template <typename Class>
void RefuseCopies(Class& c, const char* why) {
  for (const char* name : {"__reduce__", "__copy__"}) {
    c.def(name, [why](const py::object&) -> py::object { throw py::type_error(why); });
  }
  c.def("__reduce_ex__",
        [why](const py::object&, int) -> py::object { throw py::type_error(why); });
  c.def("__deepcopy__",
        [why](const py::object&, const py::object&) -> py::object { throw py::type_error(why); });
}

// Held: an object that can be closed, and is only destroyed when the calls that use it are back.
template <typename T>
class Held {
 public:
  Held(T object, const char* name) : object_(std::make_shared<T>(std::move(object))), name_(name) {}

  std::shared_ptr<T> Get() const {
    if (object_ == nullptr) {
      Throw(absl::FailedPreconditionError(std::string(name_) + " is closed: make another one"));
    }
    return object_;
  }
  void Check() const { Get(); }
  bool closed() const { return object_ == nullptr; }
  void Close() { object_ = nullptr; }

 private:
  std::shared_ptr<T> object_;
  const char* name_;
};

// ContextManager: close, closed, __enter__ and __exit__ of a class with Close() and closed().
template <typename T>
void ContextManager(py::class_<T>& c, const char* text) {
  Method(
      c, "close", [](T& self) { self.Close(); }, text);
  c.def_property_readonly(
      "closed", [](const T& self) { return self.closed(); }, "Whether close() was called.");
  c.def("__enter__", [](py::object self) {
    self.cast<T&>().Check();
    return self;
  });
  c.def("__exit__", [](T& self, const py::args&) { self.Close(); });
}

}  // namespace heft::python

#endif  // HEFT_PYTHON_DEFINE_H_
