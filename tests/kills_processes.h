// SPDX-License-Identifier: Apache-2.0
// Processes: the writers of gallery_kills. Starts them, reads their lines, and kills them.
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

  // Start: starts one more writer, with a pipe to it.
  void Start(const WriterOptions& options);
  // LetLive: waits until all are ready, and kills them at random moments: all at once, or one first
  // and the others after each of them has made progress. Returns the fault; empty: none.
  std::string LetLive(std::mt19937_64& random);
  // Outlive: the same, but `disturb` disturbs the gallery's database, and the writers are killed
  // after each has made progress. `disturb` returns a fault or nothing.
  std::string Outlive(std::mt19937_64& random, const std::function<std::string()>& disturb);
  // The number of writers that LetLive killed.
  size_t kills() const { return kills_; }
  // End: kills the remaining writers; returns all lines of each.
  std::vector<std::string> End();

 private:
  struct Process {
    pid_t id = 0;
    int pipe = -1;
    std::string said;
    size_t lines = 0;
    bool dead = false;
  };
  // Listens until `done` returns true. Returns false if that takes longer than `most`, or if a
  // writer ended by itself.
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
