// SPDX-License-Identifier: Apache-2.0
// RequestReader: reads HTTP/1.1 requests from bytes as they arrive (Boost.Beast's parser, plus our
// own rules). It holds no buffer: the caller passes unused bytes again, followed by new ones.
#ifndef HEFT_SERVICE_HTTP_PARSERS_H_
#define HEFT_SERVICE_HTTP_PARSERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "service/http/message.h"

namespace heft::service {

// RequestHead: the request line and the headers.
struct RequestHead {
  std::string method;
  std::string target;                          // as it was sent
  std::string path;                            // of it, as it was sent
  std::map<std::string, std::string> query;    // decoded
  std::map<std::string, std::string> headers;  // names in lower case
  std::optional<uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

// HttpProblem: the answer to a malformed message.
struct HttpProblem {
  int http_status = 400;
  std::string code = "INVALID_ARGUMENT";
  std::string message;
};

// BodySink: takes a piece of a body; a problem ends the reading.
using BodySink = std::function<std::optional<HttpProblem>(std::span<const uint8_t>)>;

class RequestReader {
 public:
  enum class State { kHead, kHeadDone, kBody, kDone, kBad };

  // A head above `header_bytes`, or with more than 100 fields, is refused with 431.
  explicit RequestReader(uint32_t header_bytes);
  ~RequestReader();
  // Feed: returns the number of bytes used. It stops after the head; ReadBody continues. In state
  // kHead or kBody with nothing used, it needs more bytes.
  size_t Feed(std::span<const uint8_t> bytes);
  State state() const;
  const RequestHead& head() const;
  // ReadBody: after kHeadDone: passes the pieces to `sink`; 413 above `most_bytes`.
  void ReadBody(uint64_t most_bytes, BodySink sink);
  const HttpProblem& problem() const;  // of kBad
  uint64_t body_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// FormatHead: status line and headers of a response, with Date, X-Request-Id, lengths and the
// security headers for browsers. A header with a line end in it is left out.
std::string FormatHead(const HttpResponse& response, const std::string& request_id,
                       bool keep_alive);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_PARSERS_H_
