// SPDX-License-Identifier: Apache-2.0
// NoteInput: a file that this process reads without ReadFile. Outputs must not replace it
// (GuardInputs, heft/files.h).
#ifndef HEFT_BASE_USED_FILES_H_
#define HEFT_BASE_USED_FILES_H_

#include <string>

namespace heft {

void NoteInput(const std::string& path);

}  // namespace heft

#endif  // HEFT_BASE_USED_FILES_H_
