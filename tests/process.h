// SPDX-License-Identifier: Apache-2.0
// Runs programs as separate processes without a shell, and compares folders before and after.
#ifndef HEFT_TESTS_PROCESS_H_
#define HEFT_TESTS_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/testing.h"

namespace heft::e2e {

using Args = std::vector<std::string>;
// Join: the arguments of both.
Args Join(Args args, const Args& more);

// The exit codes of the programs other than 0 (program/common.h).
inline constexpr int kUsage = 2, kInput = 3, kSystem = 4, kBudget = 5, kFinding = 6,
                     kInterrupted = 130;

// Finished: the result of a process.
struct Finished {
  int exit_code = -1;  // -1 if a signal ended it
  int signal = 0;
  std::string out, err;
};

class Process {
 public:
  // Starts `program` with stdin from /dev/null; output goes to files of this object.
  Process(const std::string& program, const Args& args);
  ~Process();  // kills what still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  bool Running();
  std::string Err() const;  // so far
  Finished Wait();

 private:
  pid_t pid_ = -1;
  testing::TemporaryFolder folder_;
  const std::string out_path_ = folder_ / "out", err_path_ = folder_ / "err";
  bool reaped_ = false;
  int status_ = 0;
};

Finished RunProgram(const std::string& program, const Args& args);

// The number of lines; a last line without a newline counts.
size_t Lines(const std::string& text);

// Snapshot: a map from path to kind, permissions and hash, for everything under `root`.
std::map<std::string, std::string> Snapshot(const std::string& root);

// Slurp: the whole content of a file, which must exist.
std::string Slurp(const std::string& path);
// SlurpStore: of the files of a store.
std::string SlurpStore(const std::string& gallery);
void Spill(const std::string& path, const std::string& content);

}  // namespace heft::e2e

#endif  // HEFT_TESTS_PROCESS_H_
