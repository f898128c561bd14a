// SPDX-License-Identifier: Apache-2.0
// DeciderState: the key, the trusted signers and the rules, which a reload replaces at once. A
// request keeps the state that it began with.
#ifndef HEFT_SERVICE_DECIDER_STATE_H_
#define HEFT_SERVICE_DECIDER_STATE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/key_owner.h"
#include "service/decider/admission_queue.h"
#include "service/decider/answers.h"
#include "service/decider/config.h"
#include "service/decider/decision_key.h"
#include "service/decider/fellows.h"
#include "service/decider/given_parts.h"
#include "service/decider/secrets.h"
#include "service/run/daemon.h"

namespace heft::service {

struct DeciderState {
  DeciderConfig config;
  Model model;
  KeyOwner owner;
  DecisionKey decision_key;
  std::shared_ptr<Fellows> fellows;  // none: a whole key, which opens alone
  uint64_t loaded = 0;               // Unix seconds
  // Signed by the rules of this state; another state signs anew.
  std::shared_ptr<GivenParts> admissions = std::make_shared<GivenParts>();

  // Rule: the rule of the gallery of a signed file. kFailedPrecondition if it has none.
  absl::StatusOr<const GalleryRule*> Rule(const GalleryId& gallery) const;
};

// LoadDeciderState reads all files that the configuration names, and returns their errors.
absl::StatusOr<std::shared_ptr<const DeciderState>> LoadDeciderState(DeciderConfig config,
                                                                     PassphraseKeeper* passphrase);

// DeciderService: shared by all routes. Lives as long as the process.
struct DeciderService {
  DaemonBase* base = nullptr;
  PassphraseKeeper passphrase;
  std::unique_ptr<AnswerLog> answers;
  std::unique_ptr<AdmissionQueue> queue;
  GivenParts given;

  std::shared_ptr<const DeciderState> state() const;
  void set_state(std::shared_ptr<const DeciderState> state);
  // Ready: whether the key is in use and its journal can be read, so that decisions can be made.
  // Checks the disk at most once in a few seconds. Logs a warning, once for each state, if the key
  // has opened half of its proofs.
  absl::Status Ready();
  // Whether this process has signed this generation of a gallery; NoteSigned: that it has.
  bool HasSigned(const GalleryId& gallery, uint64_t generation) const;
  void NoteSigned(const GalleryId& gallery, uint64_t generation);

 private:
  mutable std::mutex mutex_;
  std::map<GalleryId, uint64_t> signed_;
  std::shared_ptr<const DeciderState> state_;
  absl::Status ready_;
  uint64_t asked_ = 0;
  bool warned_ = false;
};

// WarnOfProofs: logs a warning, and returns true, if more than half of the proofs that the key's
// noise is for are opened.
bool WarnOfProofs(const BudgetUse& use);

// OpenStateFolder: opens answers and queue in `folder`, which is made (mode 0700) if missing.
absl::Status OpenStateFolder(const std::string& folder, DeciderService* service);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_STATE_H_
