// SPDX-License-Identifier: Apache-2.0
#include "tests/kills_ledger.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace heft::kills {

using nlohmann::json;

bool Ledger::Read(const std::string& lines, std::string* error) {
  std::istringstream in(lines);
  bool open = false;
  for (std::string text; std::getline(in, text);) {
    if (in.eof()) break;  // its writer was killed while it wrote this
    const json line = json::parse(text);
    if (line.contains("error")) {
      *error = line["error"];
      return false;
    }
    if (line.contains("op")) {
      Operation& operation = round_.emplace_back();
      operation.kind = line["op"];
      operation.intent = line;
      if (line.contains("people")) operation.people = line["people"].get<std::vector<Person>>();
      open = true;
    } else if (line.contains("done") && open) {
      round_.back().answer = line;
      round_.back().end = line["done"] == true ? Operation::kDone : Operation::kRefused;
      open = false;
    }
  }
  return true;
}

bool Ledger::MayBeSwept(Person person) const {
  const auto it = records_.find(person);
  const Record record = it == records_.end() ? Record() : it->second;
  return std::ranges::any_of(round_, [&](const Operation& operation) {
    if (operation.end == Operation::kRefused) return false;
    if (operation.kind == "remove expired") return record.expires != 0;
    // If no answer gave a person's generation, the person may have come at any time.
    return operation.kind == "roll back" &&
           (record.generation == 0 || record.generation > operation.intent["to"]);
  });
}

Ledger::Fate Ledger::FateOf(Person person, Record* record) const {
  bool present = record->present, certain = true;
  for (const Operation& operation : round_) {
    if (std::ranges::count(operation.people, person) == 0 || operation.Sweeps()) continue;
    if (operation.Enrols()) {
      present = true;
      certain = operation.end == Operation::kDone;
    } else if (operation.kind == "remove" && operation.end != Operation::kRefused) {
      certain = operation.end == Operation::kDone;
      if (certain) present = false;
      if (certain && operation.answer["overwritten"] == true) record->removed = true;
    }
  }
  if (!present) return Fate::kAbsent;
  if (!certain) return Fate::kEither;
  bool unsure = false;
  for (const Operation& operation : round_) {
    if (!operation.Sweeps() || operation.end == Operation::kRefused) continue;
    if (operation.end == Operation::kCutShort) {
      unsure = unsure || MayBeSwept(person);
      continue;
    }
    const auto persons = operation.answer["persons"].get<std::vector<std::string>>();
    if (std::ranges::count(persons, record->id) > 0) {
      if (operation.answer["overwritten"] == true) record->removed = true;
      return Fate::kAbsent;
    }
  }
  // A person without an id had left before the writer could look it up, so a sweep removed the
  // person.
  if (record->id.empty()) return MayBeSwept(person) ? Fate::kAbsent : Fate::kPresent;
  return unsure ? Fate::kEither : Fate::kPresent;
}

void Ledger::CheckPerson(Person person, Record* record, const View& view, Wrong* wrong) {
  const std::string name = World::Name(person);
  const auto found = view.places.find(person);
  const size_t places = found == view.places.end() ? 0 : found->second.size();
  if (places > 1) wrong->other.push_back(absl::StrCat(name, " is enrolled ", places, " times"));
  const Fate fate = FateOf(person, record);
  if (places == 0 && fate == Fate::kPresent) {
    wrong->lost.push_back(name + " was enrolled and is not there");
  }
  if (places > 0 && fate == Fate::kAbsent) {
    wrong->lost.push_back(name + " was removed and is there");
  }
  record->waits = view.waiting.contains(person);
  if (record->waits && fate != Fate::kEither) {
    wrong->other.push_back(name + " waits, and was activated or removed");
  }
  if (record->waits && places > 0) wrong->half.push_back(name + " waits, and is enrolled");
  if (record->removed && view.named.contains(person)) {
    wrong->other.push_back(name + " was erased, and the name stands in the store's file");
  }
  record->present = places > 0;
  if (!record->present) return;
  const std::string& id = view.ids.at(person);
  if (!record->id.empty() && record->id != id) wrong->other.push_back(name + " has another id");
  record->id = id;
  // Later rollbacks go to later generations.
  if (record->generation == 0) record->generation = view.generation;
}

