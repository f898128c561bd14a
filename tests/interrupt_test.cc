// SPDX-License-Identifier: Apache-2.0
// Programs that are interrupted or killed at any moment leave the previous state, or their complete
// output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(60);

// Waits until `reached` holds or the process has ended; true if it still runs.
bool WaitFor(Process& process, const std::function<bool()>& reached) {
  const auto start = std::chrono::steady_clock::now();
  while (process.Running() && !reached()) {
    if (std::chrono::steady_clock::now() - start > kPatience) {
      ADD_FAILURE() << "waited in vain; stderr: " << process.Err();
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return process.Running();
}

class InterruptTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    const Workplace& w = *work_;
    Must(kHeft, {"synth", "--out", w("data"), "--jitter", "1", "--identities", "40", "--samples",
                 "6", "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(w("data"), w("model.heft")));
    Must(kHeft, {"keygen", "--model", w("model.heft"), "--out", w("keys")});
    // One sample of each of nine people, and 400 pairs of one person.
    const Dataset data = *LoadDataset(w("data"));
    for (int person = 0; person < 9; ++person) Encrypt(data, {6 * person}, Name(person));
    std::vector<int> rows(20);
    for (int i = 0; i < 20; ++i) rows[i] = i;
    Encrypt(data, rows, "many");
  }
  static void TearDownTestSuite() { delete work_; }

  static std::string Name(int person) { return "person" + std::to_string(person); }
  static void Encrypt(const Dataset& data, const std::vector<int>& rows, const std::string& name) {
    const Workplace& w = *work_;
    for (const char* modality : {"face", "voice"}) {
      const std::string stem = w(name + "-" + modality);
      WriteRows(data, modality, rows, stem + ".npy", stem + ".labels");
      Must(kHeft, {"encrypt", "--model", w("model.heft"), "--secret-key", SecretKey(), "--modality",
                   modality, "--in", stem + ".npy", "--label", name, "--out", stem + ".ct"});
    }
  }
  static std::string SecretKey() { return (*work_)("keys/secret.key"); }
  static Args Serve(const std::string& subcommand, const std::string& gallery) {
    return {
        subcommand,  "--model", (*work_)("model.heft"), "--keys", (*work_)("keys/evaluation.keys"),
        "--gallery", gallery};
  }
  // Enrols one template, or all 400 pairs of 20 faces and 20 voices.
  static Args Enrol(const std::string& gallery, const std::string& name) {
    Args args = Serve("enrol", gallery);
    args.insert(args.end(), {"--in", (*work_)(name + "-face.ct"), "--in",
                             (*work_)(name + "-voice.ct"), "--all-pairs"});
    return args;
  }
  static size_t Templates(const std::string& gallery) {
    return Must(kServer, {"inspect", gallery})["templates"];
  }

  static Workplace* work_;
};

Workplace* InterruptTest::work_;

TEST_F(InterruptTest, TrainingLeavesNothing) {
  const Workplace& w = *work_;
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto before = Snapshot(w.root());
    // The paper's recipe runs for a thousand epochs.
    Process train(kHeft, {"train", "--data", w("data"), "--out", w("new.heft"), "--gamma", "16",
                          "--recipe", "paper", "--epochs", "1000000"});
    ASSERT_TRUE(WaitFor(train, [&] { return !train.Err().empty(); }));
    train.Signal(signal);
    const Finished run = train.Wait();
    EXPECT_EQ(run.exit_code, kInterrupted) << run.signal << run.err;
    EXPECT_THAT(run.err, HasSubstr("heft: interrupted\n"));
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(Snapshot(w.root()), before);
  }
}

TEST_F(InterruptTest, EnrolmentLeavesTheGalleryAsItWas) {
  const Workplace& w = *work_;
  const std::string gallery = w("server/interrupted");
  for (const bool first : {true, false}) {
    if (!first) EnrolNow(Enrol(gallery, Name(0)), SecretKey());
    const auto before = Snapshot(w.root());
    Process enrol(kServer, Enrol(gallery, "many"));
    ASSERT_TRUE(WaitFor(enrol, [&] { return !enrol.Err().empty(); }));
    enrol.Signal(SIGINT);
    const Finished run = enrol.Wait();
    EXPECT_EQ(run.exit_code, kInterrupted) << run.signal << run.err;
    EXPECT_THAT(run.err, HasSubstr("heft: interrupted\n"));
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(Snapshot(w.root()), before) << "first: " << first;
  }
  EXPECT_EQ(Templates(gallery), 1u);
}

// After a kill the previous data is complete, and no part of an interrupted write is visible.
class KillTest : public InterruptTest {
 protected:
  // `before` has one template. In `activated`, a second one waits and may be released.
  static void SetUpTestSuite() {
    InterruptTest::SetUpTestSuite();
    EnrolNow(Enrol(W("before"), Name(0)), SecretKey());
    Copy("before", "activated");
    Must(kServer, Enrol(W("activated"), Name(1)));
    Args pending = Serve("pending", W("activated"));
    pending.insert(pending.end(), {"--out", W("pending.ct")});
    Must(kServer, pending);
    Must(kHeft, {"answer", "--model", W("model.heft"), "--secret-key", SecretKey(), "--in",
                 W("pending.ct"), "--out", W("admission.heft")});
  }
  static std::string W(const std::string& path) { return (*work_)(path); }
  static void Copy(const std::string& from, const std::string& to) {
    std::filesystem::remove_all(W(to));
    std::filesystem::copy(W(from), W(to), std::filesystem::copy_options::recursive);
  }
  static Args Release(const std::string& gallery) {
    Args args = Serve("apply", gallery);
    args.insert(args.end(), {"--in", W("admission.heft")});
    return args;
  }
  static size_t FilesIn(const std::string& folder) {
    std::error_code error;
    size_t n = 0;
    for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      ++n;
    }
    return n;
  }
  // A killed writer leaves no files beside the store.
  static void ExpectTidy(const std::string& gallery) {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(gallery)) {
      files.insert(entry.path().filename().string());
    }
    EXPECT_EQ(files,
              (std::set<std::string>{"audit.key", "keys.made", "lock", "server.key", "server.lock",
                                     "server.pub", "state.heft", "store.blocks", "store.sqlite",
                                     "store.sqlite-shm", "store.sqlite-wal"}));
  }
  // After a killed enrolment, the gallery has its previous templates. The sample waits or does not,
  // and further samples are accepted.
  static void ExpectSound(const std::string& gallery, size_t before) {
    const Finished inspected = RunProgram(kServer, {"inspect", gallery, "--json"});
    if (inspected.exit_code == 0) {
      EXPECT_EQ(nlohmann::json::parse(inspected.out)["templates"], before);
    } else {
      EXPECT_EQ(before, 0u) << inspected.err;
    }
    const auto next = Must(kServer, Enrol(gallery, Name(2)));
    const size_t waiting = next["pending"];
    EXPECT_TRUE(waiting == 1 || waiting == 2) << waiting;
    const auto released = ActivatePending(Enrol(gallery, Name(2)), SecretKey());
    EXPECT_EQ(released["templates"], before + waiting);
    EXPECT_EQ(released["pending"], 0);
    ExpectTidy(gallery);
  }
};

