// SPDX-License-Identifier: Apache-2.0
// How well templates are protected, measured as ISO/IEC 24745 and 30136 name it: unlinkability of
// templates under two keys, irreversibility, renewability; with no, one and both secret keys
// stolen.
#ifndef HEFT_EXPERIMENT_PROTECTION_H_
#define HEFT_EXPERIMENT_PROTECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "evaluation/recovery.h"
#include "evaluation/unlinkability.h"
#include "features/dataset.h"
#include "fusion/recovery_figures.h"
#include "heft/evaluate.h"
#include "heft/key_owner.h"
#include "heft/model.h"

namespace heft::experiment {

// Stolen: which of two secret keys the attacker has.
enum class Stolen { kNone, kOne, kBoth };

// LinkRow: one linkage function.
struct LinkRow {
  Stolen stolen = Stolen::kNone;
  std::string what;
  Linkage linkage;
};

// InvertRow: what a decrypted template gives away of one modality's vector.
struct InvertRow {
  std::string modality;
  Inversion learned;         // from other people's vectors and templates
  double least_squares = 0;  // cosine of the shortest vector that has the template, model alone
};

struct Renewal {
  double key_bits = 0;     // log2 of the number of secret keys
  double largest_gap = 0;  // of a score after the move to the one before
  double rms_gap = 0;
  double auroc_before = 0, auroc_after = 0;
  Linkage blocks;  // without secret keys: the gallery before and after
};

struct ProtectionStudy {
  ProtectionOptions options;
  int samples = 0, people = 0;
  uint32_t gamma = 0;
  std::string profile;
  std::vector<LinkRow> links;
  Unlinkability matcher;  // of the scores of one key: what recognition itself can tell
  std::vector<InvertRow> inversions;
  BudgetLimits limits;
  double fmr_1e3 = 0;  // the threshold that Recovery::accepted is of
  std::vector<Recovery> from_scores, from_decisions;
  std::optional<RecoveryFigures> figures;  // what the model's training measured; none: nothing
  Renewal renewal;
};

// StudyProtection: of `split`'s people; the attacker knows those of the training split.
// kInvalidArgument for a split without two samples of a person, or without other people;
// kCancelled.
absl::StatusOr<ProtectionStudy> StudyProtection(const Monitor& monitor, const Dataset& dataset,
                                                const Model& model, Split split,
                                                const ProtectionOptions& options);

Json ToJson(const ProtectionStudy& study);
std::string ToText(const ProtectionStudy& study);
// DrawLinkability: both densities and D of the strongest function without keys and of stolen keys,
// inline SVG. RunGnuplot's errors.
absl::StatusOr<std::vector<std::string>> DrawLinkability(const ProtectionStudy& study);
std::string MakeProtectionPage(const ProtectionStudy& study,
                               const std::vector<std::string>& pictures,
                               const std::string& data_name, const std::string& data_description,
                               const std::string& command);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_PROTECTION_H_
