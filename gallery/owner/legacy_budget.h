// SPDX-License-Identifier: Apache-2.0
// LegacyBudget: the record of queries that version 0.1 kept beside a secret key (kind BUDG,
// docs/formats.md). A key's first opening takes its counts into the journal.
#ifndef HEFT_GALLERY_OWNER_LEGACY_BUDGET_H_
#define HEFT_GALLERY_OWNER_LEGACY_BUDGET_H_

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "gallery/owner/query_ledger.h"
#include "heft/model.h"

namespace heft {

// It lies beside the secret key, under its name with this at the end.
inline constexpr char kLegacyBudgetSuffix[] = ".budget";

struct LegacyBudget {
  static constexpr uint64_t kDefaultLimit = 49;
  struct GalleryUse {
    uint64_t limit = kDefaultLimit;
    uint64_t identifications = 0;
    // Verifications by claimed identity: NameHash (gallery/owner/journal_keys.h).
    std::map<std::array<uint8_t, 16>, uint64_t> verifications;
  };
  ParamsId params_id{};
  KeyId key_id{};
  KeyId successor{};  // the key that replaced this one; zeros: none, it is in use
  std::map<ModelId, GalleryUse> galleries;

  std::vector<uint8_t> Serialize() const;
  static absl::StatusOr<LegacyBudget> Parse(ByteSpan bytes, std::string_view what);

  // ToLedger: its counts. An identification told everybody's score, so it counts for all; a limit
  // that was set by hand stays.
  QueryLedger ToLedger(const SecureVector<uint8_t>& tag_key) const;
};

}  // namespace heft

#endif  // HEFT_GALLERY_OWNER_LEGACY_BUDGET_H_
