// SPDX-License-Identifier: Apache-2.0
// Names numbered in the order in which they come.
#ifndef HEFT_EVALUATION_NAME_TABLE_H_
#define HEFT_EVALUATION_NAME_TABLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"

namespace heft {

class NameTable {
 public:
  std::optional<uint32_t> Find(absl::string_view name) const {
    const auto found = numbers_.find(std::string_view(name.data(), name.size()));
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
  }
  // Add: the name's number, a new one where it is new.
  uint32_t Add(absl::string_view name) {
    return numbers_.try_emplace(std::string(name), static_cast<uint32_t>(numbers_.size()))
        .first->second;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> out(numbers_.size());
    for (const auto& [name, number] : numbers_) out[number] = name;
    return out;
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace heft

#endif  // HEFT_EVALUATION_NAME_TABLE_H_
