// SPDX-License-Identifier: Apache-2.0
// Normalisations under encryption, each against plain numbers.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "heft/train.h"
#include "paper/methods/route.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;

constexpr uint32_t kNormalisedGamma = 32;
constexpr uint32_t kWindow = 2 * kNormalisedGamma;  // two periods; the first of each is right

// Trial: what one normalisation did on vectors whose squared norms cover its interval.
struct Trial {
  double error = 0, predicted = 0;  // of a coordinate, against the same f in plain
  double exact_error = 0;           // of the length, against 1
  double ms = 0;
  std::string parameters;
};

// Layout: random directions, window by window, of squared norms from `lo` to `hi`.
std::vector<double> Layout(const Interval& interval, uint32_t slots) {
  const uint32_t windows = slots / kWindow;
  std::mt19937_64 random(5);
  std::vector<double> layout(slots);
  for (uint32_t w = 0; w < windows; ++w) {
    const double s =
        interval.lo * std::pow(interval.hi / interval.lo, static_cast<double>(w) / (windows - 1));
    const std::vector<double> unit = experiment::RandomUnit(kNormalisedGamma, random);
    for (uint32_t t = 0; t < kWindow; ++t) {
      layout[w * kWindow + t] = std::sqrt(s) * unit[t % kNormalisedGamma];
    }
  }
  return layout;
}

// Compare fills in the errors of the decrypted slots.
void Compare(const NormalisationSpec& spec, const std::vector<double>& layout,
             const std::vector<ckks::Complex>& opened, Trial* trial) {
  for (size_t first = 0; first < layout.size(); first += kWindow) {
    double s = 0, length = 0;
    for (uint32_t t = 0; t < kNormalisedGamma; ++t) s += std::pow(layout[first + t], 2);
    for (uint32_t t = 0; t < kNormalisedGamma; ++t) {
      const double value = opened[first + t].real();
      trial->error = std::max(trial->error, std::abs(value - layout[first + t] * spec(s)));
      length += value * value;
    }
    trial->exact_error = std::max(trial->exact_error, std::abs(std::sqrt(length) - 1));
  }
}

absl::StatusOr<Trial> Try(const Monitor& monitor, const NormalisationSpec& spec, int repetitions) {
  const auto make = [&](const Profile& profile, const ckks::Params& params) {
    const size_t limbs = std::min(params.limbs(), spec.Levels() + 3);
    return PlanNormalisation(params, spec, kNormalisedGamma, limbs, profile.scale);
  };
  HEFT_ASSIGN_OR_RETURN(const auto planned, PlanForSmallestProfile<NormalisationPlan>(make));
  const NormalisationPlan& plan = planned.plan;
  HEFT_ASSIGN_OR_RETURN(const auto world, experiment::KeyedContext::Create(planned.profile.spec));
  world->MakeKeys(plan.keys);
  HEFT_ASSIGN_OR_RETURN(const Normaliser normaliser,
                        Normaliser::Create(world->shared_context(), plan, &world->keys()));
  const std::vector<double> layout = Layout(spec.Range(), world->params().slots());
  HEFT_ASSIGN_OR_RETURN(
      const ckks::Plaintext plain,
      world->encoder().Encode(std::span<const double>(layout), plan.input_scale, plan.input_limbs));
  const Ciphertext z = world->Encrypt(plain);
  Trial trial;
  absl::StatusOr<Normalised> result;
  HEFT_ASSIGN_OR_RETURN(trial.ms, MedianMs(monitor, repetitions, [&] {
                          return (result = normaliser.Apply(z)).status();
                        }));
  Compare(spec, layout, world->Open(result->z), &trial);
  trial.predicted = ckks::SlotErrorBound(world->params(), result->z.noise, result->z.scale);
  trial.parameters = world->params().Describe();
  return trial;
}

// NormalisationCase: a row of the table.
struct NormalisationCase {
  std::string name, interval;
  NormalisationSpec spec;
};

absl::StatusOr<std::vector<NormalisationCase>> Cases(const Interval& own, bool slow) {
  const std::string on_paper = "[0.05, 3]",
                    on_data = absl::StrFormat("[%.3f, %.3f]", own.lo, own.hi);
  std::vector<NormalisationCase> cases;
  for (int degree : {1, 2, 3}) {
    HEFT_ASSIGN_OR_RETURN(const Approximation f, FitLeastSquares(degree, kPaperInterval));
    cases.push_back({absl::StrCat("degree ", degree, ", least squares"), on_paper,
                     NormalisationSpec::Polynomials(f)});
  }
  HEFT_ASSIGN_OR_RETURN(const PaperNormalisations paper, MakePaperNormalisations());
  cases.push_back({"“degree 6”, least squares", on_paper, paper.degree6});
  if (slow) cases.push_back({"Goldschmidt, 4 iterations", on_paper, paper.goldschmidt});
  for (int degree : {3, 7, 15}) {
    HEFT_ASSIGN_OR_RETURN(const Approximation f, FitMinimax(degree, own));
    cases.push_back(
        {absl::StrCat("degree ", degree, ", minimax"), on_data, NormalisationSpec::Polynomials(f)});
  }
  return cases;
}

}  // namespace

absl::StatusOr<Section> Normalisations(const Study& study) {
  Section section{.id = "normalisation",
                  .title = "Normalisation under encryption",
                  .paper = "Section “Approximate Normalization”"};
  HEFT_ASSIGN_OR_RETURN(const Interval own, DataInterval(study));
  section.text = {
      "Each method on vectors of 32 coordinates whose squared norms cover its interval evenly in "
      "the logarithm. Error: a decrypted coordinate against the same f in plain, beside the bound "
      "predicted for it. Length: how far the decrypted vector’s length is from 1, which is the "
      "approximation’s error."};
  HEFT_ASSIGN_OR_RETURN(const std::vector<NormalisationCase> cases, Cases(own, study.effort.slow_methods));
  Table table{.id = "normalisations",
              .caption = "One ciphertext, CPU milliseconds, median.",
              .columns = {{"method", "Method"},
                          {"interval", "Interval"},
                          {"levels", "Levels", Format::kCount},
                          {"ms", "ms", Format::kMilliseconds},
                          {"error", "Error", Format::kSmall},
                          {"predicted", "predicted", Format::kSmall},
                          {"within", "within"},
                          {"length", "Length off by", Format::kPercent},
                          {"parameters", "Parameters"}}};
  Progress progress(study.monitor, "normalisations");
  for (const NormalisationCase& c : cases) {
    HEFT_RETURN_IF_ERROR(progress.Step(table.rows.size(), cases.size(), c.name));
    HEFT_ASSIGN_OR_RETURN(const Trial t,
                          Try(study.monitor, c.spec, std::min(3, study.effort.repetitions)));
    table.rows.push_back({c.name, c.interval, c.spec.Levels(), t.ms, t.error, t.predicted,
                          t.error <= t.predicted, t.exact_error, t.parameters});
  }
  section.tables.push_back(std::move(table));
  section.notes = {
      "Deferred exact normalisation computes nothing here: z and |z|² are returned and the key "
      "owner divides. Section “Matching and protocols” shows its cosines.",
      "A last stage of degree 2 or 3 is applied in factored form, its leading coefficient in the "
      "scale: no level is spent on a constant."};
  return section;
}

}  // namespace heft::paper
