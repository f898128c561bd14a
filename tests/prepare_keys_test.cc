// SPDX-License-Identifier: Apache-2.0
// heft-server prepare-keys, and the use of its files by other commands. The right file is used, a
// wrong one never, and neither causes an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "features/dataset.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// server/: model, keys and trust file of the owner, and a gallery of ann.
class PrepareKeysTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = new Workplace;
    const Workplace& w = *made_;
    Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "24"});
    Must(kHeft, TrainArgs(w("data"), w("model.heft"), {"--profile", "standard"}));
    for (const char* keys : {"owner/keys", "owner/others"}) {
      Must(kHeft, {"keygen", "--model", w("model.heft"), "--out", w(keys), "--no-passphrase"});
    }
    RaiseBudget(w("model.heft"), w("owner/keys/secret.key"));
    Spill(w("label"), "ann\n");
    WriteRows(*LoadDataset(w("data")), "face", {0}, w("face.npy"), w("label.face"));
    for (const char* use : {"enrolment", "identification"}) {
      Must(kHeft, {"encrypt", "--model", w("model.heft"), "--key", w("owner/keys/encryption.key"),
                   "--modality", "face", "--in", w("face.npy"), "--labels", w("label"), "--for",
                   use, "--out", w(std::string(use) + ".ct")});
    }
    for (const char* name : {"evaluation.keys", "enrolment.keys", "trust.heft"}) {
      w.Copy(std::string("owner/keys/") + name, std::string("server/") + name);
    }
    EnrolNow({"enrol", "--model", w("model.heft"), "--keys", w("server/evaluation.keys"),
              "--gallery", w("server/gallery"), "--in", w("enrolment.ct")},
             w("owner/keys/secret.key"));
  }
  static void TearDownTestSuite() { delete made_; }

  // Each test has its own folder of the server.
  PrepareKeysTest() {
    std::filesystem::copy((*made_)("server"), root_, std::filesystem::copy_options::recursive);
  }

  std::string S(const std::string& path) const { return root_ + "/" + path; }
  static std::string W(const std::string& path) { return (*made_)(path); }
  Args Server(Args args, const Args& more = {}) const {
    args.insert(args.end(), {"--model", W("model.heft"), "--keys", S("evaluation.keys")});
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  Args Prepare(const Args& more = {}) const { return Server({"prepare-keys"}, more); }
  Args Identify(const Args& more = {}) const {
    Args args = {"--gallery", S("gallery"), "--in", W("identification.ct"), "--out", S("scores")};
    args.insert(args.end(), more.begin(), more.end());
    return Server({"identify"}, args);
  }
  Args Verify() const {
    return Server({"verify"}, {"--gallery", S("gallery"), "--in", W("enrolment.ct"), "--identity",
                               "ann", "--out", S("scores")});
  }
  // Checks that the key owner finds ann in the server's answer.
  void ExpectScores() const {
    Believe(W("owner/keys/trust.heft"), S("gallery"));
    const nlohmann::json opened =
        Must(kHeft, {"decrypt", "--model", W("model.heft"), "--secret-key",
                     W("owner/keys/secret.key"), "--in", S("scores"), "--threshold", "0.5"});
    EXPECT_EQ(opened["accepted"], true) << opened;
  }
  // Runs a command, which must succeed; returns its warning, empty if there is none.
  std::string Warning(const Args& args) const {
    const Finished run = RunProgram(kServer, args);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    ExpectScores();
    const size_t at = run.err.find("heft: warning: ");
    return at == std::string::npos ? "" : run.err.substr(at, run.err.find('\n', at) - at);
  }

  inline static Workplace* made_ = nullptr;
  const testing::TemporaryFolder folder_;
  const std::string root_ = folder_ / "server";
};

TEST_F(PrepareKeysTest, ThenEveryCommandMapsThem) {
  const nlohmann::json first = Must(kServer, Prepare());
  ASSERT_EQ(first["prepared"].size(), 2u);
  for (const auto& file : first["prepared"]) {
    EXPECT_EQ(file["out"], file["keys"].get<std::string>() + ".expanded");
    EXPECT_EQ(file["bytes"], std::filesystem::file_size(file["out"].get<std::string>()));
    EXPECT_EQ(file["made"], true);
    const nlohmann::json inspected = Must(kServer, {"inspect", file["out"]});
    EXPECT_EQ(inspected["kind"], "expanded keys");
  }
  for (const auto& file : Must(kServer, Prepare())["prepared"]) EXPECT_EQ(file["made"], false);
  EXPECT_EQ(Warning(Identify()), "");
  EXPECT_EQ(Warning(Verify()), "");
}

