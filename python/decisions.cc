// SPDX-License-Identifier: Apache-2.0
// The meaning of scores: methods of thresholds, tails and calibrations (heft/decisions.h).
#include "heft/decisions.h"

#include "python/values.h"

namespace heft::python {

void DefineDecisions(py::module_& m) {
  auto threshold = m.attr("DecisionThreshold").cast<py::class_<DecisionThreshold>>();
  threshold.def_property_readonly("supported", &DecisionThreshold::Supported,
                                  "Whether the comparisons suffice for 30 false matches.");
  auto calibration = m.attr("ScoreCalibration").cast<py::class_<ScoreCalibration>>();
  Method(calibration, "log_likelihood_ratio", &ScoreCalibration::LogLikelihoodRatio,
         "The log-likelihood ratio of a score, natural logarithm.", py::arg("score"));
  auto tail = m.attr("ImpostorTail").cast<py::class_<ImpostorTail>>();
  Method(tail, "rate_at", &ImpostorTail::RateAt,
         "The share of comparisons that reach a threshold, which must be at least start.",
         py::arg("threshold"));
  Method(tail, "fpir", &ImpostorTail::Fpir,
         "The probability that a stranger's search of so many people returns a name.",
         py::arg("threshold"), py::arg("people"));
  Method(tail, "threshold_for", &ImpostorTail::ThresholdFor,
         "The threshold at which that probability is fpir; start if it is lower already there.",
         py::arg("fpir"), py::arg("people"));
}

}  // namespace heft::python
