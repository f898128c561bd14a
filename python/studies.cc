// SPDX-License-Identifier: Apache-2.0
// Studies: models over folds, choices, several samples, protection, searches, protocols.
#include "heft/evaluate.h"
#include "heft/train.h"
#include "python/learning.h"
#include "python/values.h"

namespace heft::python {
namespace {

// ModelsOf: a sequence of models, copied; or a single one.
std::vector<Model> ModelsOf(const py::object& models) {
  if (py::isinstance<Model>(models)) return {models.cast<const Model&>()};
  std::vector<Model> out;
  for (const py::handle model : py::iter(models)) {
    if (!py::isinstance<Model>(model)) throw py::type_error("models: give Models");
    out.push_back(model.cast<const Model&>());
  }
  return out;
}

// FoldsOf: a model a fold, or several such by name.
std::vector<FoldModels> FoldsOf(const py::object& models) {
  if (!py::isinstance<py::dict>(models)) return {{"", ModelsOf(models)}};
  std::vector<FoldModels> out;
  for (const auto& [name, of] : MappingOf(models, "models")) {
    out.push_back({TextOf(name, "models"), ModelsOf(py::reinterpret_borrow<py::object>(of))});
  }
  return out;
}

void DefineFolds(py::module_& m) {
  Function(
      m, "evaluate_folds",
      [](const TrainingData& data, const py::object& models, int folds, uint64_t fold_seed,
         bool encrypted, bool partial_probes, int replicates, uint64_t seed, bool page, bool scores,
         const std::string& command, const py::object& progress) {
        const std::vector<FoldModels> held = FoldsOf(models);
        const FoldOptions options = {folds, fold_seed, encrypted, partial_probes, replicates,
                                     seed,  page,      command,   scores};
        Watch watch(progress);
        return Call([&] { return EvaluateFolds(data, held, options, watch.monitor()); });
      },
      "Compares models over the folds in which they were trained (Model.train_folds). Each\n"
      "person is tested once, by a model that was trained without this person. models: a list,\n"
      "or several lists by name. Errors as evaluate's.",
      py::arg("data"), py::arg("models"), py::kw_only(), py::arg("folds") = 5,
      py::arg("fold_seed") = 1, py::arg("encrypted") = true, py::arg("partial_probes") = false,
      py::arg("replicates") = 1000, py::arg("seed") = 1, py::arg("page") = false,
      py::arg("scores") = false, py::arg("command") = "", py::arg("progress") = py::none());
  Function(
      m, "compare_choices",
      [](const TrainingData& data, int folds, uint64_t fold_seed, bool encrypted, int replicates,
         uint64_t seed, bool page, const std::string& command, const py::object& progress) {
        FoldOptions options = {folds, fold_seed, encrypted, false, replicates, seed, page, command};
        Watch watch(progress);
        return Call([&] { return CompareChoices(data, options, watch.monitor()); });
      },
      "Trains and compares the choices of a model's owner: fused dimension, approximation,\n"
      "weights. This takes about an hour.",
      py::arg("data"), py::kw_only(), py::arg("folds") = 5, py::arg("fold_seed") = 1,
      py::arg("encrypted") = true, py::arg("replicates") = 1000, py::arg("seed") = 1,
      py::arg("page") = false, py::arg("command") = "", py::arg("progress") = py::none());
  Function(
      m, "evaluate_samples",
      [](const TrainingData& data, const py::object& models, int folds, uint64_t fold_seed,
         const std::vector<int>& samples, const std::vector<int>& probes, int draws, uint64_t seed,
         bool encrypted, int replicates, uint64_t bootstrap_seed, bool page, bool pictures,
         const std::string& command, const py::object& progress) {
        const std::vector<Model> held = ModelsOf(models);
        const SampleStudyOptions options = {folds,          fold_seed, samples,   probes,
                                            draws,          seed,      encrypted, replicates,
                                            bootstrap_seed, page,      pictures,  command};
        Watch watch(progress);
        return Call([&] { return EvaluateSamples(data, held, options, watch.monitor()); });
      },
      "Measures the gain of several samples per person, at enrolment and for the probe: as\n"
      "their mean, and as separate templates. models: one per fold. FailedPrecondition for\n"
      "models without sample_agreement; errors as evaluate_folds'.",
      py::arg("data"), py::arg("models"), py::kw_only(), py::arg("folds") = 5,
      py::arg("fold_seed") = 1, py::arg("samples") = py::make_tuple(1, 2, 4),
      py::arg("probes") = py::make_tuple(1, 2), py::arg("draws") = 5, py::arg("seed") = 1,
      py::arg("encrypted") = true, py::arg("replicates") = 1000, py::arg("bootstrap_seed") = 1,
      py::arg("page") = false, py::arg("pictures") = false, py::arg("command") = "",
      py::arg("progress") = py::none());
}

void DefineProtection(py::module_& m) {
  Function(
      m, "evaluate_protection",
      [](const TrainingData& data, const Model& model, const std::string& split, int samples,
         uint64_t seed, bool page, bool pictures, const std::string& command,
         const py::object& progress) {
        const ProtectionOptions options = {split, samples, seed, page, pictures, command};
        Watch watch(progress);
        return Call([&] { return EvaluateProtection(data, model, options, watch.monitor()); });
      },
      "Measures the protection of templates (ISO/IEC 24745, 30136): unlinkability under two\n"
      "keys, irreversibility, renewability. split: the people whose templates are measured.\n"
      "Errors as evaluate's.",
      py::arg("data"), py::arg("model"), py::kw_only(), py::arg("split") = "test",
      py::arg("samples") = 300, py::arg("seed") = 1, py::arg("page") = false,
      py::arg("pictures") = false, py::arg("command") = "", py::arg("progress") = py::none());
  Function(
      m, "evaluate_searches",
      [](const TrainingData& data, const py::object& models,
         const std::vector<uint64_t>& calibrate_on, int draws, uint64_t seed,
         const std::string& split, bool page, const std::string& command,
         const py::object& progress) {
        const std::vector<Model> held = ModelsOf(models);
        const SearchStudyOptions options = {calibrate_on, draws, seed, split, page, command};
        Watch watch(progress);
        return Call([&] { return EvaluateSearches(data, held, options, watch.monitor()); });
      },
      "Measures whether FPIR thresholds hold in galleries of 10 to 10,000 people, simulated\n"
      "with the statistics of the data. models: one, or those of all folds. InvalidArgument,\n"
      "Cancelled.",
      py::arg("data"), py::arg("models"), py::kw_only(),
      py::arg("calibrate_on") = py::make_tuple(200, 1000), py::arg("draws") = 40,
      py::arg("seed") = 1, py::arg("split") = "test", py::arg("page") = false,
      py::arg("command") = "", py::arg("progress") = py::none());
  Function(
      m, "evaluate_gallery",
      [](const TrainingData& data, const Model& model, const TrainingData& distractors,
         const TrainingData* strangers, const std::string& split, bool encrypted, bool page,
         const std::string& command, const py::object& progress) {
        const GalleryOptions options = {split, encrypted, page, command};
        Watch watch(progress);
        return Call([&] {
          return EvaluateGallery(data, model, distractors, strangers, options, watch.monitor());
        });
      },
      "Measures searches of a gallery with the first samples of the split's people and of\n"
      "distractors, who are other people. strangers: people who search and are not enrolled;\n"
      "None: each distractor, with its own template left out. InvalidArgument, Cancelled.",
      py::arg("data"), py::arg("model"), py::arg("distractors"), py::arg("strangers") = py::none(),
      py::kw_only(), py::arg("split") = "test", py::arg("encrypted") = true,
      py::arg("page") = false, py::arg("command") = "", py::arg("progress") = py::none());
  Function(
      m, "evaluate_protocol",
      [](const TrainingData& data, const Model& model, const py::object& folder,
         const py::object& names, bool encrypted, int replicates, uint64_t seed, bool page,
         bool scores, const std::string& command, const py::object& progress) {
        const std::string lists = PathOf(folder), file = PathOf(names);
        const ProtocolOptions options = {encrypted, replicates, seed, page, command, scores};
        Watch watch(progress);
        return Call(
            [&] { return EvaluateProtocol(data, model, lists, file, options, watch.monitor()); });
      },
      "Runs a protocol from lists: folder has groups dev and eval in bob.bio's form\n"
      "(docs/protocols.md), names has one name per row of the data. NotFound, InvalidArgument\n"
      "with file and line, Cancelled.",
      py::arg("data"), py::arg("model"), py::arg("folder"), py::arg("names"), py::kw_only(),
      py::arg("encrypted") = true, py::arg("replicates") = 1000, py::arg("seed") = 1,
      py::arg("page") = false, py::arg("scores") = false, py::arg("command") = "",
      py::arg("progress") = py::none());
}

void DefineModels(py::module_& m) {
  auto model = m.attr("Model").cast<py::class_<Model>>();
  model.def_property_readonly("split_seed", &SplitSeed,
                              "The split_seed of TrainingData.load when the model was trained.");
  StaticMethod(
      model, "load_folds",
      [](const py::object& folder, const TrainingData& data, int folds, uint64_t seed) {
        const std::string path = PathOf(folder);
        return Call([&] { return LoadFolds(path, data, folds, seed); });
      },
      "Loads the models of a folder, each from fold_file(folder, fold). FailedPrecondition\n"
      "unless they were trained in these folds, with data of as many rows.",
      py::arg("folder"), py::arg("data"), py::arg("folds") = 5, py::arg("fold_seed") = 1);
  Function(
      m, "fold_file",
      [](const py::object& folder, int fold) { return FoldFile(PathOf(folder), fold); },
      "The path of a fold's model, from 0, in a folder.", py::arg("folder"), py::arg("fold"));
  Function(
      m, "draw_learning_curve",
      [](const std::vector<LearnEpoch>& curve, int best) {
        return Call([&] { return DrawLearningCurve(curve, best); });
      },
      "Draws the curve that Model.train filled, as a picture (SVG). Unavailable without\n"
      "gnuplot.",
      py::arg("curve"), py::arg("best_epoch"));
}

}  // namespace

void DefineStudies(py::module_& m) {
  DefineModels(m);
  DefineFolds(m);
  DefineProtection(m);
}

}  // namespace heft::python
