// SPDX-License-Identifier: Apache-2.0
// Results as JSON: what the tools print with --json and the C interface gives, the same for both.
// Ids are hexadecimal. Link heft::server.
#ifndef HEFT_RESULTS_H_
#define HEFT_RESULTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/described.h"
#include "heft/export.h"
#include "heft/gallery_admin.h"
#include "heft/inspect.h"
#include "heft/json.h"
#include "heft/metadata.h"
#include "heft/model.h"
#include "heft/removal.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// WhereJson: an array of texts, as ParseCondition takes them.
HEFT_EXPORT Json WhereJson(std::span<const Condition> where);
// AddWhereTo: the same as "where" of an object, unless it is empty. RestrictionText: ", of those
// with site=berlin, age=18..30", or nothing.
HEFT_EXPORT void AddWhereTo(Json* json, std::span<const Condition> where);
HEFT_EXPORT std::string RestrictionText(std::span<const Condition> where);
// UtcText: Unix seconds as "2027-01-31T12:30:00Z".
HEFT_EXPORT std::string UtcText(uint64_t time);
// CopiedJson: name, gallery_id and generation.
HEFT_EXPORT Json CopiedJson(const CopiedGallery& copied);
// CopiesJson: an array of them.
HEFT_EXPORT Json CopiesJson(std::span<const CopiedGallery> copies);
// GalleryJson: all of it; "intact" and "noise_margin" are null where they are not known.
HEFT_EXPORT Json GalleryJson(const GalleryInfo& info);
// ModelJson: what a model is, without its coefficients; "sample_agreement" where it has one. Null
// are "calibration" of a table without one, and "parameters" and "security" of an unknown profile.
// Json::Parse's errors, of its training summary.
HEFT_EXPORT absl::StatusOr<Json> ModelJson(const Model& model);
HEFT_EXPORT Json PlanJson(const PlanInfo& plan);

// DescribeSigned: what a signed file says of itself, and whether it was held against a trust file.
HEFT_EXPORT Described DescribeSigned(const SignedFile& file, bool believed);

// What a change has done, by the names of the result's fields; ids of damaged blocks alone.
// Receipts and whether what was erased is overwritten are not in it: who prints says them in his
// own way.
// EnrolJson: "missing" only where templates lack a modality.
HEFT_EXPORT Json EnrolJson(const EnrolResult& done);
HEFT_EXPORT Json AdmitJson(const AdmitResult& done);
HEFT_EXPORT Json RemoveJson(const RemoveResult& done);
HEFT_EXPORT Json RenewJson(const RenewResult& done);
HEFT_EXPORT Json CompactJson(const CompactResult& done);
HEFT_EXPORT Json RestoreJson(const RestoreResult& done);
// VerifyJson: with "intact", without whether it could be recorded.
HEFT_EXPORT Json VerifyJson(const VerifyResult& found);

}  // namespace heft

#endif  // HEFT_RESULTS_H_
