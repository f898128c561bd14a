// SPDX-License-Identifier: Apache-2.0
// One to three processes change one gallery in all possible ways, and are killed (SIGKILL) at
// random moments. After each such round, another process opens the gallery and checks that:
// - each acknowledged operation is there, once;
// - each interrupted operation happened completely or not at all, and repeating it completes it;
// - templates decrypt to their values, and empty places to zero;
// - no page contains the name of a removed person;
// - no process waits for a dead one.
//
//   gallery_kills [KILLS = 1000] [--seed N] [--seconds MOST] [--folder FOLDER]
//   gallery_kills FAILURES --service SERVICE --disturb COMMAND [--tally FILE] ...
//
// In the second form, galleries are at postgres:SERVICE, and the database fails instead of the
// writers. COMMAND NUMBER makes it fail and returns when it is back. It may print counts as JSON.
// Writers live until each has progressed after the failure, and then are killed. Meanwhile a prober
// identifies all the time (scripts/try-failovers). FILE gets a line for each failure after which
// all checks passed. Failures that it already has are counted and not repeated.
//
// Prints its counts as JSON. Exits with 1 if a check fails.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "base/testing.h"
#include "heft/base.h"
#include "heft/gallery_admin.h"
#include "postgres/use_postgres.h"
#include "tests/kills_ledger.h"
#include "tests/kills_options.h"
#include "tests/kills_processes.h"
#include "tests/kills_tally.h"
#include "tests/kills_writer.h"

namespace heft::kills {
namespace {

using nlohmann::json;

// kKillsAGallery: after so many killed writers, the next gallery is started.
constexpr size_t kKillsAGallery = 40;

class Program {
 public:
  Program(const Options& options, const std::string& folder)
      : options_(options), world_(Must(World::Make(folder))) {
    if (!options_.tally.empty()) {
      for (const json& line : Must(ReadLines(options_.tally))) {
        Add(line.at("counts"), &total_);
        ++kills_;
      }
    }
    random_.seed(options_.seed + kills_);
  }

  bool Run() {
    const absl::Time start = absl::Now();
    absl::Time lap = start;
    size_t in_gallery = 0;
    Begin();
    while (good_ && kills_ < options_.kills &&
           absl::ToDoubleSeconds(absl::Now() - start) < options_.seconds) {
      const size_t before = kills_;
      Round();
      Increase(&round_, "rounds");
      const absl::Time now = absl::Now();
      Increase(&round_, "seconds", absl::ToDoubleSeconds(now - std::exchange(lap, now)));
      KeepCount();
      in_gallery += kills_ - before;
      if (good_ && in_gallery >= kKillsAGallery) {
        End();
        Begin();
        in_gallery = 0;
      }
    }
    if (good_) End();
    Print();
    return good_;
  }

 private:
  // Patiently: repeats an operation while the database is unavailable.
  template <typename Do>
  auto Patiently(const Do& something) {
    auto result = something();
    for (int i = 0; i < 100 && options_.in_database() && absl::IsUnavailable(result.status());
         ++i) {
      absl::SleepFor(absl::Seconds(1));
      result = something();
    }
    return result;
  }

  void Begin() {
    ledger_.EndGallery();
    std::error_code ignored;
    if (!gallery_.empty()) std::filesystem::remove_all(gallery_, ignored);
    std::filesystem::remove_all(world_.folder + "/samples", ignored);
    std::filesystem::create_directory(world_.folder + "/samples", ignored);
    gallery_ = options_.in_database()
                   ? absl::StrCat("postgres:", options_.service, ":g", galleries_++)
                   : absl::StrCat(world_.folder, "/gallery-", galleries_++);
    Increase(&round_, "galleries");
    if (options_.in_database()) Found();
  }

  // Enrols the founders, who stay for the whole run.
  void Found() {
    for (Person person = 1; good_ && person <= kFounders; ++person) {
      const auto enrolled = Patiently([&] { return world_.Enrol(gallery_, {person}, 0); });
      if (!enrolled.ok()) Wrong("founding: " + enrolled.status().ToString());
      ledger_.Enrolled({person});
    }
    const auto activated = Patiently([&] { return world_.ActivateAll(gallery_); });
    if (!activated.ok()) Wrong("founding: " + activated.status().ToString());
    if (good_) Take(&Ledger::Check);
  }

  void Round() {
    history_.clear();
    const size_t writers = std::min(1 + random_() % 3, options_.kills - kills_);
    std::vector<std::vector<Person>> people(writers);
    for (const Person person : ledger_.Present()) {
      if (person > kFounders) people[random_() % writers].push_back(person);
    }
    for (size_t w = 0; w < writers; ++w) {
      std::ostringstream text;
      for (const Person person : people[w]) text << person << "\n";
      const std::string path = absl::StrCat(world_.folder, "/people-", w);
      if (!WriteOutput(path, AsBytes(text.str())).ok()) return Wrong("cannot write " + path);
      processes_.Start({world_.folder, gallery_, path, -1, random_(), next_person_,
                        options_.in_database(), false});
      next_person_ += 10000;
    }
    const std::string trouble = options_.in_database() ? FailOver() : processes_.LetLive(random_);
    kills_ += options_.in_database() ? 1 : processes_.kills();
    Increase(&round_["rounds_by_writers"], std::to_string(writers));
    for (const std::string& lines : processes_.End()) {
      history_.push_back(lines);
      std::string error;
      if (!ledger_.Read(lines, &error)) return Wrong("a writer failed: " + error);
    }
    if (!trouble.empty()) return Wrong(trouble);
    Count(ledger_.round(), &round_);
    Check();
  }

