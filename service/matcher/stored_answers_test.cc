// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/stored_answers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "base/testing.h"

namespace heft::service {
namespace {

HttpRequest Asked(const std::string& who, const std::string& key, const std::string& path = "/a") {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.body = BodyOf({});
  request.headers["idempotency-key"] = key;
  request.who.name = who;
  request.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  return request;
}

HttpResponse Body(size_t bytes) {
  HttpResponse response;
  response.body.resize(bytes);
  return response;
}

class KeyedTest : public ::testing::Test {
 protected:
  absl::StatusOr<HttpResponse> Ask(const HttpRequest& request, size_t bytes = 1) {
    return answers_.Once(request, [&] {
      ++asked_;
      return Body(bytes);
    });
  }
  const heft::testing::TemporaryFolder state_;
  StoredAnswers answers_{state_.path()};
  std::atomic<int> asked_{0};
};

TEST_F(KeyedTest, AKeyIsItsPrincipals) {
  ASSERT_TRUE(Ask(Asked("ann", "k")).ok());
  ASSERT_TRUE(Ask(Asked("ann", "k")).ok());
  EXPECT_EQ(asked_, 1);
  ASSERT_TRUE(Ask(Asked("bob", "k", "/b")).ok());
  EXPECT_EQ(asked_, 2);
  EXPECT_TRUE(absl::IsAlreadyExists(Ask(Asked("ann", "k", "/b")).status()));
  ASSERT_TRUE(Ask(Asked("ann", "")).ok());
  ASSERT_TRUE(Ask(Asked("ann", "")).ok());
  EXPECT_EQ(asked_, 4) << "without a key each is one of its own";
}

TEST_F(KeyedTest, WhatFailsIsAskedAnew) {
  const auto fail = [] { return absl::UnavailableError("away"); };
  EXPECT_TRUE(absl::IsUnavailable(answers_.Once(Asked("ann", "k"), fail).status()));
  const auto throws = []() -> absl::StatusOr<HttpResponse> { throw std::bad_alloc(); };
  EXPECT_THROW((void)answers_.Once(Asked("ann", "k"), throws), std::bad_alloc);
  ASSERT_TRUE(Ask(Asked("ann", "k")).ok()) << "nobody waits for one that has failed";
  EXPECT_EQ(asked_, 1);
}

TEST_F(KeyedTest, OfSeveralAtOnceOneAsks) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto answer = answers_.Once(Asked("ann", "k"), [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ++asked_;
        return Body(7);
      });
      EXPECT_TRUE(answer.ok() && answer->body.size() == 7);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(asked_, 1);
}

TEST_F(KeyedTest, ARestartForgetsNoAnswerButThoseThatNameATask) {
  HttpResponse made = JsonResponse({{"gallery", "main"}}, 201), task = Body(3);
  made.headers = {{"ETag", "x"}, {"Location", ""}};
  task.status = 202;
  const auto answer = [](const HttpResponse& with) { return [with] { return with; }; };
  ASSERT_TRUE(answers_.Once(Asked("ann", "made"), answer(made)).ok());
  ASSERT_TRUE(answers_.Once(Asked("ann", "task"), answer(task)).ok());
  EXPECT_EQ(Ask(Asked("ann", "task"))->body.size(), 3u);
  StoredAnswers again(state_.path());
  const auto other = [] { return Body(7); };
  const auto stored = again.Once(Asked("ann", "made"), other);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->status, 201);
  EXPECT_EQ(stored->content_type, made.content_type);
  EXPECT_EQ(stored->headers, made.headers);
  EXPECT_EQ(stored->body, made.body);
  EXPECT_TRUE(absl::IsAlreadyExists(again.Once(Asked("ann", "made", "/b"), other).status()));
  EXPECT_EQ(again.Once(Asked("ann", "task"), other)->body.size(), 7u);
}

TEST_F(KeyedTest, TheirSizeIsBounded) {
  const size_t most = StoredAnswers::kMaxBytes / StoredAnswers::kLongest;
  const auto asked = [](size_t i) { return Asked("ann", std::to_string(i)); };
  for (size_t i = 0; i <= most; ++i) ASSERT_TRUE(Ask(asked(i), StoredAnswers::kLongest).ok());
  size_t kept = 0;
  for (size_t i = 0; i <= most; ++i) {
    const auto long_one = answers_.Once(asked(most - i), [] { return NoContent(); });
    const bool there = long_one->body.size() == StoredAnswers::kLongest;
    EXPECT_TRUE(there || i > 0) << "the newest is there";
    kept += there ? 1 : 0;
  }
  EXPECT_LE(kept, most);
  EXPECT_GE(kept, most - 2);
}

}  // namespace
}  // namespace heft::service
