// SPDX-License-Identifier: Apache-2.0
// PendingUpTo: pending templates of a gallery, in requests of bounded size. Link heft::server.
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
// PendingUpTo: as Server::Pending, for the first enrolments within the limit; at least one, however
// large. Those with a name that another pending enrolment has come last. After Server::Admit of the
// answer, call it again for the next ones.
HEFT_EXPORT absl::StatusOr<std::vector<uint8_t>> PendingUpTo(const Server& server,
                                                             const Gallery& gallery,
                                                             const PendingLimit& limit = {});

}  // namespace heft

#endif  // HEFT_PENDING_H_
