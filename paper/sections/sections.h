// SPDX-License-Identifier: Apache-2.0
// The sections of `heft-paper reproduce`, one function each.
#ifndef HEFT_PAPER_SECTIONS_SECTIONS_H_
#define HEFT_PAPER_SECTIONS_SECTIONS_H_

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "paper/sections/content.h"
#include "paper/sections/study.h"

namespace heft::paper {

// Approximations in the clear.
absl::StatusOr<Section> Approximations(const Study& study);
absl::StatusOr<Section> ErrorAgainstDepth(const Study& study);

// Single stages under encryption.
absl::StatusOr<Section> Encodings(const Study& study);
absl::StatusOr<Section> Projections(const Study& study);
absl::StatusOr<Section> Normalisations(const Study& study);

// Costs.
absl::StatusOr<Section> OperationCounting(const Study& study);
absl::StatusOr<Section> Scaling(const Study& study);
absl::StatusOr<Section> Latency(const Study& study);

absl::StatusOr<Section> Protocols(const Study& study);

// Recognition.
absl::StatusOr<Section> Recognition(const Study& study);
absl::StatusOr<Section> GammaAblation(const Study& study);
absl::StatusOr<Section> Appendix(const Study& study);
absl::StatusOr<Section> Footnotes(const Study& study);

// SectionSpec: a section by the names that --only takes for it: first its own, then those of the
// tables and figures in it, as the paper numbers them.
struct SectionSpec {
  std::vector<std::string> names;
  absl::StatusOr<Section> (*make)(const Study&);
};
std::span<const SectionSpec> AllSections();

// ChooseSections: those that `only` (comma-separated names) asks for, in order; all where it is
// empty. kInvalidArgument lists the names that exist.
absl::StatusOr<std::vector<SectionSpec>> ChooseSections(const std::string& only);

}  // namespace heft::paper

#endif  // HEFT_PAPER_SECTIONS_SECTIONS_H_
