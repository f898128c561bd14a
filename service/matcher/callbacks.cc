// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/callbacks.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/run/log.h"

namespace heft::service {
namespace {

constexpr int kAttempts = 3;
constexpr std::chrono::seconds kDeadline{10};
constexpr size_t kLongest = 2048;

// Where the origin ends: the first '/', '?' or the end after "https://".
size_t OriginEnd(const std::string& url) {
  return std::min(url.find_first_of("/?", std::string_view("https://").size()), url.size());
}

// What may stand in a target: nothing that could end the request line, or begin a fragment.
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
        "callback: this service does not call that address; its operator lists those that it does "
        "([callbacks] allowed)");
  }
  return absl::OkStatus();
}

void Callbacks::Call(const std::string& url, const std::string& transaction,
                     const nlohmann::ordered_json& task) {
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
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::seconds(attempt));
    const auto answer = client->second->Send(request);
    last = answer.status();
    if (answer.ok() && answer->status < 300) return;
    if (answer.ok()) last = absl::UnavailableError(absl::StrCat("status ", answer->status));
  }
  LogLine(LogLevel::kWarning, "a callback was not taken; its task can still be asked for",
          {{"task", task.at("taskId")}, {"why", std::string(last.message())}});
}

}  // namespace heft::service
