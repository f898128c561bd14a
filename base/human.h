// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.
#ifndef HEFT_BASE_HUMAN_H_
#define HEFT_BASE_HUMAN_H_

#include <string>

namespace heft {

// HumanBytes: "1.5 MB", in powers of ten.
std::string HumanBytes(double bytes);

}  // namespace heft

#endif  // HEFT_BASE_HUMAN_H_
