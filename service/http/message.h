// SPDX-License-Identifier: Apache-2.0
// Requests and responses as routes see them: whole, checked for size, and already attributed to
// somebody. How they travel is service/http/server.h's; who may ask for what, service/access/'s.
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

// Body: what came with a request. Small ones are in memory; larger ones were written to a file
// without a name as they arrived, and are mapped, so that memory stays bounded whatever is sent.
class Body {
 public:
  virtual ~Body() = default;
  virtual std::span<const uint8_t> bytes() const = 0;
};

// Part: one of a multipart/form-data body (RFC 7578). Its bytes are views of the body.
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
  std::string detail = {};  // for the log alone: it does not leave
};

// Media types of our own: a HEFT file as it is (docs/formats.md).
inline constexpr std::string_view kHeftType = "application/vnd.heft";

// JsonResponse, BytesResponse, NoContent: 200 (or `status`) with that body; 204.
HttpResponse JsonResponse(const Json& value, int status = 200);
HttpResponse BytesResponse(std::vector<uint8_t> bytes, std::string content_type, int status = 200);
HttpResponse NoContent();
// ErrorResponse: OSIA's Error{code, message}. `code` is the status' name in absl ("NOT_FOUND")
// where it came from one, or the service's own; the HTTP status follows from it (docs/operations.md
// has the table). Messages of kInternal and kUnknown are not shown to whom they are not meant for.
HttpResponse ErrorResponse(const absl::Status& status);
HttpResponse ErrorResponse(int http_status, std::string_view code, std::string_view message);

// DecodePercent: RFC 3986; kInvalidArgument for half escapes and for control characters. In a query
// '+' is a space. ParseQuery: a=b&c=d; at most 64 of them.
absl::StatusOr<std::string> DecodePercent(std::string_view text, bool plus_is_space = false);
absl::StatusOr<std::map<std::string, std::string>> ParseQuery(std::string_view query);
// EncodePercent: of a path's segment or a query's value.
std::string EncodePercent(std::string_view text);

// BodyOf: bytes as a body, for tests and requests made by ourselves.
std::shared_ptr<const Body> BodyOf(std::vector<uint8_t> bytes);

// ReadJson: kInvalidArgument for another content type, and for what ParseJson refuses.
absl::StatusOr<Json> ReadJson(const HttpRequest& request, const JsonLimits& limits = {});
// ReadParts: kInvalidArgument for what is no multipart/form-data, more than `most` parts, or
// headers of a part above 4 kB.
inline constexpr size_t kMostParts = 64;
absl::StatusOr<std::vector<Part>> ReadParts(const HttpRequest& request, size_t most = kMostParts);
// IsForm: whether a request says that it has such a body.
bool IsForm(const HttpRequest& request);

}  // namespace heft::service

#endif  // HEFT_SERVICE_HTTP_MESSAGE_H_
