// SPDX-License-Identifier: Apache-2.0
#include "fusion/recovery_figures.h"

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

}  // namespace

uint64_t RecoveryFigures::Allowed(const std::vector<Point>& points) const {
  const auto count = static_cast<double>(people);
  uint64_t allowed = 0;
  for (const Point& point : points) {
    if ((point.accepted * count + 1) / (count + 1) > kMostRecovered) break;
    allowed = point.answers;
  }
  return allowed;
}

Json RecoveryFigures::ToJson() const {
  return {{"fmr", kRecoveryFmr},
          {"most_accepted", kMostRecovered},
          {"people", people},
          {"scores", heft::ToJson(scores)},
          {"decisions", heft::ToJson(decisions)},
          {"allowed_scores", AllowedScores()},
          {"allowed_decisions", AllowedDecisions()}};
}

std::optional<RecoveryFigures> FiguresOf(const Model& model) {
  const Json summary = Json::Parse(model.training_summary).value_or(Json());
  const Json* found = summary.find("recovery");
  if (found == nullptr) return std::nullopt;
  const Json* people = found->find("people");
  if (people == nullptr || !people->is_number_unsigned()) return std::nullopt;
  auto scores = ReadPoints(found->find("scores"));
  auto decisions = ReadPoints(found->find("decisions"));
  if (!scores || !decisions) return std::nullopt;
  return RecoveryFigures{people->get<uint64_t>(), *std::move(scores), *std::move(decisions)};
}

}  // namespace heft