TEST_F(PrepareKeysTest, InAFolderOfTheirOwn) {
  const Args cache = {"--key-cache", S("cache/of/keys")};
  Must(kServer, Prepare(cache));
  EXPECT_TRUE(std::filesystem::exists(S("cache/of/keys/evaluation.keys.expanded")));
  EXPECT_FALSE(std::filesystem::exists(S("evaluation.keys.expanded")));
  EXPECT_EQ(Warning(Identify(cache)), "");
}

TEST_F(PrepareKeysTest, NobodyWritesThemUnasked) {
  EXPECT_EQ(Warning(Identify()), "");
  EXPECT_FALSE(std::filesystem::exists(S("evaluation.keys.expanded")));
}

TEST_F(PrepareKeysTest, ADamagedFileIsMadeAnew) {
  Must(kServer, Prepare());
  std::string bytes = Slurp(S("evaluation.keys.expanded"));
  bytes[bytes.size() / 2] ^= 1;
  Spill(S("evaluation.keys.expanded"), bytes);
  EXPECT_THAT(Warning(Identify()), HasSubstr("checksum mismatch, the file is damaged; made anew"));
  EXPECT_EQ(Warning(Identify()), "");
  bytes.resize(bytes.size() / 2);
  Spill(S("evaluation.keys.expanded"), bytes);
  EXPECT_THAT(Warning(Verify()), HasSubstr("truncated or extended; made anew"));
  EXPECT_EQ(Warning(Verify()), "");
}

TEST_F(PrepareKeysTest, OtherKeysInTheirPlaceAreSeen) {
  Must(kServer, Prepare());
  std::filesystem::copy_file(W("owner/others/evaluation.keys"), S("evaluation.keys"),
                             std::filesystem::copy_options::overwrite_existing);
  // The keys of an owner that is not in the trust file are refused, with and without an expanded
  // file.
  const Finished run = RunProgram(kServer, Identify());
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("signed by an unknown key-owner"));
  std::filesystem::remove(S("evaluation.keys.expanded"));
  EXPECT_EQ(RunProgram(kServer, Identify()).err, run.err);
}

TEST_F(PrepareKeysTest, WhatIsExpandedOfOtherKeysIsMadeAnew) {
  const std::string path = "evaluation.keys.expanded";
  Must(kServer, {"prepare-keys", "--model", W("model.heft"), "--keys",
                 W("owner/others/evaluation.keys"), "--key-cache", S("others")});
  std::filesystem::copy_file(S("others/" + path), S(path));
  EXPECT_THAT(Warning(Identify()), HasSubstr("made from other keys than now are in"));
  EXPECT_EQ(Warning(Identify()), "");
}

TEST_F(PrepareKeysTest, WhoIsNoLongerTrustedIsRefused) {
  Must(kServer, Prepare());
  std::filesystem::copy_file(W("owner/others/trust.heft"), S("trust.heft"),
                             std::filesystem::copy_options::overwrite_existing);
  for (const Args& args : {Identify(), Verify(), Prepare()}) {
    const Finished run = RunProgram(kServer, args);
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_THAT(run.err, HasSubstr("signed by an unknown key-owner"));
  }
}

TEST_F(PrepareKeysTest, WhatOthersMayWriteIsLeftAlone) {
  Must(kServer, Prepare());
  const std::string path = S("evaluation.keys.expanded");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  const std::string before = Slurp(path);
  EXPECT_THAT(Warning(Identify()), HasSubstr("others may write to it"));
  EXPECT_EQ(Slurp(path), before);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  std::filesystem::rename(path, S("elsewhere"));
  std::filesystem::create_symlink(S("elsewhere"), path);
  EXPECT_THAT(Warning(Identify()), HasSubstr("it is a symbolic link"));
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

// The keys are read also when the expanded file cannot be written: here a folder has its name.
TEST_F(PrepareKeysTest, WithoutAPlaceToWriteTheKeysThemselvesAreRead) {
  std::filesystem::create_directory(S("evaluation.keys.expanded"));
  EXPECT_THAT(Warning(Identify()), HasSubstr("the keys themselves are read"));
  const Finished run = RunProgram(kServer, Prepare());
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("evaluation.keys.expanded"));
}

TEST_F(PrepareKeysTest, TwoAtOnce) {
  Process one(kServer, Prepare()), other(kServer, Prepare());
  const Finished first = one.Wait(), second = other.Wait();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(Warning(Identify()), "");
  for (const auto& entry : std::filesystem::directory_iterator(root_)) {
    EXPECT_THAT(entry.path().extension().string(), Not(HasSubstr(".expanded."))) << entry.path();
  }
}

}  // namespace
}  // namespace heft::e2e
