// SPDX-License-Identifier: Apache-2.0
#include "fusion/recovery_figures.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace heft {
namespace {

Json ToJson(const std::vector<RecoveryFigures::Point>& points) {
  Json out = Json::array();
  for (const auto& point : points) {
    out.push_back({{"answers", point.answers}, {"accepted", point.accepted}});
  }
  return out;
}

// Empty if a member is missing or of another kind, or answers do not rise.
std::optional<std::vector<RecoveryFigures::Point>> ReadPoints(const Json* json) {
  if (json == nullptr || !json->is_array()) return std::nullopt;
  std::vector<RecoveryFigures::Point> points;
  for (const Json& entry : *json) {
    const Json *answers = entry.find("answers"), *accepted = entry.find("accepted");
    if (answers == nullptr || !answers->is_number_unsigned() || accepted == nullptr ||
        !accepted->is_number()) {
      return std::nullopt;
    }
    const RecoveryFigures::Point point{answers->get<uint64_t>(), accepted->get<double>()};
    if (!(point.accepted >= 0 && point.accepted <= 1)) return std::nullopt;
    if (!points.empty() && point.answers <= points.back().answers) return std::nullopt;
    points.push_back(point);
  }
  return points;
}

std::optional<RecoveryFigures::Interval> ReadInterval(const Json* json) {
  if (json == nullptr || !json->is_array() || json->size() != 2) return std::nullopt;
  const Json &lo = (*json)[0], &hi = (*json)[1];
  if (!lo.is_number() || !hi.is_number()) return std::nullopt;
  return RecoveryFigures::Interval{lo.get<double>(), hi.get<double>()};
}

}  // namespace

uint64_t RecoveryFigures::Allowed(const std::vector<Point>& points) const {
  const auto count = static_cast<double>(people);
  uint64_t allowed = 0;
  for (const Point& point : points) {
    if ((point.accepted * count + 1) / (count + 1) > kMaxRecovered) break;
    allowed = point.answers;
  }
  return allowed;
}

Json RecoveryFigures::ToJson() const {
  Json out = {{"fmr", kRecoveryFmr},
              {"most_accepted", kMaxRecovered},
              {"people", people},
              {"scores", heft::ToJson(scores)},
              {"decisions", heft::ToJson(decisions)},
              {"allowed_scores", AllowedScores()},
              {"allowed_decisions", AllowedDecisions()}};
  if (unanswered) {
    Json interval = Json::array();
    interval.push_back(unanswered->lo);
    interval.push_back(unanswered->hi);
    out["unanswered_interval"] = std::move(interval);
  }
  return out;
}

std::string RecoveryFigures::Describe() const {
  const auto after = [](const std::vector<Point>& points, uint64_t answers) {
    for (const Point& point : points) {
      if (point.answers == answers) return 100 * point.accepted;
    }
    return 0.0;
  };
  const double unknown = after(scores, 0);
  std::string text = absl::StrFormat(
      "guesses at templates are accepted at FMR %g by %.1f%% of them without any answer",
      kRecoveryFmr, unknown);
  if (unanswered) {
    absl::StrAppendFormat(&text, " (95%%: %.1f%% to %.1f%%)", 100 * unanswered->lo,
                          100 * unanswered->hi);
  }
  absl::StrAppendFormat(&text, ", after 1 score by %.1f%%, 4 scores %.1f%%, 16 decisions %.1f%%",
                        after(scores, 1), after(scores, 4), after(decisions, 16));
  absl::StrAppend(&text, ". Below 1%: ", AllowedScores(), " scores (the default budget), ",
                  AllowedDecisions(), " decisions");
  if (unknown > 100 * kMaxRecovered) {
    absl::StrAppend(&text,
                    "; no budget lowers the first share, a lower FMR or --against-wolves do");
  }
  return text;
}

std::optional<RecoveryFigures> FiguresOf(const Model& model) {
  return FiguresOf(Json::Parse(model.training_summary).value_or(Json()));
}

std::optional<RecoveryFigures> FiguresOf(const Json& summary) {
  const Json* found = summary.find("recovery");
  if (found == nullptr) return std::nullopt;
  const Json* people = found->find("people");
  if (people == nullptr || !people->is_number_unsigned()) return std::nullopt;
  auto scores = ReadPoints(found->find("scores"));
  auto decisions = ReadPoints(found->find("decisions"));
  if (!scores || !decisions) return std::nullopt;
  return RecoveryFigures{people->get<uint64_t>(), *std::move(scores), *std::move(decisions),
                         ReadInterval(found->find("unanswered_interval"))};
}

}  // namespace heft
