// SPDX-License-Identifier: Apache-2.0
// Authorisation (kind AUTH, signed): a change that the registrar allows to an enrolled identity.
#ifndef HEFT_GALLERY_AUTHORISATION_H_
#define HEFT_GALLERY_AUTHORISATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

inline constexpr std::string_view kAuthorisationKind = "AUTH";

// SerializeAuthorisation: the bytes to sign. kInvalidArgument for an empty identity.
absl::StatusOr<std::vector<uint8_t>> SerializeAuthorisation(const GalleryId& gallery,
                                                            AuthorisedAct act,
                                                            const std::string& identity);

// CheckAuthorisation: OpenSigned's errors; kFailedPrecondition for another act, identity or
// gallery.
absl::Status CheckAuthorisation(ByteSpan bytes, const Trust& trust, AuthorisedAct act,
                                const GalleryId& gallery, const std::string& identity,
                                std::string_view what);
// CheckMayEnrol: the same for the two acts that let an enrolled identity get a template. Returns
// the act: kAdd, or kReplace, which removes the earlier templates.
absl::StatusOr<AuthorisedAct> CheckMayEnrol(ByteSpan bytes, const Trust& trust,
                                            const GalleryId& gallery, const std::string& identity,
                                            std::string_view what);

}  // namespace heft

#endif  // HEFT_GALLERY_AUTHORISATION_H_
