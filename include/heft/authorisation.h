// SPDX-License-Identifier: Apache-2.0
// Checking a registrar's permission (Authorise, heft/server.h) before a change. Link heft::server.
#ifndef HEFT_AUTHORISATION_H_
#define HEFT_AUTHORISATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/export.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// ParseAuthorisedAct: reads "add", "replace" or "remove". kInvalidArgument lists them.
HEFT_EXPORT absl::StatusOr<AuthorisedAct> ParseAuthorisedAct(std::string_view name);

// CheckAuthorised: whether a registrar that `trust` lists permitted this act for this identity in
// this gallery (Authorise). OpenSigned's errors; kFailedPrecondition for another act, gallery or
// identity.
HEFT_EXPORT absl::Status CheckAuthorised(std::span<const uint8_t> authorisation, const Trust& trust,
                                         AuthorisedAct act, const GalleryId& gallery,
                                         const std::string& identity);

}  // namespace heft

#endif  // HEFT_AUTHORISATION_H_
