// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/stored_answers.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace heft::service {
namespace {

constexpr size_t kLongestKey = 255;

// WhatIsAsked: the request without its nonce and time, which differ at each repetition.
Hash WhatIsAsked(const HttpRequest& request) {
  std::string text = absl::StrCat(request.method, "\n", request.path, "\n");
  for (const auto& [name, value] : request.query) {
    absl::StrAppend(&text, name.size(), ":", name, value.size(), ":", value);
  }
  absl::StrAppend(&text, "\n", HexString(HashBytes(request.bytes())));
  return HashBytes(AsBytes(text));
}

}  // namespace

absl::StatusOr<std::string> IdempotencyKeyOf(const HttpRequest& request) {
  std::string key = request.Header("idempotency-key");
  if (key.size() <= kLongestKey) return key;
  return absl::InvalidArgumentError(
      absl::StrCat("Idempotency-Key: at most ", kLongestKey, " bytes"));
}

void StoredAnswers::Forget() {
  const auto now = std::chrono::steady_clock::now();
  while (!order_.empty()) {
    const auto oldest = entries_.find(order_.front());
    const bool room = order_.size() <= kMax && bytes_ <= kMaxBytes;
    if (room && oldest->second.since + kLife > now) return;
    bytes_ -= oldest->second.answer.body.size();
    entries_.erase(oldest);
    order_.pop_front();
  }
}

absl::StatusOr<HttpResponse> StoredAnswers::Once(const HttpRequest& request, const Asking& ask) {
  HEFT_ASSIGN_OR_RETURN(const std::string key, IdempotencyKeyOf(request));
  if (key.empty()) return ask();
  const std::string name = absl::StrCat(request.who.name, "\n", key);
  const Hash what = WhatIsAsked(request);
  {
    std::unique_lock lock(mutex_);
    Forget();
    while (true) {
      const auto [entry, is_new] = entries_.try_emplace(name);
      if (is_new) {
        entry->second.what = what;
        break;
      }
      if (entry->second.what != what) {
        return absl::AlreadyExistsError(
            "Idempotency-Key: already used by another request: use a new one");
      }
      if (entry->second.answered) return entry->second.answer;
      if (ended_.wait_until(lock, request.deadline) == std::cv_status::timeout) {
        return absl::UnavailableError("the same request is in progress: try again later");
      }
    }
  }
  // After any result, also an exception, wake the calls that wait for this one.
  const absl::Cleanup end = [this, &name] {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(name);
    if (entry != entries_.end() && !entry->second.answered) entries_.erase(entry);
    ended_.notify_all();
  };
  absl::StatusOr<HttpResponse> answer = ask();
  if (answer.ok() && answer->status < 400 && answer->body.size() <= kLongest) Keep(name, *answer);
  return answer;
}

void StoredAnswers::Keep(const std::string& name, const HttpResponse& answer) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[name];
  entry.answer = answer;
  entry.since = std::chrono::steady_clock::now();
  order_.push_back(name);
  bytes_ += answer.body.size();
  entry.answered = true;
}

}  // namespace heft::service
