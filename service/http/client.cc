// SPDX-License-Identifier: Apache-2.0
#include "service/http/client.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/status.h"
#include "service/access/replay.h"
#include "service/http/parsers.h"
#include "service/http/wire.h"

namespace heft::service {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using Kind = WireStep::Kind;

constexpr size_t kPiece = 64 << 10;
constexpr size_t kKept = 64;  // connections without a request

absl::Status TimeOver() { return absl::DeadlineExceededError("the other side took too long"); }

// WaitFor: until the socket is ready; kDeadlineExceeded.
absl::Status WaitFor(int fd, Kind kind, SteadyTime deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return TimeOver();
    pollfd wanted{fd, static_cast<short>(kind == Kind::kWantWrite ? POLLOUT : POLLIN),
                  0};  // NOLINT
    const int n = poll(&wanted, 1, static_cast<int>(std::min<int64_t>(left.count(), 1 << 30)));
    if (n > 0) return absl::OkStatus();
    if (n == 0) return TimeOver();
    if (errno != EINTR) return absl::UnavailableError(std::strerror(errno));
  }
}

struct Address {
  bool tls = true;
  std::string host, port;
};

absl::StatusOr<Address> ParseUrl(std::string_view url) {
  Address out;
  std::string_view rest = url;
  out.tls = !rest.starts_with("http://");
  if (out.tls && !rest.starts_with("https://")) rest = {};
  rest.remove_prefix(rest.empty() ? 0 : out.tls ? 8 : 7);
  if (rest.ends_with("/")) rest.remove_suffix(1);
  const size_t colon = rest.rfind(':');
  const bool has_port = colon != rest.npos && !rest.ends_with("]");
  out.host = std::string(has_port ? rest.substr(0, colon) : rest);
  out.port = has_port ? std::string(rest.substr(colon + 1)) : out.tls ? "443" : "80";
  if (out.host.size() > 2 && out.host.front() == '[') {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  uint32_t port = 0;
  if (out.host.empty() || out.host.find('/') != out.host.npos ||
      !absl::SimpleAtoi(out.port, &port) || port == 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(url), "\" is no address: write https://host:port"));
  }
  const bool here = out.host == "localhost" || out.host == "127.0.0.1" || out.host == "::1";
  if (!out.tls && !here) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(url), "\": without TLS only this machine is allowed"));
  }
  return out;
}

// Link: one connection. What came behind an answer is not ours: then it is not used again.
class Link {
 public:
  ~Link() {
    wire_.reset();
    if (fd_ >= 0) close(fd_);
  }
  static absl::StatusOr<std::unique_ptr<Link>> Open(const Address& address,
                                                    const std::shared_ptr<TlsContext>& tls,
                                                    SteadyTime deadline);
  // kAborted where the connection ended before the first byte of an answer: it may be sent again
  // over another.
  absl::StatusOr<HttpResponse> Exchange(const std::string& head, std::span<const uint8_t> body,
                                        uint64_t most_bytes, SteadyTime deadline);
  bool reusable() const { return reusable_; }
  const SSL_CTX* context() const { return context_.get(); }

 private:
  absl::Status Connect(const Address& address, SteadyTime deadline);
  absl::Status Write(std::span<const uint8_t> bytes, SteadyTime deadline, bool* ended);
  absl::StatusOr<HttpResponse> Read(uint64_t most_bytes, SteadyTime deadline);

  int fd_ = -1;
  std::shared_ptr<SSL_CTX> context_;
  std::unique_ptr<Wire> wire_;
  bool reusable_ = false;
};

