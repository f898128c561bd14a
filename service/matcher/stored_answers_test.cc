// SPDX-License-Identifier: Apache-2.0
#include "service/matcher/stored_answers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

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
  StoredAnswers answers_;
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

TEST_F(KeyedTest, MemoryIsBounded) {
  const size_t kept = StoredAnswers::kMaxBytes / StoredAnswers::kLongest;
  for (size_t i = 0; i <= kept + 1; ++i) {
    ASSERT_TRUE(Ask(Asked("ann", std::to_string(i)), StoredAnswers::kLongest).ok());
  }
  const int before = asked_;
  ASSERT_TRUE(Ask(Asked("ann", std::to_string(kept + 1))).ok());
  EXPECT_EQ(asked_, before) << "the youngest is there";
  ASSERT_TRUE(Ask(Asked("ann", "0")).ok());
  EXPECT_EQ(asked_, before + 1) << "the oldest went";
}

}  // namespace
}  // namespace heft::service
