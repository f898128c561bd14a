// SPDX-License-Identifier: Apache-2.0
// Ledger: what writers said that they would do and had done, and what a gallery must therefore
// hold.
#ifndef HEFT_TESTS_KILLS_LEDGER_H_
#define HEFT_TESTS_KILLS_LEDGER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/kills_world.h"

namespace heft::kills {

// Operation: of one writer.
struct Operation {
  std::string kind;
  std::vector<Person> people;
  nlohmann::json intent, answer;
  enum { kCutShort, kRefused, kDone } end = kCutShort;
  // Whether it takes away people by what they are, not by name.
  bool Sweeps() const { return kind == "roll back" || kind == "remove expired"; }
  bool Enrols() const { return kind == "enrol" || kind == "bulk"; }
};

// Record: what is known of somebody.
struct Record {
  bool present = false;
  bool waits = false;
  bool removed = false;  // for good, and what is left is overwritten
  bool bulk = false;
  uint64_t expires = 0;
  uint64_t generation = 0;  // he was there in this one; 0: it was not said
  std::string id;           // 32 hexadecimal digits, once it is known
};

class Ledger {
 public:
  // Read: the lines of one writer's life, what is cut off at its end apart. False with what it says
  // of an error.
  bool Read(const std::string& lines, std::string* error);
  // Check: what is found after a round against what must be; takes what was open as it is found.
  // What is wrong, in sentences: people lost, things half done, and others.
  struct Wrong {
    std::vector<std::string> lost, half, other;
    bool any() const { return !lost.empty() || !half.empty() || !other.empty(); }
  };
  Wrong Check(const View& view);
  // CheckEnd: nobody leaves any more: of all who have gone nothing is there, and all have receipts.
  Wrong CheckEnd(const View& view) const;
  // What was cut short of this round: to be asked for again.
  std::vector<Operation> CutShort() const;
  // Done: one of these, by whoever checks.
  void Enrolled(const std::vector<Person>& people);
  void Removed(const std::vector<Person>& people);
  // Whether somebody may have been taken away by an operation of this round that names nobody.
  bool MayBeSwept(Person person) const;
  void EndRound() { round_.clear(); }
  void EndGallery() {
    EndRound();
    records_.clear();
    receipts_.clear();
  }

  std::vector<Person> Present() const;
  // Who has stood there untouched for the whole of this round.
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