absl::Status Link::Connect(const Address& address, SteadyTime deadline) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.host.c_str(), address.port.c_str(), &wanted, &found) != 0) {
    return absl::UnavailableError(absl::StrCat("no address is known of ", address.host));
  }
  absl::Status last;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    if (fd_ >= 0) close(fd_);
    fd_ = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = fd_ < 0 || connect(fd_, at->ai_addr, at->ai_addrlen) != 0 ? errno : 0;
    if (error == EINPROGRESS) {
      last = WaitFor(fd_, Kind::kWantWrite, deadline);
      socklen_t size = sizeof error;
      if (!last.ok()) break;
      if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    }
    last = error == 0
               ? absl::OkStatus()
               : absl::UnavailableError(absl::StrCat("cannot reach ", address.host, ":",
                                                     address.port, ": ", std::strerror(error)));
    if (last.ok()) break;
  }
  freeaddrinfo(found);
  const int on = 1;
  if (last.ok()) setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return last;
}

absl::StatusOr<std::unique_ptr<Link>> Link::Open(const Address& address,
                                                 const std::shared_ptr<TlsContext>& tls,
                                                 SteadyTime deadline) {
  auto link = std::make_unique<Link>();
  HEFT_RETURN_IF_ERROR(link->Connect(address, deadline));
  if (address.tls) link->context_ = tls->Current();
  link->wire_ =
      address.tls ? ClientTlsWire(link->fd_, link->context_, address.host) : PlainWire(link->fd_);
  while (true) {
    const WireStep step = link->wire_->Handshake();
    if (step.kind == Kind::kDone) return link;
    if (step.kind == Kind::kClosed || step.kind == Kind::kFailed) {
      return absl::UnavailableError(
          absl::StrCat("no TLS with ", address.host, ":", address.port, ": ", link->wire_->Why()));
    }
    HEFT_RETURN_IF_ERROR(WaitFor(link->fd_, step.kind, deadline));
  }
}

