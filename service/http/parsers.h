// SPDX-License-Identifier: Apache-2.0
// RequestReader: HTTP/1.1 requests from bytes as they come (Boost.Beast's parser, and rules of our
// own on top). It holds no buffer: what was not used is presented again, with more after it.
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

// RequestHead: what comes before a body.
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

// HttpProblem: what is answered to a message that is none.
struct HttpProblem {
  int http_status = 400;
  std::string code = "INVALID_ARGUMENT";
  std::string message;
};

// Sink: takes a piece of a body; a problem ends the reading.
using BodySink = std::function<std::optional<HttpProblem>(std::span<const uint8_t>)>;

class RequestReader {
 public:
  enum class State { kHead, kHeadDone, kBody, kDone, kBad };

  // Heads above `header_bytes`, and more than 100 fields, are 431.
  explicit RequestReader(uint32_t header_bytes);
  ~RequestReader();
  // Feed: bytes used. It stops behind the head, where ReadBody goes on. With kHead or kBody and
  // nothing used, more is needed.
  size_t Feed(std::span<const uint8_t> bytes);
  State state() const;
  const RequestHead& head() const;
  // ReadBody: after kHeadDone: pieces go to `sink`, 413 above `most_bytes`.
  void ReadBody(uint64_t most_bytes, BodySink sink);
  const HttpProblem& problem() const;  // of kBad
  uint64_t body_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// FormatHead: status line and headers of a response, with Date, X-Request-Id, lengths and what
// keeps browsers careful. Headers with a line's end in them are left out.
std::string FormatHead(const HttpResponse& response, const std::string& request_id,
                       bool keep_alive);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_PARSERS_H_
