// SPDX-License-Identifier: Apache-2.0
// A server's key files as they are best read: mapped where they were expanded before, what they
// hold where not. The rule by which all programs of a server look for expanded keys:
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

// LoadedKeys: of one key file; none where nothing was read.
struct HEFT_EXPORT LoadedKeys {
  // Read: the key file `path`, whoever made it; what is expanded of it is NAME.expanded in the
  // folder `cache`, or beside it where that is empty. That this is of no use is no error: `why`
  // says so, and the file itself is read. kNotFound, kUnavailable, kDataLoss for an empty one.
  static absl::StatusOr<LoadedKeys> Read(const std::string& path, const std::string& cache = "");

  // Expand makes the expanded file and takes it: of keys that CheckKeys has believed. Errors of
  // ExpandedKeys::Make and Open.
  absl::Status Expand(const Model& model);
  // Mend: where the expanded file is there and of no use, it is made anew if it is damaged or of
  // other keys, because somebody once asked for it, and left alone where others could have written
  // it. Whether it was made; `notice`, what to tell whoever runs this program, empty for nothing.
  // A key file may have been replaced meanwhile: believe nothing that was checked before.
  bool Mend(const Model& model, std::string* notice);

  bool found() const { return expanded.has_value() || !bytes.empty(); }
  // For CheckKeys and Server::CreateFrom; good as long as this is, and stays where it is.
  KeyFile view() const { return {bytes, path, expanded ? &*expanded : nullptr}; }

  std::string path, expanded_path;
  std::optional<ExpandedKeys> expanded;
  std::vector<uint8_t> bytes;  // otherwise
  absl::Status why;            // an expanded file that is there is of no use
};

}  // namespace heft

#endif  // HEFT_LOADED_KEYS_H_
