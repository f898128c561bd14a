// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "service/access/jwt.h"
#include "service/access/relying.h"
#include "service/testing.h"

namespace heft::service {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using StatusCode = absl::StatusCode;

TEST(CircuitTest, OpensAfterFailuresAndLetsOneTry) {
  Circuit circuit({.failures = 2, .pause = milliseconds(100), .longest = milliseconds(300)});
  const Clock::time_point start = Clock::now();
  const auto at = [&](int ms) { return start + milliseconds(ms); };
  const auto fail = [&](int ms) {
    ASSERT_TRUE(circuit.Enter(at(ms)).ok()) << ms;
    circuit.Leave(false, at(ms));
  };
  fail(0);
  EXPECT_FALSE(circuit.open());
  fail(0);
  EXPECT_TRUE(circuit.open());
  EXPECT_EQ(circuit.Enter(at(99)).code(), StatusCode::kUnavailable);
  ASSERT_TRUE(circuit.Enter(at(100)).ok());
  EXPECT_EQ(circuit.Enter(at(100)).code(), StatusCode::kUnavailable) << "one at a time";
  circuit.Leave(false, at(110));
  EXPECT_EQ(circuit.Enter(at(309)).code(), StatusCode::kUnavailable) << "twice as long";
  fail(310);
  EXPECT_FALSE(circuit.Enter(at(609)).ok());
  fail(610);  // and no longer than the longest
  EXPECT_FALSE(circuit.Enter(at(909)).ok());
  ASSERT_TRUE(circuit.Enter(at(910)).ok());
  circuit.Leave(true, at(911));
  EXPECT_FALSE(circuit.open());
  EXPECT_TRUE(circuit.Enter(at(912)).ok());
  EXPECT_TRUE(circuit.Enter(at(912)).ok());
}

// A decider whose answers the test sets.
class ForwardTest : public ::testing::Test {
 protected:
  ForwardTest() {
    Router router;
    for (const char* const path :
         {"/v1/decisions", "/v1/exchange/admissions", "/v1/exchange/renewals"}) {
      router.Add({.method = "POST",
                  .pattern = path,
                  .operation = path,
                  .scope = Scope::kExchange,
                  .handler =
                      [this](const HttpRequest& request) {
                        ++asked_;
                        {
                          const std::lock_guard<std::mutex> lock(mutex_);
                          seen_ = request;
                          seen_body_.assign(request.bytes().begin(), request.bytes().end());
                        }
                        return answer_(request);
                      },
                  .signed_request = true});
    }
    service_ = std::make_unique<testing::TestService>(std::move(router));
  }
  std::unique_ptr<HttpDecider> Link(ForwardOptions options = {}) {
    auto client = HttpClient::Create(service_->url(),
                                     *TlsContext::ForClient(service_->ca().Issue("machine")));
    EXPECT_TRUE(client.ok()) << client.status();
    return std::make_unique<HttpDecider>(*std::move(client), options);
  }
  static Forwarded Of(int ms = 20000) {
    return {"visitors",
            "request-7",
            {.principal = "Zoë", .audience = "Zoë", .nonce = "n-1"},
            Clock::now() + milliseconds(ms)};
  }
  static HttpResponse Error(int status, const char* code) {
    return ErrorResponse(status, code, "as the decider says");
  }

