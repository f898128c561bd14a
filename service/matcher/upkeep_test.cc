// SPDX-License-Identifier: Apache-2.0
// Interrupted erasures are completed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "service/json.h"
#include "service/matcher/testing.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using testing::KeyMaterial;
using testing::MatcherWorld;

class UpkeepTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new heft::testing::TemporaryFolder;
    keys_ = new KeyMaterial(folder_->path(), 1);
    records_ = new testing::Records("upkeep");
  }
  static void TearDownTestSuite() {
    delete records_;
    delete keys_;
    delete folder_;
  }
  void SetUp() override { world_ = std::make_unique<MatcherWorld>(*keys_, records_); }
  static std::string Text(const HttpResponse& response) {
    return {response.body.begin(), response.body.end()};
  }
  static Json JsonOf(const HttpResponse& response) { return MatcherWorld::JsonOf(response); }
  // Two people whose templates have left the journal: only a renewal erases them.
  void EnrolForGood(const std::string& gallery = "main") {
    for (const uint64_t person : {1, 2}) {
      ASSERT_EQ(world_->Enrol(absl::StrCat("p", person), person, gallery).status, 201);
    }
    ClientRequest compact;
    compact.method = "POST";
    compact.target = absl::StrCat("/v1/galleries/", gallery, "/compact");
    const Json done = world_->Await("operator", world_->Send("operator", compact));
    ASSERT_EQ(done["status"], "done") << done;
  }
  HttpResponse Remove(const std::string& target) {
    ClientRequest remove;
    remove.method = "DELETE";
    remove.target = target;
    return world_->Send("registrar", remove);
  }
  size_t ReceiptsOf(const std::string& gallery) {
    return JsonOf(world_->Get("auditor", "/v1/receipts?gallery=" + gallery))["receipts"].size();
  }
  // Waits until `holds`, at most half a minute.
  template <typename Holds>
  static bool Wait(const Holds& holds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  inline static heft::testing::TemporaryFolder* folder_ = nullptr;
  inline static KeyMaterial* keys_ = nullptr;
  inline static testing::Records* records_ = nullptr;
  std::unique_ptr<MatcherWorld> world_;
};

TEST_F(UpkeepTest, AnErasureIsTakenUpAgainAfterARestart) {
  world_->config.retained.seconds = 0;
  world_->Start();
  EnrolForGood();
  world_->decider().away = true;
  const HttpResponse removed = Remove("/v1/persons/p1");
  ASSERT_EQ(removed.status, 202) << Text(removed);
  const Json task = world_->Await("registrar", removed);
  EXPECT_EQ(task["status"], "failed") << task;
  EXPECT_THAT(task["error"]["message"], HasSubstr("repeats the erasure"));
  EXPECT_EQ(ReceiptsOf("main"), 0u);
  world_->Stop();
  world_->Start();
  EXPECT_TRUE(Wait([&] { return ReceiptsOf("main") == 1; }));
  EXPECT_EQ(world_->decider().renewals, 1);
  EXPECT_EQ(JsonOf(world_->Identify(1))["accepted"], false);
  EXPECT_EQ(JsonOf(world_->Identify(2))["accepted"], true);
}

TEST_F(UpkeepTest, AnErasureGoesOnWhenTheDeciderIsBack) {
  world_->config.retained.seconds = 0;
  world_->Start();
  EnrolForGood();
  world_->decider().away = true;
  world_->Await("registrar", Remove("/v1/persons/p1"));
  world_->decider().away = false;
  EXPECT_TRUE(Wait([&] { return ReceiptsOf("main") == 1; }));
}

// If the queue of tasks is full, the answer still reports the removal.
TEST_F(UpkeepTest, WhoIsRemovedIsGoneAlsoWhereNoTaskCanBegin) {
  world_->config.retained.seconds = 0;
  world_->config.tasks = {.workers = 1, .queued = 1, .kept = 8};
  world_->Start();
  EnrolForGood();
  std::atomic<bool> begun = false;
  const Tasks::Work endless = [&](const Monitor& monitor) -> absl::StatusOr<Json> {
    begun = true;
    while (monitor({"waiting", 1, 2})) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return absl::CancelledError("as asked");
  };
  const Principal somebody = {.name = "somebody", .machine = "", .roles = {}, .scopes = {}};
  ASSERT_TRUE(world_->state().tasks.Start("endless", somebody, endless).ok());
  while (!begun) {
  }
  ASSERT_TRUE(world_->state().tasks.Start("endless", somebody, endless).ok());
  const HttpResponse removed = Remove("/v1/persons/p1");
  ASSERT_EQ(removed.status, 200) << Text(removed);
  EXPECT_EQ(JsonOf(removed)["galleries"][0]["leaving"], 1);
  EXPECT_TRUE(Wait([&] { return ReceiptsOf("main") == 1; }));
}

