// SPDX-License-Identifier: Apache-2.0
// Wire: one connection's bytes, in the clear or under TLS, over a socket that never blocks: its
// user waits. Idle connections hold no buffers, which is why OpenSSL
// works on the socket itself.
#ifndef HEFT_SERVICE_HTTP_WIRE_H_
#define HEFT_SERVICE_HTTP_WIRE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "service/http/tls.h"

namespace heft::service {

// WireStep: how far an operation came. kWantRead, kWantWrite: call again once the socket is ready.
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
  // Says that no more comes from here; does not wait.
  virtual void Finish() = 0;
  virtual std::optional<PeerCertificate> Peer() const = 0;  // after the handshake
  virtual std::string Why() const = 0;                      // of the last kFailed
  // StillTrusted: whether a server that was read anew would take the peer's certificate: it may
  // have been revoked, have expired, or be of an authority that is gone.
  virtual bool StillTrusted(SSL_CTX* context) const = 0;
};

// `fd` is the caller's.
std::unique_ptr<Wire> PlainWire(int fd);
std::unique_ptr<Wire> ServerTlsWire(int fd, std::shared_ptr<SSL_CTX> context);
// IgnoreBrokenPipes: writing to a peer that is gone is an error, not the end of the process.
void IgnoreBrokenPipes();

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_WIRE_H_