  std::atomic<int> asked_ = 0;
  std::mutex mutex_;  // of the last request, for a test that has several answered at once
  HttpRequest seen_;
  std::vector<uint8_t> seen_body_;
  std::function<HttpResponse(const HttpRequest&)> answer_;
  std::unique_ptr<testing::TestService> service_;
  const std::vector<uint8_t> file_ = {1, 2, 3};
};

TEST_F(ForwardTest, ADecisionComesBack) {
  answer_ = [](const HttpRequest&) {
    return JsonResponse({{"accepted", true}, {"identity", "ann"}, {"jws", "a.b.c"}});
  };
  const auto decided = Link()->Decide(file_, Of());
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_EQ(decided->jws, "a.b.c");
  EXPECT_EQ(decided->decision["identity"], "ann");
  EXPECT_FALSE(decided->decision.contains("jws"));
  EXPECT_EQ(seen_body_, file_);
  EXPECT_EQ(seen_.Header("content-type"), kHeftType);
  EXPECT_EQ(seen_.Header("x-heft-on-behalf-of"), "Zo%C3%AB") << "a header's value is ASCII";
  EXPECT_EQ(seen_.Header("x-heft-request-nonce"), "n-1");
  EXPECT_EQ(seen_.id, "request-7") << "the other daemon writes it down under the same id";
  EXPECT_FALSE(seen_.headers.contains("x-heft-audience")) << "it is who asked";
  EXPECT_NE(seen_.Header("x-deadline-ms"), "");
}

TEST_F(ForwardTest, TheJournalsHeadComesWithADecision) {
  HttpResponse answer = JsonResponse({{"accepted", false}, {"jws", "a.b.c"}});
  answer_ = [&](const HttpRequest&) { return answer; };
  EXPECT_TRUE(Link()->Decide(file_, Of())->head.empty());
  answer.headers.emplace_back(kJournalHeadHeader, Base64(file_));
  EXPECT_EQ(Link()->Decide(file_, Of())->head, file_);
  answer.headers.back().second = "no base64!";
  EXPECT_FALSE(Link()->Decide(file_, Of()).ok());
}

TEST_F(ForwardTest, AnAdmissionMayTakeItsTime) {
  answer_ = [](const HttpRequest&) { return JsonResponse({{"status", "pending"}}, 202); };
  const auto waiting = Link()->Approve(file_, Of());
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  EXPECT_FALSE(waiting->has_value());
  answer_ = [](const HttpRequest&) { return BytesResponse({9}, std::string(kHeftType)); };
  EXPECT_EQ(**Link()->Approve(file_, Of()), std::vector<uint8_t>{9});
  EXPECT_EQ(*Link()->Renew(file_, Of()), std::vector<uint8_t>{9});
}

TEST_F(ForwardTest, ARefusalIsTheDecidersOwnAndIsNotAskedAgain) {
  const std::pair<HttpResponse, StatusCode> refusals[] = {
      {Error(409, "FAILED_PRECONDITION"), StatusCode::kFailedPrecondition},
      {Error(429, "RESOURCE_EXHAUSTED"), StatusCode::kResourceExhausted},
      {Error(400, "DATA_LOSS"), StatusCode::kDataLoss},
      {Error(403, "PERMISSION_DENIED"), StatusCode::kInternal},
      {Error(500, "INTERNAL"), StatusCode::kInternal},
      {JsonResponse("no object"), StatusCode::kInternal}};
  for (const auto& [response, code] : refusals) {
    asked_ = 0;
    answer_ = [&response = response](const HttpRequest&) { return response; };
    const auto refused = Link()->Decide(file_, Of());
    EXPECT_EQ(refused.status().code(), code) << refused.status();
    EXPECT_EQ(asked_, 1) << refused.status();
  }
  answer_ = [](const HttpRequest&) { return Error(409, "FAILED_PRECONDITION"); };
  EXPECT_THAT(Link()->Decide(file_, Of()).status().message(), HasSubstr("as the decider says"));
}

TEST_F(ForwardTest, WhatHasNoAnswerIsAskedAgain) {
  answer_ = [this](const HttpRequest&) {
    return asked_ < 3 ? Error(503, "UNAVAILABLE") : JsonResponse({{"jws", "a.b.c"}});
  };
  const auto link = Link({.circuit = {.failures = 10}});
  const auto decided = link->Decide(file_, Of());
  ASSERT_TRUE(decided.ok()) << decided.status();
  EXPECT_EQ(asked_, 3);
}

TEST_F(ForwardTest, ADeciderThatIsAwayIsNotWaitedFor) {
  const auto link = Link({.attempts = 1, .circuit = {.failures = 2, .pause = milliseconds(50)}});
  service_->server().Drain(std::chrono::seconds(0));
  EXPECT_EQ(link->Decide(file_, Of()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(link->Decide(file_, Of()).status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(link->away());
  const auto began = Clock::now();
  const absl::Status quick = link->Decide(file_, Of()).status();
  EXPECT_EQ(quick.code(), StatusCode::kUnavailable);
  EXPECT_THAT(quick.message(), HasSubstr("cannot be reached"));
  EXPECT_LT(Clock::now() - began, milliseconds(50));
}

TEST_F(ForwardTest, ADeadlineIsKept) {
  answer_ = [](const HttpRequest&) {
    std::this_thread::sleep_for(milliseconds(1000));
    return JsonResponse({{"jws", "a.b.c"}});
  };
  const auto link = Link();
  const auto began = Clock::now();
  EXPECT_EQ(link->Decide(file_, Of(200)).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_LT(Clock::now() - began, milliseconds(800));
  EXPECT_EQ(link->Decide(file_, Of(-1)).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(ForwardTest, WhoHasNoTimeDoesNotCloseTheDeciderToOthers) {
  std::atomic<int> sleep = 300;
  answer_ = [&sleep](const HttpRequest&) {
    std::this_thread::sleep_for(milliseconds(sleep));
    return JsonResponse({{"jws", "a.b.c"}});
  };
  const auto link = Link({.attempts = 1, .circuit = {.failures = 2}});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(link->Decide(file_, Of(100)).status().code(), StatusCode::kDeadlineExceeded) << i;
  }
  EXPECT_FALSE(link->away());
  EXPECT_TRUE(link->Decide(file_, Of()).ok());
  // A 504 of the decider counts the same.
  answer_ = [](const HttpRequest&) { return Error(504, "DEADLINE_EXCEEDED"); };
  for (int i = 0; i < 4; ++i) (void)link->Decide(file_, Of(1000));
  EXPECT_FALSE(link->away());
  // Complete attempts count as failures.
  const auto strict =
      Link({.attempts = 1, .attempt = milliseconds(300), .circuit = {.failures = 2}});
  for (int i = 0; i < 2; ++i) (void)strict->Decide(file_, Of());
  EXPECT_TRUE(strict->away());
}

TEST(CircuitTest, WhoGivesUpWhileItIsTriedMakesRoomForTheNext) {
  Circuit circuit({.failures = 1, .pause = milliseconds(100), .longest = milliseconds(300)});
  const Clock::time_point start = Clock::now(), later = start + milliseconds(100);
  ASSERT_TRUE(circuit.Enter(start).ok());
  circuit.Leave(false, start);
  ASSERT_TRUE(circuit.Enter(later).ok());
  EXPECT_FALSE(circuit.Enter(later).ok());
  circuit.Abandon();
  EXPECT_TRUE(circuit.open());
  EXPECT_TRUE(circuit.Enter(later).ok());
}

TEST_F(ForwardTest, ErrandsHaveTheirOwnTimeAndDoNotCloseTheWayOfDecisions) {
  answer_ = [](const HttpRequest& request) {
    if (request.path == "/v1/decisions") return JsonResponse({{"jws", "a.b.c"}});
    std::this_thread::sleep_for(milliseconds(400));
    return BytesResponse({9}, std::string(kHeftType));
  };
  const ForwardOptions options = {.attempts = 1,
                                  .attempt = milliseconds(200),
                                  .exchange = milliseconds(5000),
                                  .circuit = {.failures = 1, .pause = milliseconds(60000)}};
  const auto patient = Link(options);
  EXPECT_TRUE(patient->Renew(file_, Of()).ok()) << "longer than an attempt at a decision";
  ForwardOptions hasty = options;
  hasty.exchange = milliseconds(200);
  const auto link = Link(hasty);
  EXPECT_EQ(link->Renew(file_, Of()).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(link->away());
  EXPECT_EQ(link->Renew(file_, Of()).status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(link->Decide(file_, Of()).ok());
}

TEST_F(ForwardTest, ASpentBudgetIsNoLoad) {
  answer_ = [](const HttpRequest&) {
    return ErrorResponse(absl::ResourceExhaustedError("too much to do"));
  };
  const absl::Status busy = Link()->Decide(file_, Of()).status();
  EXPECT_EQ(busy.code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(busy.GetPayload(kSpent));
  answer_ = [](const HttpRequest&) { return Error(429, "RESOURCE_EXHAUSTED"); };
  const absl::Status spent = Link()->Decide(file_, Of()).status();
  EXPECT_EQ(spent.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(spent.GetPayload(kSpent));
}

TEST_F(ForwardTest, AReplayIsALostAnswer) {
  std::vector<std::string> nonces;
  answer_ = [&](const HttpRequest& request) {
    nonces.push_back(request.Header("x-heft-nonce"));
    return asked_ == 1 ? Error(401, "REPLAYED") : JsonResponse({{"jws", "a.b.c"}});
  };
  const auto decided = Link()->Decide(file_, Of());
  ASSERT_TRUE(decided.ok()) << decided.status();
  ASSERT_EQ(nonces.size(), 2u);
  EXPECT_NE(nonces[0], nonces[1]);
  // If it repeats, it is neither the client's fault nor an error of this service.
  answer_ = [](const HttpRequest&) { return Error(401, "REPLAYED"); };
  EXPECT_EQ(Link()->Decide(file_, Of()).status().code(), StatusCode::kUnavailable);
  answer_ = [](const HttpRequest&) { return Error(401, "STALE"); };
  EXPECT_EQ(Link()->Decide(file_, Of()).status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace heft::service