  std::string FailOver() {
    processes_.Start({world_.folder, gallery_, "/dev/null", -1, random_(), 0, true, true});
    return processes_.Outlive(random_, [&]() -> std::string {
      const std::string command = absl::StrCat(options_.disturb, " ", kills_);
      std::string said;
      FILE* const disturbing = popen(command.c_str(), "r");
      if (disturbing == nullptr) return "cannot start: " + command;
      for (int c; (c = fgetc(disturbing)) != EOF;) said.push_back(static_cast<char>(c));
      if (pclose(disturbing) != 0) return "failed: " + command;
      const json counts = json::parse(said, nullptr, /*allow_exceptions=*/false);
      if (counts.is_object()) Add(counts, &round_);
      return "";
    });
  }

  // Adds this round's counts to the total.
  void KeepCount() {
    Add(round_, &total_);
    if (good_ && !options_.tally.empty()) {
      const absl::Status written = AddLine(
          options_.tally, {{"number", kills_}, {"seed", options_.seed}, {"counts", round_}});
      if (!written.ok()) Wrong(written.ToString());
    }
    round_ = json::object();
  }

  void Check() {
    if (!Take(&Ledger::Check)) return;
    CheckCopies();
    const std::vector<Operation> again = ledger_.CutShort();
    for (const Operation& operation : again) {
      if (good_) Repeat(operation);
    }
    ledger_.EndRound();
    if (good_ && !again.empty()) Take(&Ledger::Check);
  }

  // Looks at the gallery, and checks the result.
  template <typename Checker>
  bool Take(const Checker& checker) {
    const absl::StatusOr<View> view =
        options_.in_database() || Gallery::Impl::Exists(gallery_)
            ? Patiently([&] { return Look(world_, gallery_, ledger_.Bulk()); })
            : View();  // its first writers were killed too soon
    if (!view.ok()) {
      Wrong(view.status().ToString());
      return false;
    }
    Raise(&round_, "largest_error", view->worst);
    Raise(&round_, "most_templates", static_cast<double>(view->places.size()));
    const Ledger::Wrong wrong = (ledger_.*checker)(*view);
    Increase(&round_, "lost", static_cast<double>(wrong.lost.size()));
    Increase(&round_, "half_done", static_cast<double>(wrong.half.size()));
    for (const auto* sentences : {&wrong.lost, &wrong.half, &wrong.other}) {
      for (const std::string& sentence : *sentences) Wrong(sentence);
    }
    return !wrong.any();
  }

