// SPDX-License-Identifier: Apache-2.0
// Clients that misbehave: half requests, slow requests, garbage, thousands of connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/sanitizers.h"
#include "base/testing.h"
#include "service/http/server.h"
#include "service/http/testing.h"
#include "service/testing.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using ::testing::StartsWith;

// Latch: makes handlers wait until Open.
struct Latch {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  std::atomic<int> inside = 0;
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex);
    open = true;
    changed.notify_all();
  }
  void Wait() {
    ++inside;
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return open; });
  }
};

// PlainServer: without TLS, so that tests control each byte; its gate refuses only /forbidden.
struct PlainServer {
  explicit PlainServer(ServerLimits limits = {}, Observer observer = {}) {
    Router router;
    const auto answer = [](const HttpRequest& request) {
      return JsonResponse({{"bytes", request.bytes().size()}, {"path", request.path}});
    };
    router.Add({"GET", "/{name}", "get", Scope::kReadModel, answer});
    router.Add({"POST", "/{name}", "post", Scope::kReadModel, answer, 1 << 20});
    router.Add({"POST", "/large/{name}", "large", Scope::kReadModel, answer, uint64_t{1} << 30});
    router.Add({"POST", "/forbidden/x", "forbidden", Scope::kApprove, answer, 1 << 20});
    router.Add({"GET", "/wait/x", "wait", Scope::kReadModel, [this](const HttpRequest&) {
                  latch.Wait();
                  return NoContent();
                }});
    router.Add({"GET", "/health/live", "live", Scope::kPublic, answer});
    router.Add({"GET", "/many/bytes", "many", Scope::kReadModel, [](const HttpRequest&) {
                  return BytesResponse(std::vector<uint8_t>(32 << 20, 'x'), "text/plain");
                }});
    router.Add({"GET", "/throw/x", "throw", Scope::kReadModel,
                [](const HttpRequest&) -> HttpResponse { throw std::bad_alloc(); }});
    const Gate gate = [](const GateInput& input, Principal*) -> std::optional<GateError> {
      if (input.route->scope == Scope::kApprove) return GateError{403, "PERMISSION_DENIED", "no"};
      return std::nullopt;
    };
    limits.spool = folder.path();
    auto made = HttpServer::Listen("127.0.0.1:0", -1, nullptr, limits, std::move(router), gate,
                                   std::move(observer));
    EXPECT_TRUE(made.ok()) << made.status();
    server = *std::move(made);
    server->Start();
  }
  ~PlainServer() { latch.Open(); }
  uint16_t port() const { return server->port(); }

  heft::testing::TemporaryFolder folder;
  Latch latch;
  std::unique_ptr<HttpServer> server;
};

std::string Get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"; }

