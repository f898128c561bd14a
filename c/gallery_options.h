// SPDX-License-Identifier: Apache-2.0
// Options that calls for a gallery and for one in buckets have in common.
#ifndef HEFT_C_GALLERY_OPTIONS_H_
#define HEFT_C_GALLERY_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "c/options.h"
#include "heft/desk.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"

namespace heft::c {

// ReadRetained: "retention_seconds", "retention_bytes".
absl::StatusOr<Retained> ReadRetained(const heft_options* options);
// ReadEnrolOptions: of heft_matcher_enrol.
absl::StatusOr<EnrolOptions> ReadEnrolOptions(const heft_options* options);
// ConditionsOf: of texts, each in the form of ParseCondition or as JSON (heft/c/gallery.h).
absl::StatusOr<std::vector<Condition>> ConditionsOf(const std::vector<std::string>& texts);
// DeskOf: `trust` may be null. Replies and requests are for the signer of the matcher's keys.
inline Desk DeskOf(const heft_matcher* matcher, const heft_trust* trust) {
  return {matcher->server, trust == nullptr ? nullptr : &trust->trust, matcher->key_owner};
}
// At: that desk takes the newest state of this gallery, and its key.
Desk At(const heft_gallery* gallery, Desk desk);

}  // namespace heft::c

#endif  // HEFT_C_GALLERY_OPTIONS_H_
