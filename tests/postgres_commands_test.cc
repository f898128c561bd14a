// SPDX-License-Identifier: Apache-2.0
// A gallery's life in PostgreSQL with the real programs: every command for galleries in folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "features/dataset.h"
#include "learning/projection.h"
#include "postgres/server_testing.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using nlohmann::json;
using postgres_testing::SharedServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

class PostgresCommandsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!postgres_testing::ServerIsInstalled()) return;
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "12", "--samples",
                 "2", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft"), {"--profile", "standard"}));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys"), "--no-passphrase"});
    RaiseBudget(W("model.heft"), W("keys/secret.key"));
    data_ = new Dataset(*LoadDataset(W("data")));
  }
  static void TearDownTestSuite() {
    delete data_;
    delete work_;
  }
  void SetUp() override {
    if (!postgres_testing::ServerIsInstalled()) GTEST_SKIP() << "postgresql-15 is not installed";
    service_ = SharedServer().NewDatabase();
    gallery_ = "postgres:" + service_;
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static Args WithKeys(const std::string& gallery) {
    return {"--model",   W("model.heft"), "--keys",  W("keys/evaluation.keys"),
            "--gallery", gallery,         "--trust", W("keys/trust.heft")};
  }
  static Args Command(const std::string& command, const std::string& gallery,
                      const Args& more = {}) {
    return Join(Join({"gallery", command}, WithKeys(gallery)), more);
  }
  static Args Plain(const std::string& command, const std::string& gallery, const Args& more = {}) {
    return Join({"gallery", command, "--gallery", gallery}, more);
  }
  static Args Encrypt(const std::string& name, int row, const Args& more = {}) {
    Args inputs;
    for (const char* modality : {"face", "voice"}) {
      const std::string npy = W(name + "-" + modality + ".npy");
      const std::string out = W(name + "-" + modality + ".ct");
      WriteRows(*data_, modality, {row}, npy, npy + ".labels");
      Must(kHeft,
           Join({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                 "--modality", modality, "--in", npy, "--labels", npy + ".labels", "--out", out},
                more));
      inputs.insert(inputs.end(), {"--in", out});
    }
    return inputs;
  }
  static Args AddArgs(const std::string& gallery, const std::string& name, int row) {
    return Join(Join(Join({"enrol"}, WithKeys(gallery)), Encrypt(name, row)),
                {"--identity", name, "--enrolment-keys", W("keys/enrolment.keys")});
  }
  static void Enrol(const std::string& gallery, const std::string& name, int row) {
    EnrolNow(AddArgs(gallery, name, row), W("keys/secret.key"));
  }
  static std::multiset<std::string> Names(const std::string& gallery) {
    const json listed = Must(kServer, Plain("list", gallery));
    std::multiset<std::string> names;
    for (const auto& t : listed["templates"]) names.insert(t["identity"].get<std::string>());
    return names;
  }
  // The scores, by name, that a probe of this row finds.
  static std::map<std::string, double> Found(const std::string& gallery, int row) {
    const Args probe = Encrypt("probe", row, {"--for", "identification"});
    Believe(W("keys/trust.heft"), gallery);
    Must(kServer,
         Join(Join(Join({"identify"}, WithKeys(gallery)), probe), {"--out", W("scores.ct")}));
    Args decrypt = {
        "decrypt", "--model",      W("model.heft"), "--secret-key", W("keys/secret.key"),
        "--in",    W("scores.ct"), "--scores"};
    for (size_t i = 1; i < probe.size(); i += 2) {
      decrypt.insert(decrypt.end(), {"--request", probe[i]});
    }
    std::map<std::string, double> found;
    const json opened = Must(kHeft, decrypt);
    for (const auto& c : opened["candidates"]) found[c["identity"]] = c["score"];
    return found;
  }
  // The score of an enrolled sample with itself: probes have unit length, templates approximately
  // so.
  static double TemplateLength(int row) {
    const Model model = ReadModel(W("model.heft"));
    const FeatureMatrix p = Eigen::Map<const FeatureMatrix>(model.projection.data(), model.gamma,
                                                            model.projection.size() / model.gamma);
    const int rows[] = {row};
    return ProjectAndNormalise(p, *Concatenate(*data_, rows), Normaliser{model.approximation})
        .norm();
  }
  static json Info(const std::string& gallery) { return Must(kServer, Plain("stats", gallery)); }

  std::string service_, gallery_;
  inline static Workplace* work_ = nullptr;
  inline static Dataset* data_ = nullptr;
};

