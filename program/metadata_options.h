// SPDX-License-Identifier: Apache-2.0
// Options for what stands beside templates, and for whom it fits (heft/metadata.h).
#ifndef HEFT_PROGRAM_METADATA_OPTIONS_H_
#define HEFT_PROGRAM_METADATA_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/json.h"
#include "heft/metadata.h"
#include "program/flags.h"

namespace heft::cli {

// MetadataOptions: --metadata and --expires, as they are given.
struct MetadataOptions {
  std::vector<std::string> metadata;
  std::string expires;
};
void AddMetadataOptions(Command command, MetadataOptions* options);
absl::StatusOr<Metadata> ParseMetadata(const std::vector<std::string>& pairs);
// ParseExpiry: Unix seconds, of a date ("2027-01-31", from 00:00 UTC on), a time
// ("2027-01-31T12:30:00Z"), or a time from `now` on ("90d"; s, m, h, d and y, of 365 days); 0 for
// no text. kInvalidArgument for what is none of them, or has passed.
absl::StatusOr<uint64_t> ParseExpiry(const std::string& text, uint64_t now);

// AddWhere: --where, for ParseWhere.
void AddWhere(Command command, std::vector<std::string>* where);
absl::StatusOr<std::vector<Condition>> ParseWhere(const std::vector<std::string>& where);
// RestrictionText: ", of those with site=berlin, age=18..30", or nothing. AddWhereTo: the same as a
// list, in `where`.
std::string RestrictionText(const std::vector<Condition>& where);
void AddWhereTo(Json* json, const std::vector<Condition>& where);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_METADATA_OPTIONS_H_
