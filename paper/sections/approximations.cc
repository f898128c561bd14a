// SPDX-License-Identifier: Apache-2.0
// Figures 5 and 9 of the paper: what stands in for 1/sqrt(s), and its error against its depth.
#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "heft/train.h"
#include "inverse_sqrt/composite.h"
#include "inverse_sqrt/goldschmidt.h"
#include "paper/methods/normalisation.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

// Method: one way to normalise.
struct Method {
  std::string name, family;
  NormalisationSpec spec;
  double error = 0;  // worst relative error on its interval
};

absl::StatusOr<Method> Composite(const std::string& name, const std::string& family,
                                 const std::vector<int>& degrees, const Interval& interval,
                                 FitKind fit) {
  HEFT_ASSIGN_OR_RETURN(const Approximation f, degrees.size() == 1
                                                   ? Fit(fit, degrees[0], interval)
                                                   : FitComposite(degrees, interval, fit));
  return Method{name, family, NormalisationSpec::Polynomials(f), f.MaxRelativeError()};
}

absl::StatusOr<Method> Iterations(int count, const Interval& interval) {
  HEFT_ASSIGN_OR_RETURN(const Goldschmidt g, FitGoldschmidt(count, interval));
  return Method{absl::StrCat("Goldschmidt, ", count, count == 1 ? " iteration" : " iterations"),
                "Goldschmidt", NormalisationSpec::Iteration(g), g.MaxRelativeError()};
}

constexpr char kLeastSquares[] = "least squares (paper)", kMinimaxFamily[] = "minimax (ours)",
               kCompositeMinimax[] = "composite, minimax";

absl::StatusOr<std::vector<Method>> AllMethods(const Interval& interval) {
  std::vector<Method> methods;
  auto add = [&](absl::StatusOr<Method> method) -> absl::Status {
    HEFT_RETURN_IF_ERROR(method.status());
    methods.push_back(*std::move(method));
    return absl::OkStatus();
  };
  if (interval == kPaperInterval) {
    const Approximation paper = PaperDegree2();
    methods.push_back({"degree 2, published coefficients", "published",
                       NormalisationSpec::Polynomials(paper), paper.MaxRelativeError()});
  }
  for (int degree : {1, 2, 3}) {
    HEFT_RETURN_IF_ERROR(add(Composite(absl::StrCat("degree ", degree, ", least squares"),
                                       kLeastSquares, {degree}, interval, FitKind::kLeastSquares)));
  }
  HEFT_RETURN_IF_ERROR(add(Composite("“degree 6” (cubic of cubic), least squares", kLeastSquares,
                                     {3, 3}, interval, FitKind::kLeastSquares)));
  for (int degree : {1, 2, 3, 7, 15, 31}) {
    HEFT_RETURN_IF_ERROR(add(Composite(absl::StrCat("degree ", degree, ", minimax"), kMinimaxFamily,
                                       {degree}, interval, FitKind::kMinimax)));
  }
  HEFT_RETURN_IF_ERROR(add(Composite("cubic of cubic, minimax", kCompositeMinimax, {3, 3}, interval,
                                     FitKind::kMinimax)));
  for (int count = 1; count <= 7; ++count) HEFT_RETURN_IF_ERROR(add(Iterations(count, interval)));
  return methods;
}

std::vector<std::pair<double, double>> Sample(const Interval& interval,
                                              const std::function<double(double)>& f) {
  constexpr int kSteps = 400;
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i <= kSteps; ++i) {
    // Finer where the curves are steep.
    const double s =
        interval.lo * std::pow(interval.hi / interval.lo, static_cast<double>(i) / kSteps);
    points.emplace_back(s, f(s));
  }
  return points;
}

// Drawn: the approximation beside 1/sqrt, and its relative error.
std::pair<Chart, Chart> Drawn(const Method& method, const std::string& id,
                              const std::string& caption) {
  const Interval& interval = method.spec.Range();
  Chart curve{.id = id,
              .title = method.name + ".",
              .caption = caption,
              .x_label = "s",
              .y_label = "f(s) and 1/√s"};
  curve.x_range = {{0, interval.hi}};
  curve.curves = {
      {.label = "1/√s", .points = Sample(interval, [](double s) { return 1 / std::sqrt(s); })},
      {.label = "f(s)", .points = Sample(interval, method.spec), .colour = 1}};
  Chart error{.id = id + "-error",
              .title = method.name + ": relative error.",
              .caption = absl::StrFormat("At most %.3g%%.", 100 * method.error),
              .x_label = "s",
              .y_label = "|f(s) − 1/√s| / (1/√s), %"};
  error.x_range = {{0, interval.hi}};
  error.y_range = {{0, 105 * method.error}};
  error.curves = {
      {.label = "",
       .points = Sample(
           interval, [&](double s) { return 100 * std::abs(method.spec(s) * std::sqrt(s) - 1); }),
       .colour = 1}};
  return {curve, error};
}

