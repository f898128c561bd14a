// SPDX-License-Identifier: Apache-2.0
#include "base/file_size_signal.h"

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace heft {
namespace {

thread_local int t_without_signal = 0;  // how many of them this thread has

}  // namespace

NoFileSizeSignal::NoFileSizeSignal() {
  if (++t_without_signal > 1) return;
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  blocked_ = pthread_sigmask(SIG_BLOCK, &set, &old) == 0 && sigismember(&old, SIGXFSZ) == 0;
}

NoFileSizeSignal::~NoFileSizeSignal() {
  --t_without_signal;
  if (!blocked_) return;
  const int error = errno;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  const timespec now = {};
  while (sigtimedwait(&set, nullptr, &now) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  errno = error;
}

}  // namespace heft
