// SPDX-License-Identifier: Apache-2.0
// Operations of operators and machines: tasks, galleries, models and keys; and their rights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "service/json.h"
#include "service/matcher/testing.h"

namespace heft::service {
namespace {

using ::testing::HasSubstr;
using testing::KeyMaterial;
using testing::MatcherWorld;
using ::testing::Not;

class OperationsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new heft::testing::TemporaryFolder;
    keys_ = new KeyMaterial(folder_->path() + "/a", 1);
    others_ = new KeyMaterial(folder_->path() + "/b", 2);
    records_ = new testing::Records("operations");
  }
  static void TearDownTestSuite() {
    delete records_;
    delete others_;
    delete keys_;
    delete folder_;
  }
  void SetUp() override { world_ = std::make_unique<MatcherWorld>(*keys_, records_); }
  static std::string Text(const HttpResponse& response) {
    return {response.body.begin(), response.body.end()};
  }
  static Json JsonOf(const HttpResponse& response) { return MatcherWorld::JsonOf(response); }
  HttpResponse Post(const std::string& who, const std::string& target,
                    const std::string& method = "POST") {
    ClientRequest request;
    request.method = method;
    request.target = target;
    return world_->Send(who, request);
  }
  HttpResponse Put(const std::string& target, const std::vector<uint8_t>& bytes) {
    ClientRequest request;
    request.method = "PUT";
    request.target = target;
    request.content_type = std::string(kHeftType);
    request.body = bytes;
    return world_->Send("operator", request);
  }

  // In the middle of the written pages: there is a value that is by far the longest.
  void FlipInLongestValue() const {
    const std::string path = world_->state().galleries.folder() + "/store.blocks";
    const std::vector<uint8_t> bytes = *ReadFile(path, uint64_t{1} << 32);
    size_t end = bytes.size();
    while (bytes[end - 1] == 0) --end;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(end / 2));
    file.put(static_cast<char>(bytes[end / 2] ^ 4));
  }

  inline static heft::testing::TemporaryFolder* folder_ = nullptr;
  inline static KeyMaterial *keys_ = nullptr, *others_ = nullptr;
  inline static testing::Records* records_ = nullptr;
  std::unique_ptr<MatcherWorld> world_;
};

TEST_F(OperationsTest, GalleriesAreMadeAndDescribed) {
  world_->Start();
  const HttpResponse made =
      world_->SendJson("operator", "POST", "/v1/galleries", R"({"gallery": "visitors"})");
  ASSERT_EQ(made.status, 201) << Text(made);
  EXPECT_EQ(
      world_->SendJson("operator", "POST", "/v1/galleries", R"({"gallery": "visitors"})").status,
      409);
  EXPECT_EQ(JsonOf(world_->Get("auditor", "/v1/galleries"))["galleries"].size(), 3u);
  EXPECT_EQ(JsonOf(world_->Get("auditor", "/v1/galleries/visitors"))["gallery_id"],
            JsonOf(made)["gallery_id"]);
  const Json stats = JsonOf(world_->Get("auditor", "/v1/galleries/visitors/stats"));
  EXPECT_EQ(stats["noise_margin"], 1) << stats;
  EXPECT_TRUE(stats["intact"].is_null());
  const Json verified =
      world_->Await("operator", Post("operator", "/v1/galleries/visitors/verify"));
  EXPECT_EQ(verified["result"]["intact"], true) << verified;
  EXPECT_EQ(JsonOf(world_->Get("auditor", "/v1/galleries/visitors/stats"))["intact"], true);
}

