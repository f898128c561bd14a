// SPDX-License-Identifier: Apache-2.0
#include "service/decider/admission_queue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing.h"

namespace heft::service {
namespace {

using StatusCode = absl::StatusCode;

constexpr GalleryId kVisitors = {1}, kStaff = {2};

AdmissionInquiry Inquiry(const GalleryId& gallery, const std::vector<uint8_t>& entries) {
  AdmissionInquiry inquiry;
  inquiry.gallery_id = gallery;
  for (const uint8_t entry : entries) {
    inquiry.enrolments.push_back(
        {Digest{entry}, {{.identity = "person " + std::to_string(entry)}}, false});
  }
  return inquiry;
}

// Rivals: enrolments of one new identity.
AdmissionInquiry Rivals(const std::vector<uint8_t>& entries) {
  AdmissionInquiry inquiry = Inquiry(kVisitors, entries);
  for (AdmissionInquiry::Enrolment& enrolment : inquiry.enrolments) {
    enrolment.people = {{.identity = "carol", .others = entries.size() - 1}};
    enrolment.client = "desk";
  }
  return inquiry;
}

class AdmissionQueueTest : public ::testing::Test {
 protected:
  std::unique_ptr<AdmissionQueue> Open() {
    auto queue = AdmissionQueue::Open(folder_.path());
    EXPECT_TRUE(queue.ok()) << queue.status();
    return queue.ok() ? *std::move(queue) : nullptr;
  }
  const heft::testing::TemporaryFolder folder_;
};

TEST_F(AdmissionQueueTest, WhatIsDecidedIsTold) {
  auto queue = Open();
  EXPECT_TRUE(queue->Offer(Inquiry(kVisitors, {1, 2, 3}), 100)->entries.empty());
  EXPECT_EQ(queue->size(), 3u);
  ASSERT_TRUE(queue->Decide(kVisitors, {Digest{1}}, {Digest{3}}, "olga").ok());
  ASSERT_EQ(queue->List().size(), 1u);
  EXPECT_EQ(queue->List()[0].enrolment.people[0].identity, "person 2");
  EXPECT_EQ(queue->List()[0].received, 100u);
  const auto policy = queue->Offer(Inquiry(kVisitors, {1, 2, 3, 4}), 200);
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->entries, (std::vector<Digest>{{1}, {3}}));
  EXPECT_EQ(policy->reject_entries, std::vector<Digest>{{3}});
  // The matcher has the answer, so it no longer sends these entries.
  EXPECT_TRUE(queue->Offer(Inquiry(kVisitors, {2, 4}), 300)->entries.empty());
  ASSERT_EQ(queue->List().size(), 2u);
  EXPECT_EQ(queue->List()[0].received, 100u);
  EXPECT_EQ(queue->List()[1].received, 200u);
}

TEST_F(AdmissionQueueTest, IsThereAfterARestart) {
  {
    auto queue = Open();
    ASSERT_TRUE(queue->Offer(Inquiry(kVisitors, {1, 2}), 100).ok());
    ASSERT_TRUE(queue->Offer(Inquiry(kStaff, {1}), 150).ok());
    ASSERT_TRUE(queue->Decide(kVisitors, {Digest{2}}, {}, "olga").ok());
  }
  auto queue = Open();
  EXPECT_EQ(queue->size(), 2u);
  EXPECT_EQ(queue->List()[1].gallery, kStaff);
  EXPECT_EQ(queue->Offer(Inquiry(kVisitors, {1, 2}), 400)->entries, std::vector<Digest>{{2}});
  EXPECT_EQ(queue->List()[0].received, 100u);
}

TEST_F(AdmissionQueueTest, AWordIsSaidOnce) {
  auto queue = Open();
  ASSERT_TRUE(queue->Offer(Inquiry(kVisitors, {1, 2}), 100).ok());
  ASSERT_TRUE(queue->Decide(kVisitors, {Digest{1}}, {}, "olga").ok());
  EXPECT_TRUE(queue->Decide(kVisitors, {Digest{1}}, {}, "pavel").ok()) << "the same again";
  EXPECT_EQ(queue->Decide(kVisitors, {}, {Digest{1}}, "pavel").code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(queue->Decide(kVisitors, {Digest{2}}, {Digest{2}}, "pavel").code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(queue->Decide(kVisitors, {Digest{2}, Digest{9}}, {}, "pavel").code(),
            StatusCode::kNotFound);
  EXPECT_EQ(queue->Decide(kStaff, {Digest{1}}, {}, "pavel").code(), StatusCode::kNotFound);
  EXPECT_EQ(queue->size(), 1u) << "all or none";
}

// One word cannot give a name to two enrolments: neither at once nor one after the other.
TEST_F(AdmissionQueueTest, ANewNameIsAdmittedOnce) {
  auto queue = Open();
  ASSERT_TRUE(queue->Offer(Rivals({1, 2}), 100).ok());
  const absl::Status both = queue->Decide(kVisitors, {Digest{1}, Digest{2}}, {}, "olga");
  EXPECT_EQ(both.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(both.message().find("\"carol\""), std::string::npos) << both;
  ASSERT_TRUE(queue->Decide(kVisitors, {Digest{1}}, {}, "olga").ok());
  EXPECT_EQ(queue->Decide(kVisitors, {Digest{2}}, {}, "pavel").code(),
            StatusCode::kFailedPrecondition);
  ASSERT_TRUE(queue->Decide(kVisitors, {}, {Digest{2}}, "pavel").ok());
  // An enrolled person may get several: a registrar authorises each.
  AdmissionInquiry enrolled = Rivals({3, 4});
  for (auto& enrolment : enrolled.enrolments) enrolment.people[0].known = true;
  ASSERT_TRUE(queue->Offer(enrolled, 100).ok());
  EXPECT_TRUE(queue->Decide(kVisitors, {Digest{3}, Digest{4}}, {}, "olga").ok());
}

// With automatic admission a person decides contested names only, until they are not contested.
TEST_F(AdmissionQueueTest, ContestedNamesAreHeld) {
  AdmissionInquiry inquiry = Rivals({1, 2});
  inquiry.enrolments.push_back({Digest{3}, {{.identity = "dave"}}, false});
  inquiry.more = 7;
  {
    auto queue = Open();
    const auto first = queue->OfferHeld(inquiry, 100);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(first->entries.empty());
    EXPECT_TRUE(first->hold.empty());
    ASSERT_TRUE(
        queue->Hold(inquiry, {{{"carol", {{Digest{1}, "desk"}, {Digest{2}, "desk"}}, 0}}}, 100)
            .ok());
    EXPECT_EQ(queue->size(), 2u);
    EXPECT_EQ(queue->more(), 7u);
  }
  auto queue = Open();
  const auto second = queue->OfferHeld(inquiry, 200);
  EXPECT_TRUE(second->entries.empty());
  EXPECT_EQ(second->hold, (std::vector<Digest>{{1}, {2}}));
  ASSERT_EQ(queue->List().size(), 2u);
  EXPECT_EQ(queue->List()[0].enrolment.client, "desk");
  ASSERT_TRUE(queue->Decide(kVisitors, {}, {Digest{1}}, "olga").ok());
  const auto said = queue->OfferHeld(inquiry, 300);
  EXPECT_EQ(said->entries, std::vector<Digest>{{1}});
  EXPECT_EQ(said->reject_entries, std::vector<Digest>{{1}});
  // The other is alone now.
  EXPECT_TRUE(queue->OfferHeld(Rivals({2}), 400)->hold.empty());
  EXPECT_EQ(queue->size(), 0u);
}

TEST_F(AdmissionQueueTest, ADamagedFileIsNamed) {
  ASSERT_TRUE(Open()->Offer(Inquiry(kVisitors, {1}), 100).ok());
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(std::filesystem::status(file.path()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    for (const char* const text : {"[{\"entry\": 1}]", "{", "[1]", "[{}]"}) {
      std::ofstream(file.path()) << text;
      EXPECT_EQ(AdmissionQueue::Open(folder_.path()).status().code(), StatusCode::kDataLoss)
          << text;
    }
  }
}

}  // namespace
}  // namespace heft::service
