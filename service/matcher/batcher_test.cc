// SPDX-License-Identifier: Apache-2.0
// Probes that arrive together, deadlines, load, and a decider that does not answer.
#include "service/matcher/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "service/json.h"
#include "service/matcher/testing.h"

namespace heft::service {
namespace {

using std::chrono::steady_clock;
using testing::KeyMaterial;
using testing::MatcherWorld;

class BatcherTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new heft::testing::TemporaryFolder;
    keys_ = new KeyMaterial(folder_->path(), 1);
  }
  static void TearDownTestSuite() {
    delete keys_;
    delete folder_;
  }
  void SetUp() override { world_ = std::make_unique<MatcherWorld>(*keys_, nullptr); }
  BatchProbe Probe(uint64_t person, std::chrono::milliseconds patience) const {
    BatchProbe probe;
    probe.engine = world_->state().engine.Get();
    probe.gallery = "main";
    for (auto& bytes : keys_->Sample(person))
      probe.request.files.push_back({std::move(bytes), "probe"});
    probe.deadline = steady_clock::now() + patience;
    return probe;
  }
  // Value: the value of a metric without labels.
  double Value(const std::string& name) const {
    const std::string text = world_->state().metrics->Text();
    const size_t at = text.find("\n" + name + " ");
    return at == text.npos ? 0 : std::stod(text.substr(at + name.size() + 2));
  }

  inline static heft::testing::TemporaryFolder* folder_ = nullptr;
  inline static KeyMaterial* keys_ = nullptr;
  std::unique_ptr<MatcherWorld> world_;
};

