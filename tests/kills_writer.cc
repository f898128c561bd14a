// SPDX-License-Identifier: Apache-2.0
#include "tests/kills_writer.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/files.h"
#include "gallery/change.h"
#include "heft/gallery_admin.h"

namespace heft::kills {
namespace {

using nlohmann::json;

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

// CutShort: thrown when a failure of the database interrupts an operation.
struct CutShort {};

bool MayCutShort(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnknown(status);
}

// kDeadline: the time limit of an identification in seconds, also during failures of the database.
// A hanging session asks after 10 s which host leads its service. That takes up to 3 s a host, and
// is repeated while no host knows yet.
constexpr double kDeadline = 60;

json Hashes(const std::vector<std::vector<uint8_t>>& receipts) {
  json out = json::array();
  for (const auto& receipt : receipts) out.push_back(ReceiptHash(receipt));
  return out;
}

}  // namespace

Writer::Writer(const World& world, const WriterOptions& options)
    : world_(world), options_(options), random_(options.seed), next_(options.first) {
  std::istringstream people(Must(ReadTextFile(options.people)));
  for (Person person; people >> person;) mine_.push_back(person);
}

void Writer::Say(const json& line) const {
  const std::string text = line.dump() + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(options_.pipe, text.data() + done, text.size() - done);
    if (n <= 0) _exit(3);  // no listener
    done += static_cast<size_t>(n);
  }
}

void Writer::Intend(const std::string& op, json line) {
  line["op"] = op;
  Say(line);
}

void Writer::Done(json line) {
  line["done"] = true;
  Say(line);
}

template <typename Status>
bool Writer::Tell(const Status& result, std::initializer_list<absl::StatusCode> refusals) {
  const absl::Status& status = StatusOf(result);
  if (status.ok()) return true;
  if (std::ranges::count(refusals, status.code()) > 0) {
    Say({{"done", false}, {"why", std::string(status.message())}});
    return false;
  }
  if (options_.survives && MayCutShort(status)) throw CutShort();
  Say({{"error", status.ToString()}});
  _exit(4);
}

void Writer::Run() {
  Say({{"ready", true}});
  for (;;) {
    try {
      options_.probes ? Identify() : Step();
    } catch (const CutShort&) {
      // Not too often, since the checking process repeats each interrupted operation.
      absl::SleepFor(absl::Seconds(2));
    }
  }
}

// Identify: searches for one of the founders by the sample of its enrolment. It must be found,
// among all who are there, in a state that is not older than the last one.
void Writer::Identify() {
  const Person person = 1 + Random(kFounders);
  const auto sample = Must(world_.Probe(person));
  Intend("identify");
  const absl::Time begin = absl::Now();
  const auto answer = [&]() -> absl::StatusOr<std::vector<uint8_t>> {
    HEFT_ASSIGN_OR_RETURN(const auto gallery, Gallery::Impl::Open(options_.gallery));
    if (gallery.generation() < generation_) return absl::InternalError("an older state");
    generation_ = gallery.generation();
    HEFT_ASSIGN_OR_RETURN(const Gallery same, Gallery::Open(options_.gallery));
    return world_.server.Identify(same, sample);
  }();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  if (seconds > kDeadline) {
    Tell(absl::InternalError(absl::StrCat("an identification took ", seconds, " s")));
  }
  if (!answer.ok() && MayCutShort(answer.status())) {
    Say({{"done", false}, {"seconds", seconds}, {"why", std::string(answer.status().message())}});
    return absl::SleepFor(absl::Milliseconds(100));
  }
  Tell(answer);
  const auto opened = world_.owner.Open(*answer, "reply", {}, 1);
  Tell(opened);
  if (opened->candidates.empty() || opened->candidates[0].identity != World::Name(person)) {
    Tell(absl::InternalError("a founder was not found: a part was passed off as the whole"));
  }
  Done({{"seconds", seconds}, {"searched", opened->searched}});
}

void Writer::Step() {
  if (!Gallery::Impl::Exists(options_.gallery)) return Enrol(1, 0);
  const size_t what = Random(100);
  if (what < 28) return Enrol(1, 0);
  if (what < 34) return Enrol(1, UnixTime() + Random(2));
  if (what < 38) return Enrol(2 + Random(6), 0);
  if (what < 56) return Remove();
  if (what < 60) return RemoveThoseExpired();
  if (what < 66) return Rollback();
  if (what < 72) return RenewBlocks(false);
  if (what < 77) return RenewBlocks(true);
  if (what < 83) return Retain();
  if (what < 88) return Snapshot();
  if (what < 92) return Read();
  if (what < 96) {
    Intend("fold");
    if (Tell(world_.server.Fold(options_.gallery))) Done();
    return;
  }
  Intend("erase remains");
  const auto receipts = EraseRemains(options_.gallery);
  if (Tell(receipts)) Done({{"receipts", Hashes(*receipts)}});
}

