// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace heft::internal {

void ContractBroken(const char* file, int line, const char* condition, const char* contract) {
  std::fprintf(stderr, "%s:%d: contract broken: %s (%s)\n", file, line, contract, condition);
  std::abort();
}

}  // namespace heft::internal