TEST_F(KillTest, AtAnyMomentOfAnEnrolment) {
  const std::string gallery = W("killed");
  // Enrolling one template is quick, so these delays cover all of it.
  for (const bool first : {true, false}) {
    for (const int milliseconds : {5, 40, 80, 130, 200}) {
      SCOPED_TRACE(milliseconds);
      if (first) {
        std::filesystem::remove_all(gallery);
      } else {
        Copy("before", "killed");
      }
      Process enrol(kServer, Enrol(gallery, Name(1)));
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      enrol.Signal(SIGKILL);
      enrol.Wait();
      ExpectSound(gallery, first ? 0 : 1);
    }
  }
}

// Kills as soon as the folder of a first enrolment holds so many files, or when a later enrolment
// writes to the store, and a little later.
TEST_F(KillTest, WhileAnEnrolmentIsWritten) {
  const std::string gallery = W("killed-writing");
  const auto written = [&] {
    struct stat info = {};
    stat((gallery + "/store.blocks").c_str(), &info);
    return std::pair(info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  };
  for (const size_t step : {1, 2, 3, 4}) {
    for (const bool first : {true, false}) {
      SCOPED_TRACE(step);
      std::filesystem::remove_all(gallery);
      if (!first) Copy("before", "killed-writing");
      const auto before = written();
      Process enrol(kServer, Enrol(gallery, Name(1)));
      while (enrol.Running() && (first ? FilesIn(gallery) < step : written() == before)) {
      }
      if (!first) std::this_thread::sleep_for(std::chrono::microseconds(500) * (step - 1));
      enrol.Signal(SIGKILL);
      enrol.Wait();
      ExpectSound(gallery, first ? 0 : 1);
    }
  }
}

// A release of activated templates takes effect completely or not at all, and can be repeated.
TEST_F(KillTest, WhileTheAdmittedComeIn) {
  const std::string gallery = W("killed-release");
  for (const int milliseconds : {5, 20, 40, 60, 80, 100, 130, 160, 200, 300}) {
    SCOPED_TRACE(milliseconds);
    Copy("activated", "killed-release");
    Process release(kServer, Release(gallery));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    release.Signal(SIGKILL);
    release.Wait();
    const size_t now = Templates(gallery);
    EXPECT_TRUE(now == 1 || now == 2) << now;
    const auto again = Must(kServer, Release(gallery));
    EXPECT_EQ(again["templates"], 2);
    EXPECT_EQ(again["pending"], 0);
    ExpectTidy(gallery);
  }
}

}  // namespace
}  // namespace heft::e2e
