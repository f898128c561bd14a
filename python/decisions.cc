// SPDX-License-Identifier: Apache-2.0
// The meaning of scores: thresholds, tails, calibration (heft/decisions.h).
#include "heft/decisions.h"

#include "python/values.h"

namespace heft::python {
namespace {

py::tuple IntervalOf(const RateInterval& interval) {
  return py::make_tuple(interval.lo, interval.hi);
}

const char* RateName(RateOf of) {
  if (of == RateOf::kComparisons) return "comparisons";
  return of == RateOf::kSearches ? "searches" : "nothing";
}

void DefineTail(py::module_& m) {
  Record<ImpostorTail> tail(
      m, "ImpostorTail",
      "How often the best score of a stranger against one enrolled person reaches a threshold\n"
      "(generalised Pareto in -log(1 - score^2)).");
  tail.Field("start", &ImpostorTail::start, "The least score that is modelled.")
      .Field("rate", &ImpostorTail::rate, "Share of comparisons that reach start, in (0, 1].")
      .Field("scale", &ImpostorTail::scale, "Scale of the distribution above start, > 0.")
      .Field("shape", &ImpostorTail::shape, "Shape, below 1; negative: scores have an upper end.")
      .Field("evenness", &ImpostorTail::evenness,
             "Squared mean over variance of strangers' rates at start, > 0.");
  auto& c = tail.object();
  Method(c, "rate_at", &ImpostorTail::RateAt,
         "The share of comparisons that reach a threshold, which must be at least start.",
         py::arg("threshold"));
  Method(c, "fpir", &ImpostorTail::Fpir,
         "The probability that a stranger's search of so many people returns a name.",
         py::arg("threshold"), py::arg("people"));
  Method(c, "threshold_for", &ImpostorTail::ThresholdFor,
         "The threshold at which that probability is fpir; start if it is lower already there.",
         py::arg("fpir"), py::arg("people"));
}

}  // namespace

void DefineDecisions(py::module_& m) {
  Record<ChosenThreshold>(m, "ChosenThreshold", "Accept at this score or above.")
      .Field("score", &ChosenThreshold::score, "A cosine.")
      .Field(
          "of", [](const ChosenThreshold& t) { return RateName(t.of); },
          "The rate is a share of comparisons, searches, or nothing.")
      .Field("rate", &ChosenThreshold::rate, "The requested rate.")
      .Field(
          "interval", [](const ChosenThreshold& t) { return IntervalOf(t.interval); },
          "The rate on new people, with 95% confidence.")
      .Field(
          "warning", [](const ChosenThreshold& t) { return InPython(t.warning); },
          "Why the threshold should not be relied on; empty if it may be.");
  Record<DecisionThreshold>(m, "DecisionThreshold",
                            "A point of a model's curve for one comparison (1:1).")
      .Field("fmr", &DecisionThreshold::fmr, "False match rate that the point was fitted for.")
      .Field("score", &DecisionThreshold::score, "Accept at this cosine or above.")
      .Field("fnmr", &DecisionThreshold::fnmr, "False non-match rate that was measured there.")
      .Field("impostor_pairs", &DecisionThreshold::impostor_pairs,
             "Number of comparisons behind the point.")
      .Field(
          "interval", [](const DecisionThreshold& t) { return IntervalOf(t.interval); },
          "The false match rate at score, with 95% confidence.")
      .Field(
          "supported", [](const DecisionThreshold& t) { return t.Supported(); },
          "Whether the comparisons suffice for 30 false matches.");
  Record<ScoreCalibration> calibration(
      m, "ScoreCalibration",
      "The natural logarithm of the likelihood ratio of a score: slope * score + intercept.");
  calibration.Field("slope", &ScoreCalibration::slope, "Increase per unit of cosine.")
      .Field("intercept", &ScoreCalibration::intercept, "Value at cosine 0.");
  Method(calibration.object(), "log_likelihood_ratio", &ScoreCalibration::LogLikelihoodRatio,
         "The log-likelihood ratio of a score, natural logarithm.", py::arg("score"));
  DefineTail(m);
  Record<SearchCalibration>(m, "SearchCalibration",
                            "The tail of strangers' searches, and the data behind it.")
      .Field("templates", &SearchCalibration::templates, "Templates per person in the gallery.")
      .Field("people", &SearchCalibration::people, "People that it was fitted on.")
      .Field("comparisons", &SearchCalibration::comparisons,
             "Comparisons of a stranger with a person.")
      .Field("tail", &SearchCalibration::tail, "The fit.")
      .Field("replicates", &SearchCalibration::replicates, "The fits for resampled people.");
  Record<DecisionTable>(m, "DecisionTable",
                        "The meaning of scores for probes with exactly these modalities.")
      .Field("modalities", &DecisionTable::modalities, "Bit i stands for modality i of the model.")
      .Field("thresholds", &DecisionTable::thresholds, "Thresholds for one comparison.")
      .Field("searches", &DecisionTable::searches, "Tails for a search.")
      .Field("calibration", &DecisionTable::calibration, "Calibration of scores, or None.");
}

}  // namespace heft::python
