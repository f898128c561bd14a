// SPDX-License-Identifier: Apache-2.0
// FolderKey: 32 secret bytes of a server in a file of a gallery's folder, mode 0600: the key of the
// stand-ins (kind STND), and the one that the seeds of replies are derived from (AUDK).
#ifndef HEFT_MATCHER_FOLDER_KEY_H_
#define HEFT_MATCHER_FOLDER_KEY_H_

#include <string>
#include <string_view>

#include "base/csprng.h"
#include "base/status.h"

namespace heft {

// ReadFolderKey: kNotFound if it does not exist, kDataLoss if it is damaged or empty,
// kFailedPrecondition
// for an audit key that others may read, and for a symbolic link.
absl::StatusOr<Seed> ReadFolderKey(const std::string& path, std::string_view kind);
// FolderKey: the same, but creates a key that was never made (CheckKeyNew). kUnavailable if it
// cannot be written; the error names `who` needs it.
absl::StatusOr<Seed> FolderKey(const std::string& path, std::string_view kind,
                               std::string_view who);

// AuditKey: the key from which the seeds of a gallery's replies are derived (base/reply_seed.h).
inline constexpr std::string_view kAuditKeyKind = "AUDK";
inline std::string AuditKeyPath(const std::string& directory) { return directory + "/audit.key"; }

// A server records the keys that it has made, by name, in keys.made of their folder. RecordKey:
// does so, unless it is recorded. CheckKeyNew: LostKey if a key that is recorded, or whose
// server.pub exists, is missing or empty, so that no other key takes its place. LostKey: kDataLoss
// that says how to restore the key, or how to make another one deliberately.
void RecordKey(const std::string& folder, std::string_view name);
absl::Status CheckKeyNew(const std::string& folder, std::string_view name);
absl::Status LostKey(const std::string& path, std::string_view what);

// kServerKey: the server's signing key.
inline constexpr std::string_view kServerKey = "server.key";

// RemoveLeftovers: removes temporary files that killed writers of the server's files have left in a
// gallery's folder. Waits for present writers.
void RemoveLeftovers(const std::string& folder);

}  // namespace heft

#endif  // HEFT_MATCHER_FOLDER_KEY_H_
