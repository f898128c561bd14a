// SPDX-License-Identifier: Apache-2.0
// Writer: a process of gallery_kills that changes a gallery until it is killed. Before an operation
// it says so, and after it returned OK again: a line of JSON each.
//
//   {"ready": true}
//   {"op": "enrol", "people": [7], "expires": 0}   about to happen
//   {"done": true, "ids": {"7": "..."}, ...}       it has happened; "done": false: it was refused,
//                                                  as it may be beside other writers
//   {"error": "..."}                               it failed as it must not
//
// One that survives failovers of its database begins the next operation where one was cut short by
// them, and says nothing of it. A prober only identifies, and says how long it took.
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
  Person first = 0;  // of those that it may enrol
  bool survives = false, probes = false;
};

class Writer {
 public:
  Writer(const World& world, const WriterOptions& options);
  // Run: returns only when something failed, or nobody listens any more.
  void Run();

 private:
  void Step();
  void Identify();
  void Say(const nlohmann::json& line) const;
  void Intend(const std::string& op, nlohmann::json line = nlohmann::json::object());
  void Done(nlohmann::json line = nlohmann::json::object());
  // Done, a refusal where the status is one that other writers may cause, or an error.
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
  uint64_t generation_ = 0;  // the last that was seen by a prober
};

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_WRITER_H_
