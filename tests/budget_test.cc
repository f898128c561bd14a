// SPDX-License-Identifier: Apache-2.0
// Attacks on the budget through the programs, with their default flags: other processes, copies of
// the key, journals that are deleted, put back or cut, and identifications by anybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class BudgetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "17", "--samples",
                 "3", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    state_ = std::getenv("HEFT_STATE_DIR");
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", K("")});
    Encrypt("all");
    for (const char* row : {"0", "3"}) Enrol(row);
    Believe(K("trust.heft"), K("gallery"));
    Unpin(K("trust.heft"));
    Must(kHeft, Budget({"--set", "scores=2"}));  // by default there is no score to spend
  }
  static void TearDownTestSuite() { delete work_; }
  // Each test has a copy of the key with its state, of a gallery of two people, and of all probes.
  void SetUp() override {
    const std::string state = W(Name() + "-state");
    fs::copy(W(kBase), W(Name()), fs::copy_options::recursive);
    fs::copy(state_, state, fs::copy_options::recursive);
    setenv("HEFT_STATE_DIR", state.c_str(), 1);
  }
  void TearDown() override {
    setenv("HEFT_STATE_DIR", state_.c_str(), 1);
    fs::remove_all(W(Name()));
  }

  static std::string W(const std::string& path) { return (*work_)(path); }
  // The test's, or kBase between the tests.
  static std::string Name() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    return test == nullptr ? kBase : test->name();
  }
  static std::string K(const std::string& path) { return W(Name() + "/" + path); }
  static std::string Sample(const std::string& name, const std::string& modality) {
    return K(name + "-" + modality + ".ct");
  }
  static void Encrypt(const std::string& name, const Args& more = {}) {
    for (const std::string modality : {"face", "voice"}) {
      Args args = {"encrypt",
                   "--model",
                   W("model.heft"),
                   "--key",
                   K("encryption.key"),
                   "--modality",
                   modality,
                   "--in",
                   W("data/" + modality + ".npy"),
                   "--labels",
                   W("data/labels.txt"),
                   "--out",
                   Sample(name, modality)};
      args.insert(args.end(), more.begin(), more.end());
      EncryptBoth(args);
    }
  }
  static nlohmann::json Serve(const std::string& subcommand, const std::string& samples,
                              const Args& more) {
    Args args = {subcommand,
                 "--model",
                 W("model.heft"),
                 "--keys",
                 K("evaluation.keys"),
                 "--gallery",
                 K("gallery"),
                 "--in",
                 Sample(samples, "face"),
                 "--in",
                 Sample(samples, "voice")};
    args.insert(args.end(), more.begin(), more.end());
    return Must(kServer, WithProbes(args));
  }
  static void Enrol(const std::string& row) {
    Encrypt("one", {"--row", row});
    Serve("enrol", "one", {});
    ActivatePending(
        {"--model", W("model.heft"), "--keys", K("evaluation.keys"), "--gallery", K("gallery")},
        K("secret.key"));
  }
  // A new reply each time.
  static std::string Verify(const std::string& identity) {
    static int replies = 0;
    const std::string out = K("reply" + std::to_string(replies++) + ".ct");
    Serve("verify", "one", {"--identity", identity, "--out", out});
    return out;
  }
  static Args Decrypt(const std::string& reply, const Args& more = {"--scores"},
                      const std::string& key = K("secret.key")) {
    Args args = {"decrypt", "--model", W("model.heft"), "--secret-key",
                 key,       "--in",    reply,           "--quiet"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Args Budget(const Args& more = {}, const std::string& key = K("secret.key")) {
    Args args = {"budget", "--model", W("model.heft"), "--secret-key", key};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  // Nothing is opened, and the reason is told on one line.
  static void ExpectRefused(const Args& args, int code, const std::string& why) {
    const Finished run = RunProgram(kHeft, args);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_EQ(run.out, "") << "no score beside a refusal";
    EXPECT_THAT(run.err, HasSubstr(why));
    if (code != kUsage) {
      EXPECT_EQ(Lines(run.err), 1u);
    }
  }
  static int Open(const std::string& reply, const Args& more = {"--scores"}) {
    return RunProgram(kHeft, Decrypt(reply, more)).exit_code;
  }

  // PrepareKeys: for tests with many verifications.
  static void PrepareKeys() {
    Must(kServer, {"prepare-keys", "--model", W("model.heft"), "--keys", K("evaluation.keys")});
  }

  static constexpr const char* kBase = "base";
  inline static Workplace* work_ = nullptr;
  inline static std::string state_;
};

TEST_F(BudgetTest, IsEnforcedAcrossProcessesAndRaisedByHand) {
  EXPECT_EQ(Must(kHeft, Budget({"--set", "scores=4"}))["limits"]["scores"], 4);
  for (int i = 0; i < 2; ++i) Must(kHeft, Decrypt(Verify("1")));
  const std::string journal = Slurp(K("secret.key.journal"));
  const std::string third = Verify("1");
  ExpectRefused(Decrypt(third), kBudget, "one client may get 2");
  ExpectRefused(Decrypt(third), kBudget, "heft budget --set");
  EXPECT_EQ(Slurp(K("secret.key.journal")), journal);
  // An unknown name is charged alike.
  for (int i = 0; i < 2; ++i) Must(kHeft, Decrypt(Verify("nobody")));
  ExpectRefused(Decrypt(Verify("nobody")), kBudget, "one client may get 2");
  EXPECT_EQ(Must(kHeft, Budget({"--set", "scores=6"}))["scores"], 2);
  Must(kHeft, Decrypt(third));
  ExpectRefused(Decrypt(Verify("1")), kBudget, "one client may get 3");
  Must(kHeft, Decrypt(Verify("1"), {"--threshold", "-1"}));
  const auto use = Must(kHeft, Budget());
  EXPECT_EQ(use["scores"], 3);
  EXPECT_EQ(use["decisions"], 1);
  EXPECT_EQ(use["verifications"], 6);
  ASSERT_EQ(use["clients"].size(), 1u);
  EXPECT_EQ(use["clients"][0]["client"], "");
  EXPECT_LT(use["clients"][0]["bits_left"], 1000) << "a tenth of a listed client's bits";
  EXPECT_EQ(use["clients"][0]["rejections_left"], 16) << "the decision accepted";
}

TEST_F(BudgetTest, ScoresAreAskedForAndSayWhatTheyCost) {
  Must(kHeft, Budget({"--set", "scores=4"}));
  const std::string reply = Verify("1"),
                    gallery = Must(kHeft, {"inspect", K("gallery")})["gallery_id"];
  ExpectRefused(Decrypt(reply, {}), kUsage, "a decision needs a rate");
  ExpectRefused(Decrypt(reply, {"--fmr", "0.1", "--top", "3"}), kUsage, "--scores");
  const Finished decided = RunProgram(kHeft, {"decrypt", "--model", W("model.heft"), "--secret-key",
                                              K("secret.key"), "--in", reply, "--threshold", "-1"});
  EXPECT_THAT(decided.out, ::testing::StartsWith("accept 1 (claim of 1 in gallery " + gallery));
  EXPECT_EQ(decided.err, "");
  const auto decision = Must(kHeft, Decrypt(Verify("1"), {"--fmr", "0.1"}));
  EXPECT_EQ(decision["gallery_id"], gallery);
  EXPECT_EQ(decision["claimed"], "1");
  EXPECT_EQ(decision["threshold"]["rate"], 0.1);
  EXPECT_FALSE(decision.contains("candidates")) << decision;
  for (const int left : {1, 0}) {
    const Finished scores =
        RunProgram(kHeft, {"decrypt", "--model", W("model.heft"), "--secret-key", K("secret.key"),
                           "--in", Verify("1"), "--scores"});
    EXPECT_THAT(scores.err,
                HasSubstr("one of the 4 that an identity may ever give (one client: 2)"));
    EXPECT_THAT(scores.out, HasSubstr("1  (scores left: " + std::to_string(left) + ")"));
  }
  ExpectRefused(Decrypt(Verify("1")), kBudget, "one client may get 2");
}

// Another person as "1" in another gallery under the same key, which the key owner approves too.
TEST_F(BudgetTest, ADecisionIsOnTheKeysOwnGallery) {
  const std::string own = Must(kHeft, {"inspect", K("gallery")})["gallery_id"];
  const auto in_other = [](Args args) {
    std::ranges::replace(args, K("gallery"), K("other"));
    return args;
  };
  const Args of = {"--model",   W("model.heft"), "--keys", K("evaluation.keys"),
                   "--gallery", K("gallery")};
  const auto serve = [&](Args args, const Args& more) {
    args.insert(args.end(), of.begin(), of.end());
    args.insert(args.end(), {"--in", Sample("one", "face"), "--in", Sample("one", "voice")});
    args.insert(args.end(), more.begin(), more.end());
    Must(kServer, in_other(args));
  };
  Encrypt("one", {"--row", "9"});
  serve({"enrol"}, {"--identity", "1"});
  ActivatePending(in_other(of), K("secret.key"));
  Unpin(K("trust.heft"));
  const std::string other = Must(kHeft, {"inspect", K("other")})["gallery_id"];
  EXPECT_EQ(Must(kHeft, Budget())["gallery_id"], own) << "the first that it saw";
  const auto reply = [&](const std::string& name) {
    Encrypt("one", {"--row", "9"});
    serve({"verify"}, {"--identity", "1", "--out", K(name)});
    return K(name);
  };
  const std::string first = reply("first.ct"), second = reply("second.ct");
  const Args rule = {"--threshold", "0.3"};
  ExpectRefused(Decrypt(first, rule), kInput, "this key's own is " + own);
  ExpectRefused(Decrypt(first, {"--scores"}), kInput, "--gallery-id " + other);
  ExpectRefused(Decrypt(first, {"--threshold", "0.3", "--gallery-id", own}), kInput, other);
  const auto named = Must(kHeft, Decrypt(first, {"--threshold", "0.3", "--gallery-id", other}));
  EXPECT_EQ(named["accepted"], true) << named;
  EXPECT_EQ(named["gallery_id"], other);
  ExpectRefused(Decrypt(second, rule), kInput, "this key's own is " + own);
  Must(kHeft, {"trust", "add", "--trust", K("trust.heft"), "--gallery", other});
  EXPECT_EQ(Must(kHeft, Decrypt(second, rule))["gallery_id"], other);
}

TEST_F(BudgetTest, EveryReplyIsOpenedOnce) {
  const std::string reply = Verify("1");
  Must(kHeft, Decrypt(reply, {"--threshold", "0.5"}));
  ExpectRefused(Decrypt(reply), kInput, "opened before, at 20");
  ExpectRefused(Decrypt(reply, {"--threshold", "0.6"}), kInput, "opened before");
}

// One program that runs 400 days ahead: what limits stops for a day, and not until then.
TEST_F(BudgetTest, AClockThatIsWrongOnceStopsNothingForLong) {
  Must(kHeft, Budget({"--set", "decisions=4"}));
  const Args rule = {"--threshold", "-1"};
  for (int i = 0; i < 2; ++i) Must(kHeft, Decrypt(Verify("1"), rule));
  setenv("LD_PRELOAD", HEFT_CLOCK_AHEAD, 1);
  setenv("HEFT_TEST_AHEAD", std::to_string(400 * 86400).c_str(), 1);
  const auto ahead = Must(kHeft, Budget({"--set", "client-bits=9999"}));
  unsetenv("HEFT_TEST_AHEAD");
  unsetenv("LD_PRELOAD");
  const auto after = Must(kHeft, Budget());
  EXPECT_GT(ahead["last_entry"].get<std::string>(),
            after["clients"][0]["full_at"].get<std::string>())
      << "the clock was ahead, and when limits are gone does not follow it";
  // A day's decisions came back, and then none for a day.
  for (int i = 0; i < 2; ++i) Must(kHeft, Decrypt(Verify("1"), rule));
  const Finished refused = RunProgram(kHeft, Decrypt(Verify("1"), rule));
  EXPECT_EQ(refused.exit_code, kBudget);
  const time_t latest = time(nullptr) + 2 * 86400;
  char day[16];
  strftime(day, sizeof day, "%Y-%m-%d", gmtime(&latest));
  const size_t at = refused.err.find("again from ");
  ASSERT_NE(at, std::string::npos) << refused.err;
  EXPECT_LE(refused.err.substr(at + 11, 10), day);
}

// A client that claims "1" with other people's probes may do so 16 times. Others are not affected.
TEST_F(BudgetTest, GarbageUnderANameCostsItsSender) {
  PrepareKeys();
  for (const std::string name : {"mallory", "door"}) {
    Must(kHeft, {"trust", "new-key", "--out", K(name + ".key")});
    Must(kHeft, {"trust", "add", "--trust", K("trust.heft"), "--role", "client", "--key",
                 K(name + ".pub"), "--name", name});
    Encrypt(name, {"--sign", K(name + ".key")});
  }
  const auto claim = [&](const std::string& client, int row) {
    const std::string out = K(client + std::to_string(row) + "-claim.ct");
    Serve("verify", client, {"--identity", "1", "--row", std::to_string(row), "--out", out});
    return out;
  };
  const Args strict = {"--threshold", "0.9999"}, rule = {"--threshold", "-1"};
  for (int row = 20; row < 36; ++row) {
    EXPECT_EQ(Must(kHeft, Decrypt(claim("mallory", row), strict))["accepted"], false);
  }
  const std::string more = claim("mallory", 36);
  ExpectRefused(Decrypt(more, rule), kBudget,
                "was rejected 16 times about \"1\"; it may ask again");
  ExpectRefused(Decrypt(more, rule), kBudget, "Other clients are not affected");
  EXPECT_EQ(Must(kHeft, Decrypt(claim("door", 4), rule))["accepted"], true);
  const auto use = Must(kHeft, Budget());
  EXPECT_EQ(use["identities"], 1);
  EXPECT_EQ(use["decisions"], 1) << "garbage is not charged to the person";
  ASSERT_EQ(use["clients"].size(), 2u);
  for (const auto& client : use["clients"]) {
    const bool door = client["client"] == Slurp(K("door.pub")).substr(0, 64);
    EXPECT_EQ(client["rejections_left"], door ? 16 : 0);
    EXPECT_EQ(client["openings"], door ? 1 : 16);
  }
  // By hand; and a key that is no longer listed is one of all unlisted ones.
  EXPECT_EQ(Must(kHeft, Budget({"--set", "rejections=17"}))["limits"]["rejections"], 17);
  Must(kHeft, Decrypt(more, rule));
  const std::string late = claim("mallory", 37);
  Must(kHeft, {"trust", "revoke", "--trust", K("trust.heft"), "--key", K("mallory.pub")});
  Must(kHeft, Decrypt(late, rule));
  const auto after = Must(kHeft, Budget());
  EXPECT_EQ(
      std::ranges::count_if(after["clients"], [](const auto& c) { return c["client"] == ""; }), 1);
}

// A day at one door, where one of four has to try twice.
TEST_F(BudgetTest, AnHonestPersonPassesAHundredTimes) {
  PrepareKeys();
  for (int passage = 0; passage < 100; ++passage) {
    if (passage % 4 == 0) {
      EXPECT_EQ(Must(kHeft, Decrypt(Verify("1"), {"--threshold", "0.9999"}))["accepted"], false);
    }
    ASSERT_EQ(Must(kHeft, Decrypt(Verify("1"), {"--threshold", "-1"}))["accepted"], true)
        << passage;
  }
  EXPECT_EQ(Must(kHeft, Budget())["decisions"], 100);
}

TEST_F(BudgetTest, TwoProcessesAtOnceShareIt) {
  std::vector<std::string> replies;
  for (int i = 0; i < 6; ++i) replies.push_back(Verify("1"));
  Must(kHeft, Budget({"--set", "scores=6"}));
  std::vector<std::unique_ptr<Process>> running;
  for (const std::string& reply : replies) {
    running.push_back(std::make_unique<Process>(kHeft, Decrypt(reply)));
  }
  int opened = 0;
  for (const auto& process : running) {
    const int code = process->Wait().exit_code;
    EXPECT_TRUE(code == 0 || code == kBudget) << code;
    opened += code == 0;
  }
  EXPECT_EQ(opened, 3);
}

TEST_F(BudgetTest, AnotherFileIsNoOtherBudget) {
  ExpectRefused(Decrypt(Verify("1"), {"--scores", "--budget-file", K("new")}), kUsage,
                "--budget-file");
  const std::string fresh = Slurp(K("secret.key.journal")), copy = K("elsewhere");
  Must(kHeft, Decrypt(Verify("1")));
  // The key alone; with the journal that it began with; with nothing in the folder of states.
  fs::create_directory(copy);
  for (const char* name : {"secret.key", "trust.heft"}) fs::copy(K(name), copy + "/" + name);
  const std::string reply = Verify("1");
  ExpectRefused(Decrypt(reply, {"--scores"}, copy + "/secret.key"), kInput,
                "heft budget --restart");
  Spill(copy + "/secret.key.journal", fresh);
  ExpectRefused(Decrypt(reply, {"--scores"}, copy + "/secret.key"), kInput, "an older journal");
  const std::string state = std::getenv("HEFT_STATE_DIR");
  setenv("HEFT_STATE_DIR", K("state").c_str(), 1);
  ExpectRefused(Decrypt(reply, {"--scores"}, copy + "/secret.key"), kInput,
                "copied from elsewhere");
  ExpectRefused(Decrypt(reply), kInput, "copied from elsewhere");
  setenv("HEFT_STATE_DIR", state.c_str(), 1);
  // Deleted, put back, cut, another key's.
  const std::string latest = Slurp(K("secret.key.journal"));
  const auto with = [&](const std::string& journal, const std::string& why) {
    Spill(K("secret.key.journal"), journal);
    ExpectRefused(Decrypt(reply), kInput, why);
    EXPECT_NE(RunProgram(kHeft, Budget()).exit_code, 0) << "nor does it say 0";
  };
  with(fresh, "an older journal");
  with(latest.substr(0, latest.size() - 1), "damaged behind entry");
  with(latest.substr(0, 100), "cut short");
  with("", "heft budget --restart");
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", K("stranger")});
  with(Slurp(K("stranger/secret.key.journal")), "the journal of another key");
  fs::remove(K("secret.key.journal"));
  ExpectRefused(Decrypt(reply), kInput, "is not there");
  Spill(K("secret.key.journal"), latest);
  ExpectRefused(Decrypt(reply), kBudget, "one client may get 1");
}

// Both places of the journal are put back together: the server's next reply shows it.
TEST_F(BudgetTest, AJournalPutBackWithItsStateFolderIsRefused) {
  const std::string state = std::getenv("HEFT_STATE_DIR");
  setenv("HEFT_STATE_DIR", K("state").c_str(), 1);
  fs::copy(state, K("state"), fs::copy_options::recursive);
  const auto save = [&](const std::string& from, const std::string& to) {
    fs::remove_all(to);
    fs::create_directory(to);
    for (const auto& file : fs::directory_iterator(from)) {
      if (file.is_regular_file() && file.path().extension() != ".ct") fs::copy(file.path(), to);
    }
  };
  const auto put_back = [&](const std::string& from, const std::string& to) {
    for (const auto& file : fs::directory_iterator(from)) {
      fs::copy(file.path(), to, fs::copy_options::overwrite_existing);
    }
  };
  save(K(""), K("saved-key"));
  save(K("state"), K("saved-state"));
  const std::string first = Verify("1");
  Must(kHeft, Decrypt(first, {"--threshold", "0.5"}));
  ASSERT_TRUE(fs::exists(K("journal.head")));
  const std::string second = Verify("1");  // the server takes journal.head
  put_back(K("saved-key"), K(""));
  put_back(K("saved-state"), K("state"));
  ExpectRefused(Decrypt(second, {"--threshold", "0.5"}), kInput, "put back to an older state");
  ExpectRefused(Decrypt(first, {"--threshold", "0.5"}), kInput, "put back to an older state");
  ExpectRefused(Decrypt(Verify("1"), {"--threshold", "0.5"}), kInput, "heft budget --restart");
  EXPECT_EQ(Must(kHeft, Budget())["verifications"], 0) << "nothing is charged";
  // By hand it goes on, and that is recorded.
  const auto begun = Must(kHeft, Budget({"--restart", "restored from the backup"}));
  EXPECT_EQ(begun["restart_count"], 1);
  Must(kHeft, Decrypt(Verify("1"), {"--threshold", "0.5"}));
  setenv("HEFT_STATE_DIR", state.c_str(), 1);
}

// The file that the key owner carries to a server elsewhere.
TEST_F(BudgetTest, AServerTakesTheJournalsHeadByHand) {
  fs::remove(K("journal.head"));
  const auto entry = [] {
    return Must(kServer, {"gallery", "stats", "--gallery", K("gallery")})["owner_journal_entry"];
  };
  const int before = entry();
  EXPECT_GT(before, 0) << "an admission brought it along";
  Must(kHeft, Decrypt(Verify("1"), {"--threshold", "0.5"}));
  EXPECT_EQ(entry(), before);
  const Args release = {
      "apply",     "--model",    W("model.heft"), "--keys",         K("evaluation.keys"),
      "--gallery", K("gallery"), "--in",          K("journal.head")};
  const auto taken = Must(kServer, release);
  EXPECT_EQ(taken["newer"], true);
  EXPECT_EQ(taken["owner_journal_entry"], entry());
  EXPECT_GT(entry(), before);
  EXPECT_EQ(Must(kServer, release)["newer"], false);
  // Not another key's, and not without a trust file.
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", K("stranger")});
  Args strangers = release;
  strangers.back() = K("stranger/trust.heft");
  EXPECT_NE(RunProgram(kServer, strangers).exit_code, 0);
  Args unchecked = release;
  unchecked.push_back("--unchecked");
  EXPECT_NE(RunProgram(kServer, unchecked).exit_code, 0);
}

TEST_F(BudgetTest, BeginningAnewIsAnActThatIsRecorded) {
  Must(kHeft, Decrypt(Verify("1")));
  fs::remove(K("secret.key.journal"));
  ExpectRefused(Budget({"--restart"}), kUsage, "--restart");
  const auto begun = Must(kHeft, Budget({"--restart", "the disk died", "--set", "scores=2"}));
  ASSERT_EQ(begun["restarts"].size(), 1u);
  EXPECT_EQ(begun["restarts"][0]["reason"], "the disk died");
  EXPECT_EQ(begun["restart_count"], 1);
  EXPECT_GT(begun["entries"], 3) << "that there were others before is still known";
  Must(kHeft, Decrypt(Verify("1")));
  const Finished text = RunProgram(kHeft, Budget());
  EXPECT_THAT(text.out, HasSubstr("the disk died"));
  // On another machine: the counts go along.
  const std::string state = std::getenv("HEFT_STATE_DIR");
  setenv("HEFT_STATE_DIR", K("moved").c_str(), 1);
  Must(kHeft, Budget({"--restart", "moved"}));
  EXPECT_EQ(Open(Verify("1")), kBudget);
  setenv("HEFT_STATE_DIR", state.c_str(), 1);
}

// An attack: 49 identifications by anybody, and everybody was locked out.
TEST_F(BudgetTest, IdentificationsByAnybodyLockNobodyOut) {
  Serve("identify", "all", {"--all", "--out", K("searches")});
  int opened = 0, asked = 0;
  for (const auto& file : fs::directory_iterator(K("searches"))) {
    const int code = Open(file.path().string());
    EXPECT_TRUE(code == 0 || code == kBudget) << code;
    opened += code == 0;
    ++asked;
  }
  EXPECT_GE(asked, 49);
  EXPECT_GE(opened, 1);
  const auto use = Must(kHeft, Budget());
  EXPECT_LE(use["scores"], 1) << "one client's half";
  // Who was published gives decisions, who was enrolled a minute ago gives everything.
  const auto decided = Must(kHeft, Decrypt(Verify("1"), {"--threshold", "-1"}));
  EXPECT_EQ(decided["accepted"], true);
  Enrol("6");
  const auto person = Must(kHeft, Decrypt(Verify("2")));
  EXPECT_EQ(person["candidates"].size(), 1u);
}

TEST_F(BudgetTest, TheCapOnWhatIsPublished) {
  const auto out = [](const std::string& name) { return K(name + ".ct"); };
  Serve("identify", "one", {"--out", out("search")});
  ExpectRefused(Decrypt(out("search"), {"--scores", "--top", "11"}), kUsage, "--beyond-cap");
  EXPECT_EQ(Must(kHeft, Decrypt(out("search"), {"--scores", "--top", "1"}))["candidates"].size(),
            1u);
  EXPECT_EQ(Must(kHeft, Budget())["identities"], 1) << "the other one is not charged";
  Encrypt("one", {"--row", "4"});
  Serve("identify", "one", {"--out", out("again")});
  const Finished more =
      RunProgram(kHeft, Decrypt(out("again"), {"--scores", "--top", "11", "--beyond-cap"}));
  EXPECT_THAT(more.err, Not(HasSubstr("--beyond-cap")));
}

TEST_F(BudgetTest, ARevokedKeyOpensNothingWhereverACopyLies) {
  const std::string copy = K("copy");
  fs::create_directory(copy);
  for (const char* name : {"secret.key", "secret.key.journal", "trust.heft"}) {
    fs::copy(K(name), copy + "/" + name);
  }
  const std::string reply = Verify("1");
  Must(kHeft,
       {"rekey", "--model", W("model.heft"), "--secret-key", K("secret.key"), "--out", K("next")});
  ExpectRefused(Decrypt(reply), kInput, "revoked");
  EXPECT_EQ(Open(reply), kInput);
  const Finished copied = RunProgram(kHeft, Decrypt(reply, {"--scores"}, copy + "/secret.key"));
  EXPECT_EQ(copied.exit_code, kInput);
  EXPECT_EQ(copied.out, "");
  for (const std::string& key : {K("secret.key"), copy + "/secret.key"}) {
    ExpectRefused(Budget({"--restart", "please"}, key), kInput, "revoked");
  }
}

}  // namespace
}  // namespace heft::e2e
