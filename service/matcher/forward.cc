// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/forward.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/access/jwt.h"
#include "service/http/errors.h"
#include "service/json.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kMaxAnswer = uint64_t{1} << 29;
constexpr milliseconds kBetween{100};  // attempts, twice as long each time
constexpr milliseconds kNearly{200};   // less than a whole attempt is one still

milliseconds TimeLeft(const Forwarded& of) {
  return std::chrono::duration_cast<milliseconds>(of.deadline - Clock::now());
}

// NoAnswer: the decider may not have seen the request, or its answer was lost.
bool NoAnswer(const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) {
    return absl::IsUnavailable(response.status()) || absl::IsDeadlineExceeded(response.status()) ||
           absl::IsDataLoss(response.status());
  }
  return response->status == 502 || response->status == 503 || response->status == 504 ||
         IsReplayed(*response);
}

// TookTooLong: whether the deadline passed, noticed by either side.
bool TookTooLong(const absl::StatusOr<HttpResponse>& response) {
  return response.ok() ? response->status == 504 : absl::IsDeadlineExceeded(response.status());
}

}  // namespace

absl::Status Circuit::Enter(Clock::time_point now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (failures_ < options_.failures) return absl::OkStatus();
  if (now >= until_ && !trying_) {
    trying_ = true;
    return absl::OkStatus();
  }
  const auto wait = std::chrono::duration_cast<milliseconds>(until_ - now).count();
  return absl::UnavailableError(absl::StrCat("the decider cannot be reached: ask again in ",
                                             std::max<int64_t>(1, (wait + 999) / 1000), " s"));
}

void Circuit::Leave(bool answered, Clock::time_point now) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (answered) {
    failures_ = 0;
    pause_ = milliseconds(0);
    trying_ = false;
    return;
  }
  const bool first = ++failures_ == options_.failures;
  if (first || trying_) {
    pause_ = std::clamp(2 * pause_, options_.pause, options_.longest);
    until_ = now + pause_;
  }
  trying_ = false;
}

void Circuit::Abandon() {
  const std::lock_guard<std::mutex> guard(mutex_);
  trying_ = false;
}

bool Circuit::open() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return failures_ >= options_.failures;
}

HttpDecider::HttpDecider(std::unique_ptr<HttpClient> client, ForwardOptions options,
                         std::shared_ptr<TlsContext> tls)
    : client_(std::move(client)),
      options_(options),
      tls_(std::move(tls)),
      decisions_{options.attempt, Circuit(options.circuit)},
      exchanges_{options.exchange, Circuit(options.circuit)} {}

absl::StatusOr<HttpResponse> HttpDecider::Try(Way* way, const ClientRequest& request) {
  HEFT_RETURN_IF_ERROR(way->circuit.Enter());
  auto response = client_->Send(request);
  // A timeout of a request with little time left says nothing about the decider. So no client can
  // open the circuit for others.
  if (TookTooLong(response) && request.deadline < way->attempt - kNearly) {
    way->circuit.Abandon();
  } else {
    way->circuit.Leave(!NoAnswer(response) || (response.ok() && IsReplayed(*response)));
  }
  return response;
}

absl::StatusOr<HttpResponse> HttpDecider::Post(Way* way, const std::string& path,
                                               std::span<const uint8_t> body, const Forwarded& of) {
  ClientRequest request;
  request.method = "POST";
  request.target = path;
  request.content_type = of.content_type;
  request.body.assign(body.begin(), body.end());
  request.most_bytes = kMaxAnswer;
  if (!of.request_id.empty()) request.headers.emplace_back("X-Request-Id", of.request_id);
  for (auto& header : RelyingHeaders(of.relying)) request.headers.push_back(std::move(header));
  request.headers.emplace_back("X-Deadline-Ms", "");  // of each attempt
  absl::StatusOr<HttpResponse> response = absl::DeadlineExceededError("no time is left");
  milliseconds between = kBetween;
  for (int attempt = 0; attempt < options_.attempts && TimeLeft(of).count() > 0; ++attempt) {
    if (attempt > 0) {
      if (between >= TimeLeft(of)) break;
      std::this_thread::sleep_for(between);
      between *= 2;
    }
    // The replies of many buckets take as long as they take.
    const bool form = of.content_type != kHeftType;
    request.deadline = form ? TimeLeft(of) : std::min(TimeLeft(of), way->attempt);
    request.headers.back().second = std::to_string(request.deadline.count());
    response = Try(way, request);
    if (!NoAnswer(response)) return response;
    if (way->circuit.open()) break;
  }
  if (!response.ok() && absl::IsDataLoss(response.status())) {
    return absl::UnavailableError(response.status().message());
  }
  return response;
}

absl::StatusOr<SignedDecision> HttpDecider::Decide(std::span<const uint8_t> signed_replies,
                                                   const Forwarded& of) {
  HEFT_ASSIGN_OR_RETURN(const HttpResponse response,
                        Post(&decisions_, "/v1/decisions", signed_replies, of));
  if (response.status != 200) {
    absl::Status error = StatusOfError(response, "decider");
    if (IsSpent(response)) error.SetPayload(kSpent, absl::Cord());
    return error;
  }
  SignedDecision out;
  out.decision = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (!out.decision.is_object() || !out.decision.contains("jws") ||
      !out.decision["jws"].is_string()) {
    return absl::InternalError("decider: the answer is not a decision");
  }
  out.jws = out.decision["jws"].get<std::string>();
  out.decision.erase("jws");
  for (const auto& [name, value] : response.headers) {
    if (!absl::EqualsIgnoreCase(name, kJournalHeadHeader)) continue;
    HEFT_ASSIGN_OR_RETURN(out.head, DecodeBase64(value));
  }
  return out;
}

absl::StatusOr<std::optional<std::vector<uint8_t>>> HttpDecider::Approve(
    std::span<const uint8_t> signed_request, const Forwarded& of) {
  HEFT_ASSIGN_OR_RETURN(HttpResponse response,
                        Post(&exchanges_, "/v1/exchange/admissions", signed_request, of));
  if (response.status == 202) return std::nullopt;
  if (response.status != 200) return StatusOfError(response, "decider");
  return std::move(response.body);
}

absl::StatusOr<std::vector<uint8_t>> HttpDecider::Renew(std::span<const uint8_t> signed_request,
                                                        const Forwarded& of) {
  HEFT_ASSIGN_OR_RETURN(HttpResponse response,
                        Post(&exchanges_, "/v1/exchange/renewals", signed_request, of));
  if (response.status != 200) return StatusOfError(response, "decider");
  return std::move(response.body);
}

}  // namespace heft::service