// The matcher keeps the end of the key owner's journal that comes with decisions and admissions.
TEST_F(OperationsTest, TheEndOfTheKeyOwnersJournalIsKept) {
  world_->Start();
  const auto entry = [this] {
    return JsonOf(world_->Get("auditor", "/v1/galleries/main/stats"))["owner_journal_entry"]
        .get<uint64_t>();
  };
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  const uint64_t activated = entry();
  EXPECT_GT(activated, 0u);
  ASSERT_EQ(world_->Identify(1).status, 200);
  const uint64_t newest = world_->decider().owner().Budget()->entries;
  EXPECT_GT(newest, activated);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (entry() < newest && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(entry(), newest);
  EXPECT_EQ(JsonOf(world_->Get("auditor", "/v1/galleries/main/stats"))["owner_journal_fork"], "");
}

// The answer does not name the damage.
TEST_F(OperationsTest, ADamagedGalleryIsNotTheCallersError) {
  world_->Start();
  if (!world_->state().galleries.overwrites()) GTEST_SKIP() << "a database has no such file";
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  world_->Await("operator", Post("operator", "/v1/galleries/main/compact"));
  FlipInLongestValue();
  const HttpResponse refused = world_->Identify(1);
  EXPECT_EQ(refused.status, 500) << Text(refused);
  EXPECT_EQ(JsonOf(refused)["code"], "DATA_LOSS");
  EXPECT_THAT(Text(refused), Not(HasSubstr("block")));
}

// A pending enrolment is damaged: the metrics show it until an operator has removed it.
TEST_F(OperationsTest, ADamagedPendingEnrolmentIsRemoved) {
  world_->Start();
  world_->decider().manual = true;
  ASSERT_EQ(world_
                ->Send("registrar", MatcherWorld::Form("POST", "/v1/persons/ann/encounters",
                                                       keys_->Sample(1), {{"galleries", {"main"}}}))
                .status,
            201);
  const std::string entry =
      JsonOf(world_->Get("operator", "/v1/admissions"))["admissions"][0]["entry"];
  const bool damaged = world_->state().galleries.overwrites();  // not in a database
  if (damaged) {
    FlipInLongestValue();
  }
  const auto shown = [&](int count) {
    const std::string line = absl::StrCat("heft_damaged_records{gallery=\"main\"} ", count, "\n");
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!absl::StrContains(world_->state().metrics->Text(), line)) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  };
  EXPECT_TRUE(shown(damaged ? 1 : 0)) << world_->state().metrics->Text();
  const auto remove = [&](const std::string& of, const std::string& who = "operator",
                          const std::string& gallery = "main") {
    ClientRequest request;
    request.method = "DELETE";
    request.target = absl::StrCat("/v1/galleries/", gallery, "/pending/", of);
    request.headers.emplace_back("Idempotency-Key", absl::StrCat(gallery, " ", of));
    return world_->Send(who, request);
  };
  EXPECT_EQ(remove(entry, "registrar").status, 403);
  EXPECT_EQ(remove("12ab").status, 400);
  EXPECT_EQ(remove(std::string(64, 'a')).status, 404);
  EXPECT_EQ(remove(entry, "operator", "nowhere").status, 404);
  const HttpResponse removed = remove(entry);
  ASSERT_EQ(removed.status, 200) << Text(removed);
  EXPECT_EQ(JsonOf(removed)["rejected"], 1);
  EXPECT_EQ(remove(entry).body, removed.body) << "with the same key";
  EXPECT_EQ(JsonOf(world_->Get("operator", "/v1/admissions"))["total"], 0);
  EXPECT_TRUE(shown(0)) << world_->state().metrics->Text();
  world_->decider().manual = false;
  EXPECT_EQ(world_->Enrol("ann", 1).status, 201);
  // Its answer is lost in a restart.
  world_->Stop();
  world_->Start();
  EXPECT_EQ(remove(entry).status, 200);
  EXPECT_EQ(Post("operator", "/v1/galleries/main/pending/" + entry, "DELETE").status, 404);
}

