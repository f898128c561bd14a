// SPDX-License-Identifier: Apache-2.0
// Parts of results (heft/c/base.h) that several calls have in common.
#ifndef HEFT_C_RESULT_H_
#define HEFT_C_RESULT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heft/decisions.h"
#include "heft/files.h"
#include "heft/gallery_admin.h"
#include "heft/server.h"
#include "heft/trust.h"

namespace heft::c {

std::string Hex(std::span<const uint8_t> bytes);
// HexList: an array of ids or of files.
template <typename Bytes>
Json HexList(const std::vector<Bytes>& list) {
  Json json = Json::array();
  for (const auto& bytes : list) json.push_back(Hex(bytes));
  return json;
}

Json ThresholdJson(const ChosenThreshold& threshold);
Json DamagedJson(const std::vector<DamagedBlock>& damaged);

// Why: the error of an "overwritten" member; empty if it succeeded.
inline std::string Why(const absl::Status& status) { return std::string(status.message()); }

}  // namespace heft::c

#endif  // HEFT_C_RESULT_H_
