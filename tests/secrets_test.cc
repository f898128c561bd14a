// SPDX-License-Identifier: Apache-2.0
// The key owner's programs and their secrets and scores: query budgets, decisions without scores, a
// renewal that is killed (renewal_test.cc has the others), and the protection by the operating
// system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "base/sanitizers.h"
#include "tests/encrypt_rows.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SecretsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "20", "--samples",
                 "3", "--dimensions", "16", "12"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys")});
    RaiseBudget(W("model.heft"), W("keys/secret.key"));
    Encrypt("keys", "all", {});
    Encrypt("keys", "probe", {"--row", "4", "--for", "identification"});
    Enrol("keys", "gallery");
    Identify("keys", "gallery", "scores.ct");
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static void Encrypt(const std::string& keys, const std::string& name, const Args& more) {
    EncryptRows(*work_, keys, name, more);
  }
  static std::string Samples(const std::string& keys, const std::string& name,
                             const std::string& modality) {
    return SamplesFile(*work_, keys, name, modality);
  }
  static Args Serve(const std::string& subcommand, const std::string& keys,
                    const std::string& gallery, const std::string& samples) {
    return {subcommand,
            "--model",
            W("model.heft"),
            "--keys",
            W(keys + "/evaluation.keys"),
            "--gallery",
            W(gallery),
            "--in",
            Samples(keys, samples, "face"),
            "--in",
            Samples(keys, samples, "voice")};
  }
  static void Enrol(const std::string& keys, const std::string& gallery) {
    EnrolNow(Serve("enrol", keys, gallery, "all"), W(keys + "/secret.key"));
  }
  static void Identify(const std::string& keys, const std::string& gallery,
                       const std::string& out) {
    Args args = Serve("identify", keys, gallery, "probe");
    args.insert(args.end(), {"--out", W(out)});
    Must(kServer, args);
    Believe(W(keys + "/trust.heft"), W(gallery));
  }
  static Args Decrypt(const std::string& keys, const std::string& scores,
                      const Args& more = {"--scores"}) {
    Args args = {"decrypt", "--model", W("model.heft"), "--secret-key", W(keys + "/secret.key"),
                 "--in",    W(scores), "--quiet"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Args Budget(const std::string& keys, const Args& more = {}) {
    Args args = {"budget", "--model", W("model.heft"), "--secret-key", W(keys + "/secret.key")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static std::map<std::string, double> Scores(const std::string& keys, const std::string& file) {
    std::map<std::string, double> scores;
    const auto opened =
        Must(kHeft, Decrypt(keys, file, {"--scores", "--top", "100", "--beyond-cap"}));
    for (const auto& c : opened["candidates"]) {
      scores[c["identity"]] = c["score"];
    }
    return scores;
  }

  static Workplace* work_;
};

Workplace* SecretsTest::work_;

TEST_F(SecretsTest, ADecisionShowsNoScore) {
  Identify("keys", "gallery", "scored.ct");
  const auto scores = Scores("keys", "scored.ct");
  double best = -2;
  for (const auto& [identity, score] : scores) best = std::max(best, score);
  for (const double threshold : {best - 0.01, best + 0.01}) {
    Encrypt("keys", "probe",
            {"--row", "4", "--for", "identification"});  // each reply is opened once
    Identify("keys", "gallery", "decided.ct");
    auto decision =
        Must(kHeft, Decrypt("keys", "decided.ct", {"--threshold", std::to_string(threshold)}));
    EXPECT_EQ(decision["accepted"], threshold < best);
    EXPECT_EQ(decision["identity"] != "", threshold < best);
    EXPECT_FALSE(decision.contains("candidates"));
    // The threshold's own score is the one that was given.
    EXPECT_NEAR(decision["threshold"]["score"].get<double>(), threshold, 1e-6);
    decision["threshold"].erase("score");
    EXPECT_THAT(decision.dump(), Not(HasSubstr("score")));
  }
  EXPECT_EQ(RunProgram(kHeft, Decrypt("keys", "scores.ct", {})).exit_code, kUsage);
}

TEST_F(SecretsTest, AKilledRenewalLeavesTheOldGalleryOrTheNewOne) {
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("mortal")});
  Encrypt("mortal", "all", {});
  Enrol("mortal", "killed");
  const auto next = Must(kHeft, {"rekey", "--model", W("model.heft"), "--secret-key",
                                 W("mortal/secret.key"), "--out", W("heir")});
  const std::string old = next["old_key_id"];
  const Args move = {"apply",     "--model",  W("model.heft"), "--in", W("heir/rekeying.key"),
                     "--gallery", W("killed")};
  // Kills the renewal at moments spread over the time that it takes on a copy.
  std::filesystem::copy(W("killed"), W("moved"));
  Args move_copy = move;
  move_copy.back() = W("moved");
  const auto start = std::chrono::steady_clock::now();
  Must(kServer, move_copy);
  const auto takes = std::chrono::steady_clock::now() - start;
  std::string key = old;
  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts && key == old; ++attempt) {
    Process process(kServer, move);
    std::this_thread::sleep_for(takes * attempt / kAttempts);
    process.Signal(SIGKILL);
    process.Wait();
    const auto gallery = Must(kServer, {"inspect", W("killed")});  // every block intact
    key = gallery["key_id"];
    EXPECT_EQ(gallery["templates"], 60);
    EXPECT_EQ(gallery["revoked_keys"].size(), key == old ? 0u : 1u);
  }
  if (key == old) Must(kServer, move);
  EXPECT_EQ(Must(kServer, {"inspect", W("killed")})["key_id"], next["key_id"]);
  // The gallery can be changed again, and no file of an attempt is left.
  Encrypt("heir", "more", {});
  Args more = Serve("enrol", "heir", "killed", "more");
  more.insert(more.end(), {"--identity", "newcomer"});
  EnrolNow(more, W("heir/secret.key"));
  EXPECT_EQ(Must(kServer, {"inspect", W("killed")})["templates"], 120);
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(W("killed"))) {
    files.insert(file.path().filename().string());
  }
  EXPECT_EQ(files, (std::set<std::string>{"audit.key", "keys.made", "lock", "server.key",
                                          "server.lock", "server.pub", "state.heft", "store.blocks",
                                          "store.sqlite", "store.sqlite-shm", "store.sqlite-wal"}));
}

