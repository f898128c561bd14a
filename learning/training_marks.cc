// SPDX-License-Identifier: Apache-2.0
#include "learning/training_marks.h"

#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace heft {
namespace {

constexpr size_t kMarkBytes = 8;

// Mark: of a modality's vector, as float32: the precision in which data folders hold it.
std::string Mark(const Modality& modality, int row) {
  ByteWriter writer;
  writer.String(modality.name);
  for (double value : modality.features.row(row)) {
    const auto rounded = static_cast<float>(value);
    writer.Raw(ByteSpan(reinterpret_cast<const uint8_t*>(&rounded), sizeof(rounded)));
  }
  return HexString(ByteSpan(HashBytes(writer.bytes())).first(kMarkBytes));
}

}  // namespace

Json TrainingMarks(const Dataset& dataset) {
  std::set<std::string> smallest, tested;
  const auto add = [&](const Modality& modality, int row) {
    smallest.insert(Mark(modality, row));
    if (smallest.size() > kTrainingMarks) smallest.erase(std::prev(smallest.end()));
  };
  for (int row = 0; row < dataset.Rows(); ++row) {
    if (dataset.split[row] == Split::kTest) {
      tested.insert(dataset.labels[row]);
      continue;
    }
    for (const Modality& modality : dataset.modalities) add(modality, row);
  }
  for (const UnpairedModality& unpaired : dataset.unpaired) {
    for (size_t row = 0; row < unpaired.labels.size(); ++row) {
      if (!tested.contains(unpaired.labels[row])) add(unpaired.modality, static_cast<int>(row));
    }
  }
  return std::vector<std::string>(smallest.begin(), smallest.end());
}

size_t CountMarked(const Json& marks, const Dataset& dataset) {
  if (marks.empty()) return 0;
  std::set<std::string> wanted;
  for (const Json& mark : marks.elements()) wanted.insert(mark.get<std::string>());
  const size_t all = wanted.size();
  for (const Modality& modality : dataset.modalities) {
    for (int row = 0; row < dataset.Rows(); ++row) wanted.erase(Mark(modality, row));
  }
  return all - wanted.size();
}

}  // namespace heft
