// SPDX-License-Identifier: Apache-2.0
// Options for the metadata of templates, and for conditions on it (heft/gallery.h).
#ifndef HEFT_PROGRAM_METADATA_OPTIONS_H_
#define HEFT_PROGRAM_METADATA_OPTIONS_H_

#include <string>
#include <vector>

#include "heft/gallery.h"
#include "program/flags.h"

namespace heft::cli {

// MetadataOptions: --metadata and --expires, for ParseMetadata and ParseExpiry.
struct MetadataOptions {
  std::vector<std::string> metadata;
  std::string expires;
};
void AddMetadataOptions(Command command, MetadataOptions* options);

// AddWhere: --where, for ParseConditions.
Option AddWhere(Command command, std::vector<std::string>* where);

}  // namespace heft::cli

#endif  // HEFT_PROGRAM_METADATA_OPTIONS_H_