// A repetition with the same key gets the same answer, and nothing happens twice.
TEST_F(OperationsTest, AKeyIsAnsweredOnce) {
  world_->Start();
  const auto keyed = [&](const std::string& target, const std::string& key,
                         const std::string& body = "", const std::string& who = "operator",
                         const std::string& method = "POST") {
    ClientRequest request;
    request.method = method;
    request.target = target;
    if (!body.empty()) request.content_type = "application/json";
    request.body.assign(body.begin(), body.end());
    request.headers.emplace_back("Idempotency-Key", key);
    return world_->Send(who, request);
  };
  const std::string visitors = R"({"gallery": "visitors"})";
  const HttpResponse made = keyed("/v1/galleries", "k1", visitors);
  ASSERT_EQ(made.status, 201) << Text(made);
  EXPECT_EQ(keyed("/v1/galleries", "k1", visitors).body, made.body);
  EXPECT_EQ(keyed("/v1/galleries", "k1", R"({"gallery": "others"})").status, 409);
  // A gallery that another request made stays a conflict at each repetition.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(keyed("/v1/galleries", "k2", visitors).status, 409);
  EXPECT_EQ(keyed("/v1/galleries", std::string(256, 'k'), visitors).status, 400);
  for (const std::string what : {"compact", "verify", "snapshot", "renew"}) {
    const std::string target = "/v1/galleries/main/" + what;
    const HttpResponse begun = keyed(target, what);
    ASSERT_EQ(begun.status, 202) << Text(begun);
    EXPECT_EQ(JsonOf(keyed(target, what))["taskId"], JsonOf(begun)["taskId"]) << what;
    EXPECT_NE(JsonOf(keyed(target, what + " 2"))["taskId"], JsonOf(begun)["taskId"]) << what;
    EXPECT_EQ(keyed("/v1/galleries/other/" + what, what).status, 409) << what;
    world_->Await("operator", begun);
  }
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  const auto remove = [&](const std::string& key) {
    return keyed("/v1/persons/ann", key, "", "registrar", "DELETE");
  };
  const HttpResponse gone = remove("gone");
  ASSERT_EQ(gone.status / 100, 2) << Text(gone);
  EXPECT_EQ(remove("gone").body, gone.body);
  EXPECT_EQ(remove("another").status, 404);
  // After a restart the answers are lost, but started requests are still known.
  world_->Stop();
  world_->Start();
  const HttpResponse again = remove("gone");
  EXPECT_EQ(again.status, 200) << Text(again);
  EXPECT_EQ(remove("another").status, 404);
  EXPECT_EQ(JsonOf(keyed("/v1/galleries", "k1", visitors))["gallery_id"],
            JsonOf(made)["gallery_id"]);
  EXPECT_EQ(keyed("/v1/galleries", "k3", visitors).status, 409);
}

// Operations that the API description calls idempotent: a second request changes nothing.
TEST_F(OperationsTest, SomeThingsMayBeDoneTwice) {
  world_->Start();
  for (const auto& [target, file] :
       std::map<std::string, std::string>{{"/v1/model", keys_->files.model},
                                          {"/v1/keys/evaluation", keys_->files.evaluation_keys},
                                          {"/v1/keys/encryption", keys_->files.encryption_key}}) {
    const HttpResponse first = Put(target, *ReadFile(file));
    ASSERT_EQ(first.status, 200) << target << ": " << Text(first);
    EXPECT_EQ(Put(target, *ReadFile(file)).body, first.body) << target;
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Post("operator", "/v1/keys/staged", "DELETE").status, 204);
  }
  const std::string task = JsonOf(Post("operator", "/v1/galleries/main/verify"))["taskId"];
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Post("operator", "/v1/tasks/" + task, "DELETE").status, 204);
  }
}

TEST_F(OperationsTest, ACopyIsMadeWhileItServes) {
  world_->Start();
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  const Json copied = world_->Await("operator", Post("operator", "/v1/galleries/main/snapshot"));
  ASSERT_EQ(copied["status"], "done") << copied;
  const std::string name = copied["result"]["snapshot"];
  EXPECT_TRUE(std::filesystem::exists(world_->config.snapshots + "/" + name + "/store.sqlite"));
  EXPECT_EQ(copied["result"]["galleries"].size(), 2u);
}

