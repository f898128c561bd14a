// SPDX-License-Identifier: Apache-2.0
#include "program/metadata_options.h"

#include "absl/strings/str_cat.h"

namespace heft::cli {

void AddMetadataOptions(Command command, MetadataOptions* options) {
  command.Add("--metadata", &options->metadata,
              "KEY=VALUE, kept beside each of the templates, in the clear, for --where; up to 16, "
              "and a key may come again");
  command.Add("--expires", &options->expires,
              "from when on they answer nobody: a date (2027-01-31), a time "
              "(2027-01-31T12:30:00Z) or a time from now on (90d, 12h, 2y)");
}

void AddWhere(Command command, std::vector<std::string>* where) {
  command.Add("--where", where,
              "those alone whose metadata fits: KEY=VALUE, KEY=VALUE|VALUE (one of them) or "
              "KEY=18..30 (a number within, either end may be left out); all of several must hold");
}

}  // namespace heft::cli
