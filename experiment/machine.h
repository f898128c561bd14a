// SPDX-License-Identifier: Apache-2.0
#ifndef HEFT_EXPERIMENT_MACHINE_H_
#define HEFT_EXPERIMENT_MACHINE_H_

#include "base/progress.h"
#include "heft/json.h"

namespace heft::experiment {

// What measurements were made on: processor, threads, instruction set, compiler, build.
Json Machine();

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_MACHINE_H_
