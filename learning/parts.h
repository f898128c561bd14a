// SPDX-License-Identifier: Apache-2.0
// Dealing people into parts. Each part is judged by a system learned from the others.
#ifndef HEFT_LEARNING_PARTS_H_
#define HEFT_LEARNING_PARTS_H_

#include <span>
#include <vector>

#include "features/random.h"

namespace heft {

// DealPeople: the part (0 to parts - 1) of each identity 0, 1, ... that `identities` names, one
// entry a sample. Parts are of equal size up to one. So are their numbers of people with a second
// sample: without such people nothing can be measured.
std::vector<int> DealPeople(std::span<const int> identities, int parts, Random& random);

}  // namespace heft

#endif  // HEFT_LEARNING_PARTS_H_