TEST_F(UpkeepTest, AllGalleriesAreLookedAfter) {
  world_->config.retained.seconds = 0;
  world_->Start();
  EnrolForGood("main");
  EnrolForGood("other");
  world_->decider().away = true;
  const Json task = world_->Await("registrar", Remove("/v1/persons/p2"));
  EXPECT_EQ(task["status"], "failed") << task;
  world_->Stop();
  world_->Start();
  EXPECT_TRUE(Wait([&] { return ReceiptsOf("main") == 1 && ReceiptsOf("other") == 1; }));
}

TEST_F(UpkeepTest, WhoHasExpiredGoesWithAReceipt) {
  world_->config.upkeep.sweep = std::chrono::milliseconds(200);
  world_->Start();
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  const HttpResponse guest =
      world_->Send("registrar", MatcherWorld::Form("POST", "/v1/persons/guest/encounters?wait=60",
                                                   keys_->Sample(2),
                                                   {{"galleries", {"main"}}, {"expires", "3s"}}));
  ASSERT_EQ(guest.status, 201) << Text(guest);
  EXPECT_TRUE(Wait([&] { return ReceiptsOf("main") == 1; }));
  EXPECT_EQ(world_->Get("registrar", "/v1/persons/guest").status, 404);
  EXPECT_EQ(world_->Get("registrar", "/v1/persons/ann").status, 200);
}

// Bytes that a reader of an older state still holds are overwritten once it is gone.
TEST_F(UpkeepTest, WhatCouldNotBeOverwrittenIsOverwrittenLater) {
  SetWriterWait(1);
  world_->Start();
  for (const uint64_t person : {1, 2}) {
    ASSERT_EQ(world_->Enrol(absl::StrCat("p", person), person).status, 201);
  }
  {
    const auto reader = testing::Must(world_->state().galleries.Newest("main"));
    const HttpResponse removed = Remove("/v1/persons/p1");
    ASSERT_EQ(removed.status, 200) << Text(removed);
    EXPECT_EQ(JsonOf(removed)["galleries"][0]["overwritten"], false) << Text(removed);
    EXPECT_EQ(ReceiptsOf("main"), 0u);
  }
  EXPECT_TRUE(Wait([&] { return ReceiptsOf("main") == 1; }));
}

// An authorisation is for one gallery, so a removal from several at once is refused.
TEST_F(UpkeepTest, WhoIsInSeveralGalleriesIsRemovedFromOneAfterTheOther) {
  const SigningKey registrar = testing::Must(SigningKey::Generate());
  Trust trust = testing::Must(Trust::Load(keys_->files.trust));
  world_->Start();
  for (const char* gallery : {"main", "other"}) {
    ASSERT_EQ(world_->Enrol("ann", 1, gallery).status, 201);
  }
  world_->Stop();
  testing::Must(trust.Add(Role::kRegistrar, "desk", registrar.public_key()));
  world_->config.files.trust = world_->folder() / "trust.heft";
  testing::Must(trust.Save(world_->config.files.trust));
  world_->Start();
  const auto remove = [&](const std::string& target, const std::string& gallery) {
    const std::string id =
        JsonOf(world_->Get("operator", "/v1/galleries/" + gallery))["gallery_id"];
    ClientRequest request;
    request.method = "DELETE";
    request.target = target;
    request.content_type = std::string(kHeftType);
    request.body = *Authorise(registrar, *ParseGalleryId(id), AuthorisedAct::kRemove, "ann");
    return world_->Send("registrar", request);
  };
  const HttpResponse refused = remove("/v1/persons/ann", "main");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(Text(refused), HasSubstr("?gallery=NAME"));
  EXPECT_EQ(JsonOf(world_->Get("registrar", "/v1/persons/ann"))["galleries"].size(), 2u);
  EXPECT_EQ(remove("/v1/persons/ann?gallery=main", "main").status, 200);
  EXPECT_EQ(remove("/v1/persons/ann?gallery=other", "other").status, 200);
  EXPECT_EQ(world_->Get("registrar", "/v1/persons/ann").status, 404);
}

}  // namespace
}  // namespace heft::service
