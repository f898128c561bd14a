// SPDX-License-Identifier: Apache-2.0
// What the calls of a shared key have in common.
#ifndef HEFT_C_OWNER_PARTS_H_
#define HEFT_C_OWNER_PARTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "c/options.h"
#include "c/owner/handles.h"

namespace heft::c {

// OwnersAnd: reads the option "owners", and is for the others.
OptionReader OwnersAnd(const heft_options* options, OwnerSet* owners);

// ReplyFilesOf: views of the files.
std::vector<ReplyFile> ReplyFilesOf(const heft_files* files);
// GivenParts: views of the other owners' parts; none if `parts` is NULL.
absl::StatusOr<std::vector<ReplyFile>> GivenParts(const heft_files* parts);

}  // namespace heft::c

#endif  // HEFT_C_OWNER_PARTS_H_
