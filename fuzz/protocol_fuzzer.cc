// SPDX-License-Identifier: Apache-2.0
// Protocols (experiment/protocol.cc): the input is cut at bytes of 1 into the lists of a group,
// which are read in both forms; and as the names of rows.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "experiment/protocol.h"
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"

namespace {

using heft::experiment::ProtocolGroup;

void CheckGroup(const ProtocolGroup& group, int rows) {
  heft::fuzz::Check(!group.references.empty() && !group.probes.empty(), "somebody of both kinds");
  for (const auto* entries : {&group.references, &group.probes}) {
    for (const auto& entry : *entries) {
      heft::fuzz::Check(!entry.rows.empty(), "nobody without a sample");
      for (int row : entry.rows) heft::fuzz::Check(row >= 0 && row < rows, "rows of the data");
    }
  }
  for (const auto& [probe, reference] : group.comparisons) {
    heft::fuzz::Check(probe < group.probes.size() && reference < group.references.size(),
                      "comparisons of what is there");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const heft::fuzz::Folder folder;
  if (size > 4096) return 0;  // all probes meet all references
  std::vector<heft::ByteSpan> parts;
  for (size_t start = 0, i = 0; i <= size; ++i) {
    if (i < size && data[i] != 1) continue;
    parts.push_back({data + start, i - start});
    start = i + 1;
  }
  folder.Write("names.txt", {data, size});
  const auto names = heft::experiment::ReadRowNames(folder.path() + "/names.txt", 3);
  if (!names.ok()) heft::fuzz::CheckRefusal(names.status());
  const heft::experiment::RowNames rows = {{"a", 0}, {"b", 1}, {"c/d", 2}};
  for (const std::vector<const char*>& form :
       {std::vector<const char*>{"for_enrolling.csv", "for_probing.csv", "for_matching.csv"},
        {"for_models.lst", "for_probes.lst"},
        {"for_models.lst", "for_scores.lst"}}) {
    std::filesystem::remove_all(folder.path() + "/dev");
    std::filesystem::create_directories(folder.path() + "/dev");
    for (size_t k = 0; k < std::min(form.size(), parts.size()); ++k) {
      folder.Write(std::string("dev/") + form[k], parts[k]);
    }
    const auto protocol = heft::experiment::ReadProtocol(folder.path(), rows);
    if (protocol.ok()) {
      CheckGroup(protocol->dev, 3);
    } else if (!absl::IsNotFound(protocol.status())) {  // a list that was not written
      heft::fuzz::CheckRefusal(protocol.status());
    }
  }
  return 0;
}
