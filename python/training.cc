// SPDX-License-Identifier: Apache-2.0
// Training on vectors of people who agreed to it (heft/train.h).
#include <pybind11/numpy.h>

#include <cstring>
#include <map>

#include "heft/train.h"
#include "python/learning.h"
#include "python/values.h"

namespace heft::python {
namespace {

using DataClass = py::class_<TrainingData>;

TrainingData DataFromArrays(const py::dict& vectors, const py::object& labels,
                            const py::object& split, uint64_t seed) {
  // In alphabetical order, as those of a folder.
  std::map<std::string, Matrix> held;
  for (const auto& [name, array] : MappingOf(vectors, "vectors")) {
    const std::string modality = TextOf(name, "vectors");
    const Matrix& matrix = held.emplace(modality, MatrixOf(array, modality)).first->second;
    if (matrix.single) Wrong(modality + ": give a matrix with one sample per row");
  }
  std::vector<ModalityRows> rows;
  for (const auto& [name, matrix] : held) rows.push_back({name, matrix.dimension, matrix.values});
  std::vector<std::string> names = LabelsOf(labels);
  const std::vector<std::string> splits = LabelsOf(split);
  return Call([&] { return TrainingData::FromRows(rows, std::move(names), splits, seed); });
}

// The rows of one modality, copied.
py::array_t<float> VectorsOf(const TrainingData& self, const std::string& modality) {
  const std::vector<std::string> names = self.modalities();
  for (size_t m = 0; m < names.size(); ++m) {
    if (names[m] != modality) continue;
    const size_t dimension = self.dimensions()[m];
    py::array_t<float> out(std::vector<size_t>{self.size(), dimension});
    float* to = out.mutable_data();
    for (size_t i = 0; i < self.size(); ++i, to += dimension) {
      std::memcpy(to, self.Vector(m, i).data(), dimension * sizeof(float));
    }
    return out;
  }
  Wrong("the data have no modality \"" + modality + "\"");
}

// EachOf: one number for all modalities, or one each.
std::vector<double> EachOf(const py::object& given, const char* what) {
  if (py::isinstance<py::str>(given)) throw py::type_error(std::string(what) + ": give numbers");
  if (!py::isinstance<py::sequence>(given)) return {given.cast<double>()};
  return given.cast<std::vector<double>>();
}

TrainingData Synthesise(int identities, int samples, std::vector<int> dimensions,
                        const py::object& jitter, const py::object& within, const py::object& noise,
                        std::optional<int> rank_identity, std::optional<int> rank_within,
                        std::vector<int> all_pairs_of, uint64_t seed) {
  SyntheticOptions options;
  // Each argument of the factor model chooses it.
  if (!jitter.is_none() || !within.is_none() || !noise.is_none() || rank_identity || rank_within) {
    FactorModel& model = options.factors.emplace();
    if (!jitter.is_none()) model.jitter = EachOf(jitter, "jitter");
    if (!within.is_none()) model.within = EachOf(within, "within");
    if (!noise.is_none()) model.noise = EachOf(noise, "noise");
    model.rank_identity = rank_identity.value_or(model.rank_identity);
    model.rank_within = rank_within.value_or(model.rank_within);
  }
  options.all_pairs_of = std::move(all_pairs_of);
  options.identities = identities;
  options.samples_per_identity = samples;
  options.dimensions = std::move(dimensions);
  options.seed = seed;
  return Call([&] { return TrainingData::Synthesise(options); });
}

void DefineData(py::module_& m) {
  DataClass c(m, "TrainingData",
              "Feature vectors of one or more modalities with identities, from which a model is\n"
              "trained.");
  Init(c, &DataFromArrays,
       "From arrays: vectors maps a modality's name to an array (rows x dimension, float32 or\n"
       "float64, copied); row i of all of them belongs to labels[i]. split has \"train\",\n"
       "\"val\" or \"test\" for each row, the same for all rows of an identity; without it\n"
       "split_seed assigns people. Modalities are sorted by name. InvalidArgument for different\n"
       "numbers of rows, NaN or infinity.",
       py::arg("vectors"), py::arg("labels"), py::arg("split") = py::none(), py::kw_only(),
       py::arg("split_seed") = 1);
  StaticMethod(
      c, "load",
      [](const py::object& folder, uint64_t seed) {
        const std::string path = PathOf(folder);
        return Call([&] { return TrainingData::Load(path, seed); });
      },
      "From a data folder (docs/data.md): NAME.npy or NAME.txt for each modality, labels.txt,\n"
      "split.txt. NotFound, DataLoss, InvalidArgument.",
      py::arg("folder"), py::kw_only(), py::arg("split_seed") = 1);
  StaticMethod(
      c, "synthesise", &Synthesise,
      "Synthetic people with modalities face, voice, modality3, ... and the statistics of real\n"
      "embeddings of faces and voices.\n\n"
      "If jitter, within, noise, rank_identity or rank_within is given, the factor model of\n"
      "heft/dataset.h is used instead. The first three are one number, or one per modality;\n"
      "with a smaller jitter, people are easier to distinguish. all_pairs_of: number of samples\n"
      "of each modality; rows are then all combinations of them. InvalidArgument.",
      py::kw_only(), py::arg("identities") = 190, py::arg("samples") = 6,
      py::arg("dimensions") = py::make_tuple(512, 128), py::arg("jitter") = py::none(),
      py::arg("within") = py::none(), py::arg("noise") = py::none(),
      py::arg("rank_identity") = py::none(), py::arg("rank_within") = py::none(),
      py::arg("all_pairs_of") = py::tuple(), py::arg("seed") = 1);
  StaticMethod(
      c, "of_papers_size",
      [](uint64_t seed) {
        SyntheticOptions options = PaperSize();
        options.seed = seed;
        return Call([&] { return TrainingData::Synthesise(options); });
      },
      "Synthetic people in the size of the paper's data: 188 people with 376 faces and 5,380\n"
      "voices, in 10,760 pairs.",
      py::kw_only(), py::arg("seed") = 1);
  Method(
      c, "save",
      [](const TrainingData& self, const py::object& folder) {
        const std::string path = PathOf(folder);
        Call([&] { return self.Write(path); });
      },
      "Writes a data folder, with vectors as float32.", py::arg("folder"));
  Method(c, "vectors", &VectorsOf, "The vectors of one modality, float32, a copy.",
         py::arg("modality"));
  c.def("__len__", &TrainingData::size);
  c.def_property_readonly("labels", &TrainingData::labels, "Identity of each row, as an index.");
  c.def_property_readonly("modalities", &TrainingData::modalities, "Names of the identities.");
  c.def_property_readonly("dimensions", &TrainingData::dimensions, "Names of the modalities.");
  c.def_property_readonly("left_out", &TrainingData::left_out,
                          "Text files of the folder that were not read as a modality.");
}

// DataOf: TrainingData, a folder, or arrays with labels.
const TrainingData& DataOf(const py::object& data, const py::object& labels,
                           const py::object& split, std::optional<TrainingData>* made,
                           bool labels_needed = true) {
  if (py::isinstance<TrainingData>(data)) {
    if (!labels.is_none() || !split.is_none()) Wrong("these data have labels and split already");
    return data.cast<const TrainingData&>();
  }
  if (py::isinstance<py::dict>(data)) {
    *made = DataFromArrays(data.cast<py::dict>(), labels, split, 1);
  } else {
    if (!labels.is_none() || !split.is_none()) Wrong("a folder has labels and split already");
    const std::string path = PathOf(data);
    *made = Call([&] {
      return labels_needed ? TrainingData::Load(path) : TrainingData::LoadUnlabelled(path);
    });
  }
  return **made;
}

constexpr char kTrain[] =
    "Trains a model from data: TrainingData, a data folder, or a mapping of arrays with\n"
    "labels (and split), as for TrainingData. The options are those of `heft train`\n"
    "(docs/learning.md). For 0, an empty value, or a shrinkage below 0, training chooses the\n"
    "value. Methods \"pca\" and \"none\" need no labels.\n\n"
    "checkpoint: a file for the state after every epoch, from which training continues.\n"
    "curve: a list to which every epoch is appended. progress: a function of (what, done,\n"
    "total, note) that returns False to stop, or True for a bar. The result depends only on\n"
    "data, options and seed. InvalidArgument, FailedPrecondition, Cancelled.";

LearnOptions OptionsOf(int gamma, const std::string& method, const std::string& recipe, int degree,
                       const std::string& fit, const std::string& profile, double weight_of_pairs,
                       double margin, bool grid_search, int epochs, int patience,
                       double learning_rate, double weight_decay, double shrinkage,
                       double drop_modality, const std::vector<double>& modality_weights,
                       uint64_t seed, bool against_wolves, bool with_exact) {
  LearnOptions options;
  options.gamma = gamma, options.method = method, options.recipe = recipe, options.degree = degree,
  options.fit = fit;
  options.profile = profile, options.lambda = weight_of_pairs, options.margin = margin;
  options.grid_search = grid_search, options.epochs = epochs, options.patience = patience;
  options.learning_rate = learning_rate, options.weight_decay = weight_decay;
  options.shrinkage = shrinkage, options.drop_modality = drop_modality;
  options.modality_weights = modality_weights, options.seed = seed;
  options.against_wolves = against_wolves, options.with_exact = with_exact;
  return options;
}

// WarningsOf: warnings of training and calibration about the model.
std::vector<std::string> WarningsOf(const Model& model) {
  std::vector<std::string> warnings;
  for (const auto& described : {DescribeTraining(model), DescribeCalibration(model)}) {
    if (!described.ok()) continue;  // not made by it
    for (const std::string& warning : described->warnings) warnings.push_back(InPython(warning));
  }
  return warnings;
}

// WarnOf: the same by Python's warnings module, as UserWarning.
void WarnOf(const Model& model) {
  for (const std::string& warning : WarningsOf(model)) {
    if (PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), 1) != 0) throw py::error_already_set();
  }
}

