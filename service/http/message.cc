// SPDX-License-Identifier: Apache-2.0
#include "service/http/message.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/bytes.h"
#include "base/csprng.h"
#include "base/status.h"
#include "service/json.h"
#include "service/text.h"

namespace heft::service {
namespace {

// BytesBody: a body in memory.
class BytesBody : public Body {
 public:
  explicit BytesBody(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  std::span<const uint8_t> bytes() const override { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

std::string Find(const std::map<std::string, std::string>& in, const std::string& name) {
  const auto found = in.find(name);
  return found == in.end() ? std::string() : found->second;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// HttpStatusOf: as in the table of docs/operations.md.
int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kDataLoss:
      return IsOfStore(status) ? 500 : 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

std::string HttpRequest::Header(const std::string& name) const { return Find(headers, name); }
std::string HttpRequest::Query(const std::string& name) const { return Find(query, name); }

const std::string& HttpRequest::Parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  if (found == parameters.end()) {
    std::fprintf(stderr, "no parameter {%s} in the pattern of %s\n", name.c_str(), path.c_str());
    std::abort();
  }
  return found->second;
}

HttpResponse JsonResponse(const Json& value, int status) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return BytesResponse({text.begin(), text.end()}, "application/json", status);
}

HttpResponse BytesResponse(std::vector<uint8_t> bytes, std::string content_type, int status) {
  HttpResponse response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.body = std::move(bytes);
  return response;
}

HttpResponse NoContent() { return BytesResponse({}, "", 204); }

HttpResponse ErrorResponse(int http_status, std::string_view code, std::string_view message) {
  return JsonResponse({{"code", std::string(code)}, {"message", std::string(message)}},
                      http_status);
}

bool IsInside(const absl::Status& status) { return HttpStatusOf(status) == 500; }

HttpResponse ErrorResponse(const absl::Status& status) {
  const int http_status = HttpStatusOf(status);
  const bool inside = IsInside(status);
  HttpResponse response = ErrorResponse(
      http_status, absl::StatusCodeToString(status.code()),
      inside ? "the service failed: see its log under this request's id" : Message(status));
  if (inside) response.detail = Message(status);
  if (http_status == 429 || http_status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

absl::StatusOr<std::string> DecodePercent(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return absl::InvalidArgumentError("incomplete percent encoding");
      c = static_cast<char>(16 * high + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 32 || c == 127) {
      return absl::InvalidArgumentError("a control character in the address");
    }
    out += c;
  }
  return out;
}

absl::StatusOr<std::map<std::string, std::string>> ParseQuery(std::string_view query) {
  std::map<std::string, std::string> out;
  if (query.empty()) return out;
  const std::vector<std::string_view> pairs = Split(query, '&');
  if (pairs.size() > 64) return absl::InvalidArgumentError("more than 64 values in the query");
  for (const std::string_view pair : pairs) {
    if (pair.empty()) continue;
    const size_t at = pair.find('=');
    const auto name = DecodePercent(pair.substr(0, at), true);
    if (!name.ok()) return name.status();
    const auto value = DecodePercent(at == pair.npos ? "" : pair.substr(at + 1), true);
    if (!value.ok()) return value.status();
    out[*name] = *value;
  }
  return out;
}

std::string EncodePercent(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
        c == '~') {
      out += c;
    } else {
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

std::string NewRequestId() {
  thread_local Csprng random;
  std::array<uint8_t, 12> bytes;
  random.Fill(bytes);
  return HexString(bytes);
}

std::shared_ptr<const Body> BodyOf(std::vector<uint8_t> bytes) {
  return std::make_shared<BytesBody>(std::move(bytes));
}

absl::StatusOr<Json> ReadJson(const HttpRequest& request, const JsonLimits& limits) {
  const std::string type = LowerCase(request.Header("content-type"));
  const std::string_view media = Trim(std::string_view(type).substr(0, type.find(';')));
  if (media != "application/json") {
    return absl::InvalidArgumentError("this needs Content-Type: application/json");
  }
  return ParseJson(request.bytes(), limits);
}

}  // namespace heft::service
