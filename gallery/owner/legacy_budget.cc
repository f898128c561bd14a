// SPDX-License-Identifier: Apache-2.0
#include "gallery/owner/legacy_budget.h"

#include "base/envelope.h"
#include "ckks/serialization.h"
#include "gallery/owner/journal_keys.h"

namespace heft {
namespace {

constexpr std::string_view kBudgetKind = "BUDG";
constexpr uint32_t kBudgetVersion = 1;
constexpr uint64_t kMaxEntries = uint64_t{1} << 28;

}  // namespace

std::vector<uint8_t> LegacyBudget::Serialize() const {
  ByteWriter writer;
  ckks::WriteId(writer, params_id);
  ckks::WriteId(writer, key_id);
  ckks::WriteId(writer, successor);
  writer.U64(galleries.size());
  for (const auto& [model, use] : galleries) {
    ckks::WriteId(writer, model);
    writer.U64(use.limit);
    writer.U64(use.identifications);
    writer.U64(use.verifications.size());
    for (const auto& [identity, count] : use.verifications) {
      ckks::WriteId(writer, identity);
      writer.U64(count);
    }
  }
  return SealEnvelope(kBudgetKind, kBudgetVersion, writer.bytes());
}

absl::StatusOr<LegacyBudget> LegacyBudget::Parse(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload,
                        OpenEnvelope(bytes, kBudgetKind, kBudgetVersion, what));
  ByteReader reader(payload, what);
  LegacyBudget record;
  record.params_id = ckks::ReadId(reader);
  record.key_id = ckks::ReadId(reader);
  record.successor = ckks::ReadId(reader);
  const uint64_t galleries = reader.Count(sizeof(ModelId) + 24, kMaxEntries);
  for (uint64_t i = 0; i < galleries && reader.ok(); ++i) {
    const ModelId model = ckks::ReadId(reader);
    // An entry that stood twice would lose what the first one counted.
    if (!record.galleries.empty() && model <= record.galleries.rbegin()->first) {
      reader.Fail("galleries out of order");
    }
    GalleryUse& use = record.galleries[model];
    use.limit = reader.U64();
    use.identifications = reader.U64();
    const uint64_t identities = reader.Count(24, kMaxEntries);
    for (uint64_t j = 0; j < identities && reader.ok(); ++j) {
      const auto identity = ckks::ReadId(reader);
      if (!use.verifications.empty() && identity <= use.verifications.rbegin()->first) {
        reader.Fail("identities out of order");
      }
      use.verifications[identity] = reader.U64();
    }
  }
  HEFT_RETURN_IF_ERROR(reader.Finish());
  return record;
}

QueryLedger LegacyBudget::ToLedger(const SecureVector<uint8_t>& tag_key) const {
  QueryLedger ledger;
  ledger.successor = successor;
  for (const auto& [model, use] : galleries) {
    QueryLedger::ModelUse& out = ledger.models[model];
    out.identifications = use.identifications;
    out.inherited = use.identifications;
    for (const auto& [name, count] : use.verifications) {
      out.verifications += count;
      out.identities[TagOf(tag_key, name)].scores = count;
    }
    if (use.limit == kDefaultLimit) continue;
    out.limits = BudgetLimits();
    out.limits->scores = use.limit;
  }
  return ledger;
}

}  // namespace heft
