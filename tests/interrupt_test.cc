// SPDX-License-Identifier: Apache-2.0
// Programs that are interrupted, or killed, at any moment: what they leave is what was there
// before, or all of what they were to write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

constexpr int kInterrupted = 130;
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
    Must(kHeft, {"synth", "--out", w("data"), "--identities", "40", "--samples", "6",
                 "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(w("data"), w("model.heft")));
    Must(kHeft, {"keygen", "--model", w("model.heft"), "--out", w("keys")});
    for (const char* modality : {"face", "voice"}) {
      for (const int rows : {1, 20}) {
        const std::string stem = w(modality + std::to_string(rows));
        const Dataset data = *LoadDataset(w("data"));
        std::vector<int> all(rows);
        for (int i = 0; i < rows; ++i) all[i] = i;
        WriteRows(data, modality, all, stem + ".npy", stem + ".labels");
        Must(kHeft, {"encrypt", "--model", w("model.heft"), "--secret-key", w("keys/secret.key"),
                     "--modality", modality, "--in", stem + ".npy", "--label", "ann", "--out",
                     stem + ".ct"});
      }
    }
  }
  static void TearDownTestSuite() { delete work_; }

  // Enrols one template, or all 400 pairs of 20 faces and 20 voices.
  static Args Enrol(const std::string& gallery, int rows) {
    const std::string n = std::to_string(rows);
    return {"enrol",
            "--model",
            (*work_)("model.heft"),
            "--keys",
            (*work_)("keys/evaluation.keys"),
            "--gallery",
            gallery,
            "--in",
            (*work_)("face" + n + ".ct"),
            "--in",
            (*work_)("voice" + n + ".ct"),
            "--all-pairs"};
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
    if (!first) Must(kServer, Enrol(gallery, 1));
    const auto before = Snapshot(w.root());
    Process enrol(kServer, Enrol(gallery, 20));
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

// After a kill the gallery holds the old templates, or the new ones too; it takes further ones, and
// these clear away what the killed writer left.
void ExpectSound(const std::string& gallery, size_t before, size_t added, const Args& enrol_one,
                 const std::function<size_t(const std::string&)>& templates) {
  size_t now = 0;
  if (std::filesystem::exists(gallery + "/manifest.heft")) {
    now = templates(gallery);
    EXPECT_TRUE(now == before || now == before + added) << now;
  } else {
    EXPECT_EQ(before, 0u) << "the manifest is gone";
  }
  Must(kServer, enrol_one);
  EXPECT_EQ(templates(gallery), now + 1);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(gallery)) {
    left.push_back(entry.path().filename().string());
  }
  // Manifest, lock, one block, the server's two keys.
  EXPECT_EQ(left.size(), 5u) << ::testing::PrintToString(left);
}

TEST_F(InterruptTest, KilledAtAnyMomentTheGalleryStaysSound) {
  const Workplace& w = *work_;
  constexpr size_t kAdded = 1;
  // Enrolling one template is quick, so that these delays fall all over it.
  for (const bool first : {true, false}) {
    for (const int milliseconds : {5, 20, 40, 60, 80, 100, 130, 160, 200, 300}) {
      SCOPED_TRACE(milliseconds);
      const std::string gallery = w("server/killed");
      std::filesystem::remove_all(gallery);
      if (!first) Must(kServer, Enrol(gallery, 1));
      Process enrol(kServer, Enrol(gallery, 1));
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      enrol.Signal(SIGKILL);
      enrol.Wait();
      ExpectSound(gallery, first ? 0 : 1, kAdded, Enrol(gallery, 1), Templates);
    }
  }
}

TEST_F(InterruptTest, KilledWhileWritingTheGalleryStaysSound) {
  const Workplace& w = *work_;
  const std::string gallery = w("server/killed-writing");
  // As soon as the folder holds one file more: a temporary one, or a block without its manifest.
  for (const size_t files : {1, 2, 3, 4, 5}) {
    for (const bool first : {true, false}) {
      SCOPED_TRACE(files);
      std::filesystem::remove_all(gallery);
      if (!first) Must(kServer, Enrol(gallery, 1));
      auto count = [&] {
        std::error_code error;
        size_t n = 0;
        for (std::filesystem::directory_iterator it(gallery, error), end; !error && it != end;
             it.increment(error)) {
          ++n;
        }
        return n;
      };
      Process enrol(kServer, Enrol(gallery, 1));
      while (enrol.Running() && count() < files) {
      }
      enrol.Signal(SIGKILL);
      enrol.Wait();
      ExpectSound(gallery, first ? 0 : 1, 1, Enrol(gallery, 1), Templates);
    }
  }
}

TEST_F(InterruptTest, TwoWritersAtOnceLoseNothing) {
  const Workplace& w = *work_;
  const std::string gallery = w("server/crowded");
  size_t expected = 0;
  for (int round = 0; round < 3; ++round) {
    Process one(kServer, Enrol(gallery, 1)), two(kServer, Enrol(gallery, 1));
    for (const Finished& run : {one.Wait(), two.Wait()}) {
      // The slower one is told to try again, or has found the faster one's work in place.
      EXPECT_TRUE(run.exit_code == 0 || run.exit_code == 4) << run.exit_code << run.err;
      if (run.exit_code == 0) ++expected;
    }
    EXPECT_EQ(Templates(gallery), expected);
  }
  EXPECT_GE(expected, 3u);
}

}  // namespace
}  // namespace heft::e2e
