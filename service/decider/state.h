// SPDX-License-Identifier: Apache-2.0
// DeciderState: the key, whom it believes, and the rules: all that a reload replaces at once.
// Requests hold the state that they began with.
#ifndef HEFT_SERVICE_DECIDER_STATE_H_
#define HEFT_SERVICE_DECIDER_STATE_H_

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
#include "service/decider/secrets.h"
#include "service/run/daemon.h"

namespace heft::service {

struct DeciderState {
  DeciderConfig config;
  Model model;
  KeyOwner owner;
  DecisionKey decision_key;
  uint64_t loaded = 0;  // Unix seconds

  // Rule: of the gallery that a signed file is of. kFailedPrecondition for a gallery without one.
  absl::StatusOr<const GalleryRule*> Rule(const GalleryId& gallery) const;
};

// LoadDeciderState reads everything that the configuration names. The errors of each.
absl::StatusOr<std::shared_ptr<const DeciderState>> LoadDeciderState(DeciderConfig config,
                                                                     PassphraseKeeper* passphrase);

// DeciderService: what routes share. Lives as long as the process.
struct DeciderService {
  DaemonBase* base = nullptr;
  PassphraseKeeper passphrase;
  std::unique_ptr<AnswerLog> answers;
  std::unique_ptr<AdmissionQueue> queue;

  std::shared_ptr<const DeciderState> state() const;
  void set_state(std::shared_ptr<const DeciderState> state);
  // Whether decisions can be made now: that the key's journal can be read and the key is in use.
  // Asked of the disk once in a few seconds.
  absl::Status Ready();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const DeciderState> state_;
  absl::Status ready_;
  uint64_t asked_ = 0;
};

// OpenStateFolder: answers and queue in `folder`, which is made (mode 0700) if it is not there.
absl::Status OpenStateFolder(const std::string& folder, DeciderService* service);

}  // namespace heft::service

#endif  // HEFT_SERVICE_DECIDER_STATE_H_
