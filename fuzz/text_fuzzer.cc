// SPDX-License-Identifier: Apache-2.0
// Text (features/text.cc): the same bytes as rows of numbers, as labels, and as names of splits.
#include "base/identity.h"
#include "features/readers.h"
#include "features/split.h"
#include "fuzz/fuzz.h"

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
