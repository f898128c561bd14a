// SPDX-License-Identifier: Apache-2.0
#include "program/metadata_options.h"

#include "absl/strings/str_cat.h"

namespace heft::cli {

void AddMetadataOptions(Command command, MetadataOptions* options) {
  command.Add("--metadata", &options->metadata,
              "KEY=VALUE, stored with each template, not encrypted, for --where; up to 16; a key "
              "may repeat");
  command.Add("--expires", &options->expires,
              "when the templates expire: a date (2027-01-31), a time (2027-01-31T12:30:00Z) or a "
              "duration (90d, 12h, 2y)");
}

Option AddWhere(Command command, std::vector<std::string>* where) {
  return command.Add(
      "--where", where,
      "only templates whose metadata fits: KEY=VALUE, KEY=VALUE|VALUE (one of them) or KEY=18..30 "
      "(a number in the range; either end may be left out); all conditions must hold");
}

}  // namespace heft::cli
