// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/callbacks.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/json.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr int kNotices = 3;
constexpr std::chrono::seconds kDeadline{10};
constexpr size_t kLongest = 2048;

// OriginEnd: the end of the origin: the first '/' or '?' after "https://", or the end.
size_t OriginEnd(const std::string& url) {
  return std::min(url.find_first_of("/?", std::string_view("https://").size()), url.size());
}

// IsTarget: no character that could end the request line or begin a fragment.
bool IsTarget(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127 && c != '#'; });
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (plain) {
      out += c;
    } else {
      absl::StrAppend(&out, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Callbacks>> Callbacks::Create(
    const std::vector<std::string>& allowed, std::shared_ptr<TlsContext> tls) {
  auto callbacks = std::make_shared<Callbacks>();
  for (const std::string& origin : allowed) {
    HEFT_ASSIGN_OR_RETURN(callbacks->clients_[origin], HttpClient::Create(origin, tls));
  }
  return callbacks;
}

absl::Status Callbacks::Check(const std::string& url) const {
  if (url.size() > kLongest || !absl::StartsWith(url, "https://") || !IsTarget(url)) {
    return absl::InvalidArgumentError("callback: this must be an https URL without a fragment");
  }
  if (!clients_.contains(url.substr(0, OriginEnd(url)))) {
    return absl::InvalidArgumentError(
        "callback: this address is not in the list of allowed addresses ([callbacks] allowed)");
  }
  return absl::OkStatus();
}

Callbacks::Callbacks() : thread_([this] { Run(); }) {}

Callbacks::~Callbacks() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  came_.notify_all();
  thread_.join();
}

void Callbacks::Call(const std::string& url, const std::string& transaction, const Json& task) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() < kMaxQueued && !stopping_) {
      queue_.push_back({url, transaction, task});
      came_.notify_all();
      return;
    }
  }
  LogLine(LogLevel::kWarning,
          "too many callbacks are waiting: one is dropped; its task can be polled",
          {{"task", task.at("taskId")}});
}

void Callbacks::Run() {
  while (true) {
    Queued next;
    {
      std::unique_lock lock(mutex_);
      came_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    Send(next);
  }
}

bool Callbacks::Pause(std::chrono::seconds time) {
  std::unique_lock lock(mutex_);
  return !came_.wait_for(lock, time, [&] { return stopping_; });
}

void Callbacks::Send(const Queued& waiting) {
  const auto& [url, transaction, task] = waiting;
  const size_t end = OriginEnd(url);
  const auto client = clients_.find(url.substr(0, end));
  if (client == clients_.end()) return;
  ClientRequest request;
  request.method = "POST";
  request.target =
      end == url.size() || url[end] != '/' ? absl::StrCat("/", url.substr(end)) : url.substr(end);
  absl::StrAppend(&request.target, request.target.find('?') == std::string::npos ? "?" : "&",
                  "transactionId=", Escaped(transaction),
                  "&taskId=", Escaped(task.at("taskId").get<std::string>()));
  request.content_type = "application/json";
  const std::string text = task.dump();
  request.body.assign(text.begin(), text.end());
  request.deadline = kDeadline;
  request.most_bytes = 1 << 16;
  absl::Status last;
  for (int attempt = 0; attempt < kNotices; ++attempt) {
    if (attempt > 0 && !Pause(std::chrono::seconds(attempt))) break;
    const auto answer = client->second->Send(request);
    last = answer.status();
    if (answer.ok() && answer->status < 300) return;
    if (answer.ok()) last = absl::UnavailableError(absl::StrCat("status ", answer->status));
  }
  LogLine(LogLevel::kWarning, "a callback was refused; its task can still be polled",
          {{"task", task.at("taskId")}, {"why", std::string(last.message())}});
}

}  // namespace heft::service
