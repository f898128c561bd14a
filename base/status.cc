// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include "absl/strings/cord.h"

namespace heft {

namespace {
constexpr char kMark[] = "heft/of-store";
}  // namespace

absl::Status OfStore(absl::Status status) {
  if (absl::IsDataLoss(status)) status.SetPayload(kMark, absl::Cord());
  return status;
}

bool IsOfStore(const absl::Status& status) { return status.GetPayload(kMark).has_value(); }

}  // namespace heft
