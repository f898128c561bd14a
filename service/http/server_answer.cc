// SPDX-License-Identifier: Apache-2.0
// Connection, second part: a complete or refused request goes to its handler, is recorded, and its
// answer is sent.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/bytes.h"
#include "service/http/server_internal.h"
#include "service/json.h"

namespace heft::service {
namespace {

using std::chrono::steady_clock;

constexpr uint64_t kLingerBytes = 4 << 20;  // after a refusal, so that the answer is seen

// ErrorCode: the code of an error in the usual form, for logs and metrics; otherwise empty.
std::string ErrorCode(const HttpResponse& response) {
  if (response.status < 400 || response.content_type != "application/json") return "";
  const auto json = Json::parse(response.body, nullptr, false);
  if (!json.is_object()) return "";
  const auto code = json.find("code");
  return code != json.end() && code->is_string() ? code->get<std::string>() : "";
}

}  // namespace

HttpResponse Connection::Handle(const Exchange& exchange) const {
  if (exchange.started >= exchange.request.deadline) {
    return ErrorResponse(504, "DEADLINE_EXCEEDED", "its deadline passed while it waited");
  }
  try {  // Our code does not throw, but libraries may, and memory may run out.
    return exchange.route->handler(exchange.request);
  } catch (const std::exception& error) {
    return ErrorResponse(absl::InternalError(error.what()));
  }
}

// Work: runs on a lane's thread.
void Connection::Work(const std::shared_ptr<Exchange>& exchange, bool handled) {
  exchange->started = steady_clock::now();
  HttpResponse response = handled ? Handle(*exchange) : *std::move(exchange->refusal);
  if (common_->observer) {
    Answered answered;
    answered.request = &exchange->request;
    answered.route = exchange->route;
    answered.status = response.status;
    answered.refused = !handled;
    if (certificate_) answered.certificate = certificate_->fingerprint;
    answered.request_bytes = exchange->request_bytes;
    answered.response_bytes = response.body.size();
    const auto now = steady_clock::now();
    answered.seconds = std::chrono::duration<double>(now - exchange->began).count();
    answered.queued_seconds =
        std::chrono::duration<double>(exchange->started - exchange->queued).count();
    answered.error_code = ErrorCode(response);
    answered.detail = response.detail;
    if (!common_->observer(answered).ok()) {
      response = ErrorResponse(503, "UNAVAILABLE", "the answer could not be recorded");
    }
  }
  exchange->request.body = nullptr;  // memory goes back before the answer is written
  boost::asio::post(loop_->context,
                    [self = shared_from_this(), exchange, answer = std::move(response)]() mutable {
                      if (self->phase_ == Phase::kEnded) return;
                      self->Send(std::move(answer), exchange->request.id);
                    });
}

void Connection::Send(HttpResponse response, const std::string& id) {
  Enter(Phase::kWriting);
  close_after_ |= common_->draining;
  out_head_ = FormatHead(response, id, !close_after_);
  out_body_ = std::move(response.body);
  if (response.status == 204) out_body_.clear();
  out_done_ = 0;
  // A small answer is sent as one record.
  if (out_body_.size() <= 8192) {
    out_head_.append(out_body_.begin(), out_body_.end());
    out_body_.clear();
  }
  exchange_.reset();
  WriteMore();
}

void Connection::WriteMore() {
  const size_t all = out_head_.size() + out_body_.size();
  for (int i = 0; out_done_ < all; ++i) {
    if (i == 4 * kReadsInARow) {
      return boost::asio::post(loop_->context, [self = shared_from_this()] {
        if (self->phase_ != Phase::kEnded) self->WriteMore();
      });
    }
    const bool in_head = out_done_ < out_head_.size();
    const std::span<const uint8_t> rest =
        in_head ? AsBytes(out_head_).subspan(out_done_)
                : std::span<const uint8_t>(out_body_).subspan(out_done_ - out_head_.size());
    const WireStep step = wire_->Write(rest.first(std::min<size_t>(rest.size(), kScratch)));
    if (step.kind == WireStep::Kind::kWantRead || step.kind == WireStep::Kind::kWantWrite) {
      return Wait(step.kind, &Connection::WriteMore);
    }
    if (step.kind != WireStep::Kind::kDone) return End();
    out_done_ += step.bytes;
    moved_ += step.bytes;
  }
  if (std::exchange(continue_first_, false)) {
    out_head_.clear();
    return ReadMore();
  }
  Written();
}

void Connection::Written() {
  out_head_ = {};
  out_body_ = {};
  if (close_after_) {
    if (!unread_) return End();
    wire_->Finish();
    Enter(Phase::kLingering);
    return Linger();
  }
  reader_.reset();
  if (common_->draining) return End();
  if (in_.empty()) {
    in_ = {};
    Enter(Phase::kIdle);
    return ReadMore();
  }
  Enter(Phase::kHead);  // the next request is here already, in part at least
  boost::asio::post(loop_->context, [self = shared_from_this()] {
    if (self->phase_ != Phase::kHead) return;
    self->Parse();
    if (self->phase_ == Phase::kHead) self->ReadMore();
  });
}

// Linger: reads the rest of the client's bytes, so that it sees the answer and no reset.
void Connection::Linger() {
  while (true) {
    const WireStep step = wire_->Read(Scratch());
    if (step.kind == WireStep::Kind::kWantRead || step.kind == WireStep::Kind::kWantWrite) {
      return Wait(step.kind, &Connection::Linger);
    }
    moved_ += step.bytes;
    if (step.kind != WireStep::Kind::kDone || moved_ > kLingerBytes) return End();
  }
}

}  // namespace heft::service