// Two rings: small probes, and separate keys for enrolment and verification that can be replaced.
TEST_F(OperationsTest, ThinProbesAndTheirKeys) {
  const KeyMaterial thin(folder_->path() + "/thin", 3, "standard");
  world_ = std::make_unique<MatcherWorld>(thin, records_);
  world_->Start();
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  const auto decided = [&](const std::string& target, bool small) {
    const HttpResponse answer =
        world_->Send("client", MatcherWorld::Form("POST", target, thin.Sample(1, small)));
    return JsonOf(answer).value("accepted", false);
  };
  EXPECT_TRUE(decided("/v1/identify/main", true));
  EXPECT_TRUE(decided("/v1/verify/main/ann", false));
  EXPECT_EQ(Put("/v1/keys/enrolment", *ReadFile(thin.files.enrolment_keys)).status, 200);
  EXPECT_TRUE(decided("/v1/verify/main/ann", false));
  const HttpResponse begun = Post("operator", "/v1/galleries/main/renew?compact=true");
  ASSERT_EQ(begun.status, 202) << Text(begun);
  EXPECT_EQ(world_->Await("operator", begun)["status"], "done");
}

// Only the caller that began a task can see it.
TEST_F(OperationsTest, TasksAreTheirOwners) {
  world_->Start();
  const HttpResponse begun = Post("operator", "/v1/galleries/main/compact");
  const std::string id = JsonOf(begun)["taskId"];
  EXPECT_EQ(world_->Await("operator", begun)["status"], "done");
  for (const char* path : {"", "/status"}) {
    EXPECT_EQ(world_->Get("operator", "/v1/tasks/" + id + path).status, 200);
    EXPECT_EQ(world_->Get("client", "/v1/tasks/" + id + path).status, 404);
  }
  EXPECT_EQ(Post("registrar", "/v1/tasks/" + id, "DELETE").status, 404);
  EXPECT_EQ(Post("operator", "/v1/tasks/" + id, "DELETE").status, 204);
  EXPECT_EQ(world_->Get("operator", "/v1/tasks/00").status, 404);
}

TEST(TasksTest, AreBoundedCancelledAndForgotten) {
  Tasks tasks({.workers = 1, .queued = 2, .kept = 2});
  const Principal ann = {.name = "ann", .machine = "", .roles = {}, .scopes = {}};
  std::atomic<bool> begun = false;
  const Tasks::Work endless = [&](const Monitor& monitor) -> absl::StatusOr<Json> {
    begun = true;
    while (monitor({"waiting", 1, 2})) {
    }
    return absl::CancelledError("as asked");
  };
  const std::string first = *tasks.Start("endless", ann, endless);
  while (!begun) {
  }
  std::vector<std::string> waiting;
  for (int i = 0; i < 2; ++i) waiting.push_back(*tasks.Start("endless", ann, endless));
  EXPECT_TRUE(absl::IsResourceExhausted(tasks.Start("endless", ann, endless).status()));
  EXPECT_EQ((*tasks.Describe(first, ann))["status"], "running");
  EXPECT_EQ((*tasks.Describe(waiting[0], ann))["status"], "queued");
  ASSERT_TRUE(tasks.Cancel(waiting[0], ann).ok());
  EXPECT_EQ((*tasks.Describe(waiting[0], ann))["status"], "cancelled");
  for (const std::string& id : {first, waiting[1]}) {
    ASSERT_TRUE(tasks.Cancel(id, ann).ok());
    while (tasks.Describe(id, ann).ok() && (*tasks.Describe(id, ann))["status"] != "cancelled") {
    }
  }
  EXPECT_TRUE(absl::IsNotFound(tasks.Describe(waiting[0], ann).status())) << "two are kept";
  tasks.Stop();
  EXPECT_TRUE(absl::IsUnavailable(tasks.Start("endless", ann, endless).status()));
}

