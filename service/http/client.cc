// SPDX-License-Identifier: Apache-2.0
#include "service/http/client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/access/replay.h"
#include "service/http/tls_internal.h"
#include "service/http/wire.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr size_t kKept = 64;  // connections without a request
constexpr size_t kMaxHeaders = 100, kMaxHeaderBytes = 64 << 10;
constexpr long kPiece = 64 << 10;  // NOLINT: curl's type

// UrlPart: copies a part of a URL that curl parsed; empty if the part is missing.
std::string UrlPart(CURLU* url, CURLUPart part, unsigned int flags = 0) {
  char* text = nullptr;
  std::string out = curl_url_get(url, part, &text, flags) == CURLUE_OK ? text : "";
  curl_free(text);
  return out;
}

struct Address {
  bool tls = true;
  std::string url, place;  // "https://host:port", "host:port"
};

absl::StatusOr<Address> ParseUrl(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  const bool parsed = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  const std::string scheme = UrlPart(url.get(), CURLUPART_SCHEME);
  const std::string host = UrlPart(url.get(), CURLUPART_HOST);
  const std::string port = UrlPart(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  const std::string path = UrlPart(url.get(), CURLUPART_PATH);
  uint32_t number = 0;
  const bool more =
      !UrlPart(url.get(), CURLUPART_USER).empty() || !UrlPart(url.get(), CURLUPART_QUERY).empty() ||
      !UrlPart(url.get(), CURLUPART_FRAGMENT).empty() || (path != "/" && !path.empty());
  if (!parsed || (scheme != "https" && scheme != "http") || host.empty() || more ||
      !absl::SimpleAtoi(port, &number) || number == 0 || number > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not an address: write https://host:port"));
  }
  const bool here = host == "localhost" || host == "127.0.0.1" || host == "[::1]";
  if (scheme == "http" && !here) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\": without TLS only this machine is allowed"));
  }
  return Address{scheme == "https", absl::StrCat(scheme, "://", host, ":", port),
                 absl::StrCat(host, ":", port)};
}

