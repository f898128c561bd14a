// SPDX-License-Identifier: Apache-2.0
// Other people's protocols: lists of who is enrolled, who probes and who is compared, in the two
// forms that bob.bio.base reads.
//
//     GROUP/for_enrolling.csv  path,template_id,subject_id; rows of a template_id: a reference
//     GROUP/for_probing.csv    the same; rows of a template_id: a probe
//     GROUP/for_matching.csv   enroll_template_id,probe_template_id; without it all with all
// or
//     GROUP/for_models.lst     path model_id client_id; rows of a model_id: a reference
//     GROUP/for_probes.lst     path client_id; each line: a probe, for all references
//     GROUP/for_scores.lst     path model_id claimed_client_id client_id; each line: a comparison
//
// for_scores.lst comes instead of for_probes.lst. GROUP is dev, and eval or test, which may be
// missing. Further columns of the first form are passed over; without a subject_id the template is
// the subject. A path names a row of the data by its names.txt, with or without the file's
// extension.
#ifndef HEFT_EXPERIMENT_PROTOCOL_H_
#define HEFT_EXPERIMENT_PROTOCOL_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace heft::experiment {

// ProtocolEntry: a reference or a probe, of one row or several.
struct ProtocolEntry {
  std::string id, subject;
  std::vector<int> rows;
};

struct ProtocolGroup {
  std::string name;
  std::vector<ProtocolEntry> references, probes;
  // Of probe and reference; all of them where the lists choose none.
  std::vector<std::pair<size_t, size_t>> comparisons;
  bool all = true;
};

struct Protocol {
  ProtocolGroup dev;
  std::optional<ProtocolGroup> eval;
};

// RowNames: rows by their names, of the lines of names.txt. kInvalidArgument for a name twice, or
// another number of names than rows.
using RowNames = std::map<std::string, int, std::less<>>;
absl::StatusOr<RowNames> ReadRowNames(const std::string& path, int rows);

// ReadProtocol: kNotFound where a list is missing. kInvalidArgument with file and line for a path
// of no row, an unknown reference, two subjects of one id, or a line that cannot be read.
absl::StatusOr<Protocol> ReadProtocol(const std::string& folder, const RowNames& names);

}  // namespace heft::experiment

#endif  // HEFT_EXPERIMENT_PROTOCOL_H_
