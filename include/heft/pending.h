// SPDX-License-Identifier: Apache-2.0
// PendingUpTo: what waits in a gallery, in requests of bounded size. Link heft::server.
#ifndef HEFT_PENDING_H_
#define HEFT_PENDING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/gallery.h"
#include "heft/server.h"

namespace heft {

struct PendingLimit {
  uint64_t templates = 256;
  uint64_t bytes = uint64_t{64} << 20;
};
// PendingUpTo: as Server::Pending, of the enrolments that come first as long as they stay within
// the limit; one at least, however large. When the key owner's answer has been taken
// (Server::Admit), others come first.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> PendingUpTo(const Server& server,
                                                             const Gallery& gallery,
                                                             const PendingLimit& limit = {});

}  // namespace heft

#endif  // HEFT_PENDING_H_
