// SPDX-License-Identifier: Apache-2.0
// What a daemon says to systemd and is told by it, without its library: sd_notify(3)'s datagrams,
// sd_listen_fds(3)'s descriptors, and signals.
#ifndef HEFT_SERVICE_RUN_NOTIFY_H_
#define HEFT_SERVICE_RUN_NOTIFY_H_

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace heft::service {

// Notify: "READY=1", "RELOADING=1\nMONOTONIC_USEC=...", "STOPPING=1", "WATCHDOG=1", "STATUS=..." to
// $NOTIFY_SOCKET. OK, and nothing done, where there is none.
absl::Status Notify(std::string_view state);
// NotifyReloading: with the time that Type=notify-reload wants.
absl::Status NotifyReloading();
// WatchdogInterval: half of what systemd waits ($WATCHDOG_USEC); none where it does not.
std::optional<std::chrono::milliseconds> WatchdogInterval();
// ListenDescriptors: sockets that systemd has opened for this process ($LISTEN_FDS, $LISTEN_PID),
// close-on-exec; the variables are taken out of the environment.
absl::StatusOr<std::vector<int>> ListenDescriptors();

// Signals: SIGTERM, SIGINT and SIGHUP as values. Create it before any thread is made, in which they
// are blocked from then on.
class Signals {
 public:
  enum class Kind { kNone, kStop, kReload };
  Signals();
  // The next, or kNone after `patience`.
  Kind Wait(std::chrono::milliseconds patience);
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_NOTIFY_H_
