// SPDX-License-Identifier: Apache-2.0
#include "tests/workplace.h"

namespace heft::e2e {

const char* const kHeft = HEFT_PROGRAM;
const char* const kServer = HEFT_SERVER_PROGRAM;
const char* const kSeal = HEFT_SEAL_PROGRAM;
const char* const kHeftPaper = HEFT_PAPER_PROGRAM;

}  // namespace heft::e2e
