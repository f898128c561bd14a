// SPDX-License-Identifier: Apache-2.0
// A reproduction as one self-contained page, and as JSON.
#ifndef HEFT_PAPER_PAGE_H_
#define HEFT_PAPER_PAGE_H_

#include <string>

#include "base/status.h"
#include "heft/json.h"
#include "paper/reproduce.h"

namespace heft::paper {

// ToJson: everything in it, for programs.
Json ToJson(const Reproduction& reproduction);

// MakePage: RunGnuplot's errors.
absl::StatusOr<std::string> MakePage(const Reproduction& reproduction);

}  // namespace heft::paper

#endif  // HEFT_PAPER_PAGE_H_
