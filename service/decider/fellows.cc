// SPDX-License-Identifier: Apache-2.0
#include "service/decider/fellows.h"

#include <algorithm>
#include <future>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "service/http/errors.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kProbe{1000};  // the longest wait for the answer whether a fellow is there
constexpr milliseconds kFresh{500};   // an answer says for so long that a fellow is there
constexpr milliseconds kAgain{200};   // between questions to one that is not
// From here on others, who are there, are taken instead of one that has not answered.
constexpr milliseconds kGrace{50};
constexpr int kLongWaits = 10;
constexpr uint64_t kMaxPart = uint64_t{1} << 30;

std::string PartName(uint32_t owner) {
  return absl::StrCat("the partial opening of owner ", owner);
}

// Final: whether the answer is the owner's word on this question. Otherwise another owner may be
// asked: a fellow that is overloaded, or takes no request of this decider, has not looked at it.
bool Final(const HttpResponse& response) {
  return response.status == 400 || response.status == 409 || IsSpent(response);
}

}  // namespace

struct Fellows::Fellow {
  FellowConfig config;
  std::unique_ptr<HttpClient> client;
  std::thread watch;  // asks whether it is there, when that is wanted
  // Under the mutex of Fellows:
  bool wanted = false;
  bool doubted = false;  // asked last
  absl::Status last = absl::UnavailableError("an owner has not been asked");
  Clock::time_point answered, failed;

  bool Fresh(Clock::time_point now) const { return last.ok() && now - answered < kFresh; }
};

// Opening: one PartSource.
class Fellows::Opening {
 public:
  Opening(Fellows* fellows, PartQuestion question)
      : fellows_(*fellows), question_(std::move(question)) {}

  absl::StatusOr<std::vector<OwnerPart>> Get(const absl::Status& refused) {
    if (!refused.ok()) Blame(refused);
    while (true) {
      auto chosen = fellows_.Choose(question_, asked_);
      if (!chosen.ok()) return TooFew(chosen.status());
      HEFT_ASSIGN_OR_RETURN(const bool all, AskAll(*chosen));
      if (!all) continue;
      if (question_.owners != nullptr) *question_.owners = set_;
      return std::move(given_);
    }
  }

 private:
  absl::Status TooFew(const absl::Status& others) const {
    std::vector<std::string> why = why_;
    if (!others.message().empty()) why.emplace_back(others.message());
    return absl::UnavailableError(absl::StrCat("this key opens with ", fellows_.own_.threshold,
                                               " of ", fellows_.own_.owners,
                                               " owners: ", absl::StrJoin(why, "; ")));
  }

  // Asks them at once. True: all have given their parts. A refusal is an error.
  absl::StatusOr<bool> AskAll(const std::vector<Fellow*>& chosen) {
    set_ = {fellows_.own_.owner};
    for (const Fellow* const fellow : chosen) set_.push_back(fellow->config.owner);
    std::ranges::sort(set_);
    std::vector<std::future<absl::StatusOr<OwnerPart>>> answers;
    for (Fellow* const fellow : chosen) {
      asked_.insert(fellow->config.owner);
      // The last one is asked by this thread.
      const auto policy = fellow == chosen.back() ? std::launch::deferred : std::launch::async;
      answers.push_back(
          std::async(policy, [this, fellow] { return fellows_.Ask(fellow, question_, set_); }));
    }
    given_.clear();
    absl::Status refusal;
    for (auto it = answers.rbegin(); it != answers.rend(); ++it) {
      auto answer = it->get();
      if (answer.ok()) {
        given_.push_back(*std::move(answer));
      } else if (absl::IsUnavailable(answer.status())) {
        why_.emplace_back(answer.status().message());
      } else {
        refusal = answer.status();
      }
    }
    HEFT_RETURN_IF_ERROR(refusal);
    return given_.size() == chosen.size();
  }

