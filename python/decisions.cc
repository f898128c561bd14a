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
      "How often a stranger's best score against one enrolled person reaches a threshold\n"
      "(generalised Pareto in -log(1 - score^2)).");
  tail.Field("start", &ImpostorTail::start, "Scores from here on.")
      .Field("rate", &ImpostorTail::rate, "Share of comparisons that reach start, in (0, 1].")
      .Field("scale", &ImpostorTail::scale, "Of the distribution above it, > 0.")
      .Field("shape", &ImpostorTail::shape, "Below 1; negative: scores have an upper end.")
      .Field("evenness", &ImpostorTail::evenness, "Of strangers' rates at start, > 0.");
  auto& c = tail.object();
  Method(c, "rate_at", &ImpostorTail::RateAt,
         "The share of comparisons that reach a threshold, which is start at least.",
         py::arg("threshold"));
  Method(c, "fpir", &ImpostorTail::Fpir,
         "The probability that a stranger's search of so many people names somebody.",
         py::arg("threshold"), py::arg("people"));
  Method(c, "threshold_for", &ImpostorTail::ThresholdFor,
         "The threshold at which that is fpir; start where it is reached there already.",
         py::arg("fpir"), py::arg("people"));
}

}  // namespace

void DefineDecisions(py::module_& m) {
  Record<ChosenThreshold>(m, "ChosenThreshold", "Accept at score or above.")
      .Field("score", &ChosenThreshold::score, "A cosine.")
      .Field(
          "of", [](const ChosenThreshold& t) { return RateName(t.of); },
          "What the rate is a share of: comparisons, searches, or nothing.")
      .Field("rate", &ChosenThreshold::rate, "The rate that was asked for.")
      .Field(
          "interval", [](const ChosenThreshold& t) { return IntervalOf(t.interval); },
          "Where that rate lies on new people, with 95% confidence.")
      .Field(
          "warning", [](const ChosenThreshold& t) { return InPython(t.warning); },
          "Why it should not be relied on; empty if it may be.");
  Record<DecisionThreshold>(m, "DecisionThreshold",
                            "A point of a model's curve for one comparison, 1:1.")
      .Field("fmr", &DecisionThreshold::fmr, "False match rate that it was fitted for.")
      .Field("score", &DecisionThreshold::score, "Accept at this cosine or above.")
      .Field("fnmr", &DecisionThreshold::fnmr, "False non-match rate seen there.")
      .Field("impostor_pairs", &DecisionThreshold::impostor_pairs, "Comparisons it rests on.")
      .Field(
          "interval", [](const DecisionThreshold& t) { return IntervalOf(t.interval); },
          "Of the false match rate at score, with 95% confidence.")
      .Field(
          "supported", [](const DecisionThreshold& t) { return t.Supported(); },
          "Whether the comparisons allow 30 false matches.");
  Record<ScoreCalibration> calibration(m, "ScoreCalibration",
                                       "slope * score + intercept: the log-likelihood ratio.");
  calibration.Field("slope", &ScoreCalibration::slope, "Per cosine.")
      .Field("intercept", &ScoreCalibration::intercept, "At cosine 0.");
  Method(calibration.object(), "log_likelihood_ratio", &ScoreCalibration::LogLikelihoodRatio,
         "Of a score, natural logarithm.", py::arg("score"));
  DefineTail(m);
  Record<SearchCalibration>(m, "SearchCalibration", "A tail, and what it rests on.")
      .Field("templates", &SearchCalibration::templates, "A person, in the gallery.")
      .Field("people", &SearchCalibration::people, "That it was fitted on.")
      .Field("comparisons", &SearchCalibration::comparisons, "Of a stranger with a person.")
      .Field("tail", &SearchCalibration::tail, "The fit.")
      .Field("replicates", &SearchCalibration::replicates, "The same for resampled people.");
  Record<DecisionTable>(m, "DecisionTable",
                        "What scores mean of probes that have just these modalities.")
      .Field("modalities", &DecisionTable::modalities, "Bit i: modality i of the model.")
      .Field("thresholds", &DecisionTable::thresholds, "For one comparison.")
      .Field("searches", &DecisionTable::searches, "For a search.")
      .Field("calibration", &DecisionTable::calibration, "Of scores, or None.");
}

}  // namespace heft::python