TEST_F(SecretsTest, TheServersProgramHasNoOwnersCommands) {
  for (const char* subcommand : {"decrypt", "keygen", "encrypt", "train", "evaluate", "rekey",
                                 "budget", "answer", "share", "canary"}) {
    EXPECT_EQ(RunProgram(kServer, {subcommand}).exit_code, 2) << subcommand;
    EXPECT_THAT(RunProgram(kServer, {"--help"}).out,
                Not(HasSubstr("\n  " + std::string(subcommand) + " ")));
  }
  const Finished help = RunProgram(kServer, {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("\n  enrol "));
}

TEST_F(SecretsTest, InspectReportsTheSecurityReached) {
  for (const char* path :
       {"model.heft", "keys/secret.key", "keys/encryption.key", "keys/evaluation.keys"}) {
    const auto shown = Must(kHeft, {"inspect", W(path)});
    EXPECT_EQ(shown["profile"], "standard") << path;
    EXPECT_THAT(shown["security"]["level"].get<std::string>(),
                ::testing::StartsWith("128-bit classical (2024)"))
        << path;
    EXPECT_LE(shown["security"]["total_bits"], shown["security"]["bound_2024_classical"]) << path;
  }
}

// Programs draw randomness from the system, so two runs under the same model share no bytes.
TEST_F(SecretsTest, NoTwoRunsDrawTheSame) {
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("once")});
  Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("again")});
  for (const char* file : {"secret.key", "encryption.key"}) {
    const std::string one = Slurp(W(std::string("once/") + file));
    const std::string other = Slurp(W(std::string("again/") + file));
    // Compares 32 bytes at many places, after the heads, which name the parameters.
    for (size_t at = 1024; at + 32 < one.size(); at += 997) {
      EXPECT_EQ(other.find(one.substr(at, 32)), std::string::npos) << file << " at " << at;
    }
  }
  Encrypt("once", "first-of-two", {"--row", "4"});
  Encrypt("once", "second-of-two", {"--row", "4"});
  const std::string one = Slurp(Samples("once", "first-of-two", "face"));
  const std::string other = Slurp(Samples("once", "second-of-two", "face"));
  for (size_t at = 1024; at + 32 < one.size(); at += 997) {
    EXPECT_EQ(other.find(one.substr(at, 32)), std::string::npos) << at;
  }
}

TEST_F(SecretsTest, AProcessThatHoldsSecretsLeavesNoCore) {
  // The process starts with core files turned on, and must turn them off.
  rlimit limit = {};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  if (limit.rlim_max == 0) GTEST_SKIP() << "core files are off for all of this system";
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
  Process keygen(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("late")});
  const std::string limits = "/proc/" + std::to_string(keygen.pid()) + "/limits";
  bool off = false;
  while (!off && keygen.Running()) {
    std::ifstream lines(limits);
    for (std::string line; std::getline(lines, line);) {
      off |= line.starts_with("Max core file size ") && line.find(" 0 ") != std::string::npos;
    }
  }
  EXPECT_TRUE(off) << "the program ended without turning core files off";
}

TEST_F(SecretsTest, ARefusedLockIsToldAndNothingElseChanges) {
  if (kLocksIgnored) GTEST_SKIP() << "sanitizers answer mlock themselves and refuse nothing";
  // A process that may lock memory without limits (root) gives up that right first.
  Args args = {"--memlock=0:0", kHeft};
  // Each reply is opened once.
  Encrypt("keys", "probe", {"--row", "4", "--for", "identification"});
  Identify("keys", "gallery", "locked.ct");
  const Args decrypt = Decrypt("keys", "locked.ct");
  args.insert(args.end(), decrypt.begin(), decrypt.end());
  std::string program = "/usr/bin/prlimit";
  if (geteuid() == 0) {
    args.insert(args.begin(), {"--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock", program});
    program = "/usr/bin/setpriv";
  }
  if (access(program.c_str(), X_OK) != 0) GTEST_SKIP() << program << " is not here";
  const Finished run = RunProgram(program, args);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("heft: warning: the system refused to lock"));
  EXPECT_THAT(run.err, HasSubstr("ulimit -l"));
  EXPECT_NE(run.out, "");
}

TEST_F(SecretsTest, AKeyInTheClearIsWarnedOf) {
  auto keygen = [&](const std::string& out, const Args& more) {
    Args args = {"keygen", "--model", W("model.heft"), "--out", W(out)};
    args.insert(args.end(), more.begin(), more.end());
    const Finished run = RunProgram(kHeft, args);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.err;
  };
  EXPECT_THAT(keygen("clear", {}), HasSubstr("is not encrypted"));
  EXPECT_THAT(keygen("meant", {"--no-passphrase"}), Not(HasSubstr("is not encrypted")));
}

}  // namespace
}  // namespace heft::e2e
