// SPDX-License-Identifier: Apache-2.0
#include "service/run/notify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace heft::service {
namespace {

constexpr int kFirstDescriptor = 3;

sigset_t OurSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

absl::Status Notify(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return absl::OkStatus();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t size = std::strlen(path);
  if (size >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) {
    return absl::InvalidArgumentError("NOTIFY_SOCKET is not the name of a socket");
  }
  std::memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';  // in the abstract name space
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::UnavailableError(std::strerror(errno));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  const ssize_t sent = sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), length);
  const int error = errno;
  close(fd);
  return sent == static_cast<ssize_t>(state.size())
             ? absl::OkStatus()
             : absl::UnavailableError(
                   absl::StrCat("systemd could not be notified: ", std::strerror(error)));
}

absl::Status NotifyReloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t microseconds =
      static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
  return Notify(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=", microseconds));
}

std::optional<std::chrono::milliseconds> WatchdogInterval() {
  const char* text = std::getenv("WATCHDOG_USEC");
  const char* whose = std::getenv("WATCHDOG_PID");
  uint64_t microseconds = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &microseconds) || microseconds == 0) {
    return std::nullopt;
  }
  if (whose != nullptr && absl::StrCat(getpid()) != whose) return std::nullopt;
  return std::chrono::milliseconds(std::max<uint64_t>(1, microseconds / 2000));
}

absl::StatusOr<std::vector<int>> ListenDescriptors() {
  const char* whose = std::getenv("LISTEN_PID");
  const char* text = std::getenv("LISTEN_FDS");
  std::vector<int> out;
  int count = 0;
  const bool ours = whose != nullptr && absl::StrCat(getpid()) == whose;
  if (!ours || text == nullptr) return out;
  if (!absl::SimpleAtoi(text, &count) || count < 0 || count > 64) {
    return absl::InvalidArgumentError("LISTEN_FDS is not a number of sockets");
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
  for (int fd = kFirstDescriptor; fd < kFirstDescriptor + count; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the descriptor ", fd, " that was passed is not a listening socket"));
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    out.push_back(fd);
  }
  return out;
}

Signals::Signals() {
  const sigset_t set = OurSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Signals::Kind Signals::Wait(std::chrono::milliseconds patience) {
  const sigset_t set = OurSignals();
  timespec time{};
  time.tv_sec = patience.count() / 1000;
  time.tv_nsec = patience.count() % 1000 * 1000000;
  const int signal = sigtimedwait(&set, nullptr, &time);
  if (signal == SIGHUP) return Kind::kReload;
  return signal > 0 ? Kind::kStop : Kind::kNone;
}

}  // namespace heft::service
