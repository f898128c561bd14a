// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "heft/files.h"
#include "heft/server.h"

namespace heft {

absl::StatusOr<LoadedKeys> LoadedKeys::Read(const std::string& path, const std::string& cache) {
  LoadedKeys keys;
  keys.path = path;
  const std::string name = path.substr(path.find_last_of('/') + 1);
  keys.expanded_path =
      absl::StrCat(cache.empty() ? path : absl::StrCat(cache, "/", name), ".expanded");
  auto expanded = ExpandedKeys::Open(keys.expanded_path, path);
  if (expanded.ok()) {
    keys.expanded = *std::move(expanded);
    return keys;
  }
  if (!absl::IsNotFound(expanded.status())) keys.why = expanded.status();
  HEFT_ASSIGN_OR_RETURN(keys.bytes, ReadFile(path, kMaxKeysSize));
  // Empty bytes would mean that there are no such keys.
  if (keys.bytes.empty()) return absl::DataLossError(absl::StrCat(path, ": the file is empty"));
  return keys;
}

absl::Status LoadedKeys::Expand(const Model& model) {
  HEFT_RETURN_IF_ERROR(ExpandedKeys::Make(model, path, expanded_path));
  HEFT_ASSIGN_OR_RETURN(expanded, ExpandedKeys::Open(expanded_path, path));
  return absl::OkStatus();
}

bool LoadedKeys::Mend(const Model& model, std::string* notice) {
  notice->clear();
  if (why.ok()) return false;
  const std::string flaw(why.message());
  if (!absl::IsDataLoss(why)) {
    *notice = absl::StrCat(flaw, "; the keys themselves are read");
    return false;
  }
  if (const absl::Status made = Expand(model); !made.ok()) {
    *notice = absl::StrCat(flaw, "; making it anew: ", std::string(made.message()),
                           "; the keys themselves are read");
    return false;
  }
  *notice = absl::StrCat(flaw, "; made anew");
  why = absl::OkStatus();
  return true;
}

}  // namespace heft
