// SPDX-License-Identifier: Apache-2.0
#include "service/http/wire.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "service/http/private_key.h"
#include "service/http/tls_internal.h"

namespace heft::service {
namespace {

using Kind = WireStep::Kind;

class Plain : public Wire {
 public:
  explicit Plain(int fd) : fd_(fd) {}
  WireStep Handshake() override { return {Kind::kDone, 0}; }
  WireStep Read(std::span<uint8_t> into) override {
    const ssize_t n = recv(fd_, into.data(), into.size(), 0);
    if (n == 0) return {Kind::kClosed, 0};
    return Step(n, Kind::kWantRead);
  }
  WireStep Write(std::span<const uint8_t> bytes) override {
    return Step(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), Kind::kWantWrite);
  }
  void Finish() override { shutdown(fd_, SHUT_WR); }
  std::optional<PeerCertificate> Peer() const override { return std::nullopt; }
  std::string Why() const override { return why_; }
  bool StillTrusted(SSL_CTX*) const override { return true; }

 private:
  WireStep Step(ssize_t n, Kind want) {
    if (n > 0) return {Kind::kDone, static_cast<size_t>(n)};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {want, 0};
    why_ = std::strerror(errno);
    return {errno == ECONNRESET || errno == EPIPE ? Kind::kClosed : Kind::kFailed, 0};
  }
  const int fd_;
  std::string why_;
};

class Tls : public Wire {
 public:
  Tls(int fd, std::shared_ptr<SSL_CTX> context)
      : fd_(fd), context_(std::move(context)), ssl_(SSL_new(context_.get())) {
    if (ssl_ == nullptr) return;
    SSL_set_fd(ssl_, fd);
    SSL_set_accept_state(ssl_);
  }
  ~Tls() override { SSL_free(ssl_); }

  WireStep Handshake() override {
    if (ssl_ == nullptr) return {Kind::kFailed, 0};
    ERR_clear_error();
    const int n = SSL_do_handshake(ssl_);
    return n == 1 ? WireStep{Kind::kDone, 0} : Step(n, 0);
  }
  WireStep Read(std::span<uint8_t> into) override {
    ERR_clear_error();
    size_t n = 0;
    const int done = SSL_read_ex(ssl_, into.data(), into.size(), &n);
    return Step(done, n);
  }
  WireStep Write(std::span<const uint8_t> bytes) override {
    ERR_clear_error();
    size_t n = 0;
    const int done = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &n);
    return Step(done, n);
  }
  void Finish() override {
    ERR_clear_error();
    if (!failed_) SSL_shutdown(ssl_);
    ERR_clear_error();
    shutdown(fd_, SHUT_WR);
  }
  std::optional<PeerCertificate> Peer() const override { return PeerOf(ssl_); }
  std::string Why() const override { return why_; }
  bool StillTrusted(SSL_CTX* context) const override {
    X509* certificate = SSL_get0_peer_certificate(ssl_);
    if (certificate == nullptr) return true;  // a peer without a certificate has no identity
    X509_STORE_CTX* check = X509_STORE_CTX_new();
    const bool good = X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(context), certificate,
                                          SSL_get_peer_cert_chain(ssl_)) == 1 &&
                      X509_STORE_CTX_set_default(check, "ssl_client") == 1 &&
                      X509_verify_cert(check) == 1;
    X509_STORE_CTX_free(check);
    ERR_clear_error();
    return good;
  }

 private:
  WireStep Step(int done, size_t n) {
    if (done == 1) return {Kind::kDone, n};
    const int saved = errno;
    switch (SSL_get_error(ssl_, done)) {
      case SSL_ERROR_WANT_READ:
        return {Kind::kWantRead, 0};
      case SSL_ERROR_WANT_WRITE:
        return {Kind::kWantWrite, 0};
      case SSL_ERROR_ZERO_RETURN:
        return {Kind::kClosed, 0};
      case SSL_ERROR_SYSCALL:
        failed_ = true;
        why_ = saved == 0 ? "the connection ended" : std::strerror(saved);
        return {Kind::kClosed, 0};
      default:
        failed_ = true;
        why_ = OpenSslErrors();
        if (const long verdict = SSL_get_verify_result(ssl_); verdict != X509_V_OK) {  // NOLINT
          absl::StrAppend(&why_, " (", X509_verify_cert_error_string(verdict), ")");
        }
        return {Kind::kFailed, 0};
    }
  }

  const int fd_;
  const std::shared_ptr<SSL_CTX> context_;
  SSL* const ssl_;
  bool failed_ = false;
  std::string why_;
};

}  // namespace

std::unique_ptr<Wire> PlainWire(int fd) { return std::make_unique<Plain>(fd); }

std::unique_ptr<Wire> ServerTlsWire(int fd, std::shared_ptr<SSL_CTX> context) {
  return std::make_unique<Tls>(fd, std::move(context));
}

void IgnoreBrokenPipes() {
  struct sigaction now {};
  if (sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
    std::signal(SIGPIPE, SIG_IGN);
  }
}

}  // namespace heft::service