  // Blame: parts that are not taken are the fault of who gave them.
  void Blame(const absl::Status& refused) {
    OwnerSet blamed;
    for (const uint32_t owner : set_) {
      if (absl::StartsWith(refused.message(), PartName(owner) + ":")) blamed = {owner};
    }
    if (blamed.empty()) blamed = set_;
    fellows_.Doubt(blamed);
    why_.emplace_back(refused.message());
    LogLine(LogLevel::kWarning, "a partial opening is not taken, so other owners are asked",
            {{"request", question_.request_id}, {"why", std::string(refused.message())}});
  }

  Fellows& fellows_;
  const PartQuestion question_;
  std::set<uint32_t> asked_;  // they have this question in their journals
  OwnerSet set_;              // of `given_`
  std::vector<OwnerPart> given_;
  std::vector<std::string> why_;
};

Fellows::Fellows(const SharedKey& own) : own_(own) {}

absl::StatusOr<std::shared_ptr<Fellows>> Fellows::Create(const std::vector<FellowConfig>& configs,
                                                         const SharedKey& own) {
  std::shared_ptr<Fellows> out(new Fellows(own));
  for (const FellowConfig& config : configs) {
    if (config.owner == own.owner || config.owner > own.owners) {
      return absl::FailedPreconditionError(absl::StrCat(
          "[[fellow]] owner = ", config.owner, ": this is owner ", own.owner, " of ", own.owners));
    }
    auto fellow = std::make_unique<Fellow>();
    fellow->config = config;
    HEFT_ASSIGN_OR_RETURN(auto tls, TlsContext::ForClient(config.tls));
    HEFT_ASSIGN_OR_RETURN(fellow->client, HttpClient::Create(config.url, std::move(tls)));
    out->fellows_.push_back(std::move(fellow));
  }
  if (configs.size() + 1 < own.threshold) {
    return absl::FailedPreconditionError(
        absl::StrCat("this key opens with ", own.threshold, " of ", own.owners,
                     " owners, and the configuration names ", configs.size(),
                     " others: add a [[fellow]] for each of them"));
  }
  for (const auto& fellow : out->fellows_) {
    fellow->watch = std::thread([fellows = out.get(), one = fellow.get()] { fellows->Watch(one); });
  }
  return out;
}

Fellows::~Fellows() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (const auto& fellow : fellows_) {
    if (fellow->watch.joinable()) fellow->watch.join();
  }
}

void Fellows::Watch(Fellow* fellow) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || fellow->wanted; });
    if (stopping_) return;
    lock.unlock();
    const auto response = fellow->client->Send(
        {.target = "/health/ready", .deadline = kProbe, .most_bytes = 1 << 16, .sign = false});
    const std::string name = absl::StrCat("owner ", fellow->config.owner);
    absl::Status answered;
    if (!response.ok()) {
      answered = absl::UnavailableError(
          absl::StrCat(name, ": ", std::string(response.status().message())));
    } else if (response->status != 200) {
      answered = StatusOfError(*response, name);
    }
    Note(fellow, answered);
    lock.lock();
    fellow->wanted = false;
    changed_.notify_all();
  }
}

void Fellows::Note(Fellow* fellow, const absl::Status& answered) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fellow->last = answered;
  (answered.ok() ? fellow->answered : fellow->failed) = Clock::now();
}

