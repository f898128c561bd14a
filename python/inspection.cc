// SPDX-License-Identifier: Apache-2.0
// What parameters protect, how a model is evaluated, files of vectors and labels, and times.
#include "python/inspection.h"

#include <pybind11/numpy.h>

#include <algorithm>

#include "heft/benchmark.h"
#include "heft/inspect.h"
#include "heft/vectors.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Projection = PlanInfo::Projection;
using Normalisation = PlanInfo::Normalisation;
using Matching = PlanInfo::Matching;
using Ring = PlanInfo::Ring;

void DefineProfile(py::module_& m) {
  Record<ProfileInfo>(m, "ProfileInfo", "Encryption parameters, and what is known of them.")
      .Field("name", &ProfileInfo::name, "thin, flooded, compact or compact-pq.")
      .Field("parameters", &ProfileInfo::parameters, "In words.")
      .Field("security", &ProfileInfo::security, "In words.")
      .Field("ring_degree", &ProfileInfo::ring_degree, "Of the larger ring.")
      .Field("total_bits", &ProfileInfo::total_bits, "Of the product of all primes.")
      .Field("bound_2024_classical", &ProfileInfo::bound_2024_classical,
             "Largest total for 128 bits, ePrint 2024/463.")
      .Field("bound_2024_quantum", &ProfileInfo::bound_2024_quantum,
             "Where that source's search for a quantum bound starts.")
      .Field("bound_2018_classical", &ProfileInfo::bound_2018_classical,
             "HomomorphicEncryption.org standard, 2018.");
  Function(
      m, "describe_profile", [](const std::string& name) { return Take(DescribeProfile(name)); },
      "A profile's parameters. InvalidArgument names those that there are.", py::arg("name"));
  Function(
      m, "profile_of",
      [](const std::string& params_id) {
        const auto id = ParseGalleryId(params_id);  // of the same form
        if (!id.ok()) Wrong("params_id: 32 hexadecimal digits, as inspect(file) gives them");
        return ProfileOf(*id);
      },
      "The profile that has these parameters (FileInfo.params_id), or None.", py::arg("params_id"));
}

void DefineFusion(py::module_& m) {
  Record<Projection>(m, "PlanProjection", "How modalities are projected.")
      .Field(
          "pairs",
          [](const Projection& p) {
            py::list out;
            for (const auto& pair : p.pairs)
              out.append(py::make_tuple(pair.first, pair.second, pair.run));
            return out;
          },
          "(modality in the real part, in the imaginary part or -1, run).")
      .Field("input_limbs", &Projection::input_limbs, "Of samples.")
      .Field("z_limbs", &Projection::z_limbs, "Of what comes out.")
      .Field("input_scale", &Projection::input_scale, "Of samples.")
      .Field("factor_scale", &Projection::factor_scale, "Of the projection's factors.")
      .Field("z_scale", &Projection::z_scale, "Of what comes out.")
      .Field("folds", &Projection::folds, "Galois elements.")
      .Field("folds_before_rescale", &Projection::folds_before_rescale, "Of these.");
  Record<Normalisation>(m, "PlanNormalisation", "How the projection is normalised.")
      .Field("degree", &Normalisation::degree,
             "Of the polynomial; 0: the key owner divides by the norm.")
      .Field("interval_hi", &Normalisation::interval_hi, "End of its interval.")
      .Field("folds", &Normalisation::folds, "Galois elements.");
}

