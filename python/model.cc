// SPDX-License-Identifier: Apache-2.0
#include "heft/model.h"

#include <pybind11/numpy.h>

#include "heft/fit.h"
#include "heft/train.h"
#include "python/values.h"

namespace heft::python {
namespace {

using Class = py::class_<Model>;
// Names: of modalities; none: all.
using Names = std::optional<std::vector<std::string>>;

uint32_t SetOf(const Model& model, const Names& names) {
  return names ? Take(model.SetOf(*names)) : model.AllModalities();
}

// A read-only view of numbers that the model owns.
py::array Rows(const py::object& self, const std::vector<double>& values, size_t rows) {
  if (values.empty()) return py::array_t<double>(std::vector<size_t>{0, 0});
  py::array out(py::dtype::of<double>(), std::vector<size_t>{rows, values.size() / rows},
                values.data(), self);
  out.attr("flags").attr("writeable") = false;
  return out;
}

py::list Modalities(const Model& model) {
  py::list out;
  for (const ModalitySpec& m : model.modalities) out.append(py::make_tuple(m.name, m.dimension));
  return out;
}

void DefineApproximation(py::module_& m) {
  Record<Polynomial> polynomial(m, "Polynomial",
                                "sum_k coefficients[k] * t^k with t = (s - centre) / half_width.");
  polynomial.Field("coefficients", &Polynomial::coefficients, "Lowest first.")
      .Field("centre", &Polynomial::centre, "Of s.")
      .Field("half_width", &Polynomial::half_width, "Of s.")
      .Field("degree", &Polynomial::Degree, "Of the polynomial.");
  polynomial.object().def(
      "__call__", [](const Polynomial& self, double s) { return self(s); },
      "__call__(self, s)\n--\n\np(s).", py::arg("s"));
  Method(polynomial.object(), "derivative", &Polynomial::Derivative, "p'(s).", py::arg("s"));
  Method(polynomial.object(), "in_powers_of_s", &Polynomial::InPowersOfS,
         "The same polynomial with centre 0 and half_width 1.");
  Record<Approximation> approximation(
      m, "Approximation", "Polynomials, one after the other, that stand in for 1/sqrt(s).");
  approximation.Field("name", &Approximation::name, "minimax, least_squares or paper.")
      .Field("stages", &Approximation::stages, "The first is applied first.")
      .Field(
          "interval",
          [](const Approximation& a) { return py::make_tuple(a.interval.lo, a.interval.hi); },
          "The squared norms that it is good for.")
      .Field("degree", &Approximation::Degree, "Product of the stages' degrees.");
  approximation.object().def(
      "__call__", [](const Approximation& self, double s) { return self(s); },
      "__call__(self, s)\n--\n\nf(s).", py::arg("s"));
  Method(approximation.object(), "derivative", &Approximation::Derivative, "f'(s).", py::arg("s"));
  Method(approximation.object(), "max_relative_error", &Approximation::MaxRelativeError,
         "max |f(s) sqrt(s) - 1| over the interval.");
  StaticMethod(
      approximation.object(), "fit",
      [](int degree, std::pair<double, double> interval, const std::string& kind) {
        return Call([&] {
          const auto parsed = ParseFitKind(kind);
          return parsed.ok() ? Fit(*parsed, degree, {interval.first, interval.second})
                             : absl::StatusOr<Approximation>(parsed.status());
        });
      },
      "The polynomial of a degree from 1 to 31 that is nearest to 1/sqrt(s) on an interval of s.\n"
      "kind: minimax, the largest relative error, or least_squares.",
      py::arg("degree"), py::arg("interval"), py::arg("kind") = "minimax");
}

void DefineFiles(Class& c) {
  StaticMethod(
      c, "load",
      [](const py::object& path, const std::optional<Trust>& trust) {
        const Source source(path, "model", kMaxModelSize);
        CheckSigned(trust, source.bytes(), Role::kTrainer, "MODL", source.what());
        return Call([&] { return Model::Parse(source.bytes(), source.what()); });
      },
      "A model from a file, or its bytes. With a trust file that lists trainers it must be signed "
      "by\n"
      "one of them. NotFound, DataLoss, InvalidArgument; FailedPrecondition for a signature.",
      py::arg("source"), py::kw_only(), py::arg("trust") = py::none());
  Method(
      c, "save",
      [](const Model& self, const py::object& path) {
        const std::string file = PathOf(path);
        Call([&] { return WriteFile(file, self.Serialize()); });
      },
      "Writes the model file; replaced whole. Unavailable.", py::arg("path"));
  Method(
      c, "to_bytes", [](const Model& self) { return BytesOf(self.Serialize()); },
      "What save writes.");
  c.def("__reduce__", [](const Model& self) {
    return py::make_tuple(py::module_::import("heft._restore").attr("model"),
                          py::make_tuple(BytesOf(self.Serialize())));
  });
}

void DefineParts(Class& c) {
  c.def_property_readonly("modalities", &Modalities, "(name, dimension) of each.");
  c.def_readonly("gamma", &Model::gamma, "Fused dimension.");
  c.def_property_readonly(
      "projection",
      [](const py::object& self) {
        const Model& model = self.cast<const Model&>();
        return Rows(self, model.projection, model.gamma);
      },
      "float64, gamma x sum of dimensions; a read-only view. Applied to the concatenated vectors,\n"
      "each of unit length.");
  c.def_readonly("approximation", &Model::approximation, "Of 1/sqrt(|z|^2).");
  c.def_readonly("profile", &Model::profile, "Parameters of the encryption.");
  c.def_readonly("sample_agreement", &Model::sample_agreement,
                 "Mean product of two samples' z over the mean |z|^2, or None.");
  c.def_readonly(
      "tables", &Model::tables,
      "What scores mean, by the modalities of the probe: all of them first. May be empty.");
  c.def_property_readonly(
      "exact_projection",
      [](const py::object& self) {
        const Model& model = self.cast<const Model&>();
        return Rows(self, model.exact_projection, model.gamma);
      },
      "A projection learned with exact normalisation, for comparison; may have no rows.");
  c.def_property_readonly(
      "training_summary",
      [](const Model& self) {
        return py::module_::import("json").attr("loads")(self.training_summary);
      },
      "What the trainer wrote: options, AUROC, warnings, ...");
  c.def_property_readonly(
      "id", [](const Model& self) { return HexOf(self.Id()); },
      "What a gallery depends on, 32 hexadecimal digits.");
  c.def_property_readonly(
      "decision_id", [](const Model& self) { return HexOf(self.DecisionId()); },
      "What decisions depend on: the tables too.");
}

}  // namespace

void DefineModel(py::module_& m) {
  DefineApproximation(m);
  Class c(
      m, "Model",
      "What client, matcher and key owner must agree on: a projection that fuses the modalities,\n"
      "how its result is normalised, and by what to decide. Public: no template, no key.");
  DefineFiles(c);
  DefineParts(c);
  Method(
      c, "threshold_for",
      [](const Model& self, double fmr, const Names& modalities) {
        return Take(self.ThresholdFor(fmr, SetOf(self, modalities)));
      },
      "The threshold of one comparison for a false match rate, of probes with these modalities "
      "(all\n"
      "of the model's by default). InvalidArgument outside (0, 1); OutOfRange beyond the table's\n"
      "points; FailedPrecondition where there is no table for them.",
      py::arg("fmr"), py::arg("modalities") = py::none());
  Method(
      c, "threshold_for_search",
      [](const Model& self, double fpir, uint64_t people, uint32_t templates,
         const Names& modalities) {
        return Take(self.ThresholdForSearch(fpir, people, templates, SetOf(self, modalities)));
      },
      "The threshold of a search for a false positive identification rate, in a gallery of so\n"
      "many people with at most so many templates each, of probes with these modalities.\n"
      "threshold_for's errors.",
      py::arg("fpir"), py::arg("people"), py::arg("templates") = 1,
      py::arg("modalities") = py::none());
  Method(
      c, "names_of", [](const Model& self, uint32_t set) { return self.NamesOf(set); },
      "The modalities of a set, as DecisionTable.modalities gives it.", py::arg("set"));
  Method(
      c, "table_for",
      [](const Model& self, const Names& modalities) {
        return *Take(self.TableFor(SetOf(self, modalities)));
      },
      "The decision table of probes with these modalities (all of the model's by default).\n"
      "InvalidArgument, FailedPrecondition.",
      py::arg("modalities") = py::none());
  c.def("__repr__", [](const Model& self) {
    std::string out = "<heft.Model";
    for (const ModalitySpec& spec : self.modalities) {
      out += " " + spec.name + ":" + std::to_string(spec.dimension);
    }
    return out + ", gamma " + std::to_string(self.gamma) + ", profile " + self.profile + ">";
  });
}

}  // namespace heft::python
