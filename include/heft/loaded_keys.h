// SPDX-License-Identifier: Apache-2.0
// Reads a server's key files in the fastest way: maps them if they are expanded, otherwise reads
// them. All programs of a server use this rule to find expanded keys:
//
//   auto keys = heft::LoadedKeys::Read("evaluation.keys");
//   auto checked = heft::CheckKeys(&trust, keys->view());
//   auto served = heft::TrustedServer::Create(model, trust, *checked);
//
// Link heft::server.
#ifndef HEFT_LOADED_KEYS_H_
#define HEFT_LOADED_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/expanded_keys.h"
#include "heft/export.h"
#include "heft/model.h"
#include "heft/server.h"

namespace heft {

// LoadedKeys: the keys of one key file; empty if nothing was read.
struct HEFT_EXPORT LoadedKeys {
  // Read: reads the key file `path`, without checking its signer. Expanded keys are NAME.expanded
  // in the folder `cache`, or beside `path` if `cache` is empty. If they cannot be used, `why`
  // gives the reason and the key file is read: that is no error. kNotFound, kUnavailable, kDataLoss
  // for an empty file.
  static absl::StatusOr<LoadedKeys> Read(const std::string& path, const std::string& cache = "");

  // Expand: makes the expanded file and uses it. Call it only for keys that CheckKeys has accepted.
  // Errors of ExpandedKeys::Make and Open.
  absl::Status Expand(const Model& model);
  // Mend: makes an existing expanded file again if it is damaged or of other keys, and uses it. A
  // file that other users could have written stays as it is. Returns whether the file was made.
  // `notice` receives a message for the program's user, or is empty. The key file may have been
  // replaced meanwhile, so repeat all earlier checks of it.
  bool Mend(const Model& model, std::string* notice);

  bool found() const { return expanded.has_value() || !bytes.empty(); }
  // For CheckKeys and Server::CreateFrom; valid while this object exists and is not moved.
  KeyFile view() const { return {bytes, path, expanded ? &*expanded : nullptr}; }

  std::string path, expanded_path;
  std::optional<ExpandedKeys> expanded;
  std::vector<uint8_t> bytes;  // if not expanded
  absl::Status why;            // why an existing expanded file cannot be used
};

}  // namespace heft

#endif  // HEFT_LOADED_KEYS_H_
