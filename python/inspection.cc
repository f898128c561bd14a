// SPDX-License-Identifier: Apache-2.0
// The security of parameters, the plan of a model, files of vectors and labels, and times.
#include "python/inspection.h"

#include <pybind11/numpy.h>

#include <algorithm>

#include "heft/dataset.h"
#include "heft/evaluate.h"
#include "heft/inspect.h"
#include "heft/results.h"
#include "python/values.h"

namespace heft::python {
namespace {

void DefineProfile(py::module_& m) {
  Function(
      m, "describe_profile", [](const std::string& name) { return Take(DescribeProfile(name)); },
      "The parameters of a profile. InvalidArgument lists the profiles.", py::arg("name"));
  Function(
      m, "profile_of",
      [](const std::string& params_id) {
        const auto id = ParseGalleryId(params_id);  // of the same form
        if (!id.ok()) Wrong("params_id: give 32 hexadecimal digits, from inspect(file)");
        return ProfileOf(*id);
      },
      "The profile with these parameters (FileInfo.params_id), or None.", py::arg("params_id"));
}

void DefinePlan(py::module_& m) {
  Function(
      m, "describe_plan",
      [](const Model& model) {
        return ObjectOf(PlanJson(Call([&] { return DescribePlan(model); })));
      },
      "How a model is evaluated (docs/design.md, \"Two rings\"): levels, scales, keys and\n"
      "counts for each ring, as printed by `heft inspect --plan --json`. InvalidArgument if the\n"
      "model does not fit its profile.",
      py::arg("model"));
  Function(
      m, "describe_file",
      [](const py::object& path, bool plan, const Trust* trust) {
        const std::string file = PathOf(path);
        return DescribedOf(Call([&] { return DescribeFile(file, plan, trust); }));
      },
      "Checks a file or a gallery and describes it, as `heft inspect`. Returns the facts, and\n"
      "the same in words. plan: for a model, also how it is evaluated. trust: takes only a\n"
      "signed file whose signer it lists. DataLoss; errors of Gallery, Model.load and open_signed.",
      py::arg("path"), py::kw_only(), py::arg("plan") = false, py::arg("trust") = py::none());
}

void DefineVectors(py::module_& m) {
  Function(
      m, "read_vectors",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        const FeatureRows rows = Call([&] { return ReadVectors(file); });
        py::array_t<float> out(std::vector<size_t>{rows.size(), rows.dimension});
        std::copy(rows.values.begin(), rows.values.end(), out.mutable_data());
        return out;
      },
      "The feature vectors of a file, one per row, as float32. The file is NumPy's .npy, or\n"
      "text with one vector per line (docs/data.md). DataLoss; InvalidArgument with row and\n"
      "column; NotFound.",
      py::arg("path"));
  Function(
      m, "read_labels",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return ReadLabels(file); });
      },
      "The labels of a file: one per line, or one list in brackets as Python prints it.\n"
      "InvalidArgument.",
      py::arg("path"));
}

void DefineTimes(py::module_& m) {
  // `run`: turns options and a monitor into a Python object.
  const auto with_options = [&m](const char* name, auto run, const char* text) {
    Function(
        m, name,
        [run](int iterations, uint32_t templates, const std::vector<uint32_t>& dimensions,
              const std::vector<uint32_t>& gammas, int degree, const std::string& profile,
              bool skip_large, size_t large_templates, int batch, const py::object& progress) {
          const BenchmarkOptions options = {iterations, templates,  dimensions,      gammas, degree,
                                            profile,    skip_large, large_templates, batch};
          Watch watch(progress);
          return run(options, watch.monitor());
        },
        text, py::kw_only(), py::arg("iterations") = 20, py::arg("templates") = 1024,
        py::arg("dimensions") = py::make_tuple(512, 512), py::arg("gammas") = py::tuple(),
        py::arg("degree") = 3, py::arg("profile") = "standard", py::arg("skip_large") = false,
        py::arg("large_templates") = 1000000, py::arg("batch") = 64,
        py::arg("progress") = py::none());
  };
  with_options(
      "run_benchmark",
      [](const BenchmarkOptions& options, const Monitor& monitor) {
        return ObjectOf(Call([&] { return RunBenchmark(options, monitor); }));
      },
      "Measures whole operations of all roles on this machine, with random vectors, as `heft\n"
      "bench`. This takes minutes. InvalidArgument, Cancelled.");
  with_options(
      "run_sweep",
      [](const BenchmarkOptions& options, const Monitor& monitor) {
        const Sweep sweep = Call([&] { return RunSweep(options, monitor); });
        py::dict pictures;
        for (const auto& [file, svg] : sweep.pictures) pictures[py::str(file)] = svg;
        return py::make_tuple(ObjectOf(sweep.result), pictures);
      },
      "Measures how these times grow; returns the numbers, and pictures (SVG) by file name.\n"
      "Unavailable without gnuplot.");
}

}  // namespace

void DefineInspection(py::module_& m) {
  DefineProfile(m);
  DefinePlan(m);
  DefineVectors(m);
  DefineTimes(m);
}

}  // namespace heft::python
