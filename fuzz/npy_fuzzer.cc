// SPDX-License-Identifier: Apache-2.0
// numpy's .npy (features/npy.cc). Accepted numbers, rounded to float's precision, come back through
// the writer.
#include "features/readers.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto matrix = heft::ParseNpy({data, size}, "input");
  if (!matrix.ok()) {
    heft::fuzz::CheckRefusal(matrix.status());
    return 0;
  }
  heft::fuzz::Check(matrix->size() > 0 && matrix->allFinite(), "numbers, all finite");
  heft::fuzz::Check(static_cast<size_t>(matrix->size()) * sizeof(float) <= size,
                    "no more numbers than bytes");
  const heft::FeatureMatrix rounded = matrix->cast<float>().cast<double>();
  if (!rounded.allFinite()) return 0;
  const auto again = heft::ParseNpy(heft::FormatNpy(rounded), "written");
  heft::fuzz::Check(again.ok() && *again == rounded, "what is written reads back");
  return 0;
}
