// SPDX-License-Identifier: Apache-2.0
#include "experiment/gamma_section.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiment/figure.h"
#include "heft/files.h"
#include "heft/inspect.h"
#include "learning/recipe.h"

namespace heft::experiment {
namespace {

Estimate EstimateOf(const Json& json) {
  return {json["value"].get<double>(), json["lo"].get<double>(), json["hi"].get<double>()};
}

bool IsEstimate(const Json* json) {
  if (json == nullptr || !json->is_object()) return false;
  return std::ranges::all_of(std::initializer_list<const char*>{"value", "lo", "hi"},
                             [&](const char* key) {
                               const Json* number = json->find(key);
                               return number != nullptr && number->is_number();
                             });
}

}  // namespace

double GammaTrials::Tolerated() const { return recipe::kGammaTolerance * best; }

std::optional<GammaTrials> GammaTrialsOf(const Model& model) {
  const Json summary = Json::Parse(model.training_summary).value_or(Json());
  const Json* choice = summary.find("gamma_choice");
  const Json* trials = choice == nullptr ? nullptr : choice->find("trials");
  if (trials == nullptr || !trials->is_array() || trials->empty()) return std::nullopt;
  GammaTrials out;
  for (const Json& trial : *trials) {
    const Json* gamma = trial.find("gamma");
    if (gamma == nullptr || !gamma->is_number_integer() || gamma->get<int>() < 1 ||
        !IsEstimate(trial.find("fnmr")) || !IsEstimate(trial.find("minus_best"))) {
      return std::nullopt;
    }
    const Json* method = trial.find("method");  // that of the model, not of its rivals
    if (method != nullptr && (*choice)["method"] != *method) continue;
    out.trials.push_back(
        {gamma->get<int>(), EstimateOf(trial["fnmr"]), EstimateOf(trial["minus_best"])});
    out.best = std::min(out.best, out.trials.back().fnmr.value);
  }
  if (out.trials.size() < 2) return std::nullopt;  // nothing was chosen
  return out;
}

absl::StatusOr<std::string> DrawGamma(const GammaTrials& trials) {
  GnuplotJob job;
  Figure figure(&job, "gamma");
  figure.Label("x", "gamma, the fused dimension");
  figure.Label("y", "FNMR at FMR 1e-3, people left out");
  std::string bars, values;
  std::vector<std::string> ticks;
  double lowest = trials.best, highest = trials.best;
  for (const GammaTrials::Trial& trial : trials.trials) {
    const double x = std::log2(trial.gamma), low = trials.best + trial.minus_best.lo,
                 high = trials.best + trial.minus_best.hi;
    absl::StrAppendFormat(&bars, "%.9g %.9g 0 %.9g\n", x, low, high - low);
    absl::StrAppendFormat(&values, "%.9g %.9g 0.2 0\n", x - 0.1, trial.fnmr.value);
    ticks.push_back(absl::StrFormat("'%d' %.9g", trial.gamma, x));
    lowest = std::min(lowest, low);
    highest = std::max(highest, high);
  }
  const double first = std::log2(trials.trials.front().gamma) - 0.5,
               last = std::log2(trials.trials.back().gamma) + 0.5,
               room = 0.08 * std::max(highest - lowest, 1e-6),
               line = trials.best + trials.Tolerated();
  figure.Line(absl::StrCat("set xtics (", absl::StrJoin(ticks, ", "), ")"));
  figure.Line(absl::StrFormat("set xrange [%.9g:%.9g]", first, last));
  figure.Line(
      absl::StrFormat("set yrange [%.9g:%.9g]", std::min(lowest, line) - room, highest + room));
  figure.Curve(absl::StrFormat("%.9g %.9g\n%.9g %.9g\n", first, line, last, line), "with lines",
               Style(kMuted, 1.5, 2), "must be reached within the error");
  figure.Curve(bars, "with vectors nohead", Style(kPlain, 5), "interval");
  figure.Curve(values, "with vectors nohead", Style(kInk, 2.5), "FNMR");
  figure.Finish();
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> drawn, RunGnuplot(job));
  return InlineSvg(drawn[0], "FNMR of people left out by fused dimension");
}

void AddGamma(const Model& model, const std::string& picture, double template_bytes, Page& page) {
  page.Heading("Choice of gamma");
  const std::optional<GammaTrials> trials = GammaTrialsOf(model);
  if (!trials) {
    return page.Paragraph(absl::StrCat("Gamma, the fused dimension, is ", model.gamma,
                                       ". The method or the option --gamma set it. Without ",
                                       "--gamma, the method learned tries 16 to 256."));
  }
  page.Paragraph(
      absl::StrFormat("Gamma %d was chosen by cross-validation on people for training. It is the "
                      "smallest dimension whose FNMR at FMR 1e-3 exceeds the best dimension's FNMR "
                      "by at most %g standard errors or %g%%. The size of a gallery, the size of "
                      "keys and the matching time grow with gamma.",
                      model.gamma, recipe::kGammaErrors, 100 * recipe::kGammaTolerance));
  PageTable table{
      {{"Gamma"}, {"FNMR at FMR 1e-3"}, {"Minus the best"}, {"", true}, {"An enrolled template"}}};
  for (const GammaTrials::Trial& trial : trials->trials) {
    const Estimate& minus = trial.minus_best;
    const bool best = trial.fnmr.value == trials->best;
    const bool chosen = trial.gamma == static_cast<int>(model.gamma);
    table.rows.push_back(
        {{absl::StrCat(trial.gamma), Fixed(trial.fnmr.value, 4),
          best ? ""
               : WithInterval(Signed(minus.value, 4), Signed(minus.lo, 4), Signed(minus.hi, 4)),
          chosen                      ? "chosen"
          : trials->ShownWorse(trial) ? "shown to be worse"
                                      : "not needed",
          HumanBytes(template_bytes * trial.gamma / model.gamma)},
         chosen});
  }
  table.caption =
      ("A smooth estimate of FNMR by cross-validation. Small: 95% intervals on the same people.");
  page.Table(table);
  page.Figures({{picture, "Gamma.",
                 "Bars: the difference from the best dimension, on the same people. A dimension "
                 "with a bar completely above the dashed line loses too much."}});
}

}  // namespace heft::experiment