Model Train(const py::object& data, const py::object& labels, const py::object& split, int gamma,
            const std::string& method, const std::string& recipe, int degree,
            const std::string& fit, const std::string& profile, double weight_of_pairs,
            double margin, bool grid_search, int epochs, int patience, double learning_rate,
            double weight_decay, double shrinkage, double drop_modality,
            const std::vector<double>& modality_weights, uint64_t seed, bool against_wolves,
            bool with_exact, const py::object& checkpoint, std::optional<py::list> curve,
            const py::object& progress) {
  LearnOptions options =
      OptionsOf(gamma, method, recipe, degree, fit, profile, weight_of_pairs, margin, grid_search,
                epochs, patience, learning_rate, weight_decay, shrinkage, drop_modality,
                modality_weights, seed, against_wolves, with_exact);
  if (!checkpoint.is_none()) options.checkpoint = PathOf(checkpoint);
  std::vector<LearnEpoch> steps;
  if (curve) options.curve = &steps;
  std::optional<TrainingData> made;
  const TrainingData& training = DataOf(data, labels, split, &made, /*labels_needed=*/false);
  Watch watch(progress);
  Model model = Call([&] { return Learn(training, options, watch.monitor()); });
  for (LearnEpoch& step : steps) curve->append(py::cast(step));
  WarnOf(model);
  return model;
}