// Probes that arrive during a pass share the next one; a damaged probe fails alone.
TEST_F(BatcherTest, ProbesThatComeTogetherShareAPass) {
  world_->Start();
  for (const uint64_t person : {1, 2, 3}) {
    ASSERT_EQ(world_->Enrol(absl::StrCat("p", person), person).status, 201);
  }
  constexpr int kProbes = 24;
  std::vector<BatchProbe> probes;
  for (int i = 0; i < kProbes; ++i) probes.push_back(Probe(1 + i % 3, std::chrono::minutes(5)));
  probes[7].request.files[0].bytes.resize(100);
  std::vector<absl::StatusOr<Matched>> answers(kProbes);
  std::latch begin(kProbes);
  std::vector<std::thread> threads;
  for (int i = 0; i < kProbes; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      answers[i] = world_->state().batcher.Identify(std::move(probes[i]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kProbes; ++i) {
    if (i == 7) {
      EXPECT_TRUE(absl::IsDataLoss(answers[i].status())) << answers[i].status();
      continue;
    }
    ASSERT_TRUE(answers[i].ok()) << answers[i].status();
    const auto reply = SignReply(*testing::Must(world_->state().galleries.Signer()),
                                 *answers[i]->gallery, {}, 0, {}, answers[i]->reply);
    const auto opened = world_->decider().owner().Open(*reply, "reply");
    ASSERT_TRUE(opened.ok()) << opened.status();
    EXPECT_EQ(opened->candidates[0].identity, absl::StrCat("p", 1 + i % 3));
  }
  EXPECT_EQ(Value("heft_batch_probes_sum"), kProbes);
  EXPECT_LT(Value("heft_batch_probes_count"), kProbes / 2) << world_->state().metrics->Text();
}

TEST_F(BatcherTest, WhatCannotBeAnsweredInTimeIsToldSo) {
  world_->config.batch.queued = 2;
  world_->Start();
  ASSERT_EQ(world_->Enrol("p1", 1).status, 201);
  const auto late = world_->state().batcher.Identify(Probe(1, std::chrono::milliseconds(-1)));
  EXPECT_TRUE(absl::IsResourceExhausted(late.status())) << late.status();
  // Many at once, but only two may wait.
  constexpr int kProbes = 40;
  std::vector<BatchProbe> probes;
  for (int i = 0; i < kProbes; ++i) probes.push_back(Probe(1, std::chrono::minutes(5)));
  std::atomic<int> answered = 0, refused = 0;
  std::latch begin(kProbes);
  std::vector<std::thread> threads;
  for (int i = 0; i < kProbes; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      const auto answer = world_->state().batcher.Identify(std::move(probes[i]));
      (answer.ok() ? answered : refused) += 1;
      if (!answer.ok()) {
        EXPECT_TRUE(absl::IsResourceExhausted(answer.status())) << answer.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(answered, 1) << "who was taken is answered";
  EXPECT_GE(refused, 1);
  EXPECT_EQ(answered + refused, kProbes);
  EXPECT_GE(world_->state().batcher.RetryAfter(), 1);
}

TEST_F(BatcherTest, AnswersThatCannotBeHadSaySoQuickly) {
  world_->Start();
  ASSERT_EQ(world_->Enrol("p1", 1).status, 201);
  world_->decider().away = true;
  const HttpResponse away = world_->Identify(1);
  EXPECT_EQ(away.status, 503);
  EXPECT_EQ(world_->Identify(1, "application/vnd.heft").status, 200) << "the matcher serves on";
  world_->decider().away = false;
  EXPECT_EQ(MatcherWorld::JsonOf(world_->Identify(1))["accepted"], true);
  ClientRequest hurried = MatcherWorld::Form("POST", "/v1/identify/main", keys_->Sample(1));
  hurried.headers.emplace_back("X-Deadline-Ms", "1");
  const int status = world_->Send("client", hurried).status;
  EXPECT_TRUE(status == 504 || status == 429) << status;
}

// People enrolled while the decider was away are activated when it is back.
TEST_F(BatcherTest, WhatWaitedForTheDeciderIsDoneWhenItIsBack) {
  world_->Start();
  world_->decider().away = true;
  const HttpResponse enrolled =
      world_->Send("registrar", MatcherWorld::Form("POST", "/v1/persons/p1/encounters?wait=1",
                                                   keys_->Sample(1), {{"galleries", {"main"}}}));
  EXPECT_EQ(enrolled.status, 201);
  EXPECT_EQ(MatcherWorld::JsonOf(enrolled)["others"]["status"], "pending");
  world_->decider().away = false;
  const auto end = steady_clock::now() + std::chrono::seconds(60);
  std::string status;
  while (status != "active" && steady_clock::now() < end) {
    status =
        MatcherWorld::JsonOf(world_->Get("registrar", "/v1/persons/p1"))["galleries"][0]["status"];
  }
  EXPECT_EQ(status, "active");
}

// Engines are replaced and galleries changed while probes are matched.
TEST_F(BatcherTest, NothingIsAnsweredWronglyWhileEverythingChanges) {
  world_->Start();
  ASSERT_EQ(world_->Enrol("p1", 1).status, 201);
  std::atomic<bool> stop = false;
  std::atomic<int> asked = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (; !stop; ++asked) {
        const HttpResponse answer = world_->Identify(1);
        EXPECT_EQ(MatcherWorld::JsonOf(answer)["identity"], "p1")
            << std::string(answer.body.begin(), answer.body.end());
      }
    });
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(world_->Enrol(absl::StrCat("q", i), 10 + i).status, 201);
    world_->state().engine.Set(testing::Must(LoadEngine(world_->config.files)));
    ClientRequest remove;
    remove.method = "DELETE";
    remove.target = absl::StrCat("/v1/persons/q", i);
    const HttpResponse removed = world_->Send("registrar", remove);
    EXPECT_EQ(removed.status, 200);
    // Receipts are signed once the erased bytes are overwritten, if the store can do that.
    const auto gone = MatcherWorld::JsonOf(removed)["galleries"][0];
    EXPECT_EQ(gone["receipts"].size(), 1u) << "probes hold no generation for long: " << gone;
    EXPECT_EQ(gone["overwritten"], world_->state().galleries.overwrites());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(asked, 4);
}

}  // namespace
}  // namespace heft::service
