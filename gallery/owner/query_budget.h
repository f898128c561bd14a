// SPDX-License-Identifier: Apache-2.0
// QueryBudget: how often the key owner may still open scores of a gallery. 50 to 192 scores recover
// a face template (Bassit et al., see SECURITY.md), so what is counted is the scores of
// one identity: an identification has one of everybody, a verification one of the claimed identity.
// An identity whose count has reached the limit answers no more.
//
// Nothing in a reply tells galleries under one key and model apart that a server could not forge,
// so they count as one gallery. The record (kind BUDG, docs/formats.md) is kept beside the secret
// key.
#ifndef HEFT_GALLERY_OWNER_QUERY_BUDGET_H_
#define HEFT_GALLERY_OWNER_QUERY_BUDGET_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/keys.h"
#include "ckks/params.h"
#include "heft/model.h"

namespace heft {

// The record lies beside the secret key, under its name with this at the end.
inline constexpr char kBudgetSuffix[] = ".budget";

// One less than the fewest of these. A template of fewer dimensions takes fewer scores:
// ReconstructionCosine says how much this many give away.
inline constexpr uint64_t kDefaultQueryBudget = 49;

// Expected cosine between a template of `gamma` dimensions and the best guess from its scores
// against as many random probes, all known: the template's projection on the space that they span.
// In (0, 1].
double ReconstructionCosine(uint64_t scores, uint32_t gamma);

// What the file holds.
struct BudgetRecord {
  struct GalleryUse {
    uint64_t limit = kDefaultQueryBudget;
    uint64_t identifications = 0;
    // Verifications by claimed identity: the first 16 bytes of its BLAKE2b-256.
    std::map<std::array<uint8_t, 16>, uint64_t> verifications;

    // Scores of the identity that has given the most.
    uint64_t Used() const;
  };
  ckks::ParamsId params_id{};
  ckks::KeyId key_id{};
  ckks::KeyId successor{};  // the key that replaced this one; zeros: none, it is in use
  std::map<ModelId, GalleryUse> galleries;

  std::vector<uint8_t> Serialize() const;
  static absl::StatusOr<BudgetRecord> Parse(ByteSpan bytes, std::string_view what);
};

class QueryBudget {
 public:
  // Kept in memory alone, and forgotten with the object: for tests, and for programs that keep the
  // record elsewhere.
  explicit QueryBudget(uint64_t limit = kDefaultQueryBudget) : default_limit_(limit) {}
  // Kept in the file `path`, which the first change starts if it is not there. Every change is on
  // disk, under a lock, before the call returns. kFailedPrecondition for another key's record.
  static absl::StatusOr<std::unique_ptr<QueryBudget>> Open(const std::string& path,
                                                           const ckks::ParamsId& params_id,
                                                           const ckks::KeyId& key_id);

  // Counts one query before it is answered; `claimed` is empty for an identification.
  // kResourceExhausted, and nothing counted, if the budget is spent; kFailedPrecondition if the key
  // was revoked; kUnavailable if it cannot be recorded. Safe from several threads and processes.
  absl::Status Charge(const ModelId& gallery, const std::string& claimed);

  // Empty: in memory.
  const std::string& path() const { return path_; }

  // The explicit way to raise (or lower) a budget.
  absl::Status SetLimit(const ModelId& gallery, uint64_t limit);
  absl::StatusOr<BudgetRecord> Read();
  // kFailedPrecondition if the key was revoked.
  absl::Status CheckInUse();

  // Hands everything counted so far to the record of another key, `path`, and revokes this one: the
  // templates stay the same when a gallery is re-keyed. kAlreadyExists if `path` is there.
  absl::Status PassOn(const std::string& path, const ckks::KeyId& successor);

 private:
  // Reads the record, changes it, writes it back; a failed change leaves it as it was.
  absl::Status Update(const std::function<absl::Status(BudgetRecord*)>& change);

  absl::StatusOr<BudgetRecord> Current() const;

  std::mutex mutex_;
  std::string path_;     // empty: in memory
  BudgetRecord record_;  // in memory, or what a file that is not there yet starts with
  bool fresh_ = false;   // the file was not there, and nothing has been written yet
  uint64_t default_limit_ = kDefaultQueryBudget;
};

}  // namespace heft

#endif  // HEFT_GALLERY_OWNER_QUERY_BUDGET_H_
