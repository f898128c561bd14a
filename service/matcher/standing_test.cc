// SPDX-License-Identifier: Apache-2.0
// One client's requests do not block others: backlogs, waits, callbacks, uploads beside reloads;
// and the configuration of the decider's TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "service/json.h"
#include "service/matcher/testing.h"

namespace heft::service {
namespace {

using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::KeyMaterial;
using testing::MatcherWorld;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

class StandingTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new heft::testing::TemporaryFolder;
    keys_ = new KeyMaterial(folder_->path() + "/a", 1);
    records_ = new testing::Records("standing");
  }
  static void TearDownTestSuite() {
    delete records_;
    delete keys_;
    delete folder_;
  }
  void SetUp() override { world_ = std::make_unique<MatcherWorld>(*keys_, records_); }
  static Json JsonOf(const HttpResponse& response) { return MatcherWorld::JsonOf(response); }
  HttpResponse Bring(uint64_t person, int wait) {
    return world_->Send(
        "registrar",
        MatcherWorld::Form("POST", absl::StrCat("/v1/persons/p", person, "/encounters?wait=", wait),
                           keys_->Sample(person), {{"galleries", {"main"}}}));
  }
  template <typename Holds>
  static bool Wait(const Holds& holds) {
    const auto until = Clock::now() + seconds(30);
    while (!holds()) {
      if (Clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  inline static heft::testing::TemporaryFolder* folder_ = nullptr;
  inline static KeyMaterial* keys_ = nullptr;
  inline static testing::Records* records_ = nullptr;
  std::unique_ptr<MatcherWorld> world_;
};

// A request to the key owner holds at most this many templates; requests follow until none is
// pending.
TEST_F(StandingTest, ABacklogIsAdmittedInParts) {
  world_->config.exchange.most.templates = 2;
  world_->Start();
  world_->decider().manual = true;
  for (const uint64_t person : {1, 2, 3, 4, 5}) ASSERT_EQ(Bring(person, 0).status, 201);
  world_->decider().manual = false;
  EXPECT_TRUE(
      Wait([&] { return JsonOf(world_->Get("operator", "/v1/admissions"))["total"] == 0; }));
  EXPECT_EQ(JsonOf(world_->Get("operator", "/v1/galleries/main"))["templates"], 5);
  EXPECT_EQ(world_->decider().most_verdicts, 2u);
}

TEST_F(StandingTest, ARequestIsBoundedInBytesAndHoldsOneAtLeast) {
  world_->config.exchange.most.bytes = 1;
  world_->Start();
  world_->decider().manual = true;
  for (const uint64_t person : {1, 2, 3}) ASSERT_EQ(Bring(person, 0).status, 201);
  world_->decider().manual = false;
  EXPECT_TRUE(
      Wait([&] { return JsonOf(world_->Get("operator", "/v1/admissions"))["total"] == 0; }));
  EXPECT_EQ(world_->decider().most_verdicts, 1u);
}

// Few workers may wait for admissions, so that the others answer probes.
TEST_F(StandingTest, EnrolmentsThatWaitLeaveRoomForProbes) {
  world_->options.limits.workers = world_->config.common.limits.workers = 4;
  world_->Start();
  ASSERT_EQ(world_->Enrol("ann", 9).status, 201);
  world_->decider().manual = true;
  std::vector<std::thread> registrars;
  std::atomic<int> brought = 0, later = 0;
  const auto began = Clock::now();
  for (const uint64_t person : {1, 2, 3, 4, 5, 6}) {
    registrars.emplace_back([&, person] {
      const int status = Bring(person, 25).status;
      EXPECT_THAT(status, AnyOf(201, 429));
      ++(status == 201 ? brought : later);
    });
  }
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(JsonOf(world_->Identify(9))["accepted"], true);
  EXPECT_LT(Clock::now() - began, seconds(20)) << "before those who wait have what they wait for";
  for (std::thread& thread : registrars) thread.join();
  EXPECT_EQ(brought + later, 6);
  EXPECT_GE(brought, 1);
}

// With the default limits, every probe of a pass has a worker, and some are left.
TEST(DefaultWorkersTest, AreMoreThanAPassTakes) {
  EXPECT_GT(DefaultWorkers(BatchLimits()), BatchLimits().most);
  EXPECT_EQ(DefaultWorkers({.most = 8, .queued = 1}), 25u);
  EXPECT_EQ(DefaultWorkers({.most = 64, .queued = 65536}), 1024u);
}

TEST_F(StandingTest, WhoDoesNotTakeCallbacksHoldsNobodyUp) {
  world_->Start();
  // No server listens there: three attempts with pauses take three seconds.
  const auto callbacks = testing::Must(Callbacks::Create(
      {"https://localhost:1"},
      testing::Must(TlsContext::ForClient(world_->service().ca().Issue("matcher")))));
  Tasks tasks({.workers = 1, .queued = 8, .kept = 8});
  const Principal ann = {.name = "ann", .machine = "", .roles = {}, .scopes = {}};
  const auto ended = [&](const Json& task) {
    callbacks->Call("https://localhost:1/told", "t", task);
  };
  const auto began = Clock::now();
  std::string last;
  for (int i = 0; i < 4; ++i) {
    last = *tasks.Start(
        "quick", ann, [](const Monitor&) -> absl::StatusOr<Json> { return Json::object(); }, ended);
  }
  EXPECT_TRUE(Wait([&] { return (*tasks.Describe(last, ann))["status"] == "done"; }));
  EXPECT_LT(Clock::now() - began, seconds(2));
  // A full queue does not make the caller wait.
  for (size_t i = 0; i < 2 * Callbacks::kMaxQueued; ++i) ended({{"taskId", "0"}});
  EXPECT_LT(Clock::now() - began, seconds(2));
}

TEST(TasksTest, WhatStandsInsideIsNotTold) {
  Tasks tasks({.workers = 1, .queued = 8, .kept = 8});
  const Principal ann = {.name = "ann", .machine = "", .roles = {}, .scopes = {}};
  const auto fail = [&](absl::Status status) {
    const std::string id = *tasks.Start(
        "fails", ann, [status](const Monitor&) -> absl::StatusOr<Json> { return status; });
    Json says;
    do {
      says = *tasks.Describe(id, ann);
    } while (says["status"] != "failed");
    return says["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(fail(absl::InternalError("/var/lib/secret")), Not(HasSubstr("secret")));
  EXPECT_THAT(fail(absl::UnknownError("/var/lib/secret")), Not(HasSubstr("secret")));
  EXPECT_EQ(fail(absl::NotFoundError("no such thing")), "no such thing");
}

// A reload may name other files: then uploads replace these, and no others.
TEST_F(StandingTest, UploadsFollowAReload) {
  const std::string own = folder_->path() + "/own", moved = folder_->path() + "/moved";
  for (const std::string& to : {own, moved}) {
    std::filesystem::copy(folder_->path() + "/a", to, std::filesystem::copy_options::recursive);
  }
  const auto files_in = [&](const std::string& folder) {
    EngineFiles files = keys_->files;
    for (std::string* path :
         {&files.model, &files.evaluation_keys, &files.encryption_key, &files.trust}) {
      path->replace(0, (folder_->path() + "/a").size(), folder);
    }
    return files;
  };
  Uploads uploads(files_in(own), folder_->path() + "/staging");
  std::shared_ptr<const Engine> used;
  std::thread other;
  std::atomic<bool> looked = false;
  const Uploads::Use use = [&](std::shared_ptr<const Engine> fresh) {
    const bool first = used == nullptr;
    used = std::move(fresh);
    if (!first) return;
    // No other load or upload runs while an engine comes into use.
    other = std::thread([&] {
      uploads.Staged();
      looked = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(looked);
  };
  EXPECT_FALSE(uploads.PrepareReload(files_in(folder_->path() + "/nowhere"), use).ok());
  EXPECT_EQ(used, nullptr);
  testing::Must(uploads.PrepareReload(files_in(moved), use))();
  other.join();
  ASSERT_NE(used, nullptr);
  const std::vector<uint8_t> key = *ReadFile(keys_->files.encryption_key);
  std::filesystem::remove(own + "/keys/encryption.key");
  std::filesystem::remove(moved + "/keys/encryption.key");
  std::string why;
  const auto put = uploads.Put(UploadKind::kEncryptionKey, key, &why, use);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(used, *put) << why;
  EXPECT_TRUE(std::filesystem::exists(moved + "/keys/encryption.key"));
  EXPECT_FALSE(std::filesystem::exists(own + "/keys/encryption.key"));
}

// If other authorities sign the decider's certificate, the clients' list of revoked ones is not
// used.
TEST(MatcherConfigTest, DecidersHaveAListOfRevokedCertificatesOfTheirOwn) {
  const heft::testing::TemporaryFolder folder;
  const auto read = [&](const std::string& decider) {
    const std::string text = absl::StrCat(
        "[tls]\ncertificate = \"c.pem\"\nprivate_key = \"k.pem\"\nauthorities = \"ca.pem\"\n"
        "revoked = \"crl.pem\"\n[store]\nfolder = \"store\"\n[keys]\nmodel = \"m\"\n"
        "evaluation = \"e\"\ntrust = \"t\"\n[access]\nnonces = \"n\"\n[audit]\nfile = \"a\"\n"
        "[decider]\nurl = \"https://localhost:1\"\n",
        decider);
    const std::string path = folder.path() + "/m.toml";
    testing::Must(WriteFile(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
    return testing::Must(ReadMatcherConfig(path));
  };
  EXPECT_EQ(read("").decider_tls.revoked, folder.path() + "/crl.pem");
  const MatcherConfig others = read("authorities = \"others.pem\"\nprivate_key = \"other.key\"\n");
  EXPECT_EQ(others.decider_tls.revoked, "");
  EXPECT_EQ(others.decider_tls.private_key, folder.path() + "/other.key");
  EXPECT_EQ(read("authorities = \"others.pem\"\nrevoked = \"others.crl\"\n").decider_tls.revoked,
            folder.path() + "/others.crl");
  EXPECT_EQ(read("").common.limits.workers, DefaultWorkers(BatchLimits()));
}

}  // namespace
}  // namespace heft::service
