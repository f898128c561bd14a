// SPDX-License-Identifier: Apache-2.0
// Training checkpoints (learning/checkpoint.cc).
#include "fuzz/fuzz.h"
#include "learning/train.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto checkpoint = heft::ParseCheckpoint(text);
  if (!checkpoint.ok()) {
    heft::fuzz::CheckRefusal(checkpoint.status());
    return 0;
  }
  heft::fuzz::Check(checkpoint->epoch >= 1 && checkpoint->best_epoch <= checkpoint->epoch,
                    "epochs are in order");
  heft::fuzz::Check(checkpoint->projection.allFinite() && checkpoint->adam.mean.allFinite(),
                    "numbers, all finite");
  const std::string written = heft::FormatCheckpoint(*checkpoint);
  const auto again = heft::ParseCheckpoint(written);
  heft::fuzz::Check(again.ok() && heft::FormatCheckpoint(*again) == written,
                    "what is written reads back");
  return 0;
}
