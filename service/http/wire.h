// SPDX-License-Identifier: Apache-2.0
// Wire: the bytes of one connection, plain or under TLS, over a socket that never blocks; the
// caller waits. OpenSSL works on the socket itself, so that idle connections hold no buffers.
#ifndef HEFT_SERVICE_HTTP_WIRE_H_
#define HEFT_SERVICE_HTTP_WIRE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "service/http/tls.h"

namespace heft::service {

// WireStep: the result of an operation. kWantRead, kWantWrite: call again once the socket is ready.
struct WireStep {
  enum class Kind { kDone, kWantRead, kWantWrite, kClosed, kFailed };
  Kind kind = Kind::kFailed;
  size_t bytes = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual WireStep Handshake() = 0;
  virtual WireStep Read(std::span<uint8_t> into) = 0;          // at least a byte when kDone
  virtual WireStep Write(std::span<const uint8_t> bytes) = 0;  // at least a byte when kDone
  // Signals the end of our bytes; does not wait.
  virtual void Finish() = 0;
  virtual std::optional<PeerCertificate> Peer() const = 0;  // after the handshake
  virtual std::string Why() const = 0;                      // of the last kFailed
  // StillTrusted: whether a reloaded server would accept the peer's certificate: it may be revoked,
  // expired, or signed by an authority that was removed.
  virtual bool StillTrusted(SSL_CTX* context) const = 0;
};

// The caller owns `fd`.
std::unique_ptr<Wire> PlainWire(int fd);
std::unique_ptr<Wire> ServerTlsWire(int fd, std::shared_ptr<SSL_CTX> context);
// IgnoreBrokenPipes: writing to a closed connection returns an error and does not end the process.
void IgnoreBrokenPipes();

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_WIRE_H_
