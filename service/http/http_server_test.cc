// SPDX-License-Identifier: Apache-2.0
// Requests and answers over TLS on loopback, with our own client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/testing.h"
#include "service/http/server.h"
#include "service/json.h"
#include "service/testing.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using testing::TestService;

std::string TextOf(const HttpResponse& response) {
  return {response.body.begin(), response.body.end()};
}

std::string HeaderOf(const HttpResponse& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

// Echo: routes that return the request.
Router Echo() {
  Router router;
  const auto say = [](const HttpRequest& request) {
    return JsonResponse({{"method", request.method},
                         {"path", request.path},
                         {"query", request.query},
                         {"parameters", request.parameters},
                         {"who", request.who.name},
                         {"peer", request.peer},
                         {"bytes", request.bytes().size()}});
  };
  const auto back = [](const HttpRequest& request) {
    return BytesResponse({request.bytes().begin(), request.bytes().end()},
                         "application/octet-stream");
  };
  router.Add({"GET", "/v1/echo/{name}", "echo", Scope::kReadModel, say});
  router.Add({"PUT", "/v1/echo/{name}", "put", Scope::kReadModel, back, 64 << 20});
  router.Add({"POST", "/v1/small", "small", Scope::kReadModel, say, 100, true});
  router.Add({"GET", "/health/live", "live", Scope::kPublic, say});
  return router;
}

TEST(ServerTest, AnswersOverTls) {
  TestService service(Echo());
  ClientRequest request;
  request.target = "/v1/echo/a%2Fb?x=1+2&y=%C3%A9";
  const auto response = service.Client(ServiceRole::kClient).Send(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->status, 200);
  const auto json = Json::parse(TextOf(*response));
  EXPECT_EQ(json["parameters"]["name"], "a/b");
  EXPECT_EQ(json["query"]["x"], "1 2");
  EXPECT_EQ(json["query"]["y"], "\u00e9");
  EXPECT_EQ(json["who"], "client");
  EXPECT_EQ(HeaderOf(*response, "x-request-id").size(), 24u);
  EXPECT_EQ(HeaderOf(*response, "cache-control"), "no-store");
}

TEST(ServerTest, BodiesOfAllSizesComeBackAsTheyWere) {
  TestService::Options options;
  options.limits.memory_body = 100000;
  TestService service(Echo(), options);
  for (const size_t size : {0, 1, 8191, 8192, 8193, 65536, 99999, 100001, 5000000}) {
    ClientRequest request;
    request.method = "PUT";
    request.target = "/v1/echo/x";
    request.content_type = "application/octet-stream";
    for (size_t i = 0; i < size; ++i) request.body.push_back(static_cast<uint8_t>(i * 7 + i / 256));
    const auto response = service.Client(ServiceRole::kClient).Send(request);
    ASSERT_TRUE(response.ok()) << size << ": " << response.status();
    EXPECT_EQ(response->status, 200);
    EXPECT_TRUE(response->body == request.body) << size;
  }
}

TEST(ServerTest, WhatIsNotThereIsSaid) {
  TestService service(Echo());
  HttpClient& client = service.Client(ServiceRole::kClient);
  EXPECT_EQ(client.Send({.target = "/nowhere"})->status, 404);
  const auto wrong = client.Send({.method = "DELETE", .target = "/v1/echo/x"});
  ASSERT_TRUE(wrong.ok());
  EXPECT_EQ(wrong->status, 405);
  EXPECT_EQ(HeaderOf(*wrong, "allow"), "GET, PUT");
  ClientRequest large{.method = "POST", .target = "/v1/small"};
  large.body.resize(101);
  EXPECT_EQ(client.Send(large)->status, 413);
  large.body.resize(10000000);
  const auto refused = client.Send(large);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->status, 413);
  large.body.resize(100);
  EXPECT_EQ(client.Send(large)->status, 200);
}

TEST(ServerTest, ConnectionsAreKept) {
  TestService service(Echo());
  HttpClient& client = service.Client(ServiceRole::kClient);
  std::set<std::string> ids, ports;
  for (int i = 0; i < 5; ++i) {
    const auto response = client.Send({.target = "/health/live"});
    ASSERT_TRUE(response.ok()) << response.status();
    ids.insert(HeaderOf(*response, "x-request-id"));
    ports.insert(Json::parse(TextOf(*response))["peer"].get<std::string>());
  }
  EXPECT_EQ(ids.size(), 5u);
  EXPECT_EQ(ports.size(), 1u);
}

TEST(ServerTest, ManyAtOnce) {
  TestService service(Echo());
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto response =
            service.Client(ServiceRole::kClient).Send({.method = "POST", .target = "/v1/small"});
        good += response.ok() && response->status == 200;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 400);
}

TEST(ServerTest, WrongCertificatesEndBeforeARequest) {
  TestService service(Echo());
  heft::testing::TemporaryFolder elsewhere;
  const testing::ThrowAwayCa foreign(elsewhere.path());
  const auto ask = [&](const TlsFiles& files) {
    auto tls = TlsContext::ForClient(files);
    if (!tls.ok()) return tls.status();
    return (*HttpClient::Create(service.url(), *tls))->Send({.target = "/health/live"}).status();
  };
  TlsFiles good = service.ca().Issue("client");
  EXPECT_TRUE(ask(good).ok());
  TlsFiles of_foreign = foreign.Issue("client");
  EXPECT_THAT(std::string(ask(of_foreign).message()), HasSubstr("certificate problem"));
  of_foreign.authorities = good.authorities;  // trusts the server, which does not trust it
  EXPECT_EQ(ask(of_foreign).code(), absl::StatusCode::kUnavailable);
  // The client itself refuses to start with an expired certificate.
  const TlsFiles expired = service.ca().Issue("client", {-7200, -3600});
  EXPECT_EQ(ask(expired).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace heft::service
