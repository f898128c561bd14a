// SPDX-License-Identifier: Apache-2.0
// The client against servers with wrong answers: which answers it takes, which it refuses, and with
// which errors.
#include "service/http/client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;

// Says: a server without TLS on loopback. It answers the n-th request with the n-th text, byte for
// byte, and closes the connection after a text that ends with kClose.
constexpr std::string_view kClose = "<close>", kCloseAtOnce = "<close at once>";

class Says {
 public:
  explicit Says(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { Run(); });
  }
  ~Says() {
    stop_ = true;
    thread_.join();
    close(listener_);
  }
  const std::string& url() const { return url_; }
  int connections() const { return connections_; }
  std::string requests() const { return requests_; }  // when nothing more is asked

 private:
  bool Readable(int fd) const {
    while (!stop_) {
      pollfd wanted{fd, POLLIN, 0};
      if (poll(&wanted, 1, 20) > 0) return true;
    }
    return false;
  }
  void Run() {
    size_t next = 0;
    while (Readable(listener_)) {
      const int fd = accept(listener_, nullptr, nullptr);
      ++connections_;
      while (Serve(fd, &next)) {
      }
      close(fd);
    }
  }
  bool Serve(int fd, size_t* next) {
    std::string request;
    char piece[4096];
    while (request.find("\r\n\r\n") == request.npos) {
      if (!Readable(fd)) return false;
      const ssize_t n = recv(fd, piece, sizeof piece, 0);
      if (n <= 0) return false;
      request.append(piece, n);
    }
    requests_ += request;
    if (*next >= answers_.size()) return Readable(fd) && false;  // silent until the client leaves
    std::string answer = answers_[(*next)++];
    if (answer == kCloseAtOnce) return false;
    const bool ends = answer.ends_with(kClose);
    if (ends) answer.resize(answer.size() - kClose.size());
    EXPECT_EQ(send(fd, answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
    return !ends;
  }

  const std::vector<std::string> answers_;
  int listener_ = -1;
  std::string url_, requests_;
  std::atomic<int> connections_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

absl::StatusOr<HttpResponse> Ask(const Says& server, ClientRequest request = {}) {
  auto client = HttpClient::Create(server.url(), nullptr);
  return client.ok() ? (*client)->Send(request) : client.status();
}

absl::Status Refusal(const std::string& answer, uint64_t most_bytes = 100) {
  const Says server({answer});
  return Ask(server, {.most_bytes = most_bytes}).status();
}

TEST(ClientTest, TakesWhatIsHttp) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc"},
      {"HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
       "abc"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
       "abc"},
      {"HTTP/1.1 200 OK\r\n\r\nabc" + std::string(kClose), "abc"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
  };
  for (const auto& [answer, body] : cases) {
    const Says server({answer});
    const auto response = Ask(server, {.most_bytes = 3});
    ASSERT_TRUE(response.ok()) << answer << response.status();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(std::string(response->body.begin(), response->body.end()), body);
    for (const auto& [name, value] : response->headers) EXPECT_NE(name, "x") << value;
  }
  const Says missing(
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\nContent-TYPE:  a/b \r\n\r\nx"});
  const auto response = Ask(missing);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->content_type, "a/b");
}

TEST(ClientTest, RefusesAnswersThatAreLongOrBroken) {
  const std::string ok = "HTTP/1.1 200 OK\r\n", length = ok + "Content-Length: ";
  std::string fields = ok, long_field = ok + "X: " + std::string(70000, 'x') + "\r\n\r\n";
  for (int i = 0; i < 101; ++i) fields += "X-" + std::to_string(i) + ": y\r\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {length + "4\r\n\r\nabcd", "longer than 3 bytes"},
      {ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n", "longer than 3 bytes"},
      {ok + "\r\nabcd" + std::string(kClose), "longer than 3 bytes"},
      {length + "3\r\n\r\nab" + std::string(kClose), "ended before the answer was complete"},
      {ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n" + std::string(kClose), "ended before"},
      {ok + "Content-L" + std::string(kClose), "ended before"},
      {ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n", ""},
      {ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Late: y\r\n\r\n",
       "behind the body"},
      {length + "3\r\nContent-Length: 2\r\n\r\nabc", "two lengths"},
      {fields + "\r\n", "header is too long"},
      {long_field, "header is too long"},
      {"HTTP/1.1 050 Low\r\nContent-Length: 0\r\n\r\n" + std::string(kClose), ""},
      {"HTTP/1.1 700 High\r\nContent-Length: 0\r\n\r\n", "no HTTP status"},
      {"SSH-2.0-OpenSSH\r\n" + std::string(kClose), ""},
  };
  for (const auto& [answer, why] : cases) {
    const absl::Status refused = Refusal(answer, 3);
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << answer.substr(0, 100) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(why));
  }
}

TEST(ClientTest, AConnectionThatTheServerHasClosedIsOpenedAgain) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na";
  // The server closes at the second request, as if its idle time had just run out.
  const Says server({answer, std::string(kCloseAtOnce), answer, answer});
  const auto client = *HttpClient::Create(server.url(), nullptr);
  for (int i = 0; i < 3; ++i) {
    const auto response = client->Send({.method = "POST", .body = {1}});
    ASSERT_TRUE(response.ok()) << response.status();
  }
  EXPECT_EQ(server.connections(), 2);
  // If a new connection ends without an answer, the request is not repeated.
  const Says mute({std::string(kCloseAtOnce), answer});
  EXPECT_EQ(Ask(mute).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(mute.connections(), 1);
}

TEST(ClientTest, DeadlinesAreKept) {
  for (const std::string answer : {"", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"}) {
    const Says slow(answer.empty() ? std::vector<std::string>() : std::vector{answer});
    const auto before = std::chrono::steady_clock::now();
    const auto response = Ask(slow, {.deadline = std::chrono::milliseconds(150)});
    EXPECT_EQ(response.status().code(), absl::StatusCode::kDeadlineExceeded) << response.status();
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  }
  const Says unused({});
  for (const int none : {0, -5}) {
    EXPECT_EQ(Ask(unused, {.deadline = std::chrono::milliseconds(none)}).status().code(),
              absl::StatusCode::kDeadlineExceeded);
  }
  EXPECT_EQ(unused.connections(), 0);
}

TEST(ClientTest, AsksForWhatItIsTold) {
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  setenv("all_proxy", "http://127.0.0.1:1", 1);
  std::string requests;
  {
    const Says server({answer, answer, answer});
    const auto client = *HttpClient::Create(server.url() + "/", nullptr);
    ASSERT_TRUE(
        client->Send({.target = "/a/../b?x=%20", .headers = {{"A", "b"}, {"Empty", ""}}}).ok());
    ASSERT_TRUE(
        client->Send({.method = "PUT", .target = "/", .content_type = "a/b", .body = {'x'}}).ok());
    ASSERT_TRUE(client->Send({.method = "DELETE", .sign = false}).ok());
    EXPECT_EQ(server.connections(), 1);
    for (const std::string bad : {"x\r\nY: z", "x\ny"}) {
      EXPECT_EQ(client->Send({.headers = {{"X", bad}}}).status().code(),
                absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(client->Send({.target = absl::StrCat("/", bad)}).status().code(),
                absl::StatusCode::kInvalidArgument);
    }
    requests = server.requests();
  }
  unsetenv("http_proxy");
  unsetenv("all_proxy");
  EXPECT_THAT(requests, HasSubstr("GET /a/../b?x=%20 HTTP/1.1\r\n"));
  EXPECT_THAT(requests, HasSubstr("A: b\r\nEmpty:\r\n"));
  EXPECT_THAT(requests, HasSubstr("PUT / HTTP/1.1\r\n"));
  EXPECT_THAT(requests, HasSubstr("Content-Type: a/b\r\n"));
  EXPECT_THAT(requests, HasSubstr("Content-Length: 1\r\n"));
  EXPECT_THAT(requests, HasSubstr("X-Heft-Nonce: "));
  const std::string last = requests.substr(requests.find("DELETE / HTTP/1.1\r\n"));
  EXPECT_THAT(last, HasSubstr("Content-Length: 0\r\n"));
  for (const char* const added :
       {"Accept", "Expect", "User-Agent", "Content-Type", "X-Heft-Nonce"}) {
    EXPECT_THAT(last, ::testing::Not(HasSubstr(added)));
  }
}

TEST(ClientTest, AddressesThatAreNone) {
  for (const std::string url : {"", "localhost", "ftp://localhost", "https://", "https://x:0",
                                "https://x:70000", "https://x/path", "https://x?y", "https://me@x",
                                "https://x#y", "https:x", "file:///etc/passwd"}) {
    EXPECT_THAT(std::string(HttpClient::Create(url, nullptr).status().message()),
                HasSubstr("is not an address"))
        << url;
  }
  for (const std::string url : {"http://example.org", "http://127.0.0.2:80"}) {
    EXPECT_THAT(std::string(HttpClient::Create(url, nullptr).status().message()),
                HasSubstr("without TLS"));
  }
  EXPECT_TRUE(HttpClient::Create("http://[::1]:8080", nullptr).ok());
  EXPECT_THAT(std::string(HttpClient::Create("https://x:8080", nullptr).status().message()),
              HasSubstr("needs a client certificate"));
  const auto nobody = *HttpClient::Create("http://127.0.0.1:1", nullptr);
  EXPECT_EQ(nobody->Send({}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(nobody->Send({}).status().message()),
              HasSubstr("cannot reach 127.0.0.1:1: "));
}

}  // namespace
}  // namespace heft::service
