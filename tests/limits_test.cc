// SPDX-License-Identifier: Apache-2.0
// The programs at the limits of the system: outputs that are not plain files, outputs that are also
// inputs, pipes without a reader, too little memory, limits on file sizes, and option values that
// are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "base/sanitizers.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LimitsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "10", "--samples",
                 "3", "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys")});
    for (const std::string modality : {"face", "voice"}) {
      EncryptBoth(Encrypt(modality, W(modality + ".ct"), {"--labels", W("data/labels.txt")}));
    }
    EnrolNow(Serve("enrol", {}), W("keys/secret.key"));
    Must(kServer, Serve("identify", {"--out", W("scores.ct")}));
    Believe(W("keys/trust.heft"), W("gallery"));
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string W(const std::string& path) { return (*work_)(path); }
  static Args Join(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Args Encrypt(const std::string& modality, const std::string& out, const Args& more = {}) {
    return Join({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                 "--modality", modality, "--in", W("data/" + modality + ".npy"), "--out", out},
                more);
  }
  static Args Serve(const std::string& subcommand, const Args& more) {
    return WithProbes(
        WithRow(Join({subcommand, "--model", W("model.heft"), "--keys", W("keys/evaluation.keys"),
                      "--gallery", W("gallery"), "--in", W("face.ct"), "--in", W("voice.ct")},
                     more)));
  }
  static Args Decrypt(const Args& more) {
    return Join({"decrypt", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"),
                 "--in", W("scores.ct"), "--scores"},
                more);
  }
  // Runs a program under bash's `ulimit`.
  static Finished Limited(const std::string& limit, const char* program, const Args& args) {
    return RunProgram("/bin/bash",
                      Join({"-c", "ulimit " + limit + " && exec \"$0\" \"$@\"", program}, args));
  }
  static std::string Fifo(const std::string& name) {
    EXPECT_EQ(mkfifo(W(name).c_str(), 0600), 0);
    return W(name);
  }

  static Workplace* work_;
};

Workplace* LimitsTest::work_;

TEST_F(LimitsTest, OutputsKeepPipesAndLinks) {
  const std::string fifo = Fifo("fifo");
  std::string received;
  std::thread reader([&] { received = Slurp(fifo); });
  const auto result = Must(kHeft, Encrypt("face", fifo, {"--row", "0"}));
  reader.join();
  EXPECT_EQ(received.size(), result["bytes"]);
  EXPECT_TRUE(fs::is_fifo(fifo));
  fs::create_symlink("target.ct", W("link.ct"));
  Must(kServer, Serve("identify", {"--out", W("link.ct")}));
  EXPECT_TRUE(fs::is_symlink(W("link.ct")));
  Must(kHeft, {"inspect", W("target.ct")});
}

TEST_F(LimitsTest, OutputOnStdoutIsAlone) {
  const Finished run = RunProgram(kHeft, Encrypt("face", "/dev/stdout", {"--row", "0"}));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("encrypted 1 face samples: /dev/stdout"));
  Spill(W("captured.ct"), run.out);
  EXPECT_EQ(Must(kHeft, {"inspect", W("captured.ct")})["kind"], "encrypted samples");
}

TEST_F(LimitsTest, InputsAreNoOutputs) {
  fs::create_symlink(W("model.heft"), W("model-link"));
  fs::create_hard_link(W("model.heft"), W("model-name"));
  const auto before = Snapshot(work_->root());
  std::vector<std::pair<const char*, Args>> all;
  for (const char* input : {"model.heft", "model-link", "model-name", "keys/encryption.key",
                            "data/face.npy", "data/../data/face.npy", "data/labels.txt"}) {
    all.push_back({kHeft, Encrypt("face", W(input), {"--labels", W("data/labels.txt")})});
  }
  for (const char* input : {"model.heft", "keys/evaluation.keys", "voice.ct.probe",
                            "gallery/store.sqlite", "gallery/store.blocks", "gallery/lock"}) {
    all.push_back({kServer, Serve("identify", {"--quiet", "--out", W(input)})});
  }
  for (const char* input : {"data/labels.txt", "data/face.npy"}) {
    all.push_back({kHeft, TrainArgs(W("data"), W(input))});
  }
  all.push_back({kHeft, TrainArgs(W("data"), W("data/split.txt"))});
  for (const auto& [program, args] : all) {
    const Finished run = RunProgram(program, args);
    EXPECT_EQ(run.exit_code, kInput) << ::testing::PrintToString(args);
    EXPECT_THAT(run.err, HasSubstr("choose another for its output"));
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    EXPECT_EQ(Snapshot(work_->root()), before) << ::testing::PrintToString(args);
  }
}

