// SPDX-License-Identifier: Apache-2.0
// Conditions on metadata as objects, for values that the text form has no place for.
#include "heft/metadata.h"
#include "heft/trust.h"
#include "python/inspection.h"
#include "python/values.h"

namespace heft::python {

void DefineConditions(py::module_& m) {
  Record<Condition> condition(
      m, "Condition",
      "That a key of the metadata has one of these values; or, without values, a number within "
      "bounds.\n"
      "Goes wherever \"site=berlin\" does; for values with \"|\" or \"..\" in them.");
  condition.Field("key", &Condition::key, "Of the metadata.")
      .Field("values", &Condition::values, "One of them; none: a number.")
      .Field("at_least", &Condition::at_least, "Of the number, or None.")
      .Field("at_most", &Condition::at_most, "Of the number, or None.");
  auto& c = condition.object();
  Init(
      c,
      [](const std::string& key, const py::object& values, std::optional<double> at_least,
         std::optional<double> at_most) {
        Condition made{key, LabelsOf(values), at_least, at_most};
        Take(CheckConditions({&made, 1}));
        return made;
      },
      "A condition. InvalidArgument for what is none.", py::arg("key"),
      py::arg("values") = py::none(), py::kw_only(), py::arg("at_least") = py::none(),
      py::arg("at_most") = py::none());
  StaticMethod(
      c, "parse", [](const std::string& text) { return Take(ParseCondition(text)); },
      "Of \"site=berlin\", \"list=a|b\" or \"age=18..30\". InvalidArgument.", py::arg("text"));
  c.def("__str__", &ConditionText);
  Function(
      m, "fits",
      [](const py::object& metadata, const py::object& where) {
        const Metadata pairs = MetadataOf(metadata);
        Take(CheckMetadata(pairs));
        return Fits(pairs, ConditionsOf(where));
      },
      "Whether all conditions hold of such metadata, each by any one value of its key.\n"
      "InvalidArgument for what is no metadata or condition.",
      py::arg("metadata"), py::arg("where"));
  Function(
      m, "parse_expiry",
      [](const std::string& text, std::optional<uint64_t> now) {
        return Take(ParseExpiry(text, now.value_or(UnixTime())));
      },
      "When a template is to expire, in Unix seconds, for enrol: of a date (\"2027-01-31\", from\n"
      "00:00 UTC on), a time (\"2027-01-31T12:30:00Z\") or a time from now on (\"90d\"; s, m, h, "
      "d\n"
      "and y). InvalidArgument for what is none of them, or has passed.",
      py::arg("text"), py::kw_only(), py::arg("now") = py::none());
}

}  // namespace heft::python
