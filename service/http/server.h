// SPDX-License-Identifier: Apache-2.0
// HttpServer: HTTP/1.1 over TLS 1.3 with client certificates (Boost.Beast, OpenSSL). A few threads
// move bytes, and a limited number of others run handlers. Further requests wait in a queue of
// bounded length; if it is full, they get 429 with Retry-After. Connections, headers, bodies, idle
// times and slow peers are bounded.
#ifndef HEFT_SERVICE_HTTP_SERVER_H_
#define HEFT_SERVICE_HTTP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/http/router.h"
#include "service/http/tls.h"

namespace heft::service {

struct ServerLimits {
  uint32_t connections = 1024;  // beyond: closed at once, the oldest idle ones first
  uint32_t workers = 4;         // handlers at once
  uint32_t queued = 256;        // requests that wait for one
  uint32_t header_bytes = 16 << 10;
  uint64_t memory_body = 1 << 20;  // larger bodies go to a file without a name in `spool`
  uint64_t spooled_bytes = uint64_t{4} << 30;  // of all of those together
  std::string spool = "/tmp";
  std::chrono::seconds idle{60};         // between requests of a connection
  std::chrono::seconds header_time{10};  // for the header of a request, handshake included
  uint64_t slowest_body = 16 << 10;      // bytes a second, after a grace of 10 s
  std::chrono::seconds deadline{30};     // of a request, unless X-Deadline-Ms asks for less
};

// Gate: called for each request after its header came and a route was found, and before its body is
// read (the size of the body is checked first). It checks the caller (certificate, token), its
// right (scope), nonce and rate. An error becomes the response. The services use
// access/authority.h.
struct GateInput {
  const Route* route = nullptr;
  const std::map<std::string, std::string>* headers = nullptr;
  const std::map<std::string, std::string>* parameters = nullptr;  // of the route's pattern
  std::string path;
  std::string peer;
  const PeerCertificate* certificate = nullptr;  // nullptr: none was shown
};
struct GateError {
  int http_status = 401;
  std::string code, message;
  int retry_after = 0;  // seconds; 0: none
};
using Gate = std::function<std::optional<GateError>(const GateInput&, Principal*)>;

// Observer: sees each answer, also refusals, before it is sent: for metrics, logs and the audit
// log. If it fails, the answer is not sent: the client gets 503.
struct Answered {
  const HttpRequest* request = nullptr;  // without a body if refused before it came
  const Route* route = nullptr;          // nullptr: no such path
  int status = 0;
  bool refused = false;     // before a handler was asked
  std::string certificate;  // fingerprint; empty: none was shown
  uint64_t request_bytes = 0, response_bytes = 0;
  double seconds = 0, queued_seconds = 0;
  std::string error_code;
  std::string detail;  // HttpResponse's
};
using Observer = std::function<absl::Status(const Answered&)>;

// ServerLoad: the current use of the server.
struct ServerLoad {
  size_t connections = 0, queued = 0;
  uint64_t memory_bodies = 0, spooled_bodies = 0;  // bytes
};

class HttpServer {
 public:
  // Listens, but answers no request yet. `listener`: a socket that is already open (systemd's),
  // else -1 and `address` ("127.0.0.1:8443", "[::]:8443"; port 0: any). Without `tls` it speaks
  // plain HTTP; configurations allow this only on loopback, for metrics. kUnavailable,
  // kInvalidArgument.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const std::string& address,
                                                            int listener,
                                                            std::shared_ptr<TlsContext> tls,
                                                            ServerLimits limits, Router router,
                                                            Gate gate, Observer observer);
  virtual ~HttpServer() = default;
  virtual uint16_t port() const = 0;
  virtual ServerLoad load() const = 0;
  virtual void Start() = 0;
  // Accepts no more connections, answers the accepted requests and ends idle connections, within
  // `patience`; false if a request was cut off.
  virtual bool Drain(std::chrono::seconds patience) = 0;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_SERVER_H_
