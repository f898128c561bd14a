// SPDX-License-Identifier: Apache-2.0
// Processes: writers of gallery_kills, started, listened to, and killed.
#ifndef HEFT_TESTS_KILLS_PROCESSES_H_
#define HEFT_TESTS_KILLS_PROCESSES_H_

#include <sys/types.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/kills_writer.h"

namespace heft::kills {

class Processes {
 public:
  Processes() = default;
  ~Processes() { End(); }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Start: one more; its pipe is made here.
  void Start(const WriterOptions& options);
  // LetLive: waits until all are ready, and kills them at random moments: all at once, or one, and
  // the others after each of them has got on. What went wrong; empty: nothing.
  std::string LetLive(std::mt19937_64& random);
  // Outlive: the same, but that something is done to what they work on, and they are killed after
  // each has got on. `disturb` says what went wrong.
  std::string Outlive(std::mt19937_64& random, const std::function<std::string()>& disturb);
  // Those that LetLive killed.
  size_t kills() const { return kills_; }
  // End: kills who is left; what each of them said.
  std::vector<std::string> End();

 private:
  struct Process {
    pid_t id = 0;
    int pipe = -1;
    std::string said;
    size_t lines = 0;
    bool dead = false;
  };
  // Listens until `done` says so: false where that takes longer than `most`, or one ended by
  // itself.
  template <typename Done>
  bool Listen(absl::Duration most, const Done& done);
  void Kill(Process* process);
  void KillAll();
  bool LetGetOn(absl::Duration most);

  std::vector<Process> processes_;
  size_t kills_ = 0;
  std::string trouble_;
};

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_PROCESSES_H_