void DefineMatch(py::module_& m) {
  Record<Matching>(m, "PlanMatching", "How probes meet templates.")
      .Field("template_limbs", &Matching::template_limbs, "Of templates.")
      .Field("probe_limbs", &Matching::probe_limbs, "Of probes.")
      .Field("template_scale", &Matching::template_scale, "Of templates.")
      .Field("probe_scale", &Matching::probe_scale, "Of probes.")
      .Field("block_scale", &Matching::block_scale, "Of blocks.")
      .Field("score_scale", &Matching::score_scale, "Of scores.")
      .Field("masked_scale", &Matching::masked_scale, "Of a verification, masked.")
      .Field("verified_scale", &Matching::verified_scale, "Of a verification's scores.")
      .Field("rotations", &Matching::rotations, "Of a probe; 0: the other ring has the gallery.")
      .Field("reply_bits", &Matching::reply_bits, "Of short replies: a coefficient.")
      .Field("reply_dropped", &Matching::reply_dropped, "Bits dropped of part 0.")
      .Field("reply_raised", &Matching::reply_raised, "Bits left out above.");
  Record<Ring>(m, "PlanRing", "What one ring serves, and what an evaluation in it takes.")
      .Field("serves", &Ring::serves, "enrolment, matching, or both.")
      .Field("ring_degree", &Ring::ring_degree, "A power of two.")
      .Field("projection", &Ring::projection, "First.")
      .Field("normalisation", &Ring::normalisation, "Then.")
      .Field("matching", &Ring::matching, "And last.")
      .Field("galois_keys", &Ring::galois_keys, "Limbs by element.")
      .Field("relinearisation_limbs", &Ring::relinearisation_limbs, "Of that key.")
      .Field("plain_products", &Ring::plain_products, "Of one fusion.")
      .Field("ciphertext_products", &Ring::ciphertext_products, "Of one fusion.")
      .Field("key_switches", &Ring::key_switches, "Of one fusion.");
  Record<PlanInfo>(m, "PlanInfo", "How a model is evaluated, in one ring or two.")
      .Field("rings", &PlanInfo::rings, "Enrolment's first.");
  Function(
      m, "describe_plan",
      [](const Model& model) { return Call([&] { return DescribePlan(model); }); },
      "How a model is evaluated (docs/design.md, \"Two rings\"). InvalidArgument where it does not "
      "fit\n"
      "its profile.",
      py::arg("model"));
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
      "Feature vectors of a file, a row each, float32: NumPy's .npy, or numbers as text, a line a "
      "row\n"
      "(docs/data.md). DataLoss; InvalidArgument, with row and column; NotFound.",
      py::arg("path"));
  Function(
      m, "read_labels",
      [](const py::object& path) {
        const std::string file = PathOf(path);
        return Call([&] { return ReadLabels(file); });
      },
      "Labels of a file, one a line, or one list in brackets as Python prints it. InvalidArgument.",
      py::arg("path"));
}

py::object Loaded(const Json& json) {
  return py::module_::import("json").attr("loads")(json.dump());
}

void DefineTimes(py::module_& m) {
  // `run`: from options and a monitor to what Python gets.
  const auto with_options = [&m](const char* name, auto run, const char* text) {
    Function(
        m, name,
        [run](int iterations, uint32_t templates, const std::vector<uint32_t>& dimensions,
              uint32_t gamma, int degree, const std::string& profile, bool skip_million,
              size_t million_templates, int batch, const py::object& progress) {
          const BenchmarkOptions options = {iterations, templates, dimensions,   gamma,
                                            degree,     profile,   skip_million, million_templates,
                                            batch};
          Watch watch(progress);
          return run(options, watch.monitor());
        },
        text, py::kw_only(), py::arg("iterations") = 20, py::arg("templates") = 1024,
        py::arg("dimensions") = py::make_tuple(512, 512), py::arg("gamma") = 32,
        py::arg("degree") = 3, py::arg("profile") = "thin", py::arg("skip_million") = false,
        py::arg("million_templates") = 1000000, py::arg("batch") = 64,
        py::arg("progress") = py::none());
  };
  with_options(
      "run_benchmark",
      [](const BenchmarkOptions& options, const Monitor& monitor) {
        return Loaded(Call([&] { return RunBenchmark(options, monitor); }));
      },
      "Times of whole jobs of all roles on this machine, on random vectors, as `heft bench` gives\n"
      "them. Minutes. InvalidArgument, Cancelled.");
  with_options(
      "run_sweep",
      [](const BenchmarkOptions& options, const Monitor& monitor) {
        const Sweep sweep = Call([&] { return RunSweep(options, monitor); });
        py::dict pictures;
        for (const auto& [file, svg] : sweep.pictures) pictures[py::str(file)] = svg;
        return py::make_tuple(Loaded(sweep.result), pictures);
      },
      "How these times grow; the numbers, and pictures (SVG) by file name. Unavailable without "
      "gnuplot.");
}

}  // namespace

void DefineInspection(py::module_& m) {
  DefineProfile(m);
  DefineFusion(m);
  DefineMatch(m);
  DefineVectors(m);
  DefineTimes(m);
}

}  // namespace heft::python
