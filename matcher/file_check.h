// SPDX-License-Identifier: Apache-2.0
// CheckFile: checks bytes of a declared kind with the server's own readers. It is for programs that
// store files before the server needs them, as a column of a database does.
#ifndef HEFT_MATCHER_FILE_CHECK_H_
#define HEFT_MATCHER_FILE_CHECK_H_

#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace heft {

// FileRole: the use of a file at a server.
enum class FileRole {
  kSample,     // enrols, in any encoding
  kTemplate,   // fused by its client
  kProbe,      // identifies
  kReply,      // signed by a server
  kModel,      // signed or not
  kKeys,       // a server's
  kRequest,    // to approve or to renew
  kAdmission,  // signed or not
};

// CheckFile: kDataLoss for bytes that are no such file, kFailedPrecondition for parameters of no
// profile; `what` names the file in errors. For any thread.
absl::Status CheckFile(FileRole role, ByteSpan bytes, std::string_view what);

}  // namespace heft

#endif  // HEFT_MATCHER_FILE_CHECK_H_