  void CheckCopies() {
    for (const Operation& operation : ledger_.round()) {
      if (operation.kind != "snapshot") continue;
      const std::string folder = operation.intent["to"];
      const bool there = StoreExists(folder);
      if (operation.end == Operation::kDone || there) {
        const size_t name = gallery_.rfind(':');
        const auto people =
            LookAtCopy(world_, options_.in_database() ? folder + gallery_.substr(name) : folder);
        if (!people.ok()) return Wrong(absl::StrCat(folder, ": ", people.status().ToString()));
        for (const Person person : ledger_.Untouched()) {
          if (!people->contains(person)) Wrong(folder + " lacks " + World::Name(person));
        }
        Increase(&round_, "snapshots_checked");
      }
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  }

  // Repeats an interrupted operation unchanged.
  void Repeat(const Operation& operation) {
    if (operation.Enrols()) {
      const Person first = operation.people.front();
      const bool known = ledger_.records().at(first).present || ledger_.records().at(first).waits;
      const auto enrolled = Patiently(
          [&] { return world_.Enrol(gallery_, operation.people, operation.intent["expires"]); });
      if (!enrolled.ok()) return Wrong("again: " + enrolled.status().ToString());
      Increase(&round_, "repeated");
      const bool swept = std::ranges::any_of(
          operation.people, [&](Person person) { return ledger_.MayBeSwept(person); });
      if (known && !enrolled->repeated) return Wrong("an enrolment happened again");
      if (!known && enrolled->repeated && !swept) {
        Increase(&round_, "lost");
        return Wrong("an enrolment was remembered, and is not there");
      }
      const auto activated = Patiently([&] { return world_.ActivateAll(gallery_); });
      if (!activated.ok()) return Wrong("again: " + activated.status().ToString());
      if (known || !enrolled->repeated) {
        for (const Person person : operation.people) {
          // Of people enrolled together, some may have been rolled back already.
          if (ledger_.records().at(person).present || !known || !swept ||
              ledger_.records().at(person).waits) {
            ledger_.Enrolled({person});
          }
        }
      }
    } else if (operation.kind == "remove") {
      std::vector<std::string> names;
      std::vector<Person> people;
      for (const Person person : operation.people) {
        if (ledger_.records().at(person).present) people.push_back(person);
      }
      for (const Person person : people.empty() ? operation.people : people) {
        names.push_back(World::Name(person));
      }
      const auto removed = Patiently([&] { return Remove(world_.server, gallery_, names); });
      Increase(&round_, "repeated");
      if (people.empty() ? !absl::IsNotFound(removed.status()) : !removed.ok()) {
        return Wrong("a removal, again: " + removed.status().ToString());
      }
      ledger_.Removed(people);
    }
  }

  // Completes all pending work, and checks that nothing of the removed people is left.
  void End() {
    if (!options_.in_database() && !Gallery::Impl::Exists(gallery_)) return;
    history_.clear();
    for (int i = 0; i < 20; ++i) {
      RenewalOptions options;
      options.compact = true;
      const auto request = Patiently([&] { return AskRenewal(world_.server, gallery_, options); });
      if (absl::IsNotFound(request.status())) break;
      if (!request.ok()) return Wrong("asking at the end: " + request.status().ToString());
      const auto answer = world_.owner.Renew(*request, "request");
      if (!answer.ok()) return Wrong("answering at the end: " + answer.status().ToString());
      const auto renewed =
          Renew(world_.server, gallery_, answer->signed_renewal, "answer", world_.signer);
      if (!renewed.ok()) return Wrong("renewing at the end: " + renewed.status().ToString());
    }
    const auto erased = Patiently([&] { return EraseRemains(gallery_); });
    if (!erased.ok()) return Wrong("erasing at the end: " + erased.status().ToString());
    if (options_.in_database()) {
      Take(&Ledger::CheckEnd);
      return;
    }
    const auto store = OpenStore(gallery_, StoreMode::kRead);
    if (!store.ok()) return Wrong(store.status().ToString());
    const auto statistics = (*store)->Statistics();
    if (!statistics.ok()) return Wrong(statistics.status().ToString());
    if (statistics->readers > 0) Wrong("readers who are dead hold a state");
    Raise(&round_, "most_store_bytes", static_cast<double>(statistics->bytes));
    Take(&Ledger::CheckEnd);
  }

  void Wrong(const std::string& what) {
    if (good_) {
      for (const std::string& lines : history_) std::cerr << "a writer:\n" << lines;
      std::cerr << "seed " << options_.seed << ", after " << kills_ << " kills"
                << ", " << gallery_ << "\n";
    }
    std::cerr << "WRONG: " << what << std::endl;
    good_ = false;
  }

  void Print() {
    Add(round_, &total_);
    total_["seed"] = options_.seed;
    total_["kills"] = kills_;
    total_["good"] = good_;
    std::cout << total_.dump(1) << std::endl;
  }

  const Options options_;
  std::mt19937_64 random_;
  const World world_;
  Processes processes_;
  Ledger ledger_;
  std::string gallery_;
  Person next_person_ = 10000;
  std::vector<std::string> history_;  // of this round
  bool good_ = true;
  size_t kills_ = 0, galleries_ = 0;
  json total_ = json::object(), round_ = json::object();
};

int WriterMain(const std::vector<std::string>& arguments) {
  WriterOptions options{arguments[1], arguments[2], arguments[3]};
  if (!absl::SimpleAtoi(arguments[4], &options.pipe) ||
      !absl::SimpleAtoi(arguments[5], &options.seed) ||
      !absl::SimpleAtoi(arguments[6], &options.first)) {
    return 2;
  }
  options.probes = arguments[7] == "probes";
  options.survives = arguments[7] != "dies";
  UsePostgres();
  SetThreadCount(1);
  const World world = Must(World::Load(options.world));
  Writer(world, options).Run();
  return 3;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() == 8 && arguments[0] == "--writer") return WriterMain(arguments);
  Options options;
  if (!Parse(arguments, &options)) {
    std::cerr
        << "usage: gallery_kills [KILLS] [--seed N] [--seconds MOST] [--folder FOLDER]\n"
           "       gallery_kills FAILURES --service SERVICE --disturb COMMAND [--tally FILE] ...\n";
    return 2;
  }
  SetThreadCount(1);
  UsePostgres();
  // The last generations of galleries are kept here, also by the writers, not in the user's own
  // state folder.
  const testing::TemporaryFolder temporary;
  setenv("HEFT_STATE_DIR", (temporary / "state").c_str(), 1);
  if (!options.folder.empty()) return Program(options, options.folder).Run() ? 0 : 1;
  return Program(options, temporary.path()).Run() ? 0 : 1;
}

}  // namespace
}  // namespace heft::kills

int main(int argc, char** argv) {
  return heft::kills::Main(std::vector<std::string>(argv + 1, argv + argc));
}
