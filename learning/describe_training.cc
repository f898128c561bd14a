// SPDX-License-Identifier: Apache-2.0
// What a training has come to, as JSON and in words.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/train.h"
#include "learning/attacks.h"

namespace heft {
namespace {

double Number(const Json& json) { return json.get<double>(); }

// Fused against each modality, the concatenation and the sum of cosines.
std::string FusionText(const Json& fusion) {
  const Json& fused = fusion["systems"][0];
  std::string text = absl::StrFormat(
      "  on people left out: FNMR %.4f at FMR 1e-2, %.4f at FMR 1e-3; EER %.4f, AUROC %.5f\n",
      Number(fused["fnmr_1e2"]["value"]), Number(fused["fnmr_1e3"]), Number(fused["eer"]["value"]),
      Number(fused["auroc"]["value"]));
  for (const Json& system : fusion["systems"]) {
    const Json* minus = fusion["fused_minus"].find(system["name"].get<std::string>());
    if (minus == nullptr) continue;
    const Json& difference = (*minus)["fnmr_1e3"];
    absl::StrAppendFormat(&text, "    %s: FNMR %.4f at FMR 1e-3; fusion %+.4f [%+.4f, %+.4f]\n",
                          system["name"].get<std::string>(), Number(system["fnmr_1e3"]),
                          Number(difference["value"]), Number(difference["lo"]),
                          Number(difference["hi"]));
  }
  return text;
}

// Why this dimension, and what smaller ones, which cost less, would lose; empty where it was given.
std::string GammaText(const Json& training) {
  if (!training.contains("gamma_choice") || training["gamma_choice"]["trials"].empty()) return "";
  std::string text = "; chosen on people left out, by FNMR at FMR 1e-3";
  for (const Json& trial : training["gamma_choice"]["trials"]) {
    absl::StrAppendFormat(&text, ", %s %d: %.4f", trial["method"].get<std::string>(),
                          trial["gamma"].get<int>(), Number(trial["fnmr"]["value"]));
  }
  return text + "; gallery, keys and matches grow with it (--gamma)";
}

// Further people of single modalities.
std::string UnpairedText(const Json& training) {
  std::string text;
  const Json* unpaired = training.find("unpaired");
  if (unpaired == nullptr) return text;
  for (const auto& [name, of] : unpaired->members()) {
    absl::StrAppendFormat(&text, "  unpaired %s: %d samples of %d further people trained too\n",
                          name, of["samples"].get<int>(), of["people"].get<int>());
  }
  return text;
}

std::string EpochText(const Json& training) {
  const int best = training["best_epoch"].get<int>();
  if (training["options"]["method"] != "learned") return "";
  return best == 0 ? "; the closed form, because no epoch improved it"
                   : absl::StrCat("; ", best, " epochs");
}

// The share of samples outside the interval: of people who did not train the projection where there
// are such.
double OutsideOf(const Json& training) {
  const Json* others = training.find("outside_share_val");
  return Number(others != nullptr ? *others : training["outside_share_train"]);
}

// Of how many directions the templates make use (features/effective_dimension.h), and the limit of
// a direction's energy (learning/isotropy.h).
std::string DirectionsText(const Json& training) {
  const Json* dimension = training.find("effective_dimension");
  if (dimension == nullptr) return "";
  std::string text = absl::StrFormat(", effective dimension %.0f", Number(*dimension));
  const Json* isotropy = training.find("isotropy");
  if (isotropy == nullptr || Number((*isotropy)["limit"]) == 0) return text;
  absl::StrAppendFormat(&text, " with every direction at most %.3g times the mean energy",
                        Number((*isotropy)["limit"]));
  return text;
}

std::string TrainingText(const Model& model, const Json& training) {
  const Interval& interval = model.approximation.interval;
  const Json* fusion = training.find("fusion");
  return absl::StrFormat(
      "  method %s%s\n  gamma %d%s, %d bytes a template%s\n"
      "  normalisation of degree %d on [%.3f, %.3f], worst error %.2f%%; outside: %.2f%% of "
      "training samples, %.2f%% of people who did not train it\n%s%s",
      training["options"]["method"].get<std::string>(), EpochText(training), model.gamma,
      DirectionsText(training), 16 * model.gamma, GammaText(training), model.approximation.Degree(),
      interval.lo, interval.hi, 100 * model.approximation.MaxRelativeError(),
      100 * Number(training["outside_share_train"]), 100 * OutsideOf(training),
      UnpairedText(training),
      fusion != nullptr ? FusionText(*fusion)
                        : "  no labelled people: no thresholds (heft calibrate adds them)\n");
}

// Beyond this share of people who did not train it the interval is a fault of the model.
constexpr double kMaxOutside = 0.01;

// The method to try where a model's interval misses people; empty where there is none left.
std::string OtherMethod(const Json& training) {
  const std::string method = training["options"]["method"].get<std::string>();
  return method == "learned" ? ", or with --method pca"
         : method == "pca"   ? ", or with --method none"
                             : "";
}

void AddWarnings(const Json& training, std::vector<std::string>* warnings) {
  const auto add = [&](const Json* warning) {
    if (warning != nullptr) warnings->push_back(warning->get<std::string>());
  };
  if (const Json* choice = training.find("gamma_choice")) add(choice->find("fallback"));
  if (const Json* unpaired = training.find("unpaired")) {
    for (const auto& [name, of] : unpaired->members()) {
      const int left_out = of["left_out"].get<int>();
      if (left_out == 0) continue;
      warnings->push_back(absl::StrCat("unpaired ", name, ": ", left_out,
                                       " people have one sample ",
                                       "each and were not used: a class needs two"));
    }
  }
  if (const double outside = OutsideOf(training); outside > kMaxOutside) {
    warnings->push_back(absl::StrFormat(
        "%.1f%% of the samples of people who did not train the model are outside its interval: "
        "admission will reject as many honest people. Train with more people%s",
        100 * outside, OtherMethod(training)));
  }
  if (const double outside = Number(training["outside_share_train"]); outside > kMaxOutside) {
    warnings->push_back(absl::StrFormat(
        "%.1f%% of the training samples are outside the model's interval, because too few people "
        "trained it: admission will reject these people. Train with more people%s",
        100 * outside, training["options"]["method"] == "none" ? "" : ", or with --method none"));
  }
  add(training.find("threshold_warning"));
  if (const Json* fusion = training.find("fusion")) add(fusion->find("warning"));
}

}  // namespace

absl::StatusOr<Described> DescribeTraining(const Model& model) {
  HEFT_ASSIGN_OR_RETURN(const Json training, Json::Parse(model.training_summary));
  for (const char* key : {"best_epoch", "outside_share_train", "recipe", "options"}) {
    if (training.contains(key)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the model's training summary has no \"", key, "\": train the model first"));
  }
  const Interval& interval = model.approximation.interval;
  Described out;
  out.json = {{"model_id", HexString(model.Id())},
              {"gamma", model.gamma},
              {"modality_weights", training["modality_weights"]},
              {"method", training["options"]["method"]},
              {"best_epoch", training["best_epoch"]},
              {"outside_share", training["outside_share_train"]},
              {"outside_share_of_others", OutsideOf(training)},
              {"interval", {interval.lo, interval.hi}},
              {"max_relative_error", model.approximation.MaxRelativeError()},
              {"recipe", training["recipe"]}};
  for (const char* key : {"gamma_choice", "threshold_warning", "fusion", "unpaired", "val_auroc",
                          "effective_dimension", "isotropy", "wolves", "recovery"}) {
    if (training.contains(key)) out.json[key] = training[key];
  }
  if (training.contains("exact")) {
    if (const Json* auroc = training["exact"].find("val_auroc"))
      out.json["exact_val_auroc"] = *auroc;
  }
  out.text = TrainingText(model, training) + DescribeAttacks(training);
  AddWarnings(training, &out.warnings);
  return out;
}

}  // namespace heft
