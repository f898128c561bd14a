// SPDX-License-Identifier: Apache-2.0
// Conversion between Python and C++: bytes or files, arrays of vectors, labels, conditions.
#ifndef HEFT_PYTHON_ARGUMENTS_H_
#define HEFT_PYTHON_ARGUMENTS_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heft/client.h"
#include "heft/files.h"
#include "heft/gallery.h"
#include "heft/server.h"

namespace heft::python {

namespace py = pybind11;

// Source: the bytes of a file: a buffer, which is not copied and stays held, or a path, which is
// read. Made and destroyed under the interpreter's lock.
class Source {
 public:
  explicit Source(py::handle object, std::string what, uint64_t max_size = kMaxFileSize);
  Source(Source&& other) noexcept;
  Source& operator=(Source&&) = delete;
  ~Source();

  std::span<const uint8_t> bytes() const;
  const std::string& what() const { return what_; }  // path or description, for errors
  std::vector<uint8_t> Release() &&;                 // copies a buffer

 private:
  Py_buffer view_{};
  std::vector<uint8_t> read_;
  std::string what_;
};

// IsSource: whether it is one file, by its bytes or path, rather than several.
bool IsSource(py::handle object);

// PathOf: of str or os.PathLike; TypeError for anything else.
std::string PathOf(py::handle object);

// Matrix: rows of float32. A contiguous float32 array is used in place, others are copied.
struct Matrix {
  py::array keep;
  std::span<const float> values;
  size_t rows = 0, dimension = 0;
  bool single = false;  // one vector, not a matrix of one
};
// heft.InvalidArgument unless it is an array of floats with one or two dimensions; `what` names it.
Matrix MatrixOf(py::handle array, std::string_view what);

// MappingOf: a copy of a dict. It keeps the keys and values alive while Python code or another
// thread changes the dict. TypeError for anything else; `what` names it.
py::dict MappingOf(py::handle mapping, const std::string& what);

// TextOf: a str in UTF-8. TypeError for anything else, heft.InvalidArgument for a str without a
// UTF-8 form; `what` names it.
std::string TextOf(py::handle text, const std::string& what);

// LabelsOf: None, one label, or a sequence of str or int. TypeError for anything else.
std::vector<std::string> LabelsOf(py::handle labels);
// EntriesOf: PendingEnrolment.entry, one or several.
std::vector<Digest> EntriesOf(const py::object& entries);

// SampleFilesOf: one source, several, or a mapping from names in errors to sources.
std::vector<SampleFile> SampleFilesOf(py::handle samples);

// ConditionsOf: "site=berlin" and its like, or Conditions, one or several; None for none.
std::vector<Condition> ConditionsOf(py::handle where);
// MetadataOf: a mapping from keys to a text or several.
Metadata MetadataOf(py::handle metadata);
py::dict MetadataDict(const Metadata& metadata);

// UseOf, EncodingOf: by their names in Python.
SampleUse UseOf(const std::string& name);
SampleEncoding EncodingOf(const std::string& name);

py::bytes BytesOf(std::span<const uint8_t> bytes);
std::string HexOf(std::span<const uint8_t> bytes);
// ObjectOf: dicts, lists, texts and numbers. DescribedOf: with the same in words.
py::object ObjectOf(const Json& json);
py::tuple DescribedOf(const Described& described);

}  // namespace heft::python

#endif  // HEFT_PYTHON_ARGUMENTS_H_
