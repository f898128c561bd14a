// SPDX-License-Identifier: Apache-2.0
// The decisions of a model, measured on people who took no part in it: the false match rates at its
// thresholds, its evidence, and searches of people, half of them strangers.
#ifndef HEFT_EXPERIMENT_JUDGEMENT_H_
#define HEFT_EXPERIMENT_JUDGEMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "evaluation/evidence.h"
#include "evaluation/open_set_trial.h"
#include "heft/decisions.h"
#include "heft/files.h"
#include "heft/model.h"

namespace heft::experiment {

class Page;
struct PageFigure;

// JudgedSet: scores of people and the model that judges them; each fold has its own.
struct JudgedSet {
  LabelledScores scores;
  const Model* model = nullptr;
};

// Verdict: on a rate that was asked for. It holds where the interval of measured over asked
// contains 1 and is narrower than a factor of kWidest either way. It does not hold where the
// interval excludes 1. Otherwise there are too few people to say; so it is where nothing was
// measured and the interval from 0 contains 1.
enum class Verdict { kHolds, kDoesNotHold, kTooFewPeople };
inline constexpr double kWidest = 3;
// VerdictName: "holds", "does_not_hold", "too_few_people".
std::string VerdictName(Verdict verdict);

// RateCheck: a rate that was asked for, and the one that people had.
struct RateCheck {
  double asked = 0;
  std::string refused;     // why the model gives no threshold for it; empty: it gives one
  double threshold = 0;    // mean over the sets
  RateInterval predicted;  // by the model, of the true rate at its threshold; mean over the sets
  Estimate measured;       // on these people
  Estimate ratio;          // of measured and asked; its interval is that of both together
  Estimate missed;         // what it costs: FNMR, or FNIR
  // Of comparisons: the wolf attack probability at the threshold (evaluation/wolves.h); nothing
  // where no wolf was learned.
  std::optional<double> wolf;
  // Of a refused rate too: the least FNMR or FNIR of any threshold that keeps the rate asked for on
  // these people: what their ROC allows.
  double allowed_missed = 0;
  Verdict verdict() const;
  // `missed` over `allowed_missed`; 1 where both are 0, infinite where only the second is.
  double MissedOverAllowed() const;
};

// SearchCheck: searches of galleries of `people` with `templates` each.
struct SearchCheck {
  uint32_t templates = 1;
  uint64_t people = 0;  // mean over the sets
  RateCheck rate;       // FPIR
};
// SearchCurve: FPIR, FNIR and the cumulative match characteristic of the same searches.
struct SearchCurve {
  uint32_t templates = 1;
  SearchErrors errors;
};

// PartialCheck: comparisons of probes that lack modalities with whole templates.
struct PartialCheck {
  std::vector<std::string> modalities;  // that the probes have
  std::vector<RateCheck> comparisons;   // FMR, at thresholds for such probes
};

struct Judgement {
  std::string thresholds = "The model's thresholds";  // that were judged, as a sentence begins
  std::vector<RateCheck> comparisons;                 // FMR
  std::optional<EvidenceQuality> evidence;            // of calibrated models
  std::vector<PartialCheck> partial;                  // computed in the clear
  std::vector<SearchCheck> searches;
  std::vector<SearchCurve> curves;
  std::string searches_of =  // who searches
      "A random half of the people is enrolled, the other half are strangers, 20 times.";
  std::string no_searches;  // why there are none
  int wolf_people = 0;      // whom the wolves attacked: none of them was known to the attacker
  ScoreSet scores;          // of all comparisons
  ScoreSet plain;           // the same computed in the clear, where scores are encrypted
};

// The requested rates, and the numbers of templates.
inline constexpr double kAskedFmrs[] = {1e-1, 1e-2, 1e-3};
inline constexpr double kAskedFpirs[] = {1e-1, 1e-2};
inline constexpr uint32_t kEnrolledTemplates[] = {1, 2, 4};

// Judge: sets of people are never compared with each other. scores[i][j] is of probe i and template
// j. Errors of MeasureErrorRates; what a model refuses is none.
absl::StatusOr<Judgement> Judge(std::span<const JudgedSet> sets,
                                const BootstrapOptions& options = {});

// JudgeLists: the same of comparisons in lists, of each set by its model; without searches.
absl::StatusOr<Judgement> JudgeLists(std::span<const Comparisons> lists,
                                     std::span<const Model* const> models,
                                     const BootstrapOptions& options = {});
// JudgePartial adds probes that have the modalities `set` alone, as the model's table for them
// decides. scores[i][j] is of such a probe i and a whole template j. Judge's errors.
absl::Status JudgePartial(const LabelledScores& scores, const Model& model, uint32_t set,
                          const BootstrapOptions& options, Judgement* judgement);

// SearchChooser: a threshold for an FPIR in a gallery of so many people with at most so many
// templates each.
using SearchChooser = std::function<absl::StatusOr<ChosenThreshold>(double, uint64_t, uint32_t)>;
// JudgeGallery adds searches of one gallery by such thresholds: scores[i][j] of a probe of person
// probes[i] and a template of person templates[j], numbered from 0. `left_out` as SearchGallery's.
absl::Status JudgeGallery(const FeatureMatrix& scores, std::span<const int> probes,
                          std::span<const int> templates, const SearchChooser& choose,
                          Judgement* judgement, std::span<const int> left_out = {});

// CheckRate: what a rate measured at a threshold says of the one asked for.
RateCheck CheckRate(double asked, const Estimate& measured, const RateInterval& predicted);

// ThinForDrawing: a point wherever a curve has moved by a five-hundredth of a plot.
std::vector<RocPoint> ThinForDrawing(const std::vector<RocPoint>& points);

// BrokenPromises: a sentence for each rate of false matches or positives that does not hold, with
// the figures and what to do.
std::vector<std::string> BrokenPromises(const Judgement& judgement);

Json JudgementJson(const Judgement& judgement);
std::string JudgementText(const Judgement& judgement);
// The section of a page, with the pictures as DrawJudgement made them.
void AddJudgement(const Judgement& judgement, const std::vector<PageFigure>& figures, Page& page,
                  const std::string& heading = "Decisions of the model on these people");
// AddSearches: its table of searches alone.
void AddSearches(const Judgement& judgement, Page& page);
// DrawJudgement: DET, scores, reliability, FPIR with FNIR, and match rates by rank, if there are
// such. `names` (may be null) receives names of files. RunGnuplot's errors.
absl::StatusOr<std::vector<PageFigure>> DrawJudgement(const Judgement& judgement,
                                                      std::vector<std::string>* names = nullptr);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_JUDGEMENT_H_