std::string Post(const std::string& path, size_t size, const std::string& more = "") {
  return absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: x\r\n", more, "Content-Length: ", size,
                      "\r\n\r\n");
}

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(HostileTest, PipelinedRequestsAreAnsweredInOrder) {
  PlainServer server;
  RawClient client(server.port());
  client.Send(Get("/a") + Post("/b", 3) + "xyz" + Get("/nowhere/x/y") + Get("/c") +
              "GET /d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + Get("/never"));
  const std::string all = client.Receive();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(Count(all, "HTTP/1.1 200"), 4u);
  EXPECT_EQ(Count(all, "HTTP/1.1 404"), 1u);
  EXPECT_LT(all.find("\"/a\""), all.find("\"/b\""));
  EXPECT_LT(all.find("\"/b\""), all.find("404"));
  EXPECT_LT(all.find("404"), all.find("\"/c\""));
  EXPECT_LT(all.find("\"/c\""), all.find("\"/d\""));
  EXPECT_THAT(all, Not(HasSubstr("never")));
}

TEST(HostileTest, ContinueComesAfterTheGate) {
  PlainServer server;
  RawClient good(server.port());
  good.Send(Post("/a", 3, "Expect: 100-continue\r\n"));
  EXPECT_EQ(good.Receive("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  good.Send("abc");
  EXPECT_THAT(good.Receive("\"/a\"}"), StartsWith("HTTP/1.1 200"));
  RawClient refused(server.port());
  refused.Send(Post("/forbidden/x", 3, "Expect: 100-continue\r\n"));
  const std::string all = refused.Receive();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(all, HasSubstr("Connection: close"));
}

TEST(HostileTest, ARefusalIsSeenWhateverIsStillSent) {
  PlainServer server;
  RawClient large(server.port());
  large.Send(Post("/forbidden/x", 1 << 20));
  large.Send(std::string(1 << 20, 'x'));
  EXPECT_THAT(large.Receive(), StartsWith("HTTP/1.1 403"));
  // The rest of a short body is read, and the connection stays open.
  RawClient small(server.port());
  small.Send(Post("/forbidden/x", 1000) + std::string(1000, 'x') + Get("/a"));
  const std::string all = small.Receive("\"/a\"}");
  EXPECT_THAT(all, HasSubstr("HTTP/1.1 403"));
  EXPECT_THAT(all, HasSubstr("HTTP/1.1 200"));
}

TEST(HostileTest, GarbageEndsAConnectionAndNothingElse) {
  PlainServer server;
  std::string bytes;
  uint32_t state = 1;
  for (int round = 0; round < 200; ++round) {
    bytes.clear();
    for (int i = 0; i < 300; ++i) {
      state = state * 1664525 + 1013904223;
      bytes += static_cast<char>(state >> 24);
    }
    RawClient client(server.port());
    client.Send(round % 2 == 0 ? bytes : "POST /a HTTP/1.1\r\nHost: " + bytes + "\r\n\r\n");
    const std::string all = client.Receive("\r\n\r\n", milliseconds(50));
    EXPECT_TRUE(all.empty() || all.starts_with("HTTP/1.1 4")) << all;
  }
  RawClient client(server.port());
  client.Send(Get("/a"));
  EXPECT_THAT(client.Receive("}"), StartsWith("HTTP/1.1 200"));
}

TEST(HostileTest, SlowHeadersAndSilenceEnd) {
  ServerLimits limits;
  limits.header_time = seconds(1);
  limits.idle = seconds(2);
  PlainServer server(limits);
  RawClient silent(server.port()), half(server.port()), served(server.port());
  half.Send("GET /a HTTP/1.1\r\nHo");
  served.Send(Get("/a"));
  EXPECT_THAT(served.Receive("}"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(silent.Receive("", seconds(0)), "");
  // Sending a byte now and then does not keep the connection open.
  const auto began = std::chrono::steady_clock::now();
  bool open = true;
  while (open && std::chrono::steady_clock::now() - began < seconds(10)) {
    std::this_thread::sleep_for(milliseconds(100));
    half.Send("x");
    half.Receive("?", milliseconds(1));
    open = !half.ended();
  }
  EXPECT_FALSE(open);
  silent.Receive("?", seconds(10));
  EXPECT_TRUE(silent.ended());
  served.Receive("?", seconds(10));
  EXPECT_TRUE(served.ended());
}

TEST(HostileTest, OverloadIsSaidAtOnceAndNothingAcceptedIsLost) {
  ServerLimits limits;
  limits.workers = 2;
  limits.queued = 3;
  PlainServer server(limits);
  std::vector<RawClient> accepted;
  const auto wait = [&] {
    accepted.emplace_back(server.port());
    accepted.back().Send(Get("/wait/x"));
  };
  for (int i = 0; i < 2; ++i) wait();
  while (server.latch.inside < 2) std::this_thread::sleep_for(milliseconds(1));
  for (int i = 0; i < 3; ++i) wait();
  while (server.server->load().queued < 3) std::this_thread::sleep_for(milliseconds(1));
  RawClient refused(server.port());
  refused.Send(Get("/a"));
  const std::string all = refused.Receive("}");
  EXPECT_THAT(all, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(all, HasSubstr("Retry-After: 1"));
  EXPECT_THAT(all, HasSubstr("Connection: keep-alive"));
  // The liveness check is still answered.
  refused.Send(Get("/health/live"));
  EXPECT_THAT(refused.Receive("}"), StartsWith("HTTP/1.1 200"));
  server.latch.Open();
  for (RawClient& client : accepted) {
    EXPECT_THAT(client.Receive("\r\n\r\n"), StartsWith("HTTP/1.1 204"));
  }
}

TEST(HostileTest, DeadlinesCountWhileRequestsWait) {
  ServerLimits limits;
  limits.workers = 1;
  PlainServer server(limits);
  RawClient first(server.port()), second(server.port()), wrong(server.port());
  first.Send(Get("/wait/x"));
  while (server.latch.inside < 1) std::this_thread::sleep_for(milliseconds(1));
  second.Send("GET /a HTTP/1.1\r\nHost: x\r\nX-Deadline-Ms: 50\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(100));
  server.latch.Open();
  EXPECT_THAT(second.Receive("}"), StartsWith("HTTP/1.1 504"));
  wrong.Send("GET /a HTTP/1.1\r\nHost: x\r\nX-Deadline-Ms: soon\r\n\r\n");
  EXPECT_THAT(wrong.Receive("}"), StartsWith("HTTP/1.1 400"));
}

TEST(HostileTest, LargeBodiesGoToFilesAndAreBoundedTogether) {
  ServerLimits limits;
  limits.memory_body = 1000;
  limits.spooled_bytes = 3 << 20;
  PlainServer server(limits);
  const std::string body(2 << 20, 'x');
  RawClient first(server.port());
  first.Send(Post("/large/a", 2 * body.size()) + body);  // the half
  for (int i = 0; i < 2000 && server.server->load().spooled_bodies < body.size(); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(server.server->load().spooled_bodies, body.size());
  EXPECT_EQ(server.server->load().memory_bodies, 0u);
  RawClient second(server.port());
  second.Send(Post("/large/b", body.size()) + body);
  const std::string all = second.Receive();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(all, HasSubstr("Retry-After"));
  { const RawClient gone = std::move(first); }
  for (int i = 0; i < 2000 && server.server->load().spooled_bodies > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(server.server->load().spooled_bodies, 0u);
  RawClient third(server.port());
  third.Send(Post("/large/c", body.size()) + body);
  EXPECT_THAT(third.Receive("}"), HasSubstr("2097152"));
}

TEST(HostileTest, WhoDoesNotReadIsForgottenWithoutHarm) {
  PlainServer server;
  {
    RawClient client(server.port());
    client.Send(Get("/many/bytes"));
    client.Receive("xxx", seconds(5));
  }
  RawClient other(server.port());
  other.Send(Get("/many/bytes"));
  EXPECT_GT(other.Receive("\n\n", seconds(1)).size(), 32u << 20);
}

TEST(HostileTest, WhatIsThrownIsAnError) {
  std::atomic<int> seen = 0;
  PlainServer server({}, [&](const Answered& answered) {
    if (!answered.detail.empty()) ++seen;
    return absl::OkStatus();
  });
  RawClient client(server.port());
  client.Send(Get("/throw/x"));
  const std::string all = client.Receive("}");
  EXPECT_THAT(all, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(all, Not(HasSubstr("bad_alloc")));
  EXPECT_EQ(seen, 1);
}

TEST(HostileTest, WithoutARecordThereIsNoAnswer) {
  PlainServer server({}, [](const Answered& answered) {
    const bool secret = answered.request->path == "/secret";
    return secret ? absl::UnavailableError("disk full") : absl::OkStatus();
  });
  RawClient client(server.port());
  client.Send(Get("/secret"));
  const std::string all = client.Receive("}");
  EXPECT_THAT(all, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(all, Not(HasSubstr("/secret")));
  client.Send(Get("/a"));
  EXPECT_THAT(client.Receive("}"), StartsWith("HTTP/1.1 200"));
}

TEST(HostileTest, DrainAnswersWhatWasAccepted) {
  PlainServer server;
  RawClient idle(server.port()), busy(server.port());
  idle.Send(Get("/a"));
  idle.Receive("}");
  busy.Send(Get("/wait/x") + Get("/never"));
  while (server.latch.inside < 1) std::this_thread::sleep_for(milliseconds(1));
  bool drained = false;
  std::thread drain([&] { drained = server.server->Drain(seconds(20)); });
  idle.Receive("?", seconds(10));
  EXPECT_TRUE(idle.ended());
  EXPECT_FALSE(RawClient(server.port()).open());
  server.latch.Open();
  const std::string all = busy.Receive();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(all, HasSubstr("Connection: close"));
  EXPECT_EQ(Count(all, "HTTP/1.1"), 1u);
  drain.join();
  EXPECT_TRUE(drained);
}

TEST(HostileTest, DrainDoesNotWaitForever) {
  PlainServer server;
  RawClient busy(server.port());
  busy.Send(Get("/wait/x"));
  while (server.latch.inside < 1) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_FALSE(server.server->Drain(seconds(1)));
  server.latch.Open();
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

// A connection beyond the limit ends the oldest idle one; busy ones stay.
TEST(HostileTest, TheOldestIdleConnectionMakesRoom) {
  ServerLimits limits;
  limits.connections = 50;
  PlainServer server(limits);
  RawClient busy(server.port());
  busy.Send(Get("/wait/x"));
  while (server.latch.inside < 1) std::this_thread::sleep_for(milliseconds(1));
  std::vector<RawClient> idle;
  for (int i = 0; i < 300; ++i) {
    idle.emplace_back(server.port());
    idle.back().Send(Get("/a"));
    ASSERT_THAT(idle.back().Receive("}"), StartsWith("HTTP/1.1 200")) << i;
    ASSERT_LE(server.server->load().connections, 55u);
  }
  idle[0].Receive("?", seconds(5));
  EXPECT_TRUE(idle[0].ended());
  idle[299].Send(Get("/a"));
  EXPECT_THAT(idle[299].Receive("}"), StartsWith("HTTP/1.1 200"));
  server.latch.Open();
  EXPECT_THAT(busy.Receive("\r\n\r\n"), StartsWith("HTTP/1.1 204"));
}

// As many idle TLS connections as descriptors allow, up to 10,000, with both ends in this process.
TEST(HostileTest, ThousandsOfIdleConnectionsTakeLittle) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  getrlimit(RLIMIT_NOFILE, &files);
  const size_t most = kMemoryReserved ? 300 : 2000;
  const size_t count = std::min<size_t>(most, (files.rlim_cur - 100) / 2);
  Router router;
  router.Add({"GET", "/health/live", "live", Scope::kPublic,
              [](const HttpRequest&) { return NoContent(); }});
  testing::TestService::Options options;
  options.limits.connections = 20000;
  options.limits.idle = seconds(600);
  options.limits.header_time = seconds(600);
  testing::TestService service(std::move(router), options);
  const auto tls = TlsContext::ForClient(service.ca().Issue("client"));
  ASSERT_TRUE(tls.ok());
  std::vector<RawClient> idle;
  const uint64_t before = ResidentBytes();
  for (size_t i = 0; i < count; ++i) {
    idle.emplace_back(service.port(), *tls);
    ASSERT_TRUE(idle.back().open()) << i;
    if (i % 2 == 0) {
      idle.back().Send(Get("/health/live"));
      ASSERT_THAT(idle.back().Receive("\r\n\r\n"), StartsWith("HTTP/1.1 204")) << i;
    }
  }
  EXPECT_GE(service.server().load().connections, count);
  // Both ends count, as both are in this process.
  const uint64_t each = (ResidentBytes() - before) / count;
  if (!kMemoryReserved) {
    EXPECT_LT(each, 100u << 10);
  }
  RecordProperty("bytes_a_connection_both_ends", static_cast<int>(each));
  EXPECT_EQ(service.Client("client").Send({.target = "/health/live"})->status, 204);
}

}  // namespace
}  // namespace heft::service
