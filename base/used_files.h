// SPDX-License-Identifier: Apache-2.0
// NoteInput: a file that this process uses otherwise than by ReadFile: no output is written over it
// (GuardInputs, heft/files.h).
#ifndef HEFT_BASE_USED_FILES_H_
#define HEFT_BASE_USED_FILES_H_

#include <string>

namespace heft {

void NoteInput(const std::string& path);

}  // namespace heft

#endif  // HEFT_BASE_USED_FILES_H_
