// SPDX-License-Identifier: Apache-2.0
// Results as JSON, the same for the tools' option --json and the C interface. Ids are hexadecimal.
// Link heft::server.
#ifndef HEFT_RESULTS_H_
#define HEFT_RESULTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/files.h"
#include "heft/gallery.h"
#include "heft/gallery_admin.h"
#include "heft/inspect.h"
#include "heft/model.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft {

// WhereJson: an array of texts in the form of ParseCondition.
HEFT_EXPORT Json WhereJson(std::span<const Condition> where);
// AddWhereTo: adds that array as member "where", unless it is empty. RestrictionText: ", of those
// with site=berlin, age=18..30", or nothing.
HEFT_EXPORT void AddWhereTo(Json* json, std::span<const Condition> where);
HEFT_EXPORT std::string RestrictionText(std::span<const Condition> where);
// UtcText: Unix seconds as "2027-01-31T12:30:00Z".
HEFT_EXPORT std::string UtcText(uint64_t time);
// CopiedJson: name, gallery_id and generation.
HEFT_EXPORT Json CopiedJson(const CopiedGallery& copied);
// CopiesJson: an array of CopiedJson.
HEFT_EXPORT Json CopiesJson(std::span<const CopiedGallery> copies);
// GalleryJson: all fields; "intact" and "noise_margin" are null if unknown.
HEFT_EXPORT Json GalleryJson(const GalleryInfo& info);
// ListedJson: all fields; "metadata" is {key: [values]}. A pending template has identity and state
// alone.
HEFT_EXPORT Json ListedJson(const ListedTemplate& listed);
// ModelJson: a model without its coefficients; "sample_agreement" only if it has one. Null values:
// "calibration" of a table without one, "parameters" and "security" of an unknown profile. Errors
// of Json::Parse for the training summary.
HEFT_EXPORT absl::StatusOr<Json> ModelJson(const Model& model);
HEFT_EXPORT Json PlanJson(const PlanInfo& plan);

// DescribeSigned: the statement of a signed file. `believed`: whether a trust file was used.
HEFT_EXPORT Described DescribeSigned(const SignedFile& file, bool believed);

// PendingJson: an array of pending enrolments: entry, client (empty: not signed), bytes,
// identities.
HEFT_EXPORT Json PendingJson(std::span<const PendingEnrolment> pending);

// Results of changes, by the names of their fields, with only the ids of damaged blocks. They omit
// receipts and the outcome of overwriting, which each program shows in its own form.
//
// EnrolJson: "missing" only if templates lack a modality.
HEFT_EXPORT Json EnrolJson(const EnrolResult& done);
HEFT_EXPORT Json AdmitJson(const AdmitResult& done);
HEFT_EXPORT Json RemoveJson(const RemoveResult& done);
HEFT_EXPORT Json RenewJson(const RenewResult& done);
HEFT_EXPORT Json CompactJson(const CompactResult& done);
HEFT_EXPORT Json RestoreJson(const RestoreResult& done);
// VerifyJson: with "intact", without the outcome of recording.
HEFT_EXPORT Json VerifyJson(const VerifyResult& found);

}  // namespace heft

#endif  // HEFT_RESULTS_H_
