// SPDX-License-Identifier: Apache-2.0
#include "gallery/owner/query_budget.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "base/files.h"
#include "ckks/serialization.h"
#include "fusion/key_files.h"

namespace heft {
namespace {

constexpr std::string_view kKind = "BUDG";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxEntries = uint64_t{1} << 28;
constexpr mode_t kMode = 0600;

std::array<uint8_t, 16> IdentityHash(const std::string& identity) {
  const Hash hash = HashBytes(AsBytes(identity));
  std::array<uint8_t, 16> out;
  std::copy_n(hash.begin(), out.size(), out.begin());
  return out;
}

absl::StatusOr<BudgetRecord> ReadRecord(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  return BudgetRecord::Parse(bytes, path);
}

absl::Status CheckNotRevoked(const BudgetRecord& record) {
  if (record.successor == ckks::KeyId{}) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("key ", HexString(record.key_id), " was revoked: key ",
                   HexString(record.successor), " has taken its place"));
}

}  // namespace

double ReconstructionCosine(uint64_t scores, uint32_t gamma) {
  return std::sqrt(std::min(1.0, static_cast<double>(scores) / gamma));
}

uint64_t BudgetRecord::GalleryUse::Used() const {
  uint64_t most = 0;
  for (const auto& [identity, count] : verifications) most = std::max(most, count);
  return identifications + most;
}

std::vector<uint8_t> BudgetRecord::Serialize() const {
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
  return SealEnvelope(kKind, kVersion, writer.bytes());
}

absl::StatusOr<BudgetRecord> BudgetRecord::Parse(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kKind, kVersion, what));
  ByteReader reader(payload, what);
  BudgetRecord record;
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

absl::StatusOr<std::unique_ptr<QueryBudget>> QueryBudget::Open(const std::string& path,
                                                               const ckks::ParamsId& params_id,
                                                               const ckks::KeyId& key_id) {
  auto budget = std::make_unique<QueryBudget>();
  budget->path_ = path;
  budget->record_.params_id = params_id;
  budget->record_.key_id = key_id;
  budget->fresh_ = !FileExists(path);
  if (budget->fresh_) return budget;
  HEFT_ASSIGN_OR_RETURN(const BudgetRecord record, ReadRecord(path));
  HEFT_RETURN_IF_ERROR(CheckKeyId(key_id, record.key_id, path));
  return budget;
}

absl::StatusOr<BudgetRecord> QueryBudget::Current() const {
  if (path_.empty() || (fresh_ && !FileExists(path_))) return record_;
  return ReadRecord(path_);
}

absl::Status QueryBudget::Update(const std::function<absl::Status(BudgetRecord*)>& change) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::optional<FileLock> lock;
  if (!path_.empty()) {
    HEFT_ASSIGN_OR_RETURN(FileLock taken, FileLock::Take(path_ + ".lock", kMode));
    lock.emplace(std::move(taken));
  }
  HEFT_ASSIGN_OR_RETURN(BudgetRecord record, Current());
  HEFT_RETURN_IF_ERROR(change(&record));
  if (path_.empty()) {
    record_ = std::move(record);
    return absl::OkStatus();
  }
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(path_, record.Serialize(), kMode));
  fresh_ = false;
  return absl::OkStatus();
}

absl::StatusOr<BudgetRecord> QueryBudget::Read() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return Current();  // a reader sees a whole file, the old or the new one
}

absl::Status QueryBudget::Charge(const ModelId& gallery, const std::string& claimed) {
  return Update([&](BudgetRecord* record) -> absl::Status {
    HEFT_RETURN_IF_ERROR(CheckNotRevoked(*record));
    BudgetRecord::GalleryUse fresh;
    fresh.limit = default_limit_;
    BudgetRecord::GalleryUse& use = record->galleries.try_emplace(gallery, fresh).first->second;
    uint64_t used = use.Used();
    if (!claimed.empty()) {
      const auto it = use.verifications.find(IdentityHash(claimed));
      used = use.identifications + (it == use.verifications.end() ? 0 : it->second);
    }
    if (used >= use.limit) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the query budget is spent: ",
          claimed.empty() ? std::string("an identity of this gallery")
                          : absl::StrCat("\"", claimed, "\""),
          " has given ", used, " scores and may give ", use.limit,
          "; 50 to 192 scores recover a template (SECURITY.md). If you mean to give more: "
          "`heft budget --set`"));
    }
    ++(claimed.empty() ? use.identifications : use.verifications[IdentityHash(claimed)]);
    return absl::OkStatus();
  });
}

absl::Status QueryBudget::SetLimit(const ModelId& gallery, uint64_t limit) {
  return Update([&](BudgetRecord* record) -> absl::Status {
    HEFT_RETURN_IF_ERROR(CheckNotRevoked(*record));
    record->galleries[gallery].limit = limit;
    return absl::OkStatus();
  });
}

absl::Status QueryBudget::CheckInUse() {
  HEFT_ASSIGN_OR_RETURN(const BudgetRecord record, Read());
  return CheckNotRevoked(record);
}

absl::Status QueryBudget::PassOn(const std::string& path, const ckks::KeyId& successor) {
  return Update([&](BudgetRecord* record) -> absl::Status {
    HEFT_RETURN_IF_ERROR(CheckNotRevoked(*record));
    if (FileExists(path)) return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
    BudgetRecord next = *record;
    next.key_id = successor;
    record->successor = successor;
    return WriteFileAtomic(path, next.Serialize(), kMode);
  });
}

}  // namespace heft