constexpr char kCalibrate[] =
    "Returns this model with thresholds, searches and calibration fitted to data: people who\n"
    "did not train its projection.\n\n"
    "data, labels and split are as for train. Rows marked train or val are left out if the\n"
    "other people suffice. id stays the same, so galleries and keys remain valid;\n"
    "decision_id changes. seed: random seed of the intervals.\n"
    "InvalidArgument for too few people or other modalities, FailedPrecondition for people\n"
    "who trained the model, Cancelled.";

Model CalibrateOn(const Model& self, const py::object& data, const py::object& labels,
                  const py::object& split, uint64_t seed, bool against_wolves,
                  const py::object& progress) {
  std::optional<TrainingData> made;
  const TrainingData& people = DataOf(data, labels, split, &made);
  Watch watch(progress);
  Model model =
      Call([&] { return Calibrate(self, people, seed, watch.monitor(), against_wolves); });
  WarnOf(model);
  return model;
}

std::vector<Model> TrainFolds(const TrainingData& data, int folds, uint64_t fold_seed, int gamma,
                              const std::string& method, const std::string& recipe, int degree,
                              const std::string& fit, const std::string& profile,
                              double weight_of_pairs, double margin, bool grid_search, int epochs,
                              int patience, double learning_rate, double weight_decay,
                              double shrinkage, double drop_modality,
                              const std::vector<double>& modality_weights, uint64_t seed,
                              bool against_wolves, bool with_exact, const py::object& progress) {
  const LearnOptions options =
      OptionsOf(gamma, method, recipe, degree, fit, profile, weight_of_pairs, margin, grid_search,
                epochs, patience, learning_rate, weight_decay, shrinkage, drop_modality,
                modality_weights, seed, against_wolves, with_exact);
  Watch watch(progress);
  return Call([&] { return LearnFolds(data, options, folds, fold_seed, watch.monitor()); });
}

