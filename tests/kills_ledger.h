// SPDX-License-Identifier: Apache-2.0
// Ledger: the operations that writers announced and completed, and from these the required content
// of a gallery.
#ifndef HEFT_TESTS_KILLS_LEDGER_H_
#define HEFT_TESTS_KILLS_LEDGER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/kills_world.h"

namespace heft::kills {

// Operation: one operation of one writer.
struct Operation {
  std::string kind;
  std::vector<Person> people;
  nlohmann::json intent, answer;
  enum { kCutShort, kRefused, kDone } end = kCutShort;
  // Whether it removes people by generation or expiry, not by name.
  bool Sweeps() const { return kind == "roll back" || kind == "remove expired"; }
  bool Enrols() const { return kind == "enrol" || kind == "bulk"; }
};

// Record: the known facts about a person.
struct Record {
  bool present = false;
  bool waits = false;
  bool removed = false;  // for good, and all remains are overwritten
  bool bulk = false;
  uint64_t expires = 0;
  uint64_t generation = 0;  // a generation in which the person was there; 0: unknown
  std::string id;           // 32 hexadecimal digits, once it is known
};

class Ledger {
 public:
  // Read: takes the lines of one writer's life. An incomplete last line is ignored. Returns false,
  // with the writer's message, if a line reports an error.
  bool Read(const std::string& lines, std::string* error);
  // Check: compares a view after a round with the required content. For interrupted operations, the
  // view decides. Returns sentences about lost people, half-done operations and other faults.
  struct Wrong {
    std::vector<std::string> lost, half, other;
    bool any() const { return !lost.empty() || !half.empty() || !other.empty(); }
  };
  Wrong Check(const View& view);
  // CheckEnd: after the last removal. No trace of removed people may be left, and all have
  // receipts.
  Wrong CheckEnd(const View& view) const;
  // CutShort: the interrupted operations of this round, which have to be repeated.
  std::vector<Operation> CutShort() const;
  // Enrolled, Removed: records a repetition by the checking process.
  void Enrolled(const std::vector<Person>& people);
  void Removed(const std::vector<Person>& people);
  // Whether an operation of this round that has no names may have removed the person.
  bool MayBeSwept(Person person) const;
  void EndRound() { round_.clear(); }
  void EndGallery() {
    EndRound();
    records_.clear();
    receipts_.clear();
  }

  std::vector<Person> Present() const;
  // The people who were there, untouched, for the whole of this round.
  std::vector<Person> Untouched() const;
  std::set<Person> Bulk() const;
  const std::vector<Operation>& round() const { return round_; }
  const std::map<Person, Record>& records() const { return records_; }

 private:
  enum class Fate { kPresent, kAbsent, kEither };
  Fate FateOf(Person person, Record* record) const;
  void CheckPerson(Person person, Record* record, const View& view, Wrong* wrong);
  void CheckGroup(const Operation& operation, const View& view, Wrong* wrong) const;

  std::map<Person, Record> records_;
  std::vector<Operation> round_;
  std::set<std::string> receipts_;
};

}  // namespace heft::kills

#endif  // HEFT_TESTS_KILLS_LEDGER_H_
