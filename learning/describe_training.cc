// SPDX-License-Identifier: Apache-2.0
// What a training has come to, as JSON and in words.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/train.h"

namespace heft {
namespace {

double Number(const Json& json) { return json.get<double>(); }

// Fused against its best modality and the sum of scores.
std::string FusionText(const Json& fusion) {
  std::string text;
  const auto compare = [&](const std::string& name, const Json& minus) {
    absl::StrAppendFormat(&text, "%s %s %+.4f [%+.4f, %+.4f]", text.empty() ? "" : ",", name,
                          Number(minus["value"]), Number(minus["lo"]), Number(minus["hi"]));
  };
  compare(absl::StrCat(fusion["best_modality"].get<std::string>(), " alone"), fusion["minus_best"]);
  if (fusion.contains("minus_score_sum")) compare("sum of scores", fusion["minus_score_sum"]);
  const Json& fused = fusion["systems"][0];
  return absl::StrFormat(
      "  on people kept out: AUROC %.4f, EER %.4f, FNMR %.4f at FMR 1e-2; AUROC minus%s\n",
      Number(fused["auroc"]["value"]), Number(fused["eer"]["value"]),
      Number(fused["fnmr_1e2"]["value"]), text);
}

// Why this dimension, and what smaller ones, which cost less, would lose; empty where it was given.
std::string GammaText(const Json& training) {
  if (!training.contains("gamma_choice")) return "";
  std::string text = "; chosen on training people";
  for (const Json& trial : training["gamma_choice"]["trials"]) {
    absl::StrAppendFormat(&text, ", %d: AUROC %.4f", trial["gamma"].get<int>(),
                          Number(trial["auroc"]["value"]));
  }
  return text + "; gallery, keys and matches grow with it (--gamma)";
}

std::string TrainingText(const Model& model, const Json& training) {
  const int best_epoch = training["best_epoch"].get<int>();
  const std::string best = best_epoch == 0 ? "of the start, which no epoch improved"
                                           : absl::StrCat("of epoch ", best_epoch);
  std::string exact;
  if (training.contains("exact")) {
    exact = absl::StrFormat("; trained with exact normalisation %.4f",
                            Number(training["exact"]["val_auroc"]));
  }
  const Interval& interval = model.approximation.interval;
  return absl::StrFormat(
      "  gamma %d, %d bytes a template%s\n  validation AUROC %.4f, %s%s\n"
      "  normalisation of degree %d on [%.3f, %.3f], worst error %.2f%%, %.2f%% "
      "of training samples outside\n%s",
      model.gamma, 16 * model.gamma, GammaText(training), Number(training["val_auroc"]), best,
      exact, model.approximation.Degree(), interval.lo, interval.hi,
      100 * model.approximation.MaxRelativeError(), 100 * Number(training["outside_share_train"]),
      FusionText(training["fusion"]));
}

}  // namespace

absl::StatusOr<Described> DescribeTraining(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(const Json training, Json::Parse(model.training_summary));
  for (const char* key : {"best_epoch", "outside_share_train", "fusion", "recipe"}) {
    if (training.contains(key)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the model's training summary has no \"", key, "\": Learn has not made it"));
  }
  const Interval& interval = model.approximation.interval;
  Described out;
  out.json = {{"model_id", HexString(model.Id())},
              {"gamma", model.gamma},
              {"modality_weights", training["modality_weights"]},
              {"val_auroc", training["val_auroc"]},
              {"best_epoch", training["best_epoch"]},
              {"outside_share", training["outside_share_train"]},
              {"interval", {interval.lo, interval.hi}},
              {"max_relative_error", model.approximation.MaxRelativeError()},
              {"fusion", training["fusion"]},
              {"recipe", training["recipe"]}};
  for (const char* key : {"gamma_choice", "threshold_warning"}) {
    if (training.contains(key)) out.json[key] = training[key];
  }
  if (training.contains("exact")) out.json["exact_val_auroc"] = training["exact"]["val_auroc"];
  out.text = TrainingText(model, training);
  for (const Json* warning :
       {training.find("threshold_warning"), training["fusion"].find("warning")}) {
    if (warning != nullptr) out.warnings.push_back(warning->get<std::string>());
  }
  return out;
}

}  // namespace heft
