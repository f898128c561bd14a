// SPDX-License-Identifier: Apache-2.0
// Files that are longer than any valid file are refused before they are read. They are sparse, and
// take no room on the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/sanitizers.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class HugeFilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = new Workplace;
    Must(kHeft, {"synth", "--out", W("data"), "--jitter", "1", "--identities", "10", "--samples",
                 "3", "--dimensions", "24", "16"});
    Must(kHeft, TrainArgs(W("data"), W("model.heft")));
    Must(kHeft, {"keygen", "--model", W("model.heft"), "--out", W("keys")});
    for (const std::string m : {"face", "voice"}) {
      EncryptBoth({"encrypt", "--model", W("model.heft"), "--key", W("keys/encryption.key"),
                   "--modality", m, "--in", W("data/" + m + ".npy"), "--labels",
                   W("data/labels.txt"), "--out", W(m + ".ct")});
    }
    EnrolNow({"enrol", "--model", W("model.heft"), "--keys", W("keys/evaluation.keys"), "--gallery",
              W("gallery"), "--in", W("face.ct"), "--in", W("voice.ct")},
             W("keys/secret.key"));
  }
  static void TearDownTestSuite() { delete work_; }
  static std::string W(const std::string& path) { return (*work_)(path); }
  static std::string Huge(const std::string& name, uintmax_t mib) {
    std::ofstream(W(name)).close();
    std::filesystem::resize_file(W(name), mib << 20);
    return W(name);
  }
  static Args Serve(const std::string& subcommand, const std::string& model,
                    const std::string& keys, const std::string& samples, const Args& more = {}) {
    Args args = {subcommand,  "--model",    model,  "--keys", keys,
                 "--gallery", W("gallery"), "--in", samples};
    if (subcommand != "enrol") args.insert(args.end(), {"--out", W("new")});
    if (subcommand == "verify") args.insert(args.end(), {"--identity", "0"});
    args.insert(args.end(), more.begin(), more.end());
    return WithProbes(WithRow(args));
  }
  // Runs the program with less memory than the file is long.
  static void Refused(const char* program, Args args, const std::string& file) {
    const std::string limit = kMemoryReserved ? "" : "ulimit -v 900000 && ";
    args.insert(args.begin(), {"-c", limit + "exec \"$0\" \"$@\"", program});
    const Finished run = RunProgram("/bin/bash", args);
    EXPECT_EQ(run.exit_code, 3) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, AllOf(HasSubstr(file), HasSubstr("bytes, more than the ")));
  }

  static Workplace* work_;
};

Workplace* HugeFilesTest::work_;

TEST_F(HugeFilesTest, AClientsSamples) {
  const std::string huge = Huge("huge.ct", 15 << 10), more = Huge("more.ct", 1025);
  for (const char* subcommand : {"enrol", "identify", "verify"}) {
    for (const std::string& file : {huge, more}) {
      Refused(kServer, Serve(subcommand, W("model.heft"), W("keys/evaluation.keys"), file), file);
    }
  }
  const std::string two = Huge("two.ct", 2);
  const Finished read =
      RunProgram(kServer, Serve("identify", W("model.heft"), W("keys/evaluation.keys"), two));
  EXPECT_THAT(read.err, HasSubstr("not a HEFT file"));
}

TEST_F(HugeFilesTest, ModelsKeysAndReplies) {
  const std::string model = Huge("huge.heft", 257), keys = Huge("huge.keys", 2049),
                    reply = Huge("scores.ct", 1025);
  Refused(kServer, Serve("identify", model, W("keys/evaluation.keys"), W("face.ct")), model);
  Refused(kServer, Serve("identify", W("model.heft"), keys, W("face.ct")), keys);
  Refused(kHeft,
          {"encrypt", "--model", W("model.heft"), "--key", keys, "--modality", "face", "--in",
           W("data/face.npy"), "--out", W("new")},
          keys);
  Refused(kHeft,
          {"decrypt", "--model", W("model.heft"), "--secret-key", W("keys/secret.key"), "--in",
           reply, "--scores"},
          reply);
}

}  // namespace
}  // namespace heft::e2e
