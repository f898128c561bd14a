// SPDX-License-Identifier: Apache-2.0
// A gallery from feature vectors in one call, through the public classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "heft/desk.h"
#include "heft/gallery_admin.h"
#include "owner/roles_testing.h"

namespace heft {
namespace {

using ::testing::HasSubstr;
using StatusCode = absl::StatusCode;

class EnrolManyTest : public testing::RolesTest {
 protected:
  // People from 0 on, a row each, and the last one with `extra` rows more. Few vectors again and
  // again: of thousands of random ones the model's interval does not take all.
  void Draw(size_t people, size_t extra = 0) {
    for (size_t i = 0; i < people + extra; ++i) {
      const size_t person = std::min(i, people - 1);
      labels_.push_back("person " + std::to_string(person));
      for (size_t m = 0; m < 2; ++m) {
        const std::vector<float> v = Vector(m, person % 50);
        values_[m].insert(values_[m].end(), v.begin(), v.end());
      }
    }
  }
  std::vector<Samples> Rows() const {
    return {{model_.modalities[0].name, values_[0], labels_},
            {model_.modalities[1].name, values_[1], labels_}};
  }
  absl::StatusOr<EnrolManyResult> Enrol(const EnrolManyOptions& options = {},
                                        const Monitor& monitor = {}) const {
    return EnrolMany(roles_.client, roles_.server, folder_, Rows(), options, monitor);
  }
  EnrolManyOptions Activating() const {
    EnrolManyOptions options;
    options.approve = [this](std::span<const uint8_t> request) {
      auto answer = owner_->Approve(request, "waiting");
      return answer.ok() ? absl::StatusOr<std::vector<uint8_t>>(answer->signed_admission)
                         : answer.status();
    };
    return options;
  }
  std::string First(uint64_t person) const {
    const auto files =
        Encrypt({Vector(0, person), Vector(1, person)}, "", SampleUse::kIdentification);
    const auto reply = roles_.server.Identify(*Gallery::Open(folder_), files);
    EXPECT_TRUE(reply.ok()) << reply.status();
    const auto decision = owner_->Decide(*reply, "reply", 0.9);
    EXPECT_TRUE(decision.ok()) << decision.status();
    return decision.ok() ? decision->identity : "nobody could tell";
  }

  std::vector<std::string> labels_;
  std::vector<float> values_[2];
};

TEST_P(EnrolManyTest, AllAreFound) {
  Draw(50);
  const auto done = Enrol(Activating());
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->brought, 50u);
  EXPECT_EQ(done->activated, 50u);
  EXPECT_EQ(done->pending, 0u);
  EXPECT_EQ(done->templates, 50u);
  for (uint64_t person : {0, 17, 49}) EXPECT_EQ(First(person), "person " + std::to_string(person));
}

TEST_P(EnrolManyTest, WithoutAKeyOwnerAllWait) {
  Draw(3);
  const auto done = Enrol();
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->brought, 3u);
  EXPECT_EQ(done->pending, 3u);
  EXPECT_EQ(done->templates, 0u);
}

// The batch ends before an identity that would be in two.
TEST_P(EnrolManyTest, NoIdentityIsInTwoBatches) {
  Draw(kMaxBulkRows - 1, 30);
  std::vector<size_t> steps;
  const auto done = Enrol(Activating(), [&](const ProgressEvent& event) {
    if (event.total > 0) steps.push_back(event.done);
    return true;
  });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(steps, (std::vector<size_t>{0, kMaxBulkRows - 2, kMaxBulkRows + 29}));
  EXPECT_EQ(done->activated, kMaxBulkRows + 29);
  const auto last = DescribePerson(folder_, "person " + std::to_string(kMaxBulkRows - 2));
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->templates.size(), 31u);
}

TEST_P(EnrolManyTest, StoppedItSaysWhereToGoOn) {
  Draw(kMaxBulkRows + 2);
  const auto stopped = Enrol({}, [](const ProgressEvent& event) { return event.done == 0; });
  EXPECT_EQ(stopped.status().code(), StatusCode::kCancelled);
  EXPECT_THAT(std::string(stopped.status().message()), HasSubstr("before row 4096"));
  EnrolManyOptions rest = Activating();
  rest.from = kMaxBulkRows;
  const auto done = Enrol(rest);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->brought, 2u);
  EXPECT_EQ(done->activated, kMaxBulkRows + 2);
}

// What its own error says can be done.
TEST_P(EnrolManyTest, WhatWaitsAfterTheLastRowIsAdmitted) {
  Draw(3);
  size_t next = 0;
  EnrolManyOptions options;
  options.next = &next;
  options.approve = [](std::span<const uint8_t>) { return absl::UnavailableError("nobody there"); };
  const auto failed = Enrol(options);
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("before row 3"));
  EXPECT_EQ(next, 3u);
  options = Activating();
  options.from = next;
  for (size_t approved : {3, 0}) {
    const auto done = Enrol(options);
    ASSERT_TRUE(done.ok()) << done.status();
    EXPECT_EQ(done->brought, 0u);
    EXPECT_EQ(done->activated, approved);
    EXPECT_EQ(done->templates, 3u);
  }
}

TEST_P(EnrolManyTest, SaysWhatIsWrong) {
  Draw(3);
  const auto wrong = [&](std::string_view text) {
    const auto done = Enrol();
    EXPECT_EQ(done.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(done.status().message()), HasSubstr(std::string(text)));
    EXPECT_FALSE(Gallery::Open(folder_).ok());
  };
  labels_[2] = labels_[0];
  wrong("together");
  labels_[2] = "person 2";
  values_[1].pop_back();
  wrong("71 values");
  labels_.clear();
  wrong("label");
  EnrolManyOptions beyond;
  beyond.from = 3;
  labels_ = {"a", "b", "c"};
  values_[1].push_back(1);
  EXPECT_THAT(std::string(Enrol(beyond).status().message()), HasSubstr("row 3 of 3"));
}

INSTANTIATE_TEST_SUITE_P(Profiles, EnrolManyTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
