// SPDX-License-Identifier: Apache-2.0
#include "experiment/evaluation_output.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"

namespace heft::experiment {
namespace {

Json DataJson(const Evaluation& e) {
  Json modalities = Json::array();
  for (const ModalitySpec& m : e.model.modalities) {
    modalities.push_back({{"name", m.name}, {"dimension", m.dimension}});
  }
  Json data = {{"folder", e.options.data}, {"split", SplitName(e.options.split)}};
  if (!e.data_description.empty()) data["description"] = e.data_description;
  data.update({{"split_was_derived", e.split_was_derived},
               {"samples", e.samples},
               {"identities", e.identities},
               {"genuine_pairs", e.genuine_pairs},
               {"impostor_pairs", e.impostor_pairs},
               {"modalities", modalities}});
  return data;
}

Json ModelJson(const Evaluation& e) {
  const Approximation& f = e.model.approximation;
  return {{"file", e.options.model},
          {"id", HexString(e.model.Id())},
          {"gamma", e.model.gamma},
          {"profile", e.model.profile},
          {"parameters", e.run.parameters},
          {"security", e.run.security},
          {"approximation",
           {{"fit", f.name},
            {"degree", f.Degree()},
            {"interval", {f.interval.lo, f.interval.hi}},
            {"max_relative_error", f.MaxRelativeError()}}},
          {"samples_outside_interval", e.outside}};
}

Json SystemsJson(const Evaluation& e) {
  Json systems = Json::array();
  for (const SystemResult& s : e.systems) {
    Json row = {{"id", s.id},
                {"label", s.label},
                {"dimension", s.dimension},
                {"encrypted", s.encrypted},
                {"auroc", EstimateJson(s.estimate.auroc)},
                {"eer", EstimateJson(s.estimate.eer)},
                {"tmr_at_fmr_1e-2", EstimateJson(s.estimate.tmr_1e2)},
                {"tmr_at_fmr_1e-3", EstimateJson(s.estimate.tmr_1e3)}};
    if (s.encrypted_minus_this) row["encrypted_minus_this"] = EstimateJson(*s.encrypted_minus_this);
    systems.push_back(std::move(row));
  }
  return systems;
}

Json RunJson(const EncryptedRun& run) {
  return {{"threads", run.threads},
          {"keys_seconds", run.keys_seconds},
          {"encrypt_and_fuse_seconds", run.fuse_seconds},
          {"enrol_seconds", run.enrol_seconds},
          {"match_and_decrypt_seconds", run.match_seconds},
          {"encrypt_ms", run.encrypt_ms},
          {"fuse_ms", run.fuse_ms},
          {"prepare_probe_ms", run.prepare_ms},
          {"match_block_ms", run.match_block_ms},
          {"decrypt_block_ms", run.decrypt_ms},
          {"blocks", run.blocks},
          {"evaluation_keys_bytes", run.evaluation_keys_bytes},
          {"sample_bytes", run.sample_bytes},
          {"template_bytes", run.template_bytes}};
}

}  // namespace

Json EstimateJson(const Estimate& e) { return {{"value", e.value}, {"lo", e.lo}, {"hi", e.hi}}; }

std::string EstimateText(const Estimate& e) {
  return absl::StrFormat("%.4f [%.4f, %.4f]", e.value, e.lo, e.hi);
}

Json ToJson(const Evaluation& e) {
  Json decisions = Json::array();
  for (const DecisionResult& d : e.decisions) {
    decisions.push_back({{"wanted_fmr", d.wanted_fmr},
                         {"threshold", d.threshold},
                         {"fmr", d.fmr},
                         {"fnmr", d.fnmr}});
  }
  Json gap = {{"auroc", e.gap.auroc},
              {"max_score", e.gap.max_score},
              {"rms_score", e.gap.rms_score},
              {"predicted_bound", e.run.predicted_error}};
  if (e.KeepsPromise()) gap["within_promise"] = *e.KeepsPromise();
  return {{"data", DataJson(e)},       {"model", ModelJson(e)},
          {"systems", SystemsJson(e)}, {"gap", gap},
          {"decisions", decisions},    {"encrypted_run", RunJson(e.run)},
          {"warnings", e.warnings},    {"notes", e.notes},
          {"seconds", e.seconds}};
}

std::string ToText(const Evaluation& e) {
  std::string text = absl::StrFormat(
      "%s, split %s: %d samples of %d identities, %d genuine and %d impostor pairs\n", e.data_name,
      SplitName(e.options.split), e.samples, e.identities, e.genuine_pairs, e.impostor_pairs);
  if (!e.data_description.empty()) absl::StrAppend(&text, e.data_description, "\n");
  absl::StrAppendFormat(&text, "\n%-42s %4s  %-24s %-6s  %-24s %s\n", "system", "dim",
                        "AUROC [95% interval]", "EER", "TMR at FMR 1e-2", "TMR at FMR 1e-3");
  for (const SystemResult& s : e.systems) {
    absl::StrAppendFormat(&text, "%-42s %4d  %-24s %.4f  %-24s %s\n", s.label, s.dimension,
                          EstimateText(s.estimate.auroc), s.estimate.eer.value,
                          EstimateText(s.estimate.tmr_1e2), EstimateText(s.estimate.tmr_1e3));
  }
  const Interval& interval = e.model.approximation.interval;
  absl::StrAppendFormat(
      &text,
      "\nencrypted minus plain: AUROC %+.6f, scores rms %.1e, at most %.1e (predicted bound "
      "%.1e)\n%d of %d samples outside the interval [%.3f, %.3f]\n%s; %s\n",
      e.gap.auroc, e.gap.rms_score, e.gap.max_score, e.run.predicted_error, e.outside, e.samples,
      interval.lo, interval.hi, e.run.parameters, e.run.security);
  absl::StrAppendFormat(
      &text,
      "%.1f s on %d threads; a sample: encrypt %.1f ms, fuse %.1f ms, prepare %.1f ms, match a "
      "block %.1f ms\n",
      e.seconds, e.run.threads, e.run.encrypt_ms, e.run.fuse_ms, e.run.prepare_ms,
      e.run.match_block_ms);
  for (const std::string& note : e.notes) absl::StrAppend(&text, note, "\n");
  return text;
}

}  // namespace heft::experiment
