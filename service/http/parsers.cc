// SPDX-License-Identifier: Apache-2.0
#include "service/http/parsers.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/text.h"

namespace heft::service {
namespace {

namespace http = boost::beast::http;
using boost::beast::string_view;
using BeastError = boost::beast::error_code;

constexpr size_t kMaxFields = 100;
// Beast 1.74 takes 0 for boost::none.
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
// Beast asserts that it sees the last chunk ("0" and two line ends) with at least five bytes. A
// chunked body cannot end with fewer bytes, so fewer are not given to it.
constexpr size_t kLastChunk = 5;

std::string_view View(string_view text) { return {text.data(), text.size()}; }
boost::asio::const_buffer Buffer(std::span<const uint8_t> bytes) {
  return {bytes.data(), bytes.size()};
}

// Single: whether a field may come only once, as two readers might use different values.
bool Single(std::string_view name) {
  static constexpr std::string_view kListed[] = {"accept",     "accept-encoding", "accept-language",
                                                 "cookie",     "forwarded",       "via",
                                                 "connection", "x-forwarded-for"};
  return std::find(std::begin(kListed), std::end(kListed), name) == std::end(kListed);
}

// AddField: false for a field that may not repeat, and for too many fields.
bool AddField(std::string_view name, std::string_view value,
              std::map<std::string, std::string>* headers) {
  const std::string lower = LowerCase(name);
  const auto [at, is_new] = headers->try_emplace(lower, std::string(value));
  if (headers->size() > kMaxFields) return false;
  if (is_new) return true;
  if (Single(lower)) return false;
  absl::StrAppend(&at->second, ", ", std::string(value));
  return true;
}

}  // namespace

// RequestAdapter: Beast's parser, with callbacks in our types.
class RequestAdapter : public http::basic_parser<true> {
 public:
  bool trailing = false;  // fields that come now are trailers
  std::function<bool(std::string_view name, std::string_view value)> field;
  std::function<bool(std::span<const uint8_t>)> body;
  std::string method, target;
  int version = 11;

 protected:
  void on_request_impl(http::verb, string_view method_text, string_view target_text, int v,
                       BeastError&) override {
    method = std::string(View(method_text));
    target = std::string(View(target_text));
    version = v;
  }
  void on_response_impl(int, string_view, int, BeastError&) override {}
  void on_field_impl(http::field, string_view name, string_view value, BeastError& error) override {
    if (trailing || !field(View(name), View(value))) error = http::error::bad_field;
  }
  void on_header_impl(BeastError&) override { trailing = true; }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, BeastError&) override {}
  size_t on_body_impl(string_view piece, BeastError& error) override { return Piece(piece, error); }
  void on_chunk_header_impl(std::uint64_t, string_view, BeastError&) override {}
  size_t on_chunk_body_impl(std::uint64_t, string_view piece, BeastError& error) override {
    return Piece(piece, error);
  }
  void on_finish_impl(BeastError&) override {}

 private:
  size_t Piece(string_view piece, BeastError& error) {
    if (!body({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()})) {
      error = http::error::body_limit;
    }
    return piece.size();
  }
};

namespace {

HttpProblem Problem(int status, std::string_view code, std::string_view message) {
  return {status, std::string(code), std::string(message)};
}

HttpProblem Malformed(std::string_view what) { return Problem(400, "INVALID_ARGUMENT", what); }

}  // namespace

struct RequestReader::Impl {
  RequestAdapter parser;
  State state = State::kHead;
  RequestHead head;
  HttpProblem problem;
  std::optional<HttpProblem> refused;  // by a field or the sink
  BodySink sink;
  uint64_t most = 0, got = 0;

  void Bad(HttpProblem what) {
    problem = refused ? *refused : std::move(what);
    state = State::kBad;
  }
  bool Field(std::string_view name, std::string_view value) {
    if (AddField(name, value, &head.headers)) return true;
    refused =
        head.headers.size() > kMaxFields
            ? Problem(431, "OUT_OF_RANGE", "more than 100 header fields")
            : Malformed(absl::StrCat("the header field ", std::string(name), " occurs twice"));
    return false;
  }
  bool Body(std::span<const uint8_t> piece) {
    got += piece.size();
    if (got > most) {
      refused = Problem(413, "OUT_OF_RANGE", absl::StrCat("a body above ", most, " bytes"));
    } else {
      refused = sink(piece);
    }
    return !refused;
  }
  std::optional<HttpProblem> FinishHead();
};

