// SPDX-License-Identifier: Apache-2.0
// heft-paper's subcommands, one file each.
#ifndef HEFT_PAPER_PROGRAM_COMMANDS_H_
#define HEFT_PAPER_PROGRAM_COMMANDS_H_

#include "program/flags.h"

namespace heft::cli {

void AddCounts(Command app);
void AddReproduce(Command app);

}  // namespace heft::cli

#endif  // HEFT_PAPER_PROGRAM_COMMANDS_H_
