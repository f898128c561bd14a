// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "learning/train.h"

namespace heft {
namespace {

constexpr const char* kKind = "heft training checkpoint 2";

Json MatrixToJson(const FeatureMatrix& matrix) {
  return {{"columns", matrix.cols()},
          {"rows", matrix.rows()},
          {"values", std::vector<double>(matrix.data(), matrix.data() + matrix.size())}};
}

bool ReadInteger(const Json& json, const char* key, int64_t& value) {
  const auto found = json.find(key);
  if (found == nullptr || !found->is_number_integer()) return false;
  value = found->get<int64_t>();
  return value >= 0 && value <= INT32_MAX;
}

bool ReadNumbers(const Json& json, const char* key, std::vector<double>& values) {
  const auto found = json.find(key);
  if (found == nullptr || !found->is_array()) return false;
  for (const Json& value : *found) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) return false;
    values.push_back(value.get<double>());
  }
  return true;
}

bool ReadMatrix(const Json& json, const char* key, FeatureMatrix& matrix) {
  const auto found = json.find(key);
  int64_t rows = 0, columns = 0;
  std::vector<double> values;
  if (found == nullptr || !found->is_object() || !ReadInteger(*found, "rows", rows) ||
      !ReadInteger(*found, "columns", columns) || !ReadNumbers(*found, "values", values) ||
      rows * columns != static_cast<int64_t>(values.size())) {
    return false;
  }
  matrix = Eigen::Map<const FeatureMatrix>(values.data(), rows, columns);
  return true;
}

bool SameShape(const FeatureMatrix& a, const FeatureMatrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols();
}

}  // namespace

std::string FormatCheckpoint(const TrainCheckpoint& checkpoint) {
  // In alphabetical order.
  const Json json = {{"adam_mean", MatrixToJson(checkpoint.adam.mean)},
                     {"adam_square", MatrixToJson(checkpoint.adam.square)},
                     {"adam_step", checkpoint.adam.step},
                     {"best", MatrixToJson(checkpoint.best)},
                     {"best_auroc", checkpoint.best_auroc},
                     {"best_epoch", checkpoint.best_epoch},
                     {"best_fnmr", checkpoint.best_fnmr},
                     {"epoch", checkpoint.epoch},
                     {"kind", kKind},
                     {"modality_weights", checkpoint.modality_weights},
                     {"options", checkpoint.options},
                     {"projection", MatrixToJson(checkpoint.projection)}};
  return json.dump();  // Doubles are written so that they read back exactly.
}

absl::StatusOr<TrainCheckpoint> ParseCheckpoint(std::string_view text) {
  const Json json = Json::Parse(text).value_or(Json());
  const absl::Status bad = absl::DataLossError(
      "not a training checkpoint, or a damaged one; train again from the start");
  if (!json.is_object() || !(json["kind"] == kKind)) return bad;
  TrainCheckpoint checkpoint;
  int64_t epoch = 0, best_epoch = 0;
  const auto auroc = json.find("best_auroc");
  const auto fnmr = json.find("best_fnmr");
  const auto options = json.find("options");
  if (auroc == nullptr || !auroc->is_number() || fnmr == nullptr || !fnmr->is_number() ||
      options == nullptr || !ReadInteger(json, "epoch", epoch) ||
      !ReadInteger(json, "best_epoch", best_epoch) ||
      !ReadInteger(json, "adam_step", checkpoint.adam.step) ||
      !ReadMatrix(json, "projection", checkpoint.projection) ||
      !ReadMatrix(json, "best", checkpoint.best) ||
      !ReadMatrix(json, "adam_mean", checkpoint.adam.mean) ||
      !ReadMatrix(json, "adam_square", checkpoint.adam.square) ||
      !ReadNumbers(json, "modality_weights", checkpoint.modality_weights)) {
    return bad;
  }
  const FeatureMatrix& projection = checkpoint.projection;
  if (epoch < 1 || best_epoch > epoch || checkpoint.adam.step != epoch ||
      !SameShape(projection, checkpoint.best) || !SameShape(projection, checkpoint.adam.mean) ||
      !SameShape(projection, checkpoint.adam.square)) {
    return bad;
  }
  checkpoint.options = *options;
  checkpoint.epoch = static_cast<int>(epoch);
  checkpoint.best_epoch = static_cast<int>(best_epoch);
  checkpoint.best_auroc = auroc->get<double>();
  checkpoint.best_fnmr = fnmr->get<double>();
  return checkpoint;
}

}  // namespace heft
