// SPDX-License-Identifier: Apache-2.0
// Results of a key owner's openings: scores, decisions, admissions, and the use of budgets.
#include "heft/key_owner.h"
#include "python/values.h"

namespace heft::python {
namespace {

py::object OpenedFrame(const OpenedScores& opened) {
  py::list identity, score, templates, ratio;
  for (const Candidate& c : opened.candidates) {
    identity.append(c.identity);
    score.append(c.score);
    templates.append(c.templates);
    ratio.append(c.log_likelihood_ratio);
  }
  py::dict columns;
  columns["identity"] = identity;
  columns["score"] = score;
  columns["templates"] = templates;
  columns["log_likelihood_ratio"] = ratio;
  return py::module_::import("pandas").attr("DataFrame")(columns);
}

}  // namespace

void DefineOpenings(py::module_& m) {
  auto opened = m.attr("OpenedScores").cast<py::class_<OpenedScores>>();
  Method(opened, "to_dataframe", &OpenedFrame,
         "The candidates as a pandas DataFrame: identity, score, templates, log_likelihood_ratio.");
  Method(
      opened, "decide",
      [](const OpenedScores& self, const py::object& threshold) {
        return py::isinstance<ChosenThreshold>(threshold)
                   ? self.Decide(threshold.cast<const ChosenThreshold&>())
                   : self.Decide(threshold.cast<double>());
      },
      "Decides at a ChosenThreshold or a score.", py::arg("threshold"));
  Function(m, "default_limits", &DefaultLimits,
           "The limits of a model's galleries until set_budget changes them: as many scores as\n"
           "training or calibration measured, 0 without this measurement.",
           py::arg("model"));
}

}  // namespace heft::python
