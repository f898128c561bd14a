// SPDX-License-Identifier: Apache-2.0
// Results as JSON: what the tools print with --json and the C interface gives, the same for both.
// Ids are hexadecimal. Link heft::server.
#ifndef HEFT_RESULTS_H_
#define HEFT_RESULTS_H_

#include <span>
#include <vector>

#include "heft/export.h"
#include "heft/gallery_admin.h"
#include "heft/json.h"
#include "heft/metadata.h"

namespace heft {

// WhereJson: an array of texts, as ParseCondition takes them.
HEFT_EXPORT Json WhereJson(std::span<const Condition> where);
// CopiedJson: name, gallery_id and generation.
HEFT_EXPORT Json CopiedJson(const CopiedGallery& copied);
// CopiesJson: an array of them.
HEFT_EXPORT Json CopiesJson(std::span<const CopiedGallery> copies);
// GalleryJson: all of it; "intact" and "noise_margin" are null where they are not known.
HEFT_EXPORT Json GalleryJson(const GalleryInfo& info);

}  // namespace heft

#endif  // HEFT_RESULTS_H_
