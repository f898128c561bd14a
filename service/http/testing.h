// SPDX-License-Identifier: Apache-2.0
// RawClient: for tests of the server: sends bytes as they are, whatever they are.
#ifndef HEFT_SERVICE_HTTP_TESTING_H_
#define HEFT_SERVICE_HTTP_TESTING_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "service/http/wire.h"

namespace heft::service::testing {

class RawClient {
 public:
  using Clock = std::chrono::steady_clock;
  // Without `tls` it is plain TCP.
  explicit RawClient(uint16_t port, const std::shared_ptr<TlsContext>& tls = nullptr) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    open_ =
        fd_ >= 0 && connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (!open_) return;
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    wire_ = tls != nullptr ? ClientTlsWire(fd_, tls->Current(), "localhost") : PlainWire(fd_);
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (open_) {
      const WireStep step = wire_->Handshake();
      if (step.kind == WireStep::Kind::kDone) break;
      open_ = Wait(step.kind, until);
    }
  }
  RawClient(RawClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), open_(other.open_), wire_(std::move(other.wire_)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() {
    wire_.reset();
    if (fd_ >= 0) close(fd_);
  }

  bool open() const { return open_; }
  int fd() const { return fd_; }

  // Send: false where the other side has ended the connection.
  bool Send(std::string_view text) {
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (open_ && !text.empty()) {
      const WireStep step = wire_->Write(
          {reinterpret_cast<const uint8_t*>(text.data()), std::min<size_t>(text.size(), 65536)});
      if (step.kind == WireStep::Kind::kDone) {
        text.remove_prefix(step.bytes);
      } else {
        open_ = Wait(step.kind, until);
      }
    }
    return open_;
  }

  // Receive: all that comes until `enough` is in it, the end, or the time is over.
  std::string Receive(std::string_view enough = "\n\n no text has this \n\n",
                      std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    const auto until = Clock::now() + patience;
    std::string all;
    std::vector<uint8_t> piece(65536);
    while (wire_ != nullptr && all.find(enough) == all.npos) {
      const WireStep step = wire_->Read(piece);
      if (step.kind == WireStep::Kind::kDone) {
        all.append(piece.begin(), piece.begin() + step.bytes);
      } else if (!Wait(step.kind, until)) {
        ended_ = step.kind == WireStep::Kind::kClosed || step.kind == WireStep::Kind::kFailed;
        break;
      }
    }
    return all;
  }
  // ended: whether the last Receive came to the end, and not to its time.
  bool ended() const { return ended_; }

 private:
  bool Wait(WireStep::Kind kind, Clock::time_point until) const {
    if (kind != WireStep::Kind::kWantRead && kind != WireStep::Kind::kWantWrite) return false;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd wanted{fd_, static_cast<short>(kind == WireStep::Kind::kWantWrite ? POLLOUT : POLLIN),
                  0};  // NOLINT: poll's type
    return left > 0 && poll(&wanted, 1, static_cast<int>(left)) > 0;
  }
  int fd_ = -1;
  bool open_ = false, ended_ = false;
  std::unique_ptr<Wire> wire_;
};

}  // namespace heft::service::testing

#endif  // HEFT_SERVICE_HTTP_TESTING_H_