// DepthChart: error against levels, a curve a family.
Chart DepthChart(const std::vector<Method>& methods, bool on_data) {
  Chart chart{.id = on_data ? "fig9-data" : "fig9-paper",
              .title = on_data ? "On the data’s own interval." : "On the paper’s interval.",
              .caption = "Points of a family are joined; lower left is better.",
              .x_label = "levels from z to the normalised template",
              .y_label = "largest relative error",
              .log_y = true};
  for (const Method& method : methods) {
    auto curve = std::find_if(chart.curves.begin(), chart.curves.end(),
                              [&](const Curve& c) { return c.label == method.family; });
    if (curve == chart.curves.end()) {
      const int colour = static_cast<int>(chart.curves.size()) + on_data;
      curve = chart.curves.insert(
          curve, Curve{.label = method.family, .colour = colour, .mark = Mark::kDots});
    }
    curve->points.emplace_back(static_cast<double>(method.spec.Levels()), method.error);
  }
  return chart;
}

}  // namespace

absl::StatusOr<Section> Approximations(const Study&) {
  Section section{
      .id = "fig5", .title = "Approximations of the inverse square root", .paper = "Figure 5"};
  section.text = {
      "The paper’s fits by least squares on [0.05, 3], and beside them the fits of the same "
      "depth that minimise the largest relative error, which are ours."};
  std::vector<Method> methods;
  for (const auto& [name, degrees, fit] :
       std::vector<std::tuple<std::string, std::vector<int>, FitKind>>{
           {"Degree 2, least squares", {2}, FitKind::kLeastSquares},
           {"“Degree 6” (cubic of cubic), least squares", {3, 3}, FitKind::kLeastSquares},
           {"Degree 2, minimax", {2}, FitKind::kMinimax},
           {"Degree 3, minimax", {3}, FitKind::kMinimax},
           {"Degree 7, minimax", {7}, FitKind::kMinimax}}) {
    HEFT_ASSIGN_OR_RETURN(Method method, Composite(name, "", degrees, kPaperInterval, fit));
    const auto [curve, error] =
        Drawn(method, absl::StrCat("fig5-", section.charts.size() / 2), "On [0.05, 3].");
    section.charts.push_back(curve);
    section.charts.push_back(error);
  }
  section.notes = {
      "The paper shows its polynomials without their errors in numbers: there is nothing to "
      "compare but the shape. “Degree 6” is a cubic of a cubic in the published code, so its "
      "polynomial degree is 9."};
  return section;
}

absl::StatusOr<Section> ErrorAgainstDepth(const Study& study) {
  Section section{.id = "fig9",
                  .title = "Error against multiplicative depth",
                  .paper = "Figure 9 (appendix, ErrorComparison)"};
  HEFT_ASSIGN_OR_RETURN(const Interval own, DataInterval(study));
  section.text = {
      "Levels count everything from z to the normalised template on our engine: squaring z, the "
      "approximation, its product with z. The paper’s interval is [0.05, 3]; the data’s own "
      "is where 99.8% of the projected training samples lie, with a margin of 15%."};
  section.parameters = {{"interval of the paper", "[0.05, 3]"},
                        {"interval of the data", absl::StrFormat("[%.3f, %.3f]", own.lo, own.hi)}};
  Table table{.id = "methods",
              .caption = "Worst relative error of f(s) against 1/√s on the interval.",
              .columns = {{"method", "Method"},
                          {"fit", "Fit"},
                          {"levels", "Levels", Format::kCount},
                          {"error_paper_interval", "on [0.05, 3]", Format::kPercent},
                          {"error_data_interval", "on the data’s interval", Format::kPercent}}};
  for (bool on_data : {false, true}) {
    HEFT_ASSIGN_OR_RETURN(const std::vector<Method> methods,
                          AllMethods(on_data ? own : kPaperInterval));
    for (const Method& method : methods) {
      if (!on_data) {
        const double levels = static_cast<double>(method.spec.Levels());
        table.rows.push_back({method.name, method.family, levels, method.error, nullptr});
        continue;
      }
      for (std::vector<Json>& row : table.rows) {
        if (row[0] == Json(method.name)) row[4] = method.error;
      }
    }
    section.charts.push_back(DepthChart(methods, on_data));
  }
  section.tables.push_back(std::move(table));
  section.notes = {
      "The paper draws this figure without numbers. Its least-squares polynomials spend their "
      "accuracy where 1/√s is large and steep; the minimax fits spread the relative error evenly "
      "and are better at the same number of levels.",
      "Goldschmidt’s iteration takes two levels each and starts from the linear minimax fit here; "
      "the paper does not give its start."};
  return section;
}

}  // namespace heft::paper