// FinishHead: checks rules that Beast does not check.
std::optional<HttpProblem> RequestReader::Impl::FinishHead() {
  if (parser.version != 11) return Problem(505, "UNIMPLEMENTED", "this service uses only HTTP/1.1");
  if (!head.headers.contains("host")) return Malformed("the header field Host is missing");
  head.method = parser.method;
  head.target = parser.target;
  head.keep_alive = parser.keep_alive();
  head.chunked = parser.chunked();
  if (const auto bytes = parser.content_length()) head.content_length = *bytes;
  const auto coding = head.headers.find("transfer-encoding");
  if (coding != head.headers.end() && !SameText(coding->second, "chunked")) {
    return Problem(501, "UNIMPLEMENTED", "a transfer encoding other than chunked");
  }
  const auto length = head.headers.find("content-length");
  if (length != head.headers.end() &&
      length->second.find_first_not_of("0123456789") != std::string::npos) {
    return Malformed("Content-Length is not a number");
  }
  const auto encoding = head.headers.find("content-encoding");
  if (encoding != head.headers.end() && !SameText(encoding->second, "identity")) {
    return Problem(415, "UNIMPLEMENTED", "compressed bodies are not accepted");
  }
  const auto expect = head.headers.find("expect");
  if (expect != head.headers.end()) {
    if (!SameText(expect->second, "100-continue")) {
      return Problem(417, "UNIMPLEMENTED", "an expectation other than 100-continue");
    }
    head.expects_continue = head.has_body();
  }
  if (head.target.empty() || head.target.front() != '/' ||
      head.target.find('#') != head.target.npos) {
    return Malformed("the target is not a path");
  }
  const size_t mark = head.target.find('?');
  head.path = head.target.substr(0, mark);
  for (const std::string_view segment : Split(head.path, '/')) {
    const auto decoded = DecodePercent(segment);
    if (!decoded.ok()) return Malformed(Message(decoded.status()));
    if (*decoded == "." || *decoded == "..") return Malformed("\"..\" in the path");
  }
  if (mark == head.target.npos) return std::nullopt;
  auto query = ParseQuery(std::string_view(head.target).substr(mark + 1));
  if (!query.ok()) return Malformed(Message(query.status()));
  head.query = *std::move(query);
  return std::nullopt;
}

RequestReader::RequestReader(uint32_t header_bytes) : impl_(std::make_unique<Impl>()) {
  Impl* impl = impl_.get();
  impl->parser.header_limit(header_bytes);
  impl->parser.body_limit(kNoLimit);  // we limit the sum of received bytes
  impl->parser.field = [impl](auto name, auto value) { return impl->Field(name, value); };
  impl->parser.body = [impl](auto piece) { return impl->Body(piece); };
}

RequestReader::~RequestReader() = default;

size_t RequestReader::Feed(std::span<const uint8_t> bytes) {
  Impl& impl = *impl_;
  size_t used = 0;
  while ((impl.state == State::kHead || impl.state == State::kBody) && used < bytes.size()) {
    BeastError error;
    const bool in_head = impl.state == State::kHead;
    if (!in_head && impl.head.chunked && bytes.size() - used < kLastChunk) break;
    const size_t n = impl.parser.put(Buffer(bytes.subspan(used)), error);
    used += n;
    if (error == http::error::need_more) break;
    if (error == http::error::header_limit) {
      impl.Bad(Problem(431, "OUT_OF_RANGE", "the header is too long"));
    } else if (error) {
      impl.Bad(Malformed(absl::StrCat("malformed HTTP: ", error.message())));
    } else if (in_head && impl.parser.is_header_done()) {
      auto wrong = impl.FinishHead();
      if (wrong) {
        impl.Bad(*std::move(wrong));
      } else {
        impl.state = State::kHeadDone;
      }
    } else if (impl.parser.is_done()) {
      impl.state = State::kDone;
    } else if (n == 0) {
      break;
    }
  }
  return used;
}

void RequestReader::ReadBody(uint64_t most_bytes, BodySink sink) {
  impl_->most = most_bytes;
  impl_->sink = std::move(sink);
  impl_->state = impl_->parser.is_done() ? State::kDone : State::kBody;
}

RequestReader::State RequestReader::state() const { return impl_->state; }
const RequestHead& RequestReader::head() const { return impl_->head; }
const HttpProblem& RequestReader::problem() const { return impl_->problem; }
uint64_t RequestReader::body_bytes() const { return impl_->got; }

std::string FormatHead(const HttpResponse& response, const std::string& request_id,
                       bool keep_alive) {
  const auto reason = http::obsolete_reason(http::int_to_status(response.status));
  char date[64];
  const std::time_t now = std::time(nullptr);
  std::tm broken{};
  gmtime_r(&now, &broken);
  std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &broken);
  std::string head = absl::StrCat("HTTP/1.1 ", response.status, " ", std::string(View(reason)),
                                  "\r\nDate: ", date, "\r\nX-Request-Id: ", request_id,
                                  "\r\nX-Content-Type-Options: nosniff\r\nConnection: ",
                                  keep_alive ? "keep-alive" : "close", "\r\n");
  bool cached = false;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (name.find_first_of("\r\n:") != name.npos || value.find_first_of("\r\n") != value.npos) {
      return;
    }
    absl::StrAppend(&head, std::string(name), ": ", std::string(value), "\r\n");
    cached |= SameText(name, "cache-control");
  };
  if (!response.content_type.empty()) add("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) add(name, value);
  if (!cached) add("Cache-Control", "no-store");
  if (response.status != 204) add("Content-Length", absl::StrCat(response.body.size()));
  return head + "\r\n";
}

}  // namespace heft::service
