// SPDX-License-Identifier: Apache-2.0
// Text (features/text.cc): the same bytes as rows of numbers, as labels, and as names of splits;
// its lines as conditions and pairs of metadata too (base/metadata.cc).
#include "base/identity.h"
#include "features/readers.h"
#include "features/split.h"
#include "fuzz/fuzz.h"
#include "heft/gallery.h"

namespace heft::fuzz {
namespace {

void ReadMetadata(std::string_view line) {
  const auto condition = ParseCondition(line);
  if (condition.ok()) {
    Check(CheckConditions({&*condition, 1}).ok(), "a condition is sound");
    const auto again = ParseCondition(ConditionText(*condition));
    Check(again.ok() && *again == *condition, "a condition is its text");
  } else {
    CheckRefusal(condition.status());
  }
  const auto pair = ParseMetadataPair(line);
  if (!pair.ok()) return CheckRefusal(pair.status());
  Check(CheckMetadata({*pair}).ok(), "a pair is sound");
  // Metadata with exactly the value of a condition fits it.
  if (condition.ok() && condition->values.size() == 1) {
    Check(Fits({*pair}, {&*condition, 1}), "a value fits itself");
  }
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rows = heft::ParseTextRows(text, "input");
  if (rows.ok()) {
    heft::fuzz::Check(rows->size() > 0 && rows->allFinite(), "numbers, all finite");
    heft::fuzz::Check(static_cast<size_t>(rows->size()) <= size, "no more numbers than bytes");
  } else {
    heft::fuzz::CheckRefusal(rows.status());
  }
  const auto labels = heft::ParseLabels(text, "input");
  if (!labels.ok()) {
    heft::fuzz::CheckRefusal(labels.status());
    return 0;
  }
  for (const std::string& label : *labels) {
    heft::fuzz::ReadMetadata(label);
    heft::fuzz::Check(heft::CheckIdentity(label).ok(), "a label may be an identity");
    const auto split = heft::ParseSplit(label);
    if (split.ok()) {
      heft::fuzz::Check(heft::SplitName(*split) == label, "a split is its name");
    } else {
      heft::fuzz::CheckRefusal(split.status());
    }
  }
  return 0;
}
