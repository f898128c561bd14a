// SPDX-License-Identifier: Apache-2.0
#ifndef HEFT_CLI_MACHINE_H_
#define HEFT_CLI_MACHINE_H_

#include "cli/common.h"

namespace heft::cli {

// What measurements were made on: processor, threads, instruction set, compiler, build.
Json Machine();

}  // namespace heft::cli

#endif  // HEFT_CLI_MACHINE_H_
