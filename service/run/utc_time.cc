// SPDX-License-Identifier: Apache-2.0
#include "service/run/utc_time.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace heft::service {

std::string UtcNow() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
}

}  // namespace heft::service
