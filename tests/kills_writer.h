// SPDX-License-Identifier: Apache-2.0
// Writer: a process of gallery_kills that changes a gallery until it is killed. It writes a line of
// JSON before each operation, and another one after it returned OK.
//
//   {"ready": true}
//   {"op": "enrol", "people": [7], "expires": 0}   about to happen
//   {"done": true, "ids": {"7": "..."}, ...}       it has happened; "done": false: it was refused,
//                                                  as it may be beside other writers
//   {"error": "..."}                               it failed in a way that is not allowed
//
// A writer that survives failovers of its database starts the next operation after one that they
// interrupted, and writes no line about it. A prober only identifies, and reports the time taken.
#ifndef HEFT_TESTS_KILLS_WRITER_H_
#define HEFT_TESTS_KILLS_WRITER_H_

#include <random>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/kills_world.h"

namespace heft::kills {

struct WriterOptions {
  std::string world, gallery, people;  // folders, and a file of who is this one's to remove
  int pipe = -1;
  uint64_t seed = 0;
  Person first = 0;  // the first of those that it may enrol
  bool survives = false, probes = false;
};

class Writer {
 public:
  Writer(const World& world, const WriterOptions& options);
  // Run: returns only after an error, or when no process listens any more.
  void Run();

 private:
  void Step();
  void Identify();
  void Say(const nlohmann::json& line) const;
  void Intend(const std::string& op, nlohmann::json line = nlohmann::json::object());
  void Done(nlohmann::json line = nlohmann::json::object());
  // Tell: reports success, a refusal if other writers may cause this status, or an error. Returns
  // whether the operation succeeded.
  template <typename Status>
  bool Tell(const Status& status, std::initializer_list<absl::StatusCode> refusals = {});

  void Enrol(size_t count, uint64_t expires);
  void Remove();
  void RemoveThoseExpired();
  void Rollback();
  void RenewBlocks(bool compact);
  void Retain();
  void Snapshot();
  void Read();
  template <typename Result>
  void Removed(const absl::StatusOr<Result>& result,
               std::initializer_list<absl::StatusCode> refusals);
  void Forget(const std::vector<Person>& people);
  std::vector<Person> Take(size_t most);
  size_t Random(size_t below) { return random_() % below; }

  const World& world_;
  const WriterOptions options_;
  std::mt19937_64 random_;
  Person next_;
  std::vector<Person> mine_;
  size_t snapshots_ = 0;
  uint64_t generation_ = 0;  // the last one that a prober saw
};

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_WRITER_H_
