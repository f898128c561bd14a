// SPDX-License-Identifier: Apache-2.0
// Connection: reads the requests of one client, one after the other, until each is complete;
// server_answer.cc answers them. Everything except Work runs on its loop's thread.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "service/http/server_internal.h"

namespace heft::service {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr uint64_t kReadAnyway = 64 << 10;  // of a body that is refused: the connection lives on
constexpr size_t kLongestRequestId = 64;
constexpr seconds kLingerTime{2};
constexpr seconds kGrace{10};

// IsRequestId: whether a log line and a header can hold this id of another service.
bool IsRequestId(std::string_view text) {
  return !text.empty() && text.size() <= kLongestRequestId &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

HttpResponse Retry(HttpResponse response, int after) {
  response.headers.emplace_back("Retry-After", absl::StrCat(after));
  return response;
}

HttpResponse Overloaded() {
  return Retry(
      ErrorResponse(429, "RESOURCE_EXHAUSTED", "too many requests are waiting: try again later"),
      1);
}

}  // namespace

Connection::Connection(Common* common, Loop* loop, int fd, std::string peer)
    : common_(common), loop_(loop), socket_(loop->context, fd), peer_(std::move(peer)) {
  if (common->tls != nullptr) context_ = common->tls->Current();
  wire_ = context_ == nullptr ? PlainWire(fd) : ServerTlsWire(fd, context_);
  common_->registry.Enter();
}

Connection::~Connection() {
  wire_.reset();  // before its socket
  common_->registry.Leave();
}

void Connection::Start() {
  Enter(Phase::kGreeting);
  Greet();
}

void Connection::Enter(Phase phase) {
  using List = Registry::List;
  if (list_ != List::kNone) common_->registry.Part(list_, place_);
  list_ = phase == Phase::kGreeting ? List::kGreeting
          : phase == Phase::kIdle   ? List::kIdle
                                    : List::kNone;
  if (list_ != List::kNone) place_ = common_->registry.Join(list_, weak_from_this());
  // The time limit of a header starts at its first byte.
  const ServerLimits& limits = common_->limits;
  phase_ = phase;
  since_ = steady_clock::now();
  moved_ = 0;
  until_ = phase == Phase::kIdle                                ? since_ + limits.idle
           : phase == Phase::kGreeting || phase == Phase::kHead ? since_ + limits.header_time
           : phase == Phase::kLingering                         ? since_ + kLingerTime
                                                                : SteadyTime::max();
}

bool Connection::Slow(SteadyTime now) const {
  const auto time = now - since_;
  if (time < kGrace) return false;
  const double owed = std::chrono::duration<double>(time - kGrace).count() *
                      static_cast<double>(common_->limits.slowest_body);
  return static_cast<double>(moved_) < owed;
}

void Connection::Tick(SteadyTime now) {
  const bool slow = (phase_ == Phase::kBody || phase_ == Phase::kWriting) && Slow(now);
  if (now >= until_ || slow) End();
}

void Connection::End() {
  if (phase_ == Phase::kEnded) return;
  Enter(Phase::kEnded);
  boost::system::error_code ignored;
  wire_->Finish();
  socket_.close(ignored);
  loop_->Remove(shared_from_this());
}

void Connection::EndIfIdle() {
  if (phase_ == Phase::kIdle || phase_ == Phase::kGreeting || phase_ == Phase::kHead) End();
}

void Connection::Wait(WireStep::Kind kind, Step then) {
  using Descriptor = boost::asio::posix::stream_descriptor;
  const auto what =
      kind == WireStep::Kind::kWantWrite ? Descriptor::wait_write : Descriptor::wait_read;
  socket_.async_wait(what, [self = shared_from_this(), then](boost::system::error_code error) {
    if (self->phase_ == Phase::kEnded) return;
    if (error) return self->End();
    (self.get()->*then)();
  });
}

void Connection::Greet() {
  const WireStep step = wire_->Handshake();
  if (step.kind == WireStep::Kind::kWantRead || step.kind == WireStep::Kind::kWantWrite) {
    return Wait(step.kind, &Connection::Greet);
  }
  if (step.kind != WireStep::Kind::kDone) return End();
  certificate_ = wire_->Peer();
  if (common_->draining) return End();
  Enter(Phase::kIdle);
  until_ = since_ + common_->limits.header_time;  // a silent client gets less time
  ReadMore();
}

void Connection::ReadMore() {
  for (int i = 0; i < kReadsInARow; ++i) {
    const std::span<uint8_t> scratch = Scratch();
    const WireStep step = wire_->Read(scratch);
    if (step.kind == WireStep::Kind::kWantRead || step.kind == WireStep::Kind::kWantWrite) {
      return Wait(step.kind, &Connection::ReadMore);
    }
    if (step.kind != WireStep::Kind::kDone) return End();
    if (phase_ == Phase::kIdle) Enter(Phase::kHead);
    moved_ += step.bytes;
    in_.insert(in_.end(), scratch.begin(), scratch.begin() + step.bytes);
    const Phase before = phase_;
    Parse();
    if (phase_ != before || continue_first_) return;
  }
  boost::asio::post(loop_->context, [self = shared_from_this()] {
    if (self->phase_ == Phase::kHead || self->phase_ == Phase::kBody) self->ReadMore();
  });
}

// Parse: uses the received bytes. The phase changes when the request is complete or refused.
void Connection::Parse() {
  if (reader_ == nullptr) reader_ = std::make_unique<RequestReader>(common_->limits.header_bytes);
  using State = RequestReader::State;
  const size_t used = reader_->Feed(in_);
  in_.erase(in_.begin(), in_.begin() + used);
  switch (reader_->state()) {
    case State::kHeadDone:
      return HeadDone();
    case State::kDone:
      return BodyDone();
    case State::kBad: {
      const HttpProblem& problem = reader_->problem();
      if (exchange_ == nullptr) {
        exchange_ = std::make_shared<Exchange>();
        exchange_->began = steady_clock::now();
        exchange_->request.id = NewRequestId();
        exchange_->request.peer = peer_;
        exchange_->request.body = BodyOf({});
      }
      HttpResponse response = ErrorResponse(problem.http_status, problem.code, problem.message);
      if (problem.http_status == 429) response = Retry(std::move(response), 1);
      close_after_ = unread_ = true;
      return Refuse(std::move(response));
    }
    case State::kHead:
    case State::kBody:
      // No unit that the parser waits for is longer than this, so the message would never end.
      if (in_.size() > common_->limits.header_bytes + kScratch) End();
      return;
  }
}

// Admit: all checks before the body; nullopt if the request may go on.
std::optional<HttpResponse> Connection::Admit(const RequestHead& head) {
  HttpRequest& request = exchange_->request;
  std::vector<std::string> allowed;
  exchange_->route = common_->router.Match(head.method, head.path, &request.parameters, &allowed);
  if (exchange_->route == nullptr) {
    if (allowed.empty()) return ErrorResponse(404, "NOT_FOUND", "there is no such path");
    HttpResponse response =
        ErrorResponse(405, "UNIMPLEMENTED", "this path does not accept this method");
    response.headers.emplace_back("Allow", absl::StrJoin(allowed, ", "));
    return response;
  }
  const Route& route = *exchange_->route;
  if (head.content_length.value_or(0) > route.most_bytes) {
    return ErrorResponse(413, "OUT_OF_RANGE",
                         absl::StrCat("a body above ", route.most_bytes, " bytes"));
  }
  uint64_t wanted = 0;
  if (const std::string text = request.Header("x-deadline-ms"); !text.empty()) {
    if (!absl::SimpleAtoi(text, &wanted) || wanted == 0) {
      return ErrorResponse(400, "INVALID_ARGUMENT",
                           "X-Deadline-Ms must be a number of milliseconds");
    }
  }
  const GateInput input = {&route,
                           &request.headers,
                           &request.parameters,
                           request.path,
                           peer_,
                           certificate_ ? &*certificate_ : nullptr};
  if (const auto error = common_->gate(input, &request.who)) {
    HttpResponse response = ErrorResponse(error->http_status, error->code, error->message);
    return error->retry_after > 0 ? Retry(std::move(response), error->retry_after)
                                  : std::move(response);
  }
  // Another daemon's id for its request, so that both logs use one id. No other caller can choose
  // the id under which it is logged.
  const std::string given = request.Header("x-request-id");
  const bool daemon = request.who.Has(Scope::kExchange) || request.who.Has(Scope::kOpenParts);
  if (daemon && IsRequestId(given)) request.id = given;
  exchange_->patience = common_->limits.deadline;
  const uint64_t most = exchange_->patience.count();
  if (wanted > 0) exchange_->patience = std::chrono::milliseconds(std::min(wanted, most));
  if (common_->LaneOf(route.scope).Full()) return Overloaded();
  return std::nullopt;
}

void Connection::HeadDone() {
  const RequestHead& head = reader_->head();
  exchange_ = std::make_shared<Exchange>();
  exchange_->began = steady_clock::now();
  HttpRequest& request = exchange_->request;
  request.id = NewRequestId();
  request.peer = peer_;
  request.method = head.method;
  request.path = DecodePercent(head.path).value_or("");
  request.query = head.query;
  request.headers = head.headers;
  request.body = BodyOf({});
  close_after_ = !head.keep_alive;
  unread_ = false;
  if (!PeerStillTrusted()) {
    close_after_ = unread_ = true;
    return Refuse(ErrorResponse(401, "UNAUTHENTICATED", "this certificate is no longer accepted"));
  }
  if (auto refusal = Admit(head)) {
    // A short body is still read, so that the connection stays open.
    const bool goes_on =
        !head.chunked && !head.expects_continue && head.content_length.value_or(0) <= kReadAnyway;
    if (!goes_on) {
      close_after_ = unread_ = true;
      return Refuse(*std::move(refusal));
    }
    exchange_->refusal = std::move(refusal);
  }
  BeginBody();
}

// PeerStillTrusted: checks the peer again if certificates were reloaded since the connection began.
bool Connection::PeerStillTrusted() {
  if (context_ == nullptr) return true;
  std::shared_ptr<SSL_CTX> now = common_->tls->Current();
  if (now == context_) return true;
  context_ = std::move(now);
  return wire_->StillTrusted(context_.get());
}

void Connection::BeginBody() {
  Exchange* exchange = exchange_.get();
  const RequestHead& head = reader_->head();
  if (exchange->refusal) {
    reader_->ReadBody(kReadAnyway, [](auto) { return std::nullopt; });
  } else {
    exchange->writer = std::make_unique<BodyWriter>(common_->budget);
    reader_->ReadBody(exchange->route->most_bytes,
                      [exchange](std::span<const uint8_t> piece) -> std::optional<HttpProblem> {
                        const absl::Status written = exchange->writer->Write(piece);
                        if (written.ok()) return std::nullopt;
                        const bool full = absl::IsResourceExhausted(written);
                        return HttpProblem{full ? 429 : 503,
                                           full ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE",
                                           full ? std::string(written.message())
                                                : "the service cannot keep the body"};
                      });
  }
  Enter(Phase::kBody);
  if (head.expects_continue && in_.empty()) {
    continue_first_ = true;
    out_head_ = "HTTP/1.1 100 Continue\r\n\r\n";
    out_done_ = 0;
    return WriteMore();
  }
  Parse();
  // ReadMore stops when the phase changes, as it did here after the head: start it again.
  if (phase_ == Phase::kBody) {
    boost::asio::post(loop_->context, [self = shared_from_this()] {
      if (self->phase_ == Phase::kBody) self->ReadMore();
    });
  }
}

void Connection::Refuse(HttpResponse response) {
  exchange_->refusal = std::move(response);
  Enter(Phase::kWorking);
  exchange_->request_bytes = reader_->body_bytes();
  const auto exchange = exchange_;
  exchange->queued = steady_clock::now();
  const auto self = shared_from_this();
  if (!common_->side.Post([self, exchange] { self->Work(exchange, false); })) End();
}

void Connection::BodyDone() {
  const auto exchange = exchange_;
  if (exchange->refusal) return Refuse(*std::move(exchange->refusal));
  auto body = exchange->writer->Finish();
  exchange->writer.reset();
  if (!body.ok())
    return Refuse(ErrorResponse(503, "UNAVAILABLE", "the service cannot keep the body"));
  exchange->request.body = *std::move(body);
  exchange->request_bytes = reader_->body_bytes();
  exchange->queued = steady_clock::now();
  exchange->request.deadline = exchange->queued + exchange->patience;
  Enter(Phase::kWorking);
  const auto self = shared_from_this();
  Lane& lane = common_->LaneOf(exchange->route->scope);
  if (!lane.Post([self, exchange] { self->Work(exchange, true); })) Refuse(Overloaded());
}

}  // namespace heft::service
