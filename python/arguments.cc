// SPDX-License-Identifier: Apache-2.0
#include "python/arguments.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "python/errors.h"

namespace heft::python {
namespace {

// A flag of PyArray_FromAny that pybind11 does not name.
constexpr int kAligned = 0x0100;
using Floats = py::array_t<float, py::array::c_style | py::array::forcecast | kAligned>;

bool IsPath(py::handle object) {
  return py::isinstance<py::str>(object) || py::hasattr(object, "__fspath__");
}

std::string LabelOf(py::handle label) {
  if (py::isinstance<py::str>(label)) return TextOf(label, "labels");
  if (PyIndex_Check(label.ptr()) != 0 && !py::isinstance<py::bool_>(label)) {
    return py::str(label).cast<std::string>();
  }
  throw py::type_error("labels are str or int, not " +
                       py::str(py::type::of(label).attr("__name__")).cast<std::string>());
}

// ArrayOf: NumPy's array of an object. An object that is no array is heft.InvalidArgument with the
// message of NumPy or of the object's __array__; other exceptions pass unchanged.
py::array ArrayOf(py::handle object, const std::string& name) {
  try {
    return py::array(py::reinterpret_borrow<py::object>(object));
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
    Wrong(absl::StrCat(name, ": vectors are an array of float32 or float64: ",
                       py::str(error.value()).cast<std::string>()));
  }
}

}  // namespace

bool IsSource(py::handle object) {
  return IsPath(object) || PyObject_CheckBuffer(object.ptr()) != 0;
}

std::string PathOf(py::handle object) {
  PyObject* path = nullptr;
  if (PyUnicode_FSConverter(object.ptr(), &path) == 0) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(path).cast<std::string>();
}

Source::Source(py::handle object, std::string what, uint64_t max_size) : what_(std::move(what)) {
  if (IsPath(object)) {
    what_ = PathOf(object);
    read_ = Call([&] { return ReadFile(what_, max_size); });
    return;
  }
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    throw py::type_error(what_ + ": give bytes or the path of a file");
  }
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw py::error_already_set();
}

Source::Source(Source&& other) noexcept
    : view_(std::exchange(other.view_, {})),
      read_(std::move(other.read_)),
      what_(std::move(other.what_)) {}

Source::~Source() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

std::span<const uint8_t> Source::bytes() const {
  if (view_.obj == nullptr) return read_;
  return {static_cast<const uint8_t*>(view_.buf), static_cast<size_t>(view_.len)};
}

std::vector<uint8_t> Source::Release() && {
  if (view_.obj == nullptr) return std::move(read_);
  const auto held = bytes();
  return {held.begin(), held.end()};
}

Matrix MatrixOf(py::handle array, std::string_view what) {
  const std::string name(what);
  const py::array any = ArrayOf(array, name);
  if (any.dtype().kind() != 'f' || any.itemsize() > 8) {
    Wrong(name + ": vectors must be an array of float32 or float64");
  }
  if (any.ndim() < 1 || any.ndim() > 2) {
    Wrong(absl::StrCat(name, ": an array of ", any.ndim(),
                       " dimensions; give one vector, or a matrix with one vector per row"));
  }
  Floats floats(any);  // throws MemoryError
  Matrix out;
  out.single = any.ndim() == 1;
  out.rows = out.single ? 1 : static_cast<size_t>(any.shape(0));
  out.dimension = static_cast<size_t>(any.shape(out.single ? 0 : 1));
  out.values = {floats.data(), static_cast<size_t>(floats.size())};
  out.keep = std::move(floats);
  return out;
}

std::string TextOf(py::handle text, const std::string& what) {
  if (!py::isinstance<py::str>(text)) {
    throw py::type_error(absl::StrCat(what, ": a name must be a str"));
  }
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (utf8 == nullptr) {
    PyErr_Clear();
    Wrong(absl::StrCat(what, ": a text has no UTF-8 form (it contains half of a surrogate pair)"));
  }
  return {utf8, static_cast<size_t>(size)};
}