absl::StatusOr<std::vector<Fellows::Fellow*>> Fellows::Choose(const PartQuestion& question,
                                                              const std::set<uint32_t>& excluded) {
  const size_t count = own_.threshold - 1;
  std::unique_lock<std::mutex> lock(mutex_);
  // Each question begins at another fellow, and the same question at the same one.
  std::vector<Fellow*> order;
  for (size_t i = 0; i < fellows_.size(); ++i) {
    Fellow* const fellow = fellows_[(question.digest[0] + i) % fellows_.size()].get();
    if (!excluded.contains(fellow->config.owner)) order.push_back(fellow);
  }
  if (order.size() < count) return absl::UnavailableError("");  // no other set of owners is left
  std::ranges::stable_sort(order, {}, [](const Fellow* fellow) { return fellow->doubted; });
  const auto began = Clock::now(), limit = std::min(question.deadline, began + kProbe);
  while (true) {
    const auto now = Clock::now();
    std::vector<Fellow*> there;
    size_t leading = 0;  // of the first ones in the order, how many are there or known not to be
    for (Fellow* const fellow : order) {
      if (fellow->Fresh(now)) {
        if (there.size() < count) there.push_back(fellow);
      } else {
        const bool away = !fellow->last.ok() && fellow->failed > Clock::time_point();
        if (!fellow->wanted && (!away || now - fellow->failed > kAgain)) {
          fellow->wanted = true;
          changed_.notify_all();
        }
        if (!away && there.size() < count) ++leading;
      }
    }
    if (there.size() == count && (leading == 0 || now - began >= kGrace)) return there;
    if (now >= limit) break;
    changed_.wait_until(lock, std::min(limit, now + kGrace));
  }
  std::vector<std::string> why;
  for (const Fellow* const fellow : order) {
    why.push_back(fellow->last.ok()
                      ? absl::StrCat("owner ", fellow->config.owner, " does not answer in time")
                      : std::string(fellow->last.message()));
  }
  return absl::UnavailableError(absl::StrJoin(why, "; "));
}

absl::StatusOr<OwnerPart> Fellows::Ask(Fellow* fellow, const PartQuestion& question,
                                       const OwnerSet& set) {
  Json terms = question.terms;
  terms["owners"] = set;
  const std::string text = terms.dump();
  ClientRequest request = {.method = "POST", .target = kPartsPath, .most_bytes = kMaxPart};
  std::tie(request.content_type, request.body) =
      FormBody({{"terms", "", "application/json", {text.begin(), text.end()}}}, question.files);
  const auto left = std::chrono::duration_cast<milliseconds>(question.deadline - Clock::now());
  request.deadline =
      std::min(left, fellow->config.wait * (question.may_take_long ? kLongWaits : 1));
  request.headers = {
      {"X-Request-Id", question.request_id},
      {"X-Deadline-Ms", std::to_string(std::max<int64_t>(request.deadline.count(), 1))}};
  const std::string name = absl::StrCat("owner ", fellow->config.owner);
  auto response = fellow->client->Send(request);
  absl::Status status = response.status();
  if (response.ok() && response->status != 200) status = StatusOfError(*response, name);
  if (status.ok()) {
    Note(fellow, status);
    return OwnerPart{PartName(fellow->config.owner), std::move(response->body)};
  }
  if (response.ok() && Final(*response)) {
    Note(fellow, absl::OkStatus());
    return status;
  }
  const std::string why = response.ok() ? std::string(status.message())
                                        : absl::StrCat(name, ": ", std::string(status.message()));
  LogLine(LogLevel::kWarning, "an owner gives no partial opening",
          {{"request", question.request_id}, {"why", why}});
  Note(fellow, absl::UnavailableError(why));
  const std::lock_guard<std::mutex> lock(mutex_);
  // It answers, but not this decider: from now on it is asked last.
  if (response.ok() && response->status < 429) fellow->doubted = true;
  return absl::UnavailableError(why);
}

PartSource Fellows::SourceFor(PartQuestion question) {
  auto opening = std::make_shared<Opening>(this, std::move(question));
  return [opening](const absl::Status& refused) { return opening->Get(refused); };
}

void Fellows::Doubt(const OwnerSet& owners) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& fellow : fellows_) {
    fellow->doubted = std::ranges::count(owners, fellow->config.owner) > 0;
  }
}

uint32_t Fellows::OwnerOf(const std::string& name) const {
  for (const auto& fellow : fellows_) {
    if (fellow->config.name == name) return fellow->config.owner;
  }
  return 0;
}

OwnerSet Fellows::Away() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  OwnerSet away;
  for (const auto& fellow : fellows_) {
    if (!fellow->last.ok() && fellow->failed > Clock::time_point()) {
      away.push_back(fellow->config.owner);
    }
  }
  std::ranges::sort(away);
  return away;
}

}  // namespace heft::service
