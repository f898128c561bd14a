// SPDX-License-Identifier: Apache-2.0
// New identities that several pending enrolments have. Anybody can bring any new name, so a pending
// enrolment reserves none, and the order of arrival proves nothing. This is the only place that
// decides which of them gets the name:
//
// - A template that is unsound or rejected has no claim.
// - A claim with a registrar's authorisation for the name is granted.
// - Without one, the only claim is granted. If a person has chosen enrolments by entry, only the
//   chosen ones count; otherwise all pending ones do, in the request or not.
//
// An enrolment with a claim that is not granted waits as a whole. When the name is enrolled, the
// others of that name need a registrar's authorisation like any further template.
#ifndef HEFT_OWNER_CONTESTED_H_
#define HEFT_OWNER_CONTESTED_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gallery/admission.h"
#include "heft/key_owner.h"
#include "owner/rejections.h"

namespace heft {

// ExaminedEnrolment: an enrolment that is about to be decided.
struct ExaminedEnrolment {
  const EnrolmentCheck* check = nullptr;
  std::vector<Finding> findings;  // one a template
  bool waits = false;             // set by SettleClaims
};

// ClaimRules: how to judge claims of one request.
struct ClaimRules {
  bool chosen = false;  // a person chose these enrolments by entry
  // Whether a registrar has authorised the enrolment to have this identity.
  std::function<bool(const EnrolmentCheck&, const std::string& identity)> authorised;
  std::function<std::string(const SignerKey& client)> name;  // Admissions::Claim::client
};

// SettleClaims: sets `waits` of the enrolments, and returns the contested identities without a
// granted claim, in alphabetical order.
std::vector<Admissions::Contested> SettleClaims(const AdmissionRequest& request,
                                                const ClaimRules& rules,
                                                std::span<ExaminedEnrolment> examined);

}  // namespace heft

#endif  // HEFT_OWNER_CONTESTED_H_
