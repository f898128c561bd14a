// SPDX-License-Identifier: Apache-2.0
// Messages to and from systemd, without its library: sd_notify(3)'s datagrams, sd_listen_fds(3)'s
// descriptors, and signals.
#ifndef HEFT_SERVICE_RUN_NOTIFY_H_
#define HEFT_SERVICE_RUN_NOTIFY_H_

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace heft::service {

// Notify: sends "READY=1", "RELOADING=1\nMONOTONIC_USEC=...", "STOPPING=1", "WATCHDOG=1" or
// "STATUS=..." to $NOTIFY_SOCKET. OK without effect if it is not set.
absl::Status Notify(std::string_view state);
// NotifyReloading: with the time that Type=notify-reload needs.
absl::Status NotifyReloading();
// WatchdogInterval: half of systemd's limit ($WATCHDOG_USEC); nullopt without one.
std::optional<std::chrono::milliseconds> WatchdogInterval();
// ListenDescriptors: the sockets that systemd opened for this process ($LISTEN_FDS, $LISTEN_PID),
// close-on-exec; removes the variables from the environment.
absl::StatusOr<std::vector<int>> ListenDescriptors();

// Signals: SIGTERM, SIGINT and SIGHUP as values. Create it before any thread is made, as new
// threads inherit the blocked signals.
class Signals {
 public:
  enum class Kind { kNone, kStop, kReload };
  Signals();
  // Wait: the next signal, or kNone after `patience`.
  Kind Wait(std::chrono::milliseconds patience);
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_RUN_NOTIFY_H_
