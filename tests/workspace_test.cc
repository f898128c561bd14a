// SPDX-License-Identifier: Apache-2.0
// A workspace with the real programs: from nothing to a decision in three commands, the same checks
// as between separate roles, and roles that move out and work on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "features/dataset.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSamplesOfOne = 4, kPeopleInAll = 8;

class WorkspaceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--identities", "60", "--samples",
                 std::to_string(kSamplesOfOne), "--dimensions", "48", "32"});
    data_ = new Dataset(*LoadDataset(W("data")));
    // Row 0 of each of eight people, row 1 of the same as probes, and strangers.
    std::vector<int> enrolled, probes, strangers;
    for (int person = 0; person < kPeopleInAll; ++person) {
      enrolled.push_back(person * kSamplesOfOne);
      probes.push_back(person * kSamplesOfOne + 1);
      strangers.push_back((person + kPeopleInAll) * kSamplesOfOne);
    }
    for (const char* modality : {"face", "voice"}) {
      const std::string name = modality;
      WriteRows(*data_, name, enrolled, W(name + ".npy"), W("labels.txt"));
      WriteRows(*data_, name, probes, W("probe-" + name + ".npy"), W("probes.txt"));
      WriteRows(*data_, name, strangers, W("stranger-" + name + ".npy"), W("strangers.txt"));
    }
    Must(kHeft, {"init", W("made"), "--data", W("data"), "--method", "none", "--no-passphrase"});
  }
  static void TearDownTestSuite() {
    delete data_;
    delete work_;
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static std::string Label(int person) { return data_->labels[person * kSamplesOfOne]; }
  static std::vector<std::string> Files(const std::string& prefix) {
    return {W(prefix + "face.npy"), W(prefix + "voice.npy")};
  }
  static Args Add(const std::string& workspace) {
    return {"add", W(workspace), W("face.npy"), W("voice.npy"), "--labels", W("labels.txt")};
  }
  static Args Search(const std::string& workspace, const std::string& prefix = "probe-",
                     const Args& more = {}) {
    Args args = {"search", W(workspace), W(prefix + "face.npy"), W(prefix + "voice.npy")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // Makes a workspace for one test, with the model that all share.
  static std::string Made(const std::string& name) {
    Must(kHeft, {"init", W(name), "--model", W("made/owner/model.heft"), "--no-passphrase"});
    EXPECT_EQ(Must(kHeft, Add(name))["added"], kPeopleInAll);
    return name;
  }
  static std::vector<std::string> Found(const json& result) {
    std::vector<std::string> who;
    for (const json& decision : result["decisions"]) {
      who.push_back(decision["accepted"] == true ? std::string(decision["identity"]) : "");
    }
    return who;
  }
  static void Refused(const Args& args, const std::vector<std::string>& says, int code = kInput) {
    const Finished run = RunProgram(kHeft, args);
    EXPECT_EQ(run.exit_code, code) << ::testing::PrintToString(args) << run.err;
    for (const std::string& text : says) EXPECT_THAT(run.err, HasSubstr(text));
    EXPECT_EQ(run.out, "");
  }

  static Workplace* work_;
  static Dataset* data_;
};

Workplace* WorkspaceTest::work_;
Dataset* WorkspaceTest::data_;

// From one's own vectors to the first identification: three commands and three files, a face, a
// voice and labels, whose first samples are enrolled and whose second are searched for.
TEST_F(WorkspaceTest, ThreeCommandsAndThreeFilesToTheFirstIdentification) {
  namespace fs = std::filesystem;
  fs::create_directory(W("own"));
  for (const char* name : {"face.npy", "voice.npy", "labels.txt"}) {
    fs::copy(W(std::string("data/") + name), W(std::string("own/") + name));
  }
  Args enrolled = {"--row"}, searched = {"--row"};
  for (int person = 0; person < kPeopleInAll; ++person) {
    enrolled.push_back(std::to_string(person * kSamplesOfOne));
    searched.push_back(std::to_string(person * kSamplesOfOne + 1));
  }
  const Args vectors = {W("own/face.npy"), W("own/voice.npy")};
  Must(kHeft, {"init", W("three"), "--data", W("data"), "--method", "none", "--no-passphrase"});
  EXPECT_EQ(Must(kHeft, Join(Join(Join({"add", W("three")}, vectors), enrolled),
                             {"--labels", W("own/labels.txt")}))["added"],
            kPeopleInAll);
  const json found = Must(kHeft, Join(Join({"search", W("three")}, vectors), searched));
  ASSERT_EQ(found["decisions"].size(), size_t{kPeopleInAll});
  int right = 0;
  for (int person = 0; person < kPeopleInAll; ++person) {
    EXPECT_EQ(found["decisions"][person]["row"], person * kSamplesOfOne + 1);
    right += Found(found)[person] == Label(person);
  }
  EXPECT_GE(right, kPeopleInAll - 1);
  const auto files = std::distance(fs::directory_iterator(W("own")), fs::directory_iterator());
  EXPECT_LE(files, 4);
  // heft inspect knows every file of the workspace.
  for (const auto& entry : fs::recursive_directory_iterator(W("three"))) {
    if (entry.is_regular_file()) Must(kHeft, {"inspect", entry.path()});
  }
  // A row that the files do not have, and labels that are not the files'.
  Refused(Join(Join({"search", W("three")}, vectors), {"--row", "240"}),
          {"own/face.npy: row 240 asked for, the file has 240"});
  Refused(Join(Join({"add", W("three")}, vectors), {"--row", "2", "--labels", W("labels.txt")}),
          {"labels.txt: 8 labels for 240 rows"});
}

// The server keeps the end of the key owner's journal, so a backup of all that is the key owner's
// opens nothing.
TEST_F(WorkspaceTest, AKeyOwnerThatWasPutBackOpensNothing) {
  namespace fs = std::filesystem;
  const std::string state = std::getenv("HEFT_STATE_DIR");
  setenv("HEFT_STATE_DIR", W("put-back-state").c_str(), 1);
  Made("put-back");
  const auto copy = [](const std::string& from, const std::string& to) {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
  };
  const auto save = [&] {
    copy(W("put-back/owner"), W("saved-owner"));
    copy(W("put-back-state"), W("saved-state"));
  };
  const auto put_back = [&] {
    copy(W("saved-owner"), W("put-back/owner"));
    copy(W("saved-state"), W("put-back-state"));
  };
  save();
  Must(kHeft, Search("put-back"));
  Must(kHeft, Search("put-back"));
  put_back();
  Refused(Search("put-back"), {"put back to an older state", "heft budget --restart REASON"});
  Refused({"remove", W("put-back"), "--identity", Label(0)}, {"put back to an older state"});
  const Args budget = {"budget", "--model", W("put-back/owner/model.heft"), "--secret-key",
                       W("put-back/owner/secret.key")};
  EXPECT_EQ(Must(kHeft, budget)["identifications"], 0) << "nothing is charged";
  Args restart = budget;
  restart.insert(restart.end(), {"--restart", "restored from the backup"});
  EXPECT_EQ(Must(kHeft, restart)["restart_count"], 1);
  EXPECT_EQ(Found(Must(kHeft, Search("put-back")))[1], Label(1)) << "and goes on";
  Must(kHeft, Search("put-back"));
  setenv("HEFT_STATE_DIR", state.c_str(), 1);
}

TEST_F(WorkspaceTest, FindsWhoWasAddedAndNobodyElse) {
  EXPECT_EQ(Must(kHeft, Search("made"))["decisions"].size(), kPeopleInAll) << "nobody is there yet";
  const json added = Must(kHeft, Add("made"));
  EXPECT_EQ(added["added"], kPeopleInAll);
  EXPECT_EQ(added["templates"], kPeopleInAll);
  std::vector<std::string> everybody;
  for (int person = 0; person < kPeopleInAll; ++person) everybody.push_back(Label(person));
  EXPECT_EQ(Found(Must(kHeft, Search("made"))), everybody);
  EXPECT_EQ(Found(Must(kHeft, Search("made", "stranger-"))),
            std::vector<std::string>(kPeopleInAll, ""));
  const Finished text = RunProgram(kHeft, Search("made", "probe-", {"--quiet", "--fpir", "0.05"}));
  EXPECT_THAT(text.out, HasSubstr("row 0: " + Label(0) + " (accepted, FPIR 0.05, threshold 0."));

  const json claims = Must(kHeft, {"verify", W("made"), W("probe-face.npy"), W("probe-voice.npy"),
                                   "--identity", Label(2)});
  for (int row = 0; row < kPeopleInAll; ++row) {
    EXPECT_EQ(claims["decisions"][row]["accepted"], row == 2) << row;
  }
  const json removed = Must(kHeft, {"remove", W("made"), "--identity", Label(0), Label(5)});
  EXPECT_EQ(removed["removed"], 2);
  EXPECT_EQ(removed["templates"], kPeopleInAll - 2);
  EXPECT_TRUE(removed["overwritten"]);
  everybody[0] = everybody[5] = "";
  EXPECT_EQ(Found(Must(kHeft, Search("made"))), everybody);
  // Each opening is in the journal: five searches or claims, of eight rows.
  const json budget = Must(kHeft, {"budget", "--model", W("made/owner/model.heft"), "--secret-key",
                                   W("made/owner/secret.key")});
  EXPECT_EQ(budget["identifications"], 5 * kPeopleInAll);
  EXPECT_EQ(budget["verifications"], kPeopleInAll);
}

TEST_F(WorkspaceTest, TakesManyRowsOfSomebodyAndManyPeople) {
  Must(kHeft, {"init", W("many"), "--model", W("made/owner/model.heft"), "--no-passphrase"});
  const json added = Must(kHeft, {"add", W("many"), W("data/face.npy"), W("data/voice.npy"),
                                  "--labels", W("data/labels.txt")});
  EXPECT_EQ(added["added"], data_->labels.size());
  const std::vector<std::string> found = Found(Must(kHeft, Search("many")));
  for (int person = 0; person < kPeopleInAll; ++person) EXPECT_EQ(found[person], Label(person));
  Must(kHeft, {"remove", W("many"), "--identity", Label(0)});
  EXPECT_EQ(Found(Must(kHeft, Search("many")))[0], "") << "bulk templates leave by a renewal";
}

TEST_F(WorkspaceTest, FilesGoByTheirNamesOrByTheModelsOrder) {
  const std::string workspace = Made("names");
  std::filesystem::copy(W("probe-face.npy"), W("a.npy"));
  std::filesystem::copy(W("probe-voice.npy"), W("b.npy"));
  const auto found = [&](const Args& files) {
    Args args = {"search", W(workspace)};
    args.insert(args.end(), files.begin(), files.end());
    return Found(Must(kHeft, args))[1];
  };
  EXPECT_EQ(found({W("probe-voice.npy"), W("probe-face.npy")}), Label(1));
  EXPECT_EQ(found({W("a.npy"), W("b.npy")}), Label(1));
  EXPECT_EQ(found({"voice=" + W("b.npy"), "face=" + W("a.npy")}), Label(1));
  Refused({"search", W(workspace), W("b.npy"), W("a.npy")}, {W("b.npy"), "dimension 32"});
  Refused({"search", W(workspace), W("a.npy")}, {"1 files", "face (48), voice (32)", "face="});
  Refused({"add", W(workspace), W("face.npy"), "--label", "zoe"}, {"1 of 2 modalities"});
  Refused({"search", W(workspace), W("a.npy"), W("b.npy"), W("b.npy")}, {"3 files"});
  Refused({"search", W(workspace), W("face.npy"), W("probe-face.npy")}, {"face is given twice"});
}

TEST_F(WorkspaceTest, RefusesWhatCannotBe) {
  const std::string workspace = Made("refusing");
  const auto before = Snapshot(W("refusing/server"));
  const json told = Must(kHeft, {"inspect", W("refusing")});
  EXPECT_EQ(told["kind"], "workspace");
  EXPECT_EQ(told["roles"].size(), 3u);
  EXPECT_EQ(told["gallery"]["templates"], kPeopleInAll);
  for (const std::string role : {"device", "server", "owner"}) {
    EXPECT_EQ(Must(kHeft, {"inspect", W("refusing/" + role)})["role"], role);
  }
  EXPECT_EQ(Must(kHeft, {"inspect", W("refusing/server")})["gallery"]["templates"], kPeopleInAll);
  EXPECT_EQ(Must(kHeft, {"inspect", W("refusing/workspace.txt")})["kind"], "mark of a workspace");
  Refused({"init", W("refusing"), "--data", W("data")}, {"is a workspace already"});
  Refused({"init", W("data"), "--data", W("data")}, {"exists already"});
  Refused({"init", W("no/where"), "--data", W("data")}, {"there is no folder", W("no")});
  Refused({"search", W("data"), W("face.npy"), W("voice.npy")}, {"not a workspace"});
  Refused({"search", W("none"), W("face.npy"), W("voice.npy")}, {"no such workspace"});
  Refused(Add("refusing"), {"\"" + Label(0) + "\" is enrolled already", "nothing was added"});
  Refused({"remove", W("refusing"), "--identity", "nobody"}, {"\"nobody\" is not enrolled"});
  Refused({"add", W("refusing"), W("face.npy"), W("voice.npy")}, {"--labels or --label"}, 2);
  Spill(W("two.txt"), "a\nb\n");
  Refused({"add", W("refusing"), W("face.npy"), W("voice.npy"), "--labels", W("two.txt")},
          {"2 labels for 8 rows"});
  EXPECT_EQ(Snapshot(W("refusing/server")), before);
}

TEST_F(WorkspaceTest, PassphrasesComeFromAFileOrATerminal) {
  Spill(W("passphrase"), "correct horse\n");
  Spill(W("wrong"), "wrong horse\n");
  Must(kHeft, {"init", W("sealed"), "--model", W("made/owner/model.heft"), "--passphrase-file",
               W("passphrase")});
  Refused(Add("sealed"), {"--passphrase-file"});
  Args add = Add("sealed");
  add.insert(add.end(), {"--passphrase-file", W("wrong")});
  Refused(add, {"wrong passphrase"});
  add.back() = W("passphrase");
  EXPECT_EQ(Must(kHeft, add)["added"], kPeopleInAll);
  EXPECT_EQ(
      Found(Must(kHeft, Search("sealed", "probe-", {"--passphrase-file", W("passphrase")})))[3],
      Label(3));
}

// A workspace is as strict as separate roles: it refuses the same files.
TEST_F(WorkspaceTest, ChecksWhatTheRolesCheck) {
  const std::string workspace = Made("checked");
  std::filesystem::copy(W("checked/server/gallery"), W("old"));
  Must(kHeft, {"remove", W("checked"), "--identity", Label(1)});
  const auto spoilt = [&](const std::string& file, const std::string& instead,
                          const std::vector<std::string>& says) {
    const std::string own = Slurp(W("checked/" + file));
    Spill(W("checked/" + file), instead);
    Refused(Search("checked", "probe-", {"--quiet"}), says);
    Spill(W("checked/" + file), own);
    EXPECT_EQ(Found(Must(kHeft, Search("checked")))[0], Label(0)) << file;
  };
  // Each role uses its own trust file: another workspace's lists none of these keys.
  Made("other");
  for (const std::string role : {"device", "server", "owner"}) {
    spoilt(role + "/trust.heft", Slurp(W("other/" + role + "/trust.heft")), {});
  }
  spoilt("device/device.key", Slurp(W("other/device/device.key")), {"unknown client"});
  spoilt("server/evaluation.keys", Slurp(W("other/server/evaluation.keys")), {"evaluation.keys"});
  spoilt("device/encryption.key", Slurp(W("other/device/encryption.key")), {"encryption.key"});
  spoilt("owner/secret.key.journal", "", {"journal"});
  // A gallery restored from a backup contains people who were removed.
  std::filesystem::rename(W("checked/server/gallery"), W("new"));
  std::filesystem::rename(W("old"), W("checked/server/gallery"));
  Refused(Search("checked", "probe-", {"--quiet"}), {"older"});
}

TEST_F(WorkspaceTest, WhatOthersCommandsChangedIsSettled) {
  const std::string workspace = Made("settled");
  const std::string server = W("settled/server/");
  Must(kServer,
       {"gallery", "remove", "--model", server + "model.heft", "--keys", server + "evaluation.keys",
        "--gallery", server + "gallery", "--identity", Label(4)});
  const std::vector<std::string> found = Found(Must(kHeft, Search("settled")));
  EXPECT_EQ(found[4], "");
  EXPECT_EQ(found[3], Label(3));
}

TEST_F(WorkspaceTest, RolesMoveOutAndWorkOn) {
  const std::string workspace = Made("moving");
  for (const std::string role : {"server", "device", "owner"}) {
    Must(kHeft, {"export-role", W("moving"), role, "--out", W("moved-" + role) + "/"});
    EXPECT_FALSE(std::filesystem::exists(W("moving/" + role)));
    Refused(Search("moving"), {"has left this workspace"});
  }
  Refused({"export-role", W("moving"), "server", "--out", W("again")}, {"has left"});
  Args request;
  for (const std::string modality : {"face", "voice"}) {
    Must(kHeft, {"encrypt", "--model", W("moved-device/model.heft"), "--key",
                 W("moved-device/encryption.key"), "--modality", modality, "--in",
                 W("probe-" + modality + ".npy"), "--row", "6", "--for", "identification", "--sign",
                 W("moved-device/device.key"), "--out", W(modality + ".ct")});
    request.insert(request.end(), {"--in", W(modality + ".ct")});
  }
  Args identify = {"identify",
                   "--model",
                   W("moved-server/model.heft"),
                   "--keys",
                   W("moved-server/evaluation.keys"),
                   "--gallery",
                   W("moved-server/gallery"),
                   "--out",
                   W("scores.ct")};
  identify.insert(identify.end(), request.begin(), request.end());
  Must(kServer, identify);
  const json decided = Must(kHeft, {"decrypt", "--model", W("moved-owner/model.heft"),
                                    "--secret-key", W("moved-owner/secret.key"), "--in",
                                    W("scores.ct"), "--fpir", "0.01", "--signed-gallery"});
  EXPECT_EQ(decided["accepted"], true);
  EXPECT_EQ(decided["identity"], Label(6));
}

}  // namespace
}  // namespace heft::e2e