TEST_F(PostgresCommandsTest, PeopleComeAndGo) {
  Must(kServer, Command("create", gallery_));
  EXPECT_EQ(RunProgram(kServer, Command("create", gallery_)).exit_code, kInput);
  Enrol(gallery_, "ann", 0);
  Enrol(gallery_, "bob", 2);
  Enrol(gallery_, "carl", 4);
  EXPECT_THAT(Names(gallery_), UnorderedElementsAre("ann", "bob", "carl"));
  const auto found = Found(gallery_, 2);
  ASSERT_EQ(found.size(), 3);
  EXPECT_NEAR(found.at("bob"), TemplateLength(2), kScoreNoise + kRounding);
  EXPECT_TRUE(Must(kServer, Plain("stats", gallery_, {"--verify"}))["intact"]);
  // The same gallery in a folder gives the same answers.
  Must(kServer, Plain("snapshot", gallery_, {"--out", W("folder"), "--with-keys"}));
  for (const auto& [name, score] : Found(W("folder"), 2)) {
    EXPECT_NEAR(found.at(name), score, 2 * (kScoreNoise + kRounding)) << name;
  }

  Believe(W("keys/trust.heft"), gallery_);
  const json removed = Must(
      kServer, Command("remove", gallery_, {"--identity", "bob", "--receipts", W("receipts")}));
  EXPECT_EQ(removed["removed"], 1);
  EXPECT_EQ(removed["erased"], 1);
  EXPECT_EQ(removed["receipts"].size(), 1u);
  EXPECT_EQ(removed["overwritten"], false) << "a database keeps a log";
  EXPECT_THAT(removed["remains"].get<std::string>(), HasSubstr("WAL"));
  EXPECT_THAT(Names(gallery_), UnorderedElementsAre("ann", "carl"));
  EXPECT_FALSE(Found(gallery_, 2).contains("bob"));
  EXPECT_TRUE(Must(kServer, Plain("stats", gallery_, {"--verify"}))["intact"]);
  Must(kServer, Command("compact", gallery_));
  EXPECT_EQ(SharedServer().Ask(service_,
                               "SELECT sum(n_dead_tup) FROM pg_stat_all_tables WHERE "
                               "relname IN ('journal', 'names', 'roster', 'samples')"),
            "0");
}

TEST_F(PostgresCommandsTest, GalleriesAreCopiedBothWays) {
  Enrol(W("store") + ":one", "ann", 0);
  Enrol(W("store") + ":one", "bob", 2);
  const json before = Info(W("store") + ":one");
  // Moves a gallery from a folder into the database, beside an existing one.
  Enrol(gallery_, "dan", 6);
  Must(kServer, Plain("copy", gallery_ + ":one", {"--from", W("store") + ":one"}));
  EXPECT_EQ(Info(gallery_ + ":one")["root"], before["root"]);
  EXPECT_THAT(Names(gallery_ + ":one"), UnorderedElementsAre("ann", "bob"));
  EXPECT_THAT(Names(gallery_), ElementsAre("dan"));
  // And back to a folder: all galleries, and one of them.
  Must(kServer, Plain("snapshot", gallery_, {"--out", W("snapshot")}));
  EXPECT_EQ(Info(W("snapshot") + ":one")["root"], before["root"]);
  EXPECT_EQ(Info(W("snapshot"))["root"], Info(gallery_)["root"]);
  EXPECT_FALSE(fs::exists(W("snapshot") + "/server.key"));
  Must(kServer, Plain("copy", W("exported"), {"--from", gallery_ + ":one"}));
  EXPECT_EQ(Info(W("exported"))["root"], before["root"]);
  const Finished restore =
      RunProgram(kServer, {"gallery", "restore", "--gallery", gallery_, "--from", W("snapshot")});
  EXPECT_NE(restore.exit_code, 0);
  EXPECT_THAT(restore.err, HasSubstr("pg_restore"));
}

TEST_F(PostgresCommandsTest, TwoEnrolAtATime) {
  Must(kServer, Command("create", gallery_));
  std::vector<Args> all;
  for (int i = 0; i < 4; ++i) all.push_back(AddArgs(gallery_, "p" + std::to_string(i), 2 * i));
  std::vector<std::unique_ptr<Process>> running;
  for (const Args& args : all) running.push_back(std::make_unique<Process>(kServer, args));
  for (auto& process : running) {
    const Finished finished = process->Wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
  }
  ActivatePending(all[0], W("keys/secret.key"));
  EXPECT_THAT(Names(gallery_), UnorderedElementsAre("p0", "p1", "p2", "p3"));
}

TEST_F(PostgresCommandsTest, WhatIsWrongIsSaid) {
  const auto refused = [](const Args& args, int code, const std::string& says) {
    const Finished finished = RunProgram(kServer, args);
    EXPECT_EQ(finished.exit_code, code) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(says));
  };
  refused(Plain("stats", gallery_), kInput, "there is no");
  refused(Plain("stats", "postgres:nowhere"), kSystem, "pg_service.conf");
  refused(Plain("stats", "postgres:../x"), kInput, "postgres:SERVICE");
  refused(Plain("stats", "postgres:"), kInput, "postgres:SERVICE");
  Enrol(gallery_, "ann", 0);
  // Files of blobs that are not trusted are fetched again. A cache folder that others may enter is
  // refused.
  const fs::path blobs = fs::path(ServerFolder(gallery_)) / "blobs";
  fs::permissions(blobs, fs::perms::others_read, fs::perm_options::add);
  refused(Plain("stats", gallery_), kInput, "chmod 700");
  fs::permissions(blobs, fs::perms::owner_all);
  SharedServer().Kill();
  refused(Plain("stats", gallery_), kSystem, "cannot connect");
  SharedServer().Start();
  EXPECT_THAT(Names(gallery_), ElementsAre("ann"));
  EXPECT_EQ(Found(gallery_, 0).size(), 1);
}

}  // namespace
}  // namespace heft::e2e
