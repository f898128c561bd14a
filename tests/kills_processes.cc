// SPDX-License-Identifier: Apache-2.0
#include "tests/kills_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace heft::kills {
namespace {

// kHang: a writer hangs if it makes no progress for so long: twice as long as writers wait for each
// other.
constexpr absl::Duration kHang = absl::Seconds(120);
// kMaxOutage: a database may be without its synchronous standby for so long.
constexpr absl::Duration kMaxOutage = absl::Seconds(300);
// kMaxLife: the longest life of a writer, from the moment at which all are ready.
constexpr int64_t kMaxLifeMicroseconds = 500'000;
// Before a database fails, it gets so much time to receive data that it may lose.
constexpr int64_t kLeastBeforeFailureMicroseconds = 1'000'000;
constexpr int64_t kMaxBeforeFailureMicroseconds = 5'000'000;

}  // namespace

void Processes::Start(const WriterOptions& options) {
  if (processes_.empty()) {
    kills_ = 0;
    trouble_.clear();
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const std::vector<std::string> arguments = {"gallery_kills",
                                              "--writer",
                                              options.world,
                                              options.gallery,
                                              options.people,
                                              std::to_string(ends[1]),
                                              std::to_string(options.seed),
                                              std::to_string(options.first),
                                              options.probes     ? "probes"
                                              : options.survives ? "survives"
                                                                 : "dies"};
  std::vector<char*> pointers;
  for (const std::string& a : arguments) pointers.push_back(const_cast<char*>(a.c_str()));
  pointers.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    fcntl(ends[1], F_SETFD, 0);
    execv("/proc/self/exe", pointers.data());
    _exit(5);
  }
  close(ends[1]);
  processes_.push_back({child, ends[0], {}, 0, false});
}

template <typename Done>
bool Processes::Listen(absl::Duration most, const Done& done) {
  const absl::Time end = absl::Now() + most;
  while (!done()) {
    const absl::Duration left = end - absl::Now();
    if (left <= absl::ZeroDuration()) return false;
    std::vector<pollfd> polled;
    for (const Process& p : processes_) polled.push_back({p.dead ? -1 : p.pipe, POLLIN, 0});
    // ppoll takes finer times than milliseconds.
    const timespec wait = absl::ToTimespec(left);
    if (ppoll(polled.data(), polled.size(), &wait, nullptr) < 0 && errno != EINTR) return false;
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t n = read(processes_[i].pipe, bytes, sizeof(bytes));
      if (n <= 0) {
        trouble_ = "a writer ended by itself";
        return false;
      }
      processes_[i].said.append(bytes, static_cast<size_t>(n));
      processes_[i].lines += static_cast<size_t>(std::count(bytes, bytes + n, '\n'));
    }
  }
  return true;
}

void Processes::Kill(Process* process) {
  if (process->dead) return;
  process->dead = true;
  kill(process->id, SIGKILL);
  int status = 0;
  waitpid(process->id, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    ++kills_;
  } else if (trouble_.empty()) {
    trouble_ = absl::StrCat("a writer ended by itself, with status ", status);
  }
  char bytes[4096];
  for (ssize_t n; (n = read(process->pipe, bytes, sizeof(bytes))) > 0;) {
    process->said.append(bytes, static_cast<size_t>(n));
  }
  close(process->pipe);
}

// Whether each remaining writer makes progress: it has begun and ended an operation since the call.
bool Processes::LetGetOn(absl::Duration most) {
  std::vector<size_t> lines;
  for (const Process& p : processes_) lines.push_back(p.lines);
  return Listen(most, [&] {
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i].dead && processes_[i].lines < lines[i] + 3) return false;
    }
    return true;
  });
}

std::string Processes::LetLive(std::mt19937_64& random) {
  const auto ready = [&] {
    return std::ranges::all_of(processes_, [](const Process& p) { return p.lines > 0; });
  };
  if (!Listen(kHang, ready)) return trouble_.empty() ? "a writer does not begin" : trouble_;
  if (random() % 2 == 0) {
    // Kills at a random line of a random writer.
    const size_t whose = random() % processes_.size(), line = 2 + random() % 14;
    if (!Listen(kHang, [&] { return processes_[whose].lines >= line; })) {
      return trouble_.empty() ? "a writer hangs" : trouble_;
    }
    Listen(absl::Microseconds(random() % 20'000), [] { return false; });
  } else {
    Listen(absl::Microseconds(random() % kMaxLifeMicroseconds), [] { return false; });
  }
  if (trouble_.empty() && processes_.size() > 1 && random() % 2 == 0) {
    Kill(&processes_[random() % processes_.size()]);
    if (!LetGetOn(kHang)) return trouble_.empty() ? "a writer waits for a dead one" : trouble_;
    Listen(absl::Microseconds(random() % 50'000), [] { return false; });
  }
  if (trouble_.empty()) KillAll();
  return trouble_;
}

void Processes::KillAll() {
  for (Process& p : processes_) {
    if (!p.dead) kill(p.id, SIGKILL);
  }
  for (Process& p : processes_) Kill(&p);
}

std::string Processes::Outlive(std::mt19937_64& random,
                               const std::function<std::string()>& disturb) {
  const auto ready = [&] {
    return std::ranges::all_of(processes_, [](const Process& p) { return p.lines > 0; });
  };
  if (!Listen(kHang, ready)) return trouble_.empty() ? "a writer does not begin" : trouble_;
  const int64_t more = static_cast<int64_t>(
      random() % (kMaxBeforeFailureMicroseconds - kLeastBeforeFailureMicroseconds));
  Listen(absl::Microseconds(kLeastBeforeFailureMicroseconds + more), [] { return false; });
  if (trouble_.empty()) trouble_ = disturb();
  if (trouble_.empty() && !LetGetOn(kMaxOutage) && trouble_.empty()) {
    trouble_ = "a writer does not get on after it";
  }
  if (trouble_.empty()) KillAll();
  return trouble_;
}

std::vector<std::string> Processes::End() {
  std::vector<std::string> said;
  for (Process& p : processes_) {
    Kill(&p);
    said.push_back(std::move(p.said));
  }
  processes_.clear();
  return said;
}

}  // namespace heft::kills
