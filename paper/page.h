// SPDX-License-Identifier: Apache-2.0
// A reproduction as one self-contained page, and as JSON.
#ifndef HEFT_PAPER_PAGE_H_
#define HEFT_PAPER_PAGE_H_

#include <string>
#include <vector>

#include "base/human.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/status.h"
#include "paper/content.h"

namespace heft::paper {

struct Reproduction {
  std::string data_name, data_description;
  int samples = 0, identities = 0;
  std::vector<std::pair<std::string, int>> modalities;  // name, dimension
  bool quick = false;
  std::string command;  // that makes it again
  Json machine;
  std::vector<Section> sections;
  double seconds = 0;
};

Json ToJson(const Reproduction& reproduction);

// RunGnuplot's errors.
absl::StatusOr<std::string> MakePage(const Reproduction& reproduction);

// One cell of a column as people read it, in HTML.
std::string CellHtml(const Json& cell, Format format);

}  // namespace heft::paper

#endif  // HEFT_PAPER_PAGE_H_