// All people of an operation are there or none, unless a sweep may have removed some.
void Ledger::CheckGroup(const Operation& operation, const View& view, Wrong* wrong) const {
  if (operation.end != Operation::kCutShort || operation.people.size() < 2) return;
  size_t there = 0, waiting = 0;
  for (const Person person : operation.people) {
    const bool others = std::ranges::any_of(round_, [&](const Operation& other) {
      return &other != &operation && other.Sweeps() && other.end != Operation::kRefused;
    });
    if (others && MayBeSwept(person)) return;
    there += view.places.contains(person);
    waiting += view.waiting.contains(person);
  }
  const auto whole = [&](size_t n) { return n == 0 || n == operation.people.size(); };
  if (whole(there) && whole(waiting)) return;
  wrong->half.push_back(absl::StrCat(operation.intent.dump(), " was cut short: ", there,
                                     " are there and ", waiting, " wait"));
}

Ledger::Wrong Ledger::Check(const View& view) {
  Wrong wrong;
  wrong.other = view.complaints;
  for (const Operation& operation : round_) {
    if (operation.Enrols()) {
      for (const Person person : operation.people) {
        Record& record = records_[person];
        record.bulk = operation.kind == "bulk";
        record.expires = operation.intent["expires"];
        if (operation.end != Operation::kDone) continue;
        record.generation = operation.answer["generation"];
        record.id = operation.answer["ids"].value(std::to_string(person), "");
      }
    }
    if (operation.end == Operation::kDone && operation.answer.contains("receipts")) {
      for (const auto& hash : operation.answer["receipts"]) receipts_.insert(hash);
    }
  }
  for (const Operation& operation : round_) CheckGroup(operation, view, &wrong);
  for (auto& [person, record] : records_) CheckPerson(person, &record, view, &wrong);
  for (const auto& [person, places] : view.places) {
    if (!records_.contains(person)) wrong.other.push_back("nobody enrolled " + World::Name(person));
  }
  for (const std::string& hash : receipts_) {
    if (!view.receipts.contains(hash)) wrong.lost.push_back("receipt " + hash + " is not there");
  }
  return wrong;
}

Ledger::Wrong Ledger::CheckEnd(const View& view) const {
  Wrong wrong;
  wrong.other = view.complaints;
  if (view.leaving > 0) wrong.other.push_back("somebody leaves, and there is nothing to renew");
  for (const auto& [person, record] : records_) {
    const std::string name = World::Name(person);
    if (record.present != view.places.contains(person)) {
      wrong.lost.push_back(name + " is another than before the last renewal");
    }
    if (record.present) continue;
    if (view.named.contains(person)) {
      wrong.other.push_back(name + " has gone, and the name stands in the store's file");
    }
    if (!record.id.empty() && !view.receipted.contains(record.id)) {
      wrong.lost.push_back(name + " has gone without a receipt");
    }
  }
  return wrong;
}

std::vector<Operation> Ledger::CutShort() const {
  std::vector<Operation> out;
  std::ranges::copy_if(round_, std::back_inserter(out), [](const Operation& operation) {
    return operation.end == Operation::kCutShort;
  });
  return out;
}

void Ledger::Enrolled(const std::vector<Person>& people) {
  for (const Person person : people) records_[person].present = true;
}

void Ledger::Removed(const std::vector<Person>& people) {
  for (const Person person : people) records_[person].present = false;
}

std::vector<Person> Ledger::Present() const {
  std::vector<Person> people;
  for (const auto& [person, record] : records_) {
    if (record.present) people.push_back(person);
  }
  return people;
}

std::vector<Person> Ledger::Untouched() const {
  std::vector<Person> people;
  for (const Person person : Present()) {
    const bool named = std::ranges::any_of(round_, [&](const Operation& operation) {
      return std::ranges::count(operation.people, person) > 0;
    });
    if (!named && !MayBeSwept(person)) people.push_back(person);
  }
  return people;
}

std::set<Person> Ledger::Bulk() const {
  std::set<Person> people;
  for (const auto& [person, record] : records_) {
    if (record.bulk) people.insert(person);
  }
  for (const Operation& operation : round_) {
    if (operation.kind == "bulk") people.insert(operation.people.begin(), operation.people.end());
  }
  return people;
}

}  // namespace heft::kills