// WithOptions calls define with the options of all trainings, and those that follow them.
template <typename Define, typename... More>
void WithOptions(const Define& define, const More&... more) {
  define(py::arg("gamma") = 0, py::arg("method") = "", py::arg("recipe") = "generalising",
         py::arg("degree") = 0, py::arg("fit") = "", py::arg("profile") = "standard",
         py::arg("weight_of_pairs") = 0.25, py::arg("margin") = 0.5, py::arg("grid_search") = false,
         py::arg("epochs") = 0, py::arg("patience") = 0, py::arg("learning_rate") = 0.0,
         py::arg("weight_decay") = 1e-4, py::arg("shrinkage") = -1.0,
         py::arg("drop_modality") = 0.0, py::arg("modality_weights") = py::tuple(),
         py::arg("seed") = 1, py::arg("against_wolves") = false, py::arg("with_exact") = false,
         more...);
}

void DefineTrain(py::module_& m) {
  auto model = m.attr("Model").cast<py::class_<Model>>();
  Method(model, "calibrate", &CalibrateOn, kCalibrate, py::arg("data"),
         py::arg("labels") = py::none(), py::arg("split") = py::none(), py::kw_only(),
         py::arg("seed") = 1, py::arg("against_wolves") = false, py::arg("progress") = py::none());
  model.def_property_readonly(
      "warnings", &WarningsOf,
      "Warnings of training and calibration about this model, such as too few people. train and\n"
      "calibrate give the same as UserWarning.");
  WithOptions(
      [&](const auto&... options) {
        StaticMethod(model, "train", &Train, kTrain, py::arg("data"),
                     py::arg("labels") = py::none(), py::arg("split") = py::none(), py::kw_only(),
                     options...);
      },
      py::arg("checkpoint") = py::none(), py::arg("curve") = py::none(),
      py::arg("progress") = py::none());
  WithOptions(
      [&](const auto&... options) {
        StaticMethod(
            model, "train_folds", &TrainFolds,
            "Trains one model for each of folds parts of the people (3 or more), from the people "
            "of\n"
            "all other parts, for evaluate_folds. The split of the data is not used; fold_seed\n"
            "assigns people to parts. The rest is as for train.",
            py::arg("data"), py::arg("folds") = 5, py::arg("fold_seed") = 1, py::kw_only(),
            options...);
      },
      py::arg("progress") = py::none());
}

}  // namespace

void DefineTraining(py::module_& m) {
  DefineData(m);
  DefineTrain(m);
  DefineScoreFiles(m);
  DefineReports(m);
  DefineStudies(m);
}

}  // namespace heft::python
