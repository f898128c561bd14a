// SPDX-License-Identifier: Apache-2.0
// Options that calls for a gallery and for one in buckets have in common.
#ifndef HEFT_C_GALLERY_OPTIONS_H_
#define HEFT_C_GALLERY_OPTIONS_H_

#include "absl/status/statusor.h"
#include "c/options.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"

namespace heft::c {

// ReadRetained: "retention_seconds", "retention_bytes".
absl::StatusOr<Retained> ReadRetained(const heft_options* options);
// ReadEnrolOptions: of heft_matcher_enrol.
absl::StatusOr<EnrolOptions> ReadEnrolOptions(const heft_options* options);
// DeskOf: `trust` may be null.
inline Desk DeskOf(const heft_matcher* matcher, const heft_trust* trust) {
  return {matcher->server, trust == nullptr ? nullptr : &trust->trust, SignerKey{}};
}

}  // namespace heft::c

#endif  // HEFT_C_GALLERY_OPTIONS_H_