TEST_F(LimitsTest, FoldsAndPicturesKeepPipesAndLinks) {
  fs::create_directory(W("folds"));
  fs::create_symlink("elsewhere.heft", W("folds/fold-2.heft"));
  Must(kHeft, {"train", "--data", W("data"), "--out", W("folds"), "--folds", "3", "--gamma", "4",
               "--epochs", "1", "--no-exact"});
  EXPECT_TRUE(fs::is_symlink(W("folds/fold-2.heft")));
  EXPECT_TRUE(fs::is_regular_file(W("folds/elsewhere.heft")));
  fs::create_directory(W("pictures"));
  const std::string fifo = Fifo("pictures/roc.svg");
  std::string received;
  std::thread reader([&] { received = Slurp(fifo); });
  Must(kHeft, {"evaluate", "--data", W("data"), "--model", W("model.heft"), "--replicates", "10",
               "--pictures", W("pictures")});
  reader.join();
  EXPECT_THAT(received, HasSubstr("<svg"));
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(LimitsTest, FoldersOfRepliesAreWholeOrGone) {
  if (kMemoryReserved) GTEST_SKIP() << "sanitizers reserve address space without end";
  const Args all = Serve("identify", {"--quiet", "--all", "--threads", "1", "--out", W("all")});
  const auto before = Snapshot(work_->root());
  // A limit on file sizes ends it at the first reply; too little memory may end it anywhere.
  Finished run = Limited("-f 10", kServer, all);
  EXPECT_EQ(run.exit_code, kSystem) << run.err;
  EXPECT_EQ(Snapshot(work_->root()), before);
  int done = 0;
  for (int kilobytes = 150000; done < 2 && kilobytes < 2000000; kilobytes += kilobytes / 10) {
    run = Limited("-v " + std::to_string(kilobytes), kServer, all);
    SCOPED_TRACE(kilobytes);
    if (run.exit_code == 0) {
      ++done;
      EXPECT_EQ(std::distance(fs::directory_iterator(W("all")), {}), 30);
      fs::remove_all(W("all"));
    } else {
      EXPECT_EQ(run.exit_code, kSystem) << "signal " << run.signal << ", " << run.err;
    }
    EXPECT_EQ(Snapshot(work_->root()), before);
  }
  EXPECT_EQ(done, 2);
}

TEST_F(LimitsTest, OutputsOfOneCommandDiffer) {
  const std::string out = W("both");
  for (const std::string& other : {W("data/../both"), out}) {
    const Finished run = RunProgram(kHeft, {"evaluate", "--data", W("data"), "--model",
                                            W("model.heft"), "--report", out, "--scores", other});
    EXPECT_EQ(run.exit_code, kUsage);
    EXPECT_THAT(run.err, HasSubstr("--report and --scores name the same file"));
    EXPECT_EQ(Lines(run.err), 1u) << run.err;
    EXPECT_FALSE(fs::exists(out));
  }
}

TEST_F(LimitsTest, SignalsEndWaitsForPipes) {
  const std::string fifo = Fifo("silent");
  const std::vector<std::pair<const char*, Args>> waits = {
      {kHeft, {"inspect", fifo}},
      {kServer, {"inspect", fifo}},
      {kHeft,
       {"keygen", "--quiet", "--model", W("model.heft"), "--out", W("none"), "--passphrase-file",
        fifo}},
      {kHeft, Encrypt("face", fifo, {"--row", "0"})}};  // its output is never read
  const auto before = Snapshot(work_->root());
  for (const auto& [program, args] : waits) {
    for (const int signal : {SIGINT, SIGTERM}) {
      Process process(program, args);
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      ASSERT_TRUE(process.Running()) << process.Err();
      process.Signal(signal);
      const Finished run = process.Wait();
      EXPECT_EQ(run.exit_code, kInterrupted) << args[0] << " ended by signal " << run.signal;
      EXPECT_EQ(run.err, "heft: interrupted\n");
      EXPECT_EQ(Snapshot(work_->root()), before);
    }
  }
}

TEST_F(LimitsTest, LittleMemoryIsSaid) {
  if (kMemoryReserved) GTEST_SKIP() << "sanitizers reserve address space without end";
  const std::vector<std::pair<const char*, Args>> all = {
      {kHeft, Encrypt("face", W("little.ct"), {"--quiet"})},
      {kHeft,
       {"keygen", "--no-passphrase", "--quiet", "--model", W("model.heft"), "--out", W("little")}},
      {kServer, Serve("identify", {"--quiet", "--threads", "4", "--out", W("little.ct")})}};
  const auto before = Snapshot(work_->root());
  int refused = 0, done = 0;
  for (const auto& [program, args] : all) {
    for (const int kilobytes : {40000, 60000, 80000, 100000, 130000, 160000, 200000, 300000}) {
      const Finished run = Limited("-v " + std::to_string(kilobytes), program, args);
      SCOPED_TRACE(args[0] + " in " + std::to_string(kilobytes) + " kB");
      if (run.exit_code == 0) {
        ++done;
        fs::remove(W("little.ct"));
        fs::remove_all(W("little"));
      } else {
        ++refused;
        EXPECT_EQ(run.exit_code, kSystem) << "signal " << run.signal << ", " << run.err;
        // The message about a store mentions its map.
        EXPECT_THAT(run.err, AnyOf(StartsWith("heft: not enough memory"),
                                   HasSubstr("Cannot allocate memory: allow more memory")));
        EXPECT_EQ(Lines(run.err), 1u) << run.err;
      }
      EXPECT_EQ(Snapshot(work_->root()), before);
    }
  }
  EXPECT_GE(refused, 3);
  EXPECT_GE(done, 3);
}

TEST_F(LimitsTest, FewThreadsDo) {
  if (kMemoryReserved) GTEST_SKIP() << "sanitizers reserve address space without end";
  // Both limits leave no room for the stacks of a thousand threads. (-u applies to users except
  // root.)
  for (const std::string limit : {"-v 1000000", "-u 1"}) {
    const Finished run =
        Limited(limit, kHeft, Encrypt("face", W("few.ct"), {"--threads", "1000", "--row", "1"}));
    EXPECT_EQ(run.exit_code, 0) << limit << ": " << run.err;
  }
}

TEST_F(LimitsTest, LimitOnFilesIsSaid) {
  const auto before = Snapshot(work_->root());
  const Finished run = Limited("-f 10", kHeft, Encrypt("face", W("large.ct")));
  EXPECT_EQ(run.exit_code, kSystem) << "signal " << run.signal;
  EXPECT_THAT(run.err, HasSubstr(W("large.ct") + ": File too large"));
  EXPECT_EQ(Lines(run.err), 1u) << run.err;
  EXPECT_EQ(Snapshot(work_->root()), before);
}

TEST_F(LimitsTest, GalleryBehindADanglingLink) {
  fs::create_symlink("nowhere", W("lost"));
  Args enrol = Serve("enrol", {"--quiet"});
  enrol[6] = W("lost");
  const Finished run = RunProgram(kServer, enrol);
  EXPECT_EQ(run.exit_code, kSystem);
  EXPECT_THAT(run.err, HasSubstr(W("lost") + ": it is a link to nowhere, which does not exist"));
}

TEST_F(LimitsTest, ValuesThatOptionsRefuse) {
  const Args bench = {"bench"}, synth = {"synth", "--out", W("new")},
             train = {"train", "--data", W("data"), "--out", W("new")},
             encrypt = Encrypt("face", W("new")), identify = Serve("identify", {"--out", W("new")}),
             decrypt = Decrypt({}), verify = Serve("verify", {"--out", W("new")}),
             enrol = Serve("enrol", {}),
             budget = {"budget", "--model", W("model.heft"), "--secret-key", W("keys/secret.key")};
  const std::vector<std::string> signs = {
      "-1", "1e30", "0x2", "1.5", "", "many", "99999999999999999999"};
  const std::vector<std::string> numbers = {"1e30", "0x2",  "1.5",
                                            "",     "many", "99999999999999999999"};
  const std::vector<std::string>
      empty = {""},
      reals = {"-1", "1e4", "nan", "inf", "", "many"}, counts = {"-1", "0", "1e30", "1.5", ""},
      limits = {"16",          "scores=", "scores=-1", "decisions=1e30", "rejections=many",
                "client-bits", ""};
  const Args evaluate = {"evaluate", "--data", W("data"), "--model", W("model.heft")};
  const std::vector<std::tuple<Args, std::string, std::vector<std::string>>> all = {
      {train, "--epochs", signs},
      {train, "--gamma", {"-1", "0", "1", "1025", ""}},
      {train, "--drop-modality", reals},
      {train, "--degree", {"-1", "0", "1", "4"}},
      {synth, "--identities", {"-1", "0", "2"}},
      {synth, "--samples", counts},
      {synth, "--dimensions", counts},
      {bench, "--dimensions", counts},
      {bench, "--gamma", counts},
      {bench, "--degree", counts},
      {bench, "--templates", counts},
      {decrypt, "--threshold", {"nan", "inf", "-3", "3"}},
      {decrypt, "--fmr", {"-1", "2", "nan"}},
      {decrypt, "--fpir", {"-1", "2", "nan"}},
      {evaluate, "--folds", counts},
      {evaluate, "--replicates", counts},
      {evaluate, "--seed", signs},
      {encrypt, "--row", signs},
      {identify, "--row", signs},
      {verify, "--row", signs},
      {decrypt, "--top", signs},
      {decrypt, "--threads", signs},
      {budget, "--set", limits},
      {train, "--seed", signs},
      {train, "--folds", signs},
      {train, "--degree", numbers},
      {synth, "--identities", numbers},
      {synth, "--seed", signs},
      {bench, "--iterations", signs},
      {bench, "--templates", signs},
      {bench, "--gamma", numbers},
      {enrol, "--identity", empty},
      {enrol, "--idempotency-key", empty},
      {verify, "--identity", empty},
      {encrypt, "--label", empty},
      {encrypt, "--labels", empty},
      {decrypt, "--passphrase-file", empty},
      {budget, "--restart", empty}};
  const auto before = Snapshot(work_->root());
  for (const auto& [args, option, values] : all) {
    for (const std::string& value : values) {
      const Finished run =
          RunProgram(ServersCommand(args) ? kServer : kHeft, Join(args, {option, value}));
      SCOPED_TRACE(args[0] + " " + option + " '" + value + "'");
      EXPECT_EQ(run.exit_code, kUsage) << run.err;
      EXPECT_THAT(run.err, StartsWith(option + ": "));
      EXPECT_LT(run.err.size(), 150u) << run.err;
      EXPECT_THAT(run.err, EndsWith("Run with --help for more information.\n"));
    }
  }
  EXPECT_EQ(Snapshot(work_->root()), before);
}

}  // namespace
}  // namespace heft::e2e
