// SPDX-License-Identifier: Apache-2.0
// HttpClient: requests to a service over TLS 1.3, on kept connections. Used by the matcher to
// forward and for callbacks, and by tests, the demo and adapters.
#ifndef HEFT_SERVICE_HTTP_CLIENT_H_
#define HEFT_SERVICE_HTTP_CLIENT_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "service/http/message.h"
#include "service/http/tls.h"

namespace heft::service {

struct ClientRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, encoded
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string content_type = {};
  std::vector<uint8_t> body = {};
  std::chrono::milliseconds deadline{30000};
  uint64_t most_bytes = uint64_t{1} << 30;  // of the response
  bool sign = true;                         // adds nonce and time (access/replay.h)
};

class HttpClient {
 public:
  // `url`: "https://host:port"; the certificate must name the host. "http://" only on loopback.
  static absl::StatusOr<std::unique_ptr<HttpClient>> Create(const std::string& url,
                                                            std::shared_ptr<TlsContext> tls);
  virtual ~HttpClient() = default;
  // Every status is a response. kUnavailable if no response came, kDeadlineExceeded, kDataLoss. If
  // the server has closed a kept connection, it is opened again once. Any number of threads.
  virtual absl::StatusOr<HttpResponse> Send(const ClientRequest& request) = 0;
};

// FormBody: a multipart/form-data body of these parts, then of `more`, and its content type.
struct FormPart {
  std::string name, file_name, content_type;
  std::vector<uint8_t> bytes;
};
std::pair<std::string, std::vector<uint8_t>> FormBody(const std::vector<FormPart>& parts,
                                                      const std::vector<FormPart>& more = {});

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_CLIENT_H_