// Answer: collects a response from curl, and checks rules that curl does not check.
class Answer {
 public:
  explicit Answer(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // HeaderLine: takes a status line, a field or an empty line; false refuses the response.
  bool HeaderLine(std::string_view line) {
    line = Trim(line);
    started_ = true;
    if (headers_done_ && !line.starts_with("HTTP/")) return Refuse("fields behind the body");
    if (line.starts_with("HTTP/")) {  // 100 Continue and its like come before the answer
      headers_done_ = false;
      headers_.clear();
      header_bytes_ = 0;
      return true;
    }
    if (line.empty()) return headers_done_ = true;
    header_bytes_ += line.size();
    if (headers_.size() >= kMaxHeaders || header_bytes_ > kMaxHeaderBytes) {
      return Refuse("the header is too long");
    }
    const size_t colon = line.find(':');
    if (colon == line.npos) return Refuse("a header without a colon");
    const std::string name = LowerCase(line.substr(0, colon));
    const auto [at, is_new] = headers_.emplace(name, Trim(line.substr(colon + 1)));
    return is_new || name != "content-length" || Refuse("two lengths");
  }
  bool Piece(std::string_view bytes) {
    if (body_.size() + bytes.size() > most_bytes_) {
      return Refuse(absl::StrCat("it is longer than ", most_bytes_, " bytes"));
    }
    body_.insert(body_.end(), bytes.begin(), bytes.end());
    return true;
  }
  absl::StatusOr<HttpResponse> Take(long status) {  // NOLINT: curl's type
    if (!headers_done_)
      return absl::DataLossError("the connection ended before the answer was complete");
    if (status < 200 || status > 599) {
      return absl::DataLossError("the answer cannot be used: it has no HTTP status");
    }
    HttpResponse out;
    out.status = static_cast<int>(status);
    out.content_type = headers_["content-type"];
    out.body = std::move(body_);
    out.headers.assign(headers_.begin(), headers_.end());
    return out;
  }
  bool started() const { return started_; }
  const std::string& refused() const { return refused_; }

 private:
  bool Refuse(std::string why) {
    refused_ = std::move(why);
    return false;
  }

  const uint64_t most_bytes_;
  std::map<std::string, std::string> headers_;  // names in lower case
  size_t header_bytes_ = 0;
  std::vector<uint8_t> body_;
  bool started_ = false, headers_done_ = false;
  std::string refused_;
};

size_t OnHeader(char* text, size_t, size_t bytes, void* answer) {
  return static_cast<Answer*>(answer)->HeaderLine({text, bytes}) ? bytes : 0;
}
size_t OnBody(char* text, size_t, size_t bytes, void* answer) {
  return static_cast<Answer*>(answer)->Piece({text, bytes}) ? bytes : CURL_WRITEFUNC_ERROR;
}
CURLcode OnContext(CURL*, void* made, void* ours) {
  return UseContext(static_cast<SSL_CTX*>(made), static_cast<SSL_CTX*>(ours)).ok()
             ? CURLE_OK
             : CURLE_SSL_CERTPROBLEM;
}
curl_socket_t OnSocket(void*, curlsocktype, curl_sockaddr* at) {
  return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Lines = std::unique_ptr<curl_slist, FreeList>;

void AddLine(const std::string& line, Lines* lines) {
  curl_slist* const all = curl_slist_append(lines->get(), line.c_str());
  (void)lines->release();
  lines->reset(all);
}

bool OneLine(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos;
}

// Link: curl's handle with the one connection that it keeps.
class Link {
 public:
  Link(const Address& address, std::shared_ptr<SSL_CTX> context)
      : context_(std::move(context)), curl_(curl_easy_init()) {
    if (curl_ == nullptr) return;
    const auto set = [this](CURLoption option, auto value) {
      good_ &= curl_easy_setopt(curl_, option, value) == CURLE_OK;
    };
    set(CURLOPT_URL, absl::StrCat(address.url, "/").c_str());
    set(CURLOPT_PROTOCOLS_STR, address.tls ? "https" : "http");
    set(CURLOPT_PROXY, "");  // none, whatever the environment says
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // NOLINT
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_MAXCONNECTS, 1L);
    set(CURLOPT_BUFFERSIZE, kPiece);
    set(CURLOPT_UPLOAD_BUFFERSIZE, kPiece);
    set(CURLOPT_ERRORBUFFER, static_cast<char*>(why_));
    set(CURLOPT_OPENSOCKETFUNCTION, OnSocket);
    set(CURLOPT_HEADERFUNCTION, OnHeader);
    set(CURLOPT_WRITEFUNCTION, OnBody);
    if (!address.tls) return;
    // All TLS settings come from our context; nothing is read from the system's folders.
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_3));  // NOLINT
    set(CURLOPT_CAINFO, static_cast<char*>(nullptr));
    set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
    set(CURLOPT_SSL_SESSIONID_CACHE, 0L);
    set(CURLOPT_SSL_ENABLE_ALPN, 0L);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_SSL_CTX_DATA, context_.get());
    set(CURLOPT_SSL_CTX_FUNCTION, OnContext);
  }
  ~Link() { curl_easy_cleanup(curl_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const SSL_CTX* context() const { return context_.get(); }
  absl::StatusOr<HttpResponse> Exchange(const ClientRequest& request, curl_slist* lines,
                                        const std::string& place);

 private:
  absl::Status StatusOf(CURLcode code, const Answer& answer, const std::string& place) const;

  const std::shared_ptr<SSL_CTX> context_;
  CURL* const curl_;
  bool good_ = true;
  char why_[CURL_ERROR_SIZE] = "";
};

absl::Status Link::StatusOf(CURLcode code, const Answer& answer, const std::string& place) const {
  const std::string why = *why_ != 0 ? why_ : curl_easy_strerror(code);
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return absl::DeadlineExceededError("the other side took too long");
  }
  if (!answer.refused().empty()) {
    return absl::DataLossError(absl::StrCat("the answer cannot be used: ", answer.refused()));
  }
  switch (code) {
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // an answer of HTTP/0.9
    case CURLE_BAD_CONTENT_ENCODING:
      return absl::DataLossError(absl::StrCat("the answer cannot be used: ", why));
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return absl::UnavailableError(absl::StrCat("cannot reach ", place, ": ", why));
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_PEER_FAILED_VERIFICATION:
      return absl::UnavailableError(absl::StrCat("no TLS with ", place, ": ", why));
    default:
      break;
  }
  const std::string message =
      absl::StrCat("the connection ended before the answer was complete: ", why);
  return answer.started() ? absl::DataLossError(message) : absl::UnavailableError(message);
}

