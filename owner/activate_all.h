// SPDX-License-Identifier: Apache-2.0
// ActivateAll: for tests and benchmarks, all pending enrolments of a gallery, by way of both
// roles.
#ifndef HEFT_OWNER_ACTIVATE_ALL_H_
#define HEFT_OWNER_ACTIVATE_ALL_H_

#include <string>
#include <utility>
#include <vector>

#include "heft/gallery.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft::testing {

// `why`: if it is given and a person is rejected, the first rejected person and the reason.
inline absl::StatusOr<ActivateResult> ActivateAll(const Server& server, const KeyOwner& owner,
                                            const std::string& folder, std::string* why = nullptr) {
  absl::StatusOr<std::vector<uint8_t>> request;
  {  // a reader would delay the overwriting of rejected templates
    const auto gallery = Gallery::Open(folder);
    if (!gallery.ok()) return gallery.status();
    request = server.Pending(*gallery);
  }
  if (!request.ok()) return request.status();
  const auto admissions = owner.Approve(*request, "pending");
  if (!admissions.ok()) return admissions.status();
  for (const auto& verdict : admissions->verdicts) {
    if (why == nullptr || verdict.approved) continue;
    *why = verdict.identity + ": " + verdict.reason;
    break;
  }
  const auto signer = owner.Signer();
  if (!signer.ok()) return signer.status();
  return server.Activate(folder, admissions->signed_admission, "admission", signer->public_key());
}

// EnrolNow: brought and approved at once; an error where one of them is rejected.
inline absl::StatusOr<ActivateResult> EnrolNow(const Server& server, const KeyOwner& owner,
                                            const std::string& folder,
                                            std::vector<SampleFile> files,
                                            const EnrolOptions& options = {}) {
  const auto brought = server.Enrol(folder, std::move(files), options);
  if (!brought.ok()) return brought.status();
  std::string why;
  auto approved = ActivateAll(server, owner, folder, &why);
  if (approved.ok() && approved->rejected > 0) return absl::InternalError("rejected: " + why);
  return approved;
}

}  // namespace heft::testing

#endif  // HEFT_OWNER_ACTIVATE_ALL_H_
