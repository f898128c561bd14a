// SPDX-License-Identifier: Apache-2.0
// ReplayGuard: each signed request is taken only once. The request carries 16 random bytes
// (X-Heft-Nonce, base64url) and its time (X-Heft-Time, Unix seconds). A time outside the window is
// refused; within the window every nonce of a principal is remembered, also in a file, so that a
// restart forgets none. A killed process loses nothing; a power failure may lose the nonces of the
// last fifth of a second.
#ifndef HEFT_SERVICE_ACCESS_REPLAY_H_
#define HEFT_SERVICE_ACCESS_REPLAY_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/once.h"

namespace heft::service {

inline constexpr char kNonceHeader[] = "X-Heft-Nonce";
inline constexpr char kTimeHeader[] = "X-Heft-Time";
inline constexpr uint64_t kReplayWindow = 300;  // seconds before and after now

// NewNonce: 16 bytes of the system's randomness, base64url.
std::string NewNonce();

class ReplayGuard {
 public:
  // `path`: the file (store/once.h), for any number of processes; empty: only in memory, for tests.
  // `most`: how many nonces are remembered at once. kUnavailable, kDataLoss.
  static absl::StatusOr<std::unique_ptr<ReplayGuard>> Open(const std::string& path,
                                                           uint64_t most = 4u << 20);
  ~ReplayGuard();
  // Admit: kInvalidArgument for missing or malformed headers, kDeadlineExceeded for a time outside
  // the window, kAlreadyExists for a known nonce, kResourceExhausted if full, kUnavailable if the
  // nonce cannot be written: then the request was not taken.
  absl::Status Admit(std::string_view principal, std::string_view nonce, std::string_view time,
                     uint64_t now);
  uint64_t remembered() { return nonces_.Count(scope_).value_or(0); }

 private:
  ReplayGuard(const std::string& path, uint64_t most);
  void Flush();

  const OnceTable::Scope scope_;
  OnceTable nonces_;
  std::mutex mutex_;  // of the following
  bool dirty_ = false, stopped_ = false;
  std::condition_variable changed_;
  std::thread flusher_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_REPLAY_H_
