// SPDX-License-Identifier: Apache-2.0
// A daemon as a separate process: systemd's socket, READY, reload, drain, and its logs.
#include "service/run/daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/testing.h"
#include "service/http/client.h"
#include "service/json.h"
#include "service/openapi/recorder.h"
#include "service/run/notify.h"
#include "service/testing.h"
#include "service/text.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Serve: the child process; its exit code says which step failed.
int Serve(const std::string& config_path) {
  Signals signals;
  const auto read = [&]() -> absl::StatusOr<CommonConfig> {
    auto config = Config::Read(config_path);
    if (!config.ok()) return config.status();
    CommonConfig common = ReadCommonConfig(*config);
    if (const absl::Status good = config->Check(); !good.ok()) return good;
    return common;
  };
  const auto common = read();
  if (!common.ok()) return 10;
  auto base = DaemonBase::Create(*common);
  if (!base.ok()) return 11;
  ServeOptions options;
  // Not ready while there is a file "broken" beside the configuration.
  const std::string broken = absl::StrCat(config_path.substr(0, config_path.rfind('/')), "/broken");
  (*base)->AddCommonRoutes(&options.router, [broken] {
    return FileExists(broken) ? absl::UnavailableError("broken") : absl::OkStatus();
  });
  Route slow{"POST",
             "/v1/slow/{person}",
             "slow",
             Scope::kVerify,
             [](const HttpRequest&) {
               std::this_thread::sleep_for(std::chrono::milliseconds(500));
               return NoContent();
             },
             1000,
             true,
             true};
  options.router.Add(std::move(slow));
  options.reload = [&]() -> absl::StatusOr<std::function<void()>> {
    const auto again = read();
    if (!again.ok()) return again.status();
    return (*base)->Prepare(*again);
  };
  return ServeUntilStopped(&signals, *common, base->get(), std::move(options)).ok() ? 0 : 12;
}

int FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(probe, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(probe);
  return ntohs(address.sin_port);
}

class DaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = ca_.Issue("server");
    Configure("client");
    // Systemd's two sockets.
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener_, 16), 0);
    ASSERT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = absl::StrCat("https://localhost:", ntohs(address.sin_port));
    notify_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string path = folder_ / "notify";
    std::memcpy(name.sun_path, path.c_str(), path.size());
    ASSERT_EQ(bind(notify_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    const timeval patience{60, 0};
    setsockopt(notify_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    Start();
  }
  void TearDown() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(listener_);
    close(notify_);
  }

  // Configure: `who` is the client's subject.
  void Configure(const std::string& who, const std::string& more = "") const {
    ca_.Revoke({});  // which ends tomorrow
    ASSERT_TRUE(
        WriteFileAtomic(
            folder_ / "d.toml",
            absl::StrCat("[tls]\ncertificate='server.pem'\nprivate_key='server.key'\n"
                         "authorities='ca.pem'\nrevoked='revoked.pem'\n[access]\nnonces='nonces'\n"
                         "[audit]\nfile='audit.log'\n[log]\nlevel='debug'\n",
                         "[[certificate]]\nsubject='", who, "'\nroles=['client']\n",
                         "[[certificate]]\nsubject='auditor'\nroles=['auditor']\n", more))
            .ok());
  }

  void Start() {
    child_ = fork();
    if (child_ == 0) {
      const int log = open((folder_ / "stderr").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
      dup2(log, 2);
      dup2(listener_, 3);
      setenv("LISTEN_FDS", "1", 1);
      setenv("LISTEN_PID", absl::StrCat(getpid()).c_str(), 1);
      setenv("NOTIFY_SOCKET", (folder_ / "notify").c_str(), 1);
      _exit(Serve(folder_ / "d.toml"));
    }
    ASSERT_EQ(Notified(), "READY=1") << *ReadTextFile(folder_ / "stderr");
  }
  int Ended() {
    int status = 0;
    EXPECT_EQ(waitpid(std::exchange(child_, -1), &status, 0) > 0, true);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Notified() const {
    char text[1000];
    const ssize_t n = recv(notify_, text, sizeof text, 0);
    return n < 0 ? "" : std::string(text, n);
  }
  std::unique_ptr<HttpClient> ClientOf(const std::string& subject) const {
    return std::make_unique<testing::RecordingClient>(
        *HttpClient::Create(url_, *TlsContext::ForClient(ca_.Issue(subject))), &Recorded(),
        "/v1/slow");
  }
  static testing::Records& Recorded() {
    static auto* const records = new testing::Records("daemon_test");
    return *records;
  }
  static std::string TextOf(const absl::StatusOr<HttpResponse>& response) {
    if (!response.ok()) return response.status().ToString();
    return std::string(response->body.begin(), response->body.end());
  }

  heft::testing::TemporaryFolder folder_;
  testing::ThrowAwayCa ca_{folder_.path()};
  TlsFiles server_;
  std::string url_;
  int listener_ = -1, notify_ = -1;
  pid_t child_ = -1;
};

TEST_F(DaemonTest, ServesReloadsAndDrains) {
  const auto client = ClientOf("client"), auditor = ClientOf("auditor"), other = ClientOf("other");
  EXPECT_EQ(client->Send({.target = "/health/live"})->status, 200);
  EXPECT_EQ(client->Send({.target = "/health/ready"})->status, 200);
  const ClientRequest ask{.method = "POST", .target = "/v1/slow/ann"};
  EXPECT_EQ(client->Send(ask)->status, 204);
  EXPECT_EQ(auditor->Send(ask)->status, 403);
  EXPECT_EQ(other->Send(ask)->status, 401);
  const std::string metrics = TextOf(auditor->Send({.target = "/metrics"}));
  EXPECT_THAT(metrics, HasSubstr("heft_requests_total{operation=\"slow\",status=\"204\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("heft_requests_total{operation=\"slow\",status=\"403\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("heft_connections "));
  EXPECT_THAT(metrics, HasSubstr("heft_certificate_expires_seconds "));
  EXPECT_THAT(metrics, HasSubstr("heft_crl_expires_seconds "));

  // A wrong configuration changes nothing; a right one changes the rules.
  Configure("other", "[oops]\n");
  kill(child_, SIGHUP);
  EXPECT_THAT(Notified(), StartsWith("RELOADING=1"));
  EXPECT_EQ(Notified(), "READY=1");
  EXPECT_EQ(client->Send(ask)->status, 204);
  Configure("other");
  kill(child_, SIGHUP);
  EXPECT_THAT(Notified(), StartsWith("RELOADING=1"));
  EXPECT_EQ(Notified(), "READY=1");
  EXPECT_EQ(client->Send(ask)->status, 401);
  EXPECT_EQ(other->Send(ask)->status, 204);

  // Accepted requests are answered; later ones reach the next process at the same socket.
  absl::StatusOr<HttpResponse> last;
  std::thread waiting([&] { last = other->Send(ask); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  kill(child_, SIGTERM);
  EXPECT_EQ(Notified(), "STOPPING=1");
  waiting.join();
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->status, 204);
  EXPECT_EQ(Ended(), 0);
  EXPECT_THAT(*ReadTextFile(folder_ / "stderr"),
              HasSubstr("the list of revoked certificates expires"));
  Start();
  EXPECT_EQ(other->Send(ask)->status, 204);

  // The audit log of both processes is one chain, and the auditor can read it.
  const auto page = auditor->Send({.target = "/v1/audit-log?from=2&count=2"});
  const auto json = Json::parse(TextOf(page));
  ASSERT_EQ(json["lines"].size(), 2u);
  EXPECT_EQ(json["lines"][0]["seq"], 2);
  EXPECT_EQ(json["lines"][0]["operation"], "slow");
  EXPECT_EQ(json["lines"][0]["parameters"]["person"], "ann");
  EXPECT_EQ(json["next"], 4);
  EXPECT_EQ(auditor->Send({.target = "/v1/audit-log?count=100000"})->status, 400);
  EXPECT_EQ(other->Send({.target = "/v1/audit-log"})->status, 403);
  const auto head = VerifyAuditLog(folder_ / "audit.log");
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_THAT(TextOf(auditor->Send({.target = "/v1/audit-log/head"})), HasSubstr(head->hash));
  std::vector<std::string> events;
  ASSERT_TRUE(VerifyAuditLog(folder_ / "audit.log", nullptr, [&](uint64_t, const auto& line) {
                events.push_back(line["event"].template get<std::string>());
                if (line.contains("status")) {
                  events.back() += absl::StrCat(" ", line["status"].template get<int>());
                }
              }).ok());
  EXPECT_THAT(events, ::testing::ElementsAre("start", "request 204", "request 403", "request 401",
                                             "request 204", "reload", "request 401", "request 204",
                                             "request 204", "stop", "start", "request 204"));
}

// The new rules are valid, but the new certificate is not: neither takes effect.
TEST_F(DaemonTest, AReloadThatFailsChangesNothing) {
  const auto client = ClientOf("client"), other = ClientOf("other");
  const ClientRequest ask{.method = "POST", .target = "/v1/slow/ann"};
  const std::string good = *ReadTextFile(folder_ / "server.pem");
  ASSERT_TRUE(WriteFileAtomic(folder_ / "server.pem", std::string_view("nothing")).ok());
  Configure("other");
  kill(child_, SIGHUP);
  EXPECT_THAT(Notified(), StartsWith("RELOADING=1"));
  EXPECT_EQ(Notified(), "READY=1");
  EXPECT_EQ(client->Send(ask)->status, 204);
  EXPECT_EQ(other->Send(ask)->status, 401);
  EXPECT_THAT(*ReadTextFile(folder_ / "audit.log"), Not(HasSubstr("reload")));
  ASSERT_TRUE(WriteFileAtomic(folder_ / "server.pem", good).ok());
  kill(child_, SIGHUP);
  EXPECT_THAT(Notified(), StartsWith("RELOADING=1"));
  EXPECT_EQ(Notified(), "READY=1");
  EXPECT_EQ(client->Send(ask)->status, 401);
  EXPECT_EQ(other->Send(ask)->status, 204);
}

// [metrics] address answers without a certificate: only health and metrics.
TEST_F(DaemonTest, AnswersHealthAndMetricsOnLoopback) {
  kill(child_, SIGTERM);
  EXPECT_EQ(Notified(), "STOPPING=1");
  EXPECT_EQ(Ended(), 0);
  const int port = FreePort();
  Configure("client", absl::StrCat("[metrics]\naddress='127.0.0.1:", port, "'\n"));
  Start();
  const auto client = *HttpClient::Create(absl::StrCat("http://127.0.0.1:", port), nullptr);
  EXPECT_EQ(client->Send({.target = "/health/live"})->status, 200);
  EXPECT_EQ(client->Send({.target = "/health/ready"})->status, 200);
  EXPECT_THAT(TextOf(client->Send({.target = "/metrics"})), HasSubstr("heft_connections "));
  EXPECT_EQ(client->Send({.target = "/v1/audit-log"})->status, 404);
  ASSERT_TRUE(WriteFileAtomic(folder_ / "broken", std::string_view("")).ok());
  const auto broken = client->Send({.target = "/health/ready"});
  EXPECT_EQ(broken->status, 503);
  EXPECT_THAT(TextOf(broken), Not(HasSubstr("broken")));
  EXPECT_EQ(client->Send({.target = "/health/live"})->status, 200);
}

TEST_F(DaemonTest, AReloadIsASignOfLife) {
  kill(child_, SIGTERM);
  EXPECT_EQ(Notified(), "STOPPING=1");
  EXPECT_EQ(Ended(), 0);
  setenv("WATCHDOG_USEC", "7200000000", 1);  // two hours: no message because of a timeout
  Start();
  unsetenv("WATCHDOG_USEC");
  kill(child_, SIGHUP);
  EXPECT_THAT(Notified(), StartsWith("RELOADING=1"));
  EXPECT_EQ(Notified(), "READY=1");
  EXPECT_EQ(Notified(), "WATCHDOG=1");
}

// A certificate of the authority that no rule names: it is refused each time, and does not fill the
// disk.
TEST_F(DaemonTest, RefusalsDoNotFillTheAuditLog) {
  const auto stranger = ClientOf("stranger");
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(stranger->Send({.method = "POST", .target = "/v1/slow/ann"})->status, 401);
  }
  EXPECT_EQ(ClientOf("client")->Send({.method = "POST", .target = "/v1/slow/ann"})->status, 204);
  kill(child_, SIGTERM);
  EXPECT_EQ(Ended(), 0);
  int lines = 0, counted = 0, answered = 0;
  ASSERT_TRUE(VerifyAuditLog(folder_ / "audit.log", nullptr, [&](uint64_t, const auto& line) {
                if (line["event"] == "refusals") counted += line["count"].template get<int>();
                if (line["event"] != "request") return;
                ++(line["status"] == 401 ? lines : answered);
              }).ok());
  EXPECT_LT(lines, 100);
  EXPECT_EQ(lines + counted, 300);
  EXPECT_EQ(answered, 1);
}

TEST_F(DaemonTest, LogLinesAreJsonAndSayNothingSecret) {
  const auto client = ClientOf("client");
  ClientRequest ask{.method = "POST", .target = "/v1/slow/ann?key=in-the-query"};
  ask.headers = {{"X-Secret", "in-a-header"}};
  ask.body = {'i', 'n', '-', 't', 'h', 'e', '-', 'b', 'o', 'd', 'y'};
  EXPECT_EQ(client->Send(ask)->status, 204);
  ask.headers = {{"Authorization", "Bearer in-a-token"}};
  EXPECT_EQ(client->Send(ask)->status, 401);
  kill(child_, SIGTERM);
  EXPECT_EQ(Ended(), 0);
  const std::string text = *ReadTextFile(folder_ / "stderr"),
                    audit = *ReadTextFile(folder_ / "audit.log");
  EXPECT_THAT(text + audit, Not(HasSubstr("in-")));
  size_t requests = 0;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty()) continue;
    const auto json = Json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    EXPECT_TRUE(json.contains("time") && json.contains("level") && json.contains("message"));
    if (json["message"] != "request") continue;
    ++requests;
    EXPECT_EQ(json["request"].get<std::string>().size(), 24u);
    EXPECT_EQ(json["operation"], "slow");
    EXPECT_GT(json["ms"].get<double>(), 0);
  }
  EXPECT_EQ(requests, 2u);
}

}  // namespace
}  // namespace heft::service