void Writer::Enrol(size_t count, uint64_t expires) {
  std::vector<Person> people(count);
  for (Person& person : people) person = next_++;
  Must(world_.Samples(people));  // they must not be seen before they are enrolled
  Intend(count > 1 ? "bulk" : "enrol", {{"people", people}, {"expires", expires}});
  Tell(world_.Enrol(options_.gallery, people, expires));
  Tell(world_.ActivateAll(options_.gallery));
  const auto gallery = Gallery::Impl::Open(options_.gallery);
  Tell(gallery);
  json ids = json::object();
  for (const Person person : people) {
    const auto named = gallery->Find(World::Name(person));
    Tell(named);
    if (named->places.empty()) continue;  // another writer has rolled back since
    const auto at = gallery->At(named->places[0]);
    Tell(at);
    ids[std::to_string(person)] = HexString(at->person);
  }
  Done({{"ids", ids}, {"generation", gallery->generation()}});
  mine_.insert(mine_.end(), people.begin(), people.end());
}

std::vector<Person> Writer::Take(size_t most) {
  std::vector<Person> people;
  while (people.size() < most && !mine_.empty()) {
    std::swap(mine_[Random(mine_.size())], mine_.back());
    people.push_back(mine_.back());
    mine_.pop_back();
  }
  return people;
}

// Forget: drops those of `people` who are no longer enrolled.
void Writer::Forget(const std::vector<Person>& people) {
  const auto gallery = Gallery::Impl::Open(options_.gallery);
  Tell(gallery);
  for (const Person person : people) {
    const auto named = gallery->Find(World::Name(person));
    Tell(named);
    if (!named->places.empty()) mine_.push_back(person);
  }
}

template <typename Result>
void Writer::Removed(const absl::StatusOr<Result>& result,
                     std::initializer_list<absl::StatusCode> refusals) {
  if (!Tell(result, refusals)) return;
  Done({{"persons", result->persons},
        {"leaving", result->leaving},
        {"overwritten", result->overwritten.ok()},
        {"receipts", Hashes(result->receipts)}});
}

void Writer::Remove() {
  // The more people there are, the more are removed.
  const std::vector<Person> people = Take(1 + Random(mine_.size() > 20 ? 8 : 2));
  if (people.empty()) return;
  std::vector<std::string> names;
  for (const Person person : people) names.push_back(World::Name(person));
  Intend("remove", {{"people", people}});
  const auto removed = heft::Remove(world_.server, options_.gallery, names);
  Removed(removed, {absl::StatusCode::kNotFound});
  if (!removed.ok()) return Forget(people);
  if (removed->leaving > 0 && Random(2) == 0) RenewBlocks(false);
}

void Writer::RemoveThoseExpired() {
  Intend("remove expired", {{"people", json::array()}});
  Removed(RemoveExpired(world_.server, options_.gallery), {});
}

void Writer::Rollback() {
  uint64_t generation = 0;
  {
    const auto gallery = Gallery::Impl::Open(options_.gallery);
    Tell(gallery);
    generation = gallery->generation();
  }
  const size_t before = mine_.size();
  for (size_t i = 0; i < 1 + Random(2); ++i) Enrol(1, 0);
  const std::vector<Person> people(mine_.begin() + static_cast<std::ptrdiff_t>(before),
                                   mine_.end());
  mine_.resize(before);
  Intend("roll back", {{"to", generation}, {"people", people}});
  const auto rolled = RollBack(world_.server, options_.gallery, generation);
  Removed(rolled, {absl::StatusCode::kFailedPrecondition});
  if (!rolled.ok()) Forget(people);
}

void Writer::RenewBlocks(bool compact) {
  Intend(compact ? "compact" : "renew");
  RenewalOptions options;
  options.compact = compact;
  const auto request = AskRenewal(world_.server, options_.gallery, options);
  if (!Tell(request, {absl::StatusCode::kNotFound})) return;
  const auto answer = world_.owner.Renew(*request, "request");
  Tell(answer);
  const auto renewed =
      heft::Renew(world_.server, options_.gallery, answer->signed_renewal, "answer", world_.signer);
  if (!Tell(renewed, {absl::StatusCode::kFailedPrecondition})) return;
  Done({{"erased", renewed->erased}, {"receipts", Hashes(renewed->receipts)}});
}

// Retain: switches whether removals need the key owner.
void Writer::Retain() {
  Intend("retain");
  auto gallery = Gallery::Impl::Open(options_.gallery);
  Tell(gallery);
  auto change = GalleryChange::Begin(*std::move(gallery), /*start=*/false);
  Tell(change);
  change->head().retention = Random(2) == 0 ? Retention{0, 0} : Retention{};
  if (Tell(change->Commit())) Done();
}

void Writer::Snapshot() {
  const std::string to = absl::StrCat(options_.world, "/copy-", options_.first, "-", snapshots_++);
  Intend("snapshot", {{"to", to}});
  const auto gallery = Gallery::Impl::Open(options_.gallery);
  Tell(gallery);
  if (Tell(gallery->store()->Copy(to, {}))) Done();
}

void Writer::Read() {
  Intend("verify");
  const auto gallery = Gallery::Impl::Open(options_.gallery);
  Tell(gallery);
  if (Tell(gallery->CheckIntact(&world_.server_impl().instance()))) Done();
}

}  // namespace heft::kills