TEST_F(OperationsTest, FilesAreFetchedByTheirFingerprint) {
  world_->Start();
  const Json parameters = JsonOf(world_->Get("client", "/v1/parameters"));
  EXPECT_EQ(parameters["model"], HexString(keys_->model.Id()));
  EXPECT_EQ(parameters["template_format"], "heft-sample-1");
  for (const auto& [path, file] :
       std::map<std::string, std::string>{{"/v1/model", keys_->files.model},
                                          {"/v1/encryption-key", keys_->files.encryption_key}}) {
    const HttpResponse whole = world_->Get("client", path);
    EXPECT_EQ(whole.body, *ReadFile(file));
    std::string tag;
    for (const auto& [name, value] : whole.headers) {
      if (name == "etag") tag = value;
    }
    ClientRequest again;
    again.target = path;
    again.headers.emplace_back("If-None-Match", tag);
    const HttpResponse unchanged = world_->Send("client", again);
    EXPECT_EQ(unchanged.status, 304) << tag;
    EXPECT_TRUE(unchanged.body.empty());
  }
}

// A new key set is several files: nothing changes until all of them fit.
TEST_F(OperationsTest, KeysAreUsedWhenAllOfThemFit) {
  // Trust two key owners, in a copy of the files.
  const std::string own = folder_->path() + "/own";
  std::filesystem::copy(folder_->path() + "/a", own, std::filesystem::copy_options::recursive);
  Trust trust = testing::Must(Trust::Load(keys_->files.trust));
  const Trust other = testing::Must(Trust::Load(others_->files.trust));
  testing::Must(trust.Add(Role::kKeyOwner, "another", other.keys(Role::kKeyOwner)[0].key));
  testing::Must(trust.Save(own + "/keys/trust.heft"));
  EngineFiles& files = world_->config.files;
  for (std::string* path :
       {&files.model, &files.evaluation_keys, &files.encryption_key, &files.trust}) {
    path->replace(0, (folder_->path() + "/a").size(), own);
  }
  world_->Start();
  ASSERT_EQ(world_->Enrol("ann", 1).status, 201);
  const std::vector<uint8_t> model = *ReadFile(others_->files.model);
  const std::vector<uint8_t> evaluation = *ReadFile(others_->files.evaluation_keys);
  const std::vector<uint8_t> encryption = *ReadFile(others_->files.encryption_key);
  const HttpResponse first = Put("/v1/keys/evaluation", evaluation);
  EXPECT_EQ(first.status, 202) << Text(first);
  EXPECT_THAT(Text(first), HasSubstr("encryption"));
  EXPECT_EQ(JsonOf(world_->Get("client", "/v1/parameters"))["staged"], Json({"evaluation"}));
  EXPECT_EQ(JsonOf(world_->Identify(1))["accepted"], true) << "the old ones serve meanwhile";
  EXPECT_EQ(Post("operator", "/v1/keys/staged", "DELETE").status, 204);
  EXPECT_EQ(JsonOf(world_->Get("client", "/v1/parameters"))["staged"], Json::array());
  EXPECT_EQ(Put("/v1/keys/evaluation", evaluation).status, 202);
  const HttpResponse last = Put("/v1/keys/encryption", encryption);
  ASSERT_EQ(last.status, 200) << Text(last);
  EXPECT_EQ(*ReadFile(files.encryption_key), encryption);
  EXPECT_NE(JsonOf(last)["key"], HexString(world_->decider().owner().key_id()));
  EXPECT_EQ(world_->Identify(1).status, 409) << "the gallery is of the other key";
  // Only the model belongs to another gallery.
  EXPECT_EQ(Put("/v1/model", model).status, 200);
  // A file that is invalid by itself is not kept.
  EXPECT_EQ(Put("/v1/keys/evaluation", {1, 2, 3}).status, 400);
  EXPECT_EQ(Put("/v1/keys/enrolment", evaluation).status, 409);
  EXPECT_EQ(Put("/v1/model", encryption).status, 400);
  EXPECT_EQ(JsonOf(world_->Get("client", "/v1/parameters"))["staged"], Json::array());
}

}  // namespace
}  // namespace heft::service
