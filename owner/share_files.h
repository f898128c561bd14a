// SPDX-License-Identifier: Apache-2.0
// What both ceremonies of a shared key do: with a dealer (shared_key_set.cc) and without
// (join_key_set.cc).
#ifndef HEFT_OWNER_SHARE_FILES_H_
#define HEFT_OWNER_SHARE_FILES_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "fusion/owner/key_share.h"
#include "fusion/rings.h"
#include "heft/key_set.h"
#include "heft/model.h"

namespace heft {

// CheckShareable: kInvalidArgument for a threshold that no model has room for;
// kFailedPrecondition for a model of another profile than "flooded".
absl::Status CheckShareable(const Model& model, uint32_t threshold);
// CheckRoom: that the floods of so many owners fit a search of one block, and a claim. `secrets`:
// as FloodingOptions has them. kFailedPrecondition.
absl::Status CheckRoom(const Rings& rings, uint32_t threshold, uint32_t secrets);

// DescribeParameters: sets the words about parameters and security.
void DescribeParameters(const Rings& rings, KeySet* set);

// WriteShare: seals and writes a share (mode 0600).
absl::Status WriteShare(const Rings& rings, const KeyShare& share, const std::string& passphrase,
                        const std::string& path);
// WriteNewShare: begins the share's journal, for this reason, then writes the share. After a
// failure no journal is left.
absl::Status WriteNewShare(const Rings& rings, const HeldKey& held, const std::string& passphrase,
                           const std::string& path, const std::string& reason);
// WriteOwnerFiles: one owner's folder: trust file, record, and the share with its journal, last.
absl::Status WriteOwnerFiles(const std::string& folder, const Rings& rings, const HeldKey& held,
                             const std::string& trust, const std::string& passphrase);

}  // namespace heft

#endif  // HEFT_OWNER_SHARE_FILES_H_
