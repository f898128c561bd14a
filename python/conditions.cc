// SPDX-License-Identifier: Apache-2.0
// Conditions on metadata as objects, for values that the text form has no place for.
#include "heft/gallery.h"
#include "heft/trust.h"
#include "python/inspection.h"
#include "python/values.h"

namespace heft::python {

void DefineConditions(py::module_& m) {
  Record<Condition> condition(
      m, "Condition",
      "A condition on metadata: a key has one of these values or, without values, a number\n"
      "within bounds. It can be used instead of a text such as \"site=berlin\", and is needed\n"
      "for values that contain \"|\" or \"..\".");
  condition.Field("key", &Condition::key, "The key of the metadata.")
      .Field("values", &Condition::values,
             "The allowed values; none: the condition is on a number.")
      .Field("at_least", &Condition::at_least, "Lower bound of the number, or None.")
      .Field("at_most", &Condition::at_most, "Upper bound of the number, or None.");
  auto& c = condition.object();
  Init(
      c,
      [](const std::string& key, const py::object& values, std::optional<double> at_least,
         std::optional<double> at_most) {
        Condition made{key, LabelsOf(values), at_least, at_most};
        Take(CheckConditions({&made, 1}));
        return made;
      },
      "A condition. InvalidArgument if the arguments do not form one.", py::arg("key"),
      py::arg("values") = py::none(), py::kw_only(), py::arg("at_least") = py::none(),
      py::arg("at_most") = py::none());
  StaticMethod(
      c, "parse", [](const std::string& text) { return Take(ParseCondition(text)); },
      "Reads \"site=berlin\", \"list=a|b\" or \"age=18..30\". InvalidArgument.", py::arg("text"));
  c.def("__str__", &ConditionText);
  Function(
      m, "fits",
      [](const py::object& metadata, const py::object& where) {
        const Metadata pairs = MetadataOf(metadata);
        Take(CheckMetadata(pairs));
        return Fits(pairs, ConditionsOf(where));
      },
      "Whether the metadata meet all conditions; of a key with several values, any one may meet\n"
      "it. InvalidArgument for invalid metadata or conditions.",
      py::arg("metadata"), py::arg("where"));
  Function(
      m, "parse_expiry",
      [](const std::string& text, std::optional<uint64_t> now) {
        return Take(ParseExpiry(text, now.value_or(UnixTime())));
      },
      "The time of expiry in Unix seconds, for enrol, from a date (\"2027-01-31\", at 00:00\n"
      "UTC), a time (\"2027-01-31T12:30:00Z\") or a duration from now (\"90d\"; s, m, h, d and\n"
      "y). InvalidArgument for other text, and for a time in the past.",
      py::arg("text"), py::kw_only(), py::arg("now") = py::none());
}

}  // namespace heft::python