py::dict MappingOf(py::handle mapping, const std::string& what) {
  if (!py::isinstance<py::dict>(mapping)) {
    throw py::type_error(
        absl::StrCat(what, ": give a dict, not ", Py_TYPE(mapping.ptr())->tp_name));
  }
  PyObject* copy = PyDict_Copy(mapping.ptr());
  if (copy == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::dict>(copy);
}

std::vector<Digest> EntriesOf(const py::object& entries) {
  std::vector<Digest> out;
  for (const std::string& text : LabelsOf(entries)) {
    const auto digest = ParseSignerKey(text);  // of the same form
    if (!digest.ok()) Wrong("an entry is 64 hexadecimal digits: use PendingEnrolment.entry");
    out.push_back(*digest);
  }
  return out;
}

std::vector<std::string> LabelsOf(py::handle labels) {
  if (labels.is_none()) return {};
  if (py::isinstance<py::str>(labels)) return {TextOf(labels, "labels")};
  std::vector<std::string> out;
  for (const py::handle label : py::iter(labels)) out.push_back(LabelOf(label));
  return out;
}

std::vector<SampleFile> SampleFilesOf(py::handle samples) {
  std::vector<SampleFile> files;
  const auto add = [&](py::handle object, const std::string& name) {
    Source source(object, name, kMaxSamplesSize);
    const std::string what = source.what();
    files.push_back({std::move(source).Release(), what});
  };
  if (py::isinstance<py::dict>(samples)) {
    for (const auto& [name, object] : MappingOf(samples, "samples")) {
      add(object, py::str(name).cast<std::string>());
    }
  } else if (IsSource(samples)) {
    add(samples, "samples");
  } else {
    for (const py::handle object : py::iter(samples)) {
      add(object, absl::StrCat("samples ", files.size()));
    }
  }
  return files;
}

std::vector<Condition> ConditionsOf(py::handle where) {
  if (where.is_none()) return {};
  const auto of = [](py::handle one) {
    return py::isinstance<Condition>(one) ? one.cast<const Condition&>()
                                          : Take(ParseCondition(TextOf(one, "where")));
  };
  if (py::isinstance<py::str>(where) || py::isinstance<Condition>(where)) return {of(where)};
  std::vector<Condition> out;
  for (const py::handle one : py::iter(where)) out.push_back(of(one));
  return out;
}

Metadata MetadataOf(py::handle metadata) {
  Metadata out;
  if (metadata.is_none()) return out;
  for (const auto& [key, value] : MappingOf(metadata, "metadata")) {
    for (const std::string& text : LabelsOf(value)) {
      out.push_back({TextOf(key, "metadata"), text});
    }
  }
  return out;
}

py::dict MetadataDict(const Metadata& metadata) {
  py::dict out;
  for (const MetadataPair& pair : metadata) {
    if (!out.contains(pair.key)) out[py::str(pair.key)] = py::list();
    out[py::str(pair.key)].cast<py::list>().append(pair.value);
  }
  return out;
}

SampleUse UseOf(const std::string& name) {
  if (name == "enrolment") return SampleUse::kEnrolment;
  if (name == "identification") return SampleUse::kIdentification;
  Wrong("use must be \"enrolment\" (also for verifications) or \"identification\", not \"" + name +
        "\"");
}

SampleEncoding EncodingOf(const std::string& name) {
  if (name == "compact") return SampleEncoding::kCompact;
  if (name == "bulk") return SampleEncoding::kBulk;
  if (name == "partial") return SampleEncoding::kPartial;
  Wrong("encoding must be \"compact\", \"bulk\" or \"partial\", not \"" + name + "\"");
}

py::bytes BytesOf(std::span<const uint8_t> bytes) {
  return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string HexOf(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t b : bytes) {
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

py::object PlainOf(const py::object& value) {
  if (py::hasattr(value, "to_dict")) return value.attr("to_dict")();
  if (py::isinstance<py::bytes>(value)) {
    return py::module_::import("base64").attr("b64encode")(value).attr("decode")("ascii");
  }
  if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value)) return value;
  py::list out;
  for (const py::handle one : value) out.append(PlainOf(py::reinterpret_borrow<py::object>(one)));
  return out;
}

py::object ObjectOf(const Json& json) {
  return py::module_::import("json").attr("loads")(json.dump());
}

py::tuple DescribedOf(const Described& described) {
  return py::make_tuple(ObjectOf(described.json), described.text);
}

}  // namespace heft::python
