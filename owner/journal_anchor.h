// SPDX-License-Identifier: Apache-2.0
// Anchor: how far a key's journal has come, kept away from it, one small file a key: in
// $HEFT_STATE_DIR, else $XDG_STATE_HOME/heft, else ~/.local/state/heft, else /var/lib/heft. A
// journal that is behind its anchor is an older one, put back; one without an anchor was copied
// from elsewhere.
#ifndef HEFT_OWNER_JOURNAL_ANCHOR_H_
#define HEFT_OWNER_JOURNAL_ANCHOR_H_

#include <optional>
#include <string>

#include "base/status.h"
#include "owner/journal_file.h"
#include "owner/journal_keys.h"

namespace heft {

inline constexpr std::string_view kAnchorKind = "JANC";

struct Anchor {
  Link link;
  uint64_t restarts = 0;
  KeyId successor{};  // zeros: the key is in use

  // `keys` null: its MAC is not looked at.
  static absl::StatusOr<Anchor> Parse(ByteSpan bytes, const JournalKeys* keys,
                                      std::string_view what);
  std::vector<uint8_t> Serialize(const JournalKeys& keys) const;
};

// AnchorPath: of this key's.
std::string AnchorPath(const JournalKeys& keys);
// ReadAnchor: nothing where there is none. kDataLoss for a damaged one.
absl::StatusOr<std::optional<Anchor>> ReadAnchor(const std::string& path, const JournalKeys& keys);
// WriteAnchor: atomically, on disk before it returns.
absl::Status WriteAnchor(const std::string& path, const JournalKeys& keys, const Anchor& anchor);
// MakeAnchorFolder: for the file and its lock. A new folder is readable by its owner only.
absl::Status MakeAnchorFolder(const std::string& path);

}  // namespace heft

#endif  // HEFT_OWNER_JOURNAL_ANCHOR_H_