absl::StatusOr<HttpResponse> Link::Exchange(const ClientRequest& request, curl_slist* lines,
                                            const std::string& place) {
  if (curl_ == nullptr || !good_)
    return absl::InternalError("libcurl lacks a feature that HEFT needs");
  // curl takes 0 as no deadline.
  if (request.deadline.count() <= 0) return StatusOf(CURLE_OPERATION_TIMEDOUT, Answer(0), place);
  Answer answer(request.most_bytes);
  const bool bare = request.method == "GET" && request.body.empty();
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(request.deadline.count()));  // NOLINT
  curl_easy_setopt(curl_, CURLOPT_REQUEST_TARGET, request.target.c_str());
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, lines);
  curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &answer);
  if (bare) {
    curl_easy_setopt(curl_, CURLOPT_HTTPGET, 1L);
  } else {
    const char* const body = reinterpret_cast<const char*>(request.body.data());
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, request.body.empty() ? "" : body);
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
  }
  curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, bare ? nullptr : request.method.c_str());
  *why_ = 0;
  const CURLcode code = curl_easy_perform(curl_);
  if (code != CURLE_OK) return StatusOf(code, answer, place);
  long status = 0;  // NOLINT: curl's type
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  return answer.Take(status);
}

class CurlClient : public HttpClient {
 public:
  CurlClient(Address address, std::shared_ptr<TlsContext> tls)
      : address_(std::move(address)), tls_(std::move(tls)) {}

  absl::StatusOr<HttpResponse> Send(const ClientRequest& request) override {
    HEFT_ASSIGN_OR_RETURN(const Lines lines, Head(request));
    std::unique_ptr<Link> link = Kept();
    // If the server closes a kept connection before any answer, curl sends the request again with
    // the same nonce. If the server has already taken the request, it refuses the repetition.
    auto response = link->Exchange(request, lines.get(), address_.place);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (response.ok() && kept_.size() < kKept) kept_.push_back(std::move(link));
    return response;
  }

 private:
  static absl::StatusOr<Lines> Head(const ClientRequest& request) {
    bool good = OneLine(request.method) && OneLine(request.target) && OneLine(request.content_type);
    Lines lines;
    // Suppress the headers that curl adds by itself; an empty content type sends none.
    AddLine("Accept:", &lines);
    AddLine("Expect:", &lines);
    AddLine(absl::StrCat("Content-Type: ", request.content_type), &lines);
    if (request.sign) {
      AddLine(absl::StrCat(kNonceHeader, ": ", NewNonce()), &lines);
      AddLine(absl::StrCat(kTimeHeader, ": ", static_cast<uint64_t>(std::time(nullptr))), &lines);
    }
    for (const auto& [name, value] : request.headers) {
      good &= OneLine(name) && OneLine(value);
      AddLine(value.empty() ? absl::StrCat(name, ";") : absl::StrCat(name, ": ", value), &lines);
    }
    if (!good) return absl::InvalidArgumentError("a line break in a header");
    return lines;
  }
  std::unique_ptr<Link> Kept() {
    const std::shared_ptr<SSL_CTX> now = address_.tls ? tls_->Current() : nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!kept_.empty()) {
      std::unique_ptr<Link> link = std::move(kept_.back());
      kept_.pop_back();
      // A connection from before the last reload of our certificates is not used again.
      if (link->context() == now.get()) return link;
    }
    return std::make_unique<Link>(address_, now);
  }

  const Address address_;
  const std::shared_ptr<TlsContext> tls_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Link>> kept_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Create(const std::string& url,
                                                               std::shared_ptr<TlsContext> tls) {
  IgnoreBrokenPipes();
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) return absl::InternalError(curl_easy_strerror(started));
  HEFT_ASSIGN_OR_RETURN(Address address, ParseUrl(url));
  if (address.tls && tls == nullptr) {
    return absl::InvalidArgumentError("https needs a client certificate");
  }
  return std::make_unique<CurlClient>(std::move(address), std::move(tls));
}

}  // namespace heft::service
