// SPDX-License-Identifier: Apache-2.0
// Evaluation of models and of scores (heft/evaluate.h).
#include "heft/evaluate.h"
#include "python/learning.h"
#include "python/values.h"

namespace heft::python {
namespace {

// SystemsOf: tables by name, or a single one.
std::vector<NamedScores> SystemsOf(const py::object& scores) {
  if (py::isinstance<ScoreTable>(scores)) return {{"scores", scores.cast<const ScoreTable&>()}};
  std::vector<NamedScores> out;
  for (const auto& [name, table] : MappingOf(scores, "scores")) {
    if (!py::isinstance<ScoreTable>(table)) throw py::type_error("scores: give ScoreTables");
    out.push_back({TextOf(name, "scores"), table.cast<const ScoreTable&>()});
  }
  return out;
}

void DefineReport(py::module_& m) {
  Record<Report>(m, "Report", "The result of an evaluation.")
      .Field(
          "results", [](const Report& r) { return ObjectOf(r.json); },
          "All numbers: data, model, one row per system, gap, decisions, times.")
      .Field("text", &Report::text, "The main numbers, as lines of text.")
      .Field("page", &Report::page, "One HTML page; empty unless it was requested.")
      .Field(
          "pictures",
          [](const Report& r) {
            py::dict out;
            for (const auto& [name, svg] : r.pictures) out[py::str(name)] = svg;
            return out;
          },
          "Pictures (SVG) by file name, if they were requested.")
      .Field(
          "warnings",
          [](const Report& r) {
            std::vector<std::string> out;
            for (const std::string& warning : r.warnings) out.push_back(InPython(warning));
            return out;
          },
          "Why some numbers should not be relied on.")
      .Field(
          "scores",
          [](const Report& r) {
            return r.scores.pairs.empty() ? py::object(py::none()) : py::cast(r.scores);
          },
          "A ScoreTable of the comparisons, if it was requested; otherwise None.");
}

}  // namespace

void DefineReports(py::module_& m) {
  DefineReport(m);
  Function(
      m, "evaluate",
      [](const TrainingData& data, const Model& model, const std::string& split, int replicates,
         uint64_t seed, bool page, bool pictures, bool scores, const std::string& command,
         const py::object& progress) {
        EvaluationOptions options;
        options.split = split, options.replicates = replicates, options.seed = seed;
        options.page = page, options.pictures = pictures, options.scores = scores;
        options.command = command;
        Watch watch(progress);
        return Call([&] { return Evaluate(data, model, options, watch.monitor()); });
      },
      "Measures a model on one split: every sample against every other, plain and encrypted,\n"
      "with temporary keys. This takes minutes for some hundred samples.\n\n"
      "scores: keep the score of each pair. command: the command that the page names to repeat\n"
      "the evaluation. InvalidArgument, Cancelled; Unavailable if the page or pictures need\n"
      "gnuplot and it is not installed.",
      py::arg("data"), py::arg("model"), py::kw_only(), py::arg("split") = "test",
      py::arg("replicates") = 1000, py::arg("seed") = 1, py::arg("page") = false,
      py::arg("pictures") = false, py::arg("scores") = false, py::arg("command") = "",
      py::arg("progress") = py::none());
  Function(
      m, "measure_scores",
      [](const py::object& scores, const std::vector<double>& fmrs, int replicates, uint64_t seed,
         bool curve, bool page, bool pictures, const std::string& command,
         const py::object& progress) {
        const std::vector<NamedScores> systems = SystemsOf(scores);
        ScoreOptions options;
        options.fmrs = fmrs, options.replicates = replicates, options.seed = seed;
        options.curve = curve, options.page = page, options.pictures = pictures;
        options.command = command;
        Watch watch(progress);
        return Call([&] { return MeasureScores(systems, options, watch.monitor()); });
      },
      "AUROC, EER, and FMR with FNMR at thresholds for fmrs, of a ScoreTable or several by\n"
      "name, as `heft evaluate FILE`. A table with plain scores also gives the change by\n"
      "encryption. curve: every point of the ROC. InvalidArgument if genuine or impostor scores\n"
      "are missing; Cancelled, Unavailable.",
      py::arg("scores"), py::kw_only(), py::arg("fmrs") = py::make_tuple(1e-1, 1e-2, 1e-3, 1e-4),
      py::arg("replicates") = 1000, py::arg("seed") = 1, py::arg("curve") = false,
      py::arg("page") = false, py::arg("pictures") = false, py::arg("command") = "",
      py::arg("progress") = py::none());
  Function(
      m, "check_drawing", [] { Call([] { return CheckDrawing(); }); },
      "Raises Unavailable if gnuplot, which draws pages and pictures, is not installed.");
}

}  // namespace heft::python
