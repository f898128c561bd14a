// SPDX-License-Identifier: Apache-2.0
#include "service/decider/state.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "heft/files.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr uint64_t kAskAgain = 5;  // seconds

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(path, ": cannot be made: ", std::strerror(errno), " ([state] folder)"));
}

// LoadModelOf: if the trust file lists trainers, one of them must have signed the model.
absl::StatusOr<Model> LoadModelOf(const std::string& path, const Trust& trust) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxModelSize));
  if (trust.Lists(Role::kTrainer)) {
    HEFT_RETURN_IF_ERROR(
        OpenSigned(bytes, trust, {.roles = {Role::kTrainer}, .kind = "MODL"}, path).status());
  }
  return Model::Parse(bytes, path);
}

absl::Status CheckOwnerAlone(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || (status.st_mode & S_IWOTH) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": any user can change the trusted keys: run chmod o-w ", path));
}

// TakeShards gives each bucket of the configured shard lists the rule of its gallery.
absl::Status TakeShards(DeciderConfig* config) {
  for (GalleryRule& rule : config->sharded) {
    HEFT_RETURN_IF_ERROR(CheckOwnerAlone(rule.shard_list));
    HEFT_ASSIGN_OR_RETURN(ShardList list, ShardList::Load(rule.shard_list));
    rule.shards = std::make_shared<const ShardList>(std::move(list));
    for (const GalleryId& id : rule.shards->buckets()) {
      if (config->galleries.emplace(id, rule).second) {
        ++rule.bucket;
        continue;
      }
      return absl::FailedPreconditionError(
          absl::StrCat(rule.shard_list, ": gallery ", HexString(id),
                       " has two [[gallery]] entries: give it one rule"));
    }
  }
  return absl::OkStatus();
}

// FindFellows: those of the configuration; none for a whole key.
absl::StatusOr<std::shared_ptr<Fellows>> FindFellows(const DeciderConfig& config,
                                                     const KeyOwner& owner) {
  const std::optional<SharedKey> shared = owner.shared();
  if (!shared) {
    if (config.fellows.empty()) return nullptr;
    return absl::FailedPreconditionError(
        absl::StrCat(config.key.secret_key, ": a whole key, which opens alone: remove [[fellow]]"));
  }
  if (config.key.signed_gallery && shared->threshold < shared->owners) {
    return absl::FailedPreconditionError(
        "signed_gallery: only with a key that all its owners open together, because an owner that "
        "has no part in an approval does not know the new state of the gallery");
  }
  return Fellows::Create(config.fellows, *shared);
}

}  // namespace

absl::StatusOr<const GalleryRule*> DeciderState::Rule(const GalleryId& gallery) const {
  const auto it = config.galleries.find(gallery);
  if (it != config.galleries.end()) return &it->second;
  return absl::FailedPreconditionError(absl::StrCat(
      "gallery ", HexString(gallery),
      " has no [[gallery]] in this decider's configuration, so its replies are not decided"));
}

absl::StatusOr<std::shared_ptr<const DeciderState>> LoadDeciderState(DeciderConfig config,
                                                                     PassphraseKeeper* passphrase) {
  HEFT_RETURN_IF_ERROR(TakeShards(&config));
  const KeyConfig& key = config.key;
  HEFT_RETURN_IF_ERROR(CheckOwnerAlone(key.trust));
  HEFT_ASSIGN_OR_RETURN(Trust trust, Trust::Load(key.trust));
  if (!trust.Lists(Role::kServer)) {
    return absl::FailedPreconditionError(
        absl::StrCat(key.trust,
                     ": trusts no server, so every reply would be refused: run `heft trust add "
                     "--role server` with the matcher's server.pub"));
  }
  HEFT_ASSIGN_OR_RETURN(Model model, LoadModelOf(key.model, trust));
  if (model.tables.empty()) {
    LogLine(LogLevel::kWarning, "the model has no decision tables, so every decision is refused",
            {{"model", key.model},
             {"remedy", "heft calibrate --data DATA --model MODEL --out OUT adds them"}});
  }
  const bool calibrated = std::ranges::all_of(
      model.tables, [](const DecisionTable& table) { return table.calibration.has_value(); });
  if (config.likelihood && (model.tables.empty() || !calibrated)) {
    return absl::FailedPreconditionError(absl::StrCat(
        key.model,
        ": has no calibration, so likelihood is unknown: set likelihood = false in [decisions]"));
  }
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner,
                        KeyOwner::Load(model, key.secret_key, passphrase->Source(key)));
  // The trust file pins no gallery, so the galleries of the configuration are pinned.
  if (trust.galleries().empty()) {
    for (const auto& [id, rule] : config.galleries) trust.Pin(id);
  }
  HEFT_RETURN_IF_ERROR(owner.RequireSigned(std::move(trust)));
  if (key.signed_gallery) owner.RequireSignedGallery();
  HEFT_ASSIGN_OR_RETURN(DecisionKey decision_key,
                        DecisionKey::Load(config.decision_key, config.retired_keys));
  HEFT_ASSIGN_OR_RETURN(auto fellows, FindFellows(config, owner));
  return std::make_shared<const DeciderState>(
      DeciderState{std::move(config), std::move(model), std::move(owner), std::move(decision_key),
                   std::move(fellows), UnixTime()});
}

std::shared_ptr<const DeciderState> DeciderService::state() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return state_;
}

void DeciderService::set_state(std::shared_ptr<const DeciderState> state) {
  const std::lock_guard<std::mutex> guard(mutex_);
  state_ = std::move(state);
  asked_ = 0;
  warned_ = false;
}

bool DeciderService::HasSigned(const GalleryId& gallery, uint64_t generation) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto it = signed_.find(gallery);
  return it != signed_.end() && it->second == generation;
}

void DeciderService::NoteSigned(const GalleryId& gallery, uint64_t generation) {
  const std::lock_guard<std::mutex> guard(mutex_);
  signed_[gallery] = generation;
}

absl::Status DeciderService::Ready() {
  const uint64_t now = UnixTime();
  std::shared_ptr<const DeciderState> held;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (asked_ + kAskAgain > now) return ready_;
    held = state_;
  }
  const auto budget = held->owner.Budget();
  absl::Status ready = budget.status();
  if (ready.ok() && budget->successor) {
    ready = absl::FailedPreconditionError("the key is revoked and was replaced by another");
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  ready_ = ready;
  asked_ = now;
  if (budget.ok() && !warned_) warned_ = WarnOfProofs(*budget);
  return ready;
}

bool WarnOfProofs(const BudgetUse& use) {
  if (use.most_proofs == 0 || use.proofs <= use.most_proofs / 2) return false;
  LogLine(LogLevel::kWarning, "more than half of the proofs of enrolments are opened",
          {{"proofs", use.proofs},
           {"most_proofs", use.most_proofs},
           {"remedy", "renew the key in time: heft rekey, and heft-server apply"}});
  return true;
}

absl::Status OpenStateFolder(const std::string& folder, DeciderService* service) {
  const std::string queue = absl::StrCat(folder, "/admissions");
  HEFT_RETURN_IF_ERROR(MakeFolder(folder));
  HEFT_RETURN_IF_ERROR(MakeFolder(queue));
  HEFT_ASSIGN_OR_RETURN(service->answers, AnswerLog::Open(folder));
  HEFT_ASSIGN_OR_RETURN(service->queue, AdmissionQueue::Open(queue));
  return absl::OkStatus();
}

}  // namespace heft::service
