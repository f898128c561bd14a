// SPDX-License-Identifier: Apache-2.0
// The kinds of stores that need only this library.
#include "store/testing.h"

namespace heft::store_testing {

std::vector<StoreKind> StoreKinds() {
  return {
      {"Memory", [](const std::string&) { return MemoryStore(); }},
      {"Folder", [](const std::string& folder) { return *OpenStore(folder, StoreMode::kCreate); }}};
}

}  // namespace heft::store_testing
