// SPDX-License-Identifier: Apache-2.0
// Requests and responses as routes see them: complete, checked for size, and with a known caller.
// service/http/server.h moves them; service/access/ checks the rights of callers.
#ifndef HEFT_SERVICE_HTTP_MESSAGE_H_
#define HEFT_SERVICE_HTTP_MESSAGE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/access/principal.h"
#include "service/json.h"

namespace heft::service {

// Body: the body of a request. A small one is in memory. A larger one is written to an unnamed file
// while it arrives, and is mapped, so that memory is bounded for any size.
class Body {
 public:
  virtual ~Body() = default;
  virtual std::span<const uint8_t> bytes() const = 0;
};

// Part: a part of a multipart/form-data body (RFC 7578). Its bytes are views of the body.
struct Part {
  std::string name;
  std::string file_name;
  std::string content_type;
  std::span<const uint8_t> bytes;
};

// NewRequestId: 24 random hexadecimal digits.
std::string NewRequestId();

struct HttpRequest {
  std::string method;
  std::string path;                               // decoded, without the query
  std::map<std::string, std::string> query;       // decoded; the last of several
  std::map<std::string, std::string> headers;     // names in lower case
  std::map<std::string, std::string> parameters;  // of the route's pattern: {gallery} and the like
  std::shared_ptr<const Body> body;               // never null
  std::string id;                                 // of this request, in logs and in X-Request-Id
  std::string peer;                               // address
  Principal who;
  std::chrono::steady_clock::time_point deadline;

  std::span<const uint8_t> bytes() const { return body->bytes(); }
  std::string Header(const std::string& lower_case_name) const;  // empty if absent
  std::string Query(const std::string& name) const;              // empty if absent
  const std::string& Parameter(const std::string& name) const;   // dies where the route has none
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<uint8_t> body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string detail = {};  // only for the log: it is not sent
};

// The media type of a HEFT file (docs/formats.md).
inline constexpr std::string_view kHeftType = "application/vnd.heft";

// JsonResponse, BytesResponse: 200 (or `status`) with this body. NoContent: 204.
HttpResponse JsonResponse(const Json& value, int status = 200);
HttpResponse BytesResponse(std::vector<uint8_t> bytes, std::string content_type, int status = 200);
HttpResponse NoContent();
// ErrorResponse: OSIA's Error{code, message}. `code` is the name of the status in absl
// ("NOT_FOUND"), or the service's own; it determines the HTTP status (table in docs/operations.md).
// Only the log has the message of an error that IsInside.
HttpResponse ErrorResponse(const absl::Status& status);
HttpResponse ErrorResponse(int http_status, std::string_view code, std::string_view message);
// IsInside: whether the answer is 500: the caller can do nothing. kInternal, kUnknown, and
// kDataLoss of what the server has stored (base/status.h).
bool IsInside(const absl::Status& status);

// DecodePercent: RFC 3986; kInvalidArgument for incomplete escapes and control characters. In a
// query '+' is a space. ParseQuery: a=b&c=d, at most 64 pairs.
absl::StatusOr<std::string> DecodePercent(std::string_view text, bool plus_is_space = false);
absl::StatusOr<std::map<std::string, std::string>> ParseQuery(std::string_view query);
// EncodePercent: for a segment of a path or a value of a query.
std::string EncodePercent(std::string_view text);

// BodyOf: bytes as a body, for tests and for requests that we make.
std::shared_ptr<const Body> BodyOf(std::vector<uint8_t> bytes);

// ReadJson: kInvalidArgument for another content type, and for text that ParseJson refuses.
absl::StatusOr<Json> ReadJson(const HttpRequest& request, const JsonLimits& limits = {});
// ReadParts: kInvalidArgument if the body is not multipart/form-data, has more than `most` parts,
// or a part has headers above 4 kB.
inline constexpr size_t kMaxParts = 64;
absl::StatusOr<std::vector<Part>> ReadParts(const HttpRequest& request, size_t most = kMaxParts);
// IsForm: whether the content type says multipart/form-data.
bool IsForm(const HttpRequest& request);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_MESSAGE_H_
