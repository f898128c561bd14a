// SPDX-License-Identifier: Apache-2.0
#include "heft/model.h"

#include <pybind11/numpy.h>

#include "heft/train.h"
#include "python/values.h"

namespace heft::python {
namespace {

using ModelClass = py::class_<Model>;
// ModalityNames: of modalities; none: all.
using ModalityNames = std::optional<std::vector<std::string>>;

uint32_t SetOf(const Model& model, const ModalityNames& names) {
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

py::list ModalityList(const Model& model) {
  py::list out;
  for (const ModalitySpec& m : model.modalities) out.append(py::make_tuple(m.name, m.dimension));
  return out;
}

void DefineApproximation(py::module_& m) {
  Record<Polynomial> polynomial(
      m, "Polynomial",
      "The polynomial sum_k coefficients[k] * t^k with t = (s - centre) / half_width.");
  polynomial.Field("coefficients", &Polynomial::coefficients, "Coefficients, lowest power first.")
      .Field("centre", &Polynomial::centre, "Centre of the interval of s.")
      .Field("half_width", &Polynomial::half_width, "Half of the width of that interval.")
      .Field("degree", &Polynomial::Degree, "Degree of the polynomial.");
  polynomial.object().def(
      "__call__", [](const Polynomial& self, double s) { return self(s); },
      "__call__(self, s)\n--\n\n"
      "The value p(s).",
      py::arg("s"));
  Method(polynomial.object(), "derivative", &Polynomial::Derivative, "p'(s).", py::arg("s"));
  Method(polynomial.object(), "in_powers_of_s", &Polynomial::InPowersOfS,
         "The same polynomial with centre 0 and half_width 1.");
  Record<Approximation> approximation(
      m, "Approximation",
      "Polynomials that are applied one after the other to approximate 1/sqrt(s).");
  approximation.Field("name", &Approximation::name, "minimax, least_squares or paper.")
      .Field("stages", &Approximation::stages, "The polynomials; the first is applied first.")
      .Field(
          "interval",
          [](const Approximation& a) { return py::make_tuple(a.interval.lo, a.interval.hi); },
          "The interval of squared norms for which it is accurate.")
      .Field("degree", &Approximation::Degree, "Product of the polynomials' degrees.");
  approximation.object().def(
      "__call__", [](const Approximation& self, double s) { return self(s); },
      "__call__(self, s)\n--\n\n"
      "The value f(s).",
      py::arg("s"));
  Method(approximation.object(), "derivative", &Approximation::Derivative, "f'(s).", py::arg("s"));
  Method(approximation.object(), "max_relative_error", &Approximation::MaxRelativeError,
         "Largest relative error, max |f(s) sqrt(s) - 1|, over the interval.");
  StaticMethod(
      approximation.object(), "fit",
      [](int degree, std::pair<double, double> interval, const std::string& kind) {
        return Call([&] {
          const auto parsed = ParseFitKind(kind);
          return parsed.ok() ? Fit(*parsed, degree, {interval.first, interval.second})
                             : absl::StatusOr<Approximation>(parsed.status());
        });
      },
      "The polynomial of a degree from 1 to 31 that approximates 1/sqrt(s) best on an interval\n"
      "of s. kind: minimax (least maximum of the relative error) or least_squares.",
      py::arg("degree"), py::arg("interval"), py::arg("kind") = "minimax");
}

void DefineFiles(ModelClass& c) {
  StaticMethod(
      c, "load",
      [](const py::object& path, const std::optional<Trust>& trust) {
        const Source source(path, "model", kMaxModelSize);
        CheckSigned(trust, source.bytes(), Role::kTrainer, "MODL", source.what());
        return Call([&] { return Model::Parse(source.bytes(), source.what()); });
      },
      "Loads a model from a file, or its bytes. If trust lists trainers, one of them must have\n"
      "signed the model. NotFound, DataLoss, InvalidArgument; FailedPrecondition for a\n"
      "signature.",
      py::arg("source"), py::kw_only(), py::arg("trust") = py::none());
  Method(
      c, "save",
      [](const Model& self, const py::object& path) {
        const std::string file = PathOf(path);
        Call([&] { return WriteFile(file, self.Serialize()); });
      },
      "Writes the model file, which is replaced as a whole. Unavailable.", py::arg("path"));
  Method(
      c, "to_bytes", [](const Model& self) { return BytesOf(self.Serialize()); },
      "The bytes that save writes.");
  c.def("__reduce__", [](const Model& self) {
    return py::make_tuple(py::module_::import("heft._restore").attr("model"),
                          py::make_tuple(BytesOf(self.Serialize())));
  });
}

void DefineParts(ModelClass& c) {
  c.def_property_readonly("modalities", &ModalityList, "(name, dimension) of each modality.");
  c.def_readonly("gamma", &Model::gamma, "Fused dimension.");
  c.def_property_readonly(
      "projection",
      [](const py::object& self) {
        const Model& model = self.cast<const Model&>();
        return Rows(self, model.projection, model.gamma);
      },
      "float64 of shape (gamma, sum of dimensions); a read-only view. It is applied to the\n"
      "concatenated vectors, each of unit length.");
  c.def_readonly("approximation", &Model::approximation, "Approximation of 1/sqrt(|z|^2).");
  c.def_readonly("profile", &Model::profile, "Profile of the encryption parameters.");
  c.def_readonly("sample_agreement", &Model::sample_agreement,
                 "Mean product of two samples' z, divided by the mean |z|^2, or None.");
  c.def_readonly(
      "tables", &Model::tables,
      "The meaning of scores, by the modalities of the probe; all modalities first. May be\n"
      "empty.");
  c.def_property_readonly(
      "exact_projection",
      [](const py::object& self) {
        const Model& model = self.cast<const Model&>();
        return Rows(self, model.exact_projection, model.gamma);
      },
      "A projection that was trained with exact normalisation, for comparison; may have no\n"
      "rows.");
  c.def_property_readonly(
      "training_summary",
      [](const Model& self) {
        return py::module_::import("json").attr("loads")(self.training_summary);
      },
      "The trainer's record: options, AUROC, warnings, ...");
  c.def_property_readonly(
      "id", [](const Model& self) { return HexOf(self.Id()); },
      "Id of everything that a gallery depends on, 32 hexadecimal digits.");
  c.def_property_readonly(
      "decision_id", [](const Model& self) { return HexOf(self.DecisionId()); },
      "Id of everything that decisions depend on: the model and its tables.");
}

}  // namespace

void DefineModel(py::module_& m) {
  DefineApproximation(m);
  ModelClass c(
      m, "Model",
      "The model that client, matcher and key owner share: the projection that fuses the\n"
      "modalities, the normalisation, and the tables for decisions. It is public: it contains\n"
      "no template and no key.");
  DefineFiles(c);
  DefineParts(c);
  Method(
      c, "threshold_for",
      [](const Model& self, double fmr, const ModalityNames& modalities) {
        return Take(self.ThresholdFor(fmr, SetOf(self, modalities)));
      },
      "The threshold of one comparison for a false match rate, for probes with these modalities\n"
      "(default: all of the model). InvalidArgument outside (0, 1); OutOfRange beyond the\n"
      "table's points; FailedPrecondition if there is no table for the modalities.",
      py::arg("fmr"), py::arg("modalities") = py::none());
  Method(
      c, "threshold_for_search",
      [](const Model& self, double fpir, uint64_t people, uint32_t templates,
         const ModalityNames& modalities) {
        return Take(self.ThresholdForSearch(fpir, people, templates, SetOf(self, modalities)));
      },
      "The threshold of a search for a false positive identification rate, in a gallery of this\n"
      "many people with at most this many templates each, for probes with these modalities.\n"
      "Errors as threshold_for's.",
      py::arg("fpir"), py::arg("people"), py::arg("templates") = 1,
      py::arg("modalities") = py::none());
  Method(
      c, "names_of", [](const Model& self, uint32_t set) { return self.NamesOf(set); },
      "The names of a set of modalities, given as in DecisionTable.modalities.", py::arg("set"));
  Method(
      c, "table_for",
      [](const Model& self, const ModalityNames& modalities) {
        return *Take(self.TableFor(SetOf(self, modalities)));
      },
      "The decision table for probes with these modalities (default: all of the model).\n"
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
