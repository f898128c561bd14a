// SPDX-License-Identifier: Apache-2.0
// A record's field in Python, by its type (heft/results.h has the table).
#ifndef HEFT_PYTHON_SHOWN_H_
#define HEFT_PYTHON_SHOWN_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "heft/results.h"
#include "python/arguments.h"
#include "python/define.h"

namespace heft::python {

template <typename T>
py::object ShownValue(const T& value) {
  return py::cast(value);
}
inline py::object ShownValue(const absl::Status& status) { return py::bool_(status.ok()); }
inline py::object ShownValue(ScoreKind kind) { return py::cast(ScoreKindName(kind)); }
inline py::object ShownValue(RateOf of) { return py::cast(RateOfName(of)); }
inline py::object ShownValue(Likelihood likelihood) { return py::cast(LikelihoodName(likelihood)); }
inline py::object ShownValue(TemplateState state) { return py::cast(TemplateStateName(state)); }
inline py::object ShownValue(Rejection rejection) { return py::cast(RejectionName(rejection)); }
inline py::object ShownValue(const Condition& condition) {
  return py::cast(ConditionText(condition));
}
inline py::object ShownValue(const RateInterval& interval) {
  return py::make_tuple(interval.lo, interval.hi);
}
inline py::object ShownValue(const Metadata& metadata) { return MetadataDict(metadata); }
// An id, a key or a digest; empty if it is all zeros, which is none.
template <size_t N>
py::object ShownValue(const std::array<uint8_t, N>& bytes) {
  return py::str(bytes == std::array<uint8_t, N>{} ? std::string() : HexOf(bytes));
}
// A file.
inline py::object ShownValue(const std::vector<uint8_t>& file) { return BytesOf(file); }
template <typename T>
py::object ShownValue(const std::optional<T>& value) {
  return value ? ShownValue(*value) : py::none();
}
template <typename T>
py::object ShownValue(const std::vector<T>& values) {
  py::list out;
  for (const T& value : values) out.append(ShownValue(value));
  return out;
}

// Shown: a getter of a field. Said: of a sentence about options, which are arguments in Python.
template <typename T, typename Owner>
auto Shown(T Owner::*member) {
  return [member](const Owner& record) { return ShownValue(record.*member); };
}
template <typename Owner>
auto Said(std::string Owner::*member) {
  return [member](const Owner& record) { return InPython(record.*member); };
}

}  // namespace heft::python

#endif  // HEFT_PYTHON_SHOWN_H_
