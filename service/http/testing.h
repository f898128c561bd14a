// SPDX-License-Identifier: Apache-2.0
// RawClient: sends arbitrary bytes to the server, for tests.
#ifndef HEFT_SERVICE_HTTP_TESTING_H_
#define HEFT_SERVICE_HTTP_TESTING_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
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

// TlsOfRawClient: a TLS client that does not check the server's name.
class TlsOfRawClient : public Wire {
 public:
  TlsOfRawClient(int fd, SSL_CTX* context) : ssl_(SSL_new(context)) {
    SSL_set_fd(ssl_, fd);
    SSL_set_connect_state(ssl_);
  }
  ~TlsOfRawClient() override { SSL_free(ssl_); }
  WireStep Handshake() override { return Step(SSL_do_handshake(ssl_), 0); }
  WireStep Read(std::span<uint8_t> into) override {
    size_t n = 0;
    const int done = SSL_read_ex(ssl_, into.data(), into.size(), &n);
    return Step(done, n);
  }
  WireStep Write(std::span<const uint8_t> bytes) override {
    size_t n = 0;
    const int done = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &n);
    return Step(done, n);
  }
  void Finish() override { SSL_shutdown(ssl_); }
  std::optional<PeerCertificate> Peer() const override { return std::nullopt; }
  std::string Why() const override { return ""; }
  bool StillTrusted(SSL_CTX*) const override { return true; }

 private:
  WireStep Step(int done, size_t n) {
    if (done == 1) return {WireStep::Kind::kDone, n};
    const int error = SSL_get_error(ssl_, done);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ) return {WireStep::Kind::kWantRead, 0};
    if (error == SSL_ERROR_WANT_WRITE) return {WireStep::Kind::kWantWrite, 0};
    return {error == SSL_ERROR_SSL ? WireStep::Kind::kFailed : WireStep::Kind::kClosed, 0};
  }
  SSL* const ssl_;
};

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
    wire_ = tls == nullptr ? PlainWire(fd_)
                           : std::make_unique<TlsOfRawClient>(fd_, tls->Current().get());
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

  // Send: false if the server has ended the connection.
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

  // Receive: all bytes until they contain `enough`, the connection ends, or the time is over.
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
  // ended: whether the last Receive saw the end of the connection before its time was over.
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