// Write: `ended` where the peer has closed: it may have answered before it did.
absl::Status Link::Write(std::span<const uint8_t> bytes, SteadyTime deadline, bool* ended) {
  while (!bytes.empty() && !*ended) {
    const WireStep step = wire_->Write(bytes.first(std::min(bytes.size(), kPiece)));
    if (step.kind == Kind::kDone) {
      bytes = bytes.subspan(step.bytes);
    } else if (step.kind == Kind::kClosed || step.kind == Kind::kFailed) {
      *ended = true;
    } else {
      HEFT_RETURN_IF_ERROR(WaitFor(fd_, step.kind, deadline));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HttpResponse> Link::Read(uint64_t most_bytes, SteadyTime deadline) {
  ResponseReader reader(most_bytes);
  std::vector<uint8_t> in, piece(kPiece);
  bool anything = false;
  while (true) {
    const WireStep step = wire_->Read(piece);
    if (step.kind == Kind::kWantRead || step.kind == Kind::kWantWrite) {
      HEFT_RETURN_IF_ERROR(WaitFor(fd_, step.kind, deadline));
      continue;
    }
    if (step.kind != Kind::kDone) {
      if (step.kind == Kind::kClosed && anything && reader.End()) return reader.Take();
      const std::string why =
          absl::StrCat("the connection ended before the answer did: ", wire_->Why());
      return anything ? absl::DataLossError(why) : absl::AbortedError(why);
    }
    anything = true;
    in.insert(in.end(), piece.begin(), piece.begin() + step.bytes);
    const size_t used = reader.Feed(in);
    in.erase(in.begin(), in.begin() + used);
    if (reader.bad()) {
      return absl::DataLossError(absl::StrCat("the answer cannot be used: ", reader.why()));
    }
    if (in.size() > (uint64_t{1} << 20)) return absl::DataLossError("the answer has no end");
    if (!reader.done()) continue;
    reusable_ = reader.keep_alive() && in.empty();
    return reader.Take();
  }
}

absl::StatusOr<HttpResponse> Link::Exchange(const std::string& head, std::span<const uint8_t> body,
                                            uint64_t most_bytes, SteadyTime deadline) {
  reusable_ = false;
  bool ended = false;
  // One piece where it is short: one record of TLS.
  if (body.size() <= kPiece) {
    std::vector<uint8_t> all(head.begin(), head.end());
    all.insert(all.end(), body.begin(), body.end());
    HEFT_RETURN_IF_ERROR(Write(all, deadline, &ended));
  } else {
    HEFT_RETURN_IF_ERROR(Write(AsBytes(head), deadline, &ended));
    HEFT_RETURN_IF_ERROR(Write(body, deadline, &ended));
  }
  auto response = Read(most_bytes, deadline);
  reusable_ &= !ended;
  return response;
}

class TlsClient : public HttpClient {
 public:
  TlsClient(Address address, std::shared_ptr<TlsContext> tls)
      : address_(std::move(address)), tls_(std::move(tls)) {}

  absl::StatusOr<HttpResponse> Send(const ClientRequest& request) override {
    const SteadyTime deadline = std::chrono::steady_clock::now() + request.deadline;
    const absl::StatusOr<std::string> head = Head(request);
    if (!head.ok()) return head.status();
    while (true) {
      std::unique_ptr<Link> link = Kept();
      const bool kept = link != nullptr;
      if (!kept) {
        HEFT_ASSIGN_OR_RETURN(link, Link::Open(address_, tls_, deadline));
      }
      // The same nonce if it is sent again: where the other side has taken it, it is refused there.
      auto response = link->Exchange(*head, request.body, request.most_bytes, deadline);
      if (response.ok() && link->reusable()) Keep(std::move(link));
      if (!absl::IsAborted(response.status())) return response;
      if (!kept) return absl::UnavailableError(response.status().message());
    }
  }

 private:
  absl::StatusOr<std::string> Head(const ClientRequest& request) const {
    const bool v6 = address_.host.find(':') != address_.host.npos;
    std::string head =
        absl::StrCat(request.method, " ", request.target, " HTTP/1.1\r\nHost: ", v6 ? "[" : "",
                     address_.host, v6 ? "]" : "", ":", address_.port, "\r\n");
    if (request.method != "GET" || !request.body.empty()) {
      absl::StrAppend(&head, "Content-Length: ", request.body.size(), "\r\n");
    }
    if (!request.content_type.empty()) {
      absl::StrAppend(&head, "Content-Type: ", request.content_type, "\r\n");
    }
    if (request.sign) {
      absl::StrAppend(&head, kNonceHeader, ": ", NewNonce(), "\r\n", kTimeHeader, ": ",
                      static_cast<uint64_t>(std::time(nullptr)), "\r\n");
    }
    for (const auto& [name, value] : request.headers) {
      absl::StrAppend(&head, name, ": ", value, "\r\n");
    }
    const auto lines = std::count(head.begin(), head.end(), '\n');
    const auto wanted = 2 + static_cast<long>(request.headers.size()) +  // NOLINT
                        (request.method != "GET" || !request.body.empty() ? 1 : 0) +
                        (request.content_type.empty() ? 0 : 1) + (request.sign ? 2 : 0);
    if (lines != wanted) return absl::InvalidArgumentError("a line's end within a header");
    return head + "\r\n";
  }
  std::unique_ptr<Link> Kept() {
    const std::shared_ptr<SSL_CTX> now = tls_ == nullptr ? nullptr : tls_->Current();
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!kept_.empty()) {
      std::unique_ptr<Link> link = std::move(kept_.back());
      kept_.pop_back();
      // Those from before our certificates were read anew are not used again.
      if (!address_.tls || link->context() == now.get()) return link;
    }
    return nullptr;
  }
  void Keep(std::unique_ptr<Link> link) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (kept_.size() < kKept) kept_.push_back(std::move(link));
  }

  const Address address_;
  const std::shared_ptr<TlsContext> tls_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Link>> kept_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Create(const std::string& url,
                                                               std::shared_ptr<TlsContext> tls) {
  IgnoreBrokenPipes();
  HEFT_ASSIGN_OR_RETURN(Address address, ParseUrl(url));
  if (address.tls && tls == nullptr) {
    return absl::InvalidArgumentError("https needs a certificate of our own");
  }
  return std::make_unique<TlsClient>(std::move(address), std::move(tls));
}

}  // namespace heft::service
